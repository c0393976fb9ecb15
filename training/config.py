"""What a training run is told: one pydantic model for a TOML file."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agents.models.marked import MANNERS
from agents.models.tiny import Size, check
from agents.registry import Recipe, recipe
from arena.rules import MatchRules
from games.errors import UserError
from games.spec import Spec, SpecError, near, parse
from league.toml import from_file, line_of, read
from training.credit import Credit
from training.rewards import Rewards
from training.samples import SHARED, Shared

NEEDED = {"game": 'no game is named: game = "kuhn_poker"', "name": 'the run has no name: name = "..."'}


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


OWN = sorted({*MANNERS, "templates"})
"""Parameters of `llm` that are keys of the learner."""


class Learner(Table):
    """The agent that is trained. What says how an `llm` plays is a key here, too."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str = Field("tiny", description="tiny(layers=2,hidden=64), which begins from nothing; smollm2; or a folder.")
    checkpoint: str = Field("", description="Folder of a checkpoint that the weights and the manners begin as.")

    @field_validator("model")
    @classmethod
    def _readable(cls, model: str) -> str:
        if model.partition("(")[0] == "tiny":
            size_of(model)
        return model

    @property
    def tiny(self) -> Size | None:
        """The size of a model that is to be made; None for one that is there."""
        return size_of(self.model) if self.model.partition("(")[0] == "tiny" else None

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.checkpoint and "model" in self.model_fields_set:
            raise ValueError(
                f"model = {self.model!r} and checkpoint = {self.checkpoint!r} name two models; leave one out"
            )
        return self

    def manners(self) -> dict[str, Any]:
        """How it plays, as parameters of `llm`; the model is none of them."""
        fitting = {"telling": "brief", "memory": "history", "legal": "hidden", "turns": 0} if self.tiny else {}
        return {**fitting, **(self.model_extra or {})}


def size_of(text: str) -> Size:
    """Read `tiny(layers=2,hidden=64)`. Raises UserError for other parameters or values."""
    spec = parse(text)
    for key, value in spec.params.items():
        if key not in Size._fields or not isinstance(value, int) or isinstance(value, bool):
            raise SpecError(f"tiny has the parameters layers and hidden, whole numbers, not {key}={value}")
    size = Size(**spec.params)  # type: ignore[arg-type]
    check(size)
    return size


class Opponent(Table):
    """An agent that the learner meets."""

    agent: str = Field(description="SPEC or NAME=SPEC.")
    share: float = Field(1.0, gt=0, allow_inf_nan=False, description="How often, beside the others' shares.")

    @field_validator("agent")
    @classmethod
    def _known(cls, agent: str) -> str:
        recipe(agent)
        return agent

    @property
    def recipe(self) -> Recipe:
        """The agent."""
        return recipe(self.agent)


class Groups(Table):
    """What is collected for an update: groups of matches with the same deals, opponents and seat."""

    count: int = Field(16, ge=1, description="Groups of an update.")
    size: int = Field(8, ge=2, description="Matches of a group: what each is compared with.")
    seats: tuple[int, ...] = Field((), strict=False, description="Seats the learner takes in turn; none for all.")
    concurrent: int = Field(512, ge=1, description="Matches that are played at a time.")


class Samples(Table):
    """Matches that a store holds already, to be trained on in the place of new ones."""

    store: str = Field(description="The store.")
    agents: tuple[str, ...] = Field(strict=False, min_length=1, description="Names of the agents to learn from.")
    key: tuple[Shared, ...] = Field(SHARED, strict=False, description="What matches share that are compared.")
    rows: int = Field(64, ge=1, description="Samples of an update.")
    staleness: int = Field(4, ge=0, description="Updates that may lie between the policy that sampled and the learner.")


class Imitation(Table):
    """Supervised training on what others decided, before anything else."""

    store: str = Field(description="A store with their matches.")
    agents: tuple[str, ...] = Field(strict=False, min_length=1, description="Names of the agents to copy.")
    epochs: float = Field(3.0, gt=0, description="How often each decision is seen.")
    rows: int = Field(64, ge=1, description="Decisions of a step.")
    learning_rate: float = Field(1e-3, gt=0, description="At the beginning; it falls to 0.")


class Lora(Table):
    """Low-rank adapters in the place of all weights."""

    rank: int = Field(16, ge=1, description="Rank of the adapters.")
    alpha: float = Field(32.0, gt=0, description="Their scale is alpha / rank.")
    targets: tuple[str, ...] = Field(
        ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        strict=False,
        min_length=1,
        description="Modules that get one.",
    )


class Optimise(Table):
    """How the weights are changed."""

    updates: int = Field(100, ge=0, description="Updates of the run; 0 for imitation alone.")
    learning_rate: float = Field(1e-3, gt=0, description="At the beginning.")
    schedule: Literal["constant", "linear", "cosine"] = Field("constant", description="How it goes on from there.")
    warmup: int = Field(0, ge=0, description="Steps in which it rises from 0.")
    minibatches: int = Field(1, ge=1, description="Steps that the samples of an update are split into.")
    passes: int = Field(1, ge=1, description="How often they are gone through.")
    parts: int = Field(1, ge=1, description="Parts that a step is computed in, for want of memory.")
    clip: float = Field(0.2, gt=0, description="How far from 1 the ratio of a token counts.")
    kl: float = Field(0.0, ge=0, description="Weight of the distance to the reference.")
    reference: Literal["base", "parent"] = Field("base", description="What that distance is measured to.")
    entropy: float = Field(0.0, ge=0, description="Weight of the entropy, at the beginning.")
    entropy_end: float = Field(0.0, ge=0, description="And at the end; in between it changes linearly.")
    correction: Literal["none", "bypass", "decoupled"] = Field(
        "bypass", description="What the ratio of a token is measured against."
    )
    largest_gradient: float = Field(1.0, ge=0, description="Norm that gradients are cut to; 0 to leave them.")
    weight_decay: float = Field(0.0, ge=0, description="Of AdamW.")
    dtype: Literal["auto", "float32", "bfloat16"] = Field("auto", description="Of the weights; auto is float32.")


class Evaluate(Table):
    """How the learner is looked at on the way: matches that it does not learn from."""

    every: int = Field(20, ge=1, description="Updates between two looks.")
    matches: int = Field(32, ge=1, description="Matches against each opponent in each seat.")
    no_memory: bool = Field(True, description="Whether the same without memory is shown beside it.")
    greedy: bool = Field(False, description="Whether the likeliest answer is taken in place of a draw.")


class Save(Table):
    """Checkpoints."""

    every: int = Field(20, ge=1, description="Updates between two checkpoints; the last update always makes one.")
    keep: int = Field(3, ge=1, description="How many are kept, the latest ones.")


class TrainConfig(Table):
    """A training run."""

    name: str = Field(pattern=r"^[A-Za-z0-9][\w.\-]{0,59}$", description="Its name, and that of its checkpoints.")
    game: str = Field(description="What is played, as a game string.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed that everything derives from.")
    out: str = Field("", description="Folder of the run; runs/NAME without it.")
    match: MatchRules = Field(MatchRules(), description="Rules of a match, as of a tournament.")
    learner: Learner = Field(Learner(), description="The agent that is trained.")
    opponents: tuple[Opponent, ...] = Field((), strict=False, description="Whom it meets, drawn for each group.")
    held_out: tuple[Opponent, ...] = Field((), strict=False, description="Whom it meets in evaluations alone.")
    groups: Groups = Field(Groups(), description="What is collected for an update.")
    samples: Samples | None = Field(None, description="A store to train from, in the place of new matches.")
    warm_start: Imitation | None = Field(None, description="Supervised training before the first update.")
    rewards: Rewards = Field(Rewards(), description="What play is worth.")
    credit: Credit = Field(Credit(), description="How credit is given.")
    optimise: Optimise = Field(Optimise(updates=100), description="How the weights are changed.")
    lora: Lora | None = Field(None, description="Adapters in the place of all weights.")
    evaluate: Evaluate = Field(Evaluate(), description="How it is looked at on the way.")
    save: Save = Field(Save(), description="Checkpoints.")
    report_to: tuple[str, ...] = Field((), strict=False, description="Loggers of transformers, such as tensorboard.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        pool = {member.recipe.fingerprint: member.agent for member in self.opponents}
        for held in self.held_out:
            if held.recipe.fingerprint in pool:
                raise ValueError(
                    f"held_out: {held.agent} is an opponent in training, too (as {pool[held.recipe.fingerprint]})"
                )
        if not self.optimise.updates and self.warm_start is None:
            raise ValueError("optimise.updates = 0 trains nothing without warm_start")
        if self.samples is not None and self.learner.tiny is not None and not self.learner.checkpoint:
            raise ValueError("samples: they are of a model that is there, and learner.model = 'tiny' makes a new one")
        if self.optimise.kl and self.optimise.reference == "base" and self.learner.checkpoint and self.lora is None:
            raise ValueError(
                "optimise.reference = 'base': of a checkpoint of all weights no base is known; "
                "use 'parent', which is the checkpoint"
            )
        if self.match.stop_on_win and tuple(self.groups.seats) != (0,):
            raise ValueError("match.stop_on_win ends a match for whoever was seated first: it needs groups.seats = [0]")
        if (
            self.optimise.kl
            and self.optimise.reference == "parent"
            and not (self.learner.checkpoint or self.warm_start)
        ):
            raise ValueError(
                "optimise.reference = 'parent' needs learner.checkpoint or warm_start, which is the parent"
            )
        return self

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return Path(self.out or f"runs/{self.name}")


def from_toml(path: Path, flags: dict[str, Any]) -> TrainConfig:
    """Make a configuration from a TOML file and flags, which count more. Raises UserError: file, line, key."""
    config = from_file(TrainConfig, path, flags, NEEDED)
    for key in config.learner.model_extra or {}:
        if key not in OWN:
            known = [*OWN, *Learner.model_fields]
            line = line_of(read(path)[0], ["learner", key])
            raise UserError(f"{path}, line {line}: no key 'learner.{key}'; {near(key, known)}")
    return config


def learner_spec(model: str, params: dict[str, Any]) -> str:
    """An `llm` of a model. Raises SpecError for parameters that it does not have."""
    return recipe(str(Spec("llm", {"model": model, **params}))).spec
