"""Whether a store is sound: what `arena doctor` says of it."""

import os
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from games.errors import RunError, UserError
from league.store import spill
from league.store.store import Store

# Name of what would be wrong -> a query that counts it. A finished match comes with its attempt and its episodes.
_FAULTS = {
    "matches that are there more than once": "SELECT count(*) - count(DISTINCT match_id) AS n FROM matches",
    "matches of a tournament that is not registered": (
        "SELECT count(*) AS n FROM matches ANTI JOIN tournaments USING (tournament)"
    ),
    "matches whose number of episodes is not that of their rows": (
        "SELECT count(*) AS n FROM matches m LEFT JOIN (SELECT match_id, count(DISTINCT episode) AS rows, "
        "count(*) AS all_rows FROM episodes GROUP BY match_id) e USING (match_id) "
        "WHERE coalesce(e.rows, 0) <> m.episodes OR coalesce(e.all_rows, 0) <> m.episodes"
    ),
    "episodes without a match": "SELECT count(*) AS n FROM episodes ANTI JOIN matches USING (match_id)",
    "turns without a match": "SELECT count(*) AS n FROM turns ANTI JOIN matches USING (match_id)",
    "reflections without a match": "SELECT count(*) AS n FROM reflections ANTI JOIN matches USING (match_id)",
    "generations without a match": "SELECT count(*) AS n FROM generations ANTI JOIN matches USING (match_id)",
    "finished attempts without a match": (
        "SELECT count(*) AS n FROM match_runs ANTI JOIN matches USING (match_id) WHERE status = 'finished'"
    ),
}
_SIZES = "SELECT (SELECT count(*) FROM tournaments) AS tournaments, (SELECT count(*) FROM matches) AS matches, " + (
    "(SELECT count(*) FROM match_runs WHERE status = 'void') AS void, (SELECT version FROM meta) AS version"
)


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Finding(NamedTuple):
    """One thing worth saying about a store, in one line."""

    level: Level
    text: str


def health(path: str | os.PathLike[str], notify: Callable[[str], None] | None = None) -> list[Finding]:
    """Look at a store, which changes nothing but the layout of an old one; what would be raised is a finding.

    `notify` is told what a Store tells while it waits or merges.
    """
    store = Store(path, notify) if notify else Store(path)
    return [*_inside(store), *_beside(store)]


def _inside(store: Store) -> list[Finding]:
    if not os.path.exists(store.path):
        return [Finding(Level.OK, f"store {store.path} does not exist yet")]
    try:
        size = store.query(_SIZES).to_pylist()[0]
        found = {fault: store.query(sql).column("n")[0].as_py() for fault, sql in _FAULTS.items()}
    except (UserError, RunError) as error:
        return [Finding(Level.ERROR, str(error))]
    summary = (
        f"store {store.path}: schema {size['version']}, {size['tournaments']} tournaments, {size['matches']} matches, "
        f"{size['void']} void attempts"
    )
    faults = [
        Finding(Level.ERROR, f"store {store.path} has {count} {fault}") for fault, count in found.items() if count
    ]
    return [Finding(Level.OK, summary), *faults]


def _beside(store: Store) -> list[Finding]:
    """Rows that wait in files, and files that no store took."""
    file = os.path.realpath(store.path)
    place = spill.folder(file)
    waiting, bad, drafts = len(spill.waiting(file)), len(spill.rejected(file)), len(spill.unfinished(file))
    findings = []
    if waiting:
        findings.append(Finding(Level.WARNING, f"{waiting} batches wait in {place}; the next write merges them"))
    if bad:
        findings.append(Finding(Level.ERROR, f"{bad} batches in {place} (*.bad) fit no store"))
    if drafts:
        findings.append(Finding(Level.WARNING, f"{drafts} unfinished files in {place} (*.tmp) can be removed"))
    return findings
