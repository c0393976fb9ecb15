"""The language models of one run: each is made when it is first asked for, and shared by all matches."""

import asyncio
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

from agents.models.limits import ModelLimits, Spending
from agents.models.model import Model
from agents.models.source import Source

_BACKENDS = {
    "transformers": "agents.models.local",
    "http": "agents.models.http",
    "vllm": "agents.models.vllm_engine",
}


class Backend(Protocol):
    """What the module of a back end offers. None imports its heavy packages before `check`."""

    def check(self, source: Source) -> None:
        """Do once, before matches start, what may take long or fail early.

        Raises UserError for a missing extra, folder, adapter or key, RunError for a server that does not answer.
        """

    def traits(self, source: Source) -> Sequence[str]:
        """What tells this model from others of the same name, such as a digest of its weights. Raises UserError."""

    async def open_model(self, source: Source, models: "Models") -> Model:
        """The model, ready to answer."""


def backend(source: Source) -> Backend:
    """The back end that serves a source."""
    return cast(Backend, import_module(_BACKENDS[source.kind]))


def all_cores() -> int:
    """How many threads a model may use that shares the machine with nobody of this run.

    $OMP_NUM_THREADS where it is set, else the cores that this process may use.
    """
    wished = os.environ.get("OMP_NUM_THREADS", "")
    if wished.isdecimal() and int(wished) > 0:
        return int(wished)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Models:
    """The models of one run, used within one event loop; weights are shared by all runs of the process.

    `threads` says, before each batch of a model in this process, how many threads it may compute with; `tell` gets
    lines for a person, such as that a server fails and is asked again.
    """

    def __init__(
        self,
        limits: ModelLimits | None = None,
        threads: Callable[[], int] = all_cores,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.limits = limits or ModelLimits()
        self.spending = Spending(self.limits)
        self.threads = threads
        self.tell = tell
        self._made: dict[Source, asyncio.Future[Model]] = {}

    async def get(self, source: Source) -> Model:
        """The model of a source. Raises UserError for one that cannot be had as asked, such as a missing extra."""
        made = self._made.get(source)
        if made is None:
            made = self._made[source] = asyncio.create_task(backend(source).open_model(source, self))
        return await asyncio.shield(made)

    def put(self, source: Source, model: Model) -> None:
        """Serve a source with a model that is there already, in the place of its back end's. Within the event loop."""
        made: asyncio.Future[Model] = asyncio.get_running_loop().create_future()
        made.set_result(model)
        self._made[source] = made

    async def close(self) -> None:
        """Let go of the connections and engines of this run."""
        made, self._made = self._made, {}
        for model in await asyncio.gather(*made.values(), return_exceptions=True):
            if isinstance(model, Model):
                await model.close()
