"""Every game of the registry: the check of games, and what is stated by hand about those of OpenSpiel.

`pytest -k NAME` runs the check of one game.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspiel
import pytest

from games import sampling, spiel_facts, spiel_load, spiel_recipe
from games.errors import UserError
from games.game import Dynamics, GameSpec, Information, SampleError, Utility
from games.registry import make, names
from games.seeding import digest
from games.spec import Spec, SpecError, parse
from games.spiel import SpielGame, SpielState
from games.spiel_recipe import kinds
from games.testing import check_game
from games.testing_play import choose, policy_of
from tests.game_strings import FILES, VARIANTS, WRAPPERS, strings, write_files
from tests.games_table import PAGE, page_with_tables

SPIEL = [name for name in names() if name in kinds()]
ALL = [text for name in SPIEL for text in strings(name)]
SLOW = {
    "bridge": 20,
    "bridge_uncontested_bidding(num_redeals=1)": 20,
    "gin_rummy": 400,
    "yacht": 200,
}
"""Decisions that the check may play in games that take milliseconds for one."""
CLASSIC = [
    "chess_v6",
    "connect_four_v3",
    "go_v5",
    "hanabi_v5",
    "leduc_holdem_v4",
    "rps_v2",
    "texas_holdem_no_limit_v6",
    "texas_holdem_v4",
    "tictactoe_v3",
]
MADE_TO_FORGET = {"dark_hex_ir", "liars_dice_ir", "phantom_ttt_ir"}
"""Variants of imperfect recall: that a seat forgets is their point."""


@pytest.fixture(scope="module", autouse=True)
def _files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The files of `efg_game` and `nfg_game` lie in the working directory."""
    folder, before = tmp_path_factory.mktemp("games"), Path.cwd()
    write_files(folder)
    os.chdir(folder)
    yield
    os.chdir(before)


def load(text: str) -> SpielGame:
    game = make(text)
    assert isinstance(game, SpielGame)
    return game


def states(text: str, episodes: int, moves: int = 40) -> Iterator[SpielState]:
    """The states of random play in which a seat is to act."""
    game = load(text)
    for seed in range(episodes):
        rng, state, left = policy_of(seed), game.new_episode(seed), moves
        while (seats := state.seats_to_act()) and left:
            yield state
            state.apply({seat: choose(state.observe(seat), rng) for seat in seats})
            left -= 1


@pytest.mark.parametrize("text", [*ALL, *VARIANTS])
def test_game_passes_the_check(text: str) -> None:
    decisions = SLOW.get(text, 1000)
    check_game(make(text), episodes=12 if decisions > 100 else 2, decisions=decisions)


@pytest.mark.parametrize("name", CLASSIC)
def test_pettingzoo_environment_passes_the_check(name: str) -> None:
    pytest.importorskip("pettingzoo")
    check_game(make(f"pettingzoo(env=classic/{name})"), episodes=6, decisions=200)


def test_every_game_of_openspiel_is_here_or_left_out_with_a_reason() -> None:
    assert set(SPIEL) == set(kinds()) - set(spiel_facts.LEFT_OUT)
    assert len(kinds()) == 126
    assert sorted(WRAPPERS) == sorted(name for name in SPIEL if not kinds()[name].default_loadable)


@pytest.mark.parametrize("name", spiel_facts.LEFT_OUT)
def test_a_game_left_out_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(SpecError, match="cannot be played here") as caught:
        make(name)
    assert spiel_facts.LEFT_OUT[name] in str(caught.value)


def test_the_left_out_games_have_the_reasons_given() -> None:
    mean_field = {name for name, kind in kinds().items() if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD}
    assert mean_field == {name for name in spiel_facts.LEFT_OUT if name.startswith("mfg_")}
    with pytest.raises(pyspiel.SpielError, match="action structs only"):
        pyspiel.load_game("crossword").new_initial_state().legal_actions()


@pytest.mark.parametrize("text", [*ALL, *VARIANTS])
def test_no_legal_action_is_lost_in_naming(text: str) -> None:
    for state in states(text, 2, 12):
        for seat in state.seats_to_act():
            assert list(state.legal(seat).values()) == state.spiel.legal_actions(seat)
            assert len(state.observe(seat).legal_actions) == len(state.spiel.legal_actions(seat))


@pytest.mark.parametrize("text", [*ALL, *VARIANTS])
def test_an_episode_is_over_only_where_openspiel_says_so(text: str) -> None:
    game = load(text)
    state, rng, left = game.new_episode(1), policy_of(1), SLOW.get(text, 600)
    while (seats := state.seats_to_act()) and left:
        state.apply({seat: choose(state.observe(seat), rng) for seat in seats})
        left -= 1
    assert bool(state.seats_to_act()) != state.spiel.is_terminal()


@pytest.mark.parametrize("text", [*ALL, *VARIANTS])
def test_the_name_of_a_game_makes_it_again(text: str) -> None:
    spec = make(text).spec
    assert make(spec.name).spec == spec


def course(text: str) -> str:
    """A digest of what is told in the first moves of one episode."""
    told = []
    for state in states(text, 1, SLOW.get(text, 100) // 10):
        told += [(state.observe(seat).key, state.observe(seat).text) for seat in state.seats_to_act()]
        told.append((state.board(), repr((state.rewards(), state.returns()))))
    return digest(8, repr(told)).hex()


def test_another_process_plays_the_same_episodes() -> None:
    script = f"from tests.test_games import course\nfor text in {ALL!r}:\n    print(course(text))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert done.stdout.split() == [course(text) for text in ALL], done.stderr


@pytest.mark.parametrize("text", [text for text in ALL if text not in MADE_TO_FORGET])
def test_what_a_seat_knew_and_chose_is_in_what_it_knows_later(text: str) -> None:
    """Equal keys mean equal pasts: perfect recall. In games of perfect information a position may be enough."""
    if load(text).perfect:
        pytest.skip("the position tells what matters")
    pasts: dict[tuple[int, str], tuple[tuple[str, str], ...]] = {}
    for seed in range(1 if text in SLOW else 20):
        state, rng = load(text).new_episode(seed % 4), random.Random(seed)
        past: dict[int, tuple[tuple[str, str], ...]] = {}
        for _ in range(8):
            actions = {}
            for seat in state.seats_to_act():
                observation = state.observe(seat)
                actions[seat] = rng.choice(observation.legal_actions[:3])
                key, own = observation.key, past.setdefault(seat, ())
                assert pasts.setdefault((seat, key), own) == own
                past[seat] = (*own, (key, actions[seat]))
            if actions:
                state.apply(actions)


@pytest.mark.parametrize("name", sorted(MADE_TO_FORGET))
def test_games_made_to_forget_do(name: str) -> None:
    def keys(text: str) -> set[tuple[int, str]]:
        """What seats know where low bids and cells come first, so that episodes are long."""
        met = set()
        for seed in range(100):
            state, rng = load(text).new_episode(seed), random.Random(seed)
            while seats := state.seats_to_act():
                met |= {(seat, state.observe(seat).key) for seat in seats}
                state.apply({seat: rng.choice(state.observe(seat).legal_actions[:2]) for seat in seats})
        return met

    assert len(keys(name)) < len(keys(name.removesuffix("_ir")))


def resolve(spot: Any, rng: random.Random) -> None:
    while spot.is_chance_node():
        outcomes, weights = zip(*spot.chance_outcomes(), strict=True)
        spot.apply_action(rng.choices(outcomes, weights)[0])


def step(spot: Any, rng: random.Random) -> None:
    """One random move and the chance that follows."""
    if spot.is_simultaneous_node():
        spot.apply_actions([rng.choice(spot.legal_actions(seat) or [0]) for seat in range(spot.num_players())])
    else:
        spot.apply_action(rng.choice(spot.legal_actions()))
    resolve(spot, rng)


def told(spot: Any) -> tuple[Any, ...]:
    """All that observations tell of a position, and who is to move with what."""
    if spot.is_terminal():
        return (spot.returns(),)
    seats = range(spot.num_players())
    seen = [spot.observation_string(seat) for seat in seats]
    return spot.current_player(), seen, [spot.legal_actions(seat) for seat in seats]


@pytest.mark.parametrize("name", sorted(spiel_facts.BOARD_IS_ALL))
def test_where_the_board_is_all_equal_boards_have_equal_futures(name: str) -> None:
    game = load(name).spiel
    met: dict[str, Any] = {}
    pairs = 0
    for seed in range(300 if name != "yacht" else 20):
        rng, spot = random.Random(seed), game.new_initial_state()
        resolve(spot, rng)
        for _ in range(8 if name != "yacht" else 3):
            if spot.is_terminal():
                break
            other = met.setdefault(repr(told(spot)), spot.clone())
            if other.history() != spot.history():
                pairs += 1
                one, two = spot.clone(), other.clone()
                for move in range(400):
                    assert told(one) == told(two)
                    if one.is_terminal() or pairs > 20:
                        break
                    step(one, random.Random(move))
                    step(two, random.Random(move))
            step(spot, rng)


def test_a_position_that_can_be_repeated_is_told_apart_by_its_history() -> None:
    """As the limit on moves is nearer; see the games that are not in BOARD_IS_ALL."""
    state = make("cliff_walking").new_episode(0)
    first = state.observe(0)
    here = (first.text, first.key)
    state.apply({0: "UP"})
    state.apply({0: "DOWN"})
    again = state.observe(0)
    assert again.text == here[0]
    assert again.key != here[1]


@pytest.mark.parametrize("name", sorted(spiel_facts.PAYS_ON_THE_WAY))
def test_games_that_pay_on_the_way_are_declared_otherwise_by_openspiel(name: str) -> None:
    assert kinds()[name].reward_model == pyspiel.GameType.RewardModel.TERMINAL
    assert not make(name).spec.terminal_rewards
    assert any(any(state.returns()) for state in states(name, 10))


@pytest.mark.parametrize("name", sorted(spiel_facts.KNOWN_TO_ALL))
def test_games_in_which_nothing_is_hidden_are_of_perfect_information(name: str) -> None:
    spec = make(name).spec
    assert (spec.seats, spec.information) == (1, Information.PERFECT)


def hidden(name: str) -> bool:
    kind = kinds()[name]
    return bool(kind.default_loadable and kind.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION)


NATIVE = spiel_facts.RESAMPLES | spiel_facts.RESAMPLES_LOOSELY
OTHERS = [name for name in SPIEL if hidden(name) and name not in NATIVE and name != "bridge_uncontested_bidding"]


@pytest.mark.parametrize("name", OTHERS)
def test_other_games_have_no_resampler_that_works(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    differing = 0
    for state in states(name, 3, 6):
        (seat, *_) = state.seats_to_act()
        try:
            drawn = state.spiel.resample_from_infostate(seat, random.Random(1).random)
        except pyspiel.SpielError:
            continue
        differing += drawn.history() != state.spiel.history()
    assert not differing
    capfd.readouterr()


@pytest.mark.parametrize("name", sorted(spiel_facts.RESAMPLES_LOOSELY))
def test_loose_resamplers_deal_what_contradicts_the_moves(name: str) -> None:
    text = "oh_hell(players=5)" if name == "oh_hell" else name
    illegal = 0
    for state in states(text, 40):
        (seat,) = state.seats_to_act()
        drawn = state.spiel.resample_from_infostate(seat, random.Random(1).random)
        spot = drawn.get_game().new_initial_state()
        for action in drawn.history():
            if action not in spot.legal_actions():
                illegal += 1
                break
            spot.apply_action(action)
    assert illegal


def test_the_states_of_a_game_whose_resampler_is_wrong_elsewhere_are_searched() -> None:
    text = 'universal_poker(numPlayers=3,blind="100 100 0",firstPlayer="1 1",stack="500 500 500")'
    game = load(text)
    assert game.spec.can_sample_state
    assert not game.resamples
    assert not make("hearts(pass_cards=false)").spec.can_sample_state


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(spiel_facts.UNSAMPLED))
def test_a_search_fails_where_it_is_said_to(name: str) -> None:
    game = load({"laser_tag": "laser_tag(fully_obs=false)"}.get(name, name))
    rng = random.Random(0)
    failed = 0
    for state in states(game.spec.name, 60, 60):
        if rng.random() < 0.1:
            (seat, *_) = state.seats_to_act()
            try:
                sampling.sample_by_search(state.spiel, seat, rng, lambda spot, seat=seat: game.words.seen(spot, seat))
            except SampleError:
                failed += 1
        if failed == 2:
            break
    assert failed == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kuhn_pocker", "did you mean kuhn_poker"),
        ("kuhn_poker(player=3)", "has no parameter 'player'; did you mean players"),
        ("kuhn_poker(players=11)", "takes 2 to 10, not 11"),
        ("kuhn_poker(players=two)", "takes int, not two"),
        ("kuhn_poker(players=true)", "takes int, not true"),
        ("kuhn_poker(players=9999999999)", "32 bits"),
        ("go_fish(players=0)", "takes 2 to 10, not 0"),
        ("misere", "needs the parameter 'game'"),
        ("misere(game=nope)", "OpenSpiel has no game 'nope'"),
        ("misere(game=mfg_garnet)", "mean-field"),
        ("misere(game=kuhn_poker(players=11))", "takes 2 to 10, not 11"),
        ("misere(game=3)", "takes a game, not 3"),
        ("misere(game=misere)", "needs the parameter 'game'"),
        ("add_noise(game=kuhn_poker)", "needs the parameter 'epsilon'"),
        ("add_noise(game=tarok,epsilon=1,seed=1)", "OpenSpiel refuses"),
        ("restricted_nash_response(game=negotiation)", "draws chance by itself"),
        ("coop_to_1p(game=matrix_coordination)", "one at a time"),
        ("turn_based_simultaneous_game(game=kuhn_poker)", "OpenSpiel refuses"),
        ("start_at(game=kuhn_poker,history=7)", "needs the parameter|takes str|cannot be played from 7 on"),
        ("start_at(game=kuhn_poker,history=0;1;1;1)", "leaves nothing to play"),
        ("start_at(game=kuhn_poker,history=x)", "OpenSpiel refuses"),
        ("efg_game", "needs the parameter 'filename'"),
        ("efg_game(filename=nope.efg)", "there is no file 'nope.efg'"),
        ("efg_game(filename=battle.nfg)", "OpenSpiel refuses"),
        ("nfg_game(filename=two_coins.efg)", "OpenSpiel refuses"),
        ("hanabi(players=1)", "takes 2 to 5, not 1"),
        ("hanabi(colors=50)", "OpenSpiel refuses"),
        ("connect_four(rows=0)", "OpenSpiel refuses"),
        ("havannah(board_size=-1)", "OpenSpiel refuses"),
        ("y(board_size=-1)", "OpenSpiel refuses"),
        ("kriegspiel(fen=x)", "no chess position"),
        ("rbc(fen='8/8/8/8/8/8/8/8 w - - 0 1')", "no chess position"),
        ("dark_chess(fen='4k3/8/8/8/8/8/8/4K2 w - - 0 1')", "no chess position"),
        ("universal_poker(numPlayers=3)", "only read 2 stack sizes, need 3"),
        ("universal_poker(numRounds=3)", "OpenSpiel refuses"),
        ("misere(game=universal_poker(numHoleCards=50))", "OpenSpiel refuses"),
        ("go_fish(initial_cards=0)", "OpenSpiel refuses"),
        ("go(board_size=0)", "unsupported board size"),
        ("go(board_size=99)", "up to 19"),
        ("phantom_go(board_size=0)", "OpenSpiel refuses"),
        ("breakthrough(rows=1)", "OpenSpiel refuses"),
        ("breakthrough(columns=99)", "is not text"),
        ("dots_and_boxes(num_rows=0)", "OpenSpiel refuses"),
        ("clobber(rows=0)", "OpenSpiel refuses"),
        ("liars_dice(numdice=0)", "OpenSpiel refuses"),
        ("misere(game=clobber(rows=0))", "OpenSpiel refuses"),
        ("pig(diceoutcomes=0)", "chance has nothing to draw from"),
        ("bridge(dealer=-1)", "chance has nothing to draw from"),
        ("2048(max_tile=0)", "between 0 and nan"),
        ("blotto(coins=-1)", "nobody can act"),
        ("capture_the_flag(horizon=0)", "nothing to play"),
        ("hanabi(players=0)", "OpenSpiel refuses"),
        ("start_at(game=tic_tac_toe,history='1000000')", "OpenSpiel refuses"),
        ("gomoku(dims=7)", "OpenSpiel"),
    ],
)
def test_a_wrong_game_string_gets_one_line_and_no_end_of_the_process(
    text: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=why) as caught:
        make(text)
    assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr().err == ""


def numbers(name: str) -> list[str]:
    """The strings of a game in which one whole number is of a size that may be wrong."""
    base = parse(strings(name)[0])
    return [
        str(Spec(name, {**base.params, key: value}))
        for key, default in spiel_recipe.parameters(name).items()
        if type(default) is int
        for value in (0, 1, -1, 99, 10**6)
    ]


def begins_or_is_refused(text: str) -> bool:
    """Whether a game made anew begins, or is refused in one line that names no file of OpenSpiel's source."""
    try:
        game = spiel_load.load(parse(text))
    except SpecError as error:
        refusal = str(error)
    else:
        return any(game.new_episode(seed).seats_to_act() for seed in range(20))
    return len(refusal.splitlines()) == 1 and not re.search(r"open_spiel/|OpenSpiel exception|Traceback", refusal)


COUNTED = [name for name in SPIEL if numbers(name)]


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_any_size_gives_a_game_or_one_line(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert begins_or_is_refused(random.Random(name).choice([text for text in numbers(name) if "1000000" not in text]))
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for name in COUNTED for text in numbers(name)])
def test_every_number_of_any_size_gives_a_game_or_one_line(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert begins_or_is_refused(text)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("text", [text for text in VARIANTS if "universal_poker" not in text and "hanabi" not in text])
def test_ordinary_parameters_start_no_process(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert spiel_load.load(parse(text)).spec.name == make(text).spec.name


@pytest.mark.parametrize("text", ["hex(board_size=99)", "go_fish(players=3)"])
def test_other_parameters_are_tried_in_a_process_of_their_own(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spiel_load.load(parse(text)).new_episode(0).seats_to_act()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        spiel_load.load(parse(text))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("env=classic/go_v5,board_size=0", "takes 2 to 25, not 0"),
        ("env=classic/go_v5,board_size=1000", "takes 2 to 25, not 1000"),
        ("env=classic/rps_v2,max_cycles=0", "there is nothing to play"),
        ("env=classic/rps_v2,num_actions=4", "PettingZoo refuses"),
        ("env=classic/texas_holdem_v4,num_players=1", "takes 2 to 23, not 1"),
        ("env=classic/texas_holdem_no_limit_v6,num_players=99", "takes 2 to 23, not 99"),
        ("env=classic/hanabi_v5,colors=0", "PettingZoo refuses"),
    ],
)
def test_a_wrong_argument_of_an_environment_gets_one_line(arguments: str, why: str) -> None:
    pytest.importorskip("pettingzoo")
    with pytest.raises(SpecError, match=why) as caught:
        make(f"pettingzoo({arguments})")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("number", [2, 23])
@pytest.mark.parametrize("name", ["texas_holdem_v4", "texas_holdem_no_limit_v6"])
def test_poker_is_played_by_as_many_as_the_cards_allow(name: str, number: int) -> None:
    pytest.importorskip("pettingzoo")
    check_game(make(f"pettingzoo(env=classic/{name},num_players={number})"), episodes=2, decisions=100)


@pytest.mark.parametrize("text", [*ALL, *VARIANTS, *[f"pettingzoo(env=classic/{name})" for name in CLASSIC]])
def test_rules_begin_with_the_title_and_say_it_once(text: str) -> None:
    if "pettingzoo" in text:
        pytest.importorskip("pettingzoo")
    spec = make(text).spec
    assert spec.rules.startswith(spec.title)
    assert not re.search(rf"[.:,]\s+{re.escape(spec.title)}\b", spec.rules)


def test_a_game_that_never_begins_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spiel_load, "TRIAL_SECONDS", 1)
    with pytest.raises(SpecError, match="within 1 seconds"):
        make("normal_form_extensive_game(game=kuhn_poker(players=3))")


def test_a_chess_variant_begins_at_a_given_position() -> None:
    state = make("kriegspiel(fen='4k3/8/8/8/8/8/8/4K2R w K - 0 1')").new_episode(0)
    (white,) = state.seats_to_act()
    assert any("h8" in action for action in state.observe(white).legal_actions)


def test_facts_name_games_of_openspiel() -> None:
    tables = [
        spiel_facts.RESAMPLES, spiel_facts.RESAMPLES_LOOSELY, spiel_facts.RESAMPLES_ONLY, spiel_facts.UNSAMPLED,
        spiel_facts.UNSAMPLED_INSIDE, spiel_facts.BOARD_IS_ALL, spiel_facts.FORGETS, spiel_facts.PAYS_ON_THE_WAY,
        spiel_facts.KNOWN_TO_ALL, spiel_facts.ABORTS, spiel_facts.DEFAULTS, spiel_facts.UNSAFE_COPIES,
        spiel_facts.SEEN_AT_MOVES,
    ]  # fmt: skip
    assert {name for table in tables for name in table} <= set(SPIEL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tic_tac_toe", {"seats": 2, "chance": False, "max_turns": 9, "can_sample_state": True}),
        ("kuhn_poker(players=3)", {"seats": 3, "chance": True, "information": Information.IMPERFECT}),
        ("matrix_pd", {"dynamics": Dynamics.SIMULTANEOUS, "max_turns": 2, "utility": Utility.GENERAL_SUM}),
        ("goofspiel(points_order=descending)", {"chance": False}),
        ("restricted_nash_response(game=matrix_rps)", {"chance": True}),
        ("pathfinding", {"chance": False}),
        ("stones_and_gems", {"chance": False, "can_sample_state": True}),
        ("hex(board_size=3,swap=true)", {"max_turns": 10}),
        ("tarok", {"chance": True, "can_sample_state": False}),
        ("morpion_solitaire", {"can_sample_state": False}),
        ("cached_tree(game=tic_tac_toe)", {"information": Information.PERFECT}),
        ("cliff_walking", {"terminal_rewards": False}),
    ],
)
def test_specs(text: str, expected: dict[str, object]) -> None:
    spec: GameSpec = make(text).spec
    assert {key: getattr(spec, key) for key in expected} == expected


def test_the_tables_in_the_documentation_are_those_of_the_registry() -> None:
    page = PAGE.read_text()
    assert page_with_tables(page) == page, "run python -m tests.games_table"


def test_the_documentation_shows_every_game_around_a_game() -> None:
    page = PAGE.read_text()
    shown = re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)
    assert sorted(shown) == sorted(WRAPPERS)
    assert f"{len(SPIEL)} of the {len(kinds())} games" in page


@pytest.mark.parametrize("text", sorted(set(re.findall(r"`(\w+\([^`]*\))`", PAGE.read_text()))))
def test_game_strings_in_the_documentation_are_good_or_said_to_be_wrong(text: str) -> None:
    if (
        "pettingzoo" in text
        or text.startswith("check_game(")
        or text in ("name(key=value,...)", "hanabi(colors=50)", "universal_poker(numPlayers=3)")
    ):
        return
    for name, (file, _) in FILES.items():
        text = re.sub(rf"{name}\(filename=[\w.]+\)", f"{name}(filename={file})", text)
    assert make(text).new_episode(0).seats_to_act()
