"""What an update takes beyond trl's own step on the same tokens, and whether memory stays flat over 500 of them."""

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from benchmarks.table import Figure, Goal, Row

ROWS, PROMPT, ANSWER, STEPS = 512, 40, 4, 12
SIZES = {"2 layers of 64": (2, 64), "6 layers of 256": (6, 256)}
UPDATES, FROM = 500, 100


def rows(runs: int) -> list[Row]:
    """Time of a step with and without what precedes trl's, and memory of a run."""
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for name, size in SIZES.items():
            model = _model(Path(folder) / name.replace(" ", "-"), *size)
            pairs = [(_seconds(model, Path(folder), anew=True), _seconds(model, Path(folder), anew=False))
                     for _ in range(runs)]  # fmt: skip
            ours, theirs = median([pair[0] for pair in pairs]), median([pair[1] for pair in pairs])
            table.append(
                Row(
                    f"an update of {ROWS} answers, {name}",
                    Figure(ours, "s"),
                    "trl's own step on the same tensors",
                    Figure(theirs, "s"),
                    Goal(1.15, at_least=False, of_ratio=True),
                )
            )
        table.append(
            Row(
                f"memory of a run, update {UPDATES} above update {FROM}",
                Figure(_grown(Path(folder)), "MiB"),
                goal=Goal(16.0, at_least=False),
            )
        )
    return table


def _model(folder: Path, layers: int, hidden: int) -> Path:
    from agents.models import tiny

    tiny.build(folder, {f"line {number}": 9 for number in range(200)}, ["a", "b", "c"], tiny.Size(layers, hidden), 0)
    return folder


def _seconds(folder: Path, out: Path, anew: bool) -> float:
    """Median seconds of an optimizer step; `anew`: each window is put into tensors, else it is always the first one."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
    from trl import GRPOConfig

    from agents.models.weights import quiet
    from training.trainer import MetaGRPOTrainer

    class Kept(MetaGRPOTrainer):
        kept: Any = None

        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
            if self.kept is None or anew:
                self.kept = super()._generate_and_score_completions(inputs)
            return {key: value.clone() for key, value in self.kept.items()}

    class Clock(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.ends: list[float] = []

        def on_step_end(self, *given: Any, **more: Any) -> None:
            self.ends.append(time.perf_counter())

    torch.set_num_threads(1)
    clock = Clock()
    with quiet():
        args = GRPOConfig(
            output_dir=str(out / "out"), per_device_train_batch_size=2, num_generations=2, steps_per_generation=1,
            gradient_accumulation_steps=1, max_steps=STEPS, loss_type="dapo", beta=0.0, use_cpu=True, bf16=False,
            report_to=[], save_strategy="no", logging_steps=STEPS, disable_tqdm=True, gradient_checkpointing=False,
        )  # fmt: skip
        made = Kept(
            AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), args, [_window()] * STEPS,
            AutoTokenizer.from_pretrained(folder), callbacks=[clock],
        )  # fmt: skip
        made.remove_callback(PrinterCallback)
        made.train()
    return median([after - before for before, after in zip(clock.ends, clock.ends[1:], strict=False)])


def _window() -> list[Any]:
    from training.samples import Sample

    return [
        Sample(
            prompt_ids=[5 + (number * place) % 190 for place in range(PROMPT)], completion_ids=[7] * ANSWER,
            logprobs=[-5.0] * ANSWER, advantage=1.0 - 2.0 * (number % 2), learns=True, phase="play",
            match_id=f"m{number}", episode=1, turn=0, attempt=0, seat=0, game="g", opponents=(), group=0, anchor="",
            reward=0.0, penalty=0.0, returns=0.0, fault=None, finish_reason="stop", agent="a", fingerprint="f",
            model="m", sampling={"temperature": 1.0, "top_p": 1.0, "top_k": 0},
        )
        for number in range(ROWS)
    ]  # fmt: skip


def _grown(folder: Path) -> float:
    """MiB by which the memory of this process grows in a run, once it has settled."""
    import psutil

    from training.config import TrainConfig
    from training.loop import Notices, run

    process, seen = psutil.Process(), dict[int, float]()

    def tell(reached: Any) -> None:
        if reached.metrics:
            seen[reached.update] = process.memory_info().rss / (1 << 20)

    config = TrainConfig.model_validate(
        {
            "name": "memory",
            "game": "matrix_rps",
            "out": str(folder / "memory"),
            "match": {"episodes": 3},
            "opponents": [{"agent": "biased(weights=[28,1,1])"}],
            "groups": {"count": 4, "size": 4},
            "rewards": {"kind": "return"},
            "optimise": {"updates": UPDATES},
            "evaluate": {"every": UPDATES, "matches": 1},
            "save": {"every": 100},
        }
    )
    run(config, None, Notices(tell, lambda line: None), Event())
    shutil.rmtree(folder / "memory")
    return seen[UPDATES] - seen[FROM]
