"""Drawings: what they show, that they are well-formed, and that nothing in a name can break out of them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import UsageError
from gpa.plans.calls import GoldSet, ToolCall
from gpa.plans.compile import compile_user
from gpa.plans.draw import COLOURS, FORMS, dot, mermaid, svg, terminal
from gpa.plans.picture import Picture, gold_picture, workflow_picture
from tests.plans.workflows import NINE, TRAVELLER, gold, user, workflow

BOTH = gold_picture(compile_user(NINE, TRAVELLER))


def test_a_workflow_on_a_terminal_says_what_the_rules_do() -> None:
    assert terminal(workflow_picture(NINE["submit_time_off_request"])).splitlines()[:10] == [
        "submit_time_off_request",
        "",
        "  ╭ ask_for_pto_dates()   any order",
        "  ╰ get_pto_balance(employee_id)",
        "    ↓",
        "    inform_employee_balance_low()",
        "        the last if vacation['pto_balance'] < 1",
        "        skipped unless vacation['pto_balance'] < 1",
        "    ↓",
        "    check_conflicts(start_date, end_date, pto_balance)",
    ]


def test_what_replaces_the_steps_stands_below_them() -> None:
    shown = terminal(workflow_picture(NINE["cancel_flight"]))
    assert shown.rstrip().endswith(
        "if traveler_info['loyalty_points'] >= 10000: only get_customer_loyalty_info, get_booking_details,"
        " waive_cancellation_fee, cancel_flight, process_refund, complete_case"
    )


def test_two_workflows_have_two_colours_and_a_legend() -> None:
    drawn = svg(BOTH)
    assert all(colour in drawn for colour in COLOURS[:2])
    assert COLOURS[2] not in drawn
    names = [text.text for text in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert names.count("book_flight") == 1  # in the legend
    assert "subgraph legend" in mermaid(BOTH)
    assert "cluster_legend" in dot(BOTH)
    assert "  book_flight:" in terminal(BOTH)
    one = gold_picture(compile_user(NINE, user(TRAVELLER, "book_flight")))
    assert "legend" not in mermaid(one) + dot(one) + svg(one)


def test_soft_blocks_stand_side_by_side_and_lead_to_what_follows() -> None:
    picture = gold_picture(gold(workflow("a b c d", soft=[["b", "c"]])))
    assert [[node.tool for node in row] for row in picture.rows] == [["a"], ["b", "c"], ["d"]]
    arrows = re.findall(r"n(\d) --> n(\d)", mermaid(picture))
    assert arrows == re.findall(r"n(\d) -> n(\d)", dot(picture))
    assert arrows == [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")]
    assert svg(picture).count("marker-end") == 4


def test_a_block_with_steps_between_its_members_is_told_in_words() -> None:
    picture = gold_picture(gold(workflow("a b c", soft=[["a", "c"]])))
    assert [[node.remarks for node in row] for row in picture.rows] == [
        [("may change places with c",)],
        [()],
        [("may change places with a",)],
    ]


def test_one_trajectory_is_a_chain() -> None:
    found = gold(workflow("a b", soft=[["a", "b"]]))
    assert [[node.tool for node in row] for row in gold_picture(found, 2).rows] == [["b"], ["a"]]
    with pytest.raises(UsageError, match="user 1 has trajectories 1 to 2, found 3"):
        gold_picture(found, 3)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_picture_gives_the_same_text_and_an_empty_one_can_be_drawn(form: str) -> None:
    assert FORMS[form](BOTH) == FORMS[form](gold_picture(compile_user(NINE, TRAVELLER)))
    assert FORMS[form](Picture("nothing", ()))


@given(st.text(max_size=30), st.text(max_size=30))
def test_law_no_name_or_value_breaks_out_of_a_drawing(name: str, value: str) -> None:
    call = ToolCall(name, {"x": value}, agent=value)
    picture = gold_picture(GoldSet(value, ((call, ToolCall("b", {}, "other")),), (name,), 1))
    root = ET.fromstring(svg(picture))
    shapes = {"svg", "title", "defs", "marker", "path", "rect", "text"}
    assert {element.tag.split("}")[1] for element in root.iter()} <= shapes
    plain = gold_picture(GoldSet("u", ((ToolCall("a", {"x": "v"}, "one"), ToolCall("b", {}, "other")),), ("a",), 1))
    agents = len({value, "other"} - {""})
    for form in (mermaid, dot):
        drawn, expected = (_without_labels(form(one)) for one in (picture, plain))
        if agents == 2:
            assert drawn == expected


def _without_labels(text: str) -> list[str]:
    """The lines of a drawing, whatever its labels say."""
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text).split("\n")
