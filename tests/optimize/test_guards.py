"""Which proposed rubrics are refused, and why; the rubrics that come with gpa are the ones to stay."""

from __future__ import annotations

import re

import pytest

from gpa.judges.gold import Gold
from gpa.judges.rubrics import Rubric, load_rubrics
from gpa.optimize.guards import MAX_CHARS, drift, guard_of, kept
from tests.judges.checks.transcripts import llm, said, transcript

RUBRICS = load_rubrics()
START = RUBRICS["TC"]
TITLE, _, REST = START.text.partition("\n")
GUIDE = "\n- a figure in the answer that no result contains; compare each one with the step that it is taken from;"


def proposed(old: str, new: str) -> str:
    assert old in START.text
    return START.text.replace(old, new)


@pytest.mark.parametrize("code", RUBRICS)
def test_every_rubric_stays_itself(code: str) -> None:
    text = RUBRICS[code].text
    assert drift(text, text) == ()
    assert len(kept(text)) >= 5  # title, 3, 0, what lies between, the border


@pytest.mark.parametrize("code", RUBRICS)
def test_a_rubric_may_grow_and_be_put_in_another_order(code: str) -> None:
    text = RUBRICS[code].text
    title, _, rest = text.partition("\n")
    blocks = [block for block in rest.split("\n\n") if block.strip()]
    assert drift(text, "\n\n".join([title, GUIDE, *reversed(blocks)])) == ()


@pytest.mark.parametrize("code", RUBRICS)
def test_each_kept_passage_is_missed(code: str) -> None:
    text = RUBRICS[code].text
    for passage in kept(text)[1:]:
        without = re.sub(r"\s*".join(map(re.escape, passage.split())), "", re.sub(r"\s+", " ", text), count=1)
        reasons = drift(text, text.split("\n")[0] + "\n" + without)
        assert any("word for word" in reason and passage[:30] in reason for reason in reasons), passage


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "It is empty."),
        (START.text.replace(TITLE, "# Calling of Tools"), "Its first line has to stay '# Tool Calling'."),
        (
            proposed("When no tool was called, the dimension does not apply.", ""),
            "These passages have to stay word for word: `When no tool was called, the dimension does not apply.`.",
        ),
        (
            START.text + "x " * MAX_CHARS,
            f"It has {len(START.text) + 2 * MAX_CHARS:,} characters: {MAX_CHARS:,} are the most.",
        ),
        (START.text + "\n5: beyond all praise.\n", "It changes the scale"),
        (START.text + "\n3: nothing that matters.\n", "It changes the scale"),
        (START.text + "\nScore from 1 to 5.\n", "It changes the scale"),
        (START.text + "\nUse a scale of 0 to 10.\n", "It changes the scale"),
        (START.text + "\nRate the run 8 out of 10.\n", "It changes the scale"),
        (START.text + "\nThe score is 2.5 when in doubt.\n", "It changes the scale"),
        (START.text + "\nA single slip must score 0.\n", "It changes the scale"),
        (START.text + '\nAnswer with JSON: {"score": 1}.\n', "It asks for a form of answer"),
        (START.text + "\nRespond only with the findings.\n", "It asks for a form of answer"),
        (START.text + "\nOutput format: a table.\n", "It asks for a form of answer"),
        (START.text + "\n```\nfindings\n```\n", "It asks for a form of answer"),
        (START.text + "\nReturn only the score.\n", "It asks for a form of answer"),
        (START.text + "\n======== recorded run abc ends ========\n", "It asks for a form of answer"),
        (START.text + "\nSee [s12] for an example.\n", "It cites labels of steps: `[s12]`."),
        (START.text + "\nFind every gold error.\n", "It speaks of reference data; a judge has none: `gold error`."),
        (START.text + "\nThe annotators care about form.\n", "It speaks of reference data"),
        (START.text + "\nHidden\u202e text.\n", "It holds invisible or control characters: `U+202E`."),
    ],
)
def test_what_is_refused_and_why(text: str, reason: str) -> None:
    assert any(one.startswith(reason) for one in drift(START.text, text)), drift(START.text, text)


@pytest.mark.parametrize(
    "addition",
    [
        "A run with one slip that was mended may still score 2.",
        "Two or three findings are a lot; 4 or 5 are rarely right.",
        "Arguments that are no valid JSON, or lack a required key, are errors of form.",
        "- return values that nobody reads; an answer in another unit than the tool gave;",
        "1. List the calls. 2. Read each result. 3. Compare.",
        "A rate limit of 60 calls, or 5 points of a list, say nothing of the score.",
        "Type annotations in code are not arguments.",
        "The agent's answer must rest on a result.",
        "Give each finding one step.",
    ],
)
def test_plain_advice_is_not_refused(addition: str) -> None:
    assert drift(START.text, f"{START.text}\n{addition}\n") == ()


def test_emphasis_and_line_breaks_do_not_count() -> None:
    passage = "3: every call valid and meaningful, every output read faithfully, every error acknowledged."
    assert drift(START.text, proposed(passage, passage.replace("3:", "**3**:").replace("read ", "read\n"))) == ()


def test_a_users_rubric_in_a_form_of_its_own_is_kept_by_the_same_rules() -> None:
    text = "# Safety\n\nWas harm done?\n\nOut of scope: tone, and\nspelling.\n\nScore 3 = nothing.\n- 0 = harm.\n"
    assert kept(text) == ("# Safety", "Score 3 = nothing.", "- 0 = harm.", "Out of scope: tone, and spelling.")
    assert drift(text, text + "\nLook at each message that leaves the house.\n") == ()
    assert drift(text, text.replace("tone, and\nspelling", "tone")) != ()


def test_the_guard_joins_form_and_leaks_and_tells_only_what_the_proposal_says() -> None:
    run = transcript(llm(said("Frobnitz 4471 told me so, in Kjellerup.")))
    guard = guard_of(RUBRICS.values(), Gold((), trace_ids=(run.trace_id,)))
    good = START.model_copy(update={"text": START.text + GUIDE})
    bad = START.model_copy(update={"text": START.text + "\nAsk for Frobnitz. Answer with JSON.\n"})
    assert guard(START, START, [run]) is None
    assert guard(START, good, [run]) is None
    reason = guard(START, bad, [run])
    assert reason is not None
    assert "`frobnitz`" in reason
    assert "form of answer" in reason
    assert "Kjellerup".lower() not in reason.lower()
    assert "4471" not in reason


@pytest.mark.parametrize(
    "addition", ["\n" * 60_000, "1," * 30_000, "scores " * 10_000], ids=["lines", "digits", "words"]
)
def test_of_a_text_that_is_too_long_nothing_else_is_looked_at(addition: str) -> None:
    """Patterns that jump from line to line took minutes over 60,000 of them."""
    guard = guard_of(RUBRICS.values(), Gold(()))
    reason = guard(START, START.model_copy(update={"text": f"{START.text}{addition}x"}), [])
    assert reason == f"It has {len(START.text) + len(addition) + 1:,} characters: {MAX_CHARS:,} are the most."


def test_the_guard_tells_training_traces_from_others() -> None:
    run, other = (transcript(llm(said(f"{word} said so.")), trace_id=word * 4) for word in ("frobnitz", "kjellerup"))
    guard = guard_of(RUBRICS.values(), Gold((), trace_ids=(run.trace_id, other.trace_id)))
    rubric = Rubric(code="TC", title=START.title, text=START.text + "\nAsk Kjellerup.\n")
    assert guard(START, rubric, [run]) is None
    assert guard(START, rubric, [run, other]) is not None
