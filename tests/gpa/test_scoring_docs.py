"""The worked examples of docs/scoring.md: its tables are what the program prints, its sums are done again here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest

from gpa.agreement import Rate
from gpa.benchmark import Benchmark
from gpa.comparison import compare
from gpa.consistency import lexical, read_scores
from gpa.judges.gold import Gold, load_gold
from gpa.judges.matching import similarity, words
from gpa.judges.result_lines import read_lines
from gpa.judges.verdict import Verdict
from gpa.recall import score
from gpa.scored import Scored
from gpa.split import split, split_table
from gpa.tables import Table, markdown
from gpa.trail import read_annotations, read_predictions

DOCUMENT = (Path(__file__).parents[2] / "docs/scoring.md").read_text(encoding="utf-8")
LLM = {"trace1": frozenset({"p1", "p2", "p3", "p4"}), "trace2": frozenset({"q1", "q2"})}


def block(language: str, number: int) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    return found[number]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the document."""
    folder = tmp_path_factory.mktemp("docs")
    for number, name in enumerate(("gold", "first", "second")):
        (folder / f"{name}.jsonl").write_text(block("jsonl", number))
    (folder / "gold").mkdir()
    (folder / "model").mkdir()
    for line in block("json", 0).splitlines():
        (folder / "gold" / f"{json.loads(line)['trace_id']}.json").write_text(line)
    for trace_id, answer in json.loads(block("json", 1)).items():
        (folder / "model" / f"{trace_id}.json").write_text(answer)
    return folder


@pytest.fixture(scope="module")
def gold(folder: Path) -> Gold:
    return load_gold(folder / "gold.jsonl")


@pytest.fixture(scope="module")
def scored(folder: Path, gold: Gold) -> Scored:
    return score(folder / "first.jsonl", gold)


@pytest.fixture(scope="module")
def tables(folder: Path, gold: Gold, scored: Scored) -> dict[str, Table]:
    scores = read_scores(folder / "first.jsonl", alike=lexical, vectors="TF-IDF of words, no embedding model")
    every: Iterable[Table] = (
        *scored.tables(),
        *scores.with_people(gold),
        *scores.over_samples(),
        *scores.between_dimensions(),
        *compare(scored, score(folder / "second.jsonl", gold)),
        split_table(*split(gold)),
        *benchmark(folder, as_published=False).tables(),
    )
    return {table.name: table for table in every}


def benchmark(folder: Path, *, as_published: bool) -> Benchmark:
    annotations = read_annotations(folder / "gold")
    predictions = read_predictions(folder / "model", [case.trace_id for case in annotations.cases])
    return Benchmark(annotations, predictions, as_published, LLM)


def test_the_document_shows_every_table_as_it_is_printed(tables: dict[str, Table]) -> None:
    for name, table in tables.items():
        shown = markdown([table]).replace("## ", "### ", 1).rstrip()
        assert shown in DOCUMENT, f"{name}: docs/scoring.md does not show\n{shown}"
    assert len(re.findall(r"^### ", DOCUMENT, re.MULTILINE)) == len(tables)


F = Fraction


@pytest.mark.parametrize(
    ("place", "by_hand"),
    [
        ("counts/LC/all", 2),
        ("counts/errors/all", 4),
        ("union/all/caught", F(3, 4)),
        ("union/all/localised", F(2, 4)),
        ("union/medium/caught", F(1, 2)),
        ("caught/TC/P", F(1, 1)),
        ("caught/TC/recall", F(1, 2)),
        ("caught/TC/F1", F(2, 3)),
        ("caught/TC/F2", F(5, 9)),
        ("caught/TC/accuracy", F(3, 4)),
        ("caught/TC/recall, judged", F(1, 1)),
        ("caught/TC/n/a", 1),
        ("caught/EE/P", F(1, 2)),
        ("caught_high/LC/recall", F(0, 1)),
        ("caught_medium/EE/recall", None),
        ("caught_low/EE/recall", F(1, 1)),
        ("localised/LC/recall", F(0, 2)),
        ("localised/LC/P", None),
        ("localised/EE/recall", F(1, 1)),
        ("localised_high/TC/recall", F(1, 1)),
        ("localised_medium/LC/recall", F(0, 1)),
        ("localised_low/EE/F1", 1),
        ("findings/LC/match any error", F(1, 3)),
        ("findings/EE/match an error of its own", F(1, 2)),
        ("findings/EE/match any error", F(2, 2)),
        ("stability/EE/mean recall", (F(1, 1) + 0) / 2),
        ("stability/LC/caught in any", F(1, 2)),
        ("matrix/1/TC", 2),
        ("matrix/2/LC", 1),
        ("people/LC/same score", F(2, 3)),
        ("people/LC/NMAE", F(1, 9)),
        ("people/LC/failed", 1),
        ("people/TC/n/a", 1),
        ("people/EE/2-point", F(3, 4)),
        ("people_chance/LC/kappa", F(1, 2)),
        ("people_chance/LC/alpha, interval", 1 - F(5 * 2, 58)),
        ("samples/EE/mean std", F(1, 8)),
        ("samples/EE/all the same", F(3, 4)),
        ("samples/TC/alpha", 1),
        ("orthogonality_kappa/LC/EE", F(2, 5)),
        ("orthogonality_jaccard/LC/EE", F(1, 2)),
        ("orthogonality_phi/LC/EE", F(1, 2)),
        ("orthogonality_alpha/LC/EE", 1 - F(5 * 2, 18)),
        ("compare_caught/TC/difference", F(-1, 2)),
        ("compare_caught/all together/difference", 0),
        ("compare_localised/LC/difference", F(1, 2)),
        ("compare_localised/all together/won", 1),
        ("compare_quality/TC/score difference", F(3 + 3 + 3, 3) - F(1 + 3 + 3, 3)),
        ("split/traces/dev", 2),
        ("trail/location accuracy/predictions", F(1, 4)),
        ("trail/joint accuracy/predictions", F(1, 4)),
        ("trail/weighted F1 of categories/predictions", F(2, 3) * F(2, 3)),
        ("trail/location accuracy/every LLM span", 1),
        ("trail/location precision/every LLM span", F(3, 6)),
        ("trail/location accuracy/random LLM spans", F(1, 4)),
        ("trail_impact/HIGH/span cited", F(1, 2)),
        ("trail_category/Goal Deviation/random LLM spans", F(2, 4)),
    ],
)
def test_by_hand(tables: dict[str, Table], place: str, by_hand: Fraction | int | None) -> None:
    name, row, column = place.split("/", 2)
    cell = tables[name].row(row)[column]
    assert not isinstance(cell, str)
    found = cell.value if isinstance(cell, Rate) else cell
    assert (found is None) == (by_hand is None)
    assert by_hand is None or math.isclose(found or 0, by_hand, abs_tol=1e-12)


def test_as_published_leaves_the_unreadable_trace_out(folder: Path) -> None:
    assert benchmark(folder, as_published=True).figures().location.value == 0.5


def test_the_similarities_of_the_document(folder: Path, gold: Gold) -> None:
    lines = [line for line in read_lines(folder / "first.jsonl") if isinstance(line, Verdict) and line.trace_id == "a"]
    lc, _, ee = (line.findings[0] for line in lines[:3])
    pairs = [(gold.errors[1], lc, 2 * 4 / 12), (gold.errors[0], ee, 2 * 5 / 16)]
    for error, finding, expected in pairs:
        one, other = words(error.evidence, error.description), words(finding.quote, finding.problem)
        assert similarity(one, other) == pytest.approx(expected)
