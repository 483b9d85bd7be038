"""The pytest plugin, in pytest runs of its own with the real OpenTelemetry SDK in the code under test."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "traces"

AGENT = '''
import json
from opentelemetry import trace

def message(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}

def run(tracer, *, city="Oslo", times=1, answer="It rains in Oslo."):
    """A made-up agent that calls a tool and answers, traced by the GenAI conventions."""
    asked = [message("user", "How is the weather in Oslo?")]
    with tracer.start_as_current_span("invoke_agent weather") as agent:
        agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"})
        for number in range(times):
            call = {"type": "tool_call", "id": f"c{number}", "name": "lookup", "arguments": {"city": city}}
            called = {"role": "assistant", "parts": [call]}
            with tracer.start_as_current_span("chat m1") as chat:
                chat.set_attributes({
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m1",
                    "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "lookup", "parameters": {
                        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]),
                    "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([called]),
                })
            with tracer.start_as_current_span("execute_tool lookup") as tool:
                tool.set_attributes({
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup",
                    "gen_ai.tool.call.id": f"c{number}", "gen_ai.tool.call.arguments": json.dumps({"city": city}),
                    "gen_ai.tool.call.result": "rain",
                })
            response = {"type": "tool_call_response", "id": f"c{number}", "response": "rain"}
            asked = [*asked, called, {"role": "tool", "parts": [response]}]
        with tracer.start_as_current_span("chat m1") as chat:
            chat.set_attributes({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m1",
                "gen_ai.input.messages": json.dumps(asked),
                "gen_ai.output.messages": json.dumps([message("assistant", answer)]),
            })
    return answer
'''


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with an agent, whose tests load this plugin whether it is installed or not."""
    # Installed or not: by its entry point it would be there once more under another name.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(agent=AGENT)
    return pytester


def run(project: pytest.Pytester, *args: str, code: str) -> pytest.RunResult:
    project.makepyfile(test_agent="from agent import run\n" + code)
    return project.runpytest_subprocess("-p", "gpa.pytest_plugin", "-p", "no:cacheprovider", "-W", "error", *args)


PASSING = """
from gpa import assert_agent
from opentelemetry import trace

tracer = trace.get_tracer("module-level")

def test_nothing_is_found(gpa_trace):
    assert run(tracer) == "It rains in Oslo."
    assert_agent(gpa_trace).no_findings(dimension="TC", severity=">=MEDIUM").called("lookup", times=1)
    assert assert_agent(gpa_trace).score("EE") >= 2
    assert gpa_trace.transcript.goal == "How is the weather in Oslo?"
"""


def test_the_fixture_captures_the_spans_of_the_code_under_test(project: pytest.Pytester) -> None:
    run(project, code=PASSING).assert_outcomes(passed=1)


def test_a_failure_shows_the_finding_and_the_steps_around_it(project: pytest.Pytester) -> None:
    code = """
from gpa import assert_agent
from opentelemetry import trace

def test_it_calls_right(gpa_trace):
    run(trace.get_tracer("t"), city=7)
    assert_agent(gpa_trace).no_findings(dimension="TC", severity=">=LOW")
"""
    done = run(project, code=code)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E*AssertionError: expected no findings of TC with severity >=LOW, found 1 finding",
            "E*LOW TC tool-arguments-schema",
            "E*arguments of lookup break its schema: city: expected string, got integer 7*",
            "E*> [[]s2] llm *",
            "E*lookup({*city*7*})*",
            "E*  [[]s3] tool lookup*",
        ]
    )
    assert "in no_findings" not in done.stdout.str()  # the frames of gpa are hidden: the test's own line is shown


PROVIDERS = {
    "its own global one, others beside it": """
def test_a_global_one_of_its_own(gpa_trace):
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    assert trace.get_tracer_provider() is provider
    run(trace.get_tracer("t"))
    the_agent_is_seen(gpa_trace)

def test_one_that_is_not_global(gpa_trace):
    run(TracerProvider().get_tracer("t"))
    the_agent_is_seen(gpa_trace)

def test_one_made_on_import(gpa_trace):
    run(early.get_tracer("t"))
    the_agent_is_seen(gpa_trace)

def test_one_of_which_only_a_tracer_is_left(gpa_trace):
    run(tracer_alone)
    the_agent_is_seen(gpa_trace)

def test_one_that_was_shut_down(gpa_trace):
    provider = TracerProvider()
    run(provider.get_tracer("t"))
    provider.shutdown()
    the_agent_is_seen(gpa_trace)
""",
    "none": """
def test_none(gpa_trace):
    run(trace.get_tracer("t"))
    the_agent_is_seen(gpa_trace)

def test_none_again(gpa_trace):
    run(trace.get_tracer("t"))
    the_agent_is_seen(gpa_trace)

def test_one_that_comes_later(gpa_trace):
    trace.set_tracer_provider(TracerProvider())
    run(trace.get_tracer("t"))
    the_agent_is_seen(gpa_trace)
""",
}


@pytest.mark.parametrize("tests", PROVIDERS.values(), ids=PROVIDERS.keys())
def test_it_captures_whoever_made_the_provider(project: pytest.Pytester, tests: str) -> None:
    code = f"""
from gpa import assert_agent
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

early = TracerProvider()
tracer_alone = TracerProvider().get_tracer("t")

def the_agent_is_seen(gpa_trace):
    assert_agent(gpa_trace).called("lookup").answered("rains")
    assert len(gpa_trace.trace.spans) == 4
{tests}"""
    run(project, code=code).assert_outcomes(passed=tests.count("def test_"))


def test_each_test_has_its_own_spans_also_with_threads_and_tasks_and_late_children(project: pytest.Pytester) -> None:
    code = """
import asyncio
import threading
from opentelemetry import context, trace

import pytest

tracer = trace.get_tracer("t")
left = {}

@pytest.mark.parametrize("number", range(3))
def test_spans_of_threads_and_tasks(gpa_trace, number):
    async def task(name):
        with tracer.start_as_current_span(name):
            await asyncio.sleep(0)
            with tracer.start_as_current_span(f"{name}-inner"):
                await asyncio.sleep(0)
    async def both():
        await asyncio.gather(task("a"), task("b"))
    asyncio.run(both())
    thread = threading.Thread(target=lambda: tracer.start_span("c").end())
    thread.start()
    thread.join()
    assert sorted(span.name for span in gpa_trace.spans) == ["a", "a-inner", "b", "b-inner", "c"]
    assert len(gpa_trace.traces) == 3

def test_that_leaves_work_behind(gpa_trace):
    with tracer.start_as_current_span("outer"):
        left["context"] = context.get_current()
    left["open"] = tracer.start_span("open")
    assert [(span.name, bool(span.end_ns)) for span in gpa_trace.spans] == [("outer", True), ("open", False)]

def test_that_sees_none_of_it(gpa_trace):
    tracer.start_span("late", context=left["context"]).end()
    left["open"].end()
    assert gpa_trace.spans == ()

def test_without_a_span(gpa_trace):
    from gpa import assert_agent
    with pytest.raises(AssertionError, match="no trace to assert on: no span was recorded"):
        assert_agent(gpa_trace)
"""
    run(project, code=code).assert_outcomes(passed=6)


RECORDED = """
import pytest
from gpa import assert_agent

@pytest.mark.gpa_traces("recorded/*.jsonl")
def test_recorded(gpa_trace):
    assert_agent(gpa_trace).no_findings(severity="HIGH")
"""


def with_recordings(project: pytest.Pytester) -> pytest.Pytester:
    folder = project.mkdir("recorded")
    for name in ("invoice_payment", "travel_desk", "court_booking"):
        recording = FIXTURES / "openinference-smolagents" / f"{name}.traces.jsonl"
        (folder / recording.name).write_bytes(recording.read_bytes())
    return project


def test_the_marker_judges_recorded_traces_also_with_xdist(project: pytest.Pytester) -> None:
    done = run(with_recordings(project), "-p", "xdist", "-n", "2", code=RECORDED + PASSING)
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*FAILED test_agent.py::test_recorded[[]b2df3a500320dfc65169120523737361]*"])


def test_a_marker_that_names_no_trace_is_an_error_of_collection(project: pytest.Pytester) -> None:
    for number, marker in enumerate(('"nowhere/*.json"', "", '"agent.py"', '""', '"a**b/c"')):
        code = f"import pytest\n@pytest.mark.gpa_traces({marker})\ndef test_it(gpa_trace): ...\n"
        project.makepyfile(**{f"test_{number}": code})
    done = run(project, code='import pytest\n@pytest.mark.gpa_traces("x.json")\ndef test_it(): ...\n')
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.assert_outcomes(errors=6)
    done.stdout.fnmatch_lines_random(
        [
            "*nowhere/*.json*",
            '*expected @pytest.mark.gpa_traces("path", ...)*',
            "*agent.py*",
            "*the marker gpa_traces needs gpa_trace*",
        ]
    )
    assert "Traceback" not in done.stdout.str()


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    heavy = ("msgspec", "pydantic", "opentelemetry", "gpa.ingest", "gpa.evaluation", "click", "rich")
    code = f"import sys, pytest, gpa.pytest_plugin; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_pytest_finds_it_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gpa": "gpa.pytest_plugin"}
