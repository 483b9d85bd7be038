"""What a rubric may not have from the traces it was tuned on, and what it may: both sides, by tables and by laws."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.transcript import Transcript
from gpa.judges.gold import GoldError
from gpa.judges.rubrics import load_frame, load_rubrics
from gpa.optimize.leaks import Traits, known, leaked, traits
from gpa.optimize.vocabulary import forms, is_common, is_english, words
from tests.judges.checks.transcripts import llm, said, tool, transcript, user

RUBRICS = load_rubrics()
START = RUBRICS["TC"].text
ALLOWED = known([*(rubric.text for rubric in RUBRICS.values()), load_frame()])
RUN = transcript(
    llm(said("I look up Frobnitz in the ledger."), new=(user("What did Dr Wilhelmina Oksanen pay for QX-4471?"),)),
    tool("fetch_invoice", {"client_ref": "ACME7", "path": "/data/berlin_totals.csv"}, "Paid 1,284.50 on 2031-04-17."),
    llm(said("The marmalade order of the Helsinki depot was paid twice in April, says Mr Mango.")),
    llm(
        said("My friend James knows. The clerk of the Golden Harvest shop wrote a Second Letter, then a second letter.")
    ),
    llm(said("A very long explanation follows the short summary that every clerk writes on Mondays.")),
)
ERROR = GoldError(
    id="e1",
    trace_id=RUN.trace_id,
    span_id="",
    category="Tool-related",
    evidence="The marmalade order of the Helsinki depot was paid twice in April",
    description="The agent fabricated a payment; bafflingly, the marmalade was never ordered.",
)
TRAITS = traits([RUN], [ERROR])


def leaks(addition: str, training: Traits = TRAITS) -> tuple[str, ...]:
    return leaked(f"{START}\n\n{addition}\n", training, ALLOWED)


@pytest.mark.parametrize(
    ("addition", "leak"),
    [
        ("Report every mention of Frobnitz.", "frobnitz"),
        ("Look closer at frobnitzes.", "frobnitz"),
        ("A Frobnitz's price is often wrong.", "frobnitz"),
        ("Beware of QX-4471.", "4471"),
        ("Beware of the order `ACME7`.", "acme7"),
        ("Calls of fetch_invoice are often wrong.", "fetch_invoice"),
        ("Check the argument client_ref.", "client_ref"),
        ("Files such as berlin_totals.csv are misread.", "berlin_totals.csv"),
        ("A sum of 1,284.50 is suspicious.", "1284.50"),
        ("A sum of 1284.50 is suspicious.", "1284.50"),
        ("Nothing before 2031 counts.", "2031"),
        ("Ask whether Oksanen was asked.", "oksanen"),
        ("Deliveries to Helsinki are paid twice.", "helsinki"),
        ("Orders of marmalade are suspicious.", "marmalade"),
        ("What the man called Mango says is no evidence.", "mango"),
        ("Ask whether James was asked.", "james"),
        ("Bills of Golden Harvest are suspicious.", "golden harvest"),
        ("Beware of \uff26robnitz.", "frobnitz"),
        ('Sentences like "I look up" are claims.', "I look up"),
        ("When an order was paid twice in april, say so.", "paid twice in april"),
        (
            "Beware when an explanation follows the short summary that every clerk writes on some day.",
            "explanation follows the short summary that every clerk writes on",
        ),
    ],
)
def test_what_only_the_runs_hold_is_a_leak(addition: str, leak: str) -> None:
    found = leaks(addition)
    assert any(leak in one for one in found), found


@pytest.mark.parametrize(
    "addition",
    [
        "If the agent fabricates a citation or hallucinates an address, report it at the step that asserts it first.",
        "1. Enumerate every call chronologically. 2. Note its arguments. 3. Compare the raw response with its reading.",
        "A misinterpretation is any discrepancy, e.g. a truncated page taken for complete, or two entities mixed up.",
        "Look for a snippet that is retried without a change, an HTTP 404 taken for success, or a JSON key left out.",
        "Each sub-agent's hand-off counts; don't flag harmless re-formatting, synonyms, or whitespace.",
        "Read at least 3 results before you conclude; the first 10 are rarely enough, 100 % certainty is.",
        "The ledger of what was found must support each answer.",
        "Payment, order and explanation are words of the run, yet anybody may use them.",
        "A mango is not an orange: compare like with like.",
        "A golden harvest is no proof, nor is a Second Letter.",
        "Ask who was first, i.e. what the 1st step did.",
    ],
)
def test_general_advice_is_no_leak(addition: str) -> None:
    assert leaks(addition) == ()


def test_what_an_annotator_says_in_words_of_his_own_is_no_leak() -> None:
    assert "bafflingly" not in " ".join(TRAITS.tempting | TRAITS.rare)
    assert leaks("Bafflingly often nobody checks.") == ()


def test_what_the_starting_rubrics_hold_is_no_leak_although_runs_hold_it() -> None:
    everything = transcript(llm(said("\n".join(rubric.text for rubric in RUBRICS.values()))))
    training = traits([everything], [ERROR.model_copy(update={"evidence": START[:900]})])
    for rubric in RUBRICS.values():
        assert leaked(rubric.text, training, ALLOWED) == ()


def test_what_the_notes_on_the_agent_hold_may_be_said() -> None:
    allowed = known([START, "The agent has a tool fetch_invoice; Frobnitz is its owner."])
    assert leaked(f"{START}\nCalls of fetch_invoice by Frobnitz.", TRAITS, allowed) == ()


def test_a_rubric_in_another_language_may_use_its_words_but_no_names_and_figures() -> None:
    run = transcript(llm(said("Der Händler Wójcik zahlte 4711 Kronen für fünf Fässer.")))
    allowed = known(["# Werkzeuge\n\nPrüfe jeden Aufruf: Argumente, Ergebnis, Fehler und was daraus geschlossen wird."])
    training = traits([run], [])
    assert leaked("# Werkzeuge\n\nPrüfe, was ein Händler zahlte.", training, allowed) == ()
    assert leaked("# Werkzeuge\n\nPrüfe 4711.", training, allowed) == ("4711",)


def test_passages_are_found_in_scripts_without_blanks() -> None:
    run = transcript(llm(said("店员说报告已经发送给客户")))
    error = ERROR.model_copy(update={"evidence": "店员说报告已经发送给客户"})
    assert leaks("报告已经发送", traits([run], [error])) == ("报 告 已 经 发 送",)


# laws

CONSONANTS = "bcdfghjklmnpqrstvwxz"
made_up = st.text(CONSONANTS, min_size=5, max_size=12).filter(lambda word: not is_english(word))
common = st.sampled_from(sorted(word for word in words().common if len(word) > 2))
wrapped = st.sampled_from(
    ["{}", "`{}`", '"{}"', "({})", "{}.", "{}'s", "**{}**", "{},", "sub-{}", "{}/tool", "\u201c{}\u201d"]
)
placed = st.sampled_from(["{}", "id={}", '{{"name": "{}"}}', "x/{}/y", "It is {}, he said.", "{}-17"])


def run_with(text: str) -> Transcript:
    return transcript(llm(said(text)))


@given(made_up, wrapped, placed, st.sampled_from([str.lower, str.title, str.upper]))
def test_a_made_up_word_of_a_run_is_always_caught(word: str, wrap: str, place: str, case: object) -> None:
    training = traits([run_with(place.format(word))], [])
    written = case(word) if callable(case) else word
    assert any(word in leak for leak in leaks(f"Look for {wrap.format(written)} in a step.", training))


@given(st.lists(common, min_size=1, max_size=12), st.lists(common, min_size=1, max_size=12))
def test_common_words_are_never_caught(run: list[str], rubric: list[str]) -> None:
    text = " and ".join(run)
    training = traits([run_with(text)], [ERROR.model_copy(update={"evidence": text, "description": text})])
    assert leaks(f"Say {' or '.join(rubric)}.", training) == ()


@given(st.text(string.printable, max_size=200))
def test_a_rubric_leaks_nothing_without_training_traces(text: str) -> None:
    assert leaks(text, traits([], [])) == ()


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_are_read(run: str, rubric: str) -> None:
    assert isinstance(leaks(rubric, traits([run_with(run)], [])), tuple)


def test_a_number_of_thousands_of_digits_is_a_number() -> None:
    number = "7" * 5_000  # more than `int` takes
    assert leaks(f"Beware of {number}.", traits([run_with("Seven.")], [])) == ()
    assert leaks(f"Beware of {number}.", traits([run_with(number)], [])) == (number,)


@given(st.integers(13, 10**9))
def test_a_number_that_people_cited_is_caught_however_it_is_written(number: int) -> None:
    if str(number) in {"100", "1000", "400", "401", "403", "404", "408", "409", "422", "429", "500", "502", "503"}:
        return
    training = traits([run_with(f"{number:,}")], [ERROR.model_copy(update={"evidence": str(number)})])
    assert leaks(f"Beware of {number}.", training) == (str(number),)
    assert leaks(f"Beware of {number:,}.", training) == (str(number),)


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("retried", "retry"), ("retries", "retry"), ("misread", "read"), ("unacknowledged", "acknowledge"),
        ("stopped", "stop"), ("referring", "refer"), ("summarises", "summarise"), ("readings", "read"),
        ("usefulness", "useful"), ("sub-agents", "agents"),
    ],
)  # fmt: skip
def test_an_inflected_word_is_led_back_to_its_base(word: str, base: str) -> None:
    assert base in set(forms(word))


def test_the_lists_hold_no_word_twice_and_no_name() -> None:
    common_words, other = words()
    assert not common_words & other
    assert not {"london", "wilson", "microsoft", "zorblax"} & (common_words | other)
    assert all(map(is_common, ("fabricated", "tool", "hallucinates", "re-run")))
