"""Texts of a trace in a report: nothing unseen in them, quotes found, long ones cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.report.pieces import HEAD, pieces
from gpa.report.quotes import ranges, utf16
from gpa.report.steps import Mark, ShownText
from gpa.report.visible import excerpt, visible


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
