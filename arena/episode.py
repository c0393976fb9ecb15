"""One play of a game: who moved, what was played, how it ended."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from agents.agent import Agent, Pace, Step
from arena.referee import Fault, Note, Referee
from games.game import Action, Game, GameSpec, State, Termination, Utility, sole_winner
from games.seeding import digest

OnTurn = Callable[[int, Action], None]
"""Called after each turn with its seat and action."""


class EpisodeRecord(NamedTuple):
    """One episode as it is kept. Lists by seat have one entry a seat; turns run in parallel lists."""

    episode: int
    """Counted from 1."""
    seed: int
    order: tuple[int, ...]
    """order[i] is the agent in seat i, by its place in the match."""
    turn_seats: list[int]
    actions: list[Action]
    returns: tuple[float, ...]
    success: tuple[bool, ...]
    termination: Termination
    offender: int | None
    notes: list[Note]

    @property
    def trajectory_hash(self) -> str:
        """16 hexadecimal digits; equal for episodes with the same turns."""
        return digest(8, *self.turn_seats, *self.actions).hex()


class EpisodePlan(NamedTuple):
    """What is fixed before an episode is played."""

    episode: int
    seed: int
    order: tuple[int, ...]
    max_turns: int | None


class Ended(NamedTuple):
    """An episode that is over."""

    record: EpisodeRecord
    fault: Fault | None
    """The one that ended it, if one did."""
    state: State
    """As it was at the end."""


async def play_episode(
    game: Game,
    plan: EpisodePlan,
    agents: Sequence[Agent],
    referee: Referee,
    steps: Sequence[list[Step] | None],
    on_turn: OnTurn | None = None,
) -> Ended:
    """Play one episode; `agents` and `steps` are by seat.

    `steps[seat]` collects what a seat saw and did, for agents that reflect; None for those that do not.
    """
    referee.begin(plan.order)
    state = game.new_episode(plan.seed)
    turn_seats: list[int] = []
    actions: list[Action] = []
    limit = plan.max_turns or game.spec.max_turns + 1
    waits = any([agent.pace is Pace.AWAITS for agent in agents])
    while seats := state.seats_to_act():
        if len(actions) >= limit:
            return Ended(_record(plan, state, turn_seats, actions, Termination.MAX_TURNS, referee), None, state)
        joint: dict[int, Action] = {}
        turn = len(actions)
        ahead = await _all_at_once(referee, agents, state, turn) if waits and len(seats) > 1 else None
        for seat in seats:
            observation = state.observe(seat)
            ruling = await referee.decide(agents[seat], observation, turn) if ahead is None else ahead[turn]
            if isinstance(ruling, Fault):
                played = Played(turn_seats, actions, referee.notes)
                return Ended(forfeit(game.spec, plan, played, seat, ruling), ruling, state)
            joint[seat] = ruling
            turn += 1
            if (kept := steps[seat]) is not None:
                kept.append(Step(observation, ruling))
        state.apply(joint)
        turn_seats += joint
        actions += joint.values()
        if on_turn is not None:
            for seat, action in joint.items():
                on_turn(seat, action)
    return Ended(_record(plan, state, turn_seats, actions, Termination.FINISHED, referee), None, state)


async def _all_at_once(referee: Referee, agents: Sequence[Agent], state: State, turn: int) -> dict[int, Action | Fault]:
    """Ask all seats to act at the same time, since some wait for a model; rulings by turn."""
    seats = state.seats_to_act()
    asks = [
        partial(referee.decide, agents[seat], state.observe(seat), number)
        for number, seat in enumerate(seats, start=turn)
    ]
    if sum([agents[seat].pace is not Pace.BRIEF for seat in seats]) > 1:
        rulings = await together([ask() for ask in asks])
    else:  # nobody waits for another
        rulings = [await ask() for ask in asks]
    referee.notes.sort(key=lambda note: (note.turn, note.attempt))  # not by who answered first
    return dict(enumerate(rulings, start=turn))


_T = TypeVar("_T")


async def together(waiting: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Await several at once. The first exception ends the others before it is raised."""
    if len(waiting) == 1:
        return [await waiting[0]]
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Played(NamedTuple):
    """The turns of an episode so far, and what was noted on them."""

    turn_seats: list[int]
    actions: list[Action]
    notes: list[Note]


def forfeit(spec: GameSpec, plan: EpisodePlan, played: Played, offender: int, fault: Fault) -> EpisodeRecord:
    """An episode that one seat's fault ended. A fault that no note tells yet is noted."""
    notes = played.notes
    if fault.termination is not Termination.FORFEITED and not any(
        note.seat == offender and note.fault for note in notes
    ):
        notes = [*notes, Note(len(played.actions), offender, 0, None, fault.why, fault.termination, None)]
    returns = forfeit_returns(spec, offender)
    success = sole_winner(returns) if spec.seats > 1 else (False,)
    return EpisodeRecord(
        *(plan.episode, plan.seed, plan.order, played.turn_seats, played.actions),
        *(returns, success, fault.termination, offender, notes),
    )


def forfeit_returns(spec: GameSpec, offender: int) -> tuple[float, ...]:
    """The offender gets the game's minimum; in a zero-sum game the others share its negative, else they get 0.

    Where 0 is not above the minimum, the others get the middle of the game's bounds, so that the offender still loses;
    in a game of identical interests all get the minimum.
    """
    low, high = spec.min_utility, spec.max_utility
    if spec.utility is Utility.IDENTICAL:
        others = low
    elif spec.utility is Utility.ZERO_SUM and spec.seats > 1:
        others = -low / (spec.seats - 1)
    else:
        others = 0.0 if low < 0 else (low + high) / 2
    return tuple([low if seat == offender else others for seat in range(spec.seats)])


def _record(
    plan: EpisodePlan, state: State, turn_seats: list[int], actions: list[Action], why: Termination, referee: Referee
) -> EpisodeRecord:
    return EpisodeRecord(
        plan.episode,
        plan.seed,
        plan.order,
        turn_seats,
        actions,
        state.returns(),
        state.success(),
        why,
        None,
        referee.notes,
    )
