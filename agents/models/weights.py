"""A model of transformers with its tokenizer and adapters, loaded once a process for each folder and dtype."""

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from safetensors import SafetensorError
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from agents.models import folder
from agents.models.chat import Chat
from agents.models.lora import add_adapter
from agents.models.precision import precision
from agents.models.sampling import Vocabulary
from agents.models.source import Dtype
from games.errors import UserError, in_words

BASE = "__base__"
"""What PEFT calls a row without an adapter."""
_BROKEN = (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, ImportError, SafetensorError)
"""What transformers raises for folders that it cannot load."""


class _Key(NamedTuple):
    folder: Path
    digest: str
    dtype: torch.dtype


class Weights:
    """A base model, ready to compute, and the adapters on it. All but `of` is for the thread that computes."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        """`model` stays where it is, and may be trained between batches. Raises UserError if it is no chat model."""
        self.name = name
        self.model = model
        self.device: torch.device = model.device
        self.chat = Chat(name, tokenizer)
        self.vocabulary = _vocabulary(self.model, tokenizer, self.chat)
        config = self.model.config.get_text_config()
        self.context: int | None = getattr(config, "max_position_embeddings", None)
        self.token_bytes = _token_bytes(config, self.model.dtype.itemsize)
        """Bytes that keys and values of one token take."""
        self.shapes = _shapes(self.model)
        self._adapters: dict[tuple[Path, str], str] = {}

    @staticmethod
    def of(name: str, path: Path, dtype: Dtype) -> "Weights":
        """The weights in a folder, loaded unless they are already.

        Raises UserError for a folder that transformers cannot load as a chat model.
        """
        key = _Key(path, folder.digest(path), precision(dtype))
        with _LOADING:
            if key not in _LOADED:
                model, tokenizer = load(name, path, key.dtype)
                model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
                _LOADED[key] = Weights(name, model, tokenizer)
                # What the folder says of sampling is not what was asked for: temperature, penalties, suppressed tokens.
                model.generation_config = transformers.GenerationConfig()
            return _LOADED[key]

    def adapter(self, name: str, path: Path) -> str:
        """What PEFT calls the adapter in a folder, loaded unless it is already. Raises UserError if it does not fit."""
        key = (path, folder.digest(path))
        if key not in self._adapters:
            called = f"adapter{len(self._adapters)}"
            with quiet():
                self.model = add_adapter(self.model, name, path, called, self.shapes)
            self._adapters[key] = called
        return self._adapters[key]

    @property
    def layers(self) -> Sequence[torch.nn.Module]:
        """What a pass goes through one after the other: the longest list of modules."""
        lists = [module for module in self.model.modules() if isinstance(module, torch.nn.ModuleList)]
        return list(max(lists, key=len, default=()))

    @property
    def has_adapters(self) -> bool:
        """Whether the model's layers are PEFT's."""
        return bool(self._adapters)


_LOADED: dict[_Key, Weights] = {}
_LOADING = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the bars and hints of transformers off the terminal."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load(name: str, path: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Model and tokenizer of a folder; nothing in the folder is run.

    Raises UserError for one that transformers cannot load as a chat model.
    """
    with quiet():
        return _loaded(name, path, dtype)


def _loaded(name: str, path: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    settings = folder.config(path / "config.json")
    kind = settings.get("model_type")
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        if "auto_map" in settings:
            raise UserError(f"model {name}: it needs code of its own (auto_map), which is not run")
        raise UserError(f"model {name}: model_type = {kind!r} is none that writes text")
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **safe)
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            use_safetensors=True,
            attn_implementation="sdpa",
            output_loading_info=True,
            **safe,
        )
    except _BROKEN as error:
        raise UserError(f"model {name}: transformers cannot load it: {in_words(error)}") from error
    if wrong := [*report["missing_keys"], *report["mismatched_keys"]]:
        raise UserError(f"model {name}: its safetensors do not fit its config.json, as in {wrong[0]}")
    if len(tokenizer) > (rows := model.get_input_embeddings().weight.shape[0]):
        raise UserError(f"model {name}: its tokenizer has {len(tokenizer)} tokens, its weights {rows}")
    return model, tokenizer


def _vocabulary(model: Any, tokenizer: Any, chat: Chat) -> Vocabulary:
    """Tokens that end answers are those of the tokenizer, the config and the generation config together."""
    ends: set[int] = set()
    for said in (tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id):
        ends.update(said if isinstance(said, list) else [] if said is None else [said])
    if not ends:
        raise UserError(f"model {chat.name}: neither its tokenizer nor its config names the token that ends an answer")
    end = tokenizer.eos_token_id if tokenizer.eos_token_id in ends else min(ends)
    pad = tokenizer.pad_token_id
    return Vocabulary(frozenset(ends), end, end if pad is None else pad, chat.text)


def _token_bytes(config: Any, size: int) -> int:
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * size)


def _shapes(model: Any) -> Mapping[str, tuple[int, ...]]:
    """Shapes of the matrices that an adapter may change, by the names of their modules."""
    modules = [(name, getattr(module, "weight", None)) for name, module in model.named_modules()]
    return {name: tuple(weight.shape) for name, weight in modules if weight is not None and weight.dim() == 2}
