"""A local server that behaves like an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.messages import instance_of
from tests.servers.serving import Response, serving


@dataclass
class ChatService:
    """State and behaviour; change the fields while it serves."""

    finish_reason: str = "stop"
    refusal: str | None = None
    text: str | None = None
    context_window: int = 128_000
    url: str = ""
    faults: deque[Response | float] = field(default_factory=deque)
    asked: list[dict[str, Any]] = field(default_factory=list)
    attempts: int = 0
    _seen: set[str] = field(default_factory=set)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        if method != "POST" or not path.endswith("/chat/completions"):
            return chat_error(404, "invalid_request_error", f"no such path: {path}")
        if headers.get("authorization", "") == "Bearer invalid":
            return chat_error(401, "invalid_request_error", "Incorrect API key provided: invalid")
        self.attempts += 1
        fault = self.faults.popleft() if self.faults else 0.0
        if isinstance(fault, Response):
            return fault
        time.sleep(fault)
        params = json.loads(body)
        texts = [message["content"] for message in params["messages"]]
        tokens = sum(map(len, texts)) // 4
        if tokens > self.context_window:
            message = f"This model's maximum context length is {self.context_window} tokens. Your input has {tokens}."
            return chat_error(400, "invalid_request_error", message, "context_length_exceeded")
        self.asked.append(params)
        form = params.get("response_format", {}).get("json_schema")
        text = self.text if self.text is not None else json.dumps(instance_of(form["schema"])) if form else "Fine."
        return Response(200, self._completion(params, text, tokens))

    def _completion(self, params: dict[str, Any], text: str, tokens: int) -> dict[str, Any]:
        start = params["messages"][-1]["content"][:4096]
        cached = 1024 if start in self._seen else 0
        self._seen.add(start)
        message = {"role": "assistant", "content": None if self.refusal else text, "refusal": self.refusal}
        return {
            "id": "chatcmpl-local",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": params["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": len(text) // 4,
                "total_tokens": tokens + len(text) // 4,
                "prompt_tokens_details": {"cached_tokens": min(cached, tokens)},
            },
        }


def chat_error(status: int, kind: str, message: str, code: str | None = None, **headers: str) -> Response:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def chat_service(**fields: Any) -> Iterator[ChatService]:
    """The service, reachable under its `url` (give clients `url + "/v1"`)."""
    service = ChatService(**fields)
    with serving(service):
        yield service
