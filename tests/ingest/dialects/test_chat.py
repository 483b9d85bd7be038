"""Every chat payload a producer writes becomes the same sequence of parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.chat import arguments, messages, result_text, role_of
from gpa.ingest.dialects.json_text import compact


def call(name: str, given_arguments: Any, call_id: str = "") -> Message:
    return Message("assistant", "", name, call_id, given_arguments)


def result(text: str, call_id: str = "", name: str = "") -> Message:
    return Message("tool", text, name, call_id)


WEATHER = (
    Message("system", "Be brief."),
    Message("user", "Weather in Oslo?"),
    Message("assistant", "Let me look."),
    call("weather", {"city": "Oslo"}, "c1"),
    result("rain", "c1"),
    Message("assistant", "It rains."),
)
"""One conversation, which every chat dialect below tells in its own way."""

DIALECTS: dict[str, Any] = {
    "OpenAI chat": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "assistant", "content": "It rains.", "refusal": None, "tool_calls": None},
    ],
    "OpenAI Responses": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Weather in Oslo?"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]},
    ],
    "Anthropic request": {
        "model": "m",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Weather in Oslo?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "rain"}]}
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
        ],
    },
    "Bedrock Converse": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [{"text": "Weather in Oslo?"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "rain"}]}}],
        },
        {"role": "assistant", "content": [{"text": "It rains."}, {"cachePoint": {"type": "default"}}]},
    ],
    "semconv parts": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
                None,
            ],
        },
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "rain"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}], "finish_reason": "stop"},
    ],
    "AI SDK": {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}},
                ],
            },
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "rain"}}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It rains."}]},
        ],
    },
    "LangChain constructors": [
        [
            {"lc": 1, "type": "constructor", "id": ["langchain", "SystemMessage"], "kwargs": {"content": "Be brief."}},
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "HumanMessage"],
                "kwargs": {"content": "Weather in Oslo?"},
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "AIMessage"],
                "kwargs": {
                    "content": [
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
                    ],
                    "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
                    "additional_kwargs": {
                        "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}],
                    },
                },
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "ToolMessage"],
                "kwargs": {"content": "rain", "tool_call_id": "c1"},
            },
            {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "It rains."}},
        ]
    ],
    "LangChain dumps in a LangGraph state": {
        "messages": [
            ["system", "Be brief."],
            {"type": "human", "data": {"content": "Weather in Oslo?", "type": "human"}},
            {
                "type": "ai",
                "content": "Let me look.",
                "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
            },
            {"type": "tool", "content": "rain", "tool_call_id": "c1", "status": "success"},
            {"type": "AIMessageChunk", "content": "It rains."},
        ]
    },
    "AutoGen": [
        {"type": "SystemMessage", "content": "Be brief."},
        {"type": "UserMessage", "source": "user", "content": "Weather in Oslo?"},
        {"type": "AssistantMessage", "source": "a", "content": "Let me look."},
        {
            "type": "AssistantMessage",
            "source": "a",
            "content": [{"id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}],
        },
        {
            "type": "FunctionExecutionResultMessage",
            "content": [{"content": "rain", "call_id": "c1", "is_error": False}],
        },
        {"type": "AssistantMessage", "source": "a", "content": "It rains."},
    ],
}


@pytest.mark.parametrize("payload", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("written", [lambda value: value, json.dumps], ids=["structured", "JSON text"])
def test_every_chat_dialect_tells_the_same_conversation(payload: Any, written: Any) -> None:
    assert messages(written(payload)) == WEATHER


def test_gemini_contents_have_no_call_ids() -> None:
    request = {
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
                ],
            },
            {
                "role": "user",
                "parts": [{"function_response": {"name": "weather", "response": {"result": "rain"}}, "text": None}],
            },
        ],
        "config": {
            "system_instruction": {"role": "user", "parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": []}],
        },
    }
    assert messages(request) == (
        Message("system", "Be brief."),
        Message("user", "Weather?"),
        Message("reasoning", "Hm."),
        call("weather", {"city": "Oslo"}),
        result("rain", name="weather"),
    )


ANSWER = (Message("assistant", "Hello."),)
RESPONSES: dict[str, Any] = {
    "OpenAI chat completion": {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}}],
    },
    "OpenAI text completion": {"choices": [{"text": "Hello.", "finish_reason": "stop"}]},
    "OpenAI response": {
        "object": "response",
        "instructions": "echoed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}], "role": "assistant"}],
    },
    "Anthropic message": {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hello."}],
    },
    "Gemini candidates": {
        "candidates": [{"content": {"parts": [{"text": "Hello."}], "role": "model"}, "finishReason": "STOP"}]
    },
    "Gemini candidates without a role": {"candidates": [{"content": {"parts": [{"text": "Hello."}]}}]},
    "Bedrock Converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}},
        "stopReason": "end_turn",
    },
    "Ollama": {"model": "m", "message": {"role": "assistant", "content": "Hello."}, "done": True},
    "LangChain LLMResult": {
        "generations": [
            [{"text": "Hello.", "message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "Hello."}}}]
        ],
        "llm_output": {"token_usage": {}},
    },
    "one message": {"role": "assistant", "content": "Hello."},
    "plain text": "Hello.",
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_every_response_shape_tells_the_answer(response: Any) -> None:
    assert messages(response, "assistant") == ANSWER


PARTS: dict[str, tuple[Any, tuple[Message, ...]]] = {
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
    "text",
    [
        '{"answer": 4}',
        "[1, 2]",
        '{"type": "file", "size": 3}',
        '{"role": "Researcher", "goal": "find"}',
        '{"cut": [1,',
        "[]ish",
    ],
)
def test_json_that_is_no_chat_stays_the_text_it_was(text: str) -> None:
    assert messages(text, "assistant") == (Message("assistant", text),)


def test_a_structure_that_is_no_chat_is_compact_json() -> None:
    assert messages({"answer": [1, 2]}, "assistant") == (Message("assistant", '{"answer":[1,2]}'),)


@pytest.mark.parametrize(
    ("value", "count"), [(None, 0), ("", 0), ({}, 0), ([], 0), ({"messages": []}, 0), (0, 0), (7, 1)]
)
def test_nothing_is_said_by_empty_values(value: Any, count: int) -> None:
    assert len(messages(value)) == count


@pytest.mark.parametrize(
    ("recorded", "role"),
    [
        ("human", "user"),
        ("AI", "assistant"),
        ("model", "assistant"),
        ("function", "tool"),
        ("developer", "system"),
        ("critic", "critic"),
    ],
)
def test_roles_are_normalised_and_unknown_ones_stay(recorded: str, role: str) -> None:
    assert role_of(recorded) == role


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


# Laws ----------------------------------------------------------------------------------------------------------------

_KEYS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "parts",
            "type",
            "text",
            "messages",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "lc",
        ),
        *(
            "kwargs",
            "data",
            "source",
            "image",
            "toolUse",
            "toolResult",
            "functionCall",
            "output",
            "message",
            "choices",
            "x",
        ),
    ]
)
_WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "text",
        "tool_call",
        "tool_result",
        "image",
        "file",
        "human",
        "reasoning",
        "function",
        "é",
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)


@given(_JSON)
def test_no_json_value_raises(value: Any) -> None:
    for message in messages(value):
        assert isinstance(message.role, str)
        assert isinstance(message.text, str)
        assert isinstance(message.tool_name, str)
        assert isinstance(message.tool_call_id, str)


@pytest.mark.parametrize(
    "wrap",
    [lambda inner: [inner], lambda inner: {"message": inner}, lambda inner: {"role": "user", "content": inner}],
    ids=["lists", "wrapped", "content"],
)
def test_ten_thousand_levels_are_read_without_a_recursion_error(wrap: Any) -> None:
    value: Any = "deep down"
    for _ in range(10_000):
        value = wrap(value)
    assert "deep down" in messages(value)[0].text


_TEXT = st.text(st.characters(codec="utf-8"), min_size=1).map(lambda text: f"·{text}·")
_PART = st.one_of(
    _TEXT.map(lambda text: {"type": "text", "text": text}),
    _TEXT.map(lambda text: {"type": "text", "content": text}),
    _TEXT.map(lambda text: {"text": text}),
    _TEXT.map(lambda text: {"type": "thinking", "thinking": text}),
    _TEXT.map(lambda text: {"type": "tool_use", "id": "i", "name": "n", "input": {"a": text}}),
    _TEXT.map(lambda text: {"type": "tool_result", "tool_use_id": "i", "content": [{"type": "text", "text": text}]}),
    _TEXT.map(lambda text: {"toolResult": {"toolUseId": "i", "content": [{"json": {"a": text}}]}}),
    _TEXT.map(lambda text: {"functionResponse": {"name": "n", "response": {"a": text}}}),
    _TEXT.map(lambda text: {"type": "somebody's own", "a": text}),
)
_MESSAGE = st.builds(
    lambda role, content, calls: {"role": role, "content": content, "tool_calls": calls},
    st.sampled_from(["system", "user", "assistant", "tool", "critic"]),
    _TEXT | st.lists(_PART | _TEXT, min_size=1, max_size=4),
    st.just([]),
)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.startswith("·") else []
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for inner in value for leaf in _leaves(inner)] if isinstance(value, list) else []


@given(st.lists(_MESSAGE, min_size=1, max_size=5))
def test_every_text_of_a_conversation_is_in_some_message(conversation: list[dict[str, Any]]) -> None:
    said = "\n".join(f"{message.text}\n{compact(message.arguments)}" for message in messages(conversation))
    for leaf in _leaves(conversation):
        assert leaf in said or compact(leaf)[1:-1] in said
