"""What a run begins with: its model and tokenizer, made or loaded, and the field that its matches have in common."""

from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError

from agents.models import marked, smollm2, tiny
from agents.models.folder import model_folder
from agents.models.source import SMOLLM2
from agents.models.weights import load, quiet
from agents.registry import Recipe, recipe
from arena.match import check_deals
from games import registry
from games.errors import RunError, UserError, in_words
from games.game import Game
from games.spec import near
from league.identity import check_names
from training.config import OWN, Learner, TrainConfig, learner_spec
from training.draw import Field, Pool
from training.vocabulary import vocabulary

BASE = "base"
"""Folder in that of the run for a model that is made."""


class Begun(NamedTuple):
    """What is trained."""

    model: Any
    """A PeftModel where adapters are trained."""
    tokenizer: Any
    base: str | None
    """The model that adapters are for; None where all weights are trained."""
    parent: str | None
    """Digest of the checkpoint that the run begins with."""


def field_of(config: TrainConfig) -> tuple[Field, Pool]:
    """The field and the opponents of a run. Raises UserError for agents or seats that do not fit the game."""
    game = registry.make(config.game)
    manners = _manners(config.learner)
    name = f"{config.name}@training"  # a run may be called like an agent or a game
    learner = recipe(f"{name}={learner_spec(name, manners)}")
    if (why := learner.misfit(game)) is not None:
        raise UserError(f"learner: {why}")
    if learner.params["choice"] != "free" or learner.params["top_p"] != 1.0 or learner.params["top_k"]:
        raise UserError("learner: it is trained on what it says freely: choice=free, top_p=1, top_k=0")
    if not learner.params["temperature"]:
        raise UserError("learner: temperature=0 always says the same, so there is nothing to compare")
    others = [*config.opponents, *config.held_out]
    if game.spec.seats > 1 and not config.opponents and config.samples is None and config.optimise.updates:
        raise UserError(f"opponents: {game.spec.name} has {game.spec.seats} seats, and nobody is named for the others")
    if game.spec.seats == 1 and others:
        raise UserError(f"opponents: {game.spec.name} has one seat, and {others[0].agent} would have none")
    for other in others:
        if (why := other.recipe.misfit(game)) is not None:
            raise UserError(f"opponents: {other.agent} cannot play {game.spec.name}: {why}")
        if other.recipe.agent.interactive:
            raise UserError(f"opponents: {other.agent} needs a person")
    names = [learner.name, *[other.recipe.name for other in others]]
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise UserError(f"opponents: two agents are named {twice[0]}; NAME=SPEC gives one of them another name")
    check_names(game, names)
    check_deals(game, config.match)
    return Field(config.name, config.seed, game, config.match, learner, _seats(config, game)), Pool(
        [other.recipe for other in config.opponents], [other.share for other in config.opponents]
    )


def begin(config: TrainConfig, field: Field, pool: Pool, stop: Event) -> Begun:
    """The model of a run as it is before any training. Raises UserError for one that cannot be had, StoppedError."""
    learner = config.learner
    if learner.checkpoint:
        return loaded(config, learner.checkpoint)
    root = base_folder(config)
    name = learner.model
    if learner.tiny is not None:
        if not root.is_dir():
            part = root.with_name(f"{BASE}.part")
            met = vocabulary(field, pool, field.learner.params, stop)
            try:
                tiny.build(part, met.lines, met.actions, learner.tiny, config.seed)
                part.rename(root)
            except (OSError, SafetensorError) as error:
                raise RunError(f"{root} could not be saved: {in_words(error)}") from error
        name = str(root.resolve())
    model, tokenizer = load(name, root, _dtype(config))
    if config.lora is None:
        return Begun(model, tokenizer, None, None)
    return Begun(_with_adapter(model, config), tokenizer, name, None)


def loaded(config: TrainConfig, checkpoint: str) -> Begun:
    """The model of a checkpoint, to be trained on. Raises UserError for one that is torn or does not fit."""
    place, mark = marked.read(checkpoint)
    if mark.base is None:
        model, tokenizer = load(str(place), place, _dtype(config))
        if config.lora is None:
            return Begun(model, tokenizer, None, mark.digest)
        return Begun(_with_adapter(model, config), tokenizer, str(place), mark.digest)
    if config.lora is None or config.lora.rank != _rank(place):
        wanted = "none" if config.lora is None else config.lora.rank
        raise UserError(f"lora.rank = {wanted}: the adapter of {checkpoint} has rank {_rank(place)}")
    from peft import PeftModel

    model, tokenizer = load(mark.base, _root(mark.base), _dtype(config))
    with quiet():
        model = PeftModel.from_pretrained(model, place, is_trainable=True)
    return Begun(model, tokenizer, mark.base, mark.digest)


def base_folder(config: TrainConfig) -> Path:
    """The folder of the model that a run begins with where it begins with no checkpoint."""
    return config.folder / BASE if config.learner.tiny is not None else _root(config.learner.model)


def _root(model: str) -> Path:
    return smollm2.converted() if model == SMOLLM2 else model_folder(model)


def _rank(place: Path) -> object:
    from agents.models import folder

    return folder.config(place / folder.ADAPTER_CONFIG).get("r")


def _with_adapter(model: Any, config: TrainConfig) -> Any:
    from peft import LoraConfig, get_peft_model

    assert config.lora is not None
    lora = config.lora
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(config.seed)
        return get_peft_model(
            model,
            LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.targets), task_type="CAUSAL_LM"),
        )


def _manners(learner: Learner) -> dict[str, Any]:
    """Parameters of `llm`: those of the checkpoint, and over them those of the file."""
    if strange := [key for key in learner.model_extra or {} if key not in OWN]:
        raise UserError(f"learner: no key {strange[0]!r}; {near(strange[0], OWN)}")
    if not learner.checkpoint:
        return learner.manners()
    place, mark = marked.read(learner.checkpoint)
    own = {key: value for key, value in marked.parameters(place, mark).items() if key not in ("model", "adapter")}
    return {**own, **(learner.model_extra or {})}


def _seats(config: TrainConfig, game: Game) -> list[int]:
    seats = list(config.groups.seats) or list(range(game.spec.seats))
    if wrong := [seat for seat in seats if not 0 <= seat < game.spec.seats]:
        raise UserError(f"groups.seats: {game.spec.name} has no seat {wrong[0]}")
    return seats


def _dtype(config: TrainConfig) -> torch.dtype:
    return torch.bfloat16 if config.optimise.dtype == "bfloat16" else torch.float32


def held_out_of(config: TrainConfig) -> list[Recipe]:
    """Whom the learner meets in evaluations alone."""
    return [other.recipe for other in config.held_out]
