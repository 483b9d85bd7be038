"""What a report shows, as data; and that its page needs nothing beside it and takes nothing from a trace as markup."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpa.cli import main
from gpa.errors import InputError, UsageError
from gpa.evaluation import Evaluation, evaluate
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import AnyResult, Failure, Finding, NotApplicable, Severity, Verdict
from gpa.report import write_report
from gpa.report.findings import ShownFinding, shown_findings
from gpa.report.links import trace_links
from gpa.report.overview import overview, worst_first
from gpa.report.pieces import HEAD, pieces
from gpa.report.quotes import ranges, utf16
from gpa.report.reading import latest
from gpa.report.steps import Mark, ShownText, shown_transcript
from gpa.report.visible import excerpt, visible
from tests.gpa.reported import FIXTURES, INVOICE, MARKUP, MODEL, talk, write_store
from tests.judges.checks.transcripts import call, llm, said, tool, transcript, user

Case = tuple[str, str]


class TestVisible:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("plain\ttext\n", "plain\ttext\n"),
            ("two\r\nlines", "two\nlines"),
            ("over\rwritten", "over␍written"),
            ("\x1b[31mred\x7f\x00", "␛[31mred␡␀"),
            ("a\u202eb\u2066c", "a⟨U+202E⟩b⟨U+2066⟩c"),
            ("pass\u200bword\ufeff", "pass⟨U+200B⟩word⟨U+FEFF⟩"),
            ("half \ud800", "half ⟨U+D800⟩"),
            ("tag \U000e0041", "tag ⟨U+E0041⟩"),
            ("👩\u200d💻", "👩\u200d💻"),
            ("नहीं\u200c कर\u200dना", "नहीं⟨U+200C⟩ कर\u200dना"),
            ("in\u200dvoice", "in⟨U+200D⟩voice"),
            ("naïve – “quoted” 日本", "naïve – “quoted” 日本"),
        ],
        ids=[
            "plain",
            "crlf",
            "cr",
            "controls",
            "bidi",
            "zero width",
            "surrogate",
            "tag",
            "emoji",
            "hindi",
            "joiner",
            "words",
        ],
    )
    def test_shows_what_would_not_be_seen(self, text: str, shown: str) -> None:
        assert visible(text) == shown

    @given(st.text())
    def test_what_is_visible_stays_and_can_be_written(self, text: str) -> None:
        once = visible(text)
        assert visible(once) == once
        once.encode()

    def test_an_excerpt_is_one_line(self) -> None:
        assert excerpt("one\n two\tthree", 50) == "one two three"
        assert excerpt("x" * 60, 50) == "x" * 49 + "…"


class TestLinks:
    @pytest.mark.parametrize(
        ("spec", "span", "trace"),
        [
            (
                "https://t.example/{trace_id}?span={span_id}",
                "https://t.example/ab?span=12",
                "https://t.example/ab?span=",
            ),
            ("jaeger", "http://localhost:16686/trace/ab?uiFind=12", "http://localhost:16686/trace/ab"),
            (
                "jaeger=https://j.example/ui/",
                "https://j.example/ui/trace/ab?uiFind=12",
                "https://j.example/ui/trace/ab",
            ),
            ("phoenix=http://p:6006", "http://p:6006/redirects/spans/12", "http://p:6006/redirects/traces/ab"),
            ("langfuse", "https://cloud.langfuse.com/trace/ab", "https://cloud.langfuse.com/trace/ab"),
            (
                "langfuse=https://l.example/project/p1",
                "https://l.example/project/p1/traces/ab?observation=12",
                "https://l.example/project/p1/traces/ab",
            ),
        ],
        ids=["template", "jaeger", "jaeger elsewhere", "phoenix", "langfuse", "langfuse project"],
    )
    def test_lead_to_a_span_and_a_trace(self, spec: str, span: str, trace: str) -> None:
        links = trace_links(spec)
        assert links.url("ab", "12") == span
        assert links.url("ab") == trace

    def test_tempo_is_a_query_of_grafanas_explore(self) -> None:
        from urllib.parse import parse_qs, urlsplit

        parts = urlsplit(trace_links("tempo=https://g.example/grafana?datasource=T1").url("ab", "12"))
        asked = parse_qs(parts.query)
        assert (parts.netloc, parts.path) == ("g.example", "/grafana/explore")
        assert json.loads(asked["panes"][0])["gpa"] == {
            "datasource": {"type": "tempo", "uid": "T1"},
            "queries": [
                {"refId": "A", "datasource": {"type": "tempo", "uid": "T1"}, "queryType": "traceql", "query": "ab"}
            ],
            "panelsState": {"trace": {"spanId": "12"}},
        }

    def test_ids_are_encoded(self) -> None:
        url = trace_links("https://t.example/{trace_id}?s={span_id}").url('a/b?"<', "x&y=#")
        assert url == "https://t.example/a%2Fb%3F%22%3C?s=x%26y%3D%23"

    @pytest.mark.parametrize(
        "spec",
        [
            "javascript:alert(1)//{trace_id}",
            "data:text/html,{trace_id}",
            "ftp://t.example/{trace_id}",
            "//t.example/{trace_id}",
            "https:///{trace_id}",
            "https://{trace_id}.example/",
            "https://t.example/no-id",
            "https://t.example/{trace_id}/{secret}",
            "https://t.example/{trace_id}/{span_id",
            "https://t.example/ {trace_id}",
            'https://t.example/"{trace_id}',
            "zipkin",
            "jaeger=javascript:alert(1)",
            "",
        ],
    )
    def test_refuse_what_is_no_address_of_a_trace(self, spec: str) -> None:
        with pytest.raises(UsageError, match="--trace-url: expected"):
            trace_links(spec)


class TestQuotes:
    @pytest.mark.parametrize(
        ("quote", "text", "found"),
        [
            ("418.60 EUR", "due: 418.60 EUR.", "418.60 EUR"),
            ("one two three", "so one\n   two\\nthree.", "one\n   two\\nthree"),
            ('say "no" to it', 'to say \\"no\\" to it', 'say \\"no\\" to it'),
            ("it’s the user's - turn", "it's the user’s – turn", "it's the user’s – turn"),
            ("the step ⟦s3⟧ says", "the step [s3] says", "the step [s3] says"),
            ("an answer of twenty-four words", "an answer of twentyfour words", "an answer of twentyfour words"),
            ("nothing of the kind at all", "something else entirely, and long enough", None),
            ("", "anything", None),
        ],
        ids=["exact", "blanks", "escapes", "quotes", "labels", "nearly", "absent", "empty"],
    )
    def test_are_found_as_they_were_shown(self, quote: str, text: str, found: str | None) -> None:
        passages = [text[start:stop] for _, start, stop in ranges(quote, [text])]
        assert passages == ([found] if found else [])

    def test_a_quote_with_an_elision_is_two_passages(self) -> None:
        text = "First the long beginning, then much more, and then the very end."
        assert [text[a:b] for _, a, b in ranges("the long beginning ... the very end", [text])] == [
            "the long beginning",
            "the very end",
        ]

    def test_the_first_text_that_holds_it_is_taken(self) -> None:
        assert ranges("here", ["no", "it is here", "here"]) == [(1, 6, 10)]

    @given(st.text(), st.integers(min_value=0, max_value=30))
    def test_positions_are_those_of_javascript(self, text: str, position: int) -> None:
        sound = text.encode("utf-8", "replace").decode()
        assert utf16(sound, position) == max(position, 0) + len(sound[:position].encode("utf-16-le")) // 2 - len(
            sound[:position]
        )


class TestPieces:
    def test_a_short_text_is_whole_with_its_marks(self) -> None:
        shown = ShownText("out", "assistant", "It is paid now.", marks=(Mark(6, 10, (3, 5)),))
        assert [(piece.text, piece.findings) for piece in pieces(shown)] == [
            ("It is ", ()),
            ("paid", (3, 5)),
            (" now.", ()),
        ]

    def test_a_long_text_is_cut_around_its_marks_and_says_how_much(self) -> None:
        text = "a" * 5_000 + "HERE" + "b" * 5_000
        parts = list(pieces(ShownText("out", "tool", text, marks=(Mark(5_000, 5_004, (0,)),))))
        assert [part.text for part in parts if part.findings] == ["HERE"]
        assert sum(len(part.text) + part.left_out for part in parts) == len(text)
        assert sum(len(part.text) for part in parts) < HEAD + 1_000

    @given(st.text(min_size=1, max_size=60), st.integers(0, 50), st.integers(1, 40))
    def test_nothing_is_lost_or_doubled(self, text: str, start: int, size: int) -> None:
        sound = text.encode("utf-8", "replace").decode()
        units = len(sound.encode("utf-16-le")) // 2
        mark = Mark(min(start, units - 1), min(start + size, units), (0,))
        parts = pieces(ShownText("out", "tool", sound, marks=(mark,) if mark.start < mark.stop else ()))
        joined = b"".join(part.text.encode("utf-16-le", "replace") for part in parts)
        assert len(joined) == 2 * units


def finding(severity: Severity = "HIGH", **fields: Any) -> Finding:
    known = {"span_ids": ("span1",), "quote": "q", "problem": "p", "category": "Tool-related", "severity": severity}
    return Finding(**{**known, **fields})


def verdict(judge: str, *findings: Finding, score: int = 1, **fields: Any) -> Verdict:
    known = {"trace_id": "t", "model": "checks", "rationale": "r"}
    return Verdict(judge=judge, score=score, findings=findings, **{**known, **fields})


class TestFindings:
    def test_one_under_several_dimensions_is_one(self) -> None:
        shown = shown_findings(0, [verdict("LC", finding(check="c")), verdict("TC", finding(check="c"))], None)
        assert [(one.dimensions, one.judge, one.source) for one in shown] == [(("LC", "TC"), "c", "check")]

    @pytest.mark.parametrize(
        ("check", "model", "source", "judge"),
        [
            ("c", "checks", "check", "c"),
            (None, MODEL, "llm", MODEL),
            ("c", MODEL, "confirmed", "c"),
        ],
        ids=["check", "llm", "confirmed"],
    )
    def test_who_says_so(self, check: str | None, model: str, source: str, judge: str) -> None:
        [shown] = shown_findings(0, [verdict("LC", finding(check=check), model=model)], None)
        assert (shown.source, shown.judge) == (source, judge)

    def test_the_gravest_come_first_and_the_suppressed_last(self) -> None:
        muted = finding("HIGH", problem="muted")
        results = [verdict("LC", finding("LOW"), finding("HIGH", category="x"), finding("MEDIUM"), suppressed=(muted,))]
        shown = shown_findings(0, results, None)
        assert [(one.severity, one.suppressed) for one in shown] == [
            ("HIGH", False),
            ("MEDIUM", False),
            ("LOW", False),
            ("HIGH", True),
        ]

    def test_repeats_are_named(self) -> None:
        results = [verdict("LC", finding(), sample=0), verdict("LC", finding(), sample=2)]
        assert [one.samples for one in shown_findings(0, results, None)] == [(0, 2)]

    def test_a_place_is_a_step_and_an_agent(self) -> None:
        [shown] = shown_findings(0, [verdict("LC", finding(span_ids=("span2", "gone")))], talk("t", steps=3))
        assert (shown.labels, shown.agent, shown.spans) == (("s2",), "main", ("span2", "gone"))


def page_of(shown: Transcript, *findings: Finding) -> tuple[Any, list[ShownFinding]]:
    results: list[AnyResult] = [verdict("LC", *findings)]
    listed = shown_findings(0, results, shown)
    return shown_transcript("t", results, shown, listed), listed


class TestSteps:
    def test_a_quote_is_marked_at_the_step_it_is_cited_from(self) -> None:
        page, _ = page_of(talk("t", steps=3), finding(quote="Hello.", span_ids=("span2",)))
        marks = [(step.label, text.marks) for step in page.steps for text in step.texts if text.marks]
        assert marks == [("s2", (Mark(0, 6, (0,)),))]
        assert [step.findings for step in page.steps] == [(), (0,), ()]

    def test_a_quote_of_another_step_says_which(self) -> None:
        shown = transcript(llm(said("The lamp is red.")), llm(said("Done.")))
        page, _ = page_of(shown, finding(quote="lamp is red", span_ids=("span2",)))
        assert page.elsewhere == {0: "s1"}
        assert page.steps[0].texts[0].marks == (Mark(4, 15, (0,)),)

    def test_a_quote_without_ground_is_marked_nowhere(self) -> None:
        page, _ = page_of(talk("t"), finding(quote="Hello.", grounded=False))
        assert not any(text.marks for step in page.steps for text in step.texts)

    def test_arguments_quoted_with_their_keys_in_another_order_are_marked(self) -> None:
        shown = transcript(llm(call("pay", {"number": "R-1", "amount": 5})))
        page, _ = page_of(shown, finding(quote='{"amount":5,"number":"R-1"}'))
        assert page.steps[0].texts[0].marks == (Mark(0, 27, (0,)),)

    def test_a_passage_that_two_findings_quote_is_a_mark_of_both(self) -> None:
        page, _ = page_of(talk("t"), finding(quote="Hello. 0"), finding("LOW", quote="lo."))
        assert page.steps[0].texts[0].marks == (Mark(0, 3, (0,)), Mark(3, 6, (0, 1)), Mark(6, 8, (0,)))

    def test_a_text_that_stands_before_is_referred_to_unless_it_is_quoted(self) -> None:
        long = "The stock of lamps in the northern warehouse is twelve, counted this morning."
        shown = transcript(tool("stock", {}, long), llm(said("ok"), new=(user(long),)), llm(said(f"{long}")))
        page, _ = page_of(shown, finding(quote="twelve", span_ids=("span3",)))
        assert [(text.same, bool(text.text)) for step in page.steps[1:] for text in step.texts] == [
            ("s1", False),
            ("", True),
            ("", True),
        ]

    def test_times_start_with_the_trace(self) -> None:
        made = talk("t", steps=2)
        steps = tuple(replace(one, start_ns=10**18 + n * 10**9, duration_ns=10**9) for n, one in enumerate(made.steps))
        page, _ = page_of(replace(made, steps=steps))
        assert [(step.start, step.duration) for step in page.steps] == [(0.0, 1000.0), (1000.0, 1000.0)]
        assert page.duration == 2000.0

    def test_without_a_transcript_the_verdicts_are_left(self) -> None:
        page = shown_transcript("t", [verdict("LC", score=2)], None, [])
        assert page.missing
        assert [(one.dimension, one.score) for one in page.verdicts] == [("LC", 2)]


class TestOverview:
    def test_the_three_outcomes_are_counted_apart(self) -> None:
        results = (
            verdict("LC", score=0),
            verdict("LC", score=3, trace_id="u"),
            NotApplicable(trace_id="v", judge="LC", model="checks", reason="no plan"),
            Failure(trace_id="w", judge="LC", model="checks", error_type="KeyError", message="m"),
        )
        shown = overview(Evaluation(results), [])
        [row] = shown.distributions
        assert (row.mean, row.counts, row.not_applicable, row.failed) == (1.5, (1, 0, 0, 1), 1, 1)
        assert [reason.text for reason in shown.reasons] == ["no plan"]
        assert [reason.text for reason in shown.failures] == ["KeyError: m"]

    def test_the_worst_trace_comes_first_and_what_has_no_score_last(self) -> None:
        results = (
            NotApplicable(trace_id="none", judge="LC", model="checks", reason="no plan"),
            verdict("LC", score=2, trace_id="fair"),
            Failure(trace_id="failed", judge="LC", model="checks", error_type="E", message="m"),
            verdict("LC", finding(), score=0, trace_id="bad"),
            verdict("LC", finding(), finding("LOW"), score=0, trace_id="worse"),
        )
        assert list(worst_first(Evaluation(results))) == ["worse", "bad", "fair", "failed", "none"]

    def test_a_cost_without_a_price_is_said(self) -> None:
        results = (verdict("LC", cost_usd=0.5), verdict("TC", cost_usd=None))
        assert overview(Evaluation(results), []).cost[:2] == (0.5, 1)

    def test_of_results_judged_again_the_last_counts(self) -> None:
        old, new = verdict("LC", score=0, rubric_hash="1"), verdict("LC", score=3, rubric_hash="2")
        other = verdict("LC", score=1, sample=1)
        assert latest([old, other, new]) == (new, other)


class _Tags(HTMLParser):
    """The elements of a page and the addresses in them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "data"}]
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name == "style"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("report") / "gpa.db")


@pytest.fixture(scope="module")
def page(store: Path) -> str:
    written = write_report(store, store.parent / "report.html", trace_url="jaeger", title="Nightly <run>")
    assert (written.files, written.without_transcript) == (1, 0)
    return written.path.read_text(encoding="utf-8")


def blocks(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="text/plain" id="([^"]+)">([^<]*)</script>', page)
    return {name: json.loads(zlib.decompress(base64.b64decode(block))) for name, block in found}


class TestPage:
    def test_nothing_outside_is_referred_to_but_by_links(self, page: str) -> None:
        tags = _Tags()
        tags.feed(page)
        assert not {"img", "link", "iframe", "object", "embed", "form", "base", "svg:image"} & set(tags.tags)
        assert tags.handlers == []
        outside = {address for address in tags.addresses if not address.startswith("#") and address != ""}
        assert all(address.startswith("http://localhost:16686/trace/") for address in outside)
        assert not re.search(r"@import|url\(", page)

    def test_a_policy_allows_the_one_script_and_the_one_style_by_hash(self, page: str) -> None:
        from hashlib import sha256

        [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
        assert policy.startswith("default-src &#39;none&#39;")
        [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        for text in (script, style):
            assert base64.b64encode(sha256(text.encode()).digest()).decode() in policy.replace("&#43;", "+")

    def test_text_of_a_trace_is_never_markup(self, page: str) -> None:
        assert MARKUP not in page
        assert "&lt;img src=x" in page
        tags = _Tags()
        tags.feed(page)
        assert set(tags.tags) & {"img", "b>"} == set()

    def test_the_title_is_escaped(self, page: str) -> None:
        assert "<title>Nightly &lt;run&gt; · Agent GPA report</title>" in page

    def test_every_trace_of_the_store_is_in_it(self, page: str, store: Path) -> None:
        data = blocks(page)
        ids = set(Evaluation.load(store).trace_ids)
        assert {trace["id"] for trace in data["index"]["traces"]} == ids
        assert {data[f"trace-data-{n}"]["trace_id"] for n in range(len(ids))} == ids

    def test_every_mark_is_the_quote_of_its_finding(self, page: str) -> None:
        data = blocks(page)
        number = next(n for n, trace in enumerate(data["index"]["traces"]) if trace["id"] == INVOICE)
        findings = [one for one in data["index"]["findings"] if one["trace"] == number]
        marked: dict[int, str] = {}
        for step in data[f"trace-data-{number}"]["steps"]:
            for text in step.get("texts", ()):
                for start, stop, quoting in text.get("marks", ()):
                    for at in quoting:
                        marked[at] = marked.get(at, "") + text["text"][start:stop]
        grounded = [at for at, one in enumerate(findings) if one["quote"] and not one.get("ungrounded")]
        assert sorted(marked) == grounded
        for at, passage in marked.items():
            assert sorted(passage) == sorted(findings[at]["quote"])  # arguments may have their keys in another order


class TestWriting:
    def test_result_lines_are_reported_without_transcripts_or_with_traces(self, tmp_path: Path) -> None:
        traces = FIXTURES / "pydantic-ai" / "seat_change.traces.jsonl"
        evaluation = evaluate(traces)
        lines = tmp_path / "results.jsonl"
        evaluation.to_jsonl(lines)
        assert write_report(lines, tmp_path / "a.html").without_transcript == 1
        written = write_report(lines, tmp_path / "b.html", traces=[traces])
        assert (written.traces, written.without_transcript) == (1, 0)
        shown = blocks((tmp_path / "b.html").read_text(encoding="utf-8"))["trace-data-0"]
        assert shown["goal"] == "Please move booking QX4 to seat A in row twelve."

    def test_a_baseline_is_compared_with(self, store: Path, tmp_path: Path) -> None:
        evaluate(FIXTURES / "openinference-smolagents", store=tmp_path / "main.db", skip_checks=["claimed-success"])
        write_report(store, tmp_path / "report.html", baseline=tmp_path / "main.db", model="checks")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        section = text.partition('id="compared"')[2].partition("</section>")[0]
        assert "main.db" in section
        assert "Tool Calling" in section
        assert "every call of pay_invoice failed" in section
        index = blocks(text)["index"]
        assert {one["judge"] for one in index["findings"] if one.get("new")} == {"claimed-success"}

    def test_of_one_model_only(self, store: Path, tmp_path: Path) -> None:
        write_report(store, tmp_path / "report.html", model=MODEL)
        index = blocks((tmp_path / "report.html").read_text(encoding="utf-8"))["index"]
        assert {one["model"] for one in index["findings"]} == {MODEL}

    def test_a_folder_holds_an_index_and_parts(self, tmp_path: Path) -> None:
        evaluate([talk(f"{n:032x}") for n in range(6)], store=tmp_path / "gpa.db")
        written = write_report(tmp_path / "gpa.db", f"{tmp_path}/out/", max_file_bytes=1_200)
        assert written.path == tmp_path / "out" / "index.html"
        assert not written.folder_because_large
        index = blocks(written.path.read_text(encoding="utf-8"))
        assert [name for name in index if name.startswith("trace-data")] == []
        shown = set()
        for trace in index["index"]["traces"]:
            part = blocks((written.path.parent / trace["page"]).read_text(encoding="utf-8"))
            at = part["index"]["numbers"][[one["id"] for one in part["index"]["traces"]].index(trace["id"])]
            assert part[f"trace-data-{at}"]["trace_id"] == trace["id"]
            shown.add(trace["page"])
        assert len(shown) == written.files - 1

    def test_a_store_without_results_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "none.jsonl").write_text("")
        with pytest.raises(InputError, match=r"none\.jsonl: expected results to report, found none$"):
            write_report(tmp_path / "none.jsonl", tmp_path / "report.html")

    @pytest.mark.parametrize("name", ["report.txt", "report", "-"])
    def test_another_ending_is_refused(self, store: Path, name: str) -> None:
        with pytest.raises(UsageError, match=r"expected a name that ends in \.html, or a folder that ends in /"):
            write_report(store, name)


class TestCommand:
    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["report", *arguments])

    def test_says_what_it_wrote(self, store: Path, tmp_path: Path) -> None:
        done = self.run(str(store), "-o", str(tmp_path / "r.html"))
        assert done.exit_code == 0
        assert re.fullmatch(rf"{tmp_path}/r\.html: 5 traces, \d+ findings, 0\.\d MiB\n", done.stdout)

    def test_says_that_transcripts_are_elsewhere(self, store: Path, tmp_path: Path) -> None:
        done = self.run(str(store), "-o", f"{tmp_path}/r/")
        assert "transcripts in 1 page beside it" in done.stdout
        assert sorted(path.name for path in tmp_path.rglob("*.html")) == ["0001.html", "index.html"]

    def test_says_that_transcripts_are_missing(self, tmp_path: Path) -> None:
        lines = tmp_path / "results.jsonl"
        Evaluation((verdict("LC"),)).to_jsonl(lines)
        done = self.run(str(lines), "-o", str(tmp_path / "r.html"))
        assert "1 trace without a transcript: give the traces with --traces" in done.stdout

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["none.db"], "none.db: cannot be read: No such file or directory"),
            (
                ["STORE", "--trace-url", "javascript:x{trace_id}"],
                "--trace-url: expected an http:// or https:// address",
            ),
            (["STORE", "--model", "nobody"], "expected results to report, found none of model nobody"),
            (["STORE", "--baseline", "none.db"], "none.db: cannot be read: No such file or directory"),
            (["STORE", "-o", "/proc/none/r.html"], "/proc/none/r.html: cannot be written"),
        ],
        ids=["missing", "trace-url", "model", "baseline", "unwritable"],
    )
    def test_errors_are_one_line_and_exit_2(self, store: Path, arguments: list[str], message: str) -> None:
        done = self.run(*(str(store) if argument == "STORE" else argument for argument in arguments))
        assert done.exit_code == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


RECORDINGS = Path(__file__).parents[3] / "shared" / "data" / "trail" / "gaia" / "traces"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="recordings are not part of the project")
def test_quotes_of_the_checks_are_marked_in_recordings(tmp_path: Path) -> None:
    evaluate(sorted(RECORDINGS.glob("*.json"))[:12], store=tmp_path / "gpa.db")
    write_report(tmp_path / "gpa.db", tmp_path / "report.html")
    data = blocks((tmp_path / "report.html").read_text(encoding="utf-8"))
    quoted = marked = 0
    for number, _ in enumerate(data["index"]["traces"]):
        texts = [text for step in data[f"trace-data-{number}"].get("steps", ()) for text in step.get("texts", ())]
        marks = {at for text in texts for mark in text.get("marks", ()) for at in mark[2]}
        quotes = [
            at
            for at, one in enumerate(one for one in data["index"]["findings"] if one["trace"] == number)
            if one["quote"]
        ]
        quoted += len(quotes)
        marked += len(marks & set(quotes))
    assert quoted > 30
    assert marked == quoted
