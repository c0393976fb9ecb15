"""A process's share of a window as tensors: prompts padded on the left, completions on the right.

Shapes carry letters: B rows, P tokens of the longest prompt, T of the longest completion.
"""

from collections.abc import Sequence
from itertools import chain
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
    filler = (pad,)
    answers = [row.completion_ids if row else filler for row in rows]
    known = [bool(row and row.logprobs is not None) for row in rows]
    logprobs = [row.logprobs if row and row.logprobs is not None else [0.0] * len(answer)
                for row, answer in zip(rows, answers, strict=True)]  # fmt: skip
    learns = torch.tensor([bool(row and row.learns) for row in rows])[:, None]
    advantages = torch.tensor([row.advantage if row else 0.0 for row in rows], dtype=torch.float32)
    prompt_ids_BP, prompt_mask_BP = _padded([row.prompt_ids if row else filler for row in rows], pad, left=True)  # noqa: N806
    completion_ids_BT, there_BT = _padded(answers, pad, left=False)  # noqa: N806
    made = Batch(
        prompt_ids_BP,
        prompt_mask_BP.long(),
        completion_ids_BT,
        (there_BT & learns).long(),
        advantages[:, None].expand(completion_ids_BT.shape).clone(),
        _padded(logprobs, 0.0, left=False)[0],
        torch.tensor(known)[:, None],
    )
    return Batch(*[part.to(device) for part in made])


def _padded(rows: Sequence[Sequence[float]], fill: float, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows filled up to the longest, and where there was something; (rows, longest) each."""
    lengths = torch.tensor([len(row) for row in rows])[:, None]
    width = int(lengths.max())
    places = torch.arange(width)
    there = places >= width - lengths if left else places < lengths
    values = torch.tensor(list(chain.from_iterable(rows)))
    padded = torch.full(there.shape, fill, dtype=values.dtype)
    padded[there] = values  # row by row, as they come
    return padded, there
