"""Limits in numbers, and what is held against them."""

from __future__ import annotations

import pytest

from gpa.judges.checks.limits import answer_length, chunk_limit
from tests.judges.checks.transcripts import FINAL, coded, llm, result, said, transcript, user


@pytest.mark.parametrize(
    ("told", "found"),
    [("word " * 300, 1), ("word " * 100, 0), ("├── a\n" * 300, 0), ("x = 'part of the code'\n" * 60, 0)],
    ids=["too much", "enough", "a directory tree", "its own text"],
)
def test_chunk_limit(told: str, found: int) -> None:
    steps = (
        llm(coded("I read.", "x = 'part of the code'\nprint(text)"), new=(user("Read it 500 characters at a time."),)),
        llm(coded("Done.", "final_answer(1)"), new=(result(told),)),
    )
    assert len(list(chunk_limit(transcript(*steps, tools=(FINAL,))))) == found


@pytest.mark.parametrize(
    ("system", "answer", "found"),
    [
        ("Answer in at most 5 words.", "It is seven, as far as we know.", 1),
        ("Answer in at most 5 words.", "It is seven.", 0),
        ("If asked for a summary, answer in at most 5 words.", "It is seven, as far as we know.", 0),
        ("Queries have at most 5 words.", "It is seven, as far as we know.", 0),
        (
            "Answer in at most 2 sentences.",
            "A trace, e.g. of v1.2, is a tree. Dr. A. Smith, i.e. he, calls it a log.",
            0,
        ),
        ("Answer in at most 2 sentences.", "A trace is a tree. It is a log! Is it?", 1),
    ],
    ids=["too long", "short enough", "a condition", "not about the answer", "abbreviations", "three sentences"],
)
def test_answer_length(system: str, answer: str, found: int) -> None:
    assert len(list(answer_length(transcript(llm(said(answer)), system=system)))) == found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("Read files in chunks of at most 100 lines.", 1),
        ("Open it in blocks of 100 lines.", 1),
        ("Look at no more than 100 lines at once.", 1),
        ("Write the records in batches of 100 lines.", 0),
        ("It has 100 lines.", 0),
    ],
)
def test_the_wordings_of_a_chunk_limit(rule: str, found: int) -> None:
    steps = (
        llm(coded("I read.", "print(text)"), new=(user(rule),)),
        llm(coded("Done.", "final_answer(1)"), new=(result("a line\n" * 200),)),
    )
    assert len(list(chunk_limit(transcript(*steps, tools=(FINAL,))))) == found
