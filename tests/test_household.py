"""The household: commands and what they change, goals, what the player is told, generated rooms, the expert."""

import random
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.errors import UserError
from games.spec import parse
from games.tasks.household.alfworld import problem, write_game
from games.tasks.household.expert import MOST_TURNS, next_command
from games.tasks.household.game import Household, HouseholdState, load
from games.tasks.household.generate import generate, kind_of
from games.tasks.household.tables import FURNITURE, LAMP, LIES_IN, ROOMS, THINGS
from games.tasks.household.text import Sight, commands, goal_in_words
from games.tasks.household.world import KINDS, Goal, House, Kind, World
from games.tasks.instances import SplitName
from games.testing import check_game

KITCHEN = ("cabinet", "countertop", "countertop", "fridge", "microwave", "sinkbasin")
THERE = {
    "apple": ("countertop 1", "fridge 1"),
    "knife": ("countertop 1",),
    "plate": ("cabinet 1",),
    "vase": ("countertop 2",),
}
STUDY = ("bed", "desk", "drawer")
LIT = {"book": ("bed 1", "drawer 1"), "desklamp": ("desk 1",), "pen": ("desk 1",)}
ALFWORLD = find_spec("alfworld") is not None
NUMBERS = st.integers(0, 10**9)


def house_of(
    kind: Kind, thing: str, place: str, furniture: tuple[str, ...] = KITCHEN, there: dict[str, tuple[str, ...]] = THERE
) -> House:
    """A small house whose things lie where `there` says."""
    empty = House("kitchen", furniture, (), (), Goal(kind, thing, place))
    lies = [(name, empty.place_of[spot]) for name, spots in there.items() for spot in spots]
    return House("kitchen", furniture, [name for name, _ in lies], [spot for _, spot in lies], empty.goal)


def state_of(house: House) -> HouseholdState:
    return HouseholdState(load(parse("household")), 0, house)


def after(world: World, *lines: str) -> list[str]:
    """What each command came to."""
    return [world.do(line).what for line in lines]


def everything(world: World) -> object:
    return world.here, world.held, list(world.contents), world.opened, world.marks, world.reached


def task_of(text: str) -> Household:
    return load(parse(text))


def played(task: Household, seed: int) -> HouseholdState:
    """An episode as the expert plays it."""
    state, advisor = task.new_episode(seed), task.advisor()
    while state.seats_to_act():
        state.apply({0: advisor.advise(state.observe(0))})
    assert isinstance(state, HouseholdState)
    return state


def seen_by(world: World) -> Sight:
    is_open = world.here >= 0 and bool(world.opened >> world.here & 1)
    return Sight(0, world.here, is_open, world.seen(), world.held, world.marks, world.do(""))


# Commands


def test_a_closed_place_is_opened_before_anything_is_taken_from_or_put_into_it() -> None:
    world = World(house_of("pick", "vase", "cabinet"))
    assert after(world, "go to fridge 1", "take apple 2 from fridge 1", "open fridge 1") == ["go", "nothing", "open"]
    assert after(world, "take apple 2 from fridge 1", "close fridge 1") == ["take", "close"]
    assert after(world, "move apple 2 to fridge 1", "open fridge 1") == ["nothing", "open"]
    assert after(world, "move apple 2 to fridge 1", "close fridge 1", "examine apple 2") == ["move", "close", "nothing"]


def test_only_what_is_here_and_one_thing_at_a_time_can_be_taken() -> None:
    world = World(house_of("pick", "vase", "cabinet"))
    assert after(world, "take apple 1 from countertop 1", "go to countertop 2") == ["nothing", "go"]
    assert after(world, "take apple 1 from countertop 2", "take apple 1 from countertop 1") == ["nothing", "nothing"]
    assert after(world, "take vase 1 from countertop 2", "go to countertop 1") == ["take", "go"]
    assert after(world, "take apple 1 from countertop 1", "move vase 1 to countertop 2") == ["nothing", "nothing"]
    assert after(world, "move vase 1 to countertop 1", "take apple 1 from countertop 1") == ["move", "take"]


def test_not_every_thing_fits_every_place() -> None:
    world = World(house_of("pick", "vase", "cabinet"))
    assert after(world, "go to countertop 2", "take vase 1 from countertop 2", "go to sinkbasin 1") == [
        "go",
        "take",
        "go",
    ]
    before = everything(world)
    assert after(world, "move vase 1 to sinkbasin 1") == ["nothing"]
    assert everything(world) == before


def test_heating_and_cooling_need_only_the_device_and_undo_each_other() -> None:
    world = World(house_of("heat", "apple", "countertop"))
    apple = 1 << world.house.thing_of["apple 1"]
    assert after(world, "go to countertop 1", "take apple 1 from countertop 1", "go to microwave 1") == [
        "go",
        "take",
        "go",
    ]
    assert after(world, "cool apple 1 with microwave 1", "heat apple 1 with fridge 1") == ["nothing", "nothing"]
    assert after(world, "heat apple 1 with microwave 1") == ["heat"], "closed as it is"
    assert (world.marks.hot, world.marks.cool) == (apple, 0)
    assert after(world, "go to fridge 1", "cool apple 1 with fridge 1") == ["go", "cool"]
    assert (world.marks.hot, world.marks.cool) == (0, apple)
    assert after(world, "go to countertop 1", "move apple 1 to countertop 1") == ["go", "move"]
    assert not world.reached, "it is not hot any more"


def test_things_are_cleaned_at_a_sinkbasin_and_stay_clean() -> None:
    world = World(house_of("clean", "apple", "countertop"))
    assert after(world, "go to countertop 1", "take apple 1 from countertop 1", "clean apple 1 with countertop 1") == [
        "go", "take", "nothing"]  # fmt: skip
    assert after(world, "go to sinkbasin 1", "clean apple 1 with sinkbasin 1") == ["go", "clean"]
    assert after(world, "go to microwave 1", "heat apple 1 with microwave 1") == ["go", "heat"]
    assert after(world, "go to countertop 2", "move apple 1 to countertop 2") == ["go", "move"]
    assert world.reached


def test_what_cannot_be_treated_is_not() -> None:
    world = World(house_of("pick", "apple", "cabinet"))
    after(world, "go to countertop 2", "take vase 1 from countertop 2")
    for device, command in (("microwave", "heat"), ("fridge", "cool"), ("sinkbasin", "clean")):
        assert after(world, f"go to {device} 1", f"{command} vase 1 with {device} 1") == ["go", "nothing"]


def test_slicing_takes_a_knife_in_the_hand_where_the_thing_lies() -> None:
    world = World(house_of("pick", "apple", "cabinet"))
    assert after(world, "go to countertop 1", "slice apple 1 with knife 1") == ["go", "nothing"]
    assert after(world, "take knife 1 from countertop 1", "slice apple 2 with knife 1") == ["take", "nothing"]
    assert after(world, "slice apple 1 with apple 1", "slice apple 1 with knife 1") == ["nothing", "slice"]
    assert after(world, "slice apple 1 with knife 1") == ["nothing"], "it is in slices already"


def test_a_lamp_is_switched_on_where_it_stands_and_stays_on() -> None:
    world = World(house_of("pick", "book", "desk", STUDY, LIT))
    assert after(world, "use desklamp 1", "go to desk 1", "use pen 1", "use desklamp 1") == [
        "nothing",
        "go",
        "nothing",
        "use",
    ]
    assert after(world, "use desklamp 1", "take desklamp 1 from desk 1") == ["nothing", "nothing"]


@pytest.mark.parametrize("line", [
    "", "   ", "jump", "go", "go to", "go to fridge", "go to fridge 9", "go fridge 1", "go to countertop 1",
    "go to countertop 1 1", "open countertop 1", "open cabinet 1", "close fridge 1", "take apple 1",
    "take apple from countertop 1", "take apple 1 from", "take apple 1 from countertop 2", "take fridge 1 from apple 1",
    "move", "move apple 1 to countertop 1", "use", "use apple 1", "heat apple 1 with", "cool x y z a b",
    "slice apple 1 with", "examine", "examine fridge 1", "examine apple 2", "look up", "inventory please", "help me",
    "0" * 500, "\u00e9 \u4e00",
])  # fmt: skip
def test_any_other_line_changes_nothing_and_takes_a_turn(line: str) -> None:
    state = state_of(house_of("pick", "apple", "cabinet"))
    state.apply({0: "go to countertop 1"})
    before = everything(state.world)
    if line:
        state.apply({0: line})
        assert "Nothing happens." in state.observe(0).text
        assert (state.sight.turn, state.rewards()) == (2, (0.0,))
    assert everything(state.world) == before


@pytest.mark.parametrize("action", ["", "look\nlook", "x" * 501, 7, None, "\n"])
def test_what_is_no_line_is_refused_and_changes_nothing(action: str) -> None:
    state = state_of(house_of("pick", "apple", "cabinet"))
    with pytest.raises(ValueError, match="one line of 1 to 500 characters"):
        state.apply({0: action})
    assert state.log == []
    assert not state.observe(0).allows(action)
    assert state.observe(0).allows("anything else")


def test_case_and_spaces_do_not_matter() -> None:
    assert after(World(house_of("pick", "apple", "cabinet")), "  Go  TO Countertop 1 ") == ["go"]


# Goals


def test_putting_the_thing_there_is_the_goal_and_pays_once() -> None:
    state = state_of(house_of("pick", "apple", "cabinet"))
    state.world.house.goal = Goal("pick", "apple", "sinkbasin")
    for line in ("go to countertop 1", "take apple 1 from countertop 1", "go to sinkbasin 1"):
        state.apply({0: line})
        assert state.rewards() == (0.0,)
    state.apply({0: "move apple 1 to sinkbasin 1"})
    assert (state.rewards(), state.returns(), state.success()) == ((10.0,), (10.0,), (True,))
    assert not state.seats_to_act()
    assert state.observe(0).text.endswith("Over: solved. Return: 10")


def test_two_things_must_lie_in_the_same_place() -> None:
    world = World(house_of("pick_two", "apple", "countertop", there=THERE | {"apple": ("fridge 1", "sinkbasin 1")}))
    after(
        world,
        "go to sinkbasin 1",
        "take apple 2 from sinkbasin 1",
        "go to countertop 1",
        "move apple 2 to countertop 1",
    )
    after(world, "go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "go to countertop 2")
    assert after(world, "move apple 1 to countertop 2") == ["move"]
    assert not world.reached, "one on each"
    after(world, "take apple 1 from countertop 2", "go to countertop 1", "move apple 1 to countertop 1")
    assert world.reached


@pytest.mark.parametrize("lines", [
    ("go to bed 1", "take book 1 from bed 1", "go to desk 1", "use desklamp 1"),
    ("go to desk 1", "use desklamp 1", "go to bed 1", "take book 1 from bed 1", "go to desk 1"),
    ("go to bed 1", "take book 1 from bed 1", "go to desk 1", "move book 1 to desk 1", "use desklamp 1",
     "take book 1 from desk 1"),
])  # fmt: skip
def test_a_thing_is_looked_at_by_holding_it_at_a_lit_lamp_in_any_order(lines: tuple[str, ...]) -> None:
    world = World(house_of("look", "book", LAMP, STUDY, LIT))
    for line in lines:
        assert not world.reached
        assert world.do(line).what != "nothing"
    assert world.reached


def test_another_thing_in_the_light_is_not_the_goal() -> None:
    world = World(house_of("look", "book", LAMP, STUDY, LIT))
    after(world, "go to desk 1", "take pen 1 from desk 1", "use desklamp 1")
    assert (world.house.things[world.held], world.reached) == ("pen 1", False)


def test_goals_are_told_in_plain_words() -> None:
    assert [goal_in_words(Goal(*goal)) for goal in (
        ("pick", "apple", "fridge"), ("look", "alarmclock", LAMP), ("clean", "apple", "countertop"),
        ("heat", "egg", "diningtable"), ("cool", "pan", "stoveburner"), ("pick_two", "knife", "drawer"),
    )] == [
        "Put an apple in a fridge.", "Hold an alarmclock in the light of a desklamp that is switched on.",
        "Put a clean apple on a countertop.", "Put a hot egg on a diningtable.", "Put a cold pan on a stoveburner.",
        "Put two knives in the same drawer.",
    ]  # fmt: skip


# What the player is told


def test_a_closed_place_tells_only_that_it_is_closed() -> None:
    state = state_of(house_of("pick", "apple", "cabinet"))
    for line, words in (
        ("go to fridge 1", "You walk to fridge 1. Fridge 1 is closed."),
        ("examine fridge 1", "Fridge 1 is closed."),
        ("look", "Fridge 1 is closed."),
        ("open fridge 1", "You pull fridge 1 open. In it there is apple 2."),
        ("take apple 2 from fridge 1", "You take apple 2 from fridge 1."),
        ("look", "In it there is nothing."),
        ("inventory", "You carry apple 2."),
        ("examine apple 2", "Apple 2 is as you would expect it."),
        ("cool apple 2 with fridge 1", "You cool apple 2 with fridge 1; now it is cold."),
        ("examine apple 2", "Apple 2 is cold."),
        ("go to countertop 1", "On it there is apple 1 and knife 1."),
        ("help", "Commands: go to PLACE"),
    ):
        state.apply({0: line})
        assert words in state.observe(0).text
        assert ("apple 2" in state.observe(0).text) == ("open fridge 1" in state.log), "unseen things are not named"
    assert "cabinet 1: plate 1" in state.board()


@settings(max_examples=60, deadline=None)
@given(NUMBERS, st.sampled_from(KINDS))
def test_the_admissible_commands_are_those_that_are_carried_out(number: int, kind: Kind) -> None:
    """Every command about what there is either is admissible or comes to nothing."""
    house = generate(kind, "train", number)
    world, rng = World(house), random.Random(number)
    for _ in range(15):
        before, sight = everything(world), seen_by(world)
        admissible = commands(house, sight)
        tried = [*admissible, *any_commands(rng, house, sight)]
        for line in tried:
            other = World(house)
            other.here, other.held, other.opened, other.marks = world.here, world.held, world.opened, world.marks
            other.contents = list(world.contents)
            assert (other.do(line).what != "nothing") == (line in admissible), line
            assert other.do("").what == "nothing"
        assert everything(world) == before
        world.do(rng.choice(admissible))


def any_commands(rng: random.Random, house: House, sight: Sight) -> list[str]:
    """Commands about any place and thing, those at hand more often."""
    places = [*house.places, *[house.places[sight.here]] * 20]
    things = [*house.things, *[house.things[thing] for thing in (*sight.seen, sight.held) if thing >= 0] * 8]
    forms = ["go to {p}", "open {p}", "close {p}", "take {o} from {p}", "move {o} to {p}", "use {o}",
             "heat {o} with {p}", "cool {o} with {p}", "clean {o} with {p}",
             "slice {o} with {q}", "examine {o}", "examine {p}"]  # fmt: skip
    return [
        rng.choice(forms).format(p=rng.choice(places), o=rng.choice(things), q=rng.choice(things)) for _ in range(60)
    ]


def test_an_observation_tells_what_it_told_when_things_have_moved_on() -> None:
    state = task_of("household").new_episode(3)
    rng, kept = random.Random(5), []
    while state.seats_to_act():
        observation = state.observe(0)
        kept.append((observation, observation.text, observation.legal_actions, observation.sight))
        state.apply({0: rng.choice(observation.legal_actions)})
    assert all([(one.text, one.legal_actions, one.sight) == (text, legal, sight) for one, text, legal, sight in kept])
    advisor = state.task.advisor()
    assert advisor.advise(kept[0][0]) == advisor.advise(state.task.begin(state.instance).observe(0))


@pytest.mark.parametrize("text", [
    "household", "household(type=look,turns=11)", "household(type=pick_two,split=test)", "household(count=1,type=heat)",
])  # fmt: skip
def test_it_keeps_the_promises_of_games(text: str) -> None:
    check_game(task_of(text))


# Generated rooms and the expert


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_expert_reaches_every_goal_in_eleven_turns(kind: Kind, split: SplitName) -> None:
    task = task_of(f"household(type={kind},split={split},turns={MOST_TURNS})")
    assert all([played(task, seed).solved for seed in range(200)])


@settings(max_examples=200, deadline=None)
@given(NUMBERS, st.sampled_from(KINDS), st.integers(0, 60))
def test_the_expert_reaches_the_goal_from_wherever_play_has_led(number: int, kind: Kind, turns: int) -> None:
    world, rng = World(generate(kind, "test", number)), random.Random(number)
    for _ in range(turns):
        if not world.reached:
            world.do(rng.choice(commands(world.house, seen_by(world))))
    for _ in range(MOST_TURNS + 3):
        if not world.reached:
            line = next_command(world)
            assert line in commands(world.house, seen_by(world))
            world.do(line)
    assert world.reached


def test_the_expert_needs_eleven_turns_at_some_time() -> None:
    task = task_of("household(type=pick_two)")
    assert max([len(played(task, seed).log) for seed in range(400)]) == MOST_TURNS


@settings(max_examples=100, deadline=None)
@given(NUMBERS, st.sampled_from(KINDS), st.sampled_from(["train", "validation", "test"]))
def test_a_generated_room_is_plausible_and_its_goal_not_yet_reached(number: int, kind: Kind, split: SplitName) -> None:
    house = generate(kind, split, number)
    goal, furniture = house.goal, Counter(house.place_kinds)
    for piece, (least, most) in ROOMS[house.room].items():
        assert least <= furniture[piece] <= most
    assert len(house.thing_kinds) >= 8
    for place, things in enumerate(house.start):
        piece = house.place_kinds[place]
        assert len(things) <= (FURNITURE[piece].holds or len(house.things))
        assert bool(house.open >> place & 1) is not FURNITURE[piece].openable
        for thing in things:
            assert piece in THINGS[house.thing_kinds[thing]].places
            assert (house.thing_kinds[thing], piece) != (goal.thing, goal.place)
    assert set(house.thing_kinds) <= {*LIES_IN[house.room], LAMP}
    assert house.thing_kinds.count(goal.thing) >= (2 if kind == "pick_two" else 1)
    assert (goal.place in furniture) is (kind != "look")
    assert kind != "look" or LAMP in house.thing_kinds


def test_the_tables_fit_together() -> None:
    for name, thing in THINGS.items():
        assert set(thing.places) <= set(FURNITURE), name
        assert len(set(thing.places)) == len(thing.places), name
    for room, names in LIES_IN.items():
        assert set(ROOMS[room]) <= set(FURNITURE)
        assert set(names) <= set(THINGS)
        assert len(set(names)) == len(names)
    assert set(THINGS) == {LAMP, *[name for names in LIES_IN.values() for name in names]}
    assert not [piece for piece in THINGS[LAMP].places if FURNITURE[piece].openable]


def test_every_room_and_goal_comes_up() -> None:
    houses = [generate(kind_of(number), "train", number) for number in range(600)]
    assert {house.room for house in houses} == set(ROOMS)
    kinds = Counter([house.goal.kind for house in houses])
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) > 60
    assert len({house.goal for house in houses}) > 250


def test_the_same_number_is_the_same_house_and_with_one_type_the_same_as_with_all() -> None:
    anything = task_of("household(split=test)")
    for seed in range(30):
        state = anything.new_episode(seed)
        kind = kind_of(state.instance)
        assert task_of(f"household(split=test,type={kind})").new_episode(seed).board() == state.board()
    assert len({anything.new_episode(seed).board() for seed in range(300)}) == 300


def test_no_room_with_the_same_furniture_is_in_two_splits() -> None:
    splits: tuple[SplitName, ...] = ("train", "validation", "test")
    furnished = [
        {(house.room, house.place_kinds) for house in (generate(kind_of(n), split, n) for n in range(500))}
        for split in splits
    ]
    assert not furnished[0] & furnished[1]
    assert not furnished[0] & furnished[2]
    assert not furnished[1] & furnished[2]


def test_random_play_is_far_below_the_expert() -> None:
    task = task_of("household(split=validation)")
    rng, solved = random.Random(1), 0
    for seed in range(60):
        state = task.new_episode(seed)
        while state.seats_to_act():
            state.apply({0: rng.choice(state.observe(0).legal_actions)})
        solved += state.success()[0]
        assert len(state.log) <= 30
    assert solved < 6


# Against ALFWorld


def test_a_game_for_alfworld_names_everything_and_needs_the_package(tmp_path: Path) -> None:
    house = generate("pick_two", "test", 1_000_000)
    text = problem(house)
    assert text.count("(") == text.count(")")
    assert text.count("(inReceptacle ") == len(house.things) + 2, "two are of the goal"
    if ALFWORLD:
        write_game(house, tmp_path / "game")
        assert {file.name for file in (tmp_path / "game").iterdir()} == {"game.tw-pddl", "traj_data.json"}
    else:
        with pytest.raises(UserError, match="alfworld is not installed"):
            write_game(house, tmp_path / "game")


# Parameters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("household(type=wash)", "parameter 'type' of game 'household' is wash: Input should be 'any', 'pick', 'look'"),
        ("household(turns=10)", "parameter 'turns' of game 'household' is 10: .* greater than or equal to 11"),
        ("household(split=exam)", "parameter 'split' of game 'household' is exam"),
        ("household(room=kitchen)", "game 'household' has no parameter 'room'"),
        ("household(split=test,first=1000000)", "the split has instances 0 to 999999"),
    ],
)
def test_parameters_that_are_none_are_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        task_of(text)
    assert "\n" not in str(caught.value)


def test_the_spec_says_what_can_be_reached() -> None:
    spec = task_of("household(type=cool,turns=40)").spec
    assert spec.name == "household(turns=40,type=cool)"
    assert (spec.min_utility, spec.max_utility, spec.max_turns) == (0.0, 10.0, 40)
    assert (spec.task, spec.terminal_rewards, spec.can_sample_state) == (True, True, False)
    assert "turn 40" in spec.rules
