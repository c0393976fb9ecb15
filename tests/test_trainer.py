"""The trainer: what it replaces of trl is as trl expects it, and its gradient is that of the clipped loss by hand."""

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

import torch
import trl.trainer.utils
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from games.errors import RunError
from training.samples import Sample
from training.tensors import batch
from training.trainer import MOST_WEIGHT, MetaGRPOTrainer
from training.windows import Shape, Window, share, windows


def sample(number: int, prompt: Sequence[int], answer: Sequence[int], advantage: float, **fields: Any) -> Sample:
    """A sample of some tokens."""
    made = Sample(
        prompt_ids=prompt, completion_ids=answer, logprobs=[-1.0] * len(answer), advantage=advantage, learns=True,
        phase="play", match_id=f"m{number:03}", episode=1, turn=number, attempt=0, seat=0, game="kuhn_poker",
        opponents=("random",), group=0, anchor="", reward=0.0, penalty=0.0, returns=0.0, fault=None,
        finish_reason="stop", agent="learner", fingerprint="f", model="tiny", sampling={},
    )  # fmt: skip
    return made._replace(**fields)


SAMPLES = [
    sample(0, [5, 6, 7], [8, 9], 1.5),
    sample(1, [5], [10, 11, 12, 13], -2.0),
    sample(2, [5, 6, 7, 8, 9], [14], 0.5),
    sample(3, [7, 7], [15, 16, 17], 3.0, learns=False),
    sample(4, [9, 8], [18, 4], -0.25, logprobs=None),
]


def trainer(folder: Path, out: Path, given_: Sequence[Window], **settings: Any) -> MetaGRPOTrainer:
    saved = settings.pop("saved", 0)
    own = {key: settings.pop(key) for key in ("correction", "peft_config", "callbacks") if key in settings}
    args = GRPOConfig(
        output_dir=str(out), per_device_train_batch_size=settings.pop("rows", 6), num_generations=2,
        steps_per_generation=settings.pop("steps", 1), gradient_accumulation_steps=settings.pop("accumulate", 1),
        max_steps=settings.pop("max_steps", len(given_)), learning_rate=1e-2, loss_type="dapo",
        beta=settings.pop("beta", 0.0), use_cpu=True, bf16=False,
        temperature=1.0, report_to=[],
        save_strategy="steps" if saved else "no", save_steps=saved or 500, logging_steps=1,
        max_grad_norm=0.0, seed=3, **settings,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return MetaGRPOTrainer(model, args, given_, tokenizer, **own)


@pytest.fixture
def model_folder(folders: Path) -> Path:
    return folders / "m"


def logps(model: Any, one: Sample) -> torch.Tensor:
    """Log-probabilities of an answer, without padding."""
    ids = torch.tensor([[*one.prompt_ids, *one.completion_ids]])
    logits = model(ids).logits[0, len(one.prompt_ids) - 1 : -1].float()
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(one.completion_ids)[:, None])[:, 0]


def by_hand(model: Any, samples: Sequence[Sample], old: str, epsilon: float = 0.2) -> torch.Tensor:
    """The token mean of the clipped loss over the samples that teach something."""
    total, tokens = torch.tensor(0.0), 0
    for one in samples:
        if not one.learns:
            continue
        now, advantage = logps(model, one), torch.full((len(one.completion_ids),), one.advantage)
        stored = torch.tensor(one.logprobs) if one.logprobs is not None else now.detach()
        if old == "decoupled":
            advantage = advantage * (now.detach() - stored).exp().clamp(max=MOST_WEIGHT)
        ratio = (now - (stored if old == "bypass" else now.detach())).exp()
        total = total - torch.min(ratio * advantage, ratio.clamp(1 - epsilon, 1 + epsilon) * advantage).sum()
        tokens += len(one.completion_ids)
    return total / tokens


def gradients(model: Any) -> dict[str, torch.Tensor]:
    return {name: part.grad.clone() for name, part in model.named_parameters() if part.grad is not None}


def gradient_of(made: MetaGRPOTrainer, steps: int) -> dict[str, torch.Tensor]:
    """What one optimizer step of the trainer has accumulated."""
    model = made.model.train()
    made.current_gradient_accumulation_steps = steps
    for _ in range(steps):
        made.training_step(model, [{"prompt": ""}], None)
    return gradients(made.accelerator.unwrap_model(model))


def test_what_is_replaced_has_the_signature_that_trl_calls() -> None:
    ours = inspect.signature(MetaGRPOTrainer._generate_and_score_completions)
    theirs = inspect.signature(GRPOTrainer._generate_and_score_completions)
    assert list(ours.parameters) == list(theirs.parameters) == ["self", "inputs"]
    source = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    for key in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages", "num_items_in_batch",
                "old_per_token_logps", "ref_per_token_logps"):  # fmt: skip
        assert f'"{key}"' in source, f"trl no longer hands over {key}"


@pytest.mark.parametrize("correction", ["none", "bypass", "decoupled"])
@pytest.mark.parametrize("filling", [0, 3])
def test_the_gradient_is_that_of_the_clipped_loss_by_hand(
    model_folder: Path, tmp_path: Path, correction: Any, filling: int
) -> None:
    window: Window = [*SAMPLES, *[None] * (1 + filling)]
    made = trainer(model_folder, tmp_path, [window], correction=correction, rows=len(window) + len(window) % 2)
    if len(window) % 2:
        made._windows = [[*window, None]]
    found = gradient_of(made, 1)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    by_hand(model, SAMPLES, correction).backward()
    expected = gradients(model)
    assert found.keys() == expected.keys()
    assert max(float(part.abs().max()) for part in expected.values()) > 1e-3
    for name, part in expected.items():
        assert torch.allclose(found[name], part, atol=2e-6), name


def test_a_window_over_several_steps_is_the_same_gradient(model_folder: Path, tmp_path: Path) -> None:
    window: Window = [*SAMPLES, None]
    whole = gradient_of(trainer(model_folder, tmp_path, [window], rows=6), 1)
    parts = gradient_of(trainer(model_folder, tmp_path, [window], rows=2, steps=3, accumulate=3), 3)
    for name, part in whole.items():
        assert torch.allclose(parts[name], part, atol=2e-6), name


def test_logits_are_computed_for_answers_and_not_for_their_prompts(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a large vocabulary the logits of prompts would be a third of a step on a CPU."""
    real, seen = trl.trainer.utils._ChunkedLogProbFunction, list[int]()

    class Watched:
        @staticmethod
        def apply(hidden: torch.Tensor, *more: Any) -> Any:
            seen.append(len(hidden))
            return real.apply(hidden, *more)

    monkeypatch.setattr(trl.trainer.utils, "_ChunkedLogProbFunction", Watched)
    gradient_of(trainer(model_folder, tmp_path, [[*SAMPLES, None]], correction="none", rows=6), 1)
    assert seen == [sum([len(one.completion_ids) for one in SAMPLES if one.learns])]


def test_training_makes_good_answers_likelier_and_bad_ones_less(model_folder: Path, tmp_path: Path) -> None:
    good, bad = sample(0, [5, 6], [8, 9], 1.0, logprobs=None), sample(1, [5, 6], [10, 11], -1.0, logprobs=None)
    made = trainer(model_folder, tmp_path, [[good, bad]] * 8, rows=2, correction="none")
    before = [float(logps(made.model, one).sum().detach()) for one in (good, bad)]
    made.train()
    after = [float(logps(made.model, one).sum().detach()) for one in (good, bad)]
    assert after[0] > before[0] + 0.5
    assert after[1] < before[1] - 0.5
    logged = [line for line in made.state.log_history if "samples" in line]
    assert len(logged) == 8
    assert {line["samples"] for line in logged} == {2.0}


@pytest.mark.parametrize("beta", [0.0, 10.0])
def test_the_reference_holds_the_model_back(model_folder: Path, tmp_path: Path, beta: float) -> None:
    one, other = sample(0, [5, 6], [8, 9], 1.0, logprobs=None), sample(1, [5, 6], [10, 11], -1.0, logprobs=None)
    made = trainer(model_folder, tmp_path, [[one, other]] * 6, rows=2, correction="none", beta=beta)
    before = float(logps(made.model, one).sum().detach())
    made.train()
    gained = float(logps(made.model, one).sum().detach()) - before
    assert (gained < 0.5) == (beta > 0)


def test_a_lora_adapter_is_trained_and_the_base_stays(model_folder: Path, tmp_path: Path) -> None:
    from peft import LoraConfig

    one, other = sample(0, [5, 6], [8, 9], 1.0), sample(1, [5, 6], [10, 11], -1.0)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    made = trainer(model_folder, tmp_path, [[one, other]] * 3, rows=2, peft_config=config, beta=0.1)
    before = {name: part.clone() for name, part in made.model.named_parameters()}
    made.train()
    moved = {name for name, part in made.model.named_parameters() if not torch.equal(part, before[name])}
    assert moved
    assert all("lora" in name for name in moved)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"loss_type": "grpo"}, "loss_type is grpo"), ({"loss_type": "dr_grpo"}, "loss_type is dr_grpo")],
)
def test_settings_under_which_the_loss_would_be_another_are_refused(
    model_folder: Path, tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    args = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to=[], **settings)
    with pytest.raises(ValueError, match=words):
        MetaGRPOTrainer(None, args, [], None)


def test_a_window_of_another_size_is_refused(model_folder: Path, tmp_path: Path) -> None:
    made = trainer(model_folder, tmp_path, [SAMPLES[:3]], rows=2, steps=2)
    with pytest.raises(ValueError, match="a window of 3 rows cannot be split into 2 parts of 1 processes"):
        made.train()


class Stop(TrainerCallback):  # type: ignore[misc]
    """Ends a run after some steps, as a person would."""

    def __init__(self, after: int) -> None:
        self.after = after

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        control.should_training_stop = state.global_step >= self.after


@pytest.mark.parametrize(("steps", "accumulate"), [(1, 1), (2, 2), (1, 2)])
def test_a_run_that_is_taken_up_again_ends_with_the_same_weights(
    model_folder: Path, tmp_path: Path, steps: int, accumulate: int
) -> None:
    samples = [one._replace(match_id=f"{number}{one.match_id}") for number in range(5) for one in SAMPLES]
    given_ = windows(samples, Shape(2 * steps), seed=1)
    total = len(given_) * steps // accumulate
    how: dict[str, Any] = {"rows": 2, "steps": steps, "accumulate": accumulate, "max_steps": total, "saved": 2}
    whole = trainer(model_folder, tmp_path / "whole", given_, **how)
    whole.train()
    first = trainer(model_folder, tmp_path / "parts", given_, callbacks=[Stop(2)], **how)
    first.train()
    second = trainer(model_folder, tmp_path / "parts", given_, **how)
    second.train(resume_from_checkpoint=str(tmp_path / "parts" / "checkpoint-2"))
    assert second.state.global_step == total
    for (name, part), (_, other) in zip(whole.model.named_parameters(), second.model.named_parameters(), strict=True):
        assert torch.equal(part, other), name


def test_a_run_is_taken_up_on_its_own_windows_alone(model_folder: Path, tmp_path: Path) -> None:
    given_: list[Window] = [SAMPLES[:2]] * 4
    trainer(model_folder, tmp_path, given_, rows=2, saved=2).train()
    other = trainer(model_folder, tmp_path, [SAMPLES[:2], SAMPLES[1:3], *given_[2:]], rows=2)
    with pytest.raises(ValueError, match=r"checkpoint-2 is of windows \w+, and these are"):
        other.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    (tmp_path / "checkpoint-2" / "windows.json").unlink()
    with pytest.raises(ValueError, match=r"is no checkpoint of this trainer: there is no windows\.json in it"):
        other.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))


def test_a_step_without_a_window_is_an_error(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="step 2 wants window 2, and there are 1"):
        trainer(model_folder, tmp_path, [SAMPLES[:2]], rows=2, max_steps=3).train()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"completion_ids": [3, 10**6]}, "match m000, episode 1, turn 0: token 1000000 of another tokenizer"),
        ({"prompt_ids": [10**6]}, "token 1000000 of another tokenizer"),
        ({"sampling": {"temperature": 0.7}}, "sampled with temperature 0.7, and 1.0 is trained with"),
        ({"sampling": {"temperature": 1.0, "top_p": 0.9}}, "sampled with top_p 0.9, and 1.0 is trained with"),
        ({"sampling": {"top_k": 20}}, "sampled with top_k 20, and 0 is trained with"),
    ],
)
def test_samples_that_the_trainer_would_weigh_wrongly_are_refused(
    model_folder: Path, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    wrong = SAMPLES[0]._replace(**fields, logprobs=None)
    made = trainer(model_folder, tmp_path, [[wrong, SAMPLES[1]]], rows=2)
    with pytest.raises(ValueError, match=words):
        made.train()


def test_a_loss_that_is_no_number_changes_no_weight(model_folder: Path, tmp_path: Path) -> None:
    made = trainer(model_folder, tmp_path, [[SAMPLES[0]._replace(advantage=float("nan")), SAMPLES[1]]], rows=2)
    before = {name: part.clone() for name, part in made.model.named_parameters()}
    with pytest.raises(RunError, match="the loss of step 1 is nan: nothing was changed by it"):
        made.train()
    assert all(torch.equal(part, before[name]) for name, part in made.model.named_parameters())


# Windows


def drawn() -> st.SearchStrategy[list[Sample]]:
    lengths = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=30)
    return lengths.map(lambda pairs: [sample(number, [1] * a, [2] * b, 1.0) for number, (a, b) in enumerate(pairs)])


@given(drawn(), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99), st.randoms(use_true_random=False))
def test_each_sample_is_in_one_window_whatever_the_order_and_the_processes(
    samples: list[Sample], rows: int, processes: int, seed: int, order: Any
) -> None:
    found = windows(samples, Shape(rows, processes), seed)
    assert all(len(window) == rows * processes for window in found)
    there = [one for window in found for one in window if one is not None]
    assert sorted(one.match_id for one in there) == sorted(one.match_id for one in samples)
    assert len(found) == -(-len(samples) // (rows * processes))
    mixed = list(samples)
    order.shuffle(mixed)
    assert windows(mixed, Shape(rows, processes), seed) == found
    for window in found:
        shares = [share(window, process, processes) for process in range(processes)]
        assert sorted(map(str, [one for part in shares for one in part])) == sorted(map(str, window))
        assert {len(part) for part in shares} == {rows}


@given(drawn())
def test_windows_hold_samples_of_like_length(samples: list[Sample]) -> None:
    def spans() -> Iterator[tuple[int, int]]:
        for window in windows(samples, Shape(4), 0):
            lengths = [len(one.prompt_ids) + len(one.completion_ids) for one in window if one]
            yield min(lengths), max(lengths)

    ordered = sorted(spans())
    assert all(high <= low for (_, high), (low, _) in pairwise(ordered))


@pytest.mark.parametrize("shape", [Shape(0), Shape(2, 0), Shape(-1)])
def test_a_window_needs_a_row_and_a_process(shape: Shape) -> None:
    with pytest.raises(ValueError, match="at least"):
        windows(SAMPLES, shape, 0)


def test_rows_are_padded_outwards_and_what_teaches_nothing_is_masked() -> None:
    found = batch([*SAMPLES[:2], SAMPLES[3], None], pad=0)
    assert found.prompt_ids_BP.tolist() == [[5, 6, 7], [0, 0, 5], [0, 7, 7], [0, 0, 0]]
    assert found.prompt_mask_BP.tolist() == [[1, 1, 1], [0, 0, 1], [0, 1, 1], [0, 0, 1]]
    assert found.completion_ids_BT.tolist() == [[8, 9, 0, 0], [10, 11, 12, 13], [15, 16, 17, 0], [0, 0, 0, 0]]
    assert found.completion_mask_BT.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [0] * 4, [0] * 4]
    assert found.advantages_BT[:, 0].tolist() == [1.5, -2, 3, 0]
    assert found.known_B1[:, 0].tolist() == [True, True, True, False]


@pytest.mark.slow
def test_two_processes_train_the_same_weights_as_one(model_folder: Path, tmp_path: Path) -> None:
    """With windows that are not full and rows that teach nothing, which fall to the processes unevenly."""
    root = Path(__file__).parent.parent
    script = [str(root / "tests" / "torchrun_trainer.py"), str(model_folder), str(tmp_path)]
    alone = [sys.executable, *script, "8"]
    together = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", *script, "4"]
    for command in (alone, together):
        done = subprocess.run(
            command, cwd=root, env={**os.environ, "PYTHONPATH": str(root), "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
    one, two = (load_file(tmp_path / f"weights-{count}.safetensors") for count in (1, 2))
    before = load_file(model_folder / "model.safetensors")
    moved = max(float((one[name] - before[name]).abs().max()) for name in before if name in one)
    apart = max(float((one[name] - two[name]).abs().max()) for name in one)
    assert moved > 1e-3
    assert apart < 1e-6
