"""`arena doctor`: what is installed, what works, and whether the store is sound."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

from games.errors import UserError
from tui.cli.options import json_option, store_option
from tui.cli.output import narrate, print_json
from tui.cli.tables import print_table

_OURS = ("games", "agents", "arena", "league", "tui")
_NEEDED = (
    *("metarena", "open-spiel", "duckdb", "pyarrow", "trueskill", "pydantic", "click", "rich", "numpy", "psutil"),
    "rapidfuzz",
)
_EXTRAS = {
    "transformers": ("torch", "transformers", "peft", "safetensors", "gguf"),
    "train": ("trl", "datasets", "accelerate"),
    "http": ("httpx", "tenacity", "aiolimiter"),
    "vllm": ("vllm",),
    "pettingzoo": ("pettingzoo", "pygame", "chess", "rlcard"),
    "gymnasium": ("gymnasium",),
    "alfworld": ("alfworld", "textworld"),
    "minihack": ("minihack", "nle"),
    "textarena": ("textarena",),
    "textworld-express": ("textworld_express",),
}
"""Extra -> modules that it brings."""
_TOLD = ("torch", "transformers", "trl", "httpx", "vllm", "pettingzoo", "gymnasium")
"""Packages of extras whose version is told."""

OK, WARNING, ERROR = "ok", "warning", "error"


@click.command()
@store_option
@json_option
@click.pass_context
def doctor(context: click.Context, store: str, as_json: bool) -> None:
    """Check the installation and the store; exits 1 where something is wrong."""
    findings = [*_installation(), *_foreign(), *_offered(), *_extras(), *_models(), *_store(store)]
    if as_json:
        print_json([dict(zip(("part", "state", "what"), finding, strict=True)) for finding in findings])
    else:
        print_table("", ["part", "state", "what"], findings, wraps="what")
    if any(state == ERROR for _, state, _ in findings):
        context.exit(1)


def _installation() -> list[tuple[str, str, str]]:
    findings = [("python", OK, f"{platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")]
    for package in _NEEDED:
        try:
            findings.append((package, OK, version(package)))
        except PackageNotFoundError:
            findings.append((package, ERROR, "not installed"))
    from agents import cache

    findings.append(("cache", OK, f"{cache.folder()}, {_size(cache.folder())}"))
    return findings


def _foreign() -> list[tuple[str, str, str]]:
    """Packages of our top-level names that belong to someone else and hide ours."""
    findings = []
    home = Path(__file__).resolve().parents[2]
    for name in _OURS:
        spec = find_spec(name)
        places = [Path(place).resolve() for place in (spec.submodule_search_locations or [])] if spec else []
        if home / name not in places[:1]:
            found = places[0] if places else spec and spec.origin
            findings.append((name, WARNING, f"the package `{name}` found first is another's: {found}"))
    return findings


def _offered() -> list[tuple[str, str, str]]:
    """Agents and games of other packages that cannot be used, and packages whose offers cannot be read."""
    from agents import registry as agents
    from games import registry as games
    from games.offers import unreadable

    kinds = {"package": unreadable(), "agent": agents.problems(), "game": games.problems()}
    return [(f"{kind} {name}", WARNING, problem) for kind, found in kinds.items() for name, problem in found]


def _extras() -> list[tuple[str, str, str]]:
    """What is there of each extra; nothing is imported for it."""
    findings = []
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        there = [f"{module} {_version(module)}" for module in modules if module in _TOLD and module not in missing]
        what = ", ".join(["installed", *there])
        if missing:
            lacking = "not installed" if len(missing) == len(modules) else f"without {', '.join(missing)}"
            what = f'{lacking}: pip install "metarena[{extra}]"'
        findings.append((f"extra {extra}", OK, what))
    return findings


def _models() -> list[tuple[str, str, str]]:
    """What language models in this process can count on."""
    from agents.models import smollm2
    from agents.models.pool import all_cores

    try:
        wheel, place = smollm2.wheel_file(), smollm2.folder()
    except UserError as error:
        return [("smollm2", OK, str(error))]
    made = f"converted, {_size(place)}" if place.exists() else "its first use converts it, which takes a while"
    return [
        ("threads", OK, f"a model in this process computes with up to {all_cores()}, less those of busy workers"),
        ("smollm2", OK, f"{wheel.name}, {_size(wheel)}; {made}"),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _size(place: Path) -> str:
    """What a file or a folder takes."""
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    return f"{sum([file.stat().st_size for file in files]) / 1e6:,.1f} MB"


def _store(path: str) -> list[tuple[str, str, str]]:
    from league.store.health import health

    return [(f"store {path}", str(finding.level.value), finding.text) for finding in health(path, narrate)]
