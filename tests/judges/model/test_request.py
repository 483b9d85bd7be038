"""A request is the same bytes on every run, shares its prefix with the other judges, and has a name of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpa.errors import UsageError
from gpa.judges.model import Request, count_text, request_line
from tests.judges.model.asking import SCHEMA, ask

GOLDEN = b"""{"model":"claude-sonnet-5-5","max_tokens":1000,\
"system":[{"type":"text","text":"You judge agents.","cache_control":{"type":"ephemeral"}}],\
"messages":[{"role":"user","content":[{"type":"text","text":"[s1] hello","cache_control":{"type":"ephemeral"}},\
{"type":"text","text":"Judge LC now."}]}],\
"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":\
{"rationale":{"type":"string"},"score":{"type":"integer"}},"required":["rationale","score"],\
"additionalProperties":false}},"effort":"medium"}}"""


def test_body_is_the_messages_api_request_byte_for_byte() -> None:
    assert ask(prefix="[s1] hello", effort="medium").body == GOLDEN


def test_names_are_the_same_in_every_process() -> None:
    request = ask(prefix="[s1] hello", effort="medium")
    names = [request.key, request.prefix_key, request.custom_id]
    assert names == [
        "4bdbd9d58cd5d06fd1edcfab72d279c8",
        "812f8b54e9e72b72604d1bbc4852ebe4",
        "0af7651916cd43dd-LC-0-bc71f7e3b216ad9d373170cf",
    ]
    code = (
        "from tests.judges.model.asking import ask; r = ask(prefix='[s1] hello', effort='medium');"
        "print(r.key, r.prefix_key, r.custom_id)"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ".:" + ":".join(sys.path)}
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert again.stdout.split() == names


@pytest.mark.parametrize(
    "change",
    [
        {"model": "anthropic/claude-opus-5-5"},
        {"model": "bedrock/claude-sonnet-5-5"},
        {"system": "You judge."},
        {"prefix": "[s1] bye"},
        {"tail": "Judge EE now."},
        {"answer_schema": {**SCHEMA, "required": ["score"]}},
        {"answer_schema": {**SCHEMA, "properties": dict(reversed(SCHEMA["properties"].items()))}},
        {"max_tokens": 999},
        {"effort": "high"},
        {"cache_ttl": "1h"},
        {"sample": 1},
    ],
    ids=["model", "provider", "system", "prefix", "tail", "schema", "order", "max_tokens", "effort", "ttl", "sample"],
)
def test_key_covers_everything_that_can_change_the_answer(change: dict[str, Any]) -> None:
    assert ask(**change).key != ask().key


def test_key_leaves_out_for_whom_it_is_asked_but_custom_id_does_not() -> None:
    one, other = ask(), ask(trace_id="ffff651916cd43dd8448eb211c80319c")
    assert one.key == other.key
    assert one.custom_id != other.custom_id


def test_judges_of_a_trace_share_the_bytes_before_their_rubric_and_the_prefix_key() -> None:
    one, other = ask("LC"), ask("GF")
    shared = one.body.partition(b"Judge LC")[0]
    assert other.body.startswith(shared)
    assert len(shared) > 0.9 * len(one.body) - len(orjson.dumps(SCHEMA))
    assert one.prefix_key == other.prefix_key


@pytest.mark.parametrize("change", [{"effort": "low"}, {"answer_schema": None}, {"system": ""}, {"cache_ttl": "1h"}])
def test_what_invalidates_the_providers_prompt_cache_changes_the_prefix_key(change: dict[str, Any]) -> None:
    assert ask(**change).prefix_key != ask().prefix_key


def test_no_sampling_parameter_and_no_empty_block_is_ever_sent() -> None:
    body = ask(system="", prefix="", answer_schema=None).params()
    assert list(body) == ["model", "max_tokens", "messages"]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Judge LC now."}]}]


def test_cache_for_an_hour_says_so_and_no_cache_says_nothing() -> None:
    assert ask(cache_ttl="1h").params()["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert b"cache_control" not in ask(cache_ttl=None).body
    assert ask(cache_ttl=None).prefix_key == ""


def test_asking_again_keeps_the_prefix_and_adds_the_two_turns() -> None:
    again = ask().again("{oops", "That was not JSON. Answer with JSON only.")
    assert again.prefix_key == ask().prefix_key
    assert [turn["role"] for turn in again.params()["messages"]] == ["user", "assistant", "user"]
    assert ask().again("  ", "Say something.").turns[0].text == "(no text)"


def test_a_request_that_was_sent_can_be_asked_again() -> None:
    """Its key, id and token counts have been computed by then, and are the first question's alone."""
    sent = ask()
    assert sent.key
    assert sent.custom_id
    assert sent.prefix_key
    assert sent.input_tokens
    again = sent.again("{oops", "That was not JSON.")
    assert again == ask().again("{oops", "That was not JSON.")
    assert again.key != sent.key


def test_lone_surrogates_become_replacement_characters() -> None:
    request = ask(prefix="cut \ud83d here")
    assert request.prefix == "cut \ufffd here"
    assert "cut \ufffd here" in request.body.decode()


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "anthropic/", "/claude"])
def test_model_without_provider_is_a_usage_error(model: str) -> None:
    with pytest.raises(UsageError, match="expected a model as provider/model"):
        ask(model=model).params()


def test_empty_question_is_rejected() -> None:
    with pytest.raises(ValidationError):
        ask(tail="")


any_text = st.text(max_size=60)


@given(trace=any_text, judge=any_text, sample=st.integers(0, 10**9))
def test_custom_id_is_one_that_batches_take(trace: str, judge: str, sample: int) -> None:
    request = ask(judge, trace_id=trace, sample=sample, tail="x")
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", request.custom_id)


@given(st.lists(st.tuples(any_text, any_text, st.integers(0, 3)), unique=True, max_size=20))
def test_custom_ids_are_unique_per_trace_judge_and_sample(owners: list[tuple[str, str, int]]) -> None:
    ids = {ask(judge, trace_id=trace, sample=sample, tail="x").custom_id for trace, judge, sample in owners}
    assert len(ids) == len(owners)


@given(system=st.text(), prefix=st.text(), tail=st.text(min_size=1))
def test_any_text_makes_one_line_that_reads_back_as_the_same_request(system: str, prefix: str, tail: str) -> None:
    request = Request(model="anthropic/claude-x", system=system, prefix=prefix, tail=tail)
    line = request_line(request)
    assert line.count(b"\n") == 1
    assert orjson.loads(line) == {"custom_id": request.custom_id, "params": request.params()}


@given(st.text(), st.text())
def test_estimated_tokens_never_fall_when_text_is_added(one: str, other: str) -> None:
    assert count_text(one) <= count_text(one + other) <= count_text(one) + count_text(other)
