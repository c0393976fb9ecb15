"""Tiny models of a game's own words: their answers are actions, their prompts are few tokens, and they play."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

from agents.models.chat import Chat
from agents.models.pool import Models
from agents.models.tiny import MOST_ACTIONS, Size, build
from agents.models.weights import Weights
from agents.parsing import CLOSE, OPEN, Read, read
from agents.registry import recipe
from arena.match import MatchResult
from arena.rules import MatchRules
from arena.table import play_one
from games import registry
from games.errors import UserError
from tests.tiny_games import Coins, seen
from training.draw import Field, Pool, line
from training.vocabulary import Vocabulary, vocabulary

BRIEF = {"telling": "brief", "memory": "history", "legal": "hidden", "turns": 0}
GAMES = {
    "matrix_rps": "repeat_last",
    "kuhn_poker": "kuhn(style=aggressive)",
    "tic_tac_toe": "priority(list=1)",
    "connect_four": "heuristic",
    "probe": "",
    "sokoban(rows=5,columns=5,boxes=1,turns=4)": "",
}
"""Game -> an opponent; none for a task."""
EACH = [pytest.param(game, marks=[pytest.mark.slow] if game == "connect_four" else []) for game in GAMES]
MOST_TOKENS = {"connect_four": 400, "tic_tac_toe": 200, "sokoban(rows=5,columns=5,boxes=1,turns=4)": 250}
"""Tokens of the longest prompt of three episodes, where it is more than 40."""


class Made(NamedTuple):
    """A tiny model of a game."""

    folder: Path
    field: Field
    pool: Pool
    met: Vocabulary


def field_of(game: str, params: Mapping[str, Any], episodes: int = 3) -> Field:
    made = registry.make(game)
    learner = recipe(f"llm(model=learner,{','.join([f'{key}={value}' for key, value in params.items()])})")
    return Field(
        "run", 5, made, MatchRules(episodes=episodes, on_fault="fallback"), learner, list(range(made.spec.seats))
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """A model of each game, each made when it is first asked for."""
    place = tmp_path_factory.mktemp("tiny")

    class Shelf(dict[str, Made]):
        def __missing__(self, game: str) -> Made:
            field = field_of(game, BRIEF)
            pool = Pool([recipe(GAMES[game])], [1.0]) if GAMES[game] else Pool([], [])
            met = vocabulary(field, pool, field.learner.params, Event())
            folder = place / str(len(self))
            build(folder, met.lines, met.actions, Size(1, 16), 3)
            self[game] = Made(folder, field, pool, met)
            return self[game]

    return Shelf()


def chat_of(folder: Path) -> Chat:
    return Weights.of(str(folder), folder, "float32").chat


def played(made: Made, seed: int, params: Mapping[str, Any] = BRIEF) -> MatchResult:
    """A match of the model against the opponent that it was made with."""
    spec = f"llm(model={made.folder},dtype=float32,{','.join([f'{key}={value}' for key, value in params.items()])})"
    given = line(made.field._replace(learner=recipe(spec)), made.pool.members, 0, seed, 0, "test")

    async def play() -> MatchResult:
        models = Models(threads=lambda: 1)
        try:
            return await play_one(given.match, made.field.game, given.recipes, models)
        finally:
            await models.close()

    return asyncio.run(play())


@pytest.mark.parametrize("game", EACH)
def test_every_action_is_one_token_that_is_read_back_exactly(models: dict[str, Made], game: str) -> None:
    chat, actions = chat_of(models[game].folder), models[game].met.actions
    assert actions
    for action in actions:
        ids = chat.text_ids(f"{OPEN}{action}{CLOSE}")
        assert len(ids) == 1, action
        assert read(chat.text(ids), sorted(actions)) == (action, Read.EXACT)


@pytest.mark.parametrize("game", EACH)
def test_prompts_of_play_are_few_tokens_all_of_them_known(models: dict[str, Made], game: str) -> None:
    """Of matches of other deals than those that the words were met in."""
    chat = chat_of(models[game].folder)
    unknown = chat.text_ids("unheard-of")
    assert len(set(unknown)) == 1
    said = [
        answer
        for seed in range(6)
        for episode in played(models[game], seed).episodes
        for note in episode.notes
        for answer in note.generations
    ]
    assert len(said) >= 12
    for answer in said:
        assert answer.prompt_ids is not None
        assert not set(unknown) & set(answer.prompt_ids), chat.text(answer.prompt_ids)
        assert len(answer.prompt_ids) <= MOST_TOKENS.get(game, 40)
        assert answer.completion_ids is not None
        assert len(answer.completion_ids) == 1


def test_models_of_a_seed_are_equal_byte_for_byte(models: dict[str, Made], tmp_path: Path) -> None:
    made = models["kuhn_poker"]
    met = vocabulary(made.field, made.pool, made.field.learner.params, Event())
    assert met == made.met
    for place, seed in (("again", 3), ("other", 4)):
        backwards = dict(reversed(list(met.lines.items())))
        build(tmp_path / place, backwards, sorted(met.actions, reverse=True), Size(1, 16), seed)
    files = sorted(file.name for file in made.folder.iterdir())
    assert sorted(file.name for file in (tmp_path / "again").iterdir()) == files
    assert all((tmp_path / "again" / file).read_bytes() == (made.folder / file).read_bytes() for file in files)
    weights = [(place / "model.safetensors").read_bytes() for place in (made.folder, tmp_path / "other")]
    assert weights[0] != weights[1]


def test_a_model_is_a_folder_like_any_other(models: dict[str, Made]) -> None:
    made = models["matrix_rps"]
    assert len({recipe(f"llm(model={place})").fingerprint for place in (made.folder, models["kuhn_poker"].folder)}) == 2
    results = [played(made, seed) for seed in range(8)]
    faults = {episode.termination.value for result in results for episode in result.episodes}
    assert faults <= {"finished", "illegal", "unparsable"}
    assert "finished" in faults


@pytest.mark.parametrize("size", [Size(0, 16), Size(1, 0), Size(1, 8), Size(1, 24), Size(-1, 32), Size(2, -16)])
def test_sizes_that_are_none_are_refused(size: Size, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=rf"tiny\(layers={size.layers},hidden={size.hidden}\): hidden is a multiple of 16"
    ):
        build(tmp_path / "m", {"a": 2}, ["b"], size, 0)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("count", [0, MOST_ACTIONS + 1])
def test_a_game_without_actions_or_with_too_many_is_refused(count: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"a tiny model needs 1 to {MOST_ACTIONS} actions, and {count} were met"):
        build(tmp_path / "m", {"a": 2}, [str(number) for number in range(count)], Size(1, 16), 0)


def test_a_game_of_open_answers_is_refused() -> None:
    """Though it lists some actions."""
    field = field_of("kuhn_poker", BRIEF)._replace(game=Coins(seen(open=True)))
    with pytest.raises(UserError, match="coins accepts answers in words of one's own"):
        vocabulary(field, Pool([], []), field.learner.params, Event())
