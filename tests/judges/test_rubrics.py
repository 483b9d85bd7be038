"""Rubrics: all that come with the package are sound, a user's replace and add, and every fault says where it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpa.errors import UsageError
from gpa.judges.prompt import answer_schema, question
from gpa.judges.redact import Redactor
from gpa.judges.rubrics import Rubric, built_in, digest, load_frame, load_rubrics, write_rubrics
from gpa.judges.verdict import CATEGORIES, DIMENSIONS


@pytest.mark.parametrize(("code", "title"), DIMENSIONS.items())
def test_a_rubric_of_ours_has_its_title_its_border_and_both_ends_of_the_scale(code: str, title: str) -> None:
    rubric = load_rubrics()[code]
    assert (rubric.code, rubric.title) == (code, title)
    assert "\nNot yours: " in rubric.text
    assert re.search(r"^3: .+\n0: .+\n1 and 2 lie between", rubric.text, re.MULTILINE)
    assert not re.search(r"[{}]|TODO|\[s\d+\]", rubric.text)
    assert question(rubric).startswith(f"# {title}\n")


@pytest.mark.parametrize("code", ["PQ", "PA", "TS", "TC", "GF"])
def test_a_dimension_that_may_not_apply_says_when(code: str) -> None:
    assert re.search(r"\*\*.*the dimension does not apply.*\*\*", load_rubrics()[code].text)


def test_the_frame_explains_every_category_once_and_in_order() -> None:
    assert tuple(re.findall(r"^- ([A-Z][A-Za-z -]+): ", built_in("frame"), re.MULTILINE)) == CATEGORIES


def test_the_frame_says_what_a_rendering_looks_like() -> None:
    frame = load_frame()
    for form in (
        "`[s12]`",
        "`(as in s9)`",
        "`[... 1,234 characters left out ...]`",
        "`searcher#2`",
        "begin with an arrow",
    ):
        assert form in frame


def test_nothing_of_ours_is_taken_for_a_secret() -> None:
    redactor = Redactor()
    for text in (built_in("frame"), built_in("single"), built_in("final"), *(r.text for r in load_rubrics().values())):
        assert redactor(text) == text


def test_a_folder_replaces_and_adds_dimensions(tmp_path: Path) -> None:
    (tmp_path / "TC.md").write_text("# Calls\n\nOurs.")
    (tmp_path / "SAFETY.md").write_bytes(b"\xef\xbb\xbf# Safety\r\n\r\nWas it safe?")
    (tmp_path / "README.md").write_text("no rubric")
    (tmp_path / "frame.md").write_text("Be strict.")
    rubrics = load_rubrics(tmp_path)
    assert list(rubrics) == [*DIMENSIONS, "SAFETY"]
    assert rubrics["TC"].text == "# Calls\n\nOurs."
    assert rubrics["SAFETY"] == Rubric(code="SAFETY", title="Safety", text="# Safety\n\nWas it safe?")
    assert rubrics["LC"] == load_rubrics()["LC"]
    assert load_frame(tmp_path) == "Be strict."


def test_a_folder_without_a_frame_leaves_ours(tmp_path: Path) -> None:
    assert load_frame(tmp_path) == load_frame() == built_in("frame")


def test_what_is_written_is_what_is_loaded(tmp_path: Path) -> None:
    write_rubrics(tmp_path / "new", load_rubrics())
    assert load_rubrics(tmp_path / "new") == load_rubrics()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("TC.md", b"", "TC.md: expected a title line first ('# Tool Calling'), found ''"),
        ("TC.md", b"Look at it.", "TC.md: expected a title line first ('# Tool Calling'), found 'Look at it.'"),
        ("TC.md", b"# T\n\xff", "TC.md: expected UTF-8, found other bytes at 4"),
        ("a b.md", b"# T", "a b.md: expected a file name of letters and digits that names a dimension, found 'a b'"),
        ("notes.txt", b"# T", ": expected a folder with rubrics (TC.md, ...), found none"),
    ],
    ids=["empty", "no title", "not UTF-8", "name", "no rubric"],
)
def test_a_fault_says_where_it_is(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as error:
        load_rubrics(tmp_path)
    assert str(error.value).startswith(str(tmp_path))
    assert str(error.value).endswith(message)


def test_an_empty_frame_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "frame.md").write_text(" \n")
    with pytest.raises(UsageError, match="expected what all judges are told, found an empty file"):
        load_frame(tmp_path)


def test_a_folder_that_does_not_exist_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a folder with rubrics"):
        load_rubrics(tmp_path / "none")


def test_a_digest_tells_texts_and_their_borders_apart() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("ab", "c") == digest("ab", "c")
    assert re.fullmatch(r"[0-9a-f]{16}", digest("\ud800"))


def _objects(schema: object) -> list[dict[str, object]]:
    if isinstance(schema, list):
        return [found for one in schema for found in _objects(one)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for one in schema.values() for found in _objects(one))]


@pytest.mark.parametrize("with_checks", [False, True])
@pytest.mark.parametrize("codes", [(), tuple(DIMENSIONS)], ids=["one", "all"])
def test_the_schema_uses_only_what_structured_output_takes(with_checks: bool, codes: tuple[str, ...]) -> None:
    schema = answer_schema(with_checks=with_checks, codes=codes)
    known = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$defs", "$ref"}
    named = {
        *DIMENSIONS,
        "answer",
        "findings",
        "quote",
        "problem",
        "category",
        "severity",
        "steps",
        "rationale",
        "score",
    }
    named |= {"not_applicable", "leads", "id", "decision", "reason"}
    alternatives = 0
    for one in _objects(schema):
        assert one.keys() <= known or one.keys() <= named
        alternatives += "anyOf" in one
        if one.get("type") == "object":
            assert one["additionalProperties"] is False
            assert one["required"] == list(one["properties"])  # type: ignore[call-overload]
    assert alternatives <= 16  # the Messages API takes no more


def test_an_answer_is_filled_in_from_the_evidence_to_the_score() -> None:
    schema = answer_schema(with_checks=True)
    assert list(schema["properties"]) == ["findings", "leads", "rationale", "not_applicable", "score"]
    finding = schema["properties"]["findings"]["items"]
    assert list(finding["properties"]) == ["quote", "problem", "category", "severity", "steps"]
    assert finding["properties"]["category"]["enum"] == list(CATEGORIES)
