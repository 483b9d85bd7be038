"""`gpa score`, `agree`, `split` and `benchmark` from the command line: forms, options, errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from gpa.judges.gold import load_gold
from tests.gpa import command_line
from tests.gpa.command_line import Ran

ROOT = Path(__file__).parents[2]
PLANTED = ROOT / "fixtures/gold/planted.jsonl"
TRACES = ROOT / "fixtures/traces/openinference-smolagents"


def gpa(*arguments: object) -> Ran:
    return command_line.gpa(*arguments, columns=160)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the checks on four of our own traces, as lines and in a store."""
    folder = tmp_path_factory.mktemp("cli")
    done = gpa("evaluate", TRACES, "--jsonl", folder / "r.jsonl", "--store", folder / "gpa.db")
    assert done.code == 0, done.err
    return folder


def test_score_shows_tables_and_what_they_rest_on(folder: Path) -> None:
    done = gpa("score", folder / "r.jsonl", "--gold", PLANTED)
    assert done.code == 0, done.err
    assert done.out.startswith(f"Gold {load_gold(PLANTED).version}: ")
    assert "Coverage by all judges together" in done.out
    assert "Gold errors x judges" not in done.out
    assert "Gold errors x judges" in gpa("score", folder / "r.jsonl", "--gold", PLANTED, "--all").out


def test_a_store_and_its_lines_score_the_same(folder: Path) -> None:
    lines, store = (gpa("score", folder / name, "--gold", PLANTED, "--json").out for name in ("r.jsonl", "gpa.db"))
    assert json.loads(lines) == json.loads(store)


def test_json_markdown_and_csv_hold_every_table(folder: Path) -> None:
    tables = json.loads(gpa("score", folder / "r.jsonl", "--gold", PLANTED, "--json").out)["tables"]
    rows = csv.DictReader(io.StringIO(gpa("score", folder / "r.jsonl", "--gold", PLANTED, "--csv").out))
    assert {row["table"] for row in rows} == set(tables)
    markdown = gpa("score", folder / "r.jsonl", "--gold", PLANTED, "--markdown").out
    assert all(f"## {table['title']}\n" in markdown for table in tables.values())


def test_output_goes_to_a_file(folder: Path, tmp_path: Path) -> None:
    done = gpa("score", folder / "r.jsonl", "--gold", PLANTED, "-o", tmp_path / "out.txt")
    assert done.out == ""
    assert "Gold errors caught, by judge" in (tmp_path / "out.txt").read_text()


def test_traces_add_near_and_same_agent(folder: Path) -> None:
    done = gpa("score", folder / "r.jsonl", "--gold", PLANTED, "--traces", TRACES, "--near", 2, "--json")
    [row] = [row for row in json.loads(done.out)["tables"]["union"]["rows"] if row["impact"] == "all"]
    assert (
        row["localised"]["count"]
        <= row["within 2 steps"]["count"]
        <= row["same agent"]["count"]
        <= row["caught"]["count"]
    )
    assert row["localised"]["count"] > 0


def test_two_evaluations_are_compared(folder: Path, tmp_path: Path) -> None:
    less = tmp_path / "less.jsonl"
    less.write_text("".join(line for line in (folder / "r.jsonl").read_text().splitlines(True) if '"TC"' not in line))
    done = gpa("score", folder / "r.jsonl", less, "--gold", PLANTED)
    assert done.code == 0, done.err
    assert "Recall of gold errors caught" in done.out
    assert "annotated traces in both" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["a", "b", "c"], "expected one evaluation, or two to compare, found 3", id="three evaluations"),
        pytest.param(["a", "--cache", "c.db"], "--cache belongs to --matcher llm", id="a cache without a model"),
        pytest.param(
            ["R", "--json", "--csv"],
            "--json, --markdown and --csv are three forms of the same: use one of them",
            id="forms",
        ),
        pytest.param(["R", "--model", "m/1"], "no results of model 'm/1' in the evaluation", id="an unknown model"),
        pytest.param(["R", "--matcher", "llm"], "--matcher llm needs --meta-model PROVIDER/NAME", id="no meta-model"),
        pytest.param(["nowhere.jsonl"], "nowhere.jsonl: cannot be read: No such file or directory", id="no file"),
    ],
)
def test_wrong_use_of_score(folder: Path, arguments: list[str], message: str) -> None:
    done = gpa("score", *(str(folder / "r.jsonl") if a == "R" else a for a in arguments), "--gold", PLANTED)
    assert (done.code, done.err) == (2, f"gpa: {message}\n")


def test_a_malformed_gold_line_stops_with_its_position(folder: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text(PLANTED.read_text() + '{"trace_id": "a"}\n')
    done = gpa("score", folder / "r.jsonl", "--gold", gold)
    number = len(PLANTED.read_text().splitlines()) + 1
    assert (done.code, done.err) == (
        2,
        f"gpa: {gold}:{number}: expected a gold error, found category: Field required\n",
    )


def test_the_meta_judge_by_files(folder: Path, tmp_path: Path) -> None:
    """Requests are written; answers from anywhere are scored; what has no answer is in no table, and exit 3."""
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    common = ("score", folder / "gpa.db", "--gold", PLANTED, "--matcher", "llm", "--meta-model", "anthropic/claude-x")
    done = gpa(*common, "--requests-to", requests)
    asked = [json.loads(line) for line in requests.read_text().splitlines()]
    assert (done.code, done.out) == (0, "")
    assert done.err == f"{len(asked)} requests written to {requests}; nothing was sent\n"
    lines = []
    for request in asked[1:]:
        tail = request["params"]["messages"][0]["content"][-1]["text"]
        passage = tail.partition("rationale: ")[2][:40]
        entries = [
            {"id": f"e{n}", "passage": passage, "finding": None, "caught": 1, "look_for": ""}
            for n in range(1, 9)
            if f'"id":"e{n}"' in tail
        ]
        content = [{"type": "text", "text": json.dumps({"errors": entries})}]
        message = {"type": "message", "content": content, "stop_reason": "end_turn"}
        lines.append(
            json.dumps({"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}})
        )
    responses.write_text("\n".join(lines))
    done = gpa(*common, "--responses-from", responses, "--json")
    assert done.code == 3
    assert "expected a line with custom_id" in done.err
    found = json.loads(done.out)
    assert any(note.startswith("The meta-judge could not decide ") for note in found["notes"])
    rows = found["tables"]["caught"]["rows"]
    assert sum(row["failed"] for row in rows) == 0
    assert all(row["recall, judged"]["value"] in (None, 1.0) for row in rows)
    assert all(row["P"] is None for row in rows)


def test_human_scores_of_a_judge_that_nobody_knows_are_noted(folder: Path, tmp_path: Path) -> None:
    score = {"type": "score", "trace_id": "ab", "judge": "XX", "score": 1}
    (tmp_path / "g.jsonl").write_text(json.dumps(score))
    done = gpa("agree", folder / "r.jsonl", "--gold", tmp_path / "g.jsonl")
    assert "Judges in the gold that are no dimension and have no results: XX (1 human scores)." in done.out


def test_agree_with_people_and_over_samples(folder: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    again = [{**line, "sample": 1} for line in lines]
    results, gold = tmp_path / "r.jsonl", tmp_path / "g.jsonl"
    results.write_text("\n".join(map(json.dumps, (*lines, *again))))
    scores = [
        {"type": "score", "trace_id": line["trace_id"], "judge": line["judge"], "score": line["score"]}
        for line in lines
        if line["type"] == "verdict"
    ]
    gold.write_text("\n".join(map(json.dumps, scores)))
    done = gpa("agree", results, "--gold", gold, "--rationales", "lexical", "--json")
    assert done.code == 0, done.err
    tables = json.loads(done.out)["tables"]
    assert {row["same score"]["value"] for row in tables["people"]["rows"]} == {1.0}
    assert {row["SCI"]["value"] for row in tables["samples"]["rows"] if row["traces"]} == {1.0}
    assert {"orthogonality_alpha", "orthogonality_kappa", "orthogonality_jaccard", "orthogonality_phi"} <= set(tables)
    shown = gpa("agree", folder / "r.jsonl", "--gold", PLANTED)
    assert "Consistency over samples" not in shown.out
    assert "by gold errors" in shown.out


def vectors(texts: list[str]) -> list[list[float]]:
    """Stands for the embedding model of an installed package."""
    return [[float(len(text)), 1.0] for text in texts]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("nothing", "--rationales: expected `lexical` or MODULE:FUNCTION, found 'nothing'"),
        ("no_such_module:f", "--rationales no_such_module:f: No module named 'no_such_module'"),
        ("json:none", "--rationales json:none: module 'json' has no attribute 'none'"),
    ],
)
def test_unknown_embeddings(folder: Path, how: str, message: str) -> None:
    done = gpa("agree", folder / "r.jsonl", "--rationales", how)
    assert (done.code, done.err) == (2, f"gpa: {message}\n")


def test_embeddings_of_a_package(folder: Path, tmp_path: Path) -> None:
    lines = [line for line in (folder / "r.jsonl").read_text().splitlines() if '"verdict"' in line]
    results = tmp_path / "r.jsonl"
    results.write_text("\n".join([*lines, *(line.replace('"sample":0', '"sample":1') for line in lines)]))
    done = gpa("agree", results, "--rationales", f"{__name__}:vectors", "--json")
    assert done.code == 0, done.err
    notes = json.loads(done.out)["tables"]["samples"]["notes"]
    assert any(f"({__name__}:vectors)" in note for note in notes)


def test_split_writes_gold_that_loads(tmp_path: Path) -> None:
    dev, test = tmp_path / "dev.jsonl", tmp_path / "test.jsonl"
    done = gpa("split", PLANTED, "--dev", dev, "--test", test)
    assert done.code == 0, done.err
    gold = load_gold(PLANTED)
    assert {*load_gold(dev).errors, *load_gold(test).errors} == set(gold.errors)
    assert not set(load_gold(dev).trace_ids) & set(load_gold(test).trace_ids)
    assert gpa("split", PLANTED, "--dev", dev, "--test", dev).err == f"gpa: --dev and --test are the same file: {dev}\n"


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    error = {
        "category": "Goal Deviation",
        "location": "00000000000000a1",
        "evidence": "e",
        "description": "d",
        "impact": "LOW",
    }
    for part in ("gold", "traces"):
        (tmp_path / "gaia" / part).mkdir(parents=True)
    (tmp_path / "model").mkdir()
    for name in ("aa" * 16, "bb" * 16):
        (tmp_path / "gaia/gold" / f"{name}.json").write_text(json.dumps({"errors": [error]}))
    (tmp_path / "model" / f"{'aa' * 16}.json").write_text(json.dumps({"errors": [error]}))
    return tmp_path


def test_benchmark_says_which_traces_gold_and_rule(trail: Path) -> None:
    done = gpa("benchmark", "trail", "--data", trail, "--predictions", trail / "model")
    assert done.code == 0, done.err
    assert "Traces (2, first 8 digits): aaaaaaaa bbbbbbbb" in done.out
    assert "Rule: a missing or unreadable prediction is an empty one. Missing: 1, unreadable: 0." in done.out
    published = gpa("benchmark", "trail", "--data", trail, "--predictions", trail / "model", "--as-published", "--json")
    found = json.loads(published.out)
    assert (found["trace_ids"], found["missing"], found["as_published"]) == (["aa" * 16], ["bb" * 16], True)
    assert found["tables"]["trail"]["rows"][0]["predictions"]["value"] == 1.0


def test_benchmark_says_how_to_get_the_data() -> None:
    done = gpa("benchmark", "trail", "--download-help")
    assert done.code == 0
    assert "git clone https://github.com/patronus-ai/trail-benchmark" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give the benchmark as --data DIR, or its gold files as --gold DIR (--download-help says where)"),
        (["--gold", "g"], "give what is to be scored as --predictions DIR, or as --results FILE"),
        (
            ["--gold", "g", "--results", "r", "--part", "gaia"],
            "--part chooses a part of --data; with --gold the folder is the part",
        ),
        (
            ["--gold", "g", "--predictions", "p", "--judge", "TC"],
            "--judge chooses findings in --results; TRAIL's predictions name no judges",
        ),
    ],
)
def test_wrong_use_of_benchmark(arguments: list[str], message: str) -> None:
    done = gpa("benchmark", "trail", *arguments)
    assert (done.code, done.err) == (2, f"gpa: {message}\n")
