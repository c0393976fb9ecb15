"""Which adapters vLLM takes, read from their files before it is started."""

from collections.abc import Iterator
from pathlib import Path

from agents.models import folder
from games.errors import UserError, in_words

RANK = 64
"""Largest rank of an adapter: vLLM keeps as much room for each as for one of this rank."""
LAYERS = (
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "out_proj", "gate_proj", "up_proj", "down_proj", "gate_up_proj",
    "query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h", "c_attn", "c_proj", "c_fc", "fc1", "fc2",
)  # fmt: skip
"""Layers that an adapter may change. The last one of a model, `lm_head`, is not among them: where an adapter may
change it, scores of several answers at once end a vLLM that runs on a CPU."""
_PREFIX = "base_model.model."


def check_adapter(name: str, path: Path, base: Path) -> None:
    """Raise UserError unless the adapter in one folder fits the model in another one, as far as their files tell."""
    said = folder.config(path / folder.ADAPTER_CONFIG)
    rank = said.get("r")
    if not isinstance(rank, int) or not 0 < rank <= RANK:
        raise UserError(f"adapter {name}: its rank r is {rank!r:.20}; backend=vllm takes 1 to {RANK}")
    of_base = {key.removesuffix(".weight"): shape for file in base.glob("*.safetensors") for key, shape in _read(file)}
    for key, shape in _read(path / folder.ADAPTER_WEIGHTS):
        layer, _, part = key.removeprefix(_PREFIX).rpartition(".lora_")
        if part not in ("A.weight", "B.weight") or layer.rpartition(".")[2] not in LAYERS:
            raise UserError(f"adapter {name}: it has {key:.200}; backend=vllm takes plain LoRA of the inner layers")
        side = 1 if part == "A.weight" else 0
        wanted = of_base.get(layer)
        if wanted is not None and (len(shape) != 2 or shape[side] not in wanted):
            raise UserError(
                f"adapter {name}: it is of another base model: its {layer:.200} has size {shape[-2:][side - 2]}, "
                f"the model's {' x '.join(map(str, wanted))}"
            )


def _read(file: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the tensors in a file. Raises UserError."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as opened:
            for key in opened.keys():  # noqa: SIM118 - it is no mapping
                yield key, tuple(opened.get_slice(key).get_shape())
    except (OSError, SafetensorError) as error:
        raise UserError(f"{file} cannot be read: {in_words(error)}") from error
