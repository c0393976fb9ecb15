"""Which dtype weights are computed in where none is named."""

import torch

from agents.models.source import Dtype

_IN_BFLOAT16 = ("avx512_bf16", "amx_bf16")
"""Instructions without which a CPU takes several times as long in bfloat16 as in float32."""


def precision(dtype: Dtype) -> torch.dtype:
    """The dtype of that name; `auto` is bfloat16 on a GPU and on a CPU that computes in it, else float32."""
    if dtype != "auto":
        named: torch.dtype = getattr(torch, dtype)
        return named
    able = torch.cpu.get_capabilities()
    quick = torch.cuda.is_available() or any([able.get(instructions) for instructions in _IN_BFLOAT16])
    return torch.bfloat16 if quick else torch.float32
