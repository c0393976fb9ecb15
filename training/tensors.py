"""A process's share of a window as tensors: prompts padded on the left, completions on the right.

Shapes carry letters: B rows, P tokens of the longest prompt, T of the longest completion.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from training.windows import Window


class Batch(NamedTuple):
    """Rows that are padded; a row without a sample, or of one that teaches nothing, has a completion mask of zeros."""

    prompt_ids_BP: torch.Tensor  # noqa: N815 - the shape
    prompt_mask_BP: torch.Tensor  # noqa: N815
    completion_ids_BT: torch.Tensor  # noqa: N815
    completion_mask_BT: torch.Tensor  # noqa: N815
    advantages_BT: torch.Tensor  # noqa: N815
    logprobs_BT: torch.Tensor  # noqa: N815
    """As they were sampled; 0 where they are not known."""
    known_B1: torch.Tensor  # noqa: N815
    """Whether they are known."""


def batch(rows: Window, pad: int, device: torch.device | str = "cpu") -> Batch:
    """Tensors of some rows; `pad` is the token that fills."""
    prompts = [list(row.prompt_ids) if row else [pad] for row in rows]
    answers = [list(row.completion_ids) if row else [pad] for row in rows]
    learns = [bool(row and row.learns) for row in rows]
    known = [bool(row and row.logprobs is not None) for row in rows]
    logprobs = [list(row.logprobs) if row and row.logprobs is not None else [0.0] * len(answer)
                for row, answer in zip(rows, answers, strict=True)]  # fmt: skip
    mask = [[int(learn)] * len(answer) for learn, answer in zip(learns, answers, strict=True)]
    advantages = torch.tensor([row.advantage if row else 0.0 for row in rows], dtype=torch.float32, device=device)
    answers_BT = _right(answers, pad, device)  # noqa: N806
    return Batch(
        _left(prompts, pad, device),
        _left([[1] * len(prompt) for prompt in prompts], 0, device),
        answers_BT,
        _right(mask, 0, device),
        advantages[:, None].expand(answers_BT.shape).clone(),
        _right(logprobs, 0.0, device),
        torch.tensor(known, device=device)[:, None],
    )


def _right(rows: Sequence[Sequence[float]], fill: float, device: torch.device | str) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


def _left(rows: Sequence[Sequence[int]], fill: int, device: torch.device | str) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*[fill] * (width - len(row)), *row] for row in rows], device=device)
