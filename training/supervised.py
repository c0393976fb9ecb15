"""trl's supervised trainer on lessons whose tokens are given: nothing is tokenised, only the answers are learned."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from agents.models.weights import quiet
from games.errors import RunError, UserError
from training.imitation import Lesson

IGNORED = -100
"""The label of tokens that are read and not learned."""
Hear: TypeAlias = Callable[[int, int, float], None]
"""Hears of each step: its number, from 1, of how many, and the loss. What it raises ends the training."""


class Course(NamedTuple):
    """How lessons are learned. The learning rate falls to 0 in a straight line."""

    learning_rate: float = 2e-5
    rows: int = 8
    """Lessons of a batch, on each device."""
    accumulate: int = 1
    """Batches of a step."""
    epochs: float = 1.0
    """How often each lesson is learned."""
    max_steps: int = 0
    """Steps in all, in the place of `epochs`; 0 for as many as those take."""
    seed: int = 0
    """Of the order of the lessons, and of the first weights of an adapter."""
    cpu: bool = False
    """Whether to compute on the CPU even where there is a GPU."""
    checkpointing: bool = False
    """Whether to save memory by computing activations twice."""


def supervised(
    model: Any,
    tokenizer: Any,
    lessons: Sequence[Lesson],
    folder: Path | str,
    course: Course = Course(),  # noqa: B008 - frozen
    peft_config: Any = None,
    hear: Hear | None = None,
) -> list[dict[str, float]]:
    """Train a model of transformers on lessons, or a new adapter on it; gives what was logged, an entry a step.

    The loss is the mean cross-entropy of the tokens of a step's answers. `folder` is the only place that is written
    to: in the end it holds model and tokenizer, or the adapter, as `llm(model=...)` and `llm(adapter=...)` take them.

    Raises UserError for no lessons or tokens of another tokenizer, RunError for a loss that is no number.
    """
    _check(model, lessons)
    with quiet():  # of what trl itself sets and transformers renames
        args = _args(folder, course)
    trainer = _Trainer(
        model=model,
        args=args,
        train_dataset=dataset(lessons),
        processing_class=tokenizer,
        peft_config=peft_config,
        callbacks=[] if hear is None else [_Steps(hear)],
    )
    trainer.remove_callback(PrinterCallback)  # it writes to stdout
    trainer.train()
    with quiet():
        trainer.save_model(str(folder))
    logged: list[dict[str, float]] = trainer.state.log_history
    return logged


def _args(folder: Path | str, course: Course) -> SFTConfig:
    return SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=course.rows,
        gradient_accumulation_steps=course.accumulate,
        learning_rate=course.learning_rate,
        num_train_epochs=course.epochs,
        max_steps=course.max_steps or -1,
        seed=course.seed,
        use_cpu=course.cpu,
        bf16=False,
        gradient_checkpointing=course.checkpointing,
        train_sampling_strategy="group_by_length",  # little is padding then
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=torch.cuda.is_available() and not course.cpu,
        save_strategy="no",
        push_to_hub=False,
        report_to=[],
        logging_steps=1,
        disable_tqdm=True,
    )


def dataset(lessons: Sequence[Lesson]) -> Dataset:
    """Lessons as trl takes them when it prepares nothing: columns `input_ids` and `labels`."""
    return Dataset.from_dict(
        {
            "input_ids": [[*one.prompt_ids, *one.completion_ids] for one in lessons],
            "labels": [[*[IGNORED] * len(one.prompt_ids), *one.completion_ids] for one in lessons],
        }
    )


class _Trainer(SFTTrainer):  # type: ignore[misc]  # trl is looked at the same whether or not it is installed
    def training_step(self, *given: Any, **more: Any) -> torch.Tensor:
        """trl's own step. Raises RunError for a loss that is no number, before it reaches the weights."""
        loss: torch.Tensor = super().training_step(*given, **more)
        if not bool(torch.isfinite(loss)):
            raise RunError(f"the loss of step {self.state.global_step + 1} is {loss.item()}: nothing was changed by it")
        return loss


class _Steps(TrainerCallback):  # type: ignore[misc]
    """Hears from transformers what each step came to."""

    def __init__(self, hear: Hear) -> None:
        self._hear = hear

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any) -> None:
        if logs is not None and "loss" in logs:
            self._hear(state.global_step, state.max_steps, logs["loss"])


def _check(model: Any, lessons: Sequence[Lesson]) -> None:
    if not lessons:
        raise UserError("there are no lessons to learn from")
    size = model.get_input_embeddings().num_embeddings
    for one in lessons:
        if (largest := max(*one.prompt_ids, *one.completion_ids)) >= size:
            where = f"match {one.match_id}, episode {one.episode}, turn {one.turn}"
            raise UserError(f"{where}: token {largest} is of another tokenizer; the model has {size}")
