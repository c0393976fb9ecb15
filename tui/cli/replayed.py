"""A recorded match for a person: its boards, and what language agents were asked, said and told themselves."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from games.errors import UserError
from tui.cli.output import outcome, print_text, safe
from tui.cli.words import INDENT, Said, print_said, shortened

if TYPE_CHECKING:
    from agents.generation import Generation
    from league.store.rows import EpisodeRow, GenerationRow, MatchRecord, TurnRow

Reader: TypeAlias = Callable[[Sequence[int]], str]


class Replayed:
    """Prints the episodes of a match.

    `full` shows all words; `specs`, of the match's agents by name, says that prompts are shown and what models read.
    """

    def __init__(self, record: "MatchRecord", full: bool, specs: Mapping[str, str] | None) -> None:
        self._record = record
        self._full = full
        self._specs = specs
        self._readers: dict[str, Reader | str] = {}

    def show(self, row: "EpisodeRow") -> None:
        """Print the boards of one episode, what was said on the way, how it ended, and reflections on it."""
        from arena.replay import replay as states
        from games import registry

        said: dict[int, list[TurnRow]] = defaultdict(list)
        for turn in self._record.turns:
            if turn.episode == row.episode:
                said[turn.turn].append(turn)
        print(safe(f"\nepisode {row.episode}, seed {row.seed}: {', '.join(row.seats)}\n"))
        shown = 0
        game = registry.make(self._record.match.game)
        for played, state in states(game, row.seed, row.turn_seats, row.actions):
            for number in range(shown, played):
                self._say(row, said[number])
                print(safe(f"{number + 1}. {row.seats[row.turn_seats[number]]}: {row.actions[number]}"))
            shown = played
            print(safe(state.board()), end="\n\n")
        self._say(row, said[shown])
        solved = row.success[0] if game.spec.task else None
        blame = "" if row.offender is None else f" by {row.seats[row.offender]}"
        print(safe(f"{row.termination}{blame}: {outcome(row.seats, row.returns, solved)}"))
        self._reflections(row)

    def _say(self, row: "EpisodeRow", turns: "list[TurnRow]") -> None:
        """Print what came with the decisions of a turn."""
        for turn in turns:
            name = row.seats[turn.seat]
            answers = self._answers(row.episode, turn.turn, turn.seat, turn.attempt)
            self._prompts(name, answers)
            if answers or turn.fault:
                print_said(Said(name, turn.raw, turn.fault, [answer.said for answer in answers]), self._full)
            elif turn.raw is not None:
                print(safe(f"{name} says: {turn.raw if self._full else shortened(turn.raw)}"))

    def _reflections(self, row: "EpisodeRow") -> None:
        """Print what agents told themselves after an episode."""
        for reflection in self._record.reflections:
            if reflection.episode == row.episode:
                answers = self._answers(row.episode, None, reflection.seat, 0)
                self._prompts(reflection.agent, answers)
                print(safe(f"\n{reflection.agent} reflects:"))
                print_text((reflection.text if self._full else shortened(reflection.text)) or "(nothing)", INDENT)

    def _answers(self, episode: int, turn: int | None, seat: int, attempt: int) -> "list[GenerationRow]":
        """What models answered for one decision or reflection."""
        place = (episode, turn, seat, attempt)
        return [row for row in self._record.generations if (row.episode, row.turn, row.seat, row.attempt) == place]

    def _prompts(self, name: str, answers: "list[GenerationRow]") -> None:
        if self._specs is not None:
            for answer in answers:
                print(safe(f"{name} is asked ({answer.said.prompt_tokens:,} tokens):"))
                print_text(self._prompt(name, answer.said), INDENT)

    def _prompt(self, name: str, said: "Generation") -> str:
        """A prompt as text: the messages where they are kept, else the tokens as the model's tokenizer reads them."""
        if said.prompt is not None:
            return _messages(said.prompt)
        if said.prompt_ids is None:
            return "(the prompt is not kept)"
        if name not in self._readers:
            self._readers[name] = self._reader(name)
        reader = self._readers[name]
        return f"(only its token ids are kept: {reader})" if isinstance(reader, str) else reader(said.prompt_ids)

    def _reader(self, name: str) -> "Reader | str":
        """What reads the tokens of an agent's model, or why that is not possible."""
        from agents.language import Language
        from agents.manners import source_of
        from agents.models.reading import reader
        from agents.registry import recipe

        place = self._record.match.agents.index(name)
        try:
            made = recipe((self._specs or {})[name])
            if not issubclass(made.agent, Language):
                return "the agent is of another package"
            if made.fingerprint != self._record.match.fingerprints[place]:
                return "the agent's model, prompts or parser have changed since"
            return reader(source_of(made.params))
        except (UserError, KeyError) as error:
            return str(error)


def _messages(prompt: str) -> str:
    """Messages as text: what is not as it should be is shown as it is."""
    messages = json.loads(prompt)
    if not isinstance(messages, list) or not all([isinstance(message, dict) for message in messages]):
        return prompt
    return "\n".join([f"[{message.get('role')}]\n{message.get('content')}" for message in messages])
