"""What trl and transformers are told of a run."""

from collections.abc import Sequence

import torch
from transformers.integrations import get_reporting_integration_callbacks
from trl import GRPOConfig

from games.errors import UserError, in_words
from training.config import TrainConfig


def arguments(config: TrainConfig, updates: int, steps: int, temperature: float) -> GRPOConfig:
    """Of a run of so many updates, each of so many optimizer steps, on answers of a temperature."""
    how = config.optimise
    return GRPOConfig(
        output_dir=str(config.folder),
        per_device_train_batch_size=2,
        num_generations=2,
        steps_per_generation=how.minibatches * how.parts,
        gradient_accumulation_steps=how.parts,
        num_iterations=how.passes,
        max_steps=max(updates, 1) * steps,
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
        temperature=temperature,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        gradient_checkpointing=False,
        save_strategy="steps",
        save_steps=config.save.every * steps,
        logging_steps=steps,
        logging_first_step=False,
        report_to=list(config.report_to),
        disable_tqdm=True,
        seed=config.seed % 2**32,
        dataloader_pin_memory=False,
    )


def check_loggers(names: Sequence[str]) -> None:
    """Raises UserError for a logger that transformers does not have, or whose package is not installed."""
    for name in names:
        try:
            for logger in get_reporting_integration_callbacks([name]):
                logger()
        except (ValueError, KeyError, RuntimeError, ImportError) as error:
            raise UserError(f"report_to: {name}: {in_words(error, kind=False)}") from error
