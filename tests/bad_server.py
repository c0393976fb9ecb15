"""A small OpenAI-compatible server on a real socket that answers as vLLM does, and commits every fault it is told to.

Its model's tokens are bytes: a prompt's are those of its messages, and one more (END) ends an answer.
"""

import gzip
import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

END = 256
CONTEXT = 1000
LOGPROB = -0.25
"""Log-probability of every token."""

PLAIN = frozenset({"model", "messages", "max_tokens", "temperature", "top_p", "seed", "stop", "logprobs"})
"""Fields that OpenAI's own server knows."""


class Seen(NamedTuple):
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: float


Fault = Callable[["Handler"], None]


class BadServer:
    """Serves in threads of this process; `faults` are committed by the next requests that post, in their order."""

    def __init__(self) -> None:
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.get: Fault | None = None
        """What it does to requests that do not post."""
        self.says = "pass"
        self.stop_reason: str | None = None
        self.models: Sequence[str] | None = ("tiny", "tiny-lora")
        self.key: str | None = None
        self.known: frozenset[str] | None = None
        """Fields that it takes; None for all."""
        self.honours_choices = True
        self.tokenizes = True
        self.strips: Sequence[str] = ()
        """Fields of an answer that it does not have."""
        self.seen: list[Seen] = []
        self.in_flight = self.most_in_flight = 0
        self.connected = 0
        """Connections that clients opened."""
        self.wait_for = 0
        """Requests that must be there at once before any is answered."""
        self.left = 0
        """Clients that hung up while they were kept waiting."""
        self.lock = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def posts(self, path: str = "/v1/chat/completions") -> list[Seen]:
        return [seen for seen in self.seen if seen.path == path]

    def __enter__(self) -> "BadServer":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    owner: BadServer

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.connected += 1
        super().process_request(request, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no error of the test."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    @property
    def owner(self) -> BadServer:
        return self.server.owner

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        owner = self.owner
        owner.seen.append(Seen(self.path, dict(self.headers), {}, time.monotonic()))
        if owner.get is not None:
            return owner.get(self)
        if not self._admitted():
            return
        if owner.models is None or self.path != "/v1/models":
            reply(404, {"detail": "Not Found"})(self)
        else:
            reply(200, {"object": "list", "data": [{"id": name} for name in owner.models]})(self)

    def do_POST(self) -> None:
        owner = self.owner
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with owner.lock:
            owner.seen.append(Seen(self.path, dict(self.headers), self.body, time.monotonic()))
            owner.in_flight += 1
            owner.most_in_flight = max(owner.in_flight, owner.most_in_flight)
            owner.lock.notify_all()
            owner.lock.wait_for(lambda: owner.most_in_flight >= owner.wait_for, timeout=20)
            fault = owner.faults.popleft() if owner.faults else owner.always
        try:
            if fault is not None:
                fault(self)
            elif self._admitted():
                self.answer()
        finally:
            with owner.lock:
                owner.in_flight -= 1

    def _admitted(self) -> bool:
        owner = self.owner
        if owner.key is None or self.headers.get("Authorization") == f"Bearer {owner.key}":
            return True
        reply(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})(self)
        return False

    def answer(self) -> None:
        owner, body = self.owner, self.body
        if owner.known is not None and (unknown := [name for name in body if name not in owner.known]):
            message = f"Unrecognized request argument supplied: {unknown[0]}"
            return reply(400, {"error": {"message": message, "type": "invalid_request_error"}})(self)
        if self.path == "/tokenize" and owner.tokenizes:
            return reply(200, tokenized(body))(self)
        if self.path == "/v1/chat/completions":
            return self._chat(_prompt_ids(body["messages"], body.get("continue_final_message", False)))
        if self.path == "/v1/completions":
            prompts = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
            return self._texts(prompts)
        reply(404, {"detail": "Not Found"})(self)

    def _chat(self, prompt_ids: list[int]) -> None:
        if self._overflows(prompt_ids):
            return
        choice, count = self._choice()
        message = {"role": "assistant", "content": choice.pop("text")}
        usage = {"prompt_tokens": len(prompt_ids), "completion_tokens": count}
        answer = {"choices": [{**choice, "message": message}], "usage": usage, "prompt_token_ids": prompt_ids}
        reply(200, self._stripped(answer))(self)

    def _texts(self, prompts: list[list[int]]) -> None:
        choices, total = [], 0
        for index, ids in enumerate(prompts):
            if self._overflows(ids):
                return
            choice, count = self._choice()
            total += count
            choice |= {"index": index, "prompt_token_ids": ids}
            if "logprobs" in choice:
                choice["logprobs"] = {"token_logprobs": [LOGPROB] * count}
            if "prompt_logprobs" in self.body:
                told = [{str(number): {"logprob": -number / 1000, "rank": 1}} for number in ids[1:]]
                choice["prompt_logprobs"] = [None, *told]
            choices.append(self._stripped(choice))
        usage = {"prompt_tokens": sum(map(len, prompts)), "completion_tokens": total}
        # In another order than they were asked in: the index tells.
        reply(200, self._stripped({"choices": choices[::-1], "usage": usage}))(self)

    def _choice(self) -> tuple[dict[str, Any], int]:
        owner, body = self.owner, self.body
        text = owner.says
        if owner.honours_choices and "structured_outputs" in body:
            choices = body["structured_outputs"]["choice"]
            text = choices[body.get("seed", 0) % len(choices)]
        ids = [*text.encode(), END]
        choice: dict[str, Any] = {"text": text, "finish_reason": "stop", "stop_reason": owner.stop_reason}
        if body.get("logprobs") is not None and body["logprobs"] is not False:  # 0 is a request for them
            choice["logprobs"] = {"content": [{"token": "?", "logprob": LOGPROB} for _ in ids]}
        if body.get("return_token_ids"):
            choice["token_ids"] = ids
        return self._stripped(choice), len(ids)

    def _stripped(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name not in self.owner.strips}

    def _overflows(self, ids: Sequence[int]) -> bool:
        room = self.body["max_tokens"]
        if len(ids) + room <= CONTEXT:
            return False
        message = (
            f"You passed {len(ids)} input tokens and requested {room} output tokens. However, the model's context "
            f"length is only {CONTEXT} tokens, resulting in a maximum input length of {CONTEXT - room} tokens."
        )
        reply(400, {"error": {"message": message, "type": "BadRequestError", "code": 400}})(self)
        return True

    def client_left(self, seconds: float = 20.0) -> None:
        """Wait until the client hangs up."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        self.close_connection = True
        if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
            with self.owner.lock:
                self.owner.left += 1
                self.owner.lock.notify_all()


def tokenized(body: Mapping[str, Any]) -> dict[str, Any]:
    if "messages" in body:
        ids = _prompt_ids(body["messages"], body.get("continue_final_message", False))
    else:
        ids = list(body["prompt"].encode())
    return {"count": len(ids), "max_model_len": CONTEXT, "tokens": ids}


def _prompt_ids(messages: Sequence[Mapping[str, str]], continued: bool) -> list[int]:
    ids: list[int] = []
    for message in messages:
        ids += [*message["role"].encode(), *message["content"].encode(), END]
    return ids[:-1] if continued else [*ids, *b"assistant"]


def reply(status: int, body: Any, headers: Mapping[str, str] | None = None, words: str | None = None) -> Fault:
    """A whole answer; a body that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler: Handler) -> None:
        handler.send_response(status, words)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def chat(**changes: Any) -> dict[str, Any]:
    """The least that an answer holds, with other fields of its choice."""
    choice = {"message": {"content": "pass"}, "finish_reason": "stop", **changes}
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


def cut(handler: Handler) -> None:
    """Hang up without a word."""
    handler.close_connection = True


def half(handler: Handler) -> None:
    """Hang up in the middle of the body."""
    content = json.dumps(chat()).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def no_http(handler: Handler) -> None:
    """Speak another protocol."""
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    handler.close_connection = True


def silent(handler: Handler) -> None:
    """Never answer."""
    handler.client_left()


def slow(seconds: float) -> Fault:
    """Answer as it should, but late."""

    def answer(handler: Handler) -> None:
        time.sleep(seconds)
        handler.answer()

    return answer


def trickle(handler: Handler) -> None:
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def endless(handler: Handler) -> None:
    """Send a body without end as fast as it is read."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * (1 << 20))


def bomb(handler: Handler) -> None:
    """Send little that unpacks to more than anyone wants."""
    reply(200, gzip.compress(b" " * (64 << 20)), {"Content-Encoding": "gzip"})(handler)


def bad_gzip(handler: Handler) -> None:
    """Send what cannot be unpacked."""
    reply(200, json.dumps(chat()).encode(), {"Content-Encoding": "gzip"})(handler)


def echo_key(status: int) -> Fault:
    """Repeat the request's key in an error, in a header and in an answer."""

    def answer(handler: Handler) -> None:
        key = handler.headers["Authorization"].removeprefix("Bearer ")
        text = f"bad key {key} in {'x' * 200} {key}"
        body = {"error": {"message": text}, **chat(message={"content": text}, finish_reason=key)}
        reply(status, body, {"Location": f"/{key}"}, words=f"bad {key}")(handler)

    return answer
