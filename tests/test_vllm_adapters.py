"""What is found out about backend=vllm before vLLM is started, or where there is none."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from agents.models.pool import backend
from agents.models.source import Source
from agents.models.vllm_adapters import RANK, check_adapter
from games.errors import UserError
from tests.tiny_model import tiny_adapter, tiny_folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "base", layers=1)


@pytest.fixture(scope="module")
def adapter(base: Path) -> Path:
    return tiny_adapter(base, base.with_name("adapter"))


def test_an_adapter_of_the_model_is_taken(base: Path, adapter: Path) -> None:
    check_adapter("mine", adapter, base)


def test_an_adapter_of_another_model_is_refused_with_both_sizes(base: Path, tmp_path: Path) -> None:
    other = tiny_folder(tmp_path / "other", layers=1, hidden=128)
    with pytest.raises(UserError, match=r"adapter mine: it is of another base model: its .* 128, the model's 64 x 64"):
        check_adapter("mine", tiny_adapter(other, tmp_path / "adapter"), base)


def test_an_adapter_of_the_last_layer_is_refused_by_name(base: Path, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    config = LoraConfig(r=2, target_modules=["q_proj", "lm_head"], task_type="CAUSAL_LM")
    get_peft_model(AutoModelForCausalLM.from_pretrained(base), config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"adapter mine: it has .*lm_head.*; backend=vllm takes plain LoRA"):
        check_adapter("mine", tmp_path, base)


@pytest.mark.parametrize("rank", [RANK + 1, 0, "8", None])
def test_a_rank_that_there_is_no_room_for_is_refused(base: Path, adapter: Path, tmp_path: Path, rank: object) -> None:
    said = json.loads((adapter / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**said, "r": rank}))
    with pytest.raises(UserError, match=f"adapter mine: its rank r is .*; backend=vllm takes 1 to {RANK}"):
        check_adapter("mine", tmp_path, base)


def test_weights_that_are_cut_off_are_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    for file in adapter.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[: -100 if file.suffix == ".safetensors" else None])
    with pytest.raises(UserError, match=r"adapter_model\.safetensors cannot be read"):
        check_adapter("mine", tmp_path, base)


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_the_extra_is_named(base: Path) -> None:
    with pytest.raises(UserError, match=r'backend=vllm needs vllm: pip install "metarena\[vllm\]"'):
        backend(Source(str(base), backend="vllm")).check(Source(str(base), backend="vllm"))


def test_an_address_is_not_for_a_model_in_this_process(base: Path) -> None:
    source = Source(str(base), backend="vllm", base_url="http://localhost:8000/v1")
    with pytest.raises(UserError, match="backend=http"):
        backend(source).check(source)


def test_what_tells_a_model_from_others_is_known_without_vllm(base: Path, adapter: Path) -> None:
    plain = Source(str(base), backend="vllm")
    tuned = plain._replace(adapter=str(adapter))
    traits = backend(plain).traits
    assert len({tuple(traits(source)) for source in (plain, tuned, tuned._replace(dtype="float32"))}) == 3
