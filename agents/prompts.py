"""The prompts of language agents: template files, filled with what a seat knows."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from agents.agent import Trajectory
from agents.memory import Recall, Telling
from agents.models.model import Message
from games.errors import UserError
from games.game import Action, GameSpec, Observation
from games.seeding import digest
from games.spec import near

PLACEHOLDERS: dict[str, frozenset[str]] = {
    "system": frozenset({"title", "rules", "of"}),
    "turn": frozenset(
        {"earlier", "reflections", "turns", "episode", "of", "seat", "sight", "legal", "refused", "answer"}
    ),
    "direct": frozenset(),
    "react": frozenset(),
    "refused": frozenset({"answered", "why"}),
    "reflect": frozenset({"reflections", "turns", "episode", "of", "seat", "sight", "outcome"}),
}
"""Template -> what may stand in it as `$name`."""

_NEEDED = {"turn": "sight"}
"""Whatever is remembered, a prompt shows the position as it is now."""

_BLANK = re.compile(r"\n[ \t]*\n\s*")
_CONTROL = re.compile(r"<\|")


class Templates(NamedTuple):
    """The texts of one set of templates."""

    texts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of all the texts."""
        return digest(8, *[part for item in sorted(self.texts.items()) for part in item]).hex()

    def fill(self, name: str, values: Mapping[str, str]) -> str:
        """A template with its values put in, each as it is: nothing in a value is read as a placeholder.

        A paragraph of the template all of whose values are empty is left out.
        """
        shown = {key: plain(value) if value else "" for key, value in values.items()}
        return "\n\n".join(
            [
                paragraph.substitute(shown)
                for paragraph, names in _paragraphs(self.texts[name])
                if not names or any([shown[name] for name in names])
            ]
        )


@lru_cache(maxsize=512)
def _paragraphs(text: str) -> Sequence[tuple[Template, Sequence[str]]]:
    """The paragraphs of a template with the names in them: to find these takes longer than to fill a prompt."""
    paragraphs = [Template(paragraph) for paragraph in _BLANK.split(text.strip())]
    return [(paragraph, paragraph.get_identifiers()) for paragraph in paragraphs]


@lru_cache(maxsize=64)
def templates(folder: str = "", telling: Telling = "words") -> Templates:
    """The program's own templates, those of a folder in place of their namesakes. Read once a process.

    Raises UserError for a folder or file that cannot be used.
    """
    place = files("agents").joinpath("templates", *(["brief"] if telling == "brief" else []))
    texts = {name: place.joinpath(f"{name}.txt").read_text("utf-8") for name in PLACEHOLDERS}
    if folder:
        texts |= _own(Path(folder))
    return Templates(texts)


def _own(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise UserError(f"templates={folder}: no such folder")
    found = {path.stem: path for path in sorted(folder.glob("*.txt"))}
    if not found:
        raise UserError(f"templates={folder}: no template in it; choices: {_names()}")
    texts = {}
    for name, path in found.items():
        if name not in PLACEHOLDERS:
            raise UserError(f"template {path}: no prompt is made of it; choices: {_names()}")
        texts[name] = _checked(name, path)
    return texts


def _names() -> str:
    return ", ".join([f"{name}.txt" for name in PLACEHOLDERS])


def _checked(name: str, path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"template {path}: it cannot be read: {error}") from None
    template = Template(text)
    if not template.is_valid():
        raise UserError(f"template {path}: a $ that begins no placeholder; write $$ for a dollar sign")
    used = set(template.get_identifiers())
    if unknown := sorted(used - PLACEHOLDERS[name]):
        raise UserError(
            f"template {path}: no placeholder ${unknown[0]}; {near(unknown[0], sorted(PLACEHOLDERS[name]))}"
        )
    if (needed := _NEEDED.get(name)) and needed not in used:
        raise UserError(f"template {path}: it needs ${needed}, what the seat sees now")
    return text


class Scene(NamedTuple):
    """Which episode of which match a prompt is about, and what is remembered."""

    spec: GameSpec
    episode: int
    """Counted from 1."""
    episodes: int
    """Of the match."""
    recall: Recall


def turn_prompt(
    templates: Templates, scene: Scene, observation: Observation, legal: Sequence[Action], answer: str, refused: str
) -> list[Message]:
    """Ask for an action.

    `legal` are the actions to list, which may be none; `answer` says how to answer; `refused` what was wrong before.
    """
    values = {
        "earlier": "\n\n".join(scene.recall.episodes),
        "sight": observation.text.strip("\n"),
        "legal": listed(legal),
        "refused": refused,
        "answer": answer,
    }
    return _messages(templates, "turn", scene, observation.seat, values)


def reflection_prompt(templates: Templates, scene: Scene, trajectory: Trajectory, ending: str) -> list[Message]:
    """Ask for a lesson of an episode that is over; `ending` says how it ended."""
    values = {"sight": trajectory.final.text.strip("\n"), "outcome": ending}
    return _messages(templates, "reflect", scene, trajectory.seat, values)


def _messages(templates: Templates, name: str, scene: Scene, seat: int, values: Mapping[str, str]) -> list[Message]:
    spec, of = scene.spec, str(scene.episodes)
    shared = {
        "reflections": "\n".join(scene.recall.reflections),
        "turns": "\n".join(scene.recall.turns),
        "episode": str(scene.episode),
        "of": of,
        "seat": str(seat),
    }
    return [
        Message("system", templates.fill("system", {"title": spec.title, "rules": spec.rules, "of": of})),
        Message("user", templates.fill(name, {**shared, **values})),
    ]


def listed(legal: Sequence[Action]) -> str:
    """Legal actions as a prompt lists them: with commas, or a line each where one of them holds a comma."""
    return ("\n" if any(["," in action for action in legal]) else ", ").join(legal)


def plain(text: str) -> str:
    """Text from elsewhere with the marks broken by which chat templates tell who speaks, such as <|im_end|>."""
    return _CONTROL.sub("< |", text)
