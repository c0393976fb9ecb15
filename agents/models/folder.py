"""Model folders and adapter folders on disk: what each must hold, and a digest of what it is. Nothing heavy here."""

import json
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from games.errors import UserError

WEIGHTS = ".safetensors"
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_SMALL = (".json", ".jinja", ".model", ".txt")
"""What files are named that say what a model is, beside its weights."""
_END = 1 << 20
"""Bytes of the beginning and of the end of a file of weights that count."""


def model_folder(name: str) -> Path:
    """The folder of a model: it has a config, a tokenizer and safetensors. Raises UserError in one line."""
    folder = _folder("model", name)
    if not (folder / "config.json").is_file():
        raise UserError(f"model {name or repr(name)}: no model folder, it has no config.json")
    config(folder / "config.json")
    _weighed("model", name, folder)
    if not any(list(folder.glob("tokenizer*"))):
        raise UserError(f"model {name}: it has no tokenizer (tokenizer.json)")
    return folder


def adapter_folder(name: str) -> Path:
    """The folder of a PEFT adapter in safetensors. Raises UserError in one line."""
    folder = _folder("adapter", name)
    if not (folder / ADAPTER_CONFIG).is_file():
        raise UserError(f"adapter {name}: no PEFT adapter, it has no {ADAPTER_CONFIG}")
    config(folder / ADAPTER_CONFIG)
    _weighed("adapter", name, folder)
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise UserError(f"adapter {name}: it has no {ADAPTER_WEIGHTS}")
    return folder


def config(path: Path) -> Mapping[str, Any]:
    """What a JSON file of settings says. Raises UserError where it cannot be read or is no table of settings."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {type(error).__name__}") from error
    if not isinstance(read, dict):
        raise UserError(f"{path} holds no table of settings")
    return read


def digest(folder: Path) -> str:
    """16 hexadecimal digits of what a folder holds; where it lies does not count.

    Small files count whole, weights by their size and their first and last MiB. Raises UserError if it cannot be read.
    """
    hashed = blake2b(digest_size=8)
    try:
        for file in sorted(folder.iterdir()):
            if file.suffix in (*_SMALL, WEIGHTS) and file.is_file():
                hashed.update(repr((file.name, file.stat().st_size)).encode())
                for part in ends(file) if file.suffix == WEIGHTS else [file.read_bytes()]:
                    hashed.update(part)
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}") from error
    return hashed.hexdigest()


def ends(file: Path) -> Iterator[bytes]:
    """The first and the last MiB of a file; all of a smaller one."""
    with file.open("rb") as opened:
        yield opened.read(_END)
        opened.seek(max(file.stat().st_size - _END, opened.tell()))
        yield opened.read()


def _folder(what: str, name: str) -> Path:
    folder = Path(name).expanduser()
    if not folder.exists():
        served = "; a model on a server needs its address: base_url=http://HOST:PORT/v1" if what == "model" else ""
        raise UserError(f"{what} {name}: there is no such folder{served}")
    if not folder.is_dir():
        raise UserError(f"{what} {name}: a file, not a folder")
    return folder.resolve()


def _weighed(what: str, name: str, folder: Path) -> None:
    """Raise UserError unless there are weights that can be read without running anything."""
    if any(folder.glob(f"*{WEIGHTS}")):
        return
    if pickled := [file.name for file in sorted(folder.iterdir()) if file.suffix in _PICKLED]:
        raise UserError(
            f"{what} {name}: its weights are pickled ({pickled[0]}), which could run any code; save them as safetensors"
        )
    raise UserError(f"{what} {name}: it has no weights (*{WEIGHTS})")
