"""Gymnasium environments as tasks: what they say, what solves them, what is refused."""

import subprocess
import sys

import pytest

pytest.importorskip("gymnasium")

import gymnasium

from agents.registry import recipe
from games.errors import UserError
from games.game import Information
from games.registry import make
from games.spec import SpecError
from games.tasks.gym.game import GymTask
from games.tasks.gym.words import TABLE
from games.testing import check_game
from tests.command_line import arena
from tests.play import match_of, play_here

TOY = [name for name in sorted(gymnasium.registry) if name.rpartition("-v")[0] in TABLE]
CASES = [
    *[f"gymnasium(id={name})" for name in TOY],
    "gymnasium(id=FrozenLake-v1,is_slippery=false,map_name=8x8,turns=30)",
    "gymnasium(id=Blackjack-v1,natural=true,sab=false)",
    "gymnasium(id=CartPole-v1,turns=40,success=40)",
    "gymnasium(id=Acrobot-v1,turns=50,split=test)",
]


@pytest.mark.parametrize("text", CASES)
def test_an_environment_keeps_the_promises_of_games(text: str) -> None:
    check_game(text, episodes=10, decisions=600)


@pytest.mark.parametrize("text", CASES)
def test_an_episode_is_what_the_environment_itself_does(text: str) -> None:
    game = make(text)
    assert isinstance(game, GymTask)
    env = game.make()
    state = game.new_episode(5)
    shown, _ = env.reset(seed=game.instances.number(5))
    ended, turn = False, 0
    while state.seats_to_act():
        action = game.legal[turn * 7 % 3 % len(game.legal)]
        shown, reward, done, cut, _ = env.step(game.numbers[action])
        state.apply({0: action})
        assert state.rewards() == (float(reward),)
        assert state.observe(0).text.startswith(game.words.view(shown))
        ended, turn = bool(done or cut), turn + 1
    assert ended or turn == game.turns


def test_the_shortest_way_over_firm_ice_solves_it() -> None:
    state = make("gymnasium(id=FrozenLake-v1,is_slippery=false)").new_episode(0)
    for action in ("down", "down", "right", "right", "down", "right"):
        assert state.seats_to_act()
        state.apply({0: action})
    assert (state.seats_to_act(), state.success(), state.returns()) == ((), (True,), (1.0,))
    assert "@" in state.board().splitlines()[3][-1]


def test_a_hole_in_the_ice_does_not() -> None:
    state = make("gymnasium(id=FrozenLake-v1,is_slippery=false)").new_episode(0)
    for action in ("down", "right"):
        state.apply({0: action})
    assert (state.seats_to_act(), state.success()) == ((), (False,))
    assert "You stand on H." in state.observe(0).text


def test_the_way_along_the_cliff_is_solved_by_its_end_whatever_the_return() -> None:
    state = make("gymnasium(id=CliffWalking-v1)").new_episode(0)
    for action in ("up", *["right"] * 11, "down"):
        state.apply({0: action})
    assert (state.seats_to_act(), state.success(), state.returns()) == ((), (True,), (-13.0,))


def test_turns_cut_an_episode_that_goes_on() -> None:
    state = make("gymnasium(id=Taxi-v4,turns=2)").new_episode(0)
    for _ in range(2):
        state.apply({0: "north"})
    assert (state.seats_to_act(), state.success()) == ((), (False,))


def test_turns_may_go_beyond_the_limit_that_an_environment_is_registered_with() -> None:
    state = make("gymnasium(id=FrozenLake-v1,is_slippery=false,turns=150)").new_episode(0)
    for _ in range(149):
        state.apply({0: "left"})
    assert state.seats_to_act()
    state.apply({0: "left"})
    assert not state.seats_to_act()


def test_what_the_dealer_hides_is_for_spectators_alone() -> None:
    game = make("gymnasium(id=Blackjack-v1)")
    assert game.spec.information is Information.IMPERFECT
    state = game.new_episode(3)
    assert "of the dealer: [" in state.board()
    assert "of the dealer: [" not in state.observe(0).text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gymnasium", "needs the parameter 'id'"),
        ("gymnasium(id=os:Foo-v1)", "'os:Foo-v1' is no id of gymnasium"),
        ("gymnasium(id=FrozenLak-v1)", "did you mean FrozenLake-v1"),
        ("gymnasium(id=Pendulum-v1)", "only Discrete ones can be played"),
        ("gymnasium(id=FrozenLake-v1,slippery=false)", "cannot be made: TypeError.*slippery"),
        ("gymnasium(id=FrozenLake-v1,is_slippery=maybe)", "is_slippery is maybe: a value of type bool was expected"),
        ("gymnasium(id=FrozenLake-v1,map_name=4)", "map_name is 4: a value of type str was expected"),
        ("gymnasium(id=FrozenLake-v1,max_episode_steps=5)", "give turns in place of max_episode_steps"),
        ("gymnasium(id=FrozenLake-v1,render_mode=human)", "render_mode is about drawing"),
        ("gymnasium(id=FrozenLake-v1,turns=-1)", "'turns' .* is -1"),
        ("gymnasium(id=Taxi-v4,split=dev)", "'split' .* is dev"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)


def test_an_environment_that_does_not_say_what_solves_it_is_told_by_a_return() -> None:
    gymnasium.register("Silent-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
    with pytest.raises(UserError, match="sets no limit to its turns; give one, as in turns=100"):
        make("gymnasium(id=Silent-v0)")
    with pytest.raises(UserError, match="does not say what solves it; give a return, as in success="):
        make("gymnasium(id=Silent-v0,turns=10)")
    assert make("gymnasium(id=Silent-v0,turns=10,success=5)").spec.max_turns == 10


def test_matches_of_an_environment_are_played_without_a_solver() -> None:
    result = play_here(match_of("gymnasium(id=Blackjack-v1)", "random", episodes=4))
    assert [record.success == (record.returns[0] > 0,) for record in result.episodes] == [True] * 4
    assert "no solver" in (recipe("solver").misfit(make("gymnasium(id=Taxi-v4)")) or "")


def test_without_the_extra_the_name_of_it_is_told() -> None:
    code = (
        "import sys\nsys.modules['gymnasium'] = None\nimport importlib.util as u\n"
        "find = u.find_spec\nu.find_spec = lambda name, *rest: None if name == 'gymnasium' else find(name, *rest)\n"
        "from games.registry import make\nmake('gymnasium(id=Taxi-v4)')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "metarena[gymnasium]"' in done.stderr


def test_an_environment_is_played_from_the_command_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    said = arena("play", "gymnasium(id=FrozenLake-v1)", "random", "--seed", "1", folder=tmp_path).stdout
    assert "random solved 0 of 1 episode" in said or "random solved 1 of 1 episode" in said
    assert "@" in said


@pytest.mark.parametrize(("name", "turns"), [("MountainCar-v0", 20), ("Acrobot-v1", 50)])
def test_a_return_that_fewer_turns_leave_high_solves_nothing(name: str, turns: int) -> None:
    """Each turn costs there: who is stopped early has paid little, and reached nothing."""
    state = make(f"gymnasium(id={name},turns={turns})").new_episode(1)
    while state.seats_to_act():
        state.apply({0: "1"})
    assert state.success() == (False,)
    chosen = make(f"gymnasium(id={name},turns={turns},success=-{turns})").new_episode(1)
    while chosen.seats_to_act():
        chosen.apply({0: "1"})
    assert chosen.success() == (True,), "a return that was asked for counts as it is"
