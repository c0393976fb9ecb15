"""Scores of answers must be those of plain passes, whatever is shared, and what is shared must be computed once."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tiny_model import tiny_adapter, tiny_folder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from agents.models.scoring import CPU, Limits, reach, score_batch  # noqa: E402 - they need torch
from agents.models.sharing import Request, groups, trees  # noqa: E402

SMALL = Limits(tokens=48, numbers=1 << 14, pays=6)
"""So small that a few short prompts meet every limit."""
WORDS = 90
TOLERANCE = 1e-3
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": WORDS, "pad_token_id": 0}
MORE = {**SIZES, "intermediate_size": 64, "num_key_value_heads": 2, "max_position_embeddings": 256}
GPT = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4}

token = st.integers(3, 8)
"""Few different tokens: many beginnings are alike."""
answer = st.lists(token, max_size=6)


def tiny(name: str, **settings: Any) -> Any:
    """A small model of some kind with random weights far from nothing, so that what it should not see would show."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{name}Config")(**settings))
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.mul_(6)
    return model.eval()


@pytest.fixture(scope="module")
def llama() -> Any:
    return tiny("Llama", **MORE)


def plain(model: Any, prompt: Sequence[int], ids: Sequence[int], **named: Any) -> list[float]:
    """Log-probabilities of an answer's tokens by a pass of its own."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *ids]]), **named).logits[0].float()
    scores = logits.log_softmax(-1)
    return [float(scores[place, found]) for place, found in enumerate(ids, len(prompt) - 1)]


def check(model: Any, requests: Sequence[Request], limits: Limits | None = None) -> None:
    """The scores of a batch are those of plain passes."""
    found = score_batch(model, 0, requests, limits=limits)
    assert len(found) == len(requests)
    for (prompt, answers), scores in zip(requests, found, strict=True):
        assert len(scores) == len(answers)
        for ids, score in zip(answers, scores, strict=True):
            assert score == pytest.approx(plain(model, prompt, ids), abs=TOLERANCE)


def made_up(seed: int, rules: int, rest: tuple[int, int], count: int) -> list[Request]:
    """Prompts that share some tokens of rules, with answers that share beginnings, end in others, or have one token."""
    rng = random.Random(seed)

    def some(number: int) -> list[int]:
        return [rng.randrange(3, WORDS) for _ in range(number)]

    shared = some(rules)
    return [
        (
            shared + some(rng.randint(*rest)),
            [[5, 6, *some(rng.randrange(4))] for _ in range(4)] + [[5], [5, 6, 7, 8], [9]],
        )
        for _ in range(count)
    ]


@contextmanager
def passes(model: Any) -> Iterator[list[tuple[int, int]]]:
    """The sizes (rows, columns) of what a model computes meanwhile."""
    sizes: list[tuple[int, int]] = []
    hook = model.register_forward_pre_hook(
        lambda _, __, named: sizes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    try:
        yield sizes
    finally:
        hook.remove()


@settings(deadline=None, max_examples=60)
@given(
    rules=st.lists(token, max_size=30),
    rests=st.lists(
        st.tuples(st.booleans(), st.lists(token, max_size=40), st.lists(answer, max_size=6)), min_size=1, max_size=6
    ),
    limits=st.sampled_from([SMALL, Limits(16, 1 << 10, 1), CPU]),
)
def test_scores_are_those_of_plain_passes_whatever_prompts_and_answers_share(
    llama: Any, rules: list[int], rests: list[tuple[bool, list[int], list[list[int]]]], limits: Limits
) -> None:
    check(llama, [((rules if shared else []) + [9, *rest], answers) for shared, rest, answers in rests], limits)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([[5], [6], [7]], "single tokens"),
        ([[5, 6], [5, 6, 7], [5]], "one answer begins another"),
        ([[5, 6], [5, 6]], "the same twice"),
        ([[], [5]], "an answer without tokens"),
        ([[5] * 40, [6]], "very different lengths"),
        ([], "none"),
    ],
)
def test_odd_answers_are_scored_in_their_order(llama: Any, answers: list[list[int]], reason: str) -> None:
    check(llama, [([4, 4, 8], answers), ([7], [[3, 4]])])
    check(llama, [([4, 4, 8], answers)], SMALL)


def test_no_requests_have_no_scores_and_a_prompt_needs_a_token(llama: Any) -> None:
    assert score_batch(llama, 0, []) == []
    with pytest.raises(ValueError, match="prompt of request 1 has no tokens"):
        score_batch(llama, 0, [([3], [[4]]), ([], [[4]])])


KINDS = [
    ("Llama", MORE, True),
    ("Qwen3", {**MORE, "head_dim": 8}, True),
    ("Mistral", {**MORE, "sliding_window": 40}, True),
    ("Mistral", {**MORE, "sliding_window": 6}, False),
    ("Gemma3Text", {**MORE, "head_dim": 8, "sliding_window": 6}, False),
    ("Phi3", {**MORE, "bos_token_id": 1, "eos_token_id": 2}, True),
    ("GPT2", {**GPT, "n_positions": 256}, True),
    ("GPTNeoX", {**SIZES, "intermediate_size": 64}, True),
    ("Falcon", {**SIZES, "alibi": True}, False),
    ("Bloom", {**SIZES, "n_head": 4, "n_layer": 2}, False),
    (
        "GPTNeo",
        {
            "vocab_size": WORDS,
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 6,
            "max_position_embeddings": 256,
        },
        False,
    ),
    ("Mamba", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}, False),
    ("Lfm2", {**MORE, "layer_types": ["conv", "full_attention"]}, False),
]


@pytest.mark.parametrize(("name", "sizes", "by_tree"), KINDS, ids=[f"{name}-{tree}" for name, _, tree in KINDS])
def test_every_kind_of_model_is_scored_and_only_those_that_a_mask_rules_by_trees(
    name: str, sizes: dict[str, Any], by_tree: bool
) -> None:
    model = tiny(name, **sizes)
    requests = made_up(1, 16, (1, 14), 4)
    assert (reach(model) >= max(len(prompt) + len(ids) for prompt, answers in requests for ids in answers)) == by_tree
    check(model, requests, SMALL)


def test_a_window_matters_to_the_batches_that_are_longer_than_it() -> None:
    model = tiny("Mistral", **{**MORE, "sliding_window": 24})
    assert reach(model) == 24
    for rest in ((1, 3), (20, 40)):
        check(model, made_up(2, 14, rest, 4), SMALL)


def test_what_prompts_share_is_computed_once_and_each_beginning_of_answers_once(llama: Any) -> None:
    rules, answers = list(range(3, 83)), [[5, 6, 7], [5, 6, 8, 9], [5, 10]]
    requests = [([*rules, first, 4, 5, 6], answers) for first in (10, 11, 12)]
    with passes(llama) as sizes:
        score_batch(llama, 0, requests, limits=Limits(256, 1 << 20, 100))
    # The rules, and then for each prompt its 4 tokens and the 3 nodes 5, 5-6 and 5-6-8: the last tokens follow nothing.
    assert sizes == [(1, 80), (3, 4 + 3)]
    with passes(llama) as sizes:
        score_batch(llama, 0, requests, limits=Limits(256, 1 << 20, 161))
    assert [rows for rows, _ in sizes] == [2, 1], "sharing that saves 160 tokens is left where it must save 161"


def test_answers_of_one_token_need_no_pass_but_the_prompts(llama: Any) -> None:
    with passes(llama) as sizes:
        score_batch(llama, 0, [([4, 5, 6], [[token] for token in range(3, 20)])])
    assert sizes == [(1, 3)]


def test_prompts_of_several_games_share_what_those_of_their_game_share(llama: Any) -> None:
    games = [[9, game] + [game] * 30 for game in (3, 4, 5)]
    requests = [([*games[turn % 3], 20 + turn, 7], [[5, 6], [5, 7]]) for turn in range(9)]
    requests.append(([9, 6, 6], [[5, 6]]))
    with passes(llama) as sizes:
        check_at = Limits(256, 1 << 20, 50)
        score_batch(llama, 0, requests, limits=check_at)
    assert sorted(sizes) == [(1, 3 + 1)] + [(1, 32)] * 3 + [(3, 2 + 1)] * 3
    check(llama, requests, check_at)


def test_a_pass_keeps_to_the_limits(llama: Any) -> None:
    requests = made_up(3, 0, (1, 200), 12)
    limits = Limits(tokens=256, numbers=1 << 16, pays=10_000)
    with passes(llama) as sizes:
        score_batch(llama, 0, requests, limits=limits)
    assert max(rows * columns for rows, columns in sizes) <= 256
    check(llama, requests, limits)


def test_a_prompt_longer_than_a_pass_and_more_answers_than_one_holds_are_cut(llama: Any) -> None:
    rng = random.Random(4)
    answers = [[rng.randrange(3, WORDS) for _ in range(3)] for _ in range(60)]
    with passes(llama) as sizes:
        check(llama, [([rng.randrange(3, WORDS) for _ in range(100)], answers)], Limits(40, 4000, 10))
    whole = [size for size in sizes if size[1] > 100]
    ours = [size for size in sizes if size not in whole]
    assert {(1, 40), (1, 19)} <= set(ours), "99 tokens of the prompt are computed in pieces"
    assert max(rows * columns for rows, columns in ours) <= 45


def test_groups_hold_each_prompt_once_and_share_what_they_say() -> None:
    requests = [*made_up(5, 20, (1, 9), 5), *made_up(6, 12, (1, 30), 4), ([3], [[4]]), ([3], [[5]]), ([3, 4], [[5]])]
    some = trees(requests, 1000)
    found = list(groups(some, 0, 30, 25))
    assert sorted(tree.request for group, _ in found for tree in group) == list(range(len(requests)))
    for group, shared in found:
        assert len({tree.prompt[:shared] for tree in group}) == 1
        assert all(len(tree.prompt) > shared for tree in group)
    assert [shared for _, shared in found if shared] != []


def test_half_precision_is_near_enough_and_counted_in_single() -> None:
    model = tiny("Llama", **MORE).to(torch.bfloat16)
    requests = made_up(7, 30, (1, 20), 5)
    for (prompt, answers), scores in zip(requests, score_batch(model, 0, requests, limits=SMALL), strict=True):
        for ids, score in zip(answers, scores, strict=True):
            assert score == pytest.approx(plain(model, prompt, ids), abs=0.2)
            assert all(torch.tensor(value).bfloat16().item() != value for value in score)


def test_each_request_is_scored_with_its_adapter(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    base = tiny_folder(tmp_path / "base")
    one, other = tiny_adapter(base, tmp_path / "one"), tiny_adapter(base, tmp_path / "other", seed=2)
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    model = peft.PeftModel.from_pretrained(model, one, adapter_name="one")
    model.load_adapter(other, adapter_name="other")
    model.eval()
    names = ["other", "__base__", "one", "other", "one", "__base__"]
    requests = made_up(8, 20, (1, 9), len(names))
    found = score_batch(model, 0, requests, names, SMALL)
    for name, (prompt, answers), scores in zip(names, requests, found, strict=True):
        for ids, score in zip(answers, scores, strict=True):
            assert score == pytest.approx(plain(model, prompt, ids, adapter_names=[name]), abs=TOLERANCE)
    assert abs(found[0][0][0] - score_batch(model, 0, requests[:1], ["one"])[0][0][0]) > 0.1


@pytest.mark.slow
def test_smollm2_scores_moves_as_plain_passes_do(smollm2: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2)
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    rules = "You play tic-tac-toe on three rows and columns, x begins, and who has three in a line wins. " * 4
    moves = [[tokenizer.encode(f"<action>x({row},{column})</action>") for column in range(3)] for row in range(3)]
    requests = [
        (tokenizer.encode(f"{rules}\nMoves so far: {said}\nYour move:\n"), [*moves[0], *moves[1], *moves[2]][turn:])
        for turn, said in enumerate(("none", "x(1,1)", "x(1,1) o(0,0)", "x(0,0) o(2,2) x(2,0) o(1,0)" * 6))
    ]
    check(model, requests)
