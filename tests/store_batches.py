"""Rows for tests of the store, in a module of their own, since processes that are killed import it too."""

import warnings
from datetime import datetime

import pyarrow as pa

from arena.record import SCHEMAS
from league.store.registration import Member, Tournament, tables
from league.store.store import Store

RULES = '{"episodes": 1, "deals": "fresh"}'
TOURNAMENT = Tournament("cup", "round_robin", 0, RULES, "{}", "{}")
MEMBERS = (Member("a", "random", "fa"), Member("b", "heuristic", "fb"))
START = datetime(2026, 1, 2, 3, 4, 5, 678901)


def batch(indices, tournament="cup", agents=("a", "b"), places=(0, 1), turns=0, game="tic_tac_toe"):
    """The rows of one match for each index; equal indices give equal rows."""
    ids = [f"{tournament}-{index:06d}" for index in indices]
    size, seats = len(ids), len(agents)
    common = {"match_id": ids, "tournament": [tournament] * size, "game": [game] * size, "agents": [agents] * size}
    columns = {
        "matches": {
            **common,
            "round": [0] * size,
            "pair": [index // 2 for index in indices],
            "replica": [0] * size,
            "seed": [index * 7 for index in indices],
            "fingerprints": [[f"f{name}" for name in agents]] * size,
            "mean_returns": [[-float(place) for place in places]] * size,
            "places": [places] * size,
            "faults": [[0] * (seats - 1) + [1]] * size,
            "episodes": [1] * size,
        },
        "match_runs": {**common, **run_columns(size, "finished", None)},
        "episodes": {
            "match_id": ids,
            "episode": [1] * size,
            "seed": [index * 7 for index in indices],
            "seats": [agents] * size,
            "turn_seats": [[0, 1]] * size,
            "actions": [["x(1,1)", "o(0,0)"]] * size,
            "returns": [[-float(place) for place in places]] * size,
            "success": [[place == 0 for place in places]] * size,
            "termination": ["natural"] * size,
            "offender": [None] * size,
            "trajectory_hash": [f"h{index % 3}" for index in indices],
        },
        "turns": {
            "match_id": [match for match in ids for _ in range(turns)],
            "episode": [1] * size * turns,
            "turn": [turn for _ in ids for turn in range(turns)],
            "seat": [0] * size * turns,
            "attempt": [0] * size * turns,
            "raw": ["I play the centre"] * size * turns,
        },
        "reflections": {
            "match_id": ids,
            "episode": [1] * size,
            "seat": [0] * size,
            "agent": [agents[0]] * size,
            "text": ["Take the centre"] * size,
        },
        "generations": generation_columns(ids, turns),
    }
    return {name: arrow(name, values) for name, values in columns.items()}


def generation_columns(ids, turns):
    """One answer for each turn, and one for the reflection that follows."""
    size, each = len(ids), turns + 1
    return {
        "match_id": [match for match in ids for _ in range(each)],
        "episode": [1] * size * each,
        "turn": [turn for _ in ids for turn in [*range(turns), None]],
        "seat": [0] * size * each,
        "attempt": [0] * size * each,
        "phase": [*["play"] * turns, "reflect"] * size,
        "number": [0] * size * each,
        "model": ["small"] * size * each,
        "raw": ["I play the centre"] * size * each,
        "prompt_ids": [[1, 2, 2**31 - 1]] * size * each,
        "completion_ids": [[3, 4]] * size * each,
        "logprobs": [[-0.5, -1.25]] * size * each,
        "finish_reason": ["stop"] * size * each,
        "sampling": ['{"temperature": 1.0}'] * size * each,
        "constrained": [False] * size * each,
        "prompt_tokens": [3] * size * each,
        "completion_tokens": [2] * size * each,
        "seconds": [0.5] * size * each,
        "price": [None] * size * each,
        "prompt": [None] * size * each,
        "notes": ["{}"] * size * each,
    }


def run_columns(size, status, reason, attempt=0):
    return {
        "attempt": [attempt] * size,
        "status": [status] * size,
        "reason": [reason] * size,
        "worker": [0] * size,
        "started": [START] * size,
        "seconds": [0.5] * size,
    }


def arrow(name, values):
    schema = SCHEMAS[name]
    return pa.table({column: pa.array(rows, schema.field(column).type) for column, rows in values.items()})


def void_run(index, attempt=0):
    columns = {
        "match_id": [f"cup-{index:06d}"],
        "tournament": ["cup"],
        "game": ["tic_tac_toe"],
        "agents": [["a", "b"]],
        **run_columns(1, "void", "the provider is down", attempt),
    }
    return {"match_runs": arrow("match_runs", columns)}


def registered():
    """What a spilled batch brings with it."""
    return tables([(TOURNAMENT, MEMBERS)])


def write_many(begun, path, writes):
    """A process's work: commit one batch after another, indices in order."""
    warnings.simplefilter("ignore")
    store = Store(path)
    begun.set()
    for indices in writes:
        store.write(batch(indices, turns=1))


def make(begun, path):
    """A process's work: make a store."""
    begun.set()
    Store(path).ensure()
