"""A trace flattened: agents, steps, plans, what was lost; on small hand-written traces, one fact a test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpa.ingest.dialects.call import Message
from gpa.ingest.spans import Event, Span, Trace
from gpa.ingest.transcript import Transcript, transcribe

SECOND = 1_000_000_000


class Recording:
    """Spans of one trace, each a second after the one before."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def add(self, name: str, parent: str | None = None, **attributes: Any) -> str:
        number = len(self.spans) + 1
        span_id = f"{number:016x}"
        keys = {key.replace("__", "."): value for key, value in attributes.items()}
        status = keys.pop("status", "unset")
        self.spans.append(
            Span(
                trace_id="ab" * 16,
                span_id=span_id,
                parent_id=parent,
                name=name,
                start_ns=number * SECOND,
                end_ns=number * SECOND + SECOND // 2,
                status=status,
                status_message=keys.pop("status_message", ""),
                events=keys.pop("events", ()),
                attributes=keys,
            )
        )
        return span_id

    def agent(self, name: str, parent: str | None = None, **attributes: Any) -> str:
        return self.add(
            f"invoke_agent {name}",
            parent,
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name=name,
            **attributes,
        )

    def llm(self, parent: str | None, messages: list[tuple[str, str]], output: str, **attributes: Any) -> str:
        return self.add(
            "chat m",
            parent,
            gen_ai__operation__name="chat",
            gen_ai__request__model="m",
            gen_ai__input__messages=json.dumps([_message(role, text) for role, text in messages]),
            gen_ai__output__messages=json.dumps([_message("assistant", output)]),
            **attributes,
        )

    def tool(self, parent: str | None, name: str, arguments: dict[str, Any], result: str, **attributes: Any) -> str:
        return self.add(
            f"execute_tool {name}",
            parent,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=name,
            gen_ai__tool__call__arguments=json.dumps(arguments),
            gen_ai__tool__call__result=result,
            **attributes,
        )

    def transcript(self) -> Transcript:
        return transcribe(Trace("ab" * 16, self.spans))


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_each_call_of_a_sub_agent_is_an_agent_of_its_own(recording: Recording) -> None:
    manager = recording.agent("manager")
    for task in ("find trains", "find hotels"):
        searcher = recording.agent("searcher", manager)
        recording.llm(searcher, [("system", "You search."), ("user", task)], "found")
    recording.llm(manager, [("system", "You manage."), ("user", "plan my trip")], "done")
    transcript = recording.transcript()
    assert [(agent.name, agent.instance, agent.parent) for agent in transcript.agents] == [
        ("manager", 1, ""),
        ("searcher", 1, "manager"),
        ("searcher", 2, "manager"),
    ]
    assert [step.agent for step in transcript.steps if step.kind == "llm"] == ["searcher", "searcher#2", "manager"]
    assert [agent.system[0].text for agent in transcript.agents] == ["You manage.", "You search.", "You search."]


def test_an_agent_span_directly_inside_one_of_the_same_name_is_the_same_run(recording: Recording) -> None:
    outer = recording.agent("desk")
    inner = recording.agent("desk", outer)
    recording.llm(inner, [("user", "hi")], "hello")
    assert [agent.key for agent in recording.transcript().agents] == ["desk"]


def test_a_workflow_that_only_holds_agents_is_no_agent(recording: Recording) -> None:
    group = recording.agent("workflow")
    for name in ("triage", "refunds"):
        recording.llm(recording.agent(name, group), [("user", name)], "ok")
    assert [(agent.key, agent.parent) for agent in recording.transcript().agents] == [("triage", ""), ("refunds", "")]


def test_calls_outside_every_agent_belong_to_one_unnamed_agent(recording: Recording) -> None:
    root = recording.add("main")
    recording.llm(root, [("user", "hi")], "hello")
    recording.tool(root, "look", {"q": 1}, "nothing")
    transcript = recording.transcript()
    assert [agent.key for agent in transcript.agents] == ["agent"]
    assert [step.agent for step in transcript.steps] == ["", "agent", "agent"]


def test_only_new_messages_are_shown_and_the_whole_input_can_be_rebuilt(recording: Recording) -> None:
    desk = recording.agent("desk")
    first = [("system", "Be kind."), ("user", "weather?")]
    recording.llm(desk, first, "where?")
    second = [*first, ("assistant", "where?"), ("user", "Oslo")]
    recording.llm(desk, second, "rain")
    transcript = recording.transcript()
    assert transcript.steps[2].messages == (Message("user", "Oslo"),)
    assert transcript.full_input("s3") == tuple(Message(role, text) for role, text in second)
    assert transcript.agents[0].system == (Message("system", "Be kind."),)


def test_instructions_are_those_most_calls_begin_with(recording: Recording) -> None:
    desk = recording.agent("desk")
    recording.llm(desk, [("system", "First list the facts."), ("user", "task")], "facts")
    for turn in range(2):
        recording.llm(desk, [("system", "You act."), ("user", f"turn {turn}")], "ok")
    transcript = recording.transcript()
    assert transcript.agents[0].system == (Message("system", "You act."),)
    assert transcript.steps[1].messages[0] == Message("system", "First list the facts.")


def test_a_call_recorded_by_two_libraries_is_one_step_with_both_ids(recording: Recording) -> None:
    outer = recording.llm(None, [("user", "hi")], "hello")
    inner = recording.add(
        "ChatCompletion",
        outer,
        openinference__span__kind="LLM",
        **{
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "hello",
        },
    )
    transcript = recording.transcript()
    assert [step.span_ids for step in transcript.steps] == [(outer, inner)]


def test_two_different_answers_inside_one_span_stay_two_calls(recording: Recording) -> None:
    outer = recording.llm(None, [("user", "hi")], "hello")
    recording.llm(outer, [("user", "hi")], "hello")
    recording.llm(outer, [("user", "hi")], "good day")
    assert len(recording.transcript().steps) == 3


def test_what_a_wrapper_repeats_is_shown_once(recording: Recording) -> None:
    node = recording.add(
        "node", openinference__span__kind="CHAIN", input__value="hi there", output__value="state only here"
    )
    recording.llm(node, [("user", "hi there")], "hello")
    step = recording.transcript().steps[0]
    assert step.messages == ()
    assert [message.text for message in step.output] == ["state only here"]


def test_a_plain_span_that_passes_a_text_on_does_not_show_it_again(recording: Recording) -> None:
    text = "hi there, I would like to book a table for four"
    recording.llm(None, [("user", text)], "hello")
    recording.add("write", openinference__span__kind="CHAIN", input__value=text, output__value="written")
    step = recording.transcript().steps[1]
    assert (step.messages, [message.text for message in step.output]) == ((), ["written"])


def test_what_a_guardrail_says_is_shown_though_a_model_said_the_same(recording: Recording) -> None:
    recording.llm(None, [("user", "Delete all?")], "yes")
    recording.add("check", openinference__span__kind="GUARDRAIL", input__value="Delete all?", output__value="yes")
    step = recording.transcript().steps[1]
    assert [message.text for message in (*step.messages, *step.output)] == ["Delete all?", "yes"]


def test_a_tool_with_an_agent_inside_keeps_its_call(recording: Recording) -> None:
    boss = recording.agent("boss")
    for city in ("Berlin", "Paris"):
        asked = recording.add(
            "ask", boss, openinference__span__kind="TOOL", tool__name="ask", input__value=f'{{"q": "{city}"}}'
        )
        recording.llm(asked, [("user", f"about {city}")], "no data")
    calls = [step.messages for step in recording.transcript().steps if step.kind == "tool"]
    assert calls == [(Message("assistant", "", "ask", "", {"q": city}),) for city in ("Berlin", "Paris")]


def test_the_final_answer_is_what_the_last_agent_gave_back_whatever_stands_above_it(recording: Recording) -> None:
    request = recording.add("POST /chat", http__request__method="POST")
    for answer in ("Rome", "Paris"):
        desk = recording.add(
            "desk.run", request, openinference__span__kind="AGENT", agent__name="desk", output__value=answer
        )
        recording.llm(desk, [("user", "where?")], "Let me think about it first.")
    assert recording.transcript().final_answer == "Paris"


def test_a_request_to_a_service_is_no_goal(recording: Recording) -> None:
    request = recording.add("POST /chat", http__request__method="POST", url__path="/chat", url__query="a=1")
    recording.agent("desk", request)
    transcript = recording.transcript()
    assert transcript.goal == ""
    assert transcript.steps[0].messages == (Message("request", "POST /chat"),)


def test_a_planning_call_inside_a_wrapper_states_its_plan(recording: Recording) -> None:
    plan = recording.add("plan", gen_ai__operation__name="plan")
    recording.llm(recording.add("wrapper", plan), [("user", "make a plan")], "1. look\n2. book")
    assert [stated.text for stated in recording.transcript().plans] == ["1. look\n2. book"]


def test_the_goal_is_what_the_outermost_agent_was_asked(recording: Recording) -> None:
    desk = recording.agent("desk")
    recording.llm(desk, [("system", "s"), ("user", "book a table")], "which day?")
    transcript = recording.transcript()
    assert transcript.goal == "book a table"
    assert transcript.final_answer == "which day?"


def test_a_second_plan_of_an_agent_is_a_replan(recording: Recording) -> None:
    desk = recording.agent("desk")
    recording.llm(desk, [("user", "go")], "Plan:\n1. look\n2. book")
    recording.llm(desk, [("user", "it failed")], "## Updated plan\n1. call them")
    plans = recording.transcript().plans
    assert [(plan.label, plan.replan) for plan in plans] == [("s2", False), ("s3", True)]
    assert plans[1].text == "## Updated plan\n1. call them"


def test_a_plan_quoted_under_a_label_belongs_to_the_call_that_wrote_it(recording: Recording) -> None:
    plan = "1. ask the customer which day suits\n2. book the table\n3. confirm by mail"
    desk = recording.agent("desk")
    recording.llm(desk, [("user", "write down how you will do it")], plan)
    recording.llm(desk, [("user", "go"), ("assistant", f"[PLAN]:\n```\n{plan}\n```")], "ok")
    assert [(stated.label, stated.text) for stated in recording.transcript().plans] == [("s2", plan)]


def test_the_model_call_inside_a_plan_operation_states_the_plan(recording: Recording) -> None:
    planning = recording.add("plan desk", gen_ai__operation__name="plan", gen_ai__agent__name="desk")
    recording.llm(planning, [("user", "task")], "first this, then that")
    assert [plan.text for plan in recording.transcript().plans] == ["first this, then that"]


def test_no_plan_is_read_into_what_was_done(recording: Recording) -> None:
    desk = recording.agent("desk")
    recording.llm(
        desk, [("user", "explain the floor plan: is it good?")], "The floor plan is fine. I looked, then I booked."
    )
    assert recording.transcript().plans == ()


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        pytest.param({"status": "error", "status_message": "boom"}, "boom", id="status-message"),
        pytest.param(
            {
                "status": "error",
                "events": (Event("exception", 0, {"exception.type": "KeyError", "exception.message": "'city'"}),),
            },
            "KeyError: 'city'",
            id="exception-event",
        ),
        pytest.param({"status": "error", "error__type": "timeout"}, "timeout", id="error-type"),
        pytest.param({}, "", id="none"),
    ],
)
def test_an_error_says_what_the_span_knows(recording: Recording, attributes: dict[str, Any], error: str) -> None:
    recording.tool(None, "look", {"city": 1}, "", **attributes)
    assert recording.transcript().steps[0].error == error


def test_missing_content_is_said_with_the_way_to_switch_it_on(recording: Recording) -> None:
    recording.add("chat m", gen_ai__operation__name="chat", gen_ai__request__model="m")
    [warning] = recording.transcript().warnings
    assert "no model or tool call carries its content" in warning
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in warning


def test_tools_are_listed_once_and_again_only_when_they_change(recording: Recording) -> None:
    def offered(*names: str) -> str:
        return json.dumps([{"type": "function", "name": name, "parameters": {"type": "object"}} for name in names])

    desk = recording.agent("desk")
    for names in (("look",), ("look",), ("look", "book")):
        recording.llm(desk, [("user", "go")], "ok", gen_ai__tool__definitions=offered(*names))
    transcript = recording.transcript()
    assert [tool.name for tool in transcript.agents[0].tools] == ["look"]
    assert [step.tools is not None for step in transcript.steps] == [False, False, False, True]
    assert [tool.name for tool in transcript.tools_of(transcript.steps[3])] == ["look", "book"]


def test_a_chain_of_ten_thousand_calls_is_transcribed_without_recursion(recording: Recording) -> None:
    parent = None
    for _ in range(10_000):
        parent = recording.add("deep", parent)
    recording.llm(parent, [("user", "hi")], "hello")
    transcript = recording.transcript()
    assert len(transcript.steps) == 10_001
    assert "hello" in transcript.render()


def test_the_object_for_machines_has_the_documented_keys(recording: Recording) -> None:
    desk = recording.agent("desk")
    recording.llm(desk, [("system", "s"), ("user", "hi")], "hello")
    shown = recording.transcript().to_dict()
    assert {"trace_id", "goal", "agents", "steps", "warnings"} <= shown.keys()
    assert shown["agents"] == [{"name": "desk", "instance": 1, "parent": None, "system": "s", "tools": []}]
    assert {
        "label", "span_id", "span_ids", "parent", "agent", "kind", "name", "messages", "output", "error", "status",
        "start_ns", "duration_ns", "usage",
    } <= shown["steps"][1].keys()  # fmt: skip
    assert shown["steps"][1]["messages"] == [
        {"role": "user", "text": "hi", "tool_name": "", "tool_call_id": "", "arguments": None}
    ]
    json.dumps(shown)
