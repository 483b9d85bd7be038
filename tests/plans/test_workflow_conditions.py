"""References and conditions: what leads where, and when a comparison holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from gpa.errors import FormatError
from gpa.plans.conditions import OPERATORS, Comparing, compare
from gpa.plans.references import Reference, getter, parse, reader, why_missing
from gpa.plans.steps import read_step
from tests.plans.workflows import act, gold, rule, tools, when, workflow

DATA = {
    "name": "n",
    "zero": 0,
    "box": {"k": "v", "null": None, "deep": {"er": [10, {"x": 1}]}, "it's": 2, "7": "seven"},
    "key": {"of": "k", "number": 7, "yes": True, "list": [1]},
    "list": ["a", "b"],
    "true": {"true": 1},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("name", "n"),
        (" name ", "n"),
        ("zero", 0),
        ("box['k']", "v"),
        ('box["k"]', "v"),
        ("box[ 'k' ]", "v"),
        ("box['null']", None),
        ("box['deep']['er'][1]['x']", 1),
        ("box['deep']['er']['0']", 10),
        ('box["it\'s"]', 2),
        ("box[key['of']]", "v"),
        ("box[key['number']]", "seven"),
        ("list[zero]", "a"),
        ("true[key['yes']]", 1),
        ("none", UNSET),
        ("box['none']", UNSET),
        ("name['k']", UNSET),
        ("list[2]", UNSET),
        ("box[none['k']]", UNSET),
        ("box[key['list']]", UNSET),
        ("list['x']", UNSET),
    ],
)
def test_a_reference_leads_to(text: str, value: Any) -> None:
    reference = parse(text)
    assert getter(reference)(DATA) == value
    assert parse(str(reference)) == reference
    ordered, read = reader([reference, parse("name")])
    assert read(DATA) == [value if one == reference else "n" for one in ordered]
    if value is UNSET:
        assert why_missing(reference, DATA)


@pytest.mark.parametrize(
    "text", ["", "1a", "'text'", "a[", "a['k'", "a['k']]", "a.b", "a['k'] b", "a[]", "a b", "a" + "[b" * 40 + "]" * 40]
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="expected a reference"):
        parse(text)


@given(st.text("abk[]'\" 0", max_size=24))
def test_law_any_text_is_a_reference_or_refused(text: str) -> None:
    try:
        reference = parse(text)
    except FormatError:
        return
    assert parse(str(reference)) == reference
    assert isinstance(reference, Reference)
    getter(reference)(DATA)


@pytest.mark.parametrize(
    ("text", "tool", "parameters", "outputs"),
    [
        ("a()", "a", {}, ()),
        (" a ( ) ", "a", {}, ()),
        ("a(x=y)->[o]", "a", {"x": "y"}, ("o",)),
        ("a(x = y, z=b['k'] ) -> o, p", "a", {"x": "y", "z": "b['k']"}, ("o", "p")),
        ("a(x=b[c['d']]['e'])->[]", "a", {"x": "b[c['d']]['e']"}, ()),
        ("srv.do-it(x=b['1,2'],y=b[')'])", "srv.do-it", {"x": "b['1,2']", "y": "b[')']"}, ()),
    ],
)
def test_a_step_reads_as(text: str, tool: str, parameters: dict[str, str], outputs: tuple[str, ...]) -> None:
    wrong: list[str] = []
    step = read_step(text, wrong.append)
    assert step is not None
    assert not wrong
    assert (step.tool, {k: str(v) for k, v in step.parameters}, step.outputs) == (tool, parameters, outputs)


@pytest.mark.parametrize(
    ("text", "count"),
    [("a", 1), ("a(", 1), ("(x=y)", 1), ("a() b()", 1), ("a(x=)", 1), ("a(x=y,)", 1), ("a(x, =z, w='t', w=a, w=b)", 4)],
)
def test_a_malformed_step_is_refused_with_everything_that_is_wrong(text: str, count: int) -> None:
    wrong: list[str] = []
    assert read_step(text, wrong.append) is None
    assert len(wrong) == count


COMPARISONS: list[tuple[Any, str, Any, bool]] = [
    ("a", "==", "a", True),
    ("a", "!=", "a", False),
    ("a", "not", "b", True),
    (None, "==", None, True),
    (None, "!=", None, False),
    (0, "==", None, False),
    ("", "==", None, False),
    (False, "==", None, False),
    (None, "==", "x", False),
    (None, "!=", "x", True),
    (None, "<", 1, False),
    (None, ">=", 1, False),
    (1, "<", None, False),
    (1, "<", 1, False),
    (1, "<=", 1, True),
    (1.5, ">", 1, True),
    (1, ">=", 1.0, True),
    ("2025-06-12", "<", "2025-06-27", True),
    (5, "==", "5", True),
    ("5", "==", 5, True),
    ("5", "!=", 5, False),
    ("5.0", "==", 5, True),
    ("10", ">", 9, True),
    (10, ">", "9", True),
    ("ten", ">", 9, False),
    ("ten", "<=", 9, False),
    (True, "==", "true", True),
    (False, "==", "false", True),
    (True, "==", "false", False),
    ("True", "==", True, True),
    ("yes", "==", True, False),
    (True, "==", True, True),
    ([1], "==", [1], True),
    ([1], "<", 2, False),
    ("a", "in", ["a", "b"], True),
    ("c", "in", ["a", "b"], False),
    (None, "in", ["a", None], True),
    (None, "not in", ["a"], True),
    (0, "in", [0], True),
    ({"k": 1}, "in", [{"k": 1}], True),
    ([1], "in", {"a": 1}, False),
    ("a", "in", None, False),
    ("a", "not in", None, True),
    (["a"], "contains", "a", True),
    ("abc", "contains", "b", True),
    ("abc", "contains", 1, False),
    (None, "contains", "a", False),
    (None, "not contains", "a", True),
    (["a"], "not contains", "a", False),
]


@pytest.mark.parametrize(
    ("actual", "operator", "expected", "holds"),
    COMPARISONS,
    ids=[f"{actual!r} {operator} {expected!r}" for actual, operator, expected, _ in COMPARISONS],
)
def test_the_comparison_holds(actual: Any, operator: str, expected: Any, holds: bool) -> None:
    assert compare(actual, operator, expected) is holds
    if _written(operator, expected):
        workflows = workflow("a b", rule(when("field", operator, expected), act("skip", "b")))
        assert tools(gold(workflows, field=actual)) == [["a"] if holds else ["a", "b"]]


def _written(operator: str, expected: Any) -> bool:
    """Whether a workflow may say so: what `in` looks into must be a container there."""
    return operator not in {"in", "not in"} or isinstance(expected, list | str | dict)


@pytest.mark.parametrize(
    ("comparing", "actual", "operator", "expected", "holds"),
    [
        pytest.param(Comparing(coerce=False), "5", "==", 5, False, id="no coercion: text is no number"),
        pytest.param(Comparing(coerce=False), "5", "<", 6, False, id="no coercion: and in no order with one"),
        pytest.param(Comparing(coerce=False), "true", "==", True, False, id="no coercion: text is no truth"),
        pytest.param(Comparing(null_differs=False), None, "!=", "x", False, id="traxgen: null is not unlike x"),
        pytest.param(Comparing(null_differs=False), None, "!=", None, False, id="traxgen: null is null"),
        pytest.param(Comparing(null_differs=False), None, "not in", ["x"], True, id="traxgen: null is in no list"),
    ],
)
def test_how_values_compare_can_be_chosen(
    comparing: Comparing, actual: Any, operator: str, expected: Any, holds: bool
) -> None:
    assert compare(actual, operator, expected, comparing) is holds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=5,
)


@given(JSON, st.sampled_from(OPERATORS), JSON, st.booleans(), st.booleans())
def test_law_no_values_make_a_comparison_fail(actual: Any, operator: str, expected: Any, one: bool, two: bool) -> None:
    assert isinstance(compare(actual, operator, expected, Comparing(one, two)), bool)


@given(JSON, JSON)
def test_law_negations_are_opposites(actual: Any, expected: Any) -> None:
    for operator, negated in (("==", "!="), ("==", "not"), ("in", "not in"), ("contains", "not contains")):
        assert compare(actual, operator, expected) is not compare(actual, negated, expected)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"all_of": [when("one", "==", 1), when("two", "==", 2)]}, True),
        ({"all_of": [when("one", "==", 1), when("two", "==", 3)]}, False),
        ({"any_of": [when("one", "==", 9), when("two", "==", 2)]}, True),
        ({"any_of": [when("one", "==", 9), when("two", "==", 9)]}, False),
        ({"any_of": [{"all_of": [when("one", "==", 1), {"any_of": [when("two", "==", 2)]}]}]}, True),
        ({"field": "one", "operator": "<", "compare_to": "box['two']"}, True),
        ({"all_of": [{"field": "one", "operator": "==", "compare_to": "box['two']"}]}, False),
        ([when("one", "==", 1), when("two", "==", 2)], True),
        ([when("one", "==", 1), when("two", "==", 3)], False),
        ([], True),
    ],
)
def test_clauses_combine(condition: Any, holds: bool) -> None:
    workflows = workflow("a b c", rule(condition, act("skip", "b"), otherwise=[act("skip", "c")]))
    assert tools(gold(workflows, one=1, two=2, box={"two": 2})) == [["a", "c"] if holds else ["a", "b"]]
