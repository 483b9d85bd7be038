"""The parts of a message, the arguments of its calls and the results of tools are read in every form."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.chat import arguments, messages, result_text
from tests.ingest.dialects.messages import call, result

PARTS: dict[str, tuple[Any, tuple[Message, ...]]] = {
    "results without ids": (
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "response": "rain"},
                {"type": "tool_call_response", "response": "sun"},
            ],
        },
        (result("rain"), result("sun")),
    ),
    "the only result has the id of its message": (
        {"role": "tool", "tool_call_id": "c1", "parts": [{"type": "tool_call_response", "response": "rain"}]},
        (result("rain", "c1"),),
    ),
    "thinking": ({"type": "thinking", "thinking": "Hm.", "signature": "x"}, (Message("reasoning", "Hm."),)),
    "reasoning summary": (
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
        (Message("reasoning", "Hm."),),
    ),
    "sealed thinking": (
        {"type": "redacted_thinking", "data": "abcd"},
        (Message("reasoning", "[encrypted reasoning, 4 characters]"),),
    ),
    "Bedrock reasoning": (
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}},
        (Message("reasoning", "Hm."),),
    ),
    "reasoning of .NET": (
        {"type": "Microsoft.Extensions.AI.TextReasoningContent", "content": {"text": "", "protectedData": "abcd"}},
        (Message("reasoning", "[encrypted reasoning, 4 characters]"),),
    ),
    "reasoning beside content": (
        {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."},
        (Message("reasoning", "Hm."), Message("assistant", "Yes.")),
    ),
    "refusal": ({"role": "assistant", "content": None, "refusal": "No."}, (Message("assistant", "No."),)),
    "spoken answer": (
        {"role": "assistant", "audio": {"id": "a", "data": "QUJDREVGRw==", "transcript": "Hi."}},
        (Message("assistant", "[audio 12 characters of base64]\nHi."),),
    ),
    "function call": (
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        (call("f", {}),),
    ),
    "function role": ({"role": "function", "name": "f", "content": "7"}, (result("7", name="f"),)),
    "image": (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]},
        (Message("user", "[image image/png, 4 characters of base64]"),),
    ),
    "image address": (
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://x.test/a.png"}]},
        (Message("user", "[image https://x.test/a.png]"),),
    ),
    "Anthropic picture": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJDREVGRw=="}},
        (Message("user", "[image image/jpeg, 12 characters of base64]"),),
    ),
    "text document": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The deed itself."}},
        (Message("user", "[document text/plain]\nThe deed itself."),),
    ),
    "blob": (
        {
            "role": "user",
            "parts": [{"type": "blob", "modality": "image", "mime_type": "image/png", "content": "QUJDREVGRw=="}],
        },
        (Message("user", "[image image/png, 12 characters of base64]"),),
    ),
    "uri": (
        {
            "role": "user",
            "parts": [{"type": "uri", "modality": "video", "mime_type": "video/mp4", "uri": "gs://b/v.mp4"}],
        },
        (Message("user", "[video video/mp4, gs://b/v.mp4]"),),
    ),
    "file id": (
        {"role": "user", "parts": [{"type": "file", "modality": "document", "file_id": "f-1"}]},
        (Message("user", "[document f-1]"),),
    ),
    "inline data": (
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "QUJDREVGRw=="}}]},
        (Message("user", "[media image/png, 12 characters of base64]"),),
    ),
    "compaction": (
        {"role": "user", "parts": [{"type": "compaction", "content": "So far: x."}]},
        (Message("user", "[compaction]\nSo far: x."),),
    ),
    "server tool": (
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "server_tool_call",
                    "id": "s",
                    "name": "search",
                    "server_tool_call": {"type": "q", "query": "x"},
                }
            ],
        },
        (call("search", {"type": "q", "query": "x"}, "s"),),
    ),
    "server tool response": (
        {
            "role": "assistant",
            "parts": [
                {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": {"type": "q", "hits": 2}}
            ],
        },
        (result('{"type":"q","hits":2}', "s"),),
    ),
    "hosted tool with its result": (
        {"type": "mcp_call", "id": "m", "name": "look", "arguments": '{"q":1}', "output": "found"},
        (call("look", {"q": 1}, "m"), result("found", "m", "look")),
    ),
    "web search": (
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
        (call("web_search", {"type": "search", "query": "x"}, "w"),),
    ),
    "failed tool": (
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "toolName": "f",
                    "output": {"type": "error-text", "value": "no"},
                }
            ],
        },
        (result("no", "c", "f"),),
    ),
    "Bedrock JSON result": (
        {"toolResult": {"toolUseId": "c", "content": [{"text": "a"}, {"json": {"b": 1}}]}},
        (result('a\n{"b":1}', "c"),),
    ),
    "structured result": (
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "response": {"rows": [1, 2]}}]},
        (result('{"rows":[1,2]}', "c"),),
    ),
    "unknown part": (
        {"role": "user", "parts": [{"type": "poke", "at": "x"}]},
        (Message("user", '{"type":"poke","at":"x"}'),),
    ),
    "tool message named by its role": (
        [{"role": "assistant", "tool_calls": [{"name": "f", "args": {}, "id": "c"}]}, {"role": "f", "content": "7"}],
        (call("f", {}, "c"), result("7", name="f")),
    ),
    "tool definition among messages": (
        [
            {
                "role": "tool",
                "content": {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}},
            },
            {"role": "user", "content": "Go."},
        ],
        (Message("user", "Go."),),
    ),
    "graph state with more than messages": (
        {"messages": [["user", "Go."]], "plan": "1. go", "remaining_steps": 3},
        (Message("user", '{"plan":"1. go"}'), Message("user", "Go.")),
    ),
}


@pytest.mark.parametrize(("payload", "expected"), PARTS.values(), ids=PARTS)
def test_parts(payload: Any, expected: tuple[Message, ...]) -> None:
    assert messages(payload) == expected


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, None),
        ("[1]", "[1]"),
        ('{"a": ', '{"a": '),
        ("plain", "plain"),
        ([1], "[1]"),
    ],
)
def test_arguments_are_an_object_or_the_recorded_text(recorded: Any, expected: Any) -> None:
    assert arguments(recorded) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"result": "ok"}, "ok"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "isError": True}, "a\nb"),
        ({"type": "json", "value": {"t": 1}}, '{"t":1}'),
        ([{"text": "row", "score": 1}], '[{"text":"row","score":1}]'),
        (None, ""),
        (3.5, "3.5"),
    ],
)
def test_results_lose_their_wrappers_and_keep_their_data(value: Any, text: str) -> None:
    assert result_text(value) == text


def test_calls_with_absurdly_deep_arguments_can_be_compared() -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    one, other = (messages({"role": "assistant", "tool_calls": [{"name": "f", "arguments": deep}]}) for _ in range(2))
    assert one == other == (call("f", deep),)
