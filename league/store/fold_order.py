"""Reading matches in the order in which ratings are folded, one slice of them after the other.

Sorting all of them at once would take memory that grows with their number, up to DuckDB's limit.
"""

SLICE = 50_000
"""About how many matches are sorted at a time: at most twice as many, unless one pair index has more."""

# A tournament that is not registered comes after all others.
_ORDINAL = "coalesce(t.ordinal, 2147483647)"

# The ranges of single columns are implied by the others; with them DuckDB skips most of a large table.
OUTCOMES = f"""
SELECT m.game, m.agents, m.places FROM matches m LEFT JOIN tournaments t USING (tournament)
WHERE m.pair BETWEEN $min_pair AND $max_pair AND m.tournament BETWEEN $min_name AND $max_name
  AND ({_ORDINAL}, m.round, m.pair) >= ($first_ordinal, $first_round, $first_pair)
  AND ({_ORDINAL}, m.round, m.pair) <= ($last_ordinal, $last_round, $last_pair)
ORDER BY {_ORDINAL}, m.round, m.pair, list_sort(m.agents), m.agents, m.game, m.replica, m.match_id
"""
"""The matches of one slice in the order of the fold."""


def slices(size: int = SLICE) -> str:
    """The query for where each slice of about `size` matches begins and ends (inclusive), in order.

    Its columns are the parameters of OUTCOMES. A round is cut into pieces of equally many pair indices, which have
    about equally many matches, and small rounds that follow each other are put together.
    """
    return f"""
WITH rounds AS (
    SELECT {_ORDINAL} AS ordinal, m.round, count(*) AS matches, min(m.pair) AS lowest,
           max(m.pair) - lowest + 1 AS pairs, min(m.tournament) AS first_name,
           max(m.tournament) AS last_name
    FROM matches m LEFT JOIN tournaments t USING (tournament) GROUP BY {_ORDINAL}, m.round
), numbered AS (
    SELECT *, least(matches // {size} + 1, pairs) AS pieces, unnest(range(pieces)) AS piece FROM rounds
), bounded AS (
    SELECT ordinal, round, matches / pieces AS matches, lowest + piece * pairs // pieces AS first_pair,
           lowest + (piece + 1) * pairs // pieces - 1 AS last_pair, first_name, last_name
    FROM numbered
), filled AS (
    SELECT *, sum(matches) OVER (ORDER BY ordinal, round, first_pair ROWS UNBOUNDED PRECEDING) - matches AS before
    FROM bounded
), slices AS (
    SELECT min({{o: ordinal, r: round, p: first_pair}}) AS a, max({{o: ordinal, r: round, p: last_pair}}) AS z,
           min(first_pair) AS min_pair, max(last_pair) AS max_pair,
           min(first_name) AS min_name, max(last_name) AS max_name
    FROM filled GROUP BY floor(before / {size})
)
SELECT a.o AS first_ordinal, a.r AS first_round, a.p AS first_pair, z.o AS last_ordinal, z.r AS last_round,
       z.p AS last_pair, min_pair, max_pair, min_name, max_name
FROM slices ORDER BY a
"""
