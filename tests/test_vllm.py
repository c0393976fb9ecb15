"""A real vLLM on the CPU, as a server that our client asks and in this process: `make test-vllm`.

Log-probabilities are compared with a forward pass of transformers in float32, to 1e-3.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from agents.agent import ProviderError
from agents.generation import Generation
from agents.models import smollm2
from agents.models.limits import BudgetError, ModelLimits
from agents.models.model import ContextOverflow, Message, Model, Sampling
from agents.models.pool import Models
from agents.models.pool import backend as backend_of
from agents.models.source import SMOLLM2, Source
from games.errors import UserError
from league.store.store import Store
from tests.command_line import arena
from tests.tiny_model import tiny_adapter, tiny_folder
from tests.vllm_server import PYTHON, WHY_NOT, VllmServer

pytestmark = pytest.mark.slow
in_process = pytest.mark.skipif(find_spec("vllm") is None, reason=WHY_NOT)
with_server = pytest.mark.skipif(not PYTHON, reason=WHY_NOT)

CONTEXT = 2048
PROMPT = (
    Message("system", "You play tic-tac-toe. Answer with one move."),
    Message("user", "The board is empty. Legal moves: r0c0, r0c2, r1c1. Your move?"),
)
BEGUN = (*PROMPT, Message("assistant", "<action>"))
CHOICES = ("r0c0", "r0c2", "r1c1")
SHORT = Sampling(max_tokens=12)
TOLERANCE = 1e-3

T = TypeVar("T")
Sources = Callable[[bool], Source]
"""A source, with the adapter or without."""


@pytest.fixture(scope="module")
def folder() -> Path:
    return smollm2.converted()


@pytest.fixture(scope="module")
def adapter(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_adapter(folder, tmp_path_factory.mktemp("adapters") / "tuned", rank=8)


@pytest.fixture(scope="module")
def server(folder: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    # One place for an adapter more than there are adapters, and none of the last layer: see the page on servers.
    log = tmp_path_factory.mktemp("server") / "log"
    loras = ("--enable-lora", "--max-loras", "2", "--max-lora-rank", "8", "--lora-modules", f"tuned={adapter}")
    layers = ("--lora-target-modules", "q_proj", "k_proj", "v_proj", "o_proj")
    with VllmServer(folder, SMOLLM2, log, "--max-model-len", str(CONTEXT), *loras, *layers) as server:
        yield server


@pytest.fixture(
    params=[
        pytest.param("chat", marks=with_server),
        pytest.param("completions", marks=with_server),
        pytest.param("process", marks=in_process),
    ]
)
def sources(request: pytest.FixtureRequest, adapter: Path) -> Sources:
    if request.param == "process":
        return lambda tuned: Source(
            backend="vllm", dtype="float32", context=CONTEXT, adapter=str(adapter) if tuned else ""
        )
    url = request.getfixturevalue("server").base_url
    return lambda tuned: Source(base_url=url, api=request.param, adapter="tuned" if tuned else "")


def ask(source: Source, use: Callable[[Model], Awaitable[T]], limits: ModelLimits | None = None) -> T:
    """Do something with a model in a run and an event loop of its own."""

    async def run() -> T:
        models = Models(limits)
        try:
            return await use(await models.get(source))
        finally:
            await models.close()

    return asyncio.run(run())


def generations(source: Source, asked: Sequence[tuple[Sequence[Message], Sampling, int]]) -> list[Generation]:
    """Answers to some prompts that are asked at the same time."""

    async def use(model: Model) -> list[Generation]:
        return await asyncio.gather(*[model.generate(*one) for one in asked])

    return ask(source, use)


@lru_cache(maxsize=2)
def reference(folder: Path, adapter: Path | None) -> Any:
    """The model by transformers in float32."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)  # vLLM has the cores
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return (PeftModel.from_pretrained(model, adapter) if adapter else model).eval()


def forward(model: Any, prompt: Sequence[int], answer: Sequence[int], sampling: Sampling = SHORT) -> list[float]:
    """Log-probability of each token of an answer in the distribution that the settings describe."""
    import torch

    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1].float()
    logits = logits / sampling.temperature
    if sampling.top_k:
        least = logits.topk(sampling.top_k).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    return logits.log_softmax(-1).gather(1, torch.tensor(answer)[:, None])[:, 0].tolist()  # type: ignore[no-any-return]


def tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


# What is kept of an answer


@pytest.mark.parametrize("prompt", [PROMPT, BEGUN], ids=["asked", "begun"])
def test_tokens_are_those_of_the_models_own_tokenizer(
    sources: Sources, folder: Path, prompt: Sequence[Message]
) -> None:
    (answer,) = generations(sources(False), [(prompt, SHORT, 5)])
    own = tokenizer(folder)
    rows = [message._asdict() for message in PROMPT]
    expected = own.apply_chat_template(rows, add_generation_prompt=True, return_dict=False)
    if prompt is BEGUN:
        expected = own(own.decode(expected) + "<action>", add_special_tokens=False)["input_ids"]
    assert answer.prompt_ids == list(expected)
    assert answer.completion_ids is not None
    assert own.decode(answer.completion_ids, skip_special_tokens=True) == answer.raw
    assert (answer.prompt_tokens, answer.completion_tokens) == (len(expected), len(answer.completion_ids))


@pytest.mark.parametrize("tuned", [False, True], ids=["base", "adapter"])
@pytest.mark.parametrize("sampling", [SHORT, SHORT._replace(temperature=0.6, top_k=30)], ids=["plain", "cut"])
def test_log_probabilities_are_those_of_the_distribution_that_was_drawn_from(
    sources: Sources, folder: Path, adapter: Path, tuned: bool, sampling: Sampling
) -> None:
    answers = generations(sources(tuned), [(PROMPT, sampling, seed) for seed in range(3)])
    model = reference(folder, adapter if tuned else None)
    for answer in answers:
        assert answer.prompt_ids is not None
        assert answer.completion_ids is not None
        if answer.logprobs is None:  # a server may tell those of another distribution: our client asks for none then
            assert sources(tuned).base_url
            assert sampling is not SHORT
        else:
            expected = forward(model, answer.prompt_ids, answer.completion_ids, sampling)
            assert answer.logprobs == pytest.approx(expected, abs=TOLERANCE)


def test_a_seed_gives_its_answer_again_and_another_seed_another_one(sources: Sources) -> None:
    first, again, *others = generations(sources(False), [(PROMPT, SHORT, seed) for seed in (2**62, 2**62, 1, 2, 3)])
    assert first.completion_ids == again.completion_ids
    assert all(other.completion_ids != first.completion_ids for other in others)


def test_more_prompts_at_once_than_one_step_reads_are_all_answered(sources: Sources) -> None:
    long = [(Message("user", f"Move {number}? " + "It is a long game. " * 200),) for number in range(6)]
    answers = generations(sources(False), [(prompt, SHORT, seed) for seed, prompt in enumerate(long)])
    assert all(answer.completion_ids for answer in answers)
    assert sum(answer.prompt_tokens for answer in answers) > 2 * CONTEXT


def test_a_stop_string_ends_the_answer_and_stays_in_it(sources: Sources) -> None:
    (free,) = generations(sources(False), [(PROMPT, SHORT, 4)])
    stop = free.raw[4:7]
    (stopped,) = generations(sources(False), [(PROMPT, SHORT._replace(stop=(stop,)), 4)])
    assert stopped.raw == free.raw[: free.raw.index(stop) + len(stop)]
    assert stopped.finish_reason == "stop"


def test_the_most_likely_tokens_are_drawn_at_temperature_zero(sources: Sources, folder: Path) -> None:
    (answer,) = generations(sources(False), [(PROMPT, SHORT._replace(temperature=0.0), 4)])
    assert answer.prompt_ids is not None
    assert answer.completion_ids is not None
    import torch

    with torch.no_grad():
        logits = reference(folder, None)(torch.tensor([[*answer.prompt_ids, *answer.completion_ids]])).logits[0]
    assert logits[len(answer.prompt_ids) - 1 : -1].argmax(-1).tolist() == answer.completion_ids


# Choices and scores


def test_choices_hold_every_one_of_many_concurrent_answers(sources: Sources) -> None:
    odd = (*CHOICES, 'say "no" \\ \n twice', "naïve 石")

    async def use(model: Model) -> list[Generation]:
        return await asyncio.gather(*[model.generate(PROMPT, SHORT._replace(max_tokens=1), k, odd) for k in range(16)])

    answers = ask(sources(False), use)
    assert all(answer.constrained and answer.raw in odd for answer in answers)
    assert len({answer.raw for answer in answers}) > 1


@pytest.mark.parametrize("tuned", [False, True], ids=["base", "adapter"])
def test_scores_are_log_likelihoods_however_often_and_however_many_are_asked_for(
    sources: Sources, folder: Path, adapter: Path, tuned: bool
) -> None:
    prompts = [(Message("user", f"Move {number}? " + "It is a long game. " * 30), BEGUN[-1]) for number in range(2)]

    async def use(model: Model) -> list[Any]:
        return await asyncio.gather(*[model.score(prompt, CHOICES) for prompt in (*prompts, *prompts)])

    found = ask(sources(tuned), use)
    model, own = reference(folder, adapter if tuned else None), tokenizer(folder)
    for first, again in zip(found[: len(prompts)], found[len(prompts) :], strict=True):
        for one, other in zip(first.answers, again.answers, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=TOLERANCE)
    for scores in found[: len(prompts)]:
        for choice, score in zip(CHOICES, scores.answers, strict=True):
            assert list(score.ids) == own(choice, add_special_tokens=False)["input_ids"]
            expected = forward(model, scores.prompt_ids, score.ids)
            assert score.logprobs == pytest.approx(expected, abs=TOLERANCE)


# Adapters


def test_requests_with_and_without_an_adapter_share_a_batch_and_stay_apart(sources: Sources) -> None:
    asked = [(PROMPT, SHORT, seed) for seed in range(4)]
    alone = [[answer.completion_ids for answer in generations(sources(tuned), asked)] for tuned in (False, True)]

    async def mixed() -> list[list[Any]]:
        models = Models()
        both = [await models.get(sources(tuned)) for tuned in (False, True)]
        answers = await asyncio.gather(*[model.generate(*one) for model in both for one in asked])
        await models.close()
        ids = [answer.completion_ids for answer in answers]
        return [ids[: len(asked)], ids[len(asked) :]]

    assert asyncio.run(mixed()) == alone
    assert alone[0] != alone[1]


# What cannot be done


def test_a_prompt_that_is_too_long_is_refused_with_its_size(sources: Sources) -> None:
    long = (Message("user", "a b " * CONTEXT),)
    with pytest.raises(ContextOverflow) as refused:
        generations(sources(False), [(long, SHORT, 1)])
    assert refused.value.limit == CONTEXT
    assert refused.value.needed is not None
    assert refused.value.needed > CONTEXT


def test_a_budget_that_is_spent_ends_the_run(sources: Sources) -> None:
    async def use(model: Model) -> None:
        await model.generate(PROMPT, SHORT, 1)
        await model.generate(PROMPT, SHORT, 2)

    with pytest.raises(BudgetError):
        ask(sources(False), use, ModelLimits(budget_tokens=20))


@in_process
def test_a_request_that_nobody_waits_for_is_taken_back(folder: Path) -> None:
    from agents.models.vllm_host import Settings, host_of

    async def use(model: Model) -> int:
        asked = asyncio.create_task(model.generate(PROMPT, Sampling(max_tokens=1500), 1))
        engine = host_of(Settings(folder, "float32", CONTEXT))
        while not engine.unfinished:
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        for _ in range(500):
            if not engine.unfinished:
                break
            await asyncio.sleep(0.01)
        return engine.unfinished

    assert ask(Source(backend="vllm", dtype="float32", context=CONTEXT), use) == 0


@in_process
def test_an_engine_that_cannot_start_says_so_before_any_match(folder: Path) -> None:
    source = Source(backend="vllm", dtype="float32", context=1 << 20)
    with pytest.raises(UserError, match="vLLM does not start"):
        backend_of(source).check(source)


@in_process
def test_no_engine_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    base = tiny_folder(tmp_path / "model", hidden=128)
    words = (
        "import sys; from pathlib import Path; from agents.models.pool import backend;"
        " from agents.models.source import Source;"
        " source = Source(sys.argv[1], backend='vllm', dtype='float32', context=128);"
        " backend(source).check(source); print('up', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", words, str(base)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("EngineCore" in " ".join(child.cmdline()) for child in children)
        process.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


@with_server
def test_a_server_ends_cleanly_when_it_is_told_to_and_no_agent_is_to_blame(tmp_path: Path) -> None:
    base = tiny_folder(tmp_path / "model", hidden=128)
    with VllmServer(base, "tiny", tmp_path / "log") as server:
        source = Source("tiny", base_url=server.base_url)
        backend_of(source).check(source)

        async def use(model: Model) -> None:
            await model.generate(PROMPT, SHORT, 1)
            assert await asyncio.to_thread(server.stop) == 0
            await model.generate(PROMPT, SHORT, 2)

        with pytest.raises(ProviderError):
            ask(source, use, ModelLimits(patience_seconds=1.0))


# Whole matches


def test_concurrent_matches_are_played_and_kept_with_tokens_and_log_probabilities_that_hold(
    sources: Sources, folder: Path, tmp_path: Path
) -> None:
    source = sources(False)
    where = f"base_url={source.base_url},api={source.api}" if source.base_url else "backend=vllm,dtype=float32"
    words = f"{where},context={CONTEXT}"
    free = f"free=llm({words},retries=1,max_tokens=24,memory=history)"
    held = f"held=llm({words},choice=constrained,style=react,max_tokens=16)"
    scored = f"scored=llm({words},choice=scored)"
    agents = [word for agent in (free, held, scored, "random") for word in ("--agent", agent)]
    rest = ("--pairs", "2", "--episodes", "2", "--seed", "3")
    arena("tournament", "--game", "kuhn_poker", *agents, *rest, folder=tmp_path)
    store = Store(tmp_path / "arena.duckdb")
    runs = store.query("SELECT status, count(*) AS n FROM match_runs GROUP BY ALL").to_pylist()
    assert runs == [{"status": "finished", "n": 2 * 2 * 6}]
    assert _most_at_once(store) > 4
    kept = _kept(store)
    assert set(kept) == {"free", "held", "scored"}
    own, model = tokenizer(folder), reference(folder, None)
    for row in [row for rows in kept.values() for row in rows]:
        assert own(own.decode(row["prompt_ids"]), add_special_tokens=False)["input_ids"] == row["prompt_ids"]
        # The last token may go on behind a stop string.
        assert own.decode(row["completion_ids"], skip_special_tokens=True).startswith(row["raw"])
        assert len(row["logprobs"]) == len(row["completion_ids"])
    for kind, rows in kept.items():
        for row in rows[:: max(len(rows) // 8, 1)]:
            expected = forward(model, row["prompt_ids"], row["completion_ids"])
            if kind == "held":  # the more likely, since the tokens that lead to no choice are out
                assert all(told > alone - TOLERANCE for told, alone in zip(row["logprobs"], expected, strict=True))
            else:
                assert row["logprobs"] == pytest.approx(expected, abs=TOLERANCE)
    faults = store.query(
        "SELECT DISTINCT seats[seat + 1] AS agent FROM turns JOIN episodes USING (match_id, episode)"
        " WHERE fault IS NOT NULL"
    )
    assert faults.to_pylist() == [{"agent": "free"}]


def _kept(store: Store) -> dict[str, list[dict[str, Any]]]:
    """The generations of a store by how their tokens were chosen."""
    kept: dict[str, list[dict[str, Any]]] = {}
    for row in store.query("SELECT * FROM generations ORDER BY ALL").to_pylist():
        chosen = "scored" if "scored" in json.loads(row["sampling"]) else "held"
        kept.setdefault(chosen if row["constrained"] else "free", []).append(row)
    return kept


def _most_at_once(store: Store) -> int:
    """The number of matches that were under way at the same time."""
    (most,) = store.query(
        "SELECT max(n) AS n FROM (SELECT count(*) AS n FROM match_runs one JOIN match_runs other"
        " ON one.started BETWEEN other.started AND other.started + to_microseconds((other.seconds * 1e6)::BIGINT)"
        " GROUP BY one.match_id)"
    ).to_pylist()
    return int(most["n"])
