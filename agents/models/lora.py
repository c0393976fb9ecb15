"""LoRA adapters of PEFT on a base model: which are taken, whether they fit it, and how they are put on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import peft
import torch
from peft.utils.save_and_load import set_peft_model_state_dict
from safetensors import SafetensorError
from safetensors.torch import load_file

from agents.models import folder
from games.errors import UserError, in_words

_KEPT = (
    "r", "lora_alpha", "target_modules", "exclude_modules", "rank_pattern", "alpha_pattern", "use_rslora",
    "layers_to_transform", "layers_pattern", "fan_in_fan_out",
)  # fmt: skip
"""Settings of an adapter that change what it computes and that several adapters of one batch may have."""
_IDLE = (
    "peft_type", "task_type", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout", "peft_version",
    "megatron_core", "loftq_config", "qalora_group_size", "runtime_config", "ensure_weight_tying", "auto_mapping",
)  # fmt: skip
"""Settings that change nothing once an adapter is trained."""
_START = ("lora_A.weight", "lora_B.weight")
_PREFIX = "base_model.model."


def add_adapter(model: Any, name: str, path: Path, called: str, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """Put the adapter of a folder on a model; gives the model to use from then on.

    `shapes` are those of the base model's matrices. Raises UserError for an adapter of another base or another kind;
    the model is then as it was.
    """
    config = _config(name, folder.config(path / folder.ADAPTER_CONFIG))
    try:
        tensors = load_file(path / folder.ADAPTER_WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise UserError(f"adapter {name}: its weights cannot be read: {in_words(error)}") from error
    _fits(name, tensors, shapes)
    try:
        with torch.random.fork_rng(devices=[]):  # PEFT draws weights that are then replaced
            if isinstance(model, peft.PeftModel):
                model.add_adapter(called, config)
            else:
                model = peft.get_peft_model(model, config, adapter_name=called)
            loaded = set_peft_model_state_dict(model, tensors, adapter_name=called)
    except (ValueError, RuntimeError, KeyError) as error:
        raise UserError(f"adapter {name}: it does not fit the model: {in_words(error)}") from error
    if loaded.unexpected_keys:
        raise UserError(f"adapter {name}: its config leaves out what its weights have, as {loaded.unexpected_keys[0]}")
    return model.eval()


def _config(name: str, said: Mapping[str, Any]) -> Any:
    """Only plain LoRA runs beside other adapters in one batch, and a config is a stranger's: nothing else is taken."""
    if said.get("peft_type") != "LORA":
        raise UserError(f"adapter {name}: peft_type = {said.get('peft_type')!r}; only LORA can be used")
    neutral = {"init_lora_weights": (True, False, "gaussian"), "bias": ("none",)}
    for key, value in said.items():
        if key not in (*_KEPT, *_IDLE) and value not in (None, False, *neutral.get(key, ())) and value != {}:
            raise UserError(f"adapter {name}: {key} = {value!r:.60} cannot be used here; only plain LoRA can")
    try:
        return peft.LoraConfig(**{key: said[key] for key in _KEPT if key in said}, task_type="CAUSAL_LM")
    except (TypeError, ValueError) as error:
        raise UserError(f"adapter {name}: its config cannot be read: {in_words(error)}") from error


def _fits(name: str, tensors: Mapping[str, torch.Tensor], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise UserError unless each pair of an adapter's matrices has the shape of a matrix of the base model."""
    for key, up in tensors.items():
        module, _, part = key.removeprefix(_PREFIX).rpartition(".lora_")
        if f"lora_{part}" not in _START or up.dim() != 2:
            raise UserError(f"adapter {name}: it has {key}, and only plain LoRA can be used")
        down = tensors.get(key.replace(".lora_B.", ".lora_A."))
        if part == "A.weight" or down is None:
            continue
        if module not in shapes:
            raise UserError(f"adapter {name}: it is of another base model: this one has no {module}")
        of = (up.shape[0], down.shape[1])
        if shapes[module] not in (of, of[::-1]):
            raise UserError(
                f"adapter {name}: it is of another base model: its {module} is {of[0]} x {of[1]}, "
                f"the model's {' x '.join(map(str, shapes[module]))}"
            )
