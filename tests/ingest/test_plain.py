"""What hides or reorders is one set, for files, pages and terminals alike; what makes words and emoji stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.cli import output
from gpa.ingest.plain import cut, one_line, plain
from gpa.report import visible as page

CLEANERS = {"file": plain, "page": page.visible, "terminal": output.visible, "JSON": output.safe_json}
UNSEEN = {
    "soft hyphen": "\u00ad",
    "grapheme joiner": "\u034f",
    "Arabic letter mark": "\u061c",
    "Hangul choseong filler": "\u115f",
    "Hangul jungseong filler": "\u1160",
    "Khmer inherent vowel": "\u17b4",
    "Mongolian vowel separator": "\u180e",
    "zero-width space": "\u200b",
    "zero-width non-joiner": "\u200c",
    "zero-width joiner": "\u200d",
    "right-to-left override": "\u202e",
    "line separator": "\u2028",
    "word joiner": "\u2060",
    "isolate": "\u2066",
    "Hangul filler": "\u3164",
    "byte order mark": "\ufeff",
    "half-width Hangul filler": "\uffa0",
    "annotation": "\ufff9",
    "noncharacter": "\uffff",
    "musical format": "\U0001d173",
    "tag": "\U000e0041",
    "escape": "\x1b",
    "one-character control sequence": "\x9b",
    "half of a surrogate pair": "\ud83d",
}
SEEN = {
    "emoji of several": "👩\u200d🔬 ❤\ufe0f\u200d🔥",
    "joiners of scripts": "नहीं कर\u200dना क\u200cक",
    "languages": "naïve Ελλάδα 日本 – “so”",
    "variant of a character": "葛\U000e0100",
    "what stands for a lost character": "lost \ufffd",
    "Arabic number sign": "\u0600\u0661",
    "white space": "a\tb\u00a0c\n",
    "private use": "\uf8ff",
}


@pytest.mark.parametrize("clean", CLEANERS.values(), ids=list(CLEANERS))
class TestEveryCleaner:
    @pytest.mark.parametrize("sign", UNSEEN.values(), ids=list(UNSEEN))
    def test_leaves_nothing_that_is_not_seen(self, clean: Callable[[str], str], sign: str) -> None:
        assert sign not in clean(f"pass{sign}word")

    @pytest.mark.parametrize("text", SEEN.values(), ids=list(SEEN))
    def test_leaves_what_is_seen(self, clean: Callable[[str], str], text: str) -> None:
        assert clean(text) == text

    @given(st.text(st.characters() | st.sampled_from("\u200c\u200d\u200b\r\né👩a")))
    def test_has_nothing_to_do_a_second_time(self, clean: Callable[[str], str], text: str) -> None:
        assert clean(clean(text)) == clean(text)

    @given(st.text(st.characters() | st.sampled_from(" \n\u200b")), st.integers(1, 40))
    def test_makes_one_line_no_longer_than_asked(self, clean: Callable[[str], str], text: str, limit: int) -> None:
        line = one_line(text, limit, clean)
        assert len(line) <= limit
        assert line.splitlines() in ([], [line])
        assert line == line.strip()


def test_lines_of_files_end_in_a_newline_wherever_they_were_written() -> None:
    assert plain("one\r\ntwo\u2028three\u2029four\nfive") == "one\ntwo\nthree\nfour\nfive"


def test_a_cut_says_that_it_is_one() -> None:
    assert cut("a\nlong text", 6) == "a\nlon…"
    assert one_line("a\nlong text", 6) == "a lon…"
    assert one_line("no cut", 6) == "no cut"
