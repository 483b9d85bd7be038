"""A local server that behaves like Anthropic's Messages and Message Batches APIs, as far as a judge can tell.

It checks what the real one checks (key, version, unknown and sampling parameters, ids of batches), bills what the real
one bills (a prefix marked with `cache_control` is written by the first request and read by later ones, once an answer
to the first was given, and only under the same model, system text and output_config), and fails on demand.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers.serving import Response, serving

CHARS_PER_TOKEN = 4
PARAMETERS = {"model", "max_tokens", "messages", "system", "output_config", "metadata", "thinking", "stop_sequences"}
MIN_CACHED_TOKENS = 1024


@dataclass(frozen=True)
class Answer:
    """What the model says: a text and how it stopped."""

    text: str
    stop_reason: str = "end_turn"
    output_tokens: int | None = None


def instance_of(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """Some value that a JSON schema of the strict subset accepts."""
    known: dict[str, Any] = schema.get("$defs", definitions or {})
    if "$ref" in schema:
        return instance_of(known[schema["$ref"].removeprefix("#/$defs/")], known)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return instance_of(schema["anyOf"][0], known)
    kind = schema.get("type")
    if kind == "object":
        return {name: instance_of(inner, known) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return []
    return {"integer": 3, "number": 3.0, "boolean": True, "null": None}.get(str(kind), "nothing to report")


def conforming(params: dict[str, Any]) -> Answer:
    """An answer that keeps to the schema asked for."""
    form = params.get("output_config", {}).get("format")
    return Answer(json.dumps(instance_of(form["schema"])) if form else "Nothing to report.")


@dataclass
class Batch:
    id: str
    requests: list[dict[str, Any]]
    created_at: datetime
    polls_left: int
    lines: bytes = b""


@dataclass
class MessagesService:
    """State and behaviour; change the fields while it serves."""

    model: Callable[[dict[str, Any]], Answer] = conforming
    context_window: int = 1_000_000
    delay_s: float = 0.0
    polls_until_ended: int = 1
    results: Callable[[dict[str, Any], dict[str, Any]], bytes] | None = None
    """Makes a batch's result line out of a request and the result line it would get."""
    url: str = ""
    faults: deque[Response | float] = field(default_factory=deque)
    """Given to the next Messages requests instead of an answer; a number: seconds to wait before the answer."""
    create_faults: deque[str] = field(default_factory=deque)
    """For the next batches: `lost` makes the batch and breaks the connection."""
    poll_faults: deque[Response] = field(default_factory=deque)
    """Given to the next polls of a batch."""
    reads: int = 0
    """How often a batch's results were read."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Parameters of every Messages request that was accepted."""
    paid: Counter[str] = field(default_factory=Counter)
    """How often each request (by the hash of its parameters) was answered and billed."""
    attempts: int = 0
    under_way: int = 0
    most_under_way: int = 0
    batches: dict[str, Batch] = field(default_factory=dict)
    _cached: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
        path, _, _ = path.partition("?")
        if not (headers.get("x-api-key") or headers.get("authorization")):
            return error(401, "authentication_error", "x-api-key header is required")
        if "invalid" in (headers.get("x-api-key", "") + headers.get("authorization", "")):
            return error(401, "authentication_error", "invalid x-api-key")
        if "anthropic-version" not in headers:
            return error(400, "invalid_request_error", "anthropic-version: header is required")
        try:
            value: Any = json.loads(body) if body else {}
        except ValueError:
            return error(400, "invalid_request_error", "The request body is not valid JSON")
        match [method, *path.strip("/").split("/")[1:]]:
            case ["POST", "messages"]:
                return self._message(value)
            case ["POST", "messages", "count_tokens"]:
                problem = check(value, needs_max_tokens=False)
                return problem or Response(200, {"input_tokens": input_tokens(value)})
            case ["POST", "messages", "batches"]:
                return self._create(value)
            case ["GET", "messages", "batches"]:
                newest = sorted(self.batches.values(), key=lambda batch: batch.created_at, reverse=True)
                data = [self._describe(batch) for batch in newest]
                return Response(200, {"data": data, "has_more": False, "first_id": None, "last_id": None})
            case ["GET", "messages", "batches", name] if name in self.batches:
                return self._retrieve(self.batches[name])
            case ["GET", "messages", "batches", name, "results"] if name in self.batches:
                batch = self.batches[name]
                if batch.polls_left > 0:
                    return error(404, "not_found_error", "The batch has not ended")
                self.reads += 1
                return Response(200, raw=batch.lines, headers={"content-type": "application/x-jsonl"})
        return error(404, "not_found_error", f"no such path: {path}")

    def _message(self, params: Any) -> Response:
        with self._lock:
            self.attempts += 1
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            fault = self.faults.popleft() if self.faults else 0.0
        try:
            if isinstance(fault, Response):
                return fault
            time.sleep(fault or self.delay_s)
            problem = check(params) or self._too_long(params)
            return problem or Response(200, self._answered(params, tier="standard"), {"request-id": "req_local"})
        finally:
            with self._lock:
                self.under_way -= 1

    def _too_long(self, params: dict[str, Any]) -> Response | None:
        tokens = input_tokens(params)
        if tokens <= self.context_window:
            return None
        return error(
            400, "invalid_request_error", f"prompt is too long: {tokens} tokens > {self.context_window} maximum"
        )

    def _answered(self, params: dict[str, Any], *, tier: str) -> dict[str, Any]:
        answer = self.model(params)
        total = input_tokens(params)
        name, cacheable, hour = cache_entry(params)
        with self._lock:
            hit = cacheable >= MIN_CACHED_TOKENS and name in self._cached
            written = cacheable if cacheable >= MIN_CACHED_TOKENS and not hit else 0
            if written:
                self._cached.add(name)
            self.asked.append(params)
            self.paid[fingerprint(params)] += 1
        text = answer.text if answer.output_tokens is None else answer.text[: answer.output_tokens * CHARS_PER_TOKEN]
        return {
            "id": f"msg_{fingerprint(params)[:24]}",
            "type": "message",
            "role": "assistant",
            "model": params["model"],
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": answer.stop_reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": total - (cacheable if hit else written),
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": cacheable if hit else 0,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 0 if hour else written,
                    "ephemeral_1h_input_tokens": written if hour else 0,
                },
                "output_tokens": max(1, len(text) // CHARS_PER_TOKEN),
                "service_tier": tier,
            },
        }

    # -- Message Batches ---------------------------------------------------------------------------------------------

    def _create(self, value: Any) -> Response:
        requests = value.get("requests") if isinstance(value, dict) else None
        if not isinstance(requests, list) or not requests:
            return error(400, "invalid_request_error", "requests: expected a list that is not empty")
        names = [request.get("custom_id") for request in requests]
        if not all(isinstance(name, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
            return error(400, "invalid_request_error", "custom_id: expected 1-64 of [a-zA-Z0-9_-]")
        if len(set(names)) < len(names):
            return error(400, "invalid_request_error", "custom_id: expected unique ids")
        lost = self.create_faults.popleft() if self.create_faults else ""
        lines = b"".join(self._line(request) for request in reversed(requests))
        with self._lock:  # two that are made at once have an id each
            batch = Batch(f"msgbatch_{len(self.batches):04d}", requests, datetime.now(UTC), self.polls_until_ended)
            batch.lines = lines
            self.batches[batch.id] = batch
        return Response(503, raw=b"upstream connect error") if lost else Response(200, self._describe(batch))

    def _line(self, request: dict[str, Any]) -> bytes:
        problem = check(request["params"])
        if problem is not None:
            result = {"type": "errored", "error": problem.body}
        else:
            result = {"type": "succeeded", "message": self._answered(request["params"], tier="batch")}
        line = {"custom_id": request["custom_id"], "result": result}
        return json.dumps(line).encode() + b"\n" if self.results is None else self.results(request, line)

    def _retrieve(self, batch: Batch) -> Response:
        if self.poll_faults:
            return self.poll_faults.popleft()
        batch.polls_left -= 1
        return Response(200, self._describe(batch))

    def _describe(self, batch: Batch) -> dict[str, Any]:
        ended = batch.polls_left <= 0
        count = len(batch.requests)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {
                "processing": 0 if ended else count,
                "succeeded": count if ended else 0,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            },
            "created_at": batch.created_at.isoformat(),
            "expires_at": (batch.created_at + timedelta(hours=24)).isoformat(),
            "ended_at": datetime.now(UTC).isoformat() if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results" if ended else None,
        }


def check(params: Any, *, needs_max_tokens: bool = True) -> Response | None:
    """The error the API gives for a request body, or None."""
    if not isinstance(params, dict):
        return error(400, "invalid_request_error", "expected an object")
    for name in sorted(params.keys() - PARAMETERS):
        why = "is not supported" if name in {"temperature", "top_p", "top_k"} else "Extra inputs are not permitted"
        return error(400, "invalid_request_error", f"{name}: {why}")
    needed = {"model", "messages", *(["max_tokens"] if needs_max_tokens else [])}
    for name in sorted(needed - params.keys()):
        return error(400, "invalid_request_error", f"{name}: Field required")
    if not params["model"].startswith(("claude-", "anthropic.claude-")):
        return error(404, "not_found_error", f"model: {params['model']}")
    for text in blocks(params):
        if not text["text"].strip():
            return error(400, "invalid_request_error", "messages: text content blocks must be non-empty")
    return None


def blocks(params: dict[str, Any]) -> list[dict[str, Any]]:
    """All text blocks in the order the prompt cache sees them."""
    system = params.get("system", [])
    found = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    for message in params["messages"]:
        content = message["content"]
        found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found


def cache_entry(params: dict[str, Any]) -> tuple[str, int, bool]:
    """Name and tokens of what ends at the last cache breakpoint, and whether it is kept for an hour."""
    marked = blocks(params)
    last = max((index for index, block in enumerate(marked) if "cache_control" in block), default=-1)
    if last < 0:
        return "", 0, False
    held = [block["text"] for block in marked[: last + 1]]
    named = [params["model"], params.get("output_config"), held]
    hour = marked[last]["cache_control"].get("ttl") == "1h"
    return hashlib.sha256(json.dumps(named).encode()).hexdigest(), sum(map(len, held)) // CHARS_PER_TOKEN, hour


def input_tokens(params: dict[str, Any]) -> int:
    return sum(len(block["text"]) for block in blocks(params)) // CHARS_PER_TOKEN


def fingerprint(params: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()


def error(status: int, name: str, message: str, **headers: str) -> Response:
    """An error as the API words it."""
    body = {"type": "error", "error": {"type": name, "message": message}, "request_id": "req_local"}
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def messages_service(**fields: Any) -> Iterator[MessagesService]:
    """The service, reachable under its `url`."""
    service = MessagesService(**fields)
    with serving(service):
        yield service
