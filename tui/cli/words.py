"""What language agents say, as the terminal shows it: thoughts, answers, faults, and what they took."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agents.generation import Generation
from agents.parsing import THINK, THOUGHT, spoken, tagged
from tui.cli.output import print_text, safe

HEAD, TAIL = 400, 200
"""Characters that are shown of the beginning and the end of a long text."""
HEAD_LINES, TAIL_LINES = 16, 8
"""The same in lines."""
SHOWN_SCORES = 3
"""How many scored actions are shown, the best ones."""
INDENT = "   "

_READ = {
    "loose": "read without regard to case and spaces",
    "prefix": "read by how the action begins",
    "index": "read by the action's number",
    "open": "an action of its own",
}


class Said(NamedTuple):
    """What an agent said at one attempt."""

    name: str
    raw: str | None
    fault: str | None
    generations: Sequence[Generation]


def print_said(said: Said, whole: bool = False) -> None:
    """Print the words of an attempt and why it was a fault, where it was one; long texts are cut unless `whole`."""
    if said.generations:
        thought, answer = parted(said.raw if said.raw is not None else "".join([one.raw for one in said.generations]))
        if thought:
            print(safe(f"{said.name} thinks:"))
            print_text(thought if whole else shortened(thought), INDENT)
        print(safe(f"{said.name} says ({'; '.join(_circumstances(said.generations))}):"))
        print_text((answer if whole else shortened(answer)) or "(nothing)", INDENT)
    if said.fault is not None:
        print(safe(f"{said.name}: {said.fault}: {_why(said)}"))


def parted(raw: str) -> tuple[str, str]:
    """What an answer thought and what it said."""
    said = spoken(raw)
    place = raw.rfind(THOUGHT) + len(THOUGHT) if THOUGHT in raw else 0
    thought = raw[:place] + raw[place + len(said) :]
    return thought.replace(THINK, "").replace(THOUGHT, "").strip(), said.strip()


def shortened(text: str) -> str:
    """A text that is too long for a look, by its beginning and its end, and how much lies between them."""
    lines = text.split("\n")
    if len(text) <= HEAD + TAIL and len(lines) <= HEAD_LINES + TAIL_LINES:
        return text
    head = "\n".join(text[:HEAD].split("\n")[:HEAD_LINES])
    tail = "\n".join(text[-TAIL:].split("\n")[-TAIL_LINES:])
    return f"{head}\n[{len(text) - len(head) - len(tail):,} characters are left out here]\n{tail}"


def _why(said: Said) -> str:
    """Why an attempt was a fault."""
    if not said.generations or said.fault not in ("illegal", "unparsable"):
        return shortened(said.raw or "")
    if said.fault == "unparsable":
        return "no action could be read"
    named = shortened(tagged(spoken(said.raw or "")))
    several = said.generations[-1].notes.get("read") == "ambiguous"
    return f"{named!r} {'may mean several actions' if several else 'is not a legal action'}"


def _circumstances(generations: Sequence[Generation]) -> list[str]:
    """What is worth knowing of an answer: its size, how it came about, how it was read."""
    notes: dict[str, Any] = {}
    for generation in generations:
        notes.update(generation.notes)
    words = [f"{sum([one.completion_tokens for one in generations]):,} tokens"]
    words.append(f"{sum([one.seconds for one in generations]):.1f} s")
    if any([one.finish_reason == "length" for one in generations]):
        words.append("cut off")
    if isinstance(scores := notes.get("scores"), Mapping):
        words.append(_best(scores))
    elif generations[-1].constrained:
        words.append("held to the legal actions")
    if isinstance(read := notes.get("read"), str) and read in _READ:
        words.append(_READ[read])
    if isinstance(dropped := notes.get("dropped"), int):
        words.append(f"{dropped} oldest memories left out")
    return words


def _best(scores: Mapping[Any, Any]) -> str:
    """The actions that a model finds likeliest, with the logarithms of their likelihoods."""
    known = [(action, value) for action, value in scores.items() if isinstance(value, float)]
    best = sorted(known, key=lambda one: -one[1])[:SHOWN_SCORES]
    more = f", {len(known) - len(best)} more" if len(known) > len(best) else ""
    return "scored " + ", ".join([f"{shortened(str(action))} {value:.1f}" for action, value in best]) + more


class Bill(NamedTuple):
    """What the models of one agent took."""

    answers: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    price: float | None = None
    """US dollars, of the answers whose price is known."""

    def line(self, name: str) -> str:
        """It in words."""
        tokens = self.prompt_tokens + self.completion_tokens
        price = "" if self.price is None else f", ${self.price:.4g}"
        return (
            f"{name}: {counted(self.answers, 'answer')}, {tokens:,} tokens ({self.prompt_tokens:,} of prompts), "
            f"{self.seconds:.1f} s{price}"
        )


def bill(generations: Iterable[Generation]) -> Bill:
    """The sum of some answers."""
    some = list(generations)
    prices = [one.price for one in some if one.price is not None]
    return Bill(
        len(some),
        sum([one.prompt_tokens for one in some]),
        sum([one.completion_tokens for one in some]),
        sum([one.seconds for one in some]),
        sum(prices) if prices else None,
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
