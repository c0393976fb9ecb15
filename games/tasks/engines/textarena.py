"""The games for one player of the package textarena."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from pydantic import Field

from games.errors import UserError
from games.foreign import foreign_code, need
from games.game import Action
from games.generators import EpisodeGenerators
from games.spec import Spec, SpecError, near
from games.tasks.engine import Engine, EngineTask, Moment
from games.tasks.engines.textarena_moves import MOVES, PASS, listed
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import task_spec
from games.text.zoo import UNKNOWN_BOUND

TURNS = 200
"""Turns where the environment sets no limit."""
_LINES = 40
"""Lines of what happened that are told, at most."""
_LOOKED_AT = 8
_ASK_A_MODEL = {"GuessWho", "TwentyQuestions"}
"""Games that a language model on a server takes part in."""


class TextArenaParameters(Parameters):
    """What `textarena(...)` takes."""

    id: str = Field("FrozenLake-v0-random", description="Id of an environment, such as Wordle-v0.")
    turns: int = Field(0, ge=0, le=1_000_000, description="Turns of an episode; 0 for twice the environment's own.")
    success: float = Field(1.0, allow_inf_nan=False, description="Return from which an episode counts as solved.")


class TextArena(EngineTask):
    """One environment."""

    free = True

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        need("textarena", "textarena")
        self.given = given = read(spec, TextArenaParameters)
        self.instances = given.generated()
        known = _environments()
        if given.id not in known:
            raise SpecError(f"TextArena has no environment {given.id!r}; {near(given.id, known)}")
        self.base = re.sub(r"-v\d.*", "", given.id)
        if self.base in _ASK_A_MODEL:
            raise SpecError(f"environment {given.id} asks a language model on a server, so that it cannot be replayed")
        engine = self.engine()
        with foreign_code(f"environment {given.id} cannot be made", SpecError):
            first = engine.begin(self.instances.first)
        self.turns = given.turns or 2 * (engine.limit() or 0) or TURNS
        moves = MOVES.get(self.base)
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title=f"TextArena, {given.id}",
            rules=_rules(given.id, first.legal, self.turns),
            turns=self.turns,
            returns=moves.returns if moves else (-UNKNOWN_BOUND, UNKNOWN_BOUND),
            perfect=moves.perfect if moves else self._shows_all(),
            chance=self.instances.size > 1,
            terminal_rewards=True,
        )

    def _shows_all(self) -> bool:
        """Whether instances differ at first sight: of a puzzle that is all there is to see."""
        firsts = [self.engine().begin(self.instances.number(seed)).text for seed in range(_LOOKED_AT)]
        return len(set(firsts)) > len(firsts) // 2

    def engine(self) -> "TextArenaEngine":
        return TextArenaEngine(self.given.id, self.base, self.given.success)


class TextArenaEngine(Engine):
    """A new environment for each episode: one that is used again shows what was said before."""

    def __init__(self, name: str, base: str, success: float) -> None:
        self._name, self._base, self._success = name, base, success
        self._env: Any = None
        self._generators = EpisodeGenerators(0)
        self._legal: tuple[Action, ...] = ()
        self._prompt = ""
        self._board = ""
        self._happened: list[str] = []

    def limit(self) -> int | None:
        """Turns that the environment allows, if it says so; a first invalid move does not count there."""
        return self._env.state.max_turns  # type: ignore[no-any-return]

    def begin(self, instance: int) -> Moment:
        import textarena

        self._prompt, self._board, self._happened = "", "", []
        self._generators = EpisodeGenerators(instance)
        with self._generators, _silence():  # some draw when they are made, and print
            try:
                self._env = textarena.make(f"{self._name}-raw")
                self._env.reset(num_players=1, seed=instance)
            except LookupError as error:
                if "NLTK" not in str(error):
                    raise
                needed = f"environment {self._name} needs word lists of NLTK, which could not be downloaded"
                raise UserError(f"{needed}: python -m nltk.downloader words averaged_perceptron_tagger_eng") from None
            self._legal = listed(self._base, self._env)
            self._hear()
        return self._moment(self._legal, 0.0)

    def play(self, action: Action) -> Moment:
        with self._generators, _silence():
            over, _ = self._env.step(action)
            self._hear()
            rewards, facts = self._env.close() if over else (None, {})
        if not over:
            return self._moment(self._legal, 0.0)
        given = (rewards or {}).get(0, 0.0)
        reward = -1.0 if isinstance(given, str) else float(given)  # what an invalid move costs, where they mix it up
        if why := facts.get(0, {}).get("reason"):
            self._happened.append(str(why).strip())
        return self._moment((), reward)

    def _hear(self) -> None:
        """Take down what the environment has said since the last time."""
        _, said = self._env.get_observation()
        for _, words, kind in said:
            if isinstance(kind, str):  # some environments mix up what they pass on
                self._happened.append(f"You: {kind.strip()}")
            elif kind.name == "PROMPT":
                self._prompt = words.strip()
            elif kind.name == "GAME_BOARD":
                self._board = words.strip("\n")
            else:
                self._happened.append(("You: " if kind.name == "PLAYER_ACTION" else "") + words.strip())

    def _moment(self, legal: tuple[Action, ...], reward: float) -> Moment:
        left_out = len(self._happened) - _LINES
        earlier = [f"({left_out} earlier lines are left out.)"] if left_out > 0 else []
        told = "\n".join(filter(None, [self._prompt, *earlier, *self._happened[-_LINES:], self._board]))
        return Moment(told, legal, reward, not legal, not legal and reward >= self._success)


def load(spec: Spec) -> TextArena:
    """Make `textarena(id=..., ...)`. Raises UserError without the extra, SpecError for what cannot be played."""
    return TextArena(spec)


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what an environment prints from the terminal."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


def _environments() -> list[str]:
    with foreign_code("textarena cannot be imported", SpecError):
        from textarena.envs.registration import ENV_REGISTRY
    return sorted([name for name in ENV_REGISTRY if f"{name}-raw" in ENV_REGISTRY])


def _rules(name: str, legal: Sequence[Action], turns: int) -> str:
    what = (
        "Write any line; its words in square brackets are the move."
        if legal == (PASS,)
        else f"A move stands in square brackets, as in {legal[0]}."
    )
    return (
        f"{name}, a game of TextArena for one player, which explains itself. {what} After a move that is not valid try "
        "again; a second one in a row ends the episode. The reward comes at the end, as a rule 1 for full success. "
        f"There are {turns} turns."
    )
