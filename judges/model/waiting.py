"""How long a provider's `retry-after` is obeyed: an SDK would wait for an hour without a word.

What asks for more than `MAX_WAIT_S` is a failure at once, which the next run retries; shorter waits are said.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

MAX_WAIT_S = 60.0
"""Longest wait that is obeyed."""
SAID_FROM_S = 5.0
"""Waits shorter than this go unsaid: they are every provider's everyday life."""

_LOG = logging.getLogger(__name__)


def wait_s(headers: Mapping[str, str]) -> float:
    """Seconds that a response asks to be waited for; 0 when it does not say."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(0.0, seconds) if isfinite(seconds) else 0.0
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def say_wait(status: object, seconds: float) -> None:
    """Say what is waited for, when it is long enough to be taken for a hang."""
    if seconds >= SAID_FROM_S:
        _LOG.warning("gpa: HTTP %s: waiting %.0f s, as the provider asks", status, seconds)


def too_long(headers: Mapping[str, str]) -> str:
    """What to say of a wait that is not obeyed, to follow an error's message; empty for any other."""
    seconds = wait_s(headers)
    if seconds <= MAX_WAIT_S:
        return ""
    return f" (asked to wait {seconds:,.0f} s; no more than {MAX_WAIT_S:.0f} s are waited)"


def response_hook(max_retries: int) -> Callable[[Any], Awaitable[None]]:
    """A hook for the HTTP client of Anthropic's SDK, which sees each response before the SDK decides to retry."""

    async def hook(response: Any) -> None:
        if response.status_code < 400:
            return
        seconds = wait_s(response.headers)
        if seconds > MAX_WAIT_S:
            response.headers["x-should-retry"] = "false"
        elif response.request.headers.get("x-stainless-retry-count") != str(max_retries):
            say_wait(response.status_code, seconds)

    return hook
