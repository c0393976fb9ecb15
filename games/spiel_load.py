"""Load the OpenSpiel game that a game string names, whatever OpenSpiel does with wrong parameters."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyspiel

from games.spec import Spec, SpecError
from games.spiel import SpielGame
from games.spiel_facts import ABORTS
from games.spiel_recipe import Recipe, kinds, parameters, read
from games.spiel_trial import fault

_Kind = pyspiel.GameType
_REFUSALS = (RuntimeError, TypeError, ValueError, ArithmeticError, LookupError, MemoryError)
_MISSING = re.compile(r"Missing parameter (\w+)")
_SOURCE = re.compile(r"(?:OpenSpiel exception: |Spiel Fatal Error: )?\S*/open_spiel/\S+?:\d+:?\s+")
"""Where OpenSpiel's message comes from in its own source, which helps no player."""
ORDINARY = 20
"""Numbers from 0 to this are tried in this process, unless the game is known to end it."""
TRIAL_SECONDS = 4
"""Processor time that a child process may take to begin a game whose wrong parameters could hang or end this one."""
PATIENCE = 5
"""How many times as long it may take by the clock, since other processes want the processor too."""
MEMORY = 2**32
"""Bytes of address space that the child process may take."""
_REFUSED = 3
_CHILD = """
import json, sys
task, sys.path[:] = json.loads(sys.argv[1])
from games.spiel_load import try_here
try_here(*task)
"""


def load(spec: Spec) -> SpielGame:
    """Load an OpenSpiel game by its short name and parameters, and play its beginning where parameters are given.

    Raises SpecError for what OpenSpiel does not know, refuses or cannot play.
    """
    recipe = read(spec)
    if not recipe.is_plain() and (not ABORTS.isdisjoint(recipe.names()) or _out_of_the_ordinary(recipe)):
        _try_elsewhere(recipe)
    with _native_stderr_closed():
        return _load_here(recipe)


def try_here(recipe: list[Any], seconds: int, memory: int) -> None:
    """Load a game within limits of time and memory. For a process of its own: a refusal is printed and ends it."""
    with suppress(ValueError, OSError):  # some systems know no such limits
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        _load_here(Recipe(*recipe))
    except SpecError as error:
        print(error)
        sys.exit(_REFUSED)


def _load_here(recipe: Recipe) -> SpielGame:
    """Load a game in this process, come what may."""
    if "filename" in parameters(recipe.name) and "filename" not in recipe.params:
        raise SpecError(f"game {recipe.name!r} needs the parameter 'filename'")
    try:
        spiel = recipe.load()
        why = _unplayable(recipe, spiel)
        if why is None:
            game = SpielGame(recipe, spiel)
            why = None if recipe.is_plain() else fault(game)
    except _REFUSALS as error:
        missing = _MISSING.search(str(error))
        if missing:
            raise SpecError(f"game {recipe.canonical!r} needs the parameter {missing[1]!r}") from error
        raise SpecError(f"OpenSpiel refuses {recipe.canonical!r}: {_told(error)}") from error
    if why is not None:
        raise SpecError(f"game {recipe.canonical!r} cannot be played here: {why}")
    return game


def _out_of_the_ordinary(recipe: Recipe) -> bool:
    """Whether a number among the parameters is so small or large that the game may take all time or memory."""
    return any([type(value) is int and not 0 <= value <= ORDINARY for value in recipe.values()])


def _try_elsewhere(recipe: Recipe) -> None:
    """Try a game in a child process. Raises SpecError where it is refused, crashes or takes too much time or memory."""
    task = json.dumps([[recipe, TRIAL_SECONDS, MEMORY], sys.path])
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, task],
            capture_output=True, text=True, errors="replace", timeout=PATIENCE * TRIAL_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SpecError(f"OpenSpiel cannot begin {recipe.canonical!r} within {TRIAL_SECONDS} seconds") from None
    if done.returncode == _REFUSED:
        raise SpecError(done.stdout.strip())
    if done.returncode == -signal.SIGXCPU:
        raise SpecError(f"OpenSpiel cannot begin {recipe.canonical!r} within {TRIAL_SECONDS} seconds")
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["it crashes"]
        raise SpecError(f"OpenSpiel refuses {recipe.canonical!r}: {_one_line(said[-1])}")


def _unplayable(recipe: Recipe, game: Any) -> str | None:
    """Why a game that loads still cannot be played, or None."""
    kind = game.get_type()
    if kind.dynamics == _Kind.Dynamics.MEAN_FIELD:
        return "mean-field: one representative of a population, not seats"
    if kind.chance_mode == _Kind.ChanceMode.SAMPLED_STOCHASTIC:
        if not recipe.takes_seed():
            return "it draws chance by itself and takes no seed, so that an episode cannot be played again"
        if kind.short_name not in kinds():
            return "it wraps a game that draws chance by itself"
    if recipe.name == "coop_to_1p" and game.new_initial_state().is_simultaneous_node():
        return "it wraps games in which seats move one at a time"
    return _unreachable(recipe) if recipe.name == "start_at" else None


def _unreachable(recipe: Recipe) -> str | None:
    """Why the history that a game is to start at cannot be played, or None: OpenSpiel does not look."""
    inner = dict(recipe.params["game"])
    spot = pyspiel.load_game(inner.pop("name"), inner).new_initial_state()
    for number in filter(None, recipe.params["history"].split(";")):
        if spot.is_terminal() or spot.is_simultaneous_node() or int(number) not in spot.legal_actions():
            return f"its history cannot be played from {number} on"
        spot.apply_action(int(number))
    return "its history leaves nothing to play" if spot.is_terminal() else None


def _told(error: BaseException) -> str:
    """What an error of OpenSpiel says, in one line."""
    if isinstance(error, MemoryError):
        return "it takes too much memory"
    if isinstance(error, UnicodeDecodeError):
        return "what it shows is not text"
    return _one_line(str(error)) or type(error).__name__


def _one_line(text: str) -> str:
    return " ".join(_SOURCE.sub("", text).split())[:300]


@contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """OpenSpiel prints each error to the process's stderr before it raises it: send that print nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
