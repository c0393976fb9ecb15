"""One match: its identity, its episodes between the same agents, and its result."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from agents.agent import Agent, Pace, ProviderError, Reflection, Setup, Step, Trajectory
from agents.generation import Generation
from agents.models.limits import BudgetError
from agents.registry import Recipe
from arena.episode import Ended, EpisodePlan, EpisodeRecord, OnTurn, Played, forfeit, play_episode, together
from arena.referee import AskedInVainError, Fault, MakesAgent, Note, Referee, Watch
from arena.rules import MatchRules
from games.errors import in_words
from games.game import Action, Game, Termination
from games.seeding import derive

TIE = 1e-9
"""Mean returns closer than this share a place."""


class Match(NamedTuple):
    """What is to be played; equal matches give equal results for classical agents."""

    match_id: str
    tournament: str
    game: str
    """Canonical game string."""
    round: int
    pair: int
    """Matches of one pair index share their seed."""
    replica: int
    seed: int
    names: tuple[str, ...]
    """Names of the agents, by seat in the first episode; the next two run in parallel."""
    specs: tuple[str, ...]
    fingerprints: tuple[str, ...]
    rules: MatchRules


class ReflectionRecord(NamedTuple):
    """What an agent told itself after an episode."""

    episode: int
    seat: int
    agent: int
    text: str
    generations: Sequence[Generation] = ()


class MatchResult(NamedTuple):
    """A finished match. Lists by agent follow the match's order of agents.

    In a single-agent task `places` and `faults` have one entry more, the task's: it wins where the agent fails.
    """

    match: Match
    episodes: Sequence[EpisodeRecord]
    mean_returns: tuple[float, ...]
    places: tuple[int, ...]
    faults: tuple[int, ...]
    reflections: Sequence[ReflectionRecord]


class Told(NamedTuple):
    """How far a match has come."""

    episodes: list[EpisodeRecord]
    turns: list[tuple[int, Action]]
    """Seat and action, of the episode in progress."""
    reflections: list[ReflectionRecord]


class VoidMatchError(Exception):
    """The match could not be played for a reason that is no agent's fault; the message says why."""


class Listener(Protocol):
    """Is told of a match as it goes on."""

    def note(self, note: Note) -> None:
        """A seat made a decision that carries more than its action, or one that was a fault; its turn is not over."""

    def turn(self, seat: int, action: str) -> None:
        """A seat's action was played."""

    def episode(self, record: EpisodeRecord) -> None:
        """An episode is over."""

    def reflection(self, record: ReflectionRecord) -> None:
        """An agent looked back."""


def plan_episode(match: Match, game: Game, episode: int) -> EpisodePlan:
    """Seed and seats of an episode (from 1): agents keep their seats, or each moves on by one after an episode."""
    deal = episode if match.rules.deals == "fresh" else 1
    count = len(match.names)
    shift = (episode - 1) % count if match.rules.seats == "rotate" else 0
    order = tuple([(seat - shift) % count for seat in range(count)])
    return EpisodePlan(episode, game.deal(match.seed, deal), order, match.rules.max_turns)


def check_deals(game: Game, rules: MatchRules) -> None:
    """Raises UserError where a match would have more new deals than the game has different ones."""
    if rules.deals == "fresh":
        game.deal(0, rules.episodes)


async def play_match(
    match: Match,
    game: Game,
    recipes: Sequence[Recipe],
    watch: Watch | None = None,
    listener: Listener | None = None,
    make: MakesAgent | None = None,
) -> MatchResult:
    """Play a match: make the agents, play the episodes, let agents reflect between them.

    `make` brings an agent to the table in another way than calling its class. Raises VoidMatchError when a provider or
    the game itself failed, BudgetError when the run's budget is spent, UserError when a model cannot be had as asked;
    what the listener raises passes through.
    """
    referee = Referee(match.rules, match.seed ^ match.replica, watch)
    guarded = _Guarded(listener) if listener is not None else None
    referee.on_note = guarded.note if guarded is not None else None
    try:
        agents = await _seat(match, game, recipes, referee, make)
        if isinstance(agents, MatchResult):
            return agents
        return await _play(match, game, agents, referee, guarded)
    except BudgetError:
        raise
    except ProviderError as error:
        name = "an agent" if referee.unserved is None else match.names[referee.unserved]
        raise VoidMatchError(f"{name} could not be served: {in_words(error, kind=False)}") from error
    except (_ListenerError, AskedInVainError) as error:
        raise error.__cause__ or error from None
    except (Exception, SystemExit) as error:  # agents' exceptions are faults by now: this one comes from the game
        raise VoidMatchError(f"game {match.game} failed: {in_words(error)}") from error


class _ListenerError(Exception):
    """The listener failed; what it raised is the cause."""


class _Guarded:
    """Passes everything on to a listener and marks what that raises, so that it is not taken for the game's."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def note(self, note: Note) -> None:
        self._tell(self._listener.note, note)

    def turn(self, seat: int, action: str) -> None:
        self._tell(self._listener.turn, seat, action)

    def episode(self, record: EpisodeRecord) -> None:
        self._tell(self._listener.episode, record)

    def reflection(self, record: ReflectionRecord) -> None:
        self._tell(self._listener.reflection, record)

    def _tell(self, method: Callable[..., None], *news: object) -> None:
        try:
            method(*news)
        except Exception as error:
            raise _ListenerError from error


async def _seat(
    match: Match, game: Game, recipes: Sequence[Recipe], referee: Referee, make: MakesAgent | None
) -> list[Agent] | MatchResult:
    """Make the agents; one that cannot be made forfeits the match."""
    agents: list[Agent] = []
    for seat, recipe in enumerate(recipes):
        setup = Setup(game, seat, derive(match.seed, match.replica, seat), match.rules.episodes)
        agent = await referee.seat(recipe, setup, make)
        if isinstance(agent, Fault):
            return forfeit_rest(match, game, Told([], [], []), seat, agent)
        agents.append(agent)
    return agents


async def _play(
    match: Match, game: Game, agents: Sequence[Agent], referee: Referee, listener: Listener | None
) -> MatchResult:
    rules = match.rules
    reflects = [type(agent).reflect is not Agent.reflect for agent in agents]
    told = Told([], [], [])
    on_turn: OnTurn | None = listener.turn if listener else None
    for number in range(1, rules.episodes + 1):
        plan = plan_episode(match, game, number)
        steps: list[list[Step] | None] = [[] if reflects[agent] else None for agent in plan.order]
        seated = [agents[agent] for agent in plan.order]
        ended = await play_episode(game, plan, seated, referee, steps, on_turn)
        record, fault = ended.record, ended.fault
        told.episodes.append(record)
        if listener is not None:
            listener.episode(record)
        if fault is not None and fault.ends_match and record.offender is not None:
            return forfeit_rest(match, game, told, plan.order[record.offender], fault)
        if number == rules.episodes or (rules.stop_on_win and record.success[plan.order.index(0)]):
            break
        for seat, found in (await _reflections(seated, referee, steps, ended)).items():
            if isinstance(found, Fault):
                return forfeit_rest(match, game, told, plan.order[seat], found)
            if found is not None:
                told.reflections.append(ReflectionRecord(number, seat, plan.order[seat], *found))
                if listener is not None:
                    listener.reflection(told.reflections[-1])
    return result(match, game, told.episodes, told.reflections)


async def _reflections(
    agents: Sequence[Agent], referee: Referee, steps: Sequence[list[Step] | None], ended: Ended
) -> dict[int, Reflection | Fault | None]:
    """What the agents that reflect say, by seat: those that wait for a model at once, else one after the other."""
    looking = {seat: _trajectory(ended, seat, kept) for seat, kept in enumerate(steps) if kept is not None}
    if any([agents[seat].pace is Pace.AWAITS for seat in looking]):
        return dict(
            zip(looking, await together([referee.reflect(agents[s], look) for s, look in looking.items()]), strict=True)
        )
    found: dict[int, Reflection | Fault | None] = {}
    for seat, trajectory in looking.items():
        found[seat] = await referee.reflect(agents[seat], trajectory)
        if isinstance(found[seat], Fault):
            break
    return found


def _trajectory(ended: Ended, seat: int, steps: Sequence[Step]) -> Trajectory:
    record = ended.record
    return Trajectory(
        record.episode,
        seat,
        steps,
        record.returns[seat],
        record.success[seat],
        record.termination,
        at_fault=record.offender == seat,
        final=ended.state.observe(seat),
        drawn=not any(record.success),
    )


def forfeit_rest(match: Match, game: Game, told: Told, agent: int, fault: Fault) -> MatchResult:
    """The result when an agent is gone: it forfeits the episode in progress and all that were left.

    Where the last episode told does not hold the fault already, the first one forfeited does.
    """
    kept, turns = list(told.episodes), told.turns
    held = bool(kept) and kept[-1].termination is fault.termination
    for number in range(len(kept) + 1, match.rules.episodes + 1):
        plan = plan_episode(match, game, number)
        why = Fault(Termination.FORFEITED, fault.why) if held else fault
        played = Played([seat for seat, _ in turns], [action for _, action in turns], [])
        kept.append(forfeit(game.spec, plan, played, plan.order.index(agent), why))
        held, turns = True, []
    return result(match, game, kept, told.reflections)


def result(
    match: Match, game: Game, episodes: Sequence[EpisodeRecord], reflections: Sequence[ReflectionRecord] = ()
) -> MatchResult:
    """Sum up the episodes of a match by agent."""
    count = len(match.names)
    if not game.spec.task and len(episodes) == 1 and episodes[0].offender is None and not episodes[0].notes:
        means = episodes[0].returns
        return MatchResult(match, episodes, means, places(means), (0,) * count, reflections)
    totals = [0.0] * count
    faults = [0] * count
    for record in episodes:
        for seat, agent in enumerate(record.order):
            totals[agent] += record.returns[seat]
        for note in record.notes:
            if note.fault is not None:
                faults[record.order[note.seat]] += 1
    means = tuple([total / len(episodes) for total in totals])
    last = episodes[-1]
    final = tuple([last.returns[last.order.index(agent)] for agent in range(count)])
    ranked = places(final if match.rules.score_by == "last" else means)
    if game.spec.task:
        solved = [record.success[0] for record in (episodes[-1:] if match.rules.score_by == "last" else episodes)]
        ranked = places((sum(solved), len(solved) - sum(solved)))
        faults.append(0)
    return MatchResult(match, episodes, means, ranked, tuple(faults), reflections)


def places(values: Sequence[float]) -> tuple[int, ...]:
    """Rank values from the highest, 0 first; values within TIE of the next higher one share its place."""
    if len(values) == 2:
        gap = values[0] - values[1]
        if -TIE < gap < TIE:
            return (0, 0)
        return (0, 1) if gap > 0 else (1, 0)
    order = sorted(range(len(values)), key=lambda index: -values[index])
    ranked = [0] * len(values)
    for rank, index in enumerate(order[1:], start=1):
        before = order[rank - 1]
        ranked[index] = ranked[before] if values[before] - values[index] < TIE else rank
    return tuple(ranked)
