"""The model that is trained, as agents ask it: the same weights, without a copy."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

import torch
import transformers

from agents.models.local import close_weights, open_weights
from agents.models.pool import Models
from agents.models.source import Source
from agents.models.weights import Weights
from arena.match import MatchResult, VoidMatchError
from arena.table import play_one
from games import registry
from games.errors import RunError
from training.draw import Line

LOOK_SECONDS = 0.2
"""Time between two looks at whether the run is to stop."""
_T = TypeVar("_T")


class StoppedError(Exception):
    """The run is to stop; what was in hand is dropped."""


class Policy:
    """Plays matches with a model that a trainer holds."""

    def __init__(self, name: str, model: Any, tokenizer: Any, source: Source, threads: int = 1) -> None:
        """`source` is what the learner's agents ask for. Raises UserError for a model that is no chat model."""
        self.name = name
        self.version = 0
        """Updates that it has had: told with every answer, as NAME@VERSION."""
        self._model = model
        self._weights = Weights(name, model, tokenizer)
        self._source = source
        self._threads = threads

    def play(self, lines: Sequence[Line], concurrent: int, stop: Event) -> list[MatchResult]:
        """Play matches at once, with the weights as they are now; those that are void are left out.

        Raises StoppedError soon after `stop` is set, RunError where all matches are void.
        """
        with self._at_rest():
            found, reason = asyncio.run(self._until(stop, self._play(lines, concurrent)))
        played = [result for result in found if result is not None]
        if lines and not played:
            raise RunError(f"none of {len(lines)} matches could be played: {reason}")
        return played

    def close(self) -> None:
        """Let go of the model."""
        close_weights(self._weights)

    async def _until(self, stop: Event, work: Coroutine[Any, Any, _T]) -> _T:
        """Raises StoppedError once `stop` is set before the work is done."""
        task = asyncio.ensure_future(work)
        while not task.done():
            if stop.is_set():
                task.cancel()
                await asyncio.wait([task])
                raise StoppedError
            await asyncio.wait([task], timeout=LOOK_SECONDS)
        return task.result()

    async def _play(self, lines: Sequence[Line], concurrent: int) -> tuple[list[MatchResult | None], str]:
        models = Models(threads=lambda: self._threads)
        models.put(self._source, open_weights(f"{self.name}@{self.version}", self._weights, models))
        places, reasons = asyncio.Semaphore(concurrent), list[str]()

        async def play(line: Line) -> MatchResult | None:
            async with places:
                try:
                    return await play_one(line.match, registry.make(line.match.game), line.recipes, models)
                except VoidMatchError as error:
                    reasons.append(str(error))
                    return None

        try:
            return list(await asyncio.gather(*map(play, lines))), (reasons or [""])[0]
        finally:
            await models.close()

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """The model as it is asked: without dropout, by the settings of each answer and not by its own."""
        training, own = self._model.training, self._model.generation_config
        self._model.eval()
        self._model.generation_config = transformers.GenerationConfig()
        try:
            with torch.no_grad():
                yield
        finally:
            self._model.generation_config = own
            self._model.train(training)
