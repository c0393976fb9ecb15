"""Load the OpenSpiel game that a game string names, whatever OpenSpiel does with wrong parameters."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyspiel

from games.spec import Spec, SpecError
from games.spiel import SpielGame
from games.spiel_facts import ABORTS
from games.spiel_recipe import Recipe, kinds, parameters, read

_Kind = pyspiel.GameType
_REFUSALS = (RuntimeError, TypeError, ValueError, LookupError, MemoryError)
_MISSING = re.compile(r"Missing parameter (\w+)")
TRIAL_SECONDS = 20
"""How long a child process may take to begin a game whose wrong parameters could hang or end this one."""
_TRIAL = """
import contextlib, json, resource, sys, pyspiel
with contextlib.suppress(ValueError, OSError):  # some systems know no such limit
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
state = pyspiel.load_game(*json.loads(sys.argv[1])).new_initial_state()
for _ in range(60):
    if state.is_terminal():
        break
    if state.is_simultaneous_node():
        legal = [state.legal_actions(seat) or [0] for seat in range(state.num_players())]
        state.apply_actions([actions[0] for actions in legal])
    else:
        state.apply_action(state.legal_actions()[0])
str(state)
"""


def load(spec: Spec) -> SpielGame:
    """Load an OpenSpiel game by its short name and parameters. Raises SpecError for what it does not know."""
    recipe = read(spec)
    if recipe.canonical != recipe.name and not ABORTS.isdisjoint(recipe.names()):
        _try_elsewhere(recipe)
    game = _loaded(recipe)
    why = _unplayable(recipe, game)
    if why is not None:
        raise SpecError(f"game {recipe.canonical!r} cannot be played here: {why}")
    return SpielGame(recipe, game)


def _loaded(recipe: Recipe) -> Any:
    if "filename" in parameters(recipe.name) and "filename" not in recipe.params:
        raise SpecError(f"game {recipe.name!r} needs the parameter 'filename'")
    try:
        with _native_stderr_closed():
            return recipe.load()
    except _REFUSALS as error:
        missing = _MISSING.search(str(error))
        if missing:
            raise SpecError(f"game {recipe.canonical!r} needs the parameter {missing[1]!r}") from error
        raise SpecError(f"OpenSpiel refuses {recipe.canonical!r}: {_one_line(str(error))}") from error


def _try_elsewhere(recipe: Recipe) -> None:
    """Load and begin a game in a child process first. Raises SpecError where that fails, crashes or hangs."""
    command = [sys.executable, "-c", _TRIAL, json.dumps([recipe.name, recipe.params])]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TRIAL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SpecError(f"OpenSpiel cannot begin {recipe.canonical!r} within {TRIAL_SECONDS} seconds") from None
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
    if kinds()[recipe.name].default_loadable:
        return None
    try:
        with _native_stderr_closed():
            start = game.new_initial_state()
            start.returns()
    except _REFUSALS as error:
        return _one_line(str(error))
    if recipe.name == "coop_to_1p" and start.is_simultaneous_node():
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


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


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
