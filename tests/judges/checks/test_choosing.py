"""Which checks run, which findings are muted, and what is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from gpa.cli.checks import command
from gpa.cli.evaluate import command as evaluate
from gpa.errors import FormatError, InputError, UsageError
from gpa.ingest.spans import Span, Trace
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.checks import CHECKS
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.reference import reference
from gpa.judges.checks.selection import select
from gpa.judges.checks.suppressions import NO_REASON, Suppression, load_suppressions
from gpa.judges.scoring import judge, rubric_hash
from gpa.judges.verdict import RESULT, Verdict
from tests.judges.checks.transcripts import llm, said, transcript

ROOT = Path(__file__).parents[3]
NAMES = [check.name for check in CHECKS]
PLANTED = (
    Check("one-thing", "planted", "Language-only", ("LC",), lambda _: [Hit(("s1",), "seven", "is wrong", "HIGH")]),
    Check("other-thing", "planted", "Language-only", ("LC",), lambda _: [Hit(("s2",), "eight", "is odd", "MEDIUM")]),
)
TWO = transcript(llm(said("seven")), llm(said("eight")))


def verdict(given: Transcript, *suppressions: Suppression) -> Verdict:
    (outcome,) = judge(given, ["LC"], checks=PLANTED, suppressions=suppressions)
    assert isinstance(outcome, Verdict)
    return outcome


def test_select() -> None:
    assert [check.name for check in select()] == NAMES
    assert [check.name for check in select([NAMES[2], NAMES[0]])] == [NAMES[0], NAMES[2]]
    assert [check.name for check in select(skip=NAMES[1:])] == NAMES[:1]


@pytest.mark.parametrize(
    ("only", "skip", "said_of_it"),
    [
        (["repeated-cal"], [], "found 'repeated-cal'; did you mean repeated-call?"),
        (None, ["zzz"], "found 'zzz'"),
        ([NAMES[0]], [NAMES[0]], "found none"),
        ([], [], "found none"),
    ],
    ids=["misspelt", "unknown", "all left out", "none named"],
)
def test_a_choice_that_is_none_is_an_error(only: list[str] | None, skip: list[str], said_of_it: str) -> None:
    with pytest.raises(UsageError, match=said_of_it.replace("?", r"\?")):
        select(only, skip)


@pytest.mark.parametrize(
    ("suppression", "left", "muted"),
    [
        (Suppression("one-thing", "known"), ["other-thing"], ["one-thing"]),
        (Suppression("*", "known"), [], ["one-thing", "other-thing"]),
        (Suppression("*", "known", trace_id="another"), ["one-thing", "other-thing"], []),
        (Suppression("*", "known", span_id="span2"), ["one-thing"], ["other-thing"]),
        (Suppression("*", "known", contains="odd"), ["one-thing"], ["other-thing"]),
        (Suppression("*", "known", contains="seven"), ["other-thing"], ["one-thing"]),
    ],
    ids=["by check", "every check", "another trace", "by span", "by problem", "by quote"],
)
def test_muted_findings_are_kept_and_count_for_nothing(
    suppression: Suppression, left: list[str], muted: list[str]
) -> None:
    outcome = verdict(TWO, suppression)
    assert [finding.check for finding in outcome.findings] == left
    assert [finding.check for finding in outcome.suppressed] == muted
    assert all(finding.problem.endswith("(muted: known)") for finding in outcome.suppressed)
    assert outcome.score == (1 if left else 3)
    assert (f"{len(muted)} suppressed" in outcome.rationale) is bool(muted)


def test_muting_changes_the_key_under_which_results_are_stored() -> None:
    assert rubric_hash("LC") != rubric_hash("LC", suppressions=(Suppression("*", "known"),))
    assert rubric_hash("LC") != rubric_hash("LC", checks=CHECKS[1:]) or "LC" not in CHECKS[0].dimensions


def test_a_span_can_mute_what_is_said_of_it() -> None:
    first, second = TWO.steps
    given = Transcript("t", "", TWO.agents, (replace(first, suppress=("one-thing: looked at",)), second))
    assert [finding.problem for finding in verdict(given).suppressed] == ["is wrong (muted: looked at)"]
    given = Transcript("t", "", TWO.agents, (replace(first, suppress=("other-thing: elsewhere", "*")), second))
    assert [finding.problem for finding in verdict(given).suppressed] == [f"is wrong (muted: {NO_REASON})"]


@pytest.mark.parametrize(
    ("value", "found"),
    [("a: b", ("a: b",)), (["a: b", "c"], ("a: b", "c")), (7, ()), ([1, "a"], ("a",)), (None, ())],
    ids=str,
)
def test_the_attribute_comes_from_the_span(value: object, found: tuple[str, ...]) -> None:
    attributes = {"openinference.span.kind": "LLM", "gpa.suppress": value}
    span = Span("a" * 32, "b" * 16, name="model", start_ns=1, end_ns=2, attributes=attributes)
    assert transcribe(Trace("a" * 32, (span,))).steps[0].suppress == found


def test_load_suppressions(tmp_path: Path) -> None:
    path = tmp_path / "muted.toml"
    path.write_text(f'[[suppress]]\ncheck = "{NAMES[0]}"\nreason = "known"\nspan_id = "AB"\n', encoding="utf-8")
    assert load_suppressions(path) == (Suppression(NAMES[0], "known", span_id="ab"),)
    path.write_text("", encoding="utf-8")
    assert load_suppressions(path) == ()


@pytest.mark.parametrize(
    ("content", "said_of_it"),
    [
        ("[[suppress]\n", "expected TOML"),
        ("x = 1\n", "tables only, found x"),
        ('[suppress]\ncheck = "*"\n', "tables only, found a single"),
        ('[[suppress]]\ncheck = "*"\n', "expected a reason"),
        ('[[suppress]]\nreason = "known"\n', "expected a check"),
        ('[[suppress]]\ncheck = "*"\nreason = ""\n', r"reason: expected a text"),
        ('[[suppress]]\ncheck = "zzz"\nreason = "known"\n', "found 'zzz'"),
        ('[[suppress]]\ncheck = "*"\nreason = "known"\nspam = "x"\n', "found spam"),
    ],
    ids=["no TOML", "other keys", "one table", "no reason", "no check", "empty", "unknown check", "unknown field"],
)
def test_a_file_of_another_form_is_an_error(tmp_path: Path, content: str, said_of_it: str) -> None:
    path = tmp_path / "muted.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=said_of_it):
        load_suppressions(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_suppressions(tmp_path / "none.toml")


LOOP = ROOT / "fixtures" / "traces" / "openinference-langgraph" / "stock_loop.traces.jsonl"


@pytest.mark.parametrize(
    ("options", "left", "muted"),
    [
        ([], ["repeated-call"], []),
        (["--checks", "failed-action,repeated-call"], ["repeated-call"], []),
        (["--skip-checks", "repeated-call"], [], []),
        (["--suppress", "MUTED"], [], ["repeated-call"]),
    ],
    ids=["all", "only", "skip", "muted"],
)
def test_the_options_of_evaluate(tmp_path: Path, options: list[str], left: list[str], muted: list[str]) -> None:
    path, lines = tmp_path / "muted.toml", tmp_path / "results.jsonl"
    path.write_text('[[suppress]]\ncheck = "repeated-call"\nreason = "a test"\n', encoding="utf-8")
    options = [str(path) if option == "MUTED" else option for option in options]
    done = CliRunner().invoke(evaluate, [str(LOOP), "--dimensions", "EE", "--jsonl", str(lines), *options])
    assert done.exit_code == 0, done.output
    (outcome,) = [RESULT.validate_json(line) for line in lines.read_bytes().splitlines()]
    assert isinstance(outcome, Verdict)
    assert [finding.check for finding in outcome.findings] == left
    assert [finding.check for finding in outcome.suppressed] == muted
    assert ("1 finding muted" in done.output) is bool(muted)


def test_the_reference_is_what_the_registry_says() -> None:
    assert (ROOT / "docs" / "checks.md").read_text(encoding="utf-8") == reference()


def test_the_command_lists_all_and_tells_about_one() -> None:
    listed = CliRunner().invoke(command, [])
    assert [line.split()[0] for line in listed.output.splitlines()] == NAMES
    told = CliRunner().invoke(command, [NAMES[0]])
    assert CHECKS[0].false_alarms in told.output
    assert CliRunner().invoke(command, ["--markdown"]).output == reference()
