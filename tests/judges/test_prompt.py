"""The question: the same bytes for the same judgement, one cached prefix for all judges of a trace."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from gpa.errors import InputError
from gpa.ingest.transcript import Transcript
from gpa.judges.examples import Example, load_examples
from gpa.judges.model import Client, RecordingModel, Request, request_line
from gpa.judges.prompt import fenced, question, single_question, system_text
from gpa.judges.redact import Redactor
from gpa.judges.rubrics import Rubric, load_frame, load_rubrics
from gpa.judges.verdict import DIMENSIONS
from tests.judges.replies import RUN, judge

PLAIN = {code: Rubric(code=code, title=title, text=f"# {title}\n\nLook.") for code, title in DIMENSIONS.items()}
"""Rubrics that do not change with the wording of ours, so that golden hashes change with the form alone."""
EXAMPLES = (
    Example(evidence="It opens at [s3] ten.", description="Made up.", category="Language-only", dimensions=("LC",)),
)


def requests(run: Transcript = RUN, dimensions: tuple[str, ...] = tuple(DIMENSIONS), **fields: object) -> list[Request]:
    model = RecordingModel("anthropic/claude-sonnet-5-5", context_window=200_000)
    asyncio.run(judge(model, **fields).judge(run, dimensions))  # type: ignore[arg-type]
    return model.requests


def golden(**fields: object) -> str:
    """Hash over the request lines of the hand-made run, asked with plain rubrics and a frame of one sentence."""
    model = RecordingModel("anthropic/claude-sonnet-5-5", context_window=200_000)
    from gpa.judges.judge import Judge
    from gpa.judges.questions import Asking

    asking = Asking(frame="You judge.", examples=EXAMPLES, **fields)  # type: ignore[arg-type]
    asyncio.run(Judge(Client(model), PLAIN, asking, clean=Redactor()).judge(RUN, tuple(DIMENSIONS)))
    return sha256(b"".join(map(request_line, model.requests))).hexdigest()[:16]


GOLDEN = {
    "panel": ({}, "9ec9050b2bf5a3ca"),
    "single": ({"mode": "single"}, "c5b52d490e33376e"),
    "with checks": ({"with_checks": True, "effort": "high"}, "c806532b463af0f8"),
}


@pytest.mark.parametrize(("fields", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_the_same_request_bytes_on_every_run(fields: dict[str, object], expected: str) -> None:
    """A change here makes every cached answer and every submitted batch worthless: it needs a reason."""
    assert golden(**fields) == expected


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_order_of_hashes_changes_nothing(seed: str) -> None:
    program = "from tests.judges.test_prompt import golden; print(golden(with_checks=True, effort='high'))"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == GOLDEN["with checks"][1]


def test_the_judges_of_a_trace_share_system_transcript_and_schema() -> None:
    asked = requests(with_checks=True, effort="high", examples=EXAMPLES, notes="One agent.")
    assert [request.judge for request in asked] == list(DIMENSIONS)
    assert len({request.prefix_key for request in asked}) == 1
    assert len({request.body[: request.body.index(b'"text":"# ')] for request in asked}) == 1
    assert len({request.custom_id for request in asked}) == 7


def test_a_request_is_the_same_whichever_other_dimensions_are_asked_for() -> None:
    """But for the mark of the prompt cache, which is no part of the question."""
    [alone] = requests(dimensions=("TC",), with_checks=True)
    among = requests(with_checks=True)[list(DIMENSIONS).index("TC")]
    assert (alone.key, alone.custom_id) == (among.key, among.custom_id)
    assert alone.model_copy(update={"shared": True}).body == among.body


@pytest.mark.parametrize(
    ("fields", "dimensions", "marked"),
    [
        ({}, ("TC", "GF"), True),
        ({}, ("TC",), False),
        ({"samples": 2}, ("TC",), True),
        ({"mode": "single"}, ("TC", "GF"), False),
        ({"mode": "single", "samples": 2}, ("TC", "GF"), True),
    ],
    ids=["two", "one", "one, twice", "single", "single, twice"],
)
def test_a_transcript_is_marked_for_the_prompt_cache_only_when_somebody_reads_it_again(
    fields: dict[str, Any], dimensions: tuple[str, ...], marked: bool
) -> None:
    for request in requests(dimensions=dimensions, **fields):
        body = request.params()
        assert ("cache_control" in body["messages"][0]["content"][0]) is marked
        assert "cache_control" in body["system"][0]
        assert ("cache_control" in request.again("{", "JSON, please.").params()["messages"][0]["content"][0]) is marked


def test_one_request_asks_for_all_in_single_mode() -> None:
    [asked] = requests(mode="single", dimensions=("LC", "TC"))
    assert asked.judge == "all"
    assert asked.answer_schema is not None
    assert list(asked.answer_schema["properties"]) == ["LC", "TC"]
    assert (
        asked.tail.index("# Logical Consistency")
        < asked.tail.index("# Tool Calling")
        < asked.tail.index("# Your answer")
    )
    assert asked.tail.endswith("Give one such object for each of LC, TC, under its code.\n")


def test_the_transcript_stands_between_its_fences() -> None:
    [asked] = requests(dimensions=("TC",))
    assert asked.prefix == fenced(RUN.render())
    first, *_, last = asked.prefix.rstrip("\n").split("\n")
    word = first.split()[3]
    assert first == f"======== recorded run {word} begins ========"
    assert last == f"======== recorded run {word} ends ========"


def test_the_word_of_a_fence_depends_on_the_content_alone() -> None:
    assert fenced("a") == fenced("a")
    assert fenced("a").split()[3] != fenced("b").split()[3]


def test_notes_stand_in_the_system_text_under_a_heading() -> None:
    assert system_text("Frame.\n", " \n") == "Frame.\n"
    assert system_text("Frame.\n", "A manager and a searcher.\n") == (
        "Frame.\n\n# About this agent, from the people who built it\n\nA manager and a searcher.\n"
    )


def test_an_example_is_shown_to_the_judges_it_is_for_as_data() -> None:
    rubrics = load_rubrics()
    shown = question(rubrics["LC"], examples=EXAMPLES)
    assert (
        '{"evidence":"It opens at ⟦s3⟧ ten.","problem":"Made up.","category":"Language-only"}\n======== examples'
        in shown
    )
    assert "examples" not in question(rubrics["TC"], examples=EXAMPLES)
    assert single_question([rubrics["LC"], rubrics["TC"]], examples=EXAMPLES).count("Made up.") == 1


def test_the_form_speaks_of_flagged_items_exactly_when_the_schema_has_them() -> None:
    rubric = load_rubrics()["TC"]
    assert "`leads`" in question(rubric, with_checks=True)
    assert "`leads`" not in question(rubric)


def test_what_leaves_is_redacted_in_every_block() -> None:
    secret = "jane@example.org"
    rubrics = {"TC": Rubric(code="TC", title="T", text=f"# T\n\nAsk {secret}.")}
    run = Transcript(RUN.trace_id, f"goal {secret}", RUN.agents, RUN.steps)
    [asked] = requests(
        run, ("TC",), rubrics=rubrics, clean=Redactor(), notes=f"by {secret}", examples=(Example(evidence=secret),)
    )
    assert secret not in asked.body.decode()
    assert asked.system.count("[REDACTED E-mail Address]") == 1
    assert asked.tail.count("[REDACTED E-mail Address]") == 2


def test_a_secret_is_taken_out_before_a_long_run_is_cut() -> None:
    """Half a key would not be known for one: no cut may stand between recording and redaction."""
    from tests.judges.checks.transcripts import llm, said, tool, transcript

    key = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8rS" * 40
    texts = [f"{'x' * n} {key} {'y' * 4_000}" for n in range(0, 4_000, 37)]
    model = RecordingModel("a/b", context_window=30_000)
    run = transcript(*(tool("read", {"n": n}, text) for n, text in enumerate(texts)), llm(said("done")))
    asyncio.run(judge(Client(model), clean=Redactor()).judge(run, ("TC",)))
    assert len(model.requests) > 1
    assert not any("aB3dE6gH9jK2" in request.prefix for request in model.requests)
    assert sum(request.prefix.count("[REDACTED API Key]") for request in model.requests) >= len(texts)


@pytest.mark.parametrize(
    "content",
    [
        b'{"evidence": "e", "description": "d"}\n\n{"evidence": "f", "span_id": "12"}\n',
        b'[{"evidence": "e", "description": "d"}, {"evidence": "f"}]',
        b'{"errors": [{"evidence": "e", "description": "d", "location": "12"}, {"evidence": "f"}]}',
        (
            b'{"type": "trace", "trace_id": "1"}\n{"type": "error", "evidence": "e", "description": "d"}\n'
            b'{"evidence": "f"}'
        ),
    ],
    ids=["lines", "list", "object", "gold"],
)
def test_examples_are_read_from_the_files_people_have(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "e").write_bytes(content)
    assert load_examples(tmp_path / "e") == (Example(evidence="e", description="d"), Example(evidence="f"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "e: expected examples (objects with `evidence` and `description`), found none"),
        (b'{"evidence": "e"}\n{"evidence": }', "e:2: expected an example (a JSON object), found invalid JSON: "),
        (b'[{"evidence": 3}]', "e: example 1: expected an example with `evidence`, found evidence: Input should be a"),
        (
            b"[{}]",
            "e: example 1: expected an example with `evidence`, found the example: Value error, neither evidence nor",
        ),
        (b"[3]", "e: example 1: expected an example with `evidence`, found the example: Input should be a valid dict"),
    ],
)
def test_a_fault_in_a_file_of_examples_says_where(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "e").write_bytes(content)
    with pytest.raises(InputError) as error:
        load_examples(tmp_path / "e")
    assert str(error.value).startswith(f"{tmp_path}/{message}")


def test_a_missing_file_of_examples_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a file of examples, found: No such file"):
        load_examples(tmp_path / "none")


def test_a_request_is_a_valid_line_for_message_batches() -> None:
    line = orjson.loads(request_line(requests(dimensions=("TC", "GF"))[0]))
    assert line["params"]["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert line["params"]["output_config"]["format"]["type"] == "json_schema"
    assert line["params"]["system"][0]["text"] == load_frame()
