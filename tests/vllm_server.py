"""A real vLLM server on this machine, for the tests of it."""

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from urllib.error import URLError
from urllib.request import urlopen

PYTHON = os.environ.get("METARENA_VLLM_PYTHON") or (sys.executable if find_spec("vllm") else "")
"""The interpreter that has vLLM; empty where there is none."""
WHY_NOT = "vLLM is not installed here: make test-vllm, or METARENA_VLLM_PYTHON=.venv-vllm/bin/python"
_START_SECONDS = 600
_STOP_SECONDS = 120


class VllmServer:
    """`python -m vllm.entrypoints.openai.api_server` for a folder, from its start to its end."""

    def __init__(self, folder: Path, name: str, log: Path, *more: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._health = f"http://127.0.0.1:{port}/health"
        self._log = log
        self._command = [
            *(PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder), "--served-model-name", name),
            *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"),
            "--no-enable-chunked-prefill",
            *("--kv-cache-memory-bytes", str(1 << 30), "--logprobs-mode", "processed_logprobs", *more),
        ]

    def __enter__(self) -> "VllmServer":
        with self._log.open("wb") as log:
            environment = {**os.environ, "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
            self.process = subprocess.Popen(self._command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + _START_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise AssertionError("the server does not start:\n" + self.said()[-4000:])
            time.sleep(0.5)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> int:
        """Ask it to end, as a service manager would; gives its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def said(self) -> str:
        """Its log so far."""
        return self._log.read_text(errors="replace")

    def _is_ready(self) -> bool:
        try:
            with urlopen(self._health, timeout=5) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False
