"""A wait is as long as the response says, in whichever of the three ways, and bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gpa.judges.model.waiting import MAX_WAIT_S, too_long, wait_s


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
    ids=["none", "seconds", "milliseconds", "negative", "nan", "words", "past"],
)
def test_seconds_to_wait_are_read_from_the_headers(headers: dict[str, str], seconds: float) -> None:
    assert wait_s(headers) == seconds


def test_a_date_is_as_long_as_it_is_ahead() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3_590 < wait_s({"retry-after": until}) <= 3_600


def test_what_is_obeyed_needs_no_words() -> None:
    assert too_long({"retry-after": str(MAX_WAIT_S)}) == ""
    assert "3,600 s" in too_long({"retry-after": "3600"})
