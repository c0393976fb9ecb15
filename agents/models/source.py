"""Which model is meant: what an agent string says of it, in one value."""

from typing import Literal, NamedTuple, TypeAlias

Backend: TypeAlias = Literal["auto", "transformers", "http", "vllm"]
Dtype: TypeAlias = Literal["auto", "bfloat16", "float16", "float32"]
Api: TypeAlias = Literal["chat", "completions"]

SMOLLM2 = "smollm2"
"""Name of the embedded model."""


class Source(NamedTuple):
    """Where a model comes from. Equal sources are one model, loaded once a process."""

    model: str = SMOLLM2
    """`smollm2`, a folder with config, tokenizer and safetensors, or the name by which a server knows the model."""
    backend: Backend = "auto"
    """`auto` is http where there is a base_url, else transformers."""
    adapter: str = ""
    """Folder of a PEFT adapter; on a server the name by which it knows the adapter."""
    dtype: Dtype = "auto"
    """Of the weights in this process; `auto` is what the machine is fast with: see `precision`."""
    base_url: str = ""
    """Address of an OpenAI-compatible server, such as http://localhost:8000/v1."""
    api: Api = "chat"
    """Whether a server gets messages, or token ids of the prompt (vLLM and others that take them)."""
    key: str = ""
    """Name of the environment variable that holds the key; the key itself is never kept."""
    context: int = 0
    """Tokens of prompt and answer together; 0 for what the model itself says."""
    price: tuple[float, float] | None = None
    """US dollars for a million tokens of prompts and of answers."""

    @property
    def kind(self) -> Literal["transformers", "http", "vllm"]:
        """The back end that serves it."""
        if self.backend == "auto":
            return "http" if self.base_url else "transformers"
        return self.backend
