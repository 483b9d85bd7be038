"""Gold errors and human scores: what is read, what stops the reading, what is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import FormatError, InputError, UsageError
from gpa.judges.gold import IMPACTS, Gold, GoldError, HumanScore, load_gold, load_mapping
from gpa.judges.verdict import CATEGORIES, DIMENSIONS

LINE = {"trace_id": "AB", "span_id": "0A", "category": "Goal Deviation", "description": "d", "impact": "LOW"}
PLANTED = Path(__file__).parents[2] / "fixtures/gold/planted.jsonl"
TRAIL = Path(__file__).parents[2].parent / "shared/data/trail"


def written(folder: Path, *lines: object) -> Path:
    path = folder / "gold.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_lines_of_three_kinds(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        LINE,
        "",
        {"type": "trace", "trace_id": "cd"},
        {"type": "score", "trace_id": "ab", "judge": "TC", "score": 2, "rater": "jo"},
    )
    gold = load_gold(path)
    [error] = gold.errors
    assert error == GoldError(
        id="ab-1",
        trace_id="ab",
        span_id="0a",
        category="Goal Deviation",
        dimensions=("PA", "GF"),
        description="d",
        impact="LOW",
    )
    assert gold.scores == (HumanScore(trace_id="ab", judge="TC", score=2, rater="jo"),)
    assert gold.by_trace == {"ab": (error,), "cd": ()}


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.json"])
def test_a_byte_order_mark_at_the_beginning_is_passed_over(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(LINE), encoding="utf-8-sig")
    assert [error.trace_id for error in load_gold(path).errors] == ["ab"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([LINE, "{"], "gold.jsonl:2:2: expected a gold error (a JSON object), found ", id="no JSON"),
        pytest.param([[1]], "gold.jsonl:1: expected a gold error (a JSON object), found list", id="no object"),
        pytest.param(
            [{"category": "x"}], "gold.jsonl:1: expected a gold error, found trace_id: Field required", id="no trace"
        ),
        pytest.param([{**LINE, "impact": "low"}], "gold.jsonl:1: expected a gold error, found impact: ", id="impact"),
        pytest.param(
            [{**LINE, "spanid": "x"}], "gold.jsonl:1: expected a gold error, found spanid: Extra", id="unknown field"
        ),
        pytest.param([{**LINE, "type": "err"}], "gold.jsonl:1: expected a gold error, found type: ", id="type"),
        pytest.param(
            [{"type": "score", "trace_id": "a", "judge": "TC", "score": 4}],
            "gold.jsonl:1: expected a gold error, found score: Input should be less than or equal to 3",
            id="score",
        ),
        pytest.param(
            [{**LINE, "category": "Hallucination"}],
            "gold.jsonl:1: category: expected one of TRAIL's 21 (or a `dimensions` field), found 'Hallucination'",
            id="category",
        ),
        pytest.param(
            [{**LINE, "id": "x"}, {**LINE, "id": "x"}],
            "gold.jsonl:2: expected a new id, found 'x', which is in ",
            id="id twice",
        ),
    ],
)
def test_a_malformed_line_stops_with_its_position(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(FormatError) as error:
        load_gold(written(tmp_path, *lines))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path))


def test_another_vocabulary_is_welcome_with_dimensions_or_a_mapping(tmp_path: Path) -> None:
    own = {**LINE, "category": "Hallucination"}
    assert load_gold(written(tmp_path, {**own, "dimensions": ["SAFETY"]})).errors[0].dimensions == ("SAFETY",)
    assert load_gold(written(tmp_path, own), mapping={"Hallucination": ["LC"]}).errors[0].dimensions == ("LC",)


def test_a_mapping_file_replaces_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[dimensions]\n"goal deviation" = ["PQ"]\n')
    assert load_gold(written(tmp_path, LINE), mapping=file).errors[0].dimensions == ("PQ",)
    assert load_mapping(file) == load_mapping() | {"Goal Deviation": ("PQ",)}


def test_dimensions_of_an_error_go_before_the_mapping(tmp_path: Path) -> None:
    path = written(tmp_path, {**LINE, "dimensions": ["TS"]})
    assert load_gold(path, mapping={"Goal Deviation": ["PQ"]}).errors[0].dimensions == ("TS",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[dimensions", "expected TOML with a table [dimensions], found "),
        ("x = 1", "expected a table [dimensions] of categories, found none"),
        ('[dimensions]\nA = "LC"', 'A: expected a list of dimensions (["LC", "TC"]), found \'LC\''),
    ],
)
def test_a_broken_mapping(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "m.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_mapping(file)
    assert message in str(error.value)


def test_the_mapping_knows_every_category_and_only_our_dimensions() -> None:
    mapping = load_mapping()
    assert set(mapping) == set(CATEGORIES)
    assert {code for codes in mapping.values() for code in codes} == set(DIMENSIONS)
    assert all(mapping.values())


def test_a_folder_of_trail_is_read_and_its_quirks_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "processed_annotations_gaia"
    folder.mkdir()
    error = {
        "category": "Language-Only",
        "location": "00000000000000A1",
        "evidence": "e",
        "description": "d",
        "impact": "high",
    }
    odd = {**error, "category": "Language-only", "location": "no span"}
    (folder / "t1.json").write_text(json.dumps({"errors": [error, odd, {**odd, "impact": "?", "category": "New"}]}))
    (folder / "t2.json").write_text('{"errors": [],}')
    gold = load_gold(tmp_path)
    assert [(e.id, e.span_id, e.category, e.impact, e.dimensions) for e in gold.errors] == [
        ("t1-1", "00000000000000a1", "Language-only", "HIGH", ("LC",)),
        ("t1-2", "", "Language-only", "HIGH", ("LC",)),
        ("t1-3", "", "New", None, ()),
    ]
    assert gold.trace_ids == ("t1", "t2")
    assert gold.repair_counts == {
        "a category in another spelling": 1,
        "a location that is no span id: nothing can localise it": 2,
        "a category that is none of the 21, kept as it is": 1,
        "an impact that is none of LOW, MEDIUM, HIGH: left open": 1,
        "not strict JSON: 1 trailing comma": 1,
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "no such file or folder"),
        ("", "expected a folder of gold files (*.json of TRAIL, or *.jsonl), found none"),
    ],
)
def test_where_there_is_no_gold(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=r"^/") as error:
        load_gold(tmp_path / name)
    assert message in str(error.value)


def test_the_same_trace_annotated_in_two_files_is_refused(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / part / "gold").mkdir(parents=True)
        (tmp_path / part / "gold" / "t.json").write_text('{"errors": []}')
    with pytest.raises(FormatError, match="the annotations of this trace are in"):
        load_gold(tmp_path)


def test_the_version_is_of_names_and_contents(tmp_path: Path) -> None:
    first = load_gold(written(tmp_path, LINE)).version
    assert load_gold(written(tmp_path, LINE)).version == first
    assert load_gold(written(tmp_path, {**LINE, "impact": "HIGH"})).version != first


def test_our_planted_errors_load() -> None:
    gold = load_gold(PLANTED)
    assert len(gold.errors) == len(PLANTED.read_text(encoding="utf-8").splitlines())
    assert all(error.dimensions and error.span_id for error in gold.errors)


@pytest.mark.skipif(not TRAIL.is_dir(), reason="needs the development part of TRAIL")
def test_every_gold_file_of_trail_loads() -> None:
    gold = load_gold(TRAIL)
    assert (gold.files, len(gold.trace_ids), len(gold.errors)) == (73, 73, 423)
    assert gold.repair_counts == {
        "an error without description, taken from the fields beside it": 1,
        "a category in another spelling": 9,
        "a location that is no span id: nothing can localise it": 1,
    }


ERRORS: st.SearchStrategy[dict[str, str | None]] = st.builds(
    dict,
    trace_id=st.sampled_from("abc"),
    span_id=st.sampled_from(("", "0a", "0b")),
    category=st.sampled_from(CATEGORIES),
    evidence=st.text(),
    description=st.text(),
    impact=st.sampled_from((*IMPACTS, None)),
)


@given(errors=st.lists(ERRORS), clean=st.booleans())
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, errors: list[dict[str, str | None]], clean: bool
) -> None:
    folder = tmp_path_factory.mktemp("gold")
    gold = load_gold(written(folder, *errors, *([{"type": "trace", "trace_id": "clean"}] if clean else [])))
    again = folder / "again.jsonl"
    again.write_bytes(b"".join(gold.lines()))
    back = load_gold(again)
    assert sorted(back.errors, key=str) == sorted(gold.errors, key=str)
    assert set(back.trace_ids) == set(gold.trace_ids)


def test_a_part_of_the_gold_is_of_its_traces_alone() -> None:
    errors = tuple(GoldError(id=name, trace_id=name, category="x", dimensions=("LC",)) for name in "abc")
    gold = Gold(errors, trace_ids=("a", "b", "c", "d"))
    assert [error.id for error in gold.of("bd").errors] == ["b"]
    assert gold.of("bd").trace_ids == ("b", "d")
