"""What models in this process answer: tokens, log-probabilities, choices, and rows that do not disturb each other."""

import asyncio
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from agents.generation import Generation
from agents.models import local
from agents.models.limits import BudgetError, ModelLimits
from agents.models.model import ContextOverflow, Message, Model, Sampling
from agents.models.row import Row
from agents.models.source import Source
from agents.models.trie import Trie
from games.errors import UserError
from tests.local_models import ASK, answer, forward, fresh_model, logits_of, with_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def test_token_ids_of_a_generation_are_those_of_the_models_own_tokenizer(tiny: Source) -> None:
    given = answer(tiny, ASK, Sampling(max_tokens=12), seed=3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny.model)
    messages = [message._asdict() for message in ASK]
    assert given.prompt_ids == tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    assert given.raw == tokenizer.decode(given.completion_ids, skip_special_tokens=True)
    assert (given.prompt_tokens, given.completion_tokens) == (len(given.prompt_ids), len(given.completion_ids))
    assert given.sampling == {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 12, "stop": [], "seed": 3}
    assert given.model == "m"
    assert not given.constrained


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_agree_with_a_separate_forward_pass(tiny: Source, temperature: float) -> None:
    sampling = Sampling(temperature=temperature, max_tokens=30)

    async def beside_others(model: Model) -> list[Generation]:
        asks = [model.generate([Message("user", "x" * 9 * i)], sampling, seed=i) for i in range(1, 5)]
        return await asyncio.gather(*asks)

    for one in with_model(tiny, beside_others):
        separate = forward(tiny.model, one.prompt_ids, one.completion_ids, temperature)
        assert one.logprobs == pytest.approx(separate, abs=1e-3)
        assert len(one.logprobs) == len(one.completion_ids)


def test_scores_agree_with_a_separate_forward_pass(tiny: Source) -> None:
    choices = ["rock", "rocks", "r0c2", "本"]
    scores = with_model(tiny, lambda model: model.score(ASK, choices))
    for score in scores.answers:
        assert score.logprobs == pytest.approx(forward(tiny.model, scores.prompt_ids, score.ids), abs=1e-3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny.model)
    assert [tokenizer.decode(score.ids) for score in scores.answers] == choices


def test_the_log_probability_is_of_the_distribution_that_was_drawn_from(tiny: Source) -> None:
    given = answer(tiny, ASK, Sampling(max_tokens=20, top_k=2), seed=1)
    separate = forward(tiny.model, given.prompt_ids, given.completion_ids)
    assert all(kept > free for kept, free in zip(given.logprobs, separate, strict=True))
    logits = logits_of(fresh_model(tiny.model), [*given.prompt_ids, *given.completion_ids])
    for place, (token, logprob) in enumerate(zip(given.completion_ids, given.logprobs, strict=True)):
        two = logits[len(given.prompt_ids) - 1 + place].topk(2)
        assert token in two.indices
        kept = two.values.log_softmax(0)[two.indices.tolist().index(token)]
        assert logprob == pytest.approx(float(kept), abs=1e-3)


def test_no_heat_takes_the_likeliest_token_and_a_small_top_p_does_too(tiny: Source) -> None:
    cold = answer(tiny, ASK, Sampling(temperature=0, max_tokens=10), seed=1)
    narrow = answer(tiny, ASK, Sampling(top_p=1e-6, max_tokens=10), seed=2)
    whole = logits_of(fresh_model(tiny.model), [*cold.prompt_ids, *cold.completion_ids])
    assert cold.completion_ids == whole[len(cold.prompt_ids) - 1 : -1].argmax(-1).tolist()
    assert cold.completion_ids == narrow.completion_ids
    assert set(cold.logprobs) == {0.0} == set(narrow.logprobs)


def test_draws_follow_the_models_own_distribution(tiny: Source) -> None:
    async def first_tokens(model: Model) -> list[Generation]:
        one = Sampling(max_tokens=1)
        return await asyncio.gather(*[model.generate(ASK, one, seed=seed) for seed in range(1500)])

    drawn = with_model(tiny, first_tokens)
    expected = logits_of(fresh_model(tiny.model), drawn[0].prompt_ids)[-1].softmax(-1)
    counts = torch.zeros_like(expected)
    for one in drawn:
        counts[one.completion_ids[0]] += 1
    shares, likely = counts / len(drawn), expected > 0.01
    assert int(likely.sum()) > 5
    # Five standard deviations of a share.
    assert bool(((shares - expected).abs() < 5 * (expected * (1 - expected) / len(drawn)).sqrt())[likely].all())


# Rows of one batch


def test_a_text_does_not_depend_on_its_neighbours(tiny: Source) -> None:
    asks = [
        (ASK, Sampling(max_tokens=25), 1, ()),
        ([Message("user", "What is it? " * 30)], Sampling(max_tokens=40, temperature=0.7), 2, ()),
        (ASK, Sampling(max_tokens=25, top_p=0.8), 3, ()),
        (ASK, Sampling(max_tokens=10, stop=("e",)), 4, ()),
        (ASK, Sampling(), 5, ("rock", "paper", "scissors")),
    ]
    alone = [answer(tiny, *ask) for ask in asks]

    async def together(model: Model) -> list[Generation]:
        return await asyncio.gather(*[model.generate(*ask) for ask in asks])

    for one, other in zip(alone, with_model(tiny, together), strict=True):
        assert (one.raw, one.completion_ids, one.finish_reason) == (
            other.raw,
            other.completion_ids,
            other.finish_reason,
        )
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)


def test_another_seed_gives_another_text(tiny: Source) -> None:
    assert len({answer(tiny, ASK, Sampling(max_tokens=20), seed).raw for seed in range(4)}) == 4


def test_the_end_token_ends_an_answer_and_is_kept(tiny: Source) -> None:
    async def many(model: Model) -> list[Generation]:
        return await asyncio.gather(*[model.generate(ASK, Sampling(max_tokens=200), seed) for seed in range(16)])

    end = transformers.AutoTokenizer.from_pretrained(tiny.model).eos_token_id
    found = with_model(tiny, many)
    ended = [given for given in found if given.finish_reason == "stop"]
    assert ended
    assert all(given.completion_ids[-1] == end and end not in given.completion_ids[:-1] for given in ended)
    assert all(len(given.completion_ids) == 200 for given in found if given.finish_reason == "length")
    assert "<|im_end|>" not in "".join(given.raw for given in found)


def test_a_stop_string_across_tokens_ends_the_answer_and_stays_in_it(tiny: Source) -> None:
    free = answer(tiny, ASK, Sampling(max_tokens=60), seed=7)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny.model)
    for first in range(20, 40):  # some piece of the text that two tokens share
        stop = tokenizer.decode(free.completion_ids[first : first + 2], skip_special_tokens=True)
        if len(stop) > 1 and "\ufffd" not in stop and free.raw.count(stop) == 1:
            break
    given = answer(tiny, ASK, Sampling(max_tokens=60, stop=("never there", stop)), seed=7)
    assert given.raw == free.raw[: free.raw.index(stop) + len(stop)]
    assert given.finish_reason == "stop"
    assert given.completion_ids == free.completion_ids[: first + 2]


def test_a_beginning_of_the_assistants_is_continued(tiny: Source) -> None:
    begun = [*ASK, Message("assistant", "<action>")]
    given = answer(tiny, begun, Sampling(max_tokens=5), seed=1)
    text = transformers.AutoTokenizer.from_pretrained(tiny.model).decode(given.prompt_ids)
    assert text.endswith("Your move?<|im_end|>\n<|im_start|>assistant\n<action>")


CHOICES = st.lists(
    st.text(st.sampled_from("rock0c2 <|im_end|>é本🂡\n"), min_size=1, max_size=8), min_size=1, max_size=6, unique=True
)


@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(choices=CHOICES, seed=st.integers(0, 2**63 - 1), prefixes=st.booleans())
def test_a_constrained_answer_is_one_of_the_choices(
    tiny: Source, choices: list[str], seed: int, prefixes: bool
) -> None:
    if prefixes:
        choices = list(dict.fromkeys(text[:length] for text in choices for length in range(1, len(text) + 1)))
    given = answer(tiny, ASK, Sampling(max_tokens=1, stop=(choices[0][0],)), seed, choices)
    assert given.raw in choices
    assert given.constrained
    assert given.finish_reason == "stop"
    assert len(given.completion_ids) == len(given.logprobs) > 0


def test_constrained_draws_follow_the_model_among_the_choices(tiny: Source) -> None:
    choices = ["r", "ro", "p"]

    async def many(model: Model) -> list[str]:
        asks = [model.generate(ASK, Sampling(), seed, choices) for seed in range(600)]
        return [given.raw for given in await asyncio.gather(*asks)]

    drawn = with_model(tiny, many)
    assert set(drawn) == set(choices)
    prompt = answer(tiny, ASK, Sampling(), 1, choices).prompt_ids
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny.model)
    (p,) = tokenizer("p")["input_ids"]
    logits = logits_of(fresh_model(tiny.model), prompt)[-1]
    heads = sorted({tokenizer(text)["input_ids"][0] for text in choices})
    expected = float(logits[heads].softmax(0)[heads.index(p)])
    assert drawn.count("p") / len(drawn) == pytest.approx(expected, abs=5 * 0.5 / len(drawn) ** 0.5)


def test_choices_that_begin_one_another_are_told_apart() -> None:
    trie = Trie({"a": [1], "ab": [1, 2], "c": [3]}, end=9)
    assert sorted(trie.allowed(0)) == [1, 3]
    node = trie.step(0, 1)
    assert not trie.over(node, 1)
    assert sorted(trie.allowed(node)) == [2, 9]
    assert trie.over(trie.step(node, 9), 9)
    assert trie.choice(trie.step(node, 9)) == "a"
    assert trie.choice(trie.step(node, 2)) == "ab"
    assert trie.over(trie.step(node, 2), 2)


def test_choices_with_the_same_tokens_are_refused() -> None:
    with pytest.raises(UserError, match="cannot tell 'b' from 'a'"):
        Trie({"a": [1], "b": [1]}, end=9)


def test_a_row_counts_what_it_may_take() -> None:
    assert Row(Sampling(max_tokens=5), 1).most == 5
    assert Row(Sampling(max_tokens=1), 1, Trie({"abc": [1, 2, 3]}, 9)).most == 4


def test_what_does_not_fit_is_told_before_anything_is_computed(folders: Path) -> None:
    source = Source(model=str(folders / "m"), dtype="float32", context=100)
    asked = [Message("user", "x" * 70)]
    needed = len(answer(source, asked, Sampling(max_tokens=1), 1).prompt_ids) + 50
    with pytest.raises(ContextOverflow) as caught:
        answer(source, asked, Sampling(max_tokens=50), 1)
    assert (caught.value.needed, caught.value.limit) == (needed, 100)
    with pytest.raises(ContextOverflow):
        with_model(source, lambda model: model.score(asked, ["y" * 60]))


def test_the_models_own_context_is_the_limit_without_one(tiny: Source) -> None:
    with pytest.raises(ContextOverflow) as caught:
        answer(tiny, [Message("user", "x" * 5000)], Sampling(), 1)
    assert caught.value.limit == 2048


def test_a_context_beyond_the_models_is_refused(tiny: Source) -> None:
    with pytest.raises(UserError, match=r"context = 4096: .* was made for 2048"):
        local.check(tiny._replace(context=4096))


def test_tokens_and_prices_are_booked_and_a_budget_stops(tiny: Source) -> None:
    async def two(model: Model) -> Generation:
        given = await model.generate(ASK, Sampling(max_tokens=5), 1)
        with pytest.raises(BudgetError):
            await model.generate(ASK, Sampling(max_tokens=5), 1)
        with pytest.raises(BudgetError):
            await model.score(ASK, ["rock"])
        return given

    given = with_model(tiny._replace(price=(1.0, 3.0)), two, ModelLimits(budget_tokens=1))
    assert given.price == pytest.approx((given.prompt_tokens + 3 * given.completion_tokens) / 1e6)
