"""The folder that a search leaves: what `gpa evaluate --rubrics` takes, and what says where it comes from."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gpa.errors import InputError, UsageError
from gpa.judges.gold import Gold
from gpa.judges.rubrics import Rubric, digest, load_frame, load_rubrics
from gpa.optimize.output import Tuned, check_folder, difference, report_html, report_markdown, unsearched, write_folder
from gpa.optimize.plots import pareto_front, score_over_calls
from gpa.optimize.portions import Portions
from gpa.optimize.results import Candidate, Rejection, SearchResult

START = load_rubrics()
NASTY = "<script>alert(1)</script> & ``` \x1b[31m"
PORTIONS = Portions(("a1",), ("b1", "b2"), ("c1",))


def rubric(code: str, addition: str) -> Rubric:
    return START[code].model_copy(update={"text": START[code].text + addition})


def candidate(
    number: int, parents: tuple[int, ...], score: float, precision: float, calls: int, text: str
) -> Candidate:
    return Candidate(
        number,
        {"TC": rubric("TC", text)},
        parents,
        score,
        {"recall": score, "precision": precision, "localisation": score},
        {"b1": score, "b2": score},
        calls,
        caught=round(4 * score),
        errors=4,
    )


SEARCH = SearchResult(
    ("TC",),
    (
        candidate(0, (), 0.25, 0.9, 2, ""),
        candidate(1, (0,), 0.5, 0.5, 9, "\nCompare twice.\n"),
        candidate(2, (1,), 0.75, 0.8, 16, "\nCompare thrice.\n"),
    ),
    2,
    (Rejection("TC", NASTY, f"It asks for {NASTY}.", 0, 4),),
    "calls",
    "the budget of calls is used up",
    calls=20,
    proposals=3,
    cost_usd=0.125,
    paid=20,
    replayed=0,
    from_cache=0,
    unpriced=0,
)
TUNED = Tuned(
    START,
    (SEARCH,),
    PORTIONS,
    PORTIONS.table(Gold((), (), ("a1", "b1", "b2", "c1")), ("TC",)),
    {"model": "a/judge", "seed": 7},
    why_not="interrupted",
    notes=(f"A note: {NASTY}",),
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_folder(tmp_path / "out", TUNED)
    return tmp_path / "out"


def test_the_folder_holds_the_winner_as_a_rubric_and_no_other(out: Path) -> None:
    rubrics = load_rubrics(out)
    assert list(rubrics) == list(START)
    assert rubrics["TC"].text == SEARCH.candidates[2].rubrics["TC"].text
    assert rubrics["LC"] == START["LC"]
    assert load_frame(out) == load_frame()
    assert {path.name for path in out.iterdir()} == {
        *("TC.md", "README.md", "report.html", "manifest.json", "changes.diff", "candidates"),
    }


def test_every_candidate_can_be_taken_instead(out: Path) -> None:
    for one in SEARCH.candidates:
        assert (out / "candidates" / "TC" / f"{one.number}.md").read_text() == one.rubrics["TC"].text


def test_rubrics_of_the_start_that_were_not_searched_go_over_with_the_frame(tmp_path: Path) -> None:
    own = Rubric(code="SAFETY", title="Safety", text="# Safety\n\nWas it safe?\n")
    start = START | {"SAFETY": own}
    kept = unsearched(start, ("TC",), ("SAFETY", "TC", "frame"))
    assert kept == {"SAFETY": own}
    write_folder(tmp_path, replace(TUNED, start=start, kept=kept, frame="Be kind.\n"))
    assert load_rubrics(tmp_path)["SAFETY"] == own
    assert load_frame(tmp_path) == "Be kind.\n"


def test_where_nothing_was_better_the_start_comes_out(tmp_path: Path) -> None:
    write_folder(tmp_path, replace(TUNED, searches=(replace(SEARCH, best=0),)))
    assert load_rubrics(tmp_path) == START
    assert (tmp_path / "changes.diff").read_text() == ""
    assert "No rubric changed." in (tmp_path / "README.md").read_text()


def test_where_not_even_the_start_was_judged_it_comes_out(tmp_path: Path) -> None:
    write_folder(tmp_path, replace(TUNED, searches=(replace(SEARCH, candidates=(), best=0),)))
    assert load_rubrics(tmp_path) == START


def test_the_manifest_says_where_each_rubric_comes_from(out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["settings"] == {"model": "a/judge", "seed": 7}
    assert manifest["portions"] == {"train": ["a1"], "dev": ["b1", "b2"], "held-out": ["c1"]}
    assert manifest["start"] == {"TC": digest(START["TC"].text)}
    assert manifest["tuned"] == {"TC": digest((out / "TC.md").read_text())}
    assert set(manifest["versions"]) == {"agent-gpa", "dspy", "gepa"}
    (search,) = manifest["searches"]
    assert [(one["parents"], one["score"], one["calls"]) for one in search["candidates"]] == [
        ([], 0.25, 2),
        ([0], 0.5, 9),
        ([1], 0.75, 16),
    ]
    assert search["candidates"][2]["rubrics"] == manifest["tuned"]
    assert search["front"] == [0, 2]
    assert (search["best"], search["stopped"], search["cost_usd"]) == (2, "calls", 0.125)
    assert search["refused"][0]["reason"] == f"It asks for {NASTY}."
    assert manifest["held_out"] is None
    assert "Held-out traces not judged: interrupted. Whether it helped is not known." in manifest["notes"]


def test_the_diff_is_a_unified_one_against_the_start() -> None:
    text = difference(START, TUNED.rubrics)
    assert text.startswith("--- start/TC.md\n+++ tuned/TC.md\n@@ ")
    assert [line for line in text.splitlines()[3:] if line[0] != " "] == ["+", "+Compare thrice."]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.seen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in {"src", "href", "xlink:href"}]

    def handle_data(self, data: str) -> None:
        self.seen += data


def test_the_page_loads_nothing_and_runs_nothing_of_what_models_wrote() -> None:
    page = _Page()
    page.feed(report_html(TUNED))
    assert "script" not in page.tags
    assert page.links == []
    assert page.tags.count("svg") == 2
    assert "<script>alert(1)</script>" in page.seen
    assert "Compare thrice." in page.seen


def test_the_markdown_escapes_what_models_wrote() -> None:
    text = report_markdown(TUNED)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert re.search(r"^```diff\n(.*\n)*```$", text, re.MULTILINE)


def test_a_diff_with_fences_of_its_own_stays_one_block() -> None:
    fenced = replace(
        SEARCH, candidates=(*SEARCH.candidates[:2], candidate(2, (1,), 1.0, 1.0, 16, "\n````x\ny\n````\n"))
    )
    text = report_markdown(replace(TUNED, searches=(fenced,)))
    assert re.search(r"^`````+diff$", text, re.MULTILINE)


@pytest.mark.parametrize("plot", [score_over_calls, pareto_front])
def test_plots_are_svg_with_a_point_for_each_candidate(plot: object) -> None:
    assert callable(plot)
    picture = ET.fromstring(plot(SEARCH))
    points = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert [point.get("class") for point in points] == ["front", "candidate", "winner"]
    assert all(48 <= float(point.get("cx", 0)) <= 546 and 16 <= float(point.get("cy", 0)) <= 220 for point in points)


def test_the_line_of_the_best_never_falls() -> None:
    line = ET.fromstring(score_over_calls(SEARCH)).find("{http://www.w3.org/2000/svg}polyline")
    assert line is not None
    heights = [float(point.split(",")[1]) for point in line.get("points", "").split()]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3


def test_a_search_without_candidates_is_drawn_too() -> None:
    for plot in (score_over_calls, pareto_front):
        ET.fromstring(plot(replace(SEARCH, candidates=(), calls=0, rejected=())))


@pytest.mark.parametrize(
    ("content", "resume", "message"),
    [
        ({}, False, None),
        ({"x.md": "x"}, False, "expected an empty folder, found other files"),
        (
            {"search/TC/answers.jsonl": "x"},
            False,
            "expected an empty folder, found a search (--resume goes on with it)",
        ),
        ({"search/TC/answers.jsonl": "x"}, True, None),
    ],
    ids=["empty", "files", "search", "resumed"],
)
def test_a_folder_with_something_in_it_is_not_written_over(
    content: dict[str, str], resume: bool, message: str | None, tmp_path: Path
) -> None:
    for name, text in content.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    if message is None:
        check_folder(tmp_path, resume=resume, start=None)
        return
    with pytest.raises(UsageError) as error:
        check_folder(tmp_path, resume=resume, start=None)
    assert str(error.value) == f"{tmp_path}: {message}"


def test_the_start_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected another folder than --rubrics"):
        check_folder(tmp_path, resume=True, start=tmp_path / ".." / tmp_path.name)


def test_a_file_in_the_folders_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(UsageError, match="--out: expected a folder, found a file"):
        check_folder(tmp_path / "out", resume=False, start=None)
    with pytest.raises(InputError, match="expected a folder to write rubrics to"):
        write_folder(tmp_path / "out", TUNED)
