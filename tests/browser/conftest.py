"""A real browser: Debian's Chromium, driven by Playwright's Python package; one for all tests of a module.

Not one for the session: while it is open Playwright runs an event loop in the thread of the tests, and those that come
after would not be able to start their own.

Without Chromium or Playwright these tests are skipped, and the reason is printed (`-ra`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in _NAMES if (found := shutil.which(name))), None)
ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # as root in a container there is none
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
AXE = Path(__file__).parent.parent / "js" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Opened:
    """Opens pages and keeps what went wrong in them: messages of the console, errors, requests, dialogs."""

    browser: Browser
    used: dict[str, Page] = field(default_factory=dict)
    """Pages that tests use one after the other, by their options: a new one takes half a second."""
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Everything that was asked for, the page itself included."""

    def __call__(
        self, url: str, *, scheme: str = "light", javascript: bool = True, fresh: bool = False, **options: Any
    ) -> Page:
        """A page at this address; a `fresh` one has a context of its own, for tests that leave something behind."""
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        options |= {"color_scheme": scheme, "java_script_enabled": javascript}
        key = repr(sorted(options.items()))
        page = None if fresh else self.used.get(key)
        if page is None:
            context = self.browser.new_context(**options)
            context.set_default_timeout(10_000)
            page = context.new_page()
            page.on("console", lambda message: self.errors.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: self.errors.append(f"error: {error}"))
            page.on("request", lambda request: self.requests.append(request.url))
            page.on("dialog", self._dismiss)
            if not fresh:
                self.used[key] = page
        else:
            page.goto("about:blank")
        page.goto(url)
        return page

    def _dismiss(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def pages(browser: Browser) -> Opened:
    """The pages that tests use one after the other."""
    return Opened(browser)


@pytest.fixture
def opened(pages: Opened) -> Opened:
    """Opens pages; what goes wrong in them is that of this test."""
    pages.errors.clear()
    pages.requests.clear()
    return pages


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which finds what people with disabilities cannot use."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix tests/js (make test does it)")
    return AXE.read_text(encoding="utf-8")
