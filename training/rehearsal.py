"""A recorded match played again by the arena's own code: in some seats a language agent says what was played there."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.agent import Agent, Decision, Pace, Setup
from agents.generation import Generation
from agents.language import Language
from agents.manners import source_of
from agents.models.chat import Chat
from agents.models.model import ContextOverflow, Message, Model, Sampling, Score, Scores
from agents.models.pool import Models
from agents.models.trie import Trie
from agents.parsing import CLOSE, OPEN
from agents.registry import Recipe
from arena.episode import EpisodeRecord
from arena.match import Match, MatchResult, ReflectionRecord, play_match
from arena.referee import Fault, FaultError, Note
from arena.rules import MatchRules
from games import registry
from games.game import Action, Game, Observation, Termination
from league.store.rows import EpisodeRow, MatchRecord

if TYPE_CHECKING:
    from agents.models.sampling import Vocabulary

OTHER_DEALS, ASTRAY = "other deals", "does not follow"
"""Why a match cannot be played again: its game deals otherwise now, or the same actions lead elsewhere."""


class StrayedError(Exception):
    """A match cannot be played again as it was; the message is the reason."""


class Pupil(NamedTuple):
    """The language agent that is seated."""

    params: Mapping[str, Any]
    """All parameters of the agent `llm`."""
    chat: Chat
    vocabulary: "Vocabulary"
    context: int | None
    """Tokens of prompt and answer together that fit into its model; None for no limit."""


async def rehearse(record: MatchRecord, pupil: Pupil, places: Collection[int], episodes: int | None) -> MatchResult:
    """Play a match again with the pupil in the place of some agents, by their number in the match.

    `episodes` is how many were planned, None for those that were played. Raises StrayedError where the match does not
    come out as it was, else as `play_match` does.
    """
    game = registry.make(record.match.game)
    match = _match(record, game, episodes)
    script = _Script(record, match.names)

    async def make(recipe: Recipe, setup: Setup) -> Agent:
        line = partial(script.line, setup.seat)
        if setup.seat not in places:
            return _Puppet(setup, line)
        models = Models()
        models.put(source_of(pupil.params), _StandIn(pupil, line))
        return Language(setup._replace(models=models), **pupil.params)

    recipes = [
        Recipe(name, "llm", Language, pupil.params) if place in places else Recipe(name, name, _Puppet, {})
        for place, name in enumerate(match.names)
    ]
    result = await play_match(match, game, recipes, listener=script, make=make)
    if len(result.episodes) != len(record.episodes):
        raise StrayedError(ASTRAY)
    return result


def _match(record: MatchRecord, game: Game, episodes: int | None) -> Match:
    """The match of a record, its rules as far as they change what agents see. Raises StrayedError for other deals."""
    row, rows = record.match, record.episodes
    names = tuple(row.agents[: game.spec.seats])
    same = all([one.seed == game.deal(row.seed, 1) for one in rows])
    if not same and any([one.seed != game.deal(row.seed, one.episode) for one in rows]):
        raise StrayedError(OTHER_DEALS)
    cut = [len(one.actions) for one in rows if one.termination == Termination.MAX_TURNS.value]
    planned = len(rows) if episodes is None else max(episodes, len(rows))
    rules = MatchRules(
        episodes=planned,
        deals="same" if same else "fresh",
        seats="rotate" if any([one.seats != rows[0].seats for one in rows]) else "fixed",
        stop_on_win=planned > len(rows),
        max_turns=min(cut, default=None),
    )
    where = (row.match_id, row.tournament, row.game, row.round, row.pair, row.replica, row.seed)
    return Match(*where, names, names, tuple(row.fingerprints), rules)


class _Script:
    """What was played in a match, line by line; as its listener it holds each episode against the record."""

    def __init__(self, record: MatchRecord, names: Sequence[str]) -> None:
        self._rows = record.episodes
        self._noted = record.turns
        self._names = names
        self._open(0)

    def line(self, agent: int) -> Action:
        """What an agent played next. Raises FaultError where nothing more is known of it, with its own fault if any."""
        if self._place < len(self._rows):
            row = self._rows[self._place]
            seat = row.seats.index(self._names[agent])
            if (action := next(self._lines[seat], None)) is not None:
                return action
            if row.offender == seat:
                raise FaultError(Fault(Termination(row.termination), "as it is recorded"))
        raise FaultError(Fault(Termination.CRASHED, "the record ends here"))

    def episode(self, record: EpisodeRecord) -> None:
        """Go on to the next episode. Raises StrayedError where this one did not come out as it is recorded."""
        if self._place >= len(self._rows) or self._told(record) != _told(self._rows[self._place]):
            raise StrayedError(ASTRAY)
        self._open(self._place + 1)

    def note(self, note: Note) -> None:
        """Notes are read from the result."""

    def turn(self, seat: int, action: Action) -> None:
        """Turns are looked at when the episode is over."""

    def reflection(self, record: ReflectionRecord) -> None:
        """Nobody reflects."""

    def _open(self, place: int) -> None:
        self._place = place
        self._lines: Mapping[int, Iterator[Action]] = {}
        if place < len(self._rows):
            row = self._rows[place]
            turns = [*zip(row.turn_seats, row.actions, strict=True), *self._in_vain(row)]
            self._lines = {
                seat: iter([action for mover, action in turns if mover == seat]) for seat in range(len(row.seats))
            }

    def _in_vain(self, row: EpisodeRow) -> list[tuple[int, Action]]:
        """Seat and action of decisions that came to nothing, since another seat's fault ended the episode just then."""
        noted = [one for one in self._noted if one.episode == row.episode and one.turn >= len(row.actions)]
        return [(one.seat, one.action) for one in noted if one.action is not None]

    def _told(self, record: EpisodeRecord) -> tuple[object, ...]:
        seats = [self._names[agent] for agent in record.order]
        ended = (list(record.returns), list(record.success), record.termination.value, record.offender)
        return (record.episode, record.seed, seats, record.turn_seats, record.actions, *ended)


def _told(row: EpisodeRow) -> tuple[object, ...]:
    ended = (row.returns, row.success, row.termination, row.offender)
    return (row.episode, row.seed, row.seats, row.turn_seats, row.actions, *ended)


class _Puppet(Agent):
    """Plays what was played."""

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, line: Callable[[], Action]) -> None:
        super().__init__(setup)
        self._line = line

    async def act(self, observation: Observation) -> Decision:
        """The next action of the record. Raises FaultError as it was recorded."""
        return Decision(self._line())


class _StandIn(Model):
    """Stands in for the pupil's model: it reads the prompt as that would, and answers with what was played."""

    name = "record"

    def __init__(self, pupil: Pupil, line: Callable[[], Action]) -> None:
        self._chat = pupil.chat
        self._vocabulary = pupil.vocabulary
        self._context = pupil.context
        self._line = line

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Answer with the next action, after no thought where one is asked for first: see Model."""
        ids, most = self._chat.prompt_ids(prompt), sampling.max_tokens
        if choices and self._context is not None:
            most = Trie({text: self._chat.text_ids(text) for text in choices}, self._vocabulary.end).longest
        self._fit(len(ids) + most)
        if sampling.stop:
            return Generation(self.name, "", ids, [])
        raw = f"{OPEN}{self._line()}{CLOSE}"
        return Generation(self.name, raw, ids, self._ended(self._chat.text_ids(raw)))

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Find no answer likely but the next action: see Model."""
        ids, answers = self._chat.prompt_ids(prompt), [self._chat.text_ids(text) for text in choices]
        self._fit(len(ids) + max(map(len, answers), default=0))
        raw = f"{OPEN}{self._line()}{CLOSE}"
        scores = [
            Score(self._ended(answer), [0.0 if text == raw else _NEVER])
            for text, answer in zip(choices, answers, strict=True)
        ]
        return Scores(scores, ids, 0.0)

    def _ended(self, ids: list[int]) -> list[int]:
        """An answer with the token that ends it."""
        return ids if ids[-1] in self._vocabulary.ends else [*ids, self._vocabulary.end]

    def _fit(self, needed: int) -> None:
        if self._context is not None and needed > self._context:
            raise ContextOverflow(needed, self._context)


_NEVER = -1e30
"""A log-likelihood of which the weight is 0 at any temperature."""
