"""A training run: collect, give credit, update, look, save; it goes on from its latest checkpoint exactly."""

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import torch
from accelerate import PartialState
from transformers import PrinterCallback, TrainerCallback

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
from league.store.training import CheckpointRow, TrainingRun, check_run, keep_checkpoint, register_run
from training.arguments import arguments, check_loggers
from training.begin import Begun, base_folder, begin, field_of, held_out_of, loaded
from training.claim import claim, digest, held, setup
from training.collect import Collected
from training.config import TrainConfig
from training.draw import Field, Pool
from training.evaluation import ARMS, Plan, evaluate
from training.policy import Policy, StoppedError
from training.progress import Journal, Reached, Tell, measured, of_trl
from training.saving import FAILED, PREFIX, About, clear, failed, forget, latest, mark
from training.stored import Stored
from training.trainer import MetaGRPOTrainer
from training.warm_start import copy

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

    A copy at the beginning that is stopped begins anew. Raises UserError for what does not fit together or a folder of
    another run, RunError where training itself fails: a loss that is no number, a checkpoint that cannot be saved.
    """
    field, pool = field_of(config)
    together = PartialState(cpu=not torch.cuda.is_available())
    if not together.is_main_process:
        store, notices = None, notices._replace(say=_unheard)
    row = TrainingRun(config.name, setup(config), versions(), config.seed, datetime.now(UTC))
    if store is not None and Path(store.path).is_file():
        check_run(store, row)
    with held(config.folder) if together.is_main_process else nullcontext():
        new = together.is_main_process and claim(config)
        try:
            made, checkpoint = _prepared(config, field, pool, store, notices, stop)
            if store is not None:
                register_run(store, row)
        except UserError:
            if new:  # nothing is in it that was trained, and the file may be mended
                shutil.rmtree(config.folder)
            raise
        except StoppedError:
            return Outcome(0, config.optimise.updates, True, None)
        return made.go_on(checkpoint)


def _prepared(
    config: TrainConfig, field: Field, pool: Pool, store: Store | None, notices: Notices, stop: Event
) -> tuple["_Run", Path | None]:
    """A run that is ready, and the checkpoint that it goes on from. What one process makes, the others find."""
    folder, together = config.folder, PartialState()
    with together.main_process_first():
        for member in {other.fingerprint: other for other in [*pool.members, *held_out_of(config)]}.values():
            prepared(member, field.game, notices.say)
        if together.is_main_process:
            for line in clear(folder):
                notices.say(line)
        checkpoint = latest(folder)
        warm = folder / WARM if config.warm_start is not None else None
        copied = warm is not None and (warm / marked.MARK).is_file()
        begun = loaded(config, str(warm)) if copied else begin(config, field, pool, stop)
        about = _about(config, field, begun)
    if config.warm_start is not None and warm is not None and not copied:
        params, game = field.learner.params, field.game.spec.name
        _threads(begun.model)
        loss = copy(config.warm_start, config.seed, begun.model, begun.tokenizer, params, game, warm, notices.say, stop)
        if together.is_main_process:
            made = mark(warm, about, 0, {"loss": loss})
            if store is not None:
                keep_checkpoint(store, _row(warm, made))
        together.wait_for_everyone()
        begun = loaded(config, str(warm))
        about = _about(config, field, begun)
    return _Run(config, field, pool, begun, about, store, notices, stop), checkpoint


def _unheard(line: str) -> None:
    """For the processes that do not tell."""


def _row(place: Path, made: marked.Mark) -> CheckpointRow:
    """A checkpoint as a store keeps it."""
    path = str(place.resolve())
    member = recipe(str(Spec("checkpoint", {"path": path})))
    return CheckpointRow(
        made.run, made.update, path, made.name, member.fingerprint, made.digest, made.parent, made.base or "",
        made.metrics, datetime.now(UTC),
    )  # fmt: skip


def _threads(model: Any) -> int:
    """Compute with as many threads as are good for a model; gives how many."""
    threads = 1 if sum([part.numel() for part in model.parameters()]) < SMALL else all_cores()
    torch.set_num_threads(threads)
    return threads


def _about(config: TrainConfig, field: Field, begun: Begun) -> About:
    game = field.game.spec.name
    return About(config.name, game, field.learner.params, begun.base, begun.parent, digest(config))


class _Run:
    """One run at work."""

    def __init__(
        self, config: TrainConfig, field: Field, pool: Pool, begun: Begun, about: About, store: Store | None,
        notices: Notices, stop: Event,
    ) -> None:  # fmt: skip
        self._config, self._field, self._pool, self._about = config, field, pool, about
        self._store, self._notices, self._stop = store, notices, stop
        how = config.optimise
        check_loggers(config.report_to)
        self.steps = how.minibatches * how.passes
        """Optimizer steps of an update."""
        parts = how.minibatches * how.parts * PartialState().num_processes
        self.windows: Collected | Stored = (
            Stored(config, field, parts, begun.tokenizer, stop, notices.say)
            if config.samples is not None
            else Collected(config, field, pool, parts, stop)
        )
        self.updates = len(self.windows)
        threads = _threads(begun.model)
        with quiet():
            self.trainer = _trainer(config, begun, self, about.windows)
        if isinstance(self.windows, Stored):
            self._check(self.windows)
        self.policy = Policy(
            config.name,
            self.trainer.accelerator.unwrap_model(self.trainer.model),
            begun.tokenizer,
            source_of(field.learner.params),
            threads,
        )
        self.windows.policy = self.policy
        self.saved_at: int | None = None
        """Optimizer step of the latest checkpoint that this process saved."""
        self.seen = True
        """Whether the latest look that was due was not broken off."""
        self.journal: Journal | None = None
        self._began = time.perf_counter()
        self._measured: Mapping[str, float] = {}
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
            if checkpoint is not None:
                with quiet():
                    self.trainer._load_from_checkpoint(str(checkpoint))
            seen = self.look(done)
            if done >= self.updates:
                return Outcome(done, self.updates, not seen, checkpoint or self._config.folder / WARM)
            stopped = False
            self._began = time.perf_counter()
            try:
                with quiet():
                    self.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
            except StoppedError:
                stopped = True
            step = self.trainer.state.global_step
            if stopped and step // self.steps > done and self.saved_at != step:
                with quiet():
                    self.trainer._save_checkpoint(self.trainer.model, None)
            return Outcome(step // self.steps, self.updates, stopped or not self.seen, latest(self._config.folder))
        finally:
            if self.journal is not None:
                self.journal.flush()
            self.policy.close()

    def _check(self, windows: Stored) -> None:
        """Raises UserError for samples that cannot be trained on as they are, before any is."""
        for window in windows.windows:
            try:
                self.trainer._check(window)
            except ValueError as error:
                raise UserError(f"samples: {error}") from error

    def measure(self) -> Mapping[str, float]:
        """What can be told of an update before trl tells its own."""
        assert self.windows.last is not None
        self._measured = measured(self.windows.last, self.trainer.idle, time.perf_counter() - self._began)
        return self._measured

    def updated(self, step: int, logged: Mapping[str, Any]) -> None:
        """An update is done and logged."""
        update = step // self.steps
        self.policy.version = update
        self._metrics = {**self._measured, **of_trl(logged)}
        if self.journal is not None:
            self.journal.update(Reached(update, self.updates, self._metrics), self._metrics["seconds"])
        self.look(update)
        self._began = time.perf_counter()

    def look(self, update: int) -> bool:
        """Look at the learner as it is, where that is due and was not done; gives False where the run is to stop.

        A run that goes on looks then: it is the next window that ends this one, in all processes at the same place.
        """
        how, config = self._config.evaluate, self._config
        self.seen = True
        if self.journal is None or self.journal.looked == update or (update % how.every and update != self.updates):
            return True
        forgets = how.no_memory and self._field.learner.params["memory"] != "none"
        plan = Plan(self._pool, held_out_of(config), how.matches, ARMS if forgets else ARMS[:1], how.greedy)
        try:
            scores = evaluate(self.policy, self._field, plan, config.groups.concurrent, self._stop)
        except StoppedError:
            self.seen = False
        else:
            self.journal.look(Reached(update, self.updates, {}, scores))
        return self.seen

    def saved(self, place: Path) -> None:
        """A checkpoint is written: mark it whole, tell the store, forget old ones."""
        update = self.trainer.state.global_step // self.steps
        made = mark(place, self._about, update, self._metrics)
        forget(self._config.folder, self._config.save.keep)
        if self.journal is not None:
            self.journal.flush()
        if self._store is not None:
            keep_checkpoint(self._store, _row(place, made))


class _Trainer(MetaGRPOTrainer):
    """The trainer of a run: its checkpoints are marked, or removed where they could not be written."""

    run: _Run

    def create_model_card(self, *given: Any, **more: Any) -> None:
        """None: nobody asked for one."""

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """trl's own, with what was measured of an update, so that every logger gets it."""
        if "loss" in logs:
            for key, value in self.run.measure().items():
                self._metrics["train"][key].append(value)
        super().log(logs, start_time)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        self.run.saved_at = self.state.global_step
        place = Path(self.args.output_dir) / f"{PREFIX}{self.state.global_step}"
        try:
            super()._save_checkpoint(model, trial)
            if self.run.main:
                self.run.saved(place)
        except FAILED as error:
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
    args = arguments(config, run.updates, run.steps, run._field.learner.params["temperature"])
    begun_as = begun.model.config._name_or_path
    if how.kl and how.reference == "base" and config.lora is None:
        begun.model.config._name_or_path = str(base_folder(config))  # trl loads the reference from there
    made = _Trainer(
        begun.model, args, run.windows, begun.tokenizer, correction=how.correction, digest=digest,
        entropy=(how.entropy, how.entropy_end), callbacks=[_Steward(run)],
    )  # fmt: skip
    begun.model.config._name_or_path = begun_as
    made.run = run
    made.remove_callback(PrinterCallback)
    if how.reference == "base" and "ref" in getattr(made.model, "peft_config", {}):
        made.model.delete_adapter("ref")
    return made
