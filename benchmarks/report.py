"""How long a report takes to write and to open, how large it is, and the longest freeze while it is used.

    python benchmarks/report.py                      # the 73 traces of TRAIL beside the project
    python benchmarks/report.py --traces DIR         # traces of your own
    python benchmarks/report.py --copies 7           # each trace seven times: a run of some 500

Opening is measured in Debian's Chromium, from a cold browser: the first content on the screen, the moment everything
answers, and, while lists are filtered, searched and scrolled and the longest transcript is read to its end, the
longest task of the page's thread (PerformanceObserver, `longtask`: 50 ms and more).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gpa.evaluation import evaluate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Transcript, transcribe
from gpa.report import Written, write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "trail"
TRAIL = (BESIDE / "gaia" / "traces", BESIDE / "swe_bench" / "traces")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask", buffered: true });
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, nargs="+", default=TRAIL, help="files or folders of traces")
    parser.add_argument("--copies", type=int, default=1, help="how often each trace is in the run")
    parser.add_argument("--keep", type=Path, help="leave the report there")
    options = parser.parse_args(argv)
    missing = [path for path in options.traces if not path.exists()]
    if missing:
        sys.exit(f"{missing[0]}: not there; give --traces")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "gpa.db"
        evaluate(_copied(map(transcribe, read_traces(options.traces)), options.copies), store=store)
        start = time.perf_counter()
        written = write_report(store, options.keep or Path(folder) / "report.html")
        seconds = time.perf_counter() - start
        print(f"{written.traces} traces, {written.findings} findings")
        print(f"written in           {seconds:8.2f} s   in {written.files} file(s)")
        print(f"size                 {written.size / 1e6:8.2f} MB")
        _open(written)


def _copied(transcripts: Iterator[Transcript], copies: int) -> Iterator[Transcript]:
    for transcript in transcripts:
        for copy in range(copies):
            yield replace(transcript, trace_id=f"{copy:02x}{transcript.trace_id[2:]}") if copy else transcript


def _open(written: Written) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("opening is not measured: playwright is not installed")
        return
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("opening is not measured: no Chromium on this machine")
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(WATCH)
        start = time.perf_counter()
        page.goto(written.path.as_uri())
        page.wait_for_selector("html[data-ready]")
        ready = time.perf_counter() - start
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first content after  {paint / 1e3:8.2f} s")
        print(f"everything answers   {ready:8.2f} s")
        _freeze(page, "while it opens")
        page.evaluate("location.hash = '#findings'")
        page.wait_for_selector("#view .finding")
        for severity in ("HIGH", "MEDIUM", "LOW", ""):
            page.select_option("#filter-severity", severity)
            page.wait_for_timeout(100)
        _freeze(page, "filtering")
        for typed in ("e", "er", "err", "error", ""):
            page.fill("#search", typed)
            page.wait_for_timeout(200)
        _freeze(page, "searching")
        _scroll(page)
        _freeze(page, "scrolling findings")
        page.evaluate("location.hash = '#traces'")
        page.fill("#search", "the")
        if written.files == 1:
            page.get_by_role("button", name="in all transcripts").click(timeout=5_000)
        page.wait_for_timeout(3_000)
        _freeze(page, "all transcripts")
        longest = page.evaluate(LONGEST)
        page.evaluate("id => { location.hash = id; }", longest[0])
        page.wait_for_selector("#view .step")
        _scroll(page)
        _freeze(page, "reading a transcript", f" ({longest[1]} steps)")
        browser.close()


LONGEST = """() => [...document.querySelectorAll("#view .traces tbody tr")]
  .map((row) => [row.querySelector("a.go").hash, parseInt(row.children[row.children.length - 2].textContent)])
  .sort((a, b) => b[1] - a[1])[0]"""


def _scroll(page: Page) -> None:
    for _ in range(40):
        page.mouse.move(900, 600)
        page.mouse.wheel(0, 1_500)
        page.wait_for_timeout(30)


def _freeze(page: Page, what: str, more: str = "") -> None:
    """Print the longest task since the last time."""
    longest = page.evaluate(
        "() => { const longest = Math.max(0, ...window.tasks); window.tasks = []; return longest; }"
    )
    print(f"{what:21}{f'{longest:8.0f} ms' if longest else '   under 50 ms'}   longest task{more}")


if __name__ == "__main__":
    main()
