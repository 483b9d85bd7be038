"""A report as pages in files: they need nothing beside them and take nothing from a trace as markup."""

from __future__ import annotations

import base64
import json
import re
import zlib
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpa.cli import main
from gpa.errors import InputError, UsageError
from gpa.evaluation import Evaluation, evaluate
from gpa.report import write_report
from tests.gpa.reported import FIXTURES, INVOICE, MARKUP, MODEL, talk, verdict, write_store


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
        assert "img" not in tags.tags

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

    @pytest.mark.parametrize("name", ["report.txt", "report", "-", ""])
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
            (["STORE", "--trace-url", ""], "--trace-url: expected {trace_id}"),
            (["STORE", "--model", "nobody"], "expected results to report, found none of model nobody"),
            (["STORE", "--baseline", "none.db"], "none.db: cannot be read: No such file or directory"),
            (["STORE", "-o", "/proc/none/r.html"], "/proc/none/r.html: cannot be written"),
        ],
        ids=["missing", "trace-url", "empty trace-url", "model", "baseline", "unwritable"],
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
