"""vLLM's engine of one model folder: started once a process, asked from any event loop."""

import asyncio
import atexit
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from vllm import AsyncEngineArgs, SamplingParams
from vllm.exceptions import VLLMClientError, VLLMServerError
from vllm.inputs.engine import tokens_input
from vllm.lora.request import LoRARequest
from vllm.outputs import RequestOutput
from vllm.platforms import current_platform
from vllm.v1.engine.async_llm import AsyncLLM

from agents.agent import ProviderError
from agents.models.precision import precision
from agents.models.replies import RefusedError
from agents.models.source import Dtype
from agents.models.vllm_adapters import LAYERS, RANK
from games.errors import UserError, in_words

ADAPTERS = 8
"""Most adapters whose requests are computed together; with more of them requests take turns."""
_STOP_SECONDS = 30.0
"""How long the engine's processes may take to end before they are killed."""
_CPU_CACHE = 1 << 30
"""Bytes of keys and values on a CPU, where vLLM would else take nearly all of the memory."""
_GUARD = """
import os, signal, sys
sys.stdin.read()
for number in sys.argv[1:]:
    try:
        os.kill(int(number), signal.SIGTERM)
    except ProcessLookupError:
        pass
"""
"""A program that ends processes once nobody holds its stdin open any more: when whoever started it is dead."""


class Settings(NamedTuple):
    """What an engine is started with."""

    folder: Path
    dtype: Dtype
    context: int
    """Tokens of prompt and answer together; 0 for what the model itself says."""


class Adapter(NamedTuple):
    """A PEFT adapter as it is on disk."""

    folder: Path
    digest: str
    """Of its weights: an adapter trained on is another one, even in the same folder."""


class Host:
    """An engine with an event loop in a thread of its own, so that it serves one run after the other."""

    def __init__(self, settings: Settings) -> None:
        """Start it: some 20 seconds. Raises UserError where vLLM does not start with these settings."""
        self._on_cpu = current_platform.is_cpu()
        self._numbers = count(1)
        self._adapters: dict[Adapter, LoRARequest] = {}
        self._loading = Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            with _environment_kept():
                self._llm = asyncio.run_coroutine_threadsafe(_started(settings, self._on_cpu), self._loop).result()
        except Exception as error:
            self._stop_loop()
            raise UserError(
                f"vLLM does not start with {settings.folder}: {in_words(error)}; VLLM_LOGGING_LEVEL=INFO tells more"
            ) from error
        self._guard = _guarded()

    @property
    def context(self) -> int:
        """Tokens of prompt and answer together."""
        return int(self._llm.model_config.max_model_len)

    @property
    def unfinished(self) -> int:
        """Requests that are waiting or computed."""
        return int(self._llm.get_num_unfinished_requests())

    @property
    def dead(self) -> bool:
        """Whether the engine has stopped for good."""
        return bool(self._llm.errored)

    async def ask(self, ids: Sequence[int], params: SamplingParams, adapter: Adapter | None) -> RequestOutput:
        """The finished answer to a prompt of tokens. A caller that is cancelled takes its request back.

        Raises ProviderError where the engine fails, RefusedError where it does not take the request.
        """
        asked = asyncio.run_coroutine_threadsafe(self._ask(ids, params, adapter), self._loop)
        try:
            return await asyncio.wrap_future(asked)
        except VLLMClientError as error:
            raise RefusedError(f"vLLM refuses: {in_words(error)}") from error
        except VLLMServerError as error:
            raise ProviderError(f"vLLM failed: {in_words(error)}") from error

    def load(self, adapter: Adapter) -> None:
        """Make an adapter known, unless it is already. Blocks. Raises UserError for one that vLLM does not take."""
        with self._loading:
            if adapter in self._adapters:
                return
            number = len(self._adapters) + 1
            if self._on_cpu and number > ADAPTERS:
                raise UserError(
                    f"adapter {adapter.folder}: on a CPU vLLM keeps {ADAPTERS} adapters apart and no more; "
                    "backend=transformers has no such limit"
                )
            request = LoRARequest(f"{adapter.folder.name}-{adapter.digest}", number, str(adapter.folder))
            try:
                asyncio.run_coroutine_threadsafe(self._llm.add_lora(request), self._loop).result()
            except Exception as error:  # the engine's process sends what it raised as a plain Exception
                raise UserError(f"adapter {adapter.folder}: vLLM does not take it: {in_words(error)}") from error
            self._adapters[adapter] = request

    def stop(self) -> None:
        """End the engine and its processes. Blocks."""
        try:
            asyncio.run_coroutine_threadsafe(_stopped(self._llm), self._loop).result()
        finally:
            del self._llm  # or it would try once more while Python ends
            self._stop_loop()
            self._guard.kill()
            self._guard.communicate()

    async def _ask(self, ids: Sequence[int], params: SamplingParams, adapter: Adapter | None) -> RequestOutput:
        found: RequestOutput | None = None
        lora = self._adapters[adapter] if adapter else None
        prompt = tokens_input(list(ids))
        async for output in self._llm.generate(prompt, params, str(next(self._numbers)), lora_request=lora):
            found = output
        if found is None or found.outputs[0].finish_reason not in ("stop", "length"):
            raise ProviderError("vLLM gave half an answer")
        return found

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_hosts: dict[Settings, Host] = {}
_starting = Lock()


def host_of(settings: Settings) -> Host:
    """The engine for some settings, started unless it runs already; it runs until the process ends. Blocks.

    Raises UserError where vLLM does not start.
    """
    with _starting:
        host = _hosts.get(settings)
        if host is not None and host.dead:
            host.stop()
            host = None
        if host is None:
            host = _hosts[settings] = Host(settings)
        return host


@atexit.register
def _stop_all() -> None:
    with _starting:
        while _hosts:
            _hosts.popitem()[1].stop()


def _guarded() -> subprocess.Popen[bytes]:
    """A process that ends the engines of this process if it is killed: they would stay, with all their memory."""
    engines = [child.pid for child in multiprocessing.active_children() if child.name.startswith("EngineCore")]
    command = [sys.executable, "-I", "-S", "-c", _GUARD, *map(str, engines)]
    # In a session of its own, since Ctrl-C is not for it.
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


async def _started(settings: Settings, on_cpu: bool) -> AsyncLLM:
    chosen: Mapping[str, Any] = {}
    if on_cpu:  # compiling for the CPU takes a C++ compiler and longer than most runs would gain
        # A prompt that is read in parts ends an engine on a CPU if it has a seed: vLLM would turn the seed's generator
        # back after each part, which that of a CPU does not do.
        chosen = {"enforce_eager": True, "enable_chunked_prefill": False}
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            chosen = {**chosen, "kv_cache_memory_bytes": _CPU_CACHE}
    return AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=str(settings.folder),
            # On a GPU `auto` is vLLM's own, which knows what each card can do.
            dtype=str(precision(settings.dtype)).removeprefix("torch.") if on_cpu else settings.dtype,
            max_model_len=settings.context or None,
            logprobs_mode="processed_logprobs",  # those of the distribution that a token was drawn from
            trust_remote_code=False,
            load_format="safetensors",
            enable_lora=True,
            max_loras=ADAPTERS + 1,  # on a CPU requests without an adapter are given what is in the last place
            lora_target_modules=list(LAYERS),
            max_lora_rank=RANK,
            enable_prefix_caching=True,
            use_tqdm_on_load=False,
            disable_log_stats=True,
            **chosen,
        )
    )


async def _stopped(llm: AsyncLLM) -> None:
    llm.shutdown(timeout=_STOP_SECONDS)
    await asyncio.sleep(0)  # its tasks end


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Undo what vLLM sets for the processes it starts, such as LD_PRELOAD: ours would get it, too."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
