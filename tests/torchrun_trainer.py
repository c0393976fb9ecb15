"""Train a few windows, alone or under torchrun, and write the weights: python torchrun_trainer.py MODEL OUT ROWS"""

import os
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig

from tests.test_trainer import sample
from training.trainer import MetaGRPOTrainer
from training.windows import Shape, windows


def main() -> None:
    """The windows are the same for any number of processes; the last one is not full, and some rows teach nothing."""
    folder, out, rows = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    samples = []
    for number in range(21):
        answer = [7 + number] * (1 + number % 4)
        logprobs = None if number % 7 == 3 else [-1.5] * len(answer)
        made = sample(number, [5 + number] * (1 + number % 5), answer, (-1.0) ** number * (1 + number))
        samples.append(made._replace(learns=number % 6 != 5, logprobs=logprobs))
    given = windows(samples, Shape(rows, processes), seed=4)
    args = GRPOConfig(
        output_dir=str(out / "trainer"), per_device_train_batch_size=rows, num_generations=2, steps_per_generation=1,
        gradient_accumulation_steps=1, max_steps=len(given), learning_rate=0.05, lr_scheduler_type="constant",
        optim="sgd", loss_type="dapo", beta=0.05, use_cpu=True, bf16=False, temperature=1.0, report_to=[],
        save_strategy="no", max_grad_norm=0.0, seed=3, disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    trainer = MetaGRPOTrainer(model, args, given, AutoTokenizer.from_pretrained(folder), "decoupled")
    trainer.train()
    if trainer.accelerator.is_main_process:
        plain = trainer.accelerator.unwrap_model(trainer.model).state_dict()
        save_file({name: part.clone() for name, part in plain.items()}, out / f"weights-{processes}.safetensors")


if __name__ == "__main__":
    main()
