"""Silence after an error, and everything that breaks it."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Step
from gpa.judges.checks.unacknowledged_error import find
from tests.judges.checks.transcripts import call, llm, said, tool, transcript

FAILED = (llm(call("search", {"q": 1}, "c1")), tool("search", {"q": 1}, error="boom", call_id="c1"))


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param((*FAILED, llm(said("The answer is 7."))), [(("s3", "s2"), "MEDIUM")], id="passed over"),
        pytest.param((*FAILED, llm(said("The search failed; from memory: 7."))), [], id="acknowledged"),
        pytest.param((*FAILED, llm(said("Die Suche ging leider schief."))), [], id="acknowledged in German"),
        pytest.param((*FAILED, llm(call("search", {"q": 2}))), [], id="retried"),
        pytest.param((*FAILED, llm(said("Next."), call("browse", {})), llm(said("It is 7."))), [], id="worked around"),
        pytest.param((*FAILED, llm(said("Thought: compute\n```py\nprint(7)\n```"))), [], id="other code"),
        pytest.param(
            (*FAILED, llm(said("One moment.")), llm(said("The call gave an error."))), [], id="acknowledged later"
        ),
        pytest.param(FAILED, [], id="nothing said afterwards"),
        pytest.param((*FAILED, llm(said("It is 7."), agent="other")), [], id="another agent speaks"),
        pytest.param(
            (
                llm(call("search", {"q": 1}, "c1"), call("search", {"q": 2}, "c2")),
                tool("search", {"q": 1}, error="boom", call_id="c1"),
                tool("search", {"q": 2}, "7", call_id="c2"),
                llm(said("It is 7.")),
            ),
            [(("s4", "s2"), "LOW")],
            id="a call beside it succeeded",
        ),
        pytest.param((llm(said("x")), llm(said("It is 7."))), [], id="no error"),
    ],
)
def test_find(steps: tuple[Step, ...], found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(hit.labels, hit.severity) for hit in find(transcript(*steps))] == found


NO_SERVICE = (
    llm(call("get_weather", {"city": "Oslo"}, "c1")),
    tool("get_weather", {"city": "Oslo"}, error="503 Service Unavailable", call_id="c1"),
)


@pytest.mark.parametrize(
    "answer",
    [
        "Désolé, le service météo est indisponible pour le moment.",
        "Lo siento, no pude obtener el tiempo en Oslo.",
        "Helaas kan ik het weer in Oslo nu niet ophalen.",
        "Niestety usługa pogodowa jest teraz niedostępna.",
        "Üzgünüm, hava durumu servisine erişim yok.",
        "Tyvärr kunde jag inte hämta vädret i Oslo.",
        "Beklager, jeg fikk ikke tak i været i Oslo.",
        "Bohužel služba počasí teď není dostupná.",
        "Rất tiếc, dịch vụ thời tiết hiện không khả dụng.",
        "죄송하지만 날씨 서비스를 이용할 수 없습니다.",
        "抱歉, 无法获取天气。",
        "Der Dienst ist gestört.",
    ],
    ids=["fr", "es", "nl", "pl", "tr", "sv", "no", "cs", "vi", "ko", "zh", "de"],
)
def test_nobody_is_accused_in_a_language_that_is_not_read(answer: str) -> None:
    assert list(find(transcript(*NO_SERVICE, llm(said(answer))))) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Oslo's weather is not something I can see right now.", 0),
        ("The service is down.", 0),
        ("The weather provider is offline, so there is nothing to report.", 0),
        ("The name foo is used nowhere.", 0),
        ("It was a 503 that the station gave me.", 0),
        ("It is lovely in Oslo, however it may rain later. Try the fjord tour!", 1),
        ("The weather in Oslo is sunny with 21 degrees.", 1),
        ("21", 1),
    ],
)
def test_plain_english_is_heard_and_loose_words_are_not(answer: str, found: int) -> None:
    assert len(list(find(transcript(*NO_SERVICE, llm(said(answer)))))) == found


@pytest.mark.parametrize(
    ("answer", "found"),
    [("It raises ZeroDivisionError, as you can see.", 0), ("It gives the answer: search is done.", 1)],
    ids=["the error's own class", "only words of the request and the call"],
)
def test_a_word_of_the_error_itself_acknowledges_it(answer: str, found: int) -> None:
    steps = (
        llm(call("search", {"q": "1/0"}, "c1")),
        tool("search", {"q": "1/0"}, error="ZeroDivisionError: search", call_id="c1"),
    )
    assert len(list(find(transcript(*steps, llm(said(answer)))))) == found
