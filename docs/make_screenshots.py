# ruff: noqa: INP001, T201 - a script that prints
"""Makes the pictures in docs/images from a report of the recorded traces in fixtures/, with Debian's Chromium.

python docs/make_screenshots.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from gpa.evaluation import evaluate
from gpa.report import write_report

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
INVOICE = "b2df3a500320dfc65169120523737361"
"""An agent that says an invoice is paid, and it is not."""


def overview(page: Page) -> None:
    """The first screen."""


def findings(page: Page) -> None:
    """The list, filtered."""
    page.evaluate("location.hash = '#findings?severity=HIGH'")
    page.wait_for_selector("#view .finding")


def trace(page: Page) -> None:
    """A transcript at its second finding."""
    page.evaluate(f"location.hash = '#{INVOICE}'")
    page.wait_for_selector("#view .step")
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.wait_for_selector("mark.at")
    page.wait_for_timeout(300)


SHOTS = (
    ("report-overview", "light", overview),
    ("report-findings", "light", findings),
    ("report-trace", "light", trace),
    ("report-trace-dark", "dark", trace),
)


def main() -> None:
    """Write the pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on this machine: apt install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        store = Path(folder) / "gpa.db"
        evaluate(ROOT / "fixtures" / "traces", store=store)
        url = write_report(
            store, Path(folder) / "report.html", title="Recorded agents", trace_url="jaeger"
        ).path.as_uri()
        browser = driver.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"])
        for name, scheme, act in SHOTS:
            page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme=scheme)
            page.goto(url)
            page.wait_for_selector("html[data-ready]")
            act(page)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
            print(IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
