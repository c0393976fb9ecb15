"""`arena play`: one match, shown as it is played."""

import secrets
from typing import TYPE_CHECKING, Any

import click

from arena.rules import MatchRules
from games.errors import RunError
from tui.cli.options import field_options, given, json_option, store_option
from tui.cli.output import narrate, print_json, safe

if TYPE_CHECKING:
    from arena.episode import EpisodeRecord
    from arena.match import Match, MatchResult, ReflectionRecord
    from arena.referee import Note
    from games.game import Game


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@field_options(MatchRules)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the match.  [default: a fresh one]")
@store_option
@json_option
def play(game: str, agents: tuple[str, ...], seed: int | None, store: str, as_json: bool, **flags: Any) -> None:
    """Play one match of GAME between agents, by seat; `human` is you.

    \b
        arena play tic_tac_toe human minimax
        arena play kuhn_poker "kuhn(style=aggressive)" "cfr(iterations=1000)" --episodes 3
    """
    import asyncio

    from arena.match import VoidMatchError, play_match
    from arena.record import utc_now
    from games import registry
    from league.config import rules_of
    from league.single import keep, prepare, register
    from league.store.store import Store

    rules = rules_of(given(flags))
    loaded = registry.make(game)
    match, recipes = prepare(loaded, agents, secrets.randbelow(2**63) if seed is None else seed, rules)
    kept = Store(store, notify=narrate)
    register(kept, match)
    shown = None
    if not as_json:
        narrate(f"{loaded.spec.title}: {' against '.join(match.names)}, seed {match.seed}")
        shown = _Shown(match, loaded, boards=not any(recipe.agent.interactive for recipe in recipes))
    started = utc_now()
    try:
        result = asyncio.run(play_match(match, loaded, recipes, listener=shown))
    except VoidMatchError as error:
        raise RunError(f"the match is void and not recorded: {error}") from error
    keep(kept, result, started)
    if as_json:
        print_json(result_json(result))
    else:
        _conclude(result, shown.told if shown else 0)


class _Shown:
    """Prints a match while it is played. With a person at the table boards stay hidden until an episode is over."""

    def __init__(self, match: "Match", game: "Game", boards: bool) -> None:
        self._match = match
        self._game = game
        self._boards = boards
        self.told = 0
        """Episodes that were shown."""
        self._begin()

    def note(self, note: "Note") -> None:
        return

    def turn(self, seat: int, action: str) -> None:
        moved = self._follower.turn(seat, action)
        if not self._boards:
            return
        print(safe(f"{self._name(seat)}: {action}"))
        if moved:
            print(safe(self._follower.state.board()), end="\n\n")

    def episode(self, record: "EpisodeRecord") -> None:
        if not self._boards:
            print(safe(self._follower.state.board()))
        self.told += 1
        print_ending(self._match, record)
        if record.episode < self._match.rules.episodes:
            self._begin()

    def reflection(self, record: "ReflectionRecord") -> None:
        if self._boards:
            print(safe(f"{self._match.names[record.agent]} reflects: {record.text}"), end="\n\n")

    def _begin(self) -> None:
        from arena.match import plan_episode
        from arena.replay import Follower

        self._plan = plan_episode(self._match, self.told + 1)
        self._follower = Follower(self._game, self._plan.seed)
        if self._boards:
            print(safe(self._follower.state.board()), end="\n\n")

    def _name(self, seat: int) -> str:
        return self._match.names[self._plan.order[seat]]


def print_ending(match: "Match", record: "EpisodeRecord") -> None:
    """Print what was at fault in an episode, how it ended, and the returns."""
    names = [match.names[agent] for agent in record.order]
    for note in record.notes:
        if note.fault is not None:
            print(safe(f"{names[note.seat]}: {note.fault.value}: {note.raw}"))
    returns = ", ".join(f"{name} {value:+g}" for name, value in zip(names, record.returns, strict=True))
    print(safe(f"episode {record.episode}: {record.termination.value}: {returns}"), end="\n\n")


def _conclude(result: "MatchResult", told: int) -> None:
    """Print the episodes that nobody played, and who won."""
    for record in result.episodes[told:]:
        print_ending(result.match, record)
    names = result.match.names
    winners = [name for name, place in zip(names, result.places, strict=True) if place == 0]
    means = ", ".join(f"{name} {mean:+g}" for name, mean in zip(names, result.mean_returns, strict=True))
    verdict = f"{winners[0]} wins" if len(winners) == 1 else f"a draw between {' and '.join(winners)}"
    print(safe(f"{verdict} ({means}); match {result.match.match_id}"))


def result_json(result: "MatchResult") -> dict[str, Any]:
    """A match as the documented JSON object."""
    match = result.match
    return {
        "match_id": match.match_id,
        "game": match.game,
        "agents": list(match.names),
        "seed": match.seed,
        "episodes": [
            {
                "seed": record.seed,
                "seats": [match.names[agent] for agent in record.order],
                "turn_seats": record.turn_seats,
                "actions": record.actions,
                "returns": list(record.returns),
                "success": list(record.success),
                "termination": record.termination.value,
                "offender": record.offender,
            }
            for record in result.episodes
        ],
        "mean_returns": list(result.mean_returns),
    }
