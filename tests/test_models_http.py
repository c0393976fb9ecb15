"""Models on servers answer as they must, and whatever a server does instead, the agent is never the one to blame."""

import asyncio
import json
import logging
import random
import re
import socket
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from email.utils import formatdate
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.agent import ProviderError
from agents.generation import Generation
from agents.models import http, patience
from agents.models.address import HIDDEN, address_of, key_of
from agents.models.answers import read_chat, read_completions
from agents.models.limits import BudgetError, ModelLimits
from agents.models.model import ContextOverflow, Message, Model, Sampling
from agents.models.patience import Patience
from agents.models.pool import Models
from agents.models.replies import Asked, RefusedError, Reply, TransientError, UnfitError, judge, retry_after
from agents.models.source import Source
from agents.models.wire import folded
from games.errors import RunError, UserError
from tests import bad_server
from tests.bad_server import CONTEXT, END, LOGPROB, BadServer, chat, reply

PROMPT = (Message("system", "You play."), Message("user", "Your move?"))
BEGUN = (*PROMPT, Message("assistant", "<action>"))
SEED = 0x1234_5678_9ABC_DEF0
KEY = "sk-very-secret-0123456789"
IMPATIENT = ModelLimits(request_seconds=0.4, patience_seconds=0.15)
PATIENT = ModelLimits(request_seconds=5.0, patience_seconds=5.0)

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[BadServer]:
    with BadServer() as server:
        yield server


def with_model(
    server: BadServer, use: Callable[[Model, Models], Awaitable[T]], limits: ModelLimits = PATIENT, **source: Any
) -> T:
    """Open a model of a server, use it, and close it."""

    async def run() -> T:
        models = Models(limits)
        try:
            opened = await models.get(Source(**{"model": "tiny", "base_url": server.base_url, **source}))
            return await use(opened, models)
        finally:
            await models.close()

    return asyncio.run(run())


def ask(
    server: BadServer,
    prompt: tuple[Message, ...] = PROMPT,
    sampling: Sampling | None = None,
    choices: tuple[str, ...] = (),
    limits: ModelLimits = PATIENT,
    **source: Any,
) -> Generation:
    """One answer."""
    drawn = sampling or Sampling(max_tokens=50)
    return with_model(server, lambda model, _: model.generate(prompt, drawn, SEED, choices), limits, **source)


def ids_of(*parts: str, tail: tuple[int, ...] = ()) -> list[int]:
    """Tokens of messages: each part a message."""
    return [number for part in parts for number in (*part.encode(), END)] + list(tail)


ASKED = ids_of("systemYou play.", "userYour move?", tail=tuple(b"assistant"))


# What is sent and what is read


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_an_answer_is_kept_with_its_tokens_and_their_probabilities(server: BadServer, api: str) -> None:
    found = ask(server, api=api, price=(1.0, 10.0))
    assert found.model == "tiny"
    assert found.raw == "pass"
    assert found.prompt_ids == ASKED
    assert found.completion_ids == [*b"pass", END]
    assert found.logprobs == [LOGPROB] * 5
    assert found.finish_reason == "stop"
    assert found.sampling == Sampling(max_tokens=50).told(SEED)
    assert (found.prompt_tokens, found.completion_tokens) == (len(ASKED), 5)
    assert found.price == pytest.approx((len(ASKED) * 1.0 + 5 * 10.0) / 1e6)
    assert found.seconds > 0
    assert found.prompt is None
    assert not found.constrained
    assert not found.notes


def test_the_models_own_distribution_is_asked_for_even_where_a_server_has_defaults(server: BadServer) -> None:
    ask(server)
    body = server.posts()[0].body
    neutral = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert {name: body[name] for name in neutral} == neutral
    assert body["seed"] == folded(SEED) < 1 << 31
    assert body["logprobs"] is True


@pytest.mark.parametrize("sampling", [Sampling(temperature=0.5), Sampling(top_p=0.9), Sampling(top_k=4)])
def test_log_probabilities_of_another_distribution_are_not_kept(server: BadServer, sampling: Sampling) -> None:
    assert ask(server, sampling=sampling).logprobs is None
    body = server.posts()[0].body
    assert [body["temperature"], body["top_p"], body["top_k"]] == [sampling.temperature, sampling.top_p, sampling.top_k]


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_last_message_of_the_assistants_is_continued(server: BadServer, api: str) -> None:
    found = ask(server, BEGUN, api=api)
    assert found.prompt_ids == ids_of("systemYou play.", "userYour move?", "assistant<action>")[:-1]
    assert found.raw == "pass"


def test_an_adapter_is_asked_for_by_its_name(server: BadServer) -> None:
    assert ask(server, adapter="tiny-lora").model == "tiny+tiny-lora"
    assert server.posts()[0].body["model"] == "tiny-lora"


def test_a_server_that_tells_no_tokens_leaves_the_messages(server: BadServer) -> None:
    server.strips = ("token_ids", "prompt_token_ids", "logprobs", "stop_reason", "usage")
    found = ask(server)
    assert found.prompt_ids is found.completion_ids is found.logprobs is None
    assert json.loads(found.prompt or "") == [message._asdict() for message in PROMPT]
    assert found.prompt_tokens > 0
    assert found.completion_tokens > 0


STOPPED = Sampling(max_tokens=50, stop=("</action>",))


@pytest.mark.parametrize(
    ("says", "stop_reason", "strips", "raw"),
    [
        ("<action>1", "</action>", (), "<action>1</action>"),
        ("<action>1</action>", "</action>", (), "<action>1</action>"),
        ("I resign", None, (), "I resign"),
        ("<action>1", None, ("stop_reason",), "<action>1</action>"),
        ("<action>1", "</other>", (), "<action>1"),
    ],
)
def test_the_stop_string_that_ended_an_answer_is_at_its_end(
    server: BadServer, says: str, stop_reason: str | None, strips: tuple[str, ...], raw: str
) -> None:
    server.says, server.stop_reason, server.strips = says, stop_reason, strips
    assert ask(server, sampling=STOPPED).raw == raw


def test_an_answer_that_was_cut_off_gets_no_stop_string(server: BadServer) -> None:
    server.always = reply(200, chat(message={"content": "<action>1"}, finish_reason="length"))
    assert ask(server, sampling=STOPPED).raw == "<action>1"


def test_thinking_that_a_server_keeps_apart_is_part_of_the_answer(server: BadServer) -> None:
    server.always = reply(200, chat(message={"content": "<action>1</action>", "reasoning": "hm"}))
    assert ask(server).raw == "<think>hm</think><action>1</action>"
    server.always = reply(200, chat(message={"content": None, "reasoning_content": "hm"}, finish_reason="length"))
    assert ask(server).raw == "<think>hm"


@given(seed=st.integers(0, 2**63 - 1))
def test_a_seed_that_is_sent_has_31_bits(seed: int) -> None:
    assert 0 <= folded(seed) < 2**31
    assert folded(seed) != folded(seed ^ 1)


def test_half_a_surrogate_pair_does_not_get_into_a_record(server: BadServer) -> None:
    server.always = reply(200, json.dumps(chat(message={"content": "a\ud800b"})).encode())
    assert ask(server, (Message("user", "\udc00?"),)).raw == "a\N{REPLACEMENT CHARACTER}b"
    assert server.posts()[0].body["messages"][0]["content"] == "\N{REPLACEMENT CHARACTER}?"


# Fields that a server does not know


def test_a_server_that_refuses_fields_is_asked_without_them_from_then_on(server: BadServer) -> None:
    server.known = bad_server.PLAIN

    async def twice(model: Model, _: Models) -> list[Generation]:
        return [await model.generate(PROMPT, Sampling(max_tokens=50), SEED) for _ in range(2)]

    first, second = with_model(server, twice)
    assert first.raw == second.raw == "pass"
    left_out = ["min_p", "repetition_penalty", "return_token_ids", "top_k"]
    assert first.notes["left_out"] == second.notes["left_out"] == left_out
    assert first.logprobs == [LOGPROB] * 5
    posts = server.posts()
    assert len(posts) == 1 + len(left_out) + 1
    assert not set(left_out) & set(posts[-1].body)


def test_a_refusal_for_another_reason_does_not_cost_later_answers_their_tokens(server: BadServer) -> None:
    server.faults.extend([reply(400, {"error": {"message": "the moon is full"}})] * 2)

    async def twice(model: Model, _: Models) -> Generation:
        with pytest.raises(RefusedError, match="the moon is full"):
            await model.generate(PROMPT, Sampling(max_tokens=50), SEED)
        return await model.generate(PROMPT, Sampling(max_tokens=50), SEED)

    assert with_model(server, twice).completion_ids == [*b"pass", END]


def test_a_setting_that_matters_is_not_left_out(server: BadServer) -> None:
    server.known = bad_server.PLAIN
    with pytest.raises(RefusedError, match="top_k"):
        ask(server, sampling=Sampling(top_k=4))


def test_the_newer_name_of_the_limit_is_used_where_a_server_asks_for_it(server: BadServer) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    server.faults.append(reply(400, {"error": {"message": words}}))
    server.faults.append(reply(200, chat()))
    assert ask(server).raw == "pass"
    assert server.posts()[1].body["max_completion_tokens"] == 50
    assert "max_tokens" not in server.posts()[1].body


# Choices and scores


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_an_answer_held_to_choices_is_one_of_them_and_marked(server: BadServer, api: str) -> None:
    choices = ("rock", "paper", "scissors" * 10)
    found = ask(server, BEGUN, STOPPED._replace(max_tokens=2), choices, api=api)
    assert found.raw in choices
    assert found.constrained
    body = server.posts("/v1/chat/completions" if api == "chat" else "/v1/completions")[0].body
    assert body["structured_outputs"] == {"choice": list(choices)}
    assert body["max_tokens"] > 80  # each of them fits
    assert "stop" not in body


def test_a_server_that_ignores_choices_is_told_of(server: BadServer) -> None:
    server.honours_choices = False
    with pytest.raises(RefusedError, match="ignores structured_outputs"):
        ask(server, choices=("rock", "paper"))


def test_a_server_that_does_not_know_choices_is_told_of(server: BadServer) -> None:
    server.known = bad_server.PLAIN
    with pytest.raises(RefusedError, match="structured_outputs"):
        ask(server, choices=("rock", "paper"))


def test_scores_are_those_of_each_answers_own_tokens(server: BadServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BATCH_PROMPTS", 2)
    moves = ("b3", "a", "", "xyz", "c")
    found = with_model(server, lambda model, _: model.score(PROMPT, moves), price=(2.0, 0.0))
    assert found.prompt_ids == ASKED
    assert [score.ids for score in found.answers] == [list(move.encode()) for move in moves]
    for score, move in zip(found.answers, moves, strict=True):
        assert score.logprobs == [-number / 1000 for number in move.encode()]
    assert len(server.posts("/v1/completions")) == 3
    assert found.price == pytest.approx(2.0 * sum(len(ASKED) + len(move) for move in moves) / 1e6)


@pytest.mark.parametrize("lacks", ["/tokenize", "prompt_logprobs"])
def test_a_server_that_tells_no_likelihoods_is_told_of(server: BadServer, lacks: str) -> None:
    server.tokenizes, server.strips = lacks != "/tokenize", (lacks,)
    with pytest.raises(UserError, match="vLLM") as caught:
        with_model(server, lambda model, _: model.score(PROMPT, ("a", "b")))
    assert "\n" not in str(caught.value)


# Too long a prompt

LONG = (Message("user", "x" * CONTEXT),)
LONG_TOKENS = len("user") + CONTEXT + 1 + len("assistant") + 50


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_too_long_a_prompt_overflows_with_its_numbers(server: BadServer, api: str) -> None:
    with pytest.raises(ContextOverflow) as caught:
        ask(server, LONG, api=api)
    assert (caught.value.needed, caught.value.limit) == (LONG_TOKENS, CONTEXT)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_context_of_the_source_holds_before_anything_is_asked(server: BadServer, api: str) -> None:
    with pytest.raises(ContextOverflow) as caught:
        ask(server, context=60, api=api)
    assert (caught.value.needed, caught.value.limit) == (len(ASKED) + 50, 60)
    assert {seen.path for seen in server.seen} == {"/tokenize"}


def test_a_context_of_the_source_asks_nothing_of_a_server_that_cannot_count(server: BadServer) -> None:
    server.tokenizes = False
    assert ask(server, context=60).raw == "pass"


@pytest.mark.parametrize(
    ("error", "needed", "limit"),
    [
        (
            {
                "message": "This model's maximum context length is 2048 tokens. However, you requested 2300 tokens "
                "(2044 in the messages, 256 in the completion). Please reduce the length of the messages or completion."
            },
            2300,
            2048,
        ),
        (
            {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in "
                "10000 tokens. Please reduce the length of the messages.",
                "code": "context_length_exceeded",
            },
            10050,
            8192,
        ),
        (
            {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 50. This model's maximum context "
                "length is 128 tokens and your request has 100 input tokens (50 > 128 - 100)."
            },
            150,
            128,
        ),
        (
            {
                "message": "This model's maximum context length is 2048 tokens. However, you requested 256 output "
                "tokens and your prompt contains at least 1793 input tokens, for a total of at least 2049 tokens."
            },
            2049,
            2048,
        ),
        ({"message": "The decoder prompt (length 5951) is longer than the maximum model length of 4096."}, 6001, 4096),
        (
            {
                "message": "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9412,
                "n_ctx": 8192,
            },
            9462,
            8192,
        ),
        (
            {"message": "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it"},
            9462,
            8192,
        ),
        ({"message": "the request exceeds the available context size, try increasing it"}, None, None),
        ({"message": "too much", "code": "context_length_exceeded"}, None, None),
        ({"message": f"maximum context length is {'9' * 5000}", "type": "exceed_context_size_error"}, None, None),
    ],
)
def test_the_wordings_of_an_overflow_are_read(
    server: BadServer, error: dict[str, Any], needed: int | None, limit: int | None
) -> None:
    server.always = reply(400, {"error": error})
    with pytest.raises(ContextOverflow) as caught:
        ask(server)
    assert (caught.value.needed, caught.value.limit) == (needed, limit)
    assert len(server.posts()) == 1


# Faults that pass, and those that do not

PASSING: dict[str, bad_server.Fault] = {
    "408": reply(408, b""),
    "409": reply(409, b""),
    "425": reply(425, b"too early"),
    "429": reply(429, {"error": {"message": "slow down"}}),
    "500": reply(500, {"error": "oops"}),
    "502": reply(502, b"<html>\x1b[31mbad gateway</html>"),
    "503": reply(503, b"\xff\xfe"),
    "529": reply(529, {"detail": [{"msg": "overloaded"}]}),
    "cut": bad_server.cut,
    "half": bad_server.half,
    "no http": bad_server.no_http,
    "silent": bad_server.silent,
    "trickle": bad_server.trickle,
    "endless": bad_server.endless,
    "bomb": bad_server.bomb,
    "bad gzip": bad_server.bad_gzip,
    "half JSON": reply(200, json.dumps(chat()).encode()[:-3]),
    "no JSON": reply(200, b"<html>hello</html>"),
    "empty": reply(200, b""),
    "deep": reply(200, b"[" * 100_000),
    "huge number": reply(200, b'{"choices": ' + b"9" * 10_000 + b"}"),
    "a list": reply(200, []),
    "null": reply(200, None),
    "an error as an answer": reply(200, {"error": {"message": "backend died"}}),
    "no choices": reply(200, {"usage": {}}),
    "empty choices": reply(200, {"choices": []}),
    "no message": reply(200, {"choices": [{"finish_reason": "stop"}]}),
    "content a number": reply(200, chat(message={"content": 7})),
    "content a list": reply(200, chat(message={"content": ["a"]})),
    "reason a list": reply(200, chat(finish_reason=["stop"])),
    "reason a novel": reply(200, chat(finish_reason="x" * 1000)),
    "aborted": reply(200, chat(finish_reason="abort")),
    "NaN": reply(200, json.dumps(chat(logprobs={"content": [{"logprob": float("nan")}]})).encode()),
    "infinite": reply(200, b'{"choices": [{"message": {}, "logprobs": {"content": [{"logprob": -1e999}]}}]}'),
    "probability above 1": reply(200, chat(logprobs={"content": [{"logprob": 0.5}]})),
    "logprob a string": reply(200, chat(logprobs={"content": [{"logprob": "-1"}]})),
    "negative token": reply(200, chat(token_ids=[1, -1])),
    "token a float": reply(200, chat(token_ids=[1.0])),
    "token true": reply(200, chat(token_ids=[True])),
    "token too big": reply(200, chat(token_ids=[1 << 40])),
    "lengths differ": reply(200, chat(token_ids=[1, 2], logprobs={"content": [{"logprob": -1.0}]})),
    "negative usage": reply(200, {**chat(), "usage": {"prompt_tokens": -5, "completion_tokens": 2}}),
    "usage a string": reply(200, {**chat(), "usage": "much"}),
}


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_waited_out(server: BadServer, fault: str) -> None:
    server.faults.extend([PASSING[fault]] * (1 if fault in ("silent", "trickle", "bomb") else 2))
    assert ask(server, limits=ModelLimits(request_seconds=0.5, patience_seconds=2.0)).raw == "pass"


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_does_not_pass_is_the_providers(server: BadServer, fault: str) -> None:
    server.always = PASSING[fault]
    with pytest.raises(ProviderError) as caught:
        ask(server, limits=IMPATIENT)
    words = str(caught.value)
    assert words.startswith(server.base_url)
    assert words.isprintable()
    assert len(words) < 500
    assert not isinstance(caught.value, UserError)


@pytest.mark.parametrize("fault", [bad_server.endless, bad_server.bomb])
def test_no_more_of_an_answer_is_read_than_an_answer_may_hold(server: BadServer, fault: bad_server.Fault) -> None:
    server.always = fault
    with pytest.raises(ProviderError, match="answers with more than 16 MiB"):
        ask(server, limits=ModelLimits(request_seconds=60.0, patience_seconds=0.0))


REFUSED: dict[str, bad_server.Fault] = {
    "401": reply(401, {"error": {"message": "no"}}),
    "402": reply(402, {"error": {"message": "no"}}),
    "403": reply(403, b"no"),
    "404": reply(404, {"error": {"message": "The model `tiny` does not exist."}}),
    "405": reply(405, b""),
    "418": reply(418, b""),
    "501": reply(501, b""),
    "no quota": reply(429, {"error": {"message": "pay", "code": "insufficient_quota"}}),
    "redirect": reply(307, b"", {"Location": "http://127.0.0.1:9/v1/chat/completions"}),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_does_not_pass_by_waiting_is_not_tried_again(server: BadServer, fault: str) -> None:
    server.always = REFUSED[fault]
    with pytest.raises(RefusedError) as caught:
        ask(server)
    assert isinstance(caught.value, ProviderError)  # so that a match is void, and nobody loses
    assert isinstance(caught.value, UserError)
    assert str(caught.value).isprintable()
    assert len(server.posts()) == 1


def test_a_server_that_nobody_runs_is_the_providers_fault() -> None:
    with socket.socket() as held, BadServer() as server:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match=url):
            ask(server, limits=IMPATIENT, base_url=url)


def test_retry_after_is_waited_for(server: BadServer) -> None:
    server.faults.append(reply(429, b"", {"Retry-After": "1"}))
    assert ask(server).raw == "pass"
    first, second = server.posts()
    assert second.at - first.at >= 1.0


def test_a_server_that_asks_to_wait_beyond_patience_is_given_up_at_once(server: BadServer) -> None:
    server.always = reply(503, b"", {"Retry-After": "3600"})
    with pytest.raises(ProviderError, match=r"asks to wait 3600 s \(tries: 1"):
        ask(server)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        (formatdate(1_000_030, usegmt=True), 30.0),
        (formatdate(999_000, usegmt=True), 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Mon, 99 Foo 2020", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert retry_after(header, now=1_000_000.0) == seconds


@given(st.text())
def test_no_retry_after_header_breaks_anything(header: str) -> None:
    assert (retry_after(header, now=0.0) or 0.0) >= 0.0


@given(seed=st.integers(0, 2**63), tries=st.integers(1, 1000), patience=st.floats(0, 1e6))
def test_back_off_grows_to_a_limit(seed: int, tries: int, patience: float) -> None:
    limits = ModelLimits(patience_seconds=patience)
    pause = Patience(limits, random.Random(seed)).pause(tries, None)
    most = min(2.0 ** min(tries - 1, 30), 30.0)
    assert 0.0 <= pause <= most
    assert pause <= patience or tries > 6
    if patience >= 32:
        assert pause >= most / 2
    assert 7.0 <= Patience(limits, random.Random(seed)).pause(tries, 7.0) <= 10.0


def test_back_off_of_two_processes_differs() -> None:
    one, other = [Patience(PATIENT, random.Random(seed)).pause(5, None) for seed in (1, 2)]
    assert one != other


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["message", "content", "text", "logprobs", "token_ids"]), inner)
    ),
)


@settings(max_examples=50)
@given(choices=JSON | st.lists(JSON), usage=JSON)
def test_no_answer_is_read_as_anything_but_an_answer_or_a_fault(choices: Any, usage: Any) -> None:
    for read in (read_chat, read_completions):
        with suppress(TransientError):
            read({"choices": choices, "usage": usage})


ASKED_OF = Asked(address_of(Source(base_url="http://localhost:8000/v1")))


@given(status=st.integers(300, 599), body=st.binary(max_size=100) | JSON.map(json.dumps).map(str.encode))
def test_every_refusal_means_something(status: int, body: bytes) -> None:
    with pytest.raises((TransientError, RefusedError, ContextOverflow, UnfitError)) as caught:
        judge(Reply(status, {}, body), ASKED_OF)
    assert str(caught.value).isprintable()


# Many at once, rates, budgets, and ends


def test_a_hundred_requests_are_in_flight_at_once(server: BadServer) -> None:
    server.wait_for = 100

    async def many(model: Model, _: Models) -> list[Generation]:
        return await asyncio.gather(*[model.generate(PROMPT, Sampling(), seed) for seed in range(100)])

    found = with_model(server, many, PATIENT.model_copy(update={"request_seconds": 30.0}))
    assert len(found) == server.most_in_flight == 100


def test_connections_are_used_again(server: BadServer) -> None:
    server.faults.extend([reply(500, b""), reply(429, b"")])

    async def many(model: Model, _: Models) -> None:
        for _ in range(10):
            await asyncio.gather(*[model.generate(PROMPT, Sampling(), seed) for seed in range(3)])

    with_model(server, many)
    assert len(server.posts()) == 32
    assert server.connected <= 3


def test_requests_keep_to_their_rate_and_models_of_a_server_share_it(server: BadServer) -> None:
    async def many(model: Model, models: Models) -> None:
        other = await models.get(Source(model="tiny", adapter="tiny-lora", base_url=server.base_url))
        both = [one.generate(PROMPT, Sampling(), seed) for seed in range(15) for one in (model, other)]
        await asyncio.gather(*both)

    with_model(server, many, PATIENT.model_copy(update={"requests_per_minute": 600.0}))
    times = [seen.at for seen in server.posts()]
    assert len(times) == 30
    for start in times:  # 10 a second, and as many at first; twice the time allowed, since threads lag
        assert sum(start <= at < start + 0.5 for at in times) <= 10 + 10


def test_tokens_keep_to_their_rate_by_what_answers_really_took(server: BadServer) -> None:
    limits = PATIENT.model_copy(update={"tokens_per_minute": 6000})
    took = len(ASKED) + 5

    async def many(model: Model, models: Models) -> int:
        async with asyncio.timeout(60):  # 60 x 500 booked as they are would take more than four minutes
            await asyncio.gather(*[model.generate(PROMPT, Sampling(max_tokens=500), seed) for seed in range(60)])
        return models.spending.tokens

    assert with_model(server, many, limits) == 60 * took


def test_tokens_beyond_the_rate_wait(server: BadServer) -> None:
    async def many(model: Model, models: Models) -> int:
        tasks = [asyncio.create_task(model.generate(PROMPT, Sampling(max_tokens=500), seed)) for seed in range(8)]
        await asyncio.wait(tasks, timeout=0.7)
        done = sum(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return done

    server.always = bad_server.slow(0.5)
    assert with_model(server, many, PATIENT.model_copy(update={"tokens_per_minute": 1200})) == 2


def test_a_budget_of_tokens_stops_a_run(server: BadServer) -> None:
    async def on(model: Model, models: Models) -> int:
        for seed in range(100):
            try:
                await model.generate(PROMPT, Sampling(), seed)
            except BudgetError:
                return seed
        return 100

    took = len(ASKED) + 5
    limits = PATIENT.model_copy(update={"budget_tokens": 3 * took})
    assert with_model(server, on, limits) == len(server.posts()) == 3
    dollars = PATIENT.model_copy(update={"budget_dollars": 5.0})
    assert with_model(server, on, dollars, price=(1e6, 1e6)) == 1


def test_an_answer_that_is_no_object_is_called_that(server: BadServer) -> None:
    server.always = reply(200, [])
    with pytest.raises(ProviderError, match="gives an answer that is no JSON object "):
        ask(server, limits=IMPATIENT)


def test_a_person_is_told_once_that_a_server_fails_and_again_when_it_fails_anew(
    server: BadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "TELL_SECONDS", 0.0)
    told: list[str] = []

    async def on() -> None:
        models = Models(PATIENT, tell=told.append)
        try:
            model = await models.get(Source(model="tiny", base_url=server.base_url))
            for faults in (3, 0, 2):
                server.faults.extend([reply(500, b"busy")] * faults)
                await model.generate(PROMPT, Sampling(), SEED)
        finally:
            await models.close()

    asyncio.run(on())
    assert len(told) == 2
    assert all(["answers 500" in line and "asked again for up to 5 s (patience_seconds)" in line for line in told])


def test_nobody_is_told_of_what_passes_at_once(server: BadServer) -> None:
    told: list[str] = []
    server.faults.append(reply(500, b""))

    async def on() -> None:
        models = Models(PATIENT, tell=told.append)
        try:
            await (await models.get(Source(model="tiny", base_url=server.base_url))).generate(PROMPT, Sampling(), SEED)
        finally:
            await models.close()

    asyncio.run(on())
    assert told == []


def test_faults_cost_nothing_of_a_budget(server: BadServer) -> None:
    server.faults.extend([bad_server.half, reply(500, b""), reply(200, b"{}")])

    async def one(model: Model, models: Models) -> int:
        await model.generate(PROMPT, Sampling(), SEED)
        return models.spending.tokens

    assert with_model(server, one) == len(ASKED) + 5


def test_a_request_that_is_cancelled_hangs_up(server: BadServer) -> None:
    server.always = bad_server.silent

    async def cancelled(model: Model, _: Models) -> None:
        task = asyncio.create_task(model.generate(PROMPT, Sampling(), SEED))
        while not server.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with server.lock:  # while the client is still open: it is the request that hung up
            assert server.lock.wait_for(lambda: server.left == 1, timeout=10)

    with_model(server, cancelled)
    assert len(server.posts()) == 1


def test_a_run_that_is_over_holds_no_connection_and_another_may_begin(server: BadServer) -> None:
    async def run() -> list[str]:
        models = Models(PATIENT)
        source = Source(model="tiny", base_url=server.base_url)
        said = []
        for _ in range(2):
            model = await models.get(source)
            said.append((await model.generate(PROMPT, Sampling(), SEED)).raw)
            await models.close()
            with pytest.raises(RuntimeError):
                await model.generate(PROMPT, Sampling(), SEED)
        return said

    assert asyncio.run(run()) == ["pass", "pass"]


# Keys


def everything_said(error: BaseException) -> str:
    """What any log or record could hold of an exception."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


def test_the_key_that_a_source_names_is_sent(server: BadServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.key = KEY
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    assert ask(server, key="MY_KEY").raw == "pass"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert ask(server).raw == "pass"


def test_a_key_that_is_missing_or_wrong_is_named_by_its_variable(
    server: BadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "right"
    for use in (http.check, lambda source: ask(server, **source._asdict())):
        source = Source(model="tiny", base_url=server.base_url)
        with pytest.raises(UserError, match="name the environment variable"):
            use(source)
        with pytest.raises(UserError, match="MY_KEY") as caught:
            use(source._replace(key="MY_KEY"))
        assert isinstance(caught.value, ProviderError) is (use is not http.check)
        monkeypatch.setenv("MY_KEY", KEY)
        with pytest.raises(UserError, match="in the environment variable MY_KEY") as caught:
            use(source._replace(key="MY_KEY"))
        assert KEY not in everything_said(caught.value)
        monkeypatch.setenv("MY_KEY", "two\nlines")
        with pytest.raises(UserError, match="cannot be a key") as caught:
            use(source._replace(key="MY_KEY"))
        assert "lines" not in str(caught.value)
        monkeypatch.delenv("MY_KEY")


@pytest.mark.parametrize("status", [200, 307, 400, 401, 404, 418, 429, 500])
def test_a_key_that_a_server_repeats_is_hidden(
    server: BadServer, monkeypatch: pytest.MonkeyPatch, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    server.always = bad_server.echo_key(status)
    server.models = [f"{KEY}-model"]
    caplog.set_level(logging.DEBUG)
    source = Source(model="tiny", base_url=server.base_url, key="MY_KEY")
    with pytest.raises(UserError) as refused:
        http.check(source)
    said = everything_said(refused.value)
    try:
        said += repr(ask(server, limits=IMPATIENT, key="MY_KEY"))
    except ProviderError as error:
        said += everything_said(error)
    assert HIDDEN in said
    assert KEY[:12] not in said + caplog.text


@pytest.mark.parametrize("place", ["model", "asker", "server"])
def test_the_key_is_in_no_repr(server: BadServer, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("MY_KEY", KEY)

    async def shown(model: Model, _: Models) -> str:
        assert isinstance(model, http.HttpModel)
        asker = model._asker
        return repr({"model": vars(model), "asker": vars(asker), "server": vars(asker._server)}[place])

    assert KEY not in with_model(server, shown, key="MY_KEY")


def test_the_openai_key_is_not_sent_unasked_over_an_open_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    far = Source(base_url="http://gpu.example:8000/v1")
    assert key_of(far, address_of(far)) is None
    assert not caplog.text
    named = far._replace(key="OPENAI_API_KEY")
    key = key_of(named, address_of(named))
    assert key is not None
    assert "OPENAI_API_KEY" in caplog.text
    assert KEY not in caplog.text
    for url in ("https://gpu.example/v1", "http://127.0.0.1:8000/v1", "http://[::1]:8000/v1", "http://localhost/v1"):
        near = Source(base_url=url)
        assert key_of(near, address_of(near)) is not None


def test_a_redirect_does_not_take_the_key_to_another_host(server: BadServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with BadServer() as other:
        server.always = reply(307, b"", {"Location": f"{other.base_url}/chat/completions"})
        with pytest.raises(RefusedError, match=f"redirect to {other.base_url}"):
            ask(server, key="MY_KEY")
        assert not other.seen


# The look before the start


def test_a_server_that_is_there_passes(server: BadServer) -> None:
    source = Source(model="tiny", base_url=server.base_url)
    http.check(source)
    http.check(source._replace(adapter="tiny-lora", api="completions", base_url=server.base_url + "/"))
    assert http.traits(source) == ()
    server.models = None
    http.check(source)
    server.models = ()
    http.check(source)
    server.models = ["tiny:latest"]
    http.check(source)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "tinny"}, "no model 'tinny'; did you mean tiny"),
        ({"adapter": "tiny-lore"}, "no model 'tiny-lore'; did you mean tiny-lora"),
        ({"base_url": ""}, "needs the address of a server"),
        ({"base_url": "localhost:8000"}, "is no address"),
        ({"base_url": "ftp://localhost/v1"}, "is no address"),
        ({"base_url": "http://localhost:99999/v1"}, "is no address"),
        ({"base_url": "http://"}, "is no address"),
        ({"base_url": "http://a b/v1"}, "is no address"),
        ({"base_url": "http://\x1b[31m/v1"}, "is no address"),
        ({"base_url": "http://me:secret@localhost/v1"}, "put the key into the environment"),
        ({"base_url": "http://localhost/v1?key=secret"}, "query"),
        ({"base_url": "http://localhost/v1/chat/completions"}, "leave out"),
        ({"context": -1}, "context=-1"),
        ({"price": (1.0, -1.0)}, "price="),
        ({"price": (1.0, float("nan"))}, "price="),
    ],
)
def test_what_a_person_can_mend_is_told_before_the_start(
    server: BadServer, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as caught:
        http.check(Source(model="tiny", base_url=server.base_url)._replace(**changes))
    assert str(caught.value).isprintable()
    assert "secret" not in everything_said(caught.value) or "?" in changes["base_url"]


def test_a_base_url_without_its_end_is_told_the_end(server: BadServer) -> None:
    with pytest.raises(UserError, match=f"base_url={server.base_url} answers"):
        http.check(Source(model="tiny", base_url=server.root))
    with pytest.raises(RefusedError, match=f"most servers want base_url={server.base_url}"):
        ask(server, base_url=server.root)


def test_a_server_without_tokens_is_told_of_where_they_are_needed(server: BadServer) -> None:
    server.tokenizes = False
    with pytest.raises(UserError, match="api=completions needs a server with"):
        http.check(Source(model="tiny", base_url=server.base_url, api="completions"))
    server.always = reply(200, {"tokens": []})  # llama.cpp's server, asked for messages
    with pytest.raises(RefusedError, match="as vLLM does"):
        ask(server, api="completions")


def test_a_server_that_nobody_runs_is_told_of_before_the_start() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(RunError, match=url) as caught:
            http.check(Source(model="tiny", base_url=url))
    assert str(caught.value).isprintable()


def test_a_page_of_the_web_is_no_server_of_models(server: BadServer) -> None:
    server.get = reply(200, b"<html>hello</html>")
    with pytest.raises(RunError, match="is it an OpenAI-compatible server"):
        http.check(Source(model="tiny", base_url=server.base_url))
    server.get = reply(500, b"down")
    with pytest.raises(RunError, match="500"):
        http.check(Source(model="tiny", base_url=server.base_url))
    server.get = reply(302, b"", {"Location": "https://elsewhere/"})
    with pytest.raises(UserError, match="redirect to https://elsewhere/"):
        http.check(Source(model="tiny", base_url=server.base_url))


def test_a_missing_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['tenacity'] = None\n"
        "from agents.models import http; from agents.models.source import Source\n"
        "from games.errors import UserError\n"
        "assert 'httpx' not in sys.modules\n"
        "try: http.check(Source(base_url='http://localhost/v1'))\n"
        "except UserError as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 'pip install "metarena[http]"' in found.stdout, found.stderr
