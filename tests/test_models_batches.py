"""How requests become batches, what a failure costs, and which threads compute."""

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agents.agent import ProviderError
from agents.generation import Generation
from agents.models import local
from agents.models.engine import Engine
from agents.models.model import Model, Sampling
from agents.models.pool import Models, all_cores
from agents.models.source import Source
from tests.local_models import ASK, answer, forward, fresh_model, with_model
from tests.tiny_model import tiny_folder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from agents.models import batch  # noqa: E402
from agents.models.row import Row  # noqa: E402
from agents.models.weights import Weights  # noqa: E402


def counting() -> tuple[Engine[int], list[list[int]], threading.Event]:
    """An engine that doubles numbers, the batches it computed, and what lets it go on. Negative numbers fail."""
    batches: list[list[int]] = []
    go = threading.Event()

    def compute(batch: Sequence[int], unwanted: Callable[[], bool]) -> list[int]:
        batches.append(list(batch))
        go.wait(10)
        if min(batch) < 0:
            raise MemoryError(f"no room for {min(batch)}")
        return [2 * number for number in batch]

    return Engine("counting", compute, lambda waiting: list(range(min(4, len(waiting))))), batches, go


def test_requests_that_arrive_during_a_batch_are_one_next_batch() -> None:
    engine, batches, go = counting()

    async def late(number: int) -> int:
        while not batches:
            await asyncio.sleep(0.001)
        for _ in range(number):  # some of them after others
            await asyncio.sleep(0.001)
        asked = asyncio.create_task(engine.ask(number))
        await asyncio.sleep(0.02)
        go.set()
        return await asked

    async def run() -> list[int]:
        return await asyncio.gather(engine.ask(10), engine.ask(11), late(1), late(2), late(3))

    assert asyncio.run(run()) == [20, 22, 2, 4, 6]
    assert batches == [[10, 11], [1, 2, 3]]


def test_what_is_too_much_for_one_batch_is_in_the_next_in_order() -> None:
    engine, batches, go = counting()
    go.set()

    async def run() -> list[int]:
        return await asyncio.gather(*[engine.ask(number) for number in range(6)])

    assert asyncio.run(run()) == [0, 2, 4, 6, 8, 10]
    assert batches == [[0, 1, 2, 3], [4, 5]]


def test_a_batch_that_fails_fails_for_its_own_requests_alone() -> None:
    engine, batches, go = counting()
    go.set()

    async def run() -> list[int | BaseException]:
        return await asyncio.gather(*[engine.ask(number) for number in (1, -2, 3, 4, 5)], return_exceptions=True)

    *failed, last = asyncio.run(run())
    assert last == 10
    assert [(type(error), str(error)) for error in failed] == [
        (ProviderError, "model counting failed: MemoryError: no room for -2")
    ] * 4
    assert batches == [[1, -2, 3, 4], [5]]


def test_a_cancelled_request_leaves_the_queue() -> None:
    engine, batches, go = counting()

    async def run() -> int:
        first = asyncio.create_task(engine.ask(1))
        while not batches:
            await asyncio.sleep(0.001)
        second, third = asyncio.create_task(engine.ask(2)), asyncio.create_task(engine.ask(3))
        await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        await asyncio.sleep(0)
        go.set()
        return await third

    assert asyncio.run(run()) == 6
    assert batches == [[1], [3]]


def test_runs_in_several_event_loops_share_an_engine() -> None:
    engine, _, go = counting()
    found: list[int] = []

    async def run(number: int) -> None:
        found.extend(await asyncio.gather(engine.ask(number), engine.ask(number + 1)))

    threads = [threading.Thread(target=lambda n=number: asyncio.run(run(n))) for number in (1, 11, 21)]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(20)
    assert sorted(found) == [2, 4, 22, 24, 42, 44]


def test_a_loop_that_is_gone_keeps_nobody_waiting() -> None:
    engine, batches, go = counting()

    async def broken_off() -> None:
        asked = [asyncio.create_task(engine.ask(number)) for number in range(6)]
        while not batches:
            await asyncio.sleep(0.001)
        del asked

    asyncio.run(broken_off())
    go.set()
    assert asyncio.run(engine.ask(7)) == 14


def test_a_row_whose_match_is_gone_ends_the_batch(tiny: Source) -> None:
    async def run(model: Model) -> Generation:
        long = asyncio.create_task(model.generate(ASK, Sampling(max_tokens=1900, temperature=0.0), 1))
        await asyncio.sleep(0.05)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        return await model.generate(ASK, Sampling(max_tokens=3), 1)

    assert with_model(tiny, run).completion_tokens <= 3


def test_logits_that_are_not_numbers_are_an_infrastructure_failure(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tiny_folder(tmp_path / "broken")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"][:] = float("nan")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ProviderError, match="not numbers"):
        answer(Source(model=str(folder), dtype="float32"), ASK, Sampling(max_tokens=3), 1)


def test_threads_are_asked_for_before_each_batch_and_put_back(tiny: Source) -> None:
    before, told = torch.get_num_threads(), []

    async def run() -> None:
        counts = iter([1, 2, 1])
        models = Models(threads=lambda: told.append(next(counts)) or told[-1])
        model = await models.get(tiny)
        for seed in range(3):
            await model.generate(ASK, Sampling(max_tokens=2), seed)

    asyncio.run(run())
    assert told == [1, 2, 1]
    assert torch.get_num_threads() == before


def test_weights_are_loaded_once_a_process(tiny: Source) -> None:
    first = Weights.of("m", Path(tiny.model).resolve(), "float32")
    local.check(tiny)
    assert Weights.of("again", Path(tiny.model).resolve(), "float32") is first
    assert Weights.of("m", Path(tiny.model).resolve(), "bfloat16") is not first


def test_a_dtype_that_is_not_named_is_one_that_the_machine_is_fast_with(tiny: Source) -> None:
    import torch

    path = Path(tiny.model).resolve()
    chosen = Weights.of("m", path, "auto")
    assert chosen.model.dtype in (torch.float32, torch.bfloat16)
    assert Weights.of("m", path, "bfloat16" if chosen.model.dtype is torch.bfloat16 else "float32") is chosen


@pytest.mark.parametrize("scored", [False, True])
def test_a_batch_that_nobody_waits_for_any_more_is_left_off_within_a_layer(tiny: Source, scored: bool) -> None:
    layers = Weights.of("m", Path(tiny.model).resolve(), "float32").layers
    begun, cancelled, reached = threading.Event(), threading.Event(), []

    def wait(*_: object) -> None:
        begun.set()
        assert cancelled.wait(10)

    async def ask(model: Model) -> None:
        asked = model.score(ASK, ["a", "b"]) if scored else model.generate(ASK, Sampling(max_tokens=2), 1)
        task = asyncio.create_task(asked)
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()

    hooks = [
        layers[0].register_forward_pre_hook(wait),
        layers[-1].register_forward_hook(lambda *_: reached.append(True)),
    ]
    try:
        with_model(tiny, ask)
        assert begun.is_set()
        answer(tiny, ASK, Sampling(max_tokens=1), 1)  # after the batch that was left off
    finally:
        for hook in hooks:
            hook.remove()
    assert len(reached) == 1


@pytest.mark.parametrize(("wished", "threads"), [("3", 3), ("", None), ("0", None), ("many", None)])
def test_a_model_takes_the_threads_it_is_allowed(
    wished: str, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", wished)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5}, raising=False)
    assert all_cores() == (threads or 2)


def test_threads_of_a_model_sleep_while_they_wait_for_each_other(tiny: Source) -> None:
    """In a process of its own, since torch reads the policy when it is first imported."""
    code = (
        "import os, sys; from agents.models import local; from agents.models.source import Source; "
        "local.check(Source(model=sys.argv[1]))"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
    environment["OMP_DISPLAY_ENV"] = "true"
    done = subprocess.run([sys.executable, "-c", code, tiny.model], env=environment, capture_output=True, text=True)
    assert re.search(r"OMP_WAIT_POLICY\W+PASSIVE", done.stderr), done.stderr


def test_short_answers_do_not_wait_for_long_ones(tiny: Source) -> None:
    weights = Weights.of("m", Path(tiny.model).resolve(), "float32")

    def chosen(*lengths: int | None) -> list[int]:
        """Of answers of so many tokens, None for answers that are scored."""
        works = [[[1, 2]] if length is None else Row(Sampling(max_tokens=length), 0) for length in lengths]
        return batch.first_batch(weights, [batch.Request([1, 2, 3], work, "", lambda: 1) for work in works])

    assert chosen(32, 256, 48, None, 64, 65) == [0, 2, 4]
    assert chosen(256, 32, 200, None) == [0, 2]
    assert chosen(None, 32, None) == [0, 2]


def test_a_small_model_answers_more_at_once() -> None:
    class Sized(NamedTuple):
        """What is asked of weights: a model of one matrix."""

        model: Any
        device: Any = torch.device("cpu")
        token_bytes: int = 1024

    def taken(parameters: int) -> int:
        weights: Any = Sized(torch.nn.Linear(1000, parameters // 1000, bias=False))
        waiting = [batch.Request([1, 2, 3], Row(Sampling(max_tokens=1), 0), "", lambda: 1)] * 1000
        return len(batch.first_batch(weights, waiting))

    assert taken(batch.SMALL) == batch.MOST_ROWS
    assert taken(batch.SMALL - 1000) == batch.SMALL_ROWS


def drawn(folder: Path, prompts: Sequence[Sequence[int]], says_one: bool) -> tuple[list[Row], list[tuple[int, ...]]]:
    """Answers of a token to some prompts, and the shapes of what the model computed.

    `says_one` makes each token of the model one that ends an answer.
    """
    model, shapes = fresh_model(folder), list[tuple[int, ...]]()
    if says_one:
        model.config.eos_token_id = list(range(model.config.vocab_size))
    model.register_forward_pre_hook(lambda *given: shapes.append(tuple(given[2]["input_ids"].shape)), with_kwargs=True)
    settings = [Sampling(0.7, max_tokens=1), Sampling(top_k=3, max_tokens=1), *[Sampling(max_tokens=1)] * 4]
    rows = [Row(sampling, seed) for seed, sampling in enumerate(settings)]
    asked = [batch.Request(prompt, row, "", lambda: 1) for prompt, row in zip(prompts, rows, strict=True)]
    weights = Weights("m", model, transformers.AutoTokenizer.from_pretrained(folder))
    batch.computed(weights, asked, lambda: False)
    return rows, shapes


def test_where_each_token_is_an_answer_equal_prompts_are_computed_once(folders: Path) -> None:
    prompts = [[5, 6, 7], [9], [5, 6, 7], list(range(20)), [5, 6], [5, 6, 7]]
    rows, shapes = drawn(folders / "m", prompts, True)
    for one, other in zip(rows, drawn(folders / "m", prompts, False)[0], strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
        assert one.finish == "stop"
    assert shapes == [(4, 20)]


def test_many_long_prompts_are_not_computed_at_once(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "CHUNK", 32)
    prompts = [[1] * length for length in (40, 10, 9, 12, 8, 33)]
    rows, shapes = drawn(folders / "m", prompts, True)
    assert shapes == [(3, 10), (1, 12), (1, 33), (1, 40)]
    for prompt, row in list(zip(prompts, rows, strict=True))[2:]:
        assert row.logprobs == pytest.approx(forward(folders / "m", prompt, row.ids), abs=1e-5)
