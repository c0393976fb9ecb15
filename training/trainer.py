"""trl's GRPO trainer on decisions that were sampled before: nothing is generated, everything else is trl's.

One method of it is replaced, which its maintainers name the supported way: it hands over the next window of samples,
with their advantages, in the place of new completions.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
import trl.trainer.utils
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import disable_gradient_checkpointing
from trl.trainer.utils import use_adapter

from games.errors import RunError
from training.tensors import Batch, batch
from training.windows import Window, digest_of, share

Correction: TypeAlias = Literal["none", "bypass", "decoupled"]
"""What stands for the policy that sampled: the one that is trained, the stored log-probabilities, or the policy as it
is before the window, with a truncated weight for how far the stored ones lie from it."""
MOST_WEIGHT = 2.0
"""Of a token in `decoupled`."""
MARK = "windows.json"
"""A file of each checkpoint: of which windows it is."""

_has_triton = trl.trainer.utils._use_triton


def _answers_alone(device: torch.device) -> bool:
    """Whether logits are computed for answers alone, not for their prompts as well.

    trl does that where it has Triton, and else not for the sake of compilers, which want equal shapes. Nothing is
    compiled here, and on a CPU a large vocabulary makes it a third of a step.
    """
    return device.type == "cpu" or bool(_has_triton(device))


trl.trainer.utils._use_triton = _answers_alone  # of its kernels another module decides


class MetaGRPOTrainer(GRPOTrainer):  # type: ignore[misc]  # trl is looked at the same whether or not it is installed
    """Trains on windows of samples.

    `windows` are taken one after the other; each is split into steps_per_generation parts of every process. A run that
    is taken up again from a checkpoint goes on with the window after the last one that counted; it must be given the
    same windows, which `digest` tells (worked out from all of them, where it is not given). `entropy` are the weights
    of the entropy in the first and the last window; between them it changes linearly.
    Raises ValueError for settings under which the loss would be another than it says.
    """

    def __init__(
        self,
        model: Any,
        args: GRPOConfig,
        windows: Sequence[Window],
        processing_class: Any,
        correction: Correction = "bypass",
        digest: str | None = None,
        entropy: tuple[float, float] | None = None,
        **more: Any,
    ) -> None:
        if args.loss_type != "dapo":
            raise ValueError(
                f"loss_type is {args.loss_type}: rows that only fill a window weigh nothing with dapo alone"
            )
        if args.use_vllm:
            raise ValueError("use_vllm is on: nothing is generated here")
        super().__init__(
            model=model,
            reward_funcs=_no_reward,
            args=args,
            train_dataset=_placeholder(args),
            processing_class=processing_class,
            **more,
        )
        self._windows = windows
        self._digest = digest_of(windows) if digest is None else digest
        self.idle = False
        """Whether the window at hand has nothing to learn from: its steps change nothing."""
        self._taken: int | None = None
        self._correction = correction
        self._entropy = entropy

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """The next window of this process, padded. Raises ValueError for one that cannot be split."""
        del inputs
        window, processes = self._next(), self.accelerator.num_processes
        parts = self.args.steps_per_generation
        if not window or len(window) % (parts * processes):
            raise ValueError(
                f"a window of {len(window)} rows cannot be split into {parts} parts of {processes} processes"
            )
        self._check(window)
        own = batch(share(window, self.accelerator.process_index, processes), self._pad(), self.accelerator.device)
        tokens = self.accelerator.gather(own.completion_mask_BT.sum()).sum()
        self.idle = not bool(tokens)
        found = {
            "prompt_ids": own.prompt_ids_BP,
            "prompt_mask": own.prompt_mask_BP,
            "completion_ids": own.completion_ids_BT,
            "completion_mask": own.completion_mask_BT,
            "advantages": own.advantages_BT,
            "num_items_in_batch": tokens.clamp(min=1),
        }
        self._correct(own, found)
        if self.beta != 0.0:
            found["ref_per_token_logps"] = self._reference(own)
        self._note(own)
        return found

    def _next(self) -> Window:
        """The next window: at first the one that belongs to the run's step. Raises ValueError for want of one."""
        if self._taken is None:
            steps = self.state.global_step * self.args.gradient_accumulation_steps
            self._taken = steps // (self.args.steps_per_generation * self.num_iterations)
        if self._taken >= len(self._windows):
            step = self.state.global_step + 1
            raise ValueError(f"step {step} wants window {self._taken + 1}, and there are {len(self._windows)}")
        self._taken += 1
        if self._entropy is not None:
            first, last = self._entropy
            self.entropy_coef = first + (last - first) * (self._taken - 1) / max(len(self._windows) - 1, 1)
        return self._windows[self._taken - 1]

    def train(self, resume_from_checkpoint: str | None = None, **more: Any) -> Any:
        """trl's own. Raises ValueError for a checkpoint that is of other windows, or does not say of which."""
        if resume_from_checkpoint is not None:
            file = Path(resume_from_checkpoint) / MARK
            if not file.is_file():
                raise ValueError(f"{resume_from_checkpoint} is no checkpoint of this trainer: there is no {MARK} in it")
            if (found := json.loads(file.read_text(encoding="utf-8")).get("windows")) != self._digest:
                raise ValueError(f"{resume_from_checkpoint} is of windows {found}, and these are {self._digest}")
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **more)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        if self.accelerator.is_main_process:
            folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
            (folder / MARK).write_text(json.dumps({"windows": self._digest}), encoding="utf-8")

    def training_step(self, *given: Any, **more: Any) -> torch.Tensor:
        """trl's own step. Raises RunError for a loss that is no number, before it reaches the weights."""
        loss: torch.Tensor = super().training_step(*given, **more)
        if not bool(torch.isfinite(loss)):
            raise RunError(f"the loss of step {self.state.global_step + 1} is {loss.item()}: nothing was changed by it")
        return loss

    def _check(self, window: Window) -> None:
        """Raises ValueError for samples whose log-probabilities are not what the trainer would make of them."""
        size = self.accelerator.unwrap_model(self.model).get_input_embeddings().num_embeddings
        for one in window:
            if one is None:
                continue
            where = f"match {one.match_id}, episode {one.episode}, turn {one.turn}"
            largest = max([*one.prompt_ids, *one.completion_ids], default=0)
            if largest >= size:
                raise ValueError(f"{where}: token {largest} of another tokenizer; the model has {size}")
            for key, wanted in (("temperature", self.temperature), ("top_p", 1.0), ("top_k", 0)):
                found = one.sampling.get(key, wanted)
                if one.learns and found != wanted:
                    raise ValueError(f"{where}: it was sampled with {key} {found}, and {wanted} is trained with")

    def _correct(self, own: Batch, found: dict[str, torch.Tensor]) -> None:
        """Put in what the ratio of a token is measured against."""
        if self._correction == "none":
            return
        if self._correction == "bypass" and bool(own.known_B1.all()):
            found["old_per_token_logps"] = own.logprobs_BT
            return
        now = self._logps(self.model, own)
        if self._correction == "bypass":
            found["old_per_token_logps"] = torch.where(own.known_B1, own.logprobs_BT, now)
            return
        weight = torch.where(own.known_B1, (now - own.logprobs_BT).exp().clamp(max=MOST_WEIGHT), 1.0)
        found["old_per_token_logps"] = now
        found["advantages"] = own.advantages_BT * torch.where(own.completion_mask_BT > 0, weight, 0.0)

    def _reference(self, own: Batch) -> torch.Tensor:
        """Log-probabilities of the model that the KL term holds on to."""
        if self.ref_model is not None:
            return self._logps(self.ref_model, own)
        model = self.accelerator.unwrap_model(self.model)
        with use_adapter(model, adapter_name="ref" if "ref" in model.peft_config else None):
            return self._logps(self.model, own)

    def _logps(self, model: Any, own: Batch) -> torch.Tensor:
        """(B, T): of the completions, without gradient."""
        with torch.no_grad(), disable_gradient_checkpointing(self.model, self.args.gradient_checkpointing_kwargs):
            found: torch.Tensor = self._get_per_token_logps_and_entropies(
                model,
                torch.cat([own.prompt_ids_BP, own.completion_ids_BT], dim=1),
                torch.cat(
                    [own.prompt_mask_BP, (own.completion_ids_BT != self._pad()) | (own.completion_mask_BT > 0)], 1
                ),
                own.completion_ids_BT.size(1),
                batch_size=max(1, len(own.prompt_ids_BP) // self.args.steps_per_generation),
            )[0]
        return found

    def _note(self, own: Batch) -> None:
        """Metrics of the window, beside trl's own."""
        learning = own.completion_mask_BT.sum(1)
        rows = self.accelerator.gather((learning > 0).sum()).sum().item()
        metrics = self._metrics["train"]
        metrics["samples"].append(rows)
        metrics["completions/mean_length"].append(learning.sum().item() / max(int((learning > 0).sum()), 1))
        metrics["logprobs_recomputed"].append((~own.known_B1[learning > 0]).sum().item())
        metrics["advantage/mean_abs"].append(own.advantages_BT[:, 0].abs().mean().item())

    def _pad(self) -> int:
        pad: int = self.processing_class.pad_token_id
        return pad


def _no_reward(completions: list[Any], **more: Any) -> list[float]:
    """trl wants a reward function; it is never called."""
    return [0.0] * len(completions)


def _placeholder(args: GRPOConfig) -> Dataset:
    """trl wants a dataset; its rows are never looked at."""
    return Dataset.from_dict({"prompt": [""] * args.generation_batch_size})
