"""Supervised training before the first update: the learner begins as a copy of other agents."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from accelerate import PartialState

from agents.models.weights import Weights, quiet
from training.collect import agree
from training.config import Imitation
from training.imitation import lessons
from training.stored import counted, records_of
from training.supervised import Course, supervised

NEWS = 10
"""Lines that tell how far a copy has come."""


def copy(
    how: Imitation,
    seed: int,
    model: Any,
    tokenizer: Any,
    pupil: Mapping[str, Any],
    game: str,
    place: Path,
    say: Callable[[str], None],
    stop: Event,
) -> float:
    """Train a model on what agents decided in a store, and write it to a folder; gives the loss at the end.

    `pupil` are all parameters of the learner. Raises UserError where there is nothing to copy, StoppedError once `stop`
    is set: a copy is made in one go, so nothing of it is kept then.
    """
    records = records_of(how.store, game, how.agents)
    weights = Weights("pupil", model, tokenizer)
    longest = max([len(record.episodes) for record in records])
    found = lessons(
        records, how.agents, pupil, weights.chat, weights.vocabulary, context=weights.context, episodes=longest
    )
    left_out = f"; left out: {counted(found.left_out)}" if found.left_out else ""
    say(f"{how.store}: {len(records)} matches, {len(found.found)} decisions to copy{left_out}")
    course = Course(how.learning_rate, -(-how.rows // PartialState().num_processes), epochs=how.epochs, seed=seed)

    def hear(step: int, steps: int, loss: float) -> None:
        agree(stop)
        if step * NEWS // steps > (step - 1) * NEWS // steps:
            say(f"copying: step {step} of {steps}, loss {loss:.3f}")

    with quiet():
        logged = supervised(model, tokenizer, found.found, place, course, hear=hear)
    losses = [line["loss"] for line in logged if "loss" in line]
    say(f"copied: the loss went from {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")
    return losses[-1]
