"""Every agent keeps the promises of agents, and the scripted ones play as they say."""

import asyncio
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from agents import language, registry
from agents.agent import Agent, Setup
from agents.archetypes import PRIORITIES
from agents.constant import Always
from agents.models.pool import Models
from agents.parameters import parameters
from agents.registry import agent_class, recipe
from agents.testing import AgentCheckError, check_agent
from games.errors import RunError, UserError
from games.game import Action, Game, Observation, State
from games.registry import make
from games.spec import SpecError
from tests import broken_agents
from tests.tiny_model import tiny_folder

DOCS = Path(__file__).parents[1] / "docs" / "agents.md"
THROWS = "repeated_game(num_repetitions=1000,stage_game=matrix_rps)"

EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "always": [("always(action=bet)", "kuhn_poker"), ("always(action=3)", "connect_four")],
    "best_response": [("best_response(to=kuhn(style=aggressive))", "kuhn_poker")],
    "biased": [("biased(weights=[0.9,0.05,0.05])", "matrix_rps"), ("biased(weights=[0,1])", "tic_tac_toe")],
    "cfr": [("cfr(iterations=20)", "kuhn_poker")],
    "checkpoint": [
        ("checkpoint(path=TRAINED,dtype=float32)", "matrix_rps"),
        ("checkpoint(path=TRAINED,memory=history,choice=scored,temperature=0.5,dtype=float32)", "kuhn_poker"),
    ],
    "counter_last": [("counter_last", "matrix_rps"), ("counter_last", "matrix_pd")],
    "heuristic": [
        ("heuristic", "tic_tac_toe"),
        ("heuristic(rest=centre)", "connect_four"),
        ("heuristic", "pig(players=3)"),
    ],
    "human": [("human", "tic_tac_toe")],
    "ismcts": [("ismcts(simulations=20)", "kuhn_poker")],
    "kuhn": [(f"kuhn(style={style})", "kuhn_poker") for style in ("conservative", "aggressive", "intermediate")],
    "llm": [
        ("llm(model=TINY,max_tokens=8,dtype=float32)", "matrix_rps"),
        ("llm(model=TINY,choice=constrained,memory=both,max_tokens=8,dtype=float32)", "kuhn_poker"),
        ("llm(model=TINY,choice=scored,memory=history,max_tokens=8,dtype=float32)", "matrix_rps"),
    ],
    "mcts": [("mcts(simulations=20)", "tic_tac_toe")],
    "minimax": [("minimax", "tic_tac_toe")],
    "mixture": [
        ("mixture(of=[kuhn(style=aggressive),cfr(iterations=20)],weights=[1,3])", "kuhn_poker"),
        ("mixture(of=[random,mcts(simulations=3)])", "tic_tac_toe"),
    ],
    "posterior": [
        ("posterior(pool=[kuhn(style=aggressive),kuhn(style=conservative),cfr(iterations=20)])", "kuhn_poker"),
        ("posterior(pool=[biased(weights=[28,1,1]),biased(weights=[1,1,28])])", "matrix_rps"),
    ],
    "priority": [(f"priority(list={number})", "tic_tac_toe") for number in range(1, 7)],
    "random": [("random", "tic_tac_toe"), ("random", "kuhn_poker(players=3)"), ("random", "matrix_rps")],
    "react": [("react(model=TINY,choice=scored,max_tokens=8,dtype=float32)", "kuhn_poker")],
    "reflexion": [("reflexion(model=TINY,retries=1,max_tokens=8,dtype=float32)", "kuhn_poker")],
    "repeat_last": [("repeat_last", "matrix_rps"), ("repeat_last(stay=0.5)", "matrix_bos")],
    "roshambo": [("roshambo(bot=iocainebot)", THROWS)],
    "solver": [("solver", "sokoban")],
}
"""Agent -> specs of it and the games to check them in; an agent with a line in the registry needs one here.

TINY stands for the folder of a tiny language model, TRAINED for that of a checkpoint.
"""


def decide(agent: Agent, observation: Observation) -> Action:
    return asyncio.run(agent.act(observation)).action


def made(spec: str, game: Game, seat: int = 0, seed: int = 1) -> Agent:
    return recipe(spec).make(Setup(game, seat, seed))


def random_play(game: Game, seed: int, turns: int) -> State:
    """A position after some random turns; earlier if the episode would be over."""
    rng = random.Random(seed)
    played: list[dict[int, Action]] = []
    state = game.new_episode(seed)
    while len(played) < turns:
        played.append({seat: rng.choice(state.observe(seat).legal_actions) for seat in state.seats_to_act()})
        state.apply(played[-1])
        if not state.seats_to_act():
            return replayed(game, seed, played[:-1])
    return state


def replayed(game: Game, seed: int, played: list[dict[int, Action]]) -> State:
    state = game.new_episode(seed)
    for joint in played:
        state.apply(joint)
    return state


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a tiny model, which computes with one thread: others test beside it."""
    pytest.importorskip("transformers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "Models", partial(Models, threads=lambda: 1))
        yield tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def trained(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a checkpoint."""
    from training.saving import About, mark

    place = tmp_path_factory.mktemp("trained") / "checkpoint-3"
    shutil.copytree(tiny_model, place)
    params = recipe("llm(max_tokens=8,telling=brief)").params
    mark(place, About("run", "matrix_rps", params, None, None, "w"), 3, {})
    return place


# The registry


def test_every_agent_of_the_registry_has_an_example() -> None:
    assert set(registry.TABLE) <= set(EXAMPLES)


@pytest.mark.parametrize(
    ("spec", "game"), [example for name in sorted(registry.TABLE) for example in EXAMPLES.get(name, [])]
)
def test_agent_keeps_its_promises(spec: str, game: str, request: pytest.FixtureRequest) -> None:
    if "TINY" in spec:
        spec = spec.replace("TINY", str(request.getfixturevalue("tiny_model")))
    if "TRAINED" in spec:
        spec = spec.replace("TRAINED", str(request.getfixturevalue("trained")))
    check_agent(spec, game, matches=1 if game == THROWS else 2)


@pytest.mark.parametrize("name", sorted(registry.TABLE))
def test_agents_page_names_the_agent_and_each_parameter(name: str) -> None:
    section = re.search(rf"^### `{name}.*?(?=^##|\Z)", DOCS.read_text(), re.M | re.S)
    assert section, f"docs/agents.md has no section on {name}"
    for parameter in parameters(agent_class(name)):
        assert f"`{parameter}`" in section[0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("heuristic(rest=center)", "'rest'.*center.*'uniform' or 'centre'"),
        ("kuhn", r"needs the parameter 'style'.*kuhn\(style=\.\.\.\)"),
        ("kuhn(style=bold)", "'style'.*bold.*'conservative', 'aggressive' or 'intermediate'"),
        ("priority(list=0)", "'list'.*0.*greater than or equal to 1"),
        ("priority(list=7)", "'list'.*7.*less than or equal to 6"),
        ("priority(list=first)", "'list'.*first.*integer"),
        ("biased(weights=[1,-1])", r"'weights'.*\[1,-1\].*greater than or equal to 0"),
        ("biased(weights=[0,0.0])", r"'weights'.*\[0,0.0\].*above 0"),
        ("biased(weights=[])", r"'weights'.*\[\].*above 0"),
        ("biased(weights=2)", "'weights'.*2.*list"),
        ("always(action=[bet])", r"'action'.*\[bet\].*string"),
        ("roshambo(bot=greenburg)", "'bot'.*greenburg.*did you mean greenberg"),
        ("heuristics", "'heuristics'.*did you mean heuristic"),
        ("random(seed=3)", "'random' has no parameter 'seed'"),
    ],
)
def test_wrong_agent_gets_one_line_that_names_value_and_choices(spec: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        recipe(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "game", "words"),
    [
        ("heuristic", "kuhn_poker", "perfect information"),
        ("heuristic", "matrix_rps", "in turn|perfect information"),
        ("heuristic(rest=centre)", "breakthrough", "rectangle"),
        ("kuhn(style=aggressive)", "kuhn_poker(players=3)", "2 seats"),
        ("kuhn(style=aggressive)", "leduc_poker", "leduc_poker"),
        ("priority(list=1)", "connect_four", "connect_four"),
        ("always(action=Bet)", "kuhn_poker", "did you mean bet"),
        ("roshambo", "matrix_rps", "num_repetitions=1000"),
        ("roshambo", "repeated_game(num_repetitions=999,stage_game=matrix_rps)", "999"),
        ("roshambo", "repeated_game(num_repetitions=1000,stage_game=matrix_pd)", "matrix_pd"),
    ],
)
def test_misfit_says_why(spec: str, game: str, words: str) -> None:
    assert re.search(words, recipe(spec).misfit(make(game)) or "")


FOREIGN = {name: f"tests.faulty_offers:{name.capitalize()}" for name in ("crashing", "vague", "interrupted", "sound")}


@pytest.mark.parametrize(
    ("spec", "ask", "kind", "words"),
    [
        (
            "crashing",
            "misfit",
            SpecError,
            "agent crashing: misfit of class Crashing failed for catch: ValueError: no idea",
        ),
        ("x=crashing", "misfit", SpecError, "agent x: misfit of class Crashing failed for catch: ValueError: no idea"),
        ("crashing", "prepare", RunError, "agent crashing: prepare of class Crashing failed for catch: SystemExit: 3"),
        (
            "crashing",
            "fingerprint",
            SpecError,
            "agent crashing: version, follows and traits of class Crashing give no fingerprint",
        ),
        ("vague", "misfit", SpecError, "agent vague: misfit of class Vague answers False for catch"),
        ("interrupted", "misfit", KeyboardInterrupt, None),
        ("interrupted", "prepare", KeyboardInterrupt, None),
    ],
)
def test_what_fails_in_the_class_of_an_agent_is_one_line_that_names_both(
    spec: str, ask: str, kind: type[BaseException], words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, place in FOREIGN.items():
        monkeypatch.setitem(registry.TABLE, name, place)
    asked, game = recipe(spec), make("catch")
    with pytest.raises(kind, match=words and re.escape(words)) as caught:
        _ = asked.fingerprint if ask == "fingerprint" else getattr(asked, ask)(game)
    assert "\n" not in str(caught.value)


def test_refusals_in_words_pass_as_they_are() -> None:
    game = make("chess")
    with pytest.raises(UserError, match=r"^(?!agent)") as caught:
        recipe("minimax").prepare(game)
    assert caught.value.__class__.__name__ == "NoTreeError"


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (
            Annotated[int, AfterValidator(lambda value: {}[value])],
            "parameter 'mood' of agent 'moody' is 1: .*KeyError: 1",
        ),
        (Annotated[int, AfterValidator(Path)], "annotation of parameter 'mood' of class .*Moody cannot check values"),
        (Annotated[int, AfterValidator(range)], "is 1: .* an object of type range, which no agent string can hold"),
    ],
)
def test_annotations_that_misbehave_are_one_line(annotation: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Moody(broken_agents.First):
        def __init__(self, setup: Setup, *, mood: annotation = 0) -> None:
            super().__init__(setup)

    monkeypatch.setattr(broken_agents, "Moody", Moody, raising=False)
    monkeypatch.setitem(registry.TABLE, "moody", "tests.broken_agents:Moody")
    recipe.cache_clear()
    with pytest.raises(SpecError, match=words):
        recipe("moody(mood=1)")


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_decisions_do_not_depend_on_the_process(hash_seed: str) -> None:
    code = "from tests import test_agents; print(test_agents.decisions())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(decisions())


def decisions() -> list[list[Action]]:
    """What scripted agents play in self-play, one episode each."""
    kinds = ("always", "biased", "heuristic", "kuhn", "priority", "random")
    return [_self_play(*example) for kind in kinds for example in EXAMPLES[kind]]


def _self_play(spec: str, name: str) -> list[Action]:
    game = make(name)
    agents = [made(spec, game, seat, seed=seat) for seat in range(game.spec.seats)]
    state, played = game.new_episode(7), []
    while seats := state.seats_to_act():
        joint = {seat: decide(agents[seat], state.observe(seat)) for seat in seats}
        played.extend(joint.values())
        state.apply(joint)
    return played


# The check itself


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (broken_agents.Illegal, "plays 'resign' where"),
        (broken_agents.Bare, "not a Decision"),
        (broken_agents.Unkept, "JSON"),
        (broken_agents.Unheard, "answers 'resign' where"),
        (broken_agents.Scribbling, "keeps a generation that JSON cannot hold"),
        (broken_agents.Wordless, "no text"),
        (broken_agents.Forgetful, "does not replay"),
        (broken_agents.Remembering, "does not replay"),
        (broken_agents.PythonGlobal, "Python's global generator"),
        (broken_agents.PythonGlobalDeclared, "Python's global generator"),
        (broken_agents.NumpyGlobal, "numpy's global generator"),
        (broken_agents.NativeGlobal, "C library's"),
        (broken_agents.Undocumented, "does not name parameter 'secret'"),
        (broken_agents.Mute, "no docstring"),
        (broken_agents.Verbose, "one line"),
        (broken_agents.Choosy, "cannot be checked in tic_tac_toe: it does not like tic_tac_toe"),
        (broken_agents.Rambling, "neither None nor a Reflection"),
        (broken_agents.Unread, "reads back as"),
        (broken_agents.Partial, "states probabilities of"),
        (broken_agents.Unsummed, "sum to 1"),
        (broken_agents.Lying, "gives probability 0"),
        (broken_agents.Skewed, "with frequency 1 where it states 0.111"),
        (broken_agents.CrashingMade, "agent broken_CrashingMade: making it fails: KeyError: 'no\\nsetup'"),
        (broken_agents.CrashingAct, "agent broken_CrashingAct: act fails: UserError: no move"),
        (broken_agents.CrashingReflect, "agent broken_CrashingReflect: reflect fails: SystemExit"),
        (broken_agents.CrashingProbabilities, "broken_CrashingProbabilities: probabilities fails: ZeroDivisionError"),
        (broken_agents.CrashingMisfit, "agent broken_CrashingMisfit: misfit fails: "),
        (broken_agents.CrashingPrepare, "agent broken_CrashingPrepare: prepare fails: "),
        (broken_agents.Synchronous, "agent broken_Synchronous: act fails: TypeError"),
    ],
)
def test_check_catches(agent: type[Agent], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"broken_{agent.__name__}"
    monkeypatch.setitem(registry.TABLE, name, f"tests.broken_agents:{agent.__name__}")
    spec = f"{name}(mood=1)" if agent is broken_agents.Unread else name
    with pytest.raises(AgentCheckError, match=re.escape(words)) as caught:
        check_agent(spec, "tic_tac_toe")
    assert "\n" not in str(caught.value)


def test_check_passes_an_agent_that_keeps_its_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.TABLE, "first", "tests.broken_agents:First")
    monkeypatch.setitem(registry.TABLE, "babbling", "tests.broken_agents:Babbling")
    for name in ("first", "babbling"):
        check_agent(name, "tic_tac_toe")
        check_agent(name, "matrix_rps")


# Fixed leanings


def test_always_plays_its_action_or_else_the_first_legal_one() -> None:
    game = make("kuhn_poker")
    for action in ("pass", "bet"):
        assert decide(made(f"always(action={action})", game), random_play(game, 3, 0).observe(0)) == action
    tic_tac_toe = make("tic_tac_toe")
    state = random_play(tic_tac_toe, 3, 0)
    corner = state.observe(0).legal_actions[0]
    state.apply({0: corner})
    assert (
        decide(Always(Setup(tic_tac_toe, 1, 1), action=corner), state.observe(1)) == state.observe(1).legal_actions[0]
    )


def test_always_accepts_an_action_that_becomes_legal_late() -> None:
    assert recipe("always(action=call)").misfit(make("leduc_poker")) is None


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("[2,1,1]", [0.5, 0.25, 0.25]),
        ("[3,1]", [0.75, 0.25, 0]),
        ("[1,1,0,5]", [0.5, 0.5, 0]),
        ("[0,0,0,5]", [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_biased_takes_its_weights_in_the_order_of_the_legal_actions(weights: str, expected: list[float]) -> None:
    game = make("matrix_rps")
    agent = made(f"biased(weights={weights})", game)
    assert list(agent.probabilities(game.new_episode(0).observe(0)).values()) == pytest.approx(expected)


# Archetypes


@pytest.mark.parametrize(
    ("style", "bets", "calls"), [("conservative", "K", "K"), ("aggressive", "JQK", "QK"), ("intermediate", "QK", "K")]
)
def test_kuhn_styles_bet_and_call_with_their_cards(style: str, bets: str, calls: str) -> None:
    game = make("kuhn_poker")
    seen = set()
    for seed in range(60):
        for turns in range(3):
            state = random_play(game, seed, turns)
            seat = state.seats_to_act()[0]
            observation = state.observe(seat)
            card, moves = "JQK"[int(observation.key[0])], observation.key[1:]
            plays = calls if moves.endswith("b") else bets
            assert decide(made(f"kuhn(style={style})", game, seat), observation) == ("bet" if card in plays else "pass")
            seen.add(observation.key)
    assert len(seen) == 12


@pytest.mark.parametrize("number", range(1, 7))
def test_priority_lists_take_every_cell_once_in_their_order(number: int) -> None:
    game = make("tic_tac_toe")
    names = game.new_episode(0).observe(0).legal_actions
    order = [names[3 * row + column] for row, column in PRIORITIES[number - 1]]
    assert sorted(order) == sorted(names)
    state = random_play(game, number, 3)
    free = state.observe(1).legal_actions
    assert decide(made(f"priority(list={number})", game, 1), state.observe(1)) == next(c for c in order if c in free)


# Win if you can, block if you must


def options(game: Game, seed: int, turns: int) -> tuple[Observation, set[Action], set[Action]]:
    """A random position: what is seen, the moves that win at once, and those that no answer punishes at once."""
    state = random_play(game, seed, turns)
    seat = state.seats_to_act()[0]
    legal = state.observe(seat).legal_actions
    after = {move: _played_on(state, {seat: move}) for move in legal}
    wins = {move for move, child in after.items() if child.success()[seat] and not child.seats_to_act()}
    return state.observe(seat), wins, {move for move, child in after.items() if not _loses(child, seat)}


def _loses(child: State, seat: int) -> bool:
    if not child.seats_to_act():
        return False
    other = child.seats_to_act()[0]
    answers = [_played_on(child, {other: move}) for move in child.observe(other).legal_actions]
    return any(answer.success()[other] and not answer.seats_to_act() for answer in answers)


def _played_on(state: State, joint: dict[int, Action]) -> State:
    copy = state.observe(next(iter(joint))).sample_state(random.Random(0))
    copy.apply(joint)
    return copy


@pytest.mark.parametrize("rest", ["uniform", "centre"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), turns=st.integers(0, 30))
def test_heuristic_wins_if_it_can_and_blocks_if_it_must(name: str, rest: str, seed: int, turns: int) -> None:
    game = make(name)
    seen, wins, safe = options(game, seed, turns)
    agent = made(f"heuristic(rest={rest})", game, seen.seat, seed)
    wanted = wins or safe or set(seen.legal_actions)
    assert decide(agent, seen) in wanted
    stated = {move: value for move, value in agent.probabilities(seen).items() if value}
    assert set(stated) == wanted if rest == "uniform" else set(stated) <= wanted
    assert len(set(stated.values())) == 1


@pytest.mark.parametrize(
    ("name", "actions", "expected"),
    [
        ("tic_tac_toe", [], {4}),
        ("tic_tac_toe", [4], {1, 3, 5, 7}),
        ("connect_four", [], {3}),
        ("connect_four", [3] * 6, {2, 4}),
        ("hex", [], {60}),
        ("go(board_size=5)", [], {12}),
    ],
)
def test_centre_takes_the_nearest_cell_to_the_middle(name: str, actions: list[int], expected: set[int]) -> None:
    game = make(name)
    state = game.new_episode(0)
    numbers = state.observe(0).legal_actions
    for action in actions:
        state.apply({state.seats_to_act()[0]: numbers[action]})
    seat = state.seats_to_act()[0]
    chosen = {decide(made("heuristic(rest=centre)", game, seat, seed), state.observe(seat)) for seed in range(40)}
    assert chosen == {numbers[action] for action in expected}


def test_heuristic_with_one_seat_takes_the_best_ending() -> None:
    game = make("catch")
    caught = 0
    for seed in range(30):
        state = random_play(game, seed, game.spec.max_turns - 1)
        seen = state.observe(0)
        best = {move for move in seen.legal_actions if _played_on(state, {0: move}).returns() == (1.0,)}
        if best:
            caught += 1
            assert decide(made("heuristic", game), seen) in best
    assert caught > 5


@pytest.mark.parametrize("seed", range(8))
def test_heuristic_plays_games_of_other_origin_on_copies(seed: int) -> None:
    pytest.importorskip("pettingzoo")
    game = make("pettingzoo(env=classic/tictactoe_v3)")
    seen, wins, safe = options(game, seed, seed)
    assert decide(made("heuristic", game, seen.seat, seed), seen) in (wins or safe or set(seen.legal_actions))


@pytest.mark.parametrize("text", ["random=heuristic", "mcts=mcts(simulations=10)"])
def test_no_agent_goes_by_the_name_of_another(text: str) -> None:
    with pytest.raises(SpecError, match="is that of another agent"):
        recipe(text)
    assert recipe("mcts=mcts(simulations=1000)").name == "mcts"
