"""Many tools cut to a few: the used, the planned and the best for the goal stay, and what was left out is said."""

from __future__ import annotations

from msgspec.structs import replace

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Plan, Transcript
from gpa.judges.model import Client, RecordingModel
from gpa.judges.offered_tools import MAX_TOOLS, narrowed
from tests.judges.checks.transcripts import call, llm, said, tool, transcript
from tests.judges.replies import judge, judged

MANY = tuple(Tool(f"tool_{n:03}", f"Does thing {n}.", {"properties": {"x": {}}}) for n in range(100))
TIDES = Tool("tide_table", "High and low water at a harbour.")


def run(tools: tuple[Tool, ...] = (*MANY, TIDES), plan: str = "") -> Transcript:
    made = transcript(
        llm(said("I look."), call("tool_077", {"x": 1})),
        tool("tool_077", {"x": 1}, "done"),
        llm(said("It is done.")),
        tools=tools,
        goal="When is high water in the harbour?",
    )
    return replace(made, plans=(Plan("s1", "main", plan, replan=False),) if plan else ())


def shown(transcript: Transcript) -> list[str]:
    return [one.name for one in transcript.agents[0].tools]


def test_a_run_whose_tools_fit_is_not_touched() -> None:
    fits = run(MANY[:MAX_TOOLS])
    assert narrowed(fits) is fits
    assert narrowed(fits, max_tokens=10_000) is fits


def test_the_used_the_planned_and_the_best_for_the_goal_stay() -> None:
    cut = narrowed(run(plan="Plan: use tool_055, then answer."), most=5)
    assert len(shown(cut)) == 5
    assert {"tool_077", "tool_055", "tide_table"} <= set(shown(cut))


def test_what_was_left_out_is_counted_and_named_in_what_judges_read() -> None:
    text = narrowed(run(), most=3).render()
    assert "note: main was offered 101 tools; " in text
    assert "98 others are left out: tool_001, " in text
    assert "tool_001(x)" not in text
    assert "tool_077(x)" in text


def test_used_tools_stay_whatever_the_limit() -> None:
    calls = [call(f"tool_{n:03}", {"x": 1}) for n in range(20)]
    made = transcript(llm(*calls), llm(said("Done.")), tools=MANY)
    assert len(shown(narrowed(made, most=5))) == 20


def test_a_few_long_definitions_may_be_too_many_tokens() -> None:
    long = tuple(Tool(f"long_{n}", "word " * 500) for n in range(10))
    cut = narrowed(run((*long, TIDES, MANY[77])), max_tokens=2_000)
    assert {"tool_077", "tide_table"} <= set(shown(cut))
    assert len(shown(cut)) < 8


def test_definitions_that_change_on_the_way_are_cut_alike() -> None:
    made = run()
    later = replace(made.steps[2], tools=(*MANY, TIDES))
    cut = narrowed(replace(made, steps=(*made.steps[:2], later)), most=4)
    assert cut.steps[2].tools is not None
    assert [one.name for one in cut.steps[2].tools] == shown(cut)


def asked(max_tools: int = MAX_TOOLS) -> str:
    model = RecordingModel("anthropic/claude-sonnet-5-5", context_window=200_000)
    judged(judge(Client(model), max_tools=max_tools), ("TS", "TC"), run())
    first, other = model.requests
    assert first.prefix == other.prefix  # one text in the provider's cache for all judges of the trace
    return first.prefix


def test_the_tool_selection_judge_is_shown_a_choice_and_told_so() -> None:
    assert "61 others are left out" in asked()
    assert "91 others are left out" in asked(max_tools=10)
    assert "left out" not in asked(max_tools=200)


def test_another_limit_is_another_question_and_the_default_is_the_old_one() -> None:
    model = Client(RecordingModel("anthropic/claude-sonnet-5-5", context_window=200_000))
    default = judge(model).rubric_hash("TS")
    assert judge(model, max_tools=MAX_TOOLS).rubric_hash("TS") == default != judge(model, max_tools=9).rubric_hash("TS")
