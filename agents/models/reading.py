"""Token ids as text, read with a model's tokenizer alone: its weights are not loaded."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

from agents.models import folder, smollm2
from agents.models.source import SMOLLM2, Source
from games.errors import UserError


def reader(source: Source) -> Callable[[Sequence[int]], str]:
    """A function that turns token ids of a model into text, special tokens included.

    Raises UserError for a model of which there is no tokenizer on this machine.
    """
    if source.kind == "http":
        raise UserError(f"model {source.model}: its tokenizer is on a server")
    path = (smollm2.folder() if source.model == SMOLLM2 else folder.model_folder(source.model)) / "tokenizer.json"
    if not path.is_file():
        raise UserError(f"model {source.model}: there is no {path}")
    if find_spec("tokenizers") is None:
        raise UserError(f'model {source.model}: tokenizers is not installed: pip install "metarena[transformers]"')
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing more special
        raise UserError(f"model {source.model}: {path} cannot be read: {error}") from error
    return lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=False))
