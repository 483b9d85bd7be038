"""One question to a model, as data: the same trace, rubric and model give the same bytes on every run.

Three blocks of text, in the order a provider's prompt cache wants them: `system`, then `prefix` (the transcript, the
same for every judge of a trace), then `tail` (the rubric and the output form, different for every judge). What is
cached is everything up to the end of `prefix`, and that includes the answer's schema and the effort: judges that share
a transcript share its price only when they also share both (`prefix_key` is the same for them).
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpa.errors import UsageError
from gpa.ingest.tokens import count_text

Effort = Literal["low", "medium", "high", "xhigh", "max"]
CacheTtl = Literal["5m", "1h"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]+")


def _encodable(text: object) -> object:
    """The text with each lone surrogate (cut UTF-16, as broken producers write it) as U+FFFD: it can be encoded."""
    return _SURROGATE.sub("�", text) if isinstance(text, str) and _SURROGATE.search(text) else text


Text = Annotated[str, BeforeValidator(_encodable)]


class Turn(BaseModel):
    """One later message of the conversation, after the first question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["assistant", "user"]
    text: Annotated[Text, Field(min_length=1)]


class Request(BaseModel):
    """Everything that decides an answer, and for whom it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    """`provider/model`, as `Model.name` has it."""
    system: Text = ""
    prefix: Text = ""
    """First block of the question; the same text for every judge of a trace."""
    tail: Annotated[Text, Field(min_length=1)]
    """Second block of the question."""
    turns: tuple[Turn, ...] = ()
    """What was said since, when a question is put again (`again`)."""
    answer_schema: dict[str, Any] | None = None
    """JSON Schema of the answer; the order of its properties is the order the model fills them in, so it is kept."""
    max_tokens: Annotated[int, Field(ge=1)] = 16_000
    effort: Effort | None = None
    """None leaves it to the provider's default for the model."""
    cache_ttl: CacheTtl | None = "5m"
    """How long system text and prefix stay in the provider's prompt cache; None does not ask for it."""
    shared: bool = True
    """Whether another request of the run begins with the same prefix. Only then is it marked cacheable, since writing
    it costs a quarter more than sending it. The system text, the same for all traces, is marked in either case."""
    trace_id: str = ""
    judge: str = ""
    sample: Annotated[int, Field(ge=0)] = 0
    """Number of the repetition: equal questions with different sample numbers are asked separately."""

    def params(self) -> dict[str, Any]:
        """The body of a Messages API request. No sampling parameters: API version 2026-10-21 rejects them."""
        return self._params(shared=self.shared)

    def _params(self, *, shared: bool) -> dict[str, Any]:
        cached = _cache_control(self.cache_ttl)
        body: dict[str, Any] = {"model": wire_name(self.model), "max_tokens": self.max_tokens}
        if self.system:
            body["system"] = [{"type": "text", "text": self.system, **cached}]
        blocks = [{"type": "text", "text": self.prefix, **(cached if shared else {})}] if self.prefix else []
        blocks.append({"type": "text", "text": self.tail})
        body["messages"] = [
            {"role": "user", "content": blocks},
            *({"role": turn.role, "content": [{"type": "text", "text": turn.text}]} for turn in self.turns),
        ]
        output: dict[str, Any] = {}
        if self.answer_schema is not None:
            output["format"] = {"type": "json_schema", "schema": self.answer_schema}
        if self.effort is not None:
            output["effort"] = self.effort
        if output:
            body["output_config"] = output
        return body

    @property
    def body(self) -> bytes:
        """`params()` as JSON, byte for byte the same on every run; made anew each time, since it may be megabytes."""
        return orjson.dumps(self.params())

    @cached_property
    def key(self) -> str:
        """32 hex digits that name this question to this provider, and its repetition number.

        Whoever else is asked about the trace changes no answer: `shared` is not part of it.
        """
        return _digest(self.model.encode(), str(self.sample).encode(), orjson.dumps(self._params(shared=True)))

    @cached_property
    def prefix_key(self) -> str:
        """32 hex digits, equal for requests that share an entry of the provider's prompt cache; empty without one."""
        if self.cache_ttl is None or not (self.system or self._marked):
            return ""
        shared = orjson.dumps([self.system, self._marked, self.answer_schema, self.effort, self.cache_ttl])
        return _digest(self.model.encode(), shared)

    @cached_property
    def custom_id(self) -> str:
        """Name in Message Batches and in request files, 1-64 of `[a-zA-Z0-9_-]`: trace, judge, sample and a hash.

        The hash covers the whole trace id and the whole request, so that shortened ids cannot collide.
        """
        labels = [_NOT_IN_AN_ID.sub("-", label)[:size] for label, size in ((self.trace_id, 16), (self.judge, 12))]
        owner = f"{self.trace_id}\0{self.judge}".encode()
        parts = [*labels, f"{self.sample:d}"[:6], _digest(owner, self.key.encode(), size=12)]
        return "-".join(part for part in parts if part)

    @cached_property
    def prefix_tokens(self) -> int:
        """Estimated tokens of what the prompt cache can hold: system text, schema, and a prefix that is shared."""
        schema = b"" if self.answer_schema is None else orjson.dumps(self.answer_schema)
        return count_text(self.system) + count_text(self._marked) + count_text(schema.decode())

    @cached_property
    def input_tokens(self) -> int:
        """Estimated tokens of the whole input (`count_text` says by which rule)."""
        alone = "" if self.shared else self.prefix
        return self.prefix_tokens + sum(map(count_text, (alone, self.tail, *(turn.text for turn in self.turns))))

    @property
    def _marked(self) -> str:
        return self.prefix if self.shared else ""

    def again(self, answer: str, complaint: str) -> Request:
        """The same question with the answer that would not do and what was wrong with it: the one re-ask.

        The shared prefix stays byte-identical, so the second question reads it from the prompt cache.
        """
        said = answer.strip() or "(no text)"  # the API rejects an empty block
        turns = (*self.turns, Turn(role="assistant", text=said), Turn(role="user", text=complaint))
        # The fields one by one: `dict(self)` would also hold what was computed from them.
        fields = {name: getattr(self, name) for name in Request.model_fields}
        return Request.model_validate({**fields, "turns": turns})


def wire_name(model: str) -> str:
    """The model's name as its provider's API takes it: `anthropic/claude-x` gives `claude-x`."""
    provider, slash, name = model.partition("/")
    if not slash or not provider or not name:
        raise UsageError(f"expected a model as provider/model (anthropic/claude-sonnet-5-5), found {model!r}")
    return name


def _cache_control(ttl: CacheTtl | None) -> dict[str, Any]:
    if ttl is None:
        return {}
    # "5m" is the API's default and is left out: one spelling for one meaning.
    return {"cache_control": {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}}


def _digest(*parts: bytes, size: int = 16) -> str:
    digest = blake2b(digest_size=size)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
