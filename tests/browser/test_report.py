"""The report in a real browser: what a person does with it, and that no trace does anything to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpa.evaluation import evaluate
from gpa.judges.verdict import Verdict
from gpa.report import write_report
from gpa.store import open_store, transcript_hash
from tests.browser.conftest import Opened
from tests.gpa.reported import FIXTURES, HOSTILE, INVOICE, MARKUP, MODEL, talk, write_store

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    store = write_store(folder / "gpa.db")
    return write_report(store, folder / "report.html", trace_url="jaeger").path.as_uri()


@pytest.fixture
def read(opened: Opened, report: str) -> Iterator[Open]:
    """Opens the report at an address; afterwards nothing may have been asked of the network or complained about."""

    def open_at(hash_: str = "", url: str = report, **options: Any) -> Page:
        page = opened(url + hash_, **options)
        if options.get("javascript", True):
            page.wait_for_selector("html[data-ready]")
        return page

    yield open_at
    assert opened.errors == []
    assert {url.partition(":")[0] for url in opened.requests} == {"file"}


def cards(page: Page) -> Any:
    return page.locator("#view .finding")


def go(page: Page, hash_: str) -> None:
    """Follow an address within the page."""
    page.evaluate("hash => { location.hash = hash; }", hash_)
    view = {"": "#overview", "#findings": "#view .filters", "#traces": "#view .traces"}.get(hash_, "#view .step")
    page.locator(view).first.wait_for()


def step_of(page: Page, text: str) -> Any:
    return page.locator("#view .step", has_text=text)


class TestReading:
    def test_the_overview_says_what_is_wrong_at_once(self, read: Open) -> None:
        page = read()
        assert page.locator("h1").first.inner_text() == "gpa.db"
        rows = page.locator("#overview .scores tbody tr")
        assert "Logical Consistency" in rows.first.inner_text()
        assert page.locator("#overview .traces tbody tr").first.locator(".cell").count() == 7
        assert "Could not be judged" in page.locator("#failures").inner_text()

    def test_search_filter_and_follow_a_finding_to_its_highlighted_quote(self, read: Open) -> None:
        page = read("#findings")
        everything = cards(page).count()
        page.fill("#search", "DE-77-1034")
        page.wait_for_function("n => document.querySelectorAll('#view .finding').length < n", arg=everything)
        found = cards(page).count()
        assert 0 < found < everything
        page.select_option("#filter-severity", "HIGH")
        page.select_option("#filter-category", "Tool Output Misinterpretation")
        assert cards(page).count() == 1
        assert page.url.endswith("#findings?severity=HIGH&category=Tool+Output+Misinterpretation")
        cards(page).locator("a.go").click()
        mark = page.locator("mark.at")
        mark.wait_for()
        assert mark.inner_text() == "DE-77-1034"
        assert mark.evaluate(
            "node => { const r = node.getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight; }"
        )
        assert page.locator(".finding.at .judge").inner_text() == "misread-value"
        assert page.locator(".tree a[aria-current]").count() == 1

    def test_words_typed_on_the_overview_are_looked_for_in_the_findings(self, read: Open) -> None:
        page = read()
        page.fill("#search", "DE-77-1034")
        page.locator("#view .result", has_text=" of ").wait_for()
        assert page.url.endswith("#findings")
        assert page.input_value("#search") == "DE-77-1034"
        assert page.evaluate("document.activeElement.id") == "search"
        assert all("DE-77-1034" in text for text in cards(page).all_inner_texts())

    def test_each_filter_leaves_only_what_fits(self, read: Open) -> None:
        page = read("#findings")
        everything = cards(page).count()
        for field, value, seen in (
            ("dimension", "GF", ".codes:has-text('GF')"),
            ("severity", "MEDIUM", ".sev.medium"),
            ("category", "Goal Deviation", ".category:text-is('Goal Deviation')"),
            ("judge", "claimed-success", ".judge:has-text('claimed-success')"),
            ("judge", MODEL, f".judge:has-text('{MODEL}')"),
            ("judge", "source:llm", ".by.llm"),
            ("judge", "source:check", ".by.check"),
            ("judge", "source:confirmed", ".by.confirmed"),
            ("agent", "invoice_clerk", "bdi:text-is('invoice_clerk')"),
        ):
            page.select_option(f"#filter-{field}", value)
            left = cards(page).count()
            assert 0 < left < everything, value
            assert cards(page).filter(has=page.locator(seen)).count() == left, value
            page.get_by_role("button", name="Clear filters").click()
            assert cards(page).count() == everything

    def test_what_is_suppressed_or_without_ground_is_shown_when_asked_for(self, read: Open) -> None:
        page = read("#findings")
        everything = cards(page).count()
        page.check("#filter-suppressed")
        assert cards(page).count() == everything + 1
        assert page.locator(".finding.suppressed .problem").inner_text() == "Not polite. (muted: no rule)"
        page.uncheck("#filter-ungrounded")
        assert cards(page).count() == everything
        assert cards(page).filter(has_text="quote not in the trace").count() == 0

    def test_words_are_found_in_all_transcripts(self, read: Open) -> None:
        page = read("#traces")
        page.fill("#search", "boxes A4")
        page.get_by_role("button", name="in all transcripts").click()
        page.locator("p.more", has_text="stands in 1 transcript").wait_for()
        assert page.locator("#view .traces tbody tr").count() == 1

    def test_words_are_found_in_a_transcript_one_after_the_other(self, read: Open) -> None:
        page = read(f"#{INVOICE}")
        page.fill("#search", "R-2207")
        page.locator(".result", has_text="match 1 of").wait_for()
        first = page.locator("mark.now").bounding_box()
        page.press("#search", "Enter")
        page.locator(".result", has_text="match 2 of").wait_for()
        assert page.locator("mark.now").bounding_box() != first

    def test_a_deep_link_opens_the_step_and_the_way_back_is_the_browsers(self, read: Open) -> None:
        page = read(f"#{INVOICE}")
        span = page.locator(".tree a").nth(7).get_attribute("href")
        label = page.locator(".tree a .label").nth(7).inner_text()
        page.click("nav a[data-view=overview]")
        page.goto(page.url.partition("#")[0] + str(span))
        page.locator(".step.here").wait_for()
        assert page.locator(".step.here h3 a").first.inner_text() == label
        page.go_back()
        page.locator("#overview").wait_for()

    def test_an_unknown_trace_is_said_to_be_unknown(self, read: Open) -> None:
        page = read("#0123456789abcdef")
        assert "no trace 0123456789abcdef" in page.locator(".notice").inner_text()

    def test_findings_that_are_nowhere_stand_above_the_steps(self, read: Open) -> None:
        page = read(f"#{INVOICE}")
        card = cards(page).filter(has_text="The supplier was never told.")
        assert "not localised" in card.inner_text()
        assert card.locator("xpath=ancestor::article[contains(@class, 'step')]").count() == 0

    def test_lanes_steps_and_errors_are_on_the_timeline(self, read: Open) -> None:
        page = read(f"#{INVOICE}")
        assert page.locator(".lane > span").all_inner_texts() == ["invoice_clerk"]
        assert page.locator(".tree li").count() == page.locator("#view .step").count()
        assert page.locator(".lane rect.broken").count() >= 1
        assert page.locator(".tree .err").count() >= 1
        page.locator(".lane rect.tool").first.click()
        page.locator(".step.tool.here").wait_for()

    def test_links_lead_to_the_users_own_tool(self, read: Open) -> None:
        page = read(f"#{INVOICE}")
        link = cards(page).nth(1).get_by_role("link", name="open in Jaeger")
        assert str(link.get_attribute("href")).startswith(f"http://localhost:16686/trace/{INVOICE}?uiFind=")
        assert link.get_attribute("rel") == "noopener noreferrer"

    def test_printing_shows_every_step(self, read: Open) -> None:
        page = read(f"#{INVOICE}", fresh=True)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert not page.locator(".bar").is_visible()
        assert page.locator("#view .step").count() == page.locator(".tree li").count()


class TestKeyboard:
    def test_from_the_overview_to_a_quote_and_back_without_a_pointer(self, read: Open) -> None:
        page = read()
        page.keyboard.press("f")
        page.locator("#view .finding").first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.className") == "go"
        page.keyboard.press("Enter")
        page.locator(".finding.at").wait_for()
        here = page.url
        page.keyboard.press("n")
        page.wait_for_function("url => location.href !== url", arg=here)
        page.keyboard.press("p")
        page.wait_for_function("url => location.href === url", arg=here)
        step = page.locator(".step.here").get_attribute("id")
        page.keyboard.press("k")
        page.wait_for_function("id => document.querySelector('.step.here').id !== id", arg=step)
        page.keyboard.press("o")
        page.locator("#overview").wait_for()

    def test_slash_searches_and_escape_leaves(self, read: Open) -> None:
        page = read("#findings")
        page.keyboard.press("/")
        page.keyboard.type("paid f")
        assert page.evaluate("document.activeElement.id") == "search"
        assert page.input_value("#search") == "paid f"
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") != "search"

    def test_the_keys_are_listed_and_can_be_switched_off(self, read: Open) -> None:
        page = read(fresh=True)
        page.keyboard.press("?")
        page.get_by_role("dialog").wait_for()
        page.uncheck("#keys-on")
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        assert page.locator("#overview").is_visible()

    def test_everything_is_reached_by_tab_in_order(self, read: Open) -> None:
        page = read()
        reached = []
        for _ in range(7):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert reached[0] == "Skip to content"
        assert reached[1] == "Agent GPA"
        assert {"search", "theme"} <= set(reached)


class TestLooks:
    def test_dark_follows_the_system_and_the_button(self, read: Open) -> None:
        def brightness(page: Page) -> float:
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            return sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3

        assert brightness(read()) > 200
        page = read(scheme="dark", fresh=True)
        assert brightness(page) < 60
        page.click("#theme")
        assert page.inner_text("#theme") == "Theme: light"
        assert brightness(page) > 200
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert brightness(page) > 200

    @pytest.mark.parametrize("width", [420, 1280])
    def test_nothing_is_wider_than_the_window(self, read: Open, width: int) -> None:
        page = read(viewport={"width": width, "height": 800})
        for hash_ in ("", "#findings", "#traces", f"#{INVOICE}", f"#{HOSTILE}"):
            go(page, hash_)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, hash_

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_people_with_disabilities_can_use_it(self, read: Open, axe: str, scheme: str) -> None:
        page = read(scheme=scheme)
        page.evaluate(axe)
        for hash_ in ("", f"#{INVOICE}") if scheme == "dark" else ("", "#findings", f"#{INVOICE}", "?"):
            if hash_ == "?":
                page.keyboard.press("?")
            else:
                go(page, hash_)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            said = [f"{one['impact']} {one['id']}: {one['nodes'][0]['html']}" for one in found]
            assert said == [], hash_


class TestHostile:
    def test_a_trace_cannot_be_more_than_text(self, read: Open) -> None:
        page = read(f"#{HOSTILE}")
        step_of(page, "deep inside").wait_for()
        assert page.locator("#view img, #view b:text-is('bold'), #view script, #view svg[onload]").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        assert MARKUP in page.locator("h1").last.inner_text()
        for hash_ in ("", "#findings", "#traces"):
            go(page, hash_)
            assert page.locator("main img, main script, a[href^='javascript']").count() == 0

    def test_a_trace_that_is_called_like_a_list_does_not_take_its_place(self, read: Open, tmp_path: Path) -> None:
        trap = talk("findings", text="A trap.")
        verdict = Verdict(trace_id=trap.trace_id, judge="LC", model="checks", score=3, rationale="")
        with open_store(tmp_path / "gpa.db") as store:
            store.save(trap, transcript_hash(trap), [verdict])
        page = read("#findings", url=write_report(tmp_path / "gpa.db", tmp_path / "report.html").path.as_uri())
        assert page.locator("#view h1").inner_text() == "Findings"
        page.goto(page.url.partition("#")[0] + "#findings/span1")
        page.locator(".step.here", has_text="A trap.").wait_for()

    def test_what_reorders_or_hides_is_made_visible(self, read: Open) -> None:
        page = read(f"#{HOSTILE}")
        text = page.locator("#view").text_content() or ""
        assert "access⟨U+202E⟩ nimda" in text
        assert "␛[31mred␀" in text
        assert not set("\u202e\u2066\u2069\u200b\x1b\x00") & set(page.content())

    def test_a_line_of_a_million_characters_is_cut_around_its_quote(self, read: Open) -> None:
        page = read(f"#{HOSTILE}")
        long = page.locator(".text.out", has_text="needle")
        assert len(long.inner_text()) < 5_000
        assert long.locator("mark").inner_text() == "needle"
        before = len(long.inner_text())
        long.locator("button").first.click()
        assert 19_000 < len(long.inner_text()) - before < 21_000

    def test_the_policy_lets_nothing_else_run(self, opened: Opened, report: str) -> None:
        page = opened(report)
        page.wait_for_selector("html[data-ready]")
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = true";
                document.body.append(script);
                const button = document.createElement("button");
                button.setAttribute("onclick", "window.ran = true");
                document.body.append(button);
                button.click();
                return fetch("https://example.com/").catch(() => null);
            }"""
        )
        assert page.evaluate("window.ran") is None
        assert len(opened.errors) >= 3
        assert all("Content Security Policy" in error or "Fetch API" in error for error in opened.errors)


class TestWithoutJavaScript:
    def test_scores_findings_and_the_worst_transcripts_are_readable(self, read: Open) -> None:
        page = read(javascript=False)
        assert "JavaScript is off" in page.locator(".notice").first.inner_text()
        assert page.locator("#overview .scores tbody tr").count() >= 7
        assert page.locator("#findings .finding").count() > 5
        quoted = page.locator(f"[id='{INVOICE}'] mark").all_inner_texts()
        assert "DE-77-1034" in quoted
        assert not page.locator("#search").is_visible()
        assert page.locator("main img, main script").count() == 0

    def test_a_deep_link_leads_to_the_step(self, read: Open) -> None:
        page = read(javascript=False)
        step = page.locator(f"[id^='{INVOICE}/']").nth(6)
        page.goto(page.url + "#" + str(step.get_attribute("id")))
        assert step.evaluate("node => node.getBoundingClientRect().top") < 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first page of a report in parts."""
    path = tmp_path_factory.mktemp("large")
    evaluate([talk(f"{n:032x}", steps=3, text=f"Word {n}.") for n in range(12)], store=path / "gpa.db")
    written = write_report(path / "gpa.db", path / "report.html", max_file_bytes=2_000)
    assert written.folder_because_large
    assert written.files > 3
    return written.path.as_uri()


class TestLargeRuns:
    def test_results_without_a_transcript_are_shown_and_say_what_is_missing(self, read: Open, tmp_path: Path) -> None:
        evaluate(FIXTURES / "openinference-smolagents").to_jsonl(tmp_path / "results.jsonl")
        url = write_report(tmp_path / "results.jsonl", tmp_path / "report.html").path.as_uri()
        page = read(f"#{INVOICE}", url=url)
        assert "no transcript of this trace" in page.locator("#view .notice").inner_text()
        assert cards(page).count() >= 5
        assert page.locator(".verdicts details").count() == 7

    def test_a_transcript_opens_from_the_index_and_the_way_back_too(self, read: Open, folder: str) -> None:
        page = read("#traces", url=folder)
        page.locator("#view a.go").last.click()
        page.wait_for_url(re.compile(r"/report_parts/\d+\.html#"))
        page.locator("#view .step").first.wait_for()
        page.get_by_role("link", name="Findings").click()
        page.wait_for_url("**/report.html#findings")

    def test_an_address_of_the_index_leads_to_the_page_that_has_the_trace(self, read: Open, folder: str) -> None:
        page = read(f"#{7:032x}/span2", url=folder)
        page.wait_for_url(re.compile(r"/report_parts/\d+\.html#"))
        page.locator(".step.here", has_text="Word 7. 1").wait_for()

    def test_a_transcript_of_thousands_of_steps_opens_at_any_of_them(self, read: Open, tmp_path: Path) -> None:
        long = talk("e" * 32, steps=2_000, text="Long talk.")
        verdict = Verdict(trace_id=long.trace_id, judge="LC", model="checks", score=3, rationale="")
        with open_store(tmp_path / "gpa.db") as store:
            store.save(long, transcript_hash(long), [verdict])
        url = write_report(tmp_path / "gpa.db", tmp_path / "report.html").path.as_uri()
        page = read(f"#{'e' * 32}/span1500", url=url)
        here = page.locator(".step.here")
        here.wait_for()
        assert "Long talk. 1499" in here.inner_text()
        page.wait_for_timeout(200)
        top = here.evaluate("node => node.getBoundingClientRect().top")
        assert 0 <= top < 300
