"""A match as a person sees it while it is played: boards, moves, and what language agents say."""

from typing import TYPE_CHECKING

from tui.cli.output import outcome, print_text, safe
from tui.cli.words import INDENT, Said, print_said, shortened

if TYPE_CHECKING:
    from arena.episode import EpisodeRecord
    from arena.match import Match, MatchResult, ReflectionRecord
    from arena.referee import Note
    from games.game import Game


class Shown:
    """Prints a match while it is played.

    With a person at the table nothing is printed that they must not know: boards stay hidden until an episode is over
    (the person is shown their own view), and where seats hide something, so do the words of language agents.
    """

    def __init__(self, match: "Match", game: "Game", person: bool) -> None:
        from games.game import Dynamics, Information

        spec = game.spec
        self._match = match
        self._game = game
        self._boards = not person
        self._open = spec.information is Information.PERFECT and spec.dynamics is Dynamics.SEQUENTIAL
        self._told = 0
        self._notes: list[Note] = []
        self._reflections: list[ReflectionRecord] = []
        self._begun = 0

    def note(self, note: "Note") -> None:
        """Print what was said; see Listener."""
        self._begin()
        if self._boards or self._open:
            self._print_note(note)

    def turn(self, seat: int, action: str) -> None:
        """Print a move and the board after it; see Listener."""
        self._begin()
        moved = self._follower.turn(seat, action)
        if not self._boards:
            return
        print(safe(f"{self._name(seat)}: {action}"))
        if moved:
            print(safe(self._follower.state.board()), end="\n\n")

    def episode(self, record: "EpisodeRecord") -> None:
        """Print how an episode ended, and what was held back until then; see Listener."""
        self._begin()
        if not self._boards:
            print(safe(self._follower.state.board()))
        self._conclude_episode(record)

    def reflection(self, record: "ReflectionRecord") -> None:
        """Print what an agent told itself, or hold it back until the match is over; see Listener."""
        if self._boards or self._open:
            self._print_reflection(record)
        else:
            self._reflections.append(record)

    def conclude(self, result: "MatchResult") -> None:
        """Print what is left: episodes that nobody played, and what agents told themselves in secret."""
        for record in result.episodes[self._told :]:
            self._conclude_episode(record)
        for reflection in self._reflections:
            self._print_reflection(reflection)

    def _begin(self) -> None:
        """Print the first board of the episode in progress, unless that is done."""
        if self._begun > self._told:
            return
        from arena.match import plan_episode
        from arena.replay import Follower

        self._begun = self._told + 1
        self._plan = plan_episode(self._match, self._game, self._begun)
        self._follower = Follower(self._game, self._plan.seed)
        self._notes = []
        if self._boards:
            print(safe(self._follower.state.board()), end="\n\n")

    def _conclude_episode(self, record: "EpisodeRecord") -> None:
        """Print the words and faults of an episode that were not printed yet, how it ended, and the returns."""
        self._told += 1
        names = [self._match.names[agent] for agent in record.order]
        for note in record.notes:
            if not any([note is heard for heard in self._notes]):
                self._print_note(note, names)
        told = outcome(names, record.returns, record.success[0] if self._game.spec.task else None)
        print(safe(f"episode {record.episode}: {record.termination.value}: {told}"), end="\n\n")

    def _print_note(self, note: "Note", names: list[str] | None = None) -> None:
        self._notes.append(note)
        name = names[note.seat] if names else self._name(note.seat)
        print_said(Said(name, note.raw, note.fault.value if note.fault else None, note.generations))

    def _print_reflection(self, record: "ReflectionRecord") -> None:
        print(safe(f"{self._match.names[record.agent]} reflects:"))
        print_text(shortened(record.text) or "(nothing)", INDENT)
        print()

    def _name(self, seat: int) -> str:
        return self._match.names[self._plan.order[seat]]
