"""Arguments that are made up, and those that only look like it."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Step
from gpa.judges.checks.invented_value import find
from tests.judges.checks.transcripts import call, llm, result, tool, transcript, user


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"query": "path/to/file.csv"}, ["path/to/file.csv"]),
        ({"query": "https://example.com/a"}, ["https://example.com"]),
        ({"query": "boss@example.com"}, ["example.com"]),
        ({"query": "site:example.org Momo"}, []),
        ({"query": "your_api_key"}, ["your_api_key"]),
        ({"flight": "FLIGHT_ID_PLACEHOLDER"}, ["FLIGHT_ID_PLACEHOLDER"]),
        ({"query": "css placeholder colour"}, []),
        ({"to": [{"user": "{{user_id}}"}]}, ["{{user_id}}"]),
        ({"user_id": "12345"}, ["12345"]),
        ({"userId": 123456}, ["123456"]),
        ({"amount": 12345}, []),
        ({"query": "bar"}, []),
        ({"query": "docs/a.csv"}, []),
        ({"content": "api_key = your_api_key\nhost = path/to/x"}, []),
    ],
    ids=str,
)
def test_a_value_that_its_own_words_say_is_made_up(arguments: dict[str, Any], found: list[str]) -> None:
    steps = (llm(call("search", arguments), new=(user("Look."),)),)
    assert [hit.quote for hit in find(transcript(*steps))] == found


def test_a_value_that_was_given_is_not_made_up() -> None:
    steps = (llm(call("search", {"query": "path/to/x"}), new=(user("Read path/to/x, please."),)),)
    assert list(find(transcript(*steps))) == []


def test_a_page_that_is_there_is_not_made_up() -> None:
    asked = llm(call("fetch", {"url": "https://example.org/a"}, "c1"), new=(user("Look."),))
    there, gone = tool("fetch", {}, "A page.", call_id="c1"), tool("fetch", {}, error="404", call_id="c1")
    assert [len(list(find(transcript(asked, page)))) for page in (there, gone)] == [0, 1]


def test_an_error_that_repeats_a_made_up_value_does_not_give_it() -> None:
    steps = (
        llm(call("get_user", {"id": "YOUR_ID"}, "c1"), new=(user("Look."),)),
        llm(new=(result("no user YOUR_ID", "c1"),)),
    )
    assert [hit.labels for hit in find(transcript(*steps))] == [("s1",)]


def test_a_request_about_placeholders_allows_them() -> None:
    steps = (llm(call("write", {"line": "key = your_api_key"}), new=(user("Write."),)),)
    assert list(find(transcript(*steps, goal="Write a config template with placeholders."))) == []


def test_a_value_called_with_again_is_one_finding() -> None:
    steps = [llm(call("fetch", {"url": "https://example.com/a", "n": n}), new=(user("Look."),)) for n in range(3)]
    assert [hit.labels for hit in find(transcript(*steps))] == [("s1",)]


def orders(
    order_id: object, *, read: str, name: str = "order_id", of: str = "get_order", listed: str = "a"
) -> list[Step]:
    return [
        llm(call("list", {}, "c1"), new=(user(read),)),
        tool("list", {}, listed, call_id="c1"),
        llm(call(of, {name: order_id}), new=(result(listed, "c1"),)),
    ]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param(orders("ORD-88412", read="Where is my order?"), ["ORD-88412"], id="read nowhere"),
        pytest.param(orders(88412, read="Where is my order?"), ["88412"], id="a bare number"),
        pytest.param(orders("ORD-88412", read="Where is 88412?"), [], id="given in another form"),
        pytest.param(orders("ORD-88412", read="Where is it?", listed="order 088412"), [], id="in a result"),
        pytest.param(orders("ORD-88413", read="Where is 88412?"), [], id="the next of a series"),
        pytest.param(orders("ORD-88412", read="Where is it?", listed=""), [], id="an earlier result is not recorded"),
        pytest.param(orders("ORD-88412", read=""), [], id="the input is not recorded"),
        pytest.param(orders("ORD-88412", read="Order.", of="create_order"), [], id="a new record"),
        pytest.param(orders("s-884127", read="Go on.", name="session_id"), [], id="an id of its own"),
        pytest.param(orders("88412", read="How many?", name="limit"), [], id="no id"),
        pytest.param(orders("2024", read="This year?"), [], id="a short number"),
    ],
)
def test_the_id_of_a_record_that_was_read_nowhere(steps: list[Step], found: list[str]) -> None:
    assert [hit.quote for hit in find(transcript(*steps))] == found


def test_a_schema_gives_its_examples() -> None:
    tools = (Tool("get_order", "For example ORD-88412.", {}),)
    steps = orders("ORD-88412", read="Try it.")
    assert list(find(transcript(*steps, tools=tools))) == []
