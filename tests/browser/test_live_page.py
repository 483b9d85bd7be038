"""The live page in a real browser: traces as they complete, as text whatever they hold, nothing from elsewhere."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gpa.ingest.completion import Patience
from gpa.ingest.files import read_spans
from gpa.ingest.spans import Span
from gpa.ingest.spool import batch_of
from gpa.live.serving import Live, live_receiver, opened, until
from gpa.live.settings import Evaluating, Listening
from tests.browser.conftest import Opened

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces" / "openinference-smolagents"
HOSTILE = "</a><script>alert('goal')</script><img src=x onerror=alert(1)>"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def live(tmp_path: Path, pages: Opened) -> Iterator[Live]:
    """A receiver with its evaluation, in a thread of its own; pages that ask it for news leave before it does."""
    started = threading.Event()
    held: dict[str, Any] = {}

    async def main() -> None:
        settings = Evaluating(store=tmp_path / "gpa.db", jobs=0, patience=Patience(quiet_s=0, patience_s=0))
        async with opened(settings) as live:
            stop = asyncio.Event()
            held.update(live=live, stop=stop, loop=asyncio.get_running_loop())
            with live_receiver(live, Listening(http="127.0.0.1:0", grpc=None), stop):
                started.set()
                await until(live, stop)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert started.wait(20)
    yield held["live"]
    for page in pages.used.values():
        page.goto("about:blank")
    held["loop"].call_soon_threadsafe(held["stop"].set)
    thread.join()


def url(live: Live, path: str = "/") -> str:
    assert live.receiver is not None
    return f"{live.receiver.http}{path}"


def receive(live: Live, *paths: Path) -> None:
    live.spool.append(batch_of(read_spans(paths)))


def chat(number: int, session: str) -> list[Span]:
    """One turn of a conversation: a trace of its own."""
    asks = [{"role": "user", "parts": [{"type": "text", "content": f"question {number}"}]}]
    named = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session,
        "gen_ai.input.messages": json.dumps(asks),
    }
    return [
        Span(f"{number:032x}", f"{number:016x}", None, "chat", start_ns=number, end_ns=number + 1, attributes=named)
    ]


def hostile() -> list[Span]:
    """An agent run that holds markup wherever a trace can hold text."""
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": HOSTILE}]}])
    named = {"gen_ai.conversation.id": HOSTILE, "gen_ai.agent.name": HOSTILE}
    runs = {"gen_ai.operation.name": "invoke_agent"} | named
    asks = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": message, "gen_ai.output.messages": message}
    agent = Span(TRACE_ID, "a" * 16, None, HOSTILE, start_ns=1, end_ns=9, attributes=runs)
    chat = Span(TRACE_ID, "b" * 16, "a" * 16, HOSTILE, start_ns=1, end_ns=2, attributes=asks | named)
    failed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": HOSTILE, "gen_ai.tool.call.arguments": "{}"}
    calls = [
        Span(TRACE_ID, f"{number:016x}", "a" * 16, HOSTILE, start_ns=number, end_ns=number + 1, status="error",
             status_message=HOSTILE, attributes=failed | {"gen_ai.tool.call.result": HOSTILE})
        for number in (2, 4, 6)
    ]  # fmt: skip
    return [agent, chat, *calls]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_traces_appear_as_they_complete_without_a_reload(scheme: str, live: Live, opened: Opened) -> None:
    page = opened(url(live), scheme=scheme)
    assert page.get_by_text("Waiting for spans.").is_visible()
    receive(live, FIXTURES / "invoice_payment.traces.jsonl")
    row = page.get_by_role("row").filter(has_text="Please pay invoice R-2207.")
    row.wait_for()
    assert row.locator(".score-0").count() == 2
    assert page.get_by_role("listitem").filter(has_text="claimed-success").count() == 1
    receive(live, FIXTURES / "travel_desk.traces.jsonl")
    page.get_by_role("row").filter(has_text="I want to go from Hamburg").wait_for()
    assert page.get_by_text("last 2 traces").is_visible()
    assert opened.errors == []
    assert {request.split("/")[2] for request in opened.requests} == {url(live).split("/")[2]}


def test_what_a_trace_holds_is_text_on_every_page(live: Live, opened: Opened) -> None:
    live.spool.append(batch_of(hostile()))
    page = opened(url(live))
    page.locator(f'a[href="/traces/{TRACE_ID}"]').first.wait_for()
    link = page.get_by_role("link", name=HOSTILE).first
    link.wait_for()
    link.click()
    page.get_by_role("heading", level=1, name=HOSTILE).wait_for()
    assert HOSTILE in page.locator("pre").inner_text()
    page.get_by_role("link", name=HOSTILE).click()
    page.get_by_role("heading", level=1, name=f"Session {HOSTILE}").wait_for()
    for path in ("/", f"/traces/{TRACE_ID}", page.url.removeprefix(url(live, ""))):
        page.goto(url(live, path))
        assert page.get_by_text(HOSTILE[:15]).count()
        assert page.locator("img, iframe, object, style").count() == 0
        assert page.locator("script").count() == (1 if path == "/" else 0)
    assert opened.errors == []


def test_a_finding_leads_to_the_step_that_holds_it(live: Live, opened: Opened) -> None:
    receive(live, FIXTURES / "invoice_payment.traces.jsonl")
    page = opened(url(live))
    page.get_by_role("listitem").filter(has_text="claimed-success").get_by_role("link").click()
    page.get_by_role("listitem").filter(has_text="claimed-success").get_by_role("link", name="s11").click()
    step = page.locator("#s11")
    assert "final_answer" in step.inner_text()
    assert "cited" in (step.get_attribute("class") or "")
    assert opened.errors == []


@pytest.mark.parametrize("session", ["conv-1", "../traces/x?a=1&id=2#3", "..", " ", "+%2B", "\u202e\u05e1\u05e9"])
def test_a_trace_leads_to_the_others_of_its_session(session: str, live: Live, opened: Opened) -> None:
    page = opened(url(live))
    for number, name in ((1, session), (2, "another"), (3, session)):
        live.spool.append(batch_of(chat(number, name)))
        page.get_by_text(f"question {number}").wait_for()
    third = page.get_by_role("row").filter(has_text="question 3")
    third.get_by_role("link").nth(1).click()
    page.get_by_role("heading", level=1, name="Session").wait_for()
    table = page.get_by_role("table")
    assert [row.split(" ")[-1] for row in table.locator(".goal").all_inner_texts()] == ["1", "3"]
    assert table.locator(".score").count() >= 2
    table.get_by_role("link", name="question 1").click()
    page.get_by_role("heading", level=1, name="question 1").wait_for()
    page.locator("dl.facts").get_by_role("link").click()
    page.get_by_role("link", name="question 3").wait_for()
    assert opened.errors == []


def test_a_session_that_nobody_named_is_not_found(live: Live, opened: Opened) -> None:
    page = opened(url(live))
    for path in ("/sessions", "/sessions?id=", "/sessions?id=x%00%ff"):
        answer = page.goto(url(live, path))
        assert answer is not None
        assert (answer.status, answer.text()) == (404, "no such session\n")


def test_updates_can_be_paused_and_resumed(live: Live, opened: Opened) -> None:
    page = opened(url(live))
    page.get_by_role("link", name="Pause updates").click()
    before = len(opened.requests)
    receive(live, FIXTURES / "travel_desk.traces.jsonl")
    page.wait_for_timeout(2500)
    assert not [request for request in opened.requests[before:] if "/now" in request]
    page.get_by_role("link", name="Resume updates").click()
    page.get_by_role("row").filter(has_text="I want to go from Hamburg").wait_for()


def test_without_javascript_it_is_a_page_all_the_same(live: Live, opened: Opened) -> None:
    receive(live, FIXTURES / "travel_desk.traces.jsonl")
    page = opened(url(live), javascript=False)
    row = page.get_by_role("row").filter(has_text="I want to go from Hamburg")
    for _ in range(50):
        if row.count():
            break
        page.wait_for_timeout(100)
        page.reload()
    assert row.locator(".score-3").count() == 5


def test_scripts_may_only_come_from_here_and_may_not_be_inserted(live: Live, opened: Opened) -> None:
    page = opened(url(live))
    script = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)"
    page.evaluate(f"() => {{ {script} }}")
    assert page.evaluate("() => window.ran") is None
    assert any("Content Security Policy" in error for error in opened.errors)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_everybody_can_use_it(scheme: str, width: int, live: Live, opened: Opened, axe: str) -> None:
    receive(live, *sorted(FIXTURES.iterdir()))
    live.spool.append(batch_of(hostile()))
    page = opened(url(live), scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    page.get_by_text("last 5 traces").wait_for()
    name = quote(HOSTILE, safe="")
    for path in ("/?paused=1", "/traces/b2df3a500320dfc65169120523737361", f"/sessions?id={name}"):
        page.goto(url(live, path))
        page.add_script_tag(content=axe)
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
        found = page.evaluate("options => axe.run(document, options)", options)
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]] == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
