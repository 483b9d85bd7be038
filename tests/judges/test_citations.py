"""Labels and quotes: what a model cites is found where it stands, and nothing that is not in the trace gets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.dialects.call import Message
from gpa.judges import citations
from gpa.judges.answer import RawFinding
from gpa.judges.case import Case
from gpa.judges.citations import Citations, Resolved, normal
from gpa.judges.redact import Redactor, redacted
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

HOURS = "The museum opens at nine and closes at five, on Mondays it stays closed all day."
RUN = transcript(
    llm(
        said("I will look up the opening hours of the museum first."),
        call("search", {"query": "museum hours"}),
        new=(user("When?"),),
    ),
    tool("search", {"query": "museum hours", "limit": 5}, HOURS),
    llm(
        said("It opens at ten o'clock, as everybody knows from the guide book."),
        new=(Message("tool", f"Observation: {HOURS}"),),
    ),
    tool("write", {"code": 'print("a b")\nprint("second line of it")'}, 'see [s2] and "[s99]" for the rest of it'),
    llm(said("done"), agent="other"),
    system="Always answer in one short sentence.",
)
RESOLVE = Citations(RUN).resolve

CASES = {
    "a right label": (["s1"], "I will look up the opening hours", ("s1",), True, 0, False),
    "several right labels stay in order": (["s3", "s1"], "as everybody knows", ("s3", "s1"), True, 0, False),
    "brackets": (["[s1]"], "I will look up the opening hours", ("s1",), True, 0, False),
    "a capital, zeros, blanks": ([" S01 "], "I will look up the opening hours", ("s1",), True, 0, False),
    "a word before it": (["step 3"], "as everybody knows", ("s3",), True, 0, False),
    "a bare number": (["3"], "as everybody knows", ("s3",), True, 0, False),
    "a negative number is no label": (["-3"], "nowhere to be seen at all", (), False, 1, False),
    "nor a share": (["3%", "3 %"], "nowhere to be seen at all", (), False, 2, False),
    "a hyphen after the word": (["step-3"], "as everybody knows", ("s3",), True, 0, False),
    "a range": (["s2-s4"], "as everybody knows", ("s2", "s3", "s4"), True, 0, False),
    "a range in words": (["[s2] to [s4]"], "as everybody knows", ("s2", "s3", "s4"), True, 0, False),
    "a range among others": (["s1, s3\u2013s4"], "as everybody knows", ("s1", "s3", "s4"), True, 0, False),
    "a range of bare numbers": (["steps 2-4"], "as everybody knows", ("s2", "s3", "s4"), True, 0, False),
    "a range beyond the trace": (["s3-s99"], "as everybody knows", ("s3",), True, 1, False),
    "a range backwards is its ends": (["s4-s2"], "as everybody knows", ("s4", "s2"), True, 0, False),
    "digits of another script": (["s٣"], "as everybody knows", ("s3",), True, 0, False),
    "two in one text": (["s3, s1"], "as everybody knows", ("s3", "s1"), True, 0, False),
    "the same twice": (["s3", "[s3]"], "as everybody knows", ("s3",), True, 0, False),
    "a span id of the trace": (["SPAN3"], "as everybody knows", ("s3",), True, 0, False),
    "an invented label is replaced": (["s99"], "as everybody knows from", ("s3",), True, 0, True),
    "of two invented labels one is": (["s98", "s99"], "as everybody knows from", ("s3",), True, 1, True),
    "beside a right one it is dropped": (["s3", "s99"], "as everybody knows from", ("s3",), True, 1, False),
    "a missing label is found": ([], "as everybody knows from", ("s3",), True, 0, True),
    "an empty one too": ([""], "as everybody knows from", ("s3",), True, 0, True),
    "a span id of another trace": (["b7ad6b7169203331"], "nowhere to be seen at all", (), False, 1, False),
    "a wrong label is replaced": (["s2"], "It opens at ten o'clock, as everybody", ("s3",), True, 0, True),
    "unless the quote is short": (["s2"], "as everybody", ("s2",), True, 0, False),
    "a later call of the same agent had read it": (
        ["s3"],
        "I will look up the opening hours",
        ("s1", "s3"),
        True,
        0,
        True,
    ),
    "a forged quote": (["s3"], "The guide book says it opens at noon on all days.", ("s3",), False, 0, False),
    "a forged quote without a label": (["s77"], "The guide book says it opens at noon.", (), False, 1, False),
    "half of it forged": (["s2"], "The museum opens at nine ... and costs nothing", ("s2",), False, 0, False),
    "no quote": (["s2"], "", ("s2",), False, 0, False),
    "only an elision": (["s2"], " ... ", ("s2",), False, 0, False),
    "a short quote is looked for in its step": (["s5"], "done", ("s5",), True, 0, False),
    "and nowhere else": (["s1"], "done", ("s1",), False, 0, False),
    "a few slips": (
        ["s2"],
        "The museum opens at nine, and closes at five; on Mondays it stay closed all day",
        ("s2",),
        True,
        0,
        False,
    ),
    "slips and no label": (
        [],
        "The museum opens at nine, and closes at five; on Mondays it stay closed all day",
        ("s2",),
        True,
        0,
        True,
    ),
    "white space": (["s2"], "The  museum\n opens at\tnine", ("s2",), True, 0, False),
    "other quotation marks": (["s3"], "It opens at ten o’clock", ("s3",), True, 0, False),
    "an elision": (["s2"], "The museum opens [...] it stays closed all day", ("s2",), True, 0, False),
    "an elision as one character": (["s2"], "The museum opens at nine…closed all day.", ("s2",), True, 0, False),
    "a mark of a cut": (
        ["s2"],
        "The museum opens [... 31 characters left out ...] stays closed all day.",
        ("s2",),
        True,
        0,
        False,
    ),
    "a reference": (["s3"], "tool: Observation: (as in s2)", ("s3",), True, 0, False),
    "a line of the rendering": (
        ["s2"],
        '[s2] tool search by main\n  search({"query":"museum hours","limit":5})',
        ("s2",),
        True,
        0,
        False,
    ),
    "arguments as they are shown": (["s2"], '"query":"museum hours","limit":5', ("s2",), True, 0, False),
    "code with real line ends": (["s4"], 'print("a b")\nprint("second line of it")', ("s4",), True, 0, False),
    "code as it is shown": (["s4"], 'print(\\"a b\\")\\nprint(\\"second line of it\\")', ("s4",), True, 0, False),
    "a label as it is shown": (["s4"], "see ⟦s2⟧ and", ("s4",), True, 0, False),
    "a label as it was recorded": (["s4"], 'see [s2] and "[s99]" for', ("s4",), True, 0, False),
    "an instruction": (["s3"], "Always answer in one short sentence.", ("s3",), True, 0, False),
    "an instruction and no label": ([], "Always answer in one short sentence.", (), True, 0, False),
    "a huge number": (["s" + "9" * 5_000, "9" * 5_000], "as everybody knows from", ("s3",), True, 1, True),
}


@pytest.mark.parametrize(("cited", "quote", "labels", "grounded", "dropped", "repaired"), CASES.values(), ids=CASES)
def test_citation(
    cited: list[str], quote: str, labels: tuple[str, ...], grounded: bool, dropped: int, repaired: bool
) -> None:
    assert RESOLVE(cited, quote) == Resolved(labels, grounded, dropped, repaired)


def test_of_equal_passages_the_nearest_to_the_cited_step_is_taken() -> None:
    steps = [tool("search", {"query": "x"}, HOURS if n in {2, 20} else f"nothing {n}") for n in range(1, 31)]
    resolve = Citations(transcript(*steps)).resolve
    assert resolve(["s18"], HOURS).labels[0] == "s20"
    assert resolve(["s5"], HOURS).labels[0] == "s2"
    assert resolve([], HOURS).labels == ("s2",)


def test_a_redacted_passage_is_found_as_it_was_shown() -> None:
    run = transcript(tool("mail", {}, "Send the report to jane@example.org before noon."), llm(said("ok")))
    shown = redacted(run, Redactor())
    found = Citations(shown).resolve(["s9"], "report to [REDACTED E-mail Address] before noon")
    assert found == Resolved(("s1",), grounded=True, dropped=0, repaired=True)


LABELS = st.one_of(
    st.integers(0, 9).map(lambda n: f"s{n}"),
    st.sampled_from(
        ["[s2]", "S03", "s1, s4", "span2", "SPAN4", "s٣", "s-1", "s1.5", "3", "", " ", "\x00", "s" * 50, "b7ad6b71"]
    ),
    st.text(max_size=12),
)
QUOTES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [HOURS, HOURS[10:50], "done", "as everybody knows ... done", "⟦s2⟧", "(as in s2)", "\x00", "x" * 10_000]
    ),
)
FINDINGS = st.builds(
    RawFinding,
    quote=QUOTES,
    problem=st.text(max_size=10),
    category=st.sampled_from(["Tool-related", "Goal Deviation"]),
    severity=st.sampled_from(["LOW", "HIGH"]),
    steps=st.lists(LABELS, max_size=6).map(tuple),
)


@given(st.lists(FINDINGS, max_size=8))
def test_every_span_of_a_finding_is_in_the_trace(raw: list[RawFinding]) -> None:
    known = {span for step in RUN.steps for span in step.span_ids}
    found = Case(RUN, {}, 10_000).found(raw)
    for finding in found.findings:
        assert known.issuperset(finding.span_ids)
        assert len(set(finding.span_ids)) == len(finding.span_ids)
    keys = [(frozenset(one.span_ids), one.category, "" if one.span_ids else one.quote) for one in found.findings]
    assert len(set(keys)) == len(keys)
    assert found.unresolved <= sum(12 * len(one.steps) for one in raw)
    assert found.repaired <= len(raw)


@given(st.integers(0, 60), st.integers(24, 200))
def test_a_passage_of_a_step_is_always_found_there(start: int, size: int) -> None:
    passage = HOURS[start : start + size]
    assert RESOLVE(["s2"], passage).labels == ("s2",)
    if len(normal(passage)) >= citations.MIN_QUOTE:
        assert RESOLVE(["s2"], passage).grounded


def test_two_reports_of_the_same_are_one_finding_the_graver_one() -> None:
    raw = [
        RawFinding(quote=HOURS, problem="first", category="Tool-related", severity="LOW", steps=("s2",)),
        RawFinding(quote=HOURS, problem="second", category="Tool-related", severity="HIGH", steps=("s2",)),
        RawFinding(quote=HOURS, problem="third", category="Goal Deviation", severity="LOW", steps=("s2",)),
    ]
    findings = Case(RUN, {}, 10_000).found(raw).findings
    assert [(one.severity, one.problem) for one in findings] == [("HIGH", "second; also: first"), ("LOW", "third")]


def test_inexact_comparisons_are_bounded_exact_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply full of forged quotes about a transcript of megabytes must not take for ever."""
    monkeypatch.setattr(citations, "FUZZY_BUDGET", 1_000)
    resolve = Citations(RUN).resolve
    alike = HOURS.replace("nine and", "nine, and")
    assert [resolve([], f"{alike}{'!' * n}").grounded for n in range(4)] == [True, False, False, False]
    assert resolve([], HOURS).grounded
