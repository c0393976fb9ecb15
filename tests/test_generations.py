"""What models answered is kept as it was sampled, whoever hands it over, and nothing else gets into the record."""

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import Agent, Decision, Reflection, Setup, Trajectory
from agents.generation import Generation
from agents.registry import Recipe, recipe
from arena.episode import EpisodeRecord
from arena.generations import MAX_GENERATIONS, MAX_JSON, MAX_RAW, MAX_TOKENS, MAX_WORD, kept
from arena.match import Match, MatchResult, play_match
from arena.record import PLAY, REFLECT
from arena.referee import Note
from games import registry
from games.game import Observation, Termination
from league.single import keep, prepare, register
from league.store.store import Store
from tests.play import match_of, rows_of

WHOLE = Generation(
    "small+adapter",
    "<think>hm</think> <action>x(1,1)</action>",
    [1, 2, 2**31 - 1],
    [4, 5],
    [-0.5, -1.25],
    "length",
    {"temperature": 1.0, "stop": ["</action>"], "seed": 2**62},
    True,
    3,
    2,
    0.25,
    1e-5,
    '[{"role": "user", "content": "play"}]',
    {"parsed": "exact"},
)


class Speaker(Agent):
    """Its first answer in each turn is illegal; every answer and reflection comes with what models said."""

    retries = 1

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._refused = False

    async def act(self, observation: Observation) -> Decision:
        if not self._refused:
            return Decision("resign", "I resign", generations=[WHOLE._replace(raw="resign")])
        self._refused = False
        return Decision(observation.legal_actions[0], None, None, (WHOLE, WHOLE._replace(raw="second")))

    def refused(self, observation: Observation, why: str) -> None:
        self._refused = True

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        return Reflection("in short", (WHOLE._replace(raw="at length " + "x" * 5_000),))


def played(agent: type[Agent], match: Match, listener: Any = None) -> MatchResult:
    """A match of an agent in seat 0 of tic_tac_toe."""
    recipes = [Recipe("agent", "agent", agent, {}), recipe("random")]
    return asyncio.run(play_match(match, registry.make(match.game), recipes, listener=listener))


def test_every_answer_of_a_model_is_a_row_that_says_where_it_belongs() -> None:
    rows = rows_of(played(Speaker, match_of("tic_tac_toe", "agent", "random", episodes=2)))
    answers = rows["generations"]
    turns = [row for row in rows["turns"] if row["seat"] == 0]
    place = ("episode", "turn", "seat", "attempt", "phase", "number", "raw")
    of_play = [tuple(row[key] for key in place) for row in answers if row["phase"] == PLAY]
    expected: list[tuple[Any, ...]] = []
    for turn in turns:
        where = (turn["episode"], turn["turn"], 0, turn["attempt"], PLAY)
        said = ["resign"] if turn["fault"] else [WHOLE.raw, "second"]
        expected += [(*where, number, raw) for number, raw in enumerate(said)]
    assert len(turns) >= 12
    assert of_play == expected
    (look,) = [row for row in answers if row["phase"] == REFLECT]
    assert [look[key] for key in ("episode", "turn", "seat", "attempt", "number")] == [1, None, 0, 0, 0]
    assert (len(look["raw"]), rows["reflections"][0]["text"]) == (5_010, "in short")


def test_a_match_reads_back_from_a_store_as_it_was_sampled(tmp_path: Any) -> None:
    store = Store(tmp_path / "arena.duckdb")
    match, _ = prepare(registry.make("tic_tac_toe"), ["random", "random"], 5, match_of("tic_tac_toe").rules)
    register(store, match)
    keep(store, played(Speaker, match), 0)
    row = store.query("SELECT * EXCLUDE (match_id, episode, turn, seat, attempt, phase, number) FROM generations "
                      "WHERE attempt = 1 AND number = 0 LIMIT 1").to_pylist()[0]  # fmt: skip
    row["sampling"], row["notes"] = json.loads(row["sampling"]), json.loads(row["notes"])
    assert list(row) == list(Generation._fields)
    assert Generation(**row) == WHOLE


def test_classical_matches_have_no_generations() -> None:
    rows = rows_of(played(Speaker, match_of("tic_tac_toe", "agent", "random")))
    assert "generations" in rows
    match = match_of("tic_tac_toe", "random", "random")
    assert "generations" not in rows_of(
        asyncio.run(play_match(match, registry.make(match.game), [recipe("random")] * 2))
    )


def test_a_listener_hears_what_is_said_before_the_turn_is_played() -> None:
    heard: list[tuple[str, object]] = []

    class Ear:
        def note(self, note: Any) -> None:
            heard.append(("note", note.action))

        def turn(self, seat: int, action: str) -> None:
            heard.append(("turn", action))

        def episode(self, record: Any) -> None:
            heard.append(("episode", None))

        def reflection(self, record: Any) -> None:
            heard.append(("reflection", None))

    result = played(Speaker, match_of("tic_tac_toe", "agent", "random"), Ear())
    record = result.episodes[0]
    expected: list[tuple[str, object]] = []
    for seat, action in zip(record.turn_seats, record.actions, strict=True):
        expected += [("note", None), ("note", action)] if seat == 0 else []
        expected.append(("turn", action))
    assert heard == [*expected, ("episode", None)]


class Sly(dict[str, Any]):
    """A mapping that fails when it is read."""

    def items(self) -> Any:
        raise SystemExit(3)


class Number(int):
    """More than an int."""


WRONG: Mapping[str, Any] = {
    "none": None,
    "a mapping": {"raw": "x"},
    "a text": "x",
    "a plain tuple": (tuple(WHOLE),),
    "too many": (WHOLE,) * (MAX_GENERATIONS + 1),
    "a model that is no text": (WHOLE._replace(model=3),),  # type: ignore[arg-type]
    "a raw that is no text": (WHOLE._replace(raw=b"x"),),  # type: ignore[arg-type]
    "ids beyond 32 bits": (WHOLE._replace(prompt_ids=[2**31]),),
    "ids below 0": (WHOLE._replace(completion_ids=[-1]),),
    "ids that are texts": (WHOLE._replace(completion_ids=["1"]),),  # type: ignore[list-item]
    "ids that are true": (WHOLE._replace(completion_ids=[True]),),
    "ids that are more than numbers": (WHOLE._replace(completion_ids=[Number(3)]),),
    "ids that are bytes": (WHOLE._replace(prompt_ids=b"123"),),
    "ids that never end": (WHOLE._replace(prompt_ids=range(2**60)),),
    "too many ids": (WHOLE._replace(prompt_ids=[1] * (MAX_TOKENS // 2)),) * 3,
    "nan": (WHOLE._replace(logprobs=[math.nan]),),
    "infinite": (WHOLE._replace(logprobs=[-math.inf]),),
    "beyond 32-bit numbers": (WHOLE._replace(logprobs=[-1e300]),),
    "huge whole log-probabilities": (WHOLE._replace(logprobs=[-(10**400)]),),
    "a finish reason that is none": (WHOLE._replace(finish_reason=None),),  # type: ignore[arg-type]
    "sampling that is no mapping": (WHOLE._replace(sampling=[]),),  # type: ignore[arg-type]
    "sampling that is no JSON": (WHOLE._replace(sampling={"stop": {1}}),),
    "notes with nan": (WHOLE._replace(notes={"value": math.nan}),),
    "long notes": (WHOLE._replace(notes={"x": "y" * MAX_JSON}),),
    "notes that fail": (WHOLE._replace(notes=Sly(a=1)),),
    "constrained that is a number": (WHOLE._replace(constrained=1),),  # type: ignore[arg-type]
    "tokens that are fractions": (WHOLE._replace(prompt_tokens=1.5),),  # type: ignore[arg-type]
    "tokens beyond 32 bits": (WHOLE._replace(completion_tokens=2**40),),
    "seconds that are nan": (WHOLE._replace(seconds=math.nan),),
    "a price that is infinite": (WHOLE._replace(price=math.inf),),
    "a price beyond floats": (WHOLE._replace(price=10**400),),
    "a prompt that is no JSON": (WHOLE._replace(prompt="hello"),),
    "a prompt that is no text": (WHOLE._replace(prompt=[{"role": "user"}]),),  # type: ignore[arg-type]
    "a prompt without end": (WHOLE._replace(prompt="[" * 100_000),),
}
"""What no store takes."""


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("where", ["act", "reflect"])
def test_what_cannot_be_kept_is_a_crash_of_whoever_handed_it_over(kind: str, where: str) -> None:
    class Odd(Agent):
        async def act(self, observation: Observation) -> Decision:
            wrong = WRONG[kind] if where == "act" else ()
            return Decision(observation.legal_actions[0], "my words", None, wrong)

        async def reflect(self, trajectory: Trajectory) -> Reflection | None:
            return Reflection("text", WRONG[kind])

    result = played(Odd, match_of("tic_tac_toe", "agent", "random", episodes=2))
    last = result.episodes[-1 if where == "reflect" else 0]
    assert (last.termination, last.offender) == (Termination.CRASHED, 0)
    assert result.faults == (1, 0)
    rows = rows_of(result)
    assert "generations" not in rows
    assert rows["turns"][-1]["fault"] == "crashed"
    assert len(rows["turns"][-1]["raw"]) < 600


def test_lone_surrogates_and_endless_texts_are_cut_to_what_a_store_holds() -> None:
    odd = WHOLE._replace(
        raw="half \ud800" + "x" * MAX_RAW, model="m\udfff" * 200, finish_reason="r" * 9_999, prompt='["\ud800"]',
        notes={"seen": "\ud800"}, sampling={},
    )  # fmt: skip

    class Odd(Agent):
        async def act(self, observation: Observation) -> Decision:
            return Decision(observation.legal_actions[0], generations=[odd])

    row = rows_of(played(Odd, match_of("tic_tac_toe", "agent", "random")))["generations"][0]
    assert (row["raw"][:7], len(row["raw"])) == ("half ?x", MAX_RAW)
    assert (row["model"], row["finish_reason"]) == ("m?" * (MAX_WORD // 2), "r" * MAX_WORD)
    told = {"seen": "\ud800", "characters": MAX_RAW + 6}
    assert (row["prompt"], json.loads(row["notes"])) == ('["?"]', told), "that the text was cut is told"


def test_what_is_kept_no_longer_changes_with_what_was_handed_over() -> None:
    ids, notes = [1, 2], {"parsed": ["exact"]}
    (copy,) = kept([WHOLE._replace(prompt_ids=ids, notes=notes)])
    ids.append(2**40)
    notes["parsed"].append("more")
    assert (copy.prompt_ids, copy.notes) == ([1, 2], {"parsed": ["exact"]})


SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ANYTHING = SIMPLE | st.lists(SIMPLE, max_size=3) | st.dictionaries(st.text(), SIMPLE, max_size=3)


@given(st.sampled_from(Generation._fields), ANYTHING)
def test_whatever_is_handed_over_is_refused_or_fits_the_record(field: str, value: Any) -> None:
    try:
        copies = kept([WHOLE._replace(**{field: value})])
    except ValueError:
        return
    record = EpisodeRecord(1, 1, (0, 1), [0], ["x"], (1.0, -1.0), (True, False), Termination.FINISHED, None, [])
    record.notes.append(Note(0, 0, 0, "x", None, None, None, copies))
    assert len(rows_of(MatchResult(match_of("tic_tac_toe", "a", "b"), [record], (), (), (), ()))["generations"]) == 1
