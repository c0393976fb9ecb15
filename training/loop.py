"""A training run: collect, give credit, update, look, save; it goes on from its latest checkpoint exactly."""

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import torch
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig

from agents.manners import source_of
from agents.models import marked
from agents.models.pool import all_cores
from agents.models.weights import quiet
from agents.registry import recipe
from games.errors import UserError
from games.spec import Spec
from league.identity import versions
from league.preparation import prepared
from league.store.store import Store
from league.store.training import CheckpointRow, TrainingRun, keep_checkpoint, register_run
from training.begin import Begun, begin, field_of, held_out_of, loaded
from training.collect import Collected
from training.config import TrainConfig
from training.draw import Field, Pool
from training.evaluation import ARMS, Plan, evaluate
from training.policy import Policy, StoppedError
from training.progress import Journal, Reached, Tell, measured
from training.saving import PREFIX, About, failed, forget, latest, mark
from training.stored import Stored
from training.trainer import MetaGRPOTrainer
from training.warm_start import copy

CONFIG = "run.json"
"""The whole configuration of a run, in its folder."""
WARM = "warm"
"""Folder of what a warm start came to: a checkpoint of no updates."""
SMALL = 10_000_000
"""Parameters up to which one thread is faster than several."""


class Outcome(NamedTuple):
    """What a run came to."""

    update: int
    updates: int
    stopped: bool
    checkpoint: Path | None
    """The latest one."""


class Notices(NamedTuple):
    """Who hears of a run."""

    tell: Tell
    say: Callable[[str], None]
    """Gets lines for a person."""


def run(config: TrainConfig, store: Store | None, notices: Notices, stop: Event) -> Outcome:
    """Train, or go on where the run in its folder was left.

    Raises UserError for what does not fit together or a folder of another run, RunError where training itself fails:
    a loss that is no number, a checkpoint that cannot be saved.
    """
    field, pool = field_of(config)
    folder = config.folder
    _claim(config, folder)
    if store is not None:
        now = datetime.now(UTC)
        register_run(store, TrainingRun(config.name, _told(config), versions(), config.seed, now))
    for member in {other.fingerprint: other for other in [*pool.members, *held_out_of(config)]}.values():
        prepared(member, field.game, notices.say)
    checkpoint, torn = latest(folder)
    for line in torn:
        notices.say(line)
    warm = folder / WARM if config.warm_start is not None else None
    if warm is None or not (warm / marked.MARK).is_file():
        begun = begin(config, field, pool)
        about = _about(config, field, begun)
        if warm is not None:
            assert config.warm_start is not None
            params, game = field.learner.params, field.game.spec.name
            loss = copy(config.warm_start, config.seed, begun.model, begun.tokenizer, params, game, warm, notices.say)
            mark(warm, about, 0, {"loss": loss})
    if warm is not None:
        begun = loaded(config, str(warm))
        about = _about(config, field, begun)
    return _Run(config, field, pool, begun, about, store, notices, stop).go_on(checkpoint)


def _about(config: TrainConfig, field: Field, begun: Begun) -> About:
    game = field.game.spec.name
    return About(config.name, game, field.learner.params, begun.base, begun.parent, _digest(config))


class _Run:
    """One run at work."""

    def __init__(
        self, config: TrainConfig, field: Field, pool: Pool, begun: Begun, about: About, store: Store | None,
        notices: Notices, stop: Event,
    ) -> None:  # fmt: skip
        self._config, self._field, self._pool, self._about = config, field, pool, about
        self._store, self._notices, self._stop = store, notices, stop
        how = config.optimise
        self.steps = how.minibatches * how.passes
        """Optimizer steps of an update."""
        processes = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
        parts = how.minibatches * how.parts
        self.windows: Collected | Stored = (
            Stored(config, field, parts, notices.say)
            if config.samples is not None
            else Collected(config, field, pool, parts * processes, stop)
        )
        self.updates = len(self.windows)
        small = sum([part.numel() for part in begun.model.parameters()]) < SMALL
        threads = 1 if small else all_cores()
        torch.set_num_threads(threads)
        with quiet():
            self.trainer = _trainer(config, begun, self, about.windows)
        self.policy = Policy(
            config.name,
            self.trainer.accelerator.unwrap_model(self.trainer.model),
            begun.tokenizer,
            source_of(field.learner.params),
            threads,
        )
        self.windows.policy = self.policy
        self.journal: Journal | None = None
        self._began = time.perf_counter()
        self._metrics: Mapping[str, float] = {}

    @property
    def main(self) -> bool:
        """Whether this process is the one that tells and saves."""
        return bool(self.trainer.accelerator.is_main_process)

    def go_on(self, checkpoint: Path | None) -> Outcome:
        """Train from a checkpoint, or from the beginning."""
        done = 0 if checkpoint is None else marked.read(str(checkpoint))[1].update
        if self.main:
            self.journal = Journal(self._config.folder, self._store, self._config.name, done, self._notices.tell)
        try:
            if done >= self.updates:
                return Outcome(done, self.updates, False, checkpoint or self._config.folder / WARM)
            if done == 0:
                self.look(0)
            self._began = time.perf_counter()
            stopped = False
            try:
                with quiet():
                    self.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
            except StoppedError:
                stopped = True
            reached = self.trainer.state.global_step // self.steps
            place = self._config.folder / f"{PREFIX}{self.trainer.state.global_step}"
            if stopped and reached > done and not place.is_dir():
                self.trainer._save_checkpoint(self.trainer.model, None)
            return Outcome(reached, self.updates, stopped, latest(self._config.folder)[0])
        finally:
            if self.journal is not None:
                self.journal.flush()
            self.policy.close()

    def updated(self, step: int, logged: Mapping[str, Any]) -> None:
        """An update is done and logged."""
        update, now = step // self.steps, time.perf_counter()
        self.policy.version = update
        assert self.windows.last is not None
        self._metrics = measured(self.windows.last, logged, now - self._began)
        if self.journal is not None:
            self.journal.update(Reached(update, self.updates, self._metrics), now - self._began)
        if update % self._config.evaluate.every == 0 or update == self.updates:
            self.look(update)
        self._began = time.perf_counter()

    def look(self, update: int) -> None:
        """Look at the learner as it is. Raises StoppedError once the run is to stop."""
        how, config = self._config.evaluate, self._config
        forgets = how.no_memory and self._field.learner.params["memory"] != "none"
        if self.journal is None:
            return
        plan = Plan(self._pool, held_out_of(config), how.matches, ARMS if forgets else ARMS[:1])
        field = self._field
        scores = evaluate(self.policy, field, plan, config.groups.concurrent, self._stop)
        self.journal.look(Reached(update, self.updates, {}, scores))

    def saved(self, place: Path) -> None:
        """A checkpoint is written: mark it whole, tell the store, forget old ones."""
        update = self.trainer.state.global_step // self.steps
        made = mark(place, self._about, update, self._metrics)
        forget(self._config.folder, self._config.save.keep)
        if self.journal is not None:
            self.journal.flush()
        if self._store is not None:
            member = recipe(str(Spec("checkpoint", {"path": str(place.resolve())})))
            row = CheckpointRow(
                self._config.name, update, str(place.resolve()), made.name, member.fingerprint, made.digest,
                made.parent, made.base or "", made.metrics, datetime.now(UTC),
            )  # fmt: skip
            keep_checkpoint(self._store, row)


class _Trainer(MetaGRPOTrainer):
    """The trainer of a run: its checkpoints are marked, or removed where they could not be written."""

    run: _Run

    def create_model_card(self, *given: Any, **more: Any) -> None:
        """None: nobody asked for one."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        place = Path(self.args.output_dir) / f"{PREFIX}{self.state.global_step}"
        try:
            super()._save_checkpoint(model, trial)
            if self.run.main:
                self.run.saved(place)
        except (OSError, RuntimeError, ValueError) as error:
            raise failed(place, Path(self.args.output_dir), error) from error


class _Steward(TrainerCallback):  # type: ignore[misc]
    """Hears from transformers what happens."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """A window without anything to learn from changes nothing: parameters without a gradient stay as they are."""
        if self._run.trainer.idle:
            self._run.trainer.model.zero_grad(set_to_none=True)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any) -> None:
        """An update is logged; so is the end of training, which is none."""
        if logs is not None and "loss" in logs:
            self._run.updated(state.global_step, logs)


def _trainer(config: TrainConfig, begun: Begun, run: _Run, digest: str) -> _Trainer:
    how = config.optimise
    args = GRPOConfig(
        output_dir=str(config.folder),
        per_device_train_batch_size=2,
        num_generations=2,
        steps_per_generation=how.minibatches * how.parts,
        gradient_accumulation_steps=how.parts,
        num_iterations=how.passes,
        max_steps=max(run.updates, 1) * run.steps,
        learning_rate=how.learning_rate,
        lr_scheduler_type={"constant": "constant_with_warmup"}.get(how.schedule, how.schedule),
        warmup_steps=how.warmup,
        weight_decay=how.weight_decay,
        max_grad_norm=how.largest_gradient,
        loss_type="dapo",
        epsilon=how.clip,
        beta=how.kl,
        entropy_coef=max(how.entropy, how.entropy_end),
        use_bias_correction_kl=False,
        temperature=run._field.learner.params["temperature"],
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        gradient_checkpointing=False,
        save_strategy="steps",
        save_steps=config.save.every * run.steps,
        logging_steps=run.steps,
        logging_first_step=False,
        report_to=list(config.report_to),
        disable_tqdm=True,
        seed=config.seed % 2**32,
        dataloader_pin_memory=False,
    )
    made = _Trainer(
        begun.model, args, run.windows, begun.tokenizer, correction=how.correction, digest=digest,
        entropy=(how.entropy, how.entropy_end), callbacks=[_Steward(run)],
    )  # fmt: skip
    made.run = run
    made.remove_callback(PrinterCallback)
    if how.reference == "base" and "ref" in getattr(made.model, "peft_config", {}):
        made.model.delete_adapter("ref")
    return made


def _claim(config: TrainConfig, folder: Path) -> None:
    """Take a folder for a run. Raises UserError for one of another run."""
    file = folder / CONFIG
    told = _told(config)
    if file.is_file():
        there = json.loads(file.read_text(encoding="utf-8"))
        if difference := _difference(there, json.loads(told)):
            raise UserError(f"{folder} holds a run with another {difference}; name another folder by out, or remove it")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there and holds no run; name another folder by out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(told, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error


def _difference(there: Any, here: Any, key: str = "") -> str:
    """The first key that differs, with both values; "" for none."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*here, *[name for name in there if name not in here]]:
            if found := _difference(there.get(name), here.get(name), f"{key}.{name}" if key else name):
                return found
        return ""
    return "" if there == here else f"{key}: {json.dumps(there)[:80]} there, {json.dumps(here)[:80]} here"


def _told(config: TrainConfig) -> str:
    """The whole configuration as JSON, without where it is kept."""
    return json.dumps(config.model_dump(mode="json", exclude={"out", "report_to"}), indent=1)


def _digest(config: TrainConfig) -> str:
    return blake2b(_told(config).encode(), digest_size=8).hexdigest()
