"""How near trajectories come to the gold ones: exact match, counts, precision and recall, overlap, prefix.

The metrics of the Traxgen paper (section on trajectory metrics). A step is a tool with its parameters; tools are
compared as a multiset of names, parameters as a multiset of (tool, name, value). Where several trajectories stand on a
side, they are paired so that the similarities add up to the most (Hungarian method), and metrics are means over
pairs. What is paired with nothing shows in the exact match and the count agreement alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, Literal

from msgspec import Struct

from gpa.ingest.history import canonical
from gpa.plans.assignment import maximum_assignment
from gpa.plans.calls import ToolCall, Trajectory

Values = Literal["typed", "text", "none"]
"""How parameters are compared: the number 5 and the text "5" are two values, or one (gold in a format that has no
types), or parameters are not looked at (gold that is names of tools)."""

METRICS = (
    "tool_precision",
    "tool_recall",
    "tool_f1",
    "parameter_precision",
    "parameter_recall",
    "parameter_f1",
    "overlap_tools",
    "overlap_steps",
    "prefix_tools",
    "prefix_steps",
)
"""Fields of `Likeness` that are averaged, in the order they are shown."""


class Likeness(Struct, frozen=True):
    """A predicted trajectory against one gold trajectory. P, R and F1 are 0-1, overlap and prefix percent of gold."""

    tool_precision: float = 0.0
    tool_recall: float = 0.0
    tool_f1: float = 0.0
    parameter_precision: float = 0.0
    parameter_recall: float = 0.0
    parameter_f1: float = 0.0
    overlap_tools: float = 0.0
    """Longest run of calls in both, tools alone."""
    overlap_steps: float = 0.0
    """The same with parameters."""
    prefix_tools: float = 0.0
    prefix_steps: float = 0.0

    @property
    def similarity(self) -> float:
        """What pairs are chosen by: the mean of tool F1, parameter F1, and overlap and prefix of steps, 0-1.

        F1 alone does not see the order, so it could not tell apart trajectories of a soft ordering.
        """
        return (self.tool_f1 + self.parameter_f1 + self.overlap_steps / 100 + self.prefix_steps / 100) / 4


class Pair(Struct, frozen=True):
    """A gold trajectory and the predicted one it is compared with, by their places."""

    gold: int
    predicted: int
    likeness: Likeness


class Comparison(Struct, frozen=True):
    """Everything predicted for one user against everything that is right for that user."""

    pairs: tuple[Pair, ...]
    gold: int
    """How many gold trajectories there are."""
    predicted: int
    exact_match: bool
    """Whether both sides are the same set, parameters included."""
    matches_any: int
    """Predicted trajectories that are gold: a trace is one trajectory, which soft ordering lets differ from others."""
    count_agreement: float
    """100 * predicted / gold, over 100 when there is too much."""

    @property
    def no_prediction(self) -> bool:
        """Whether there was nothing to compare: then every metric is 0."""
        return self.predicted == 0

    @property
    def any_gold(self) -> bool:
        """Whether every predicted trajectory is a gold one, and there is one."""
        return self.predicted > 0 and self.matches_any == self.predicted

    @property
    def unmatched_gold(self) -> int:
        """Gold trajectories that nothing is paired with."""
        return self.gold - len(self.pairs)

    @property
    def unmatched_predicted(self) -> int:
        """Predicted trajectories that no gold one is left for."""
        return self.predicted - len(self.pairs)

    def mean(self, metric: str) -> float:
        """The metric (one of `METRICS`, or `similarity`), averaged over the pairs; 0 without a pair."""
        return fmean(getattr(pair.likeness, metric) for pair in self.pairs) if self.pairs else 0.0


class Prepared(Struct, frozen=True):
    """A trajectory in the form it is compared in, so that one of many comparisons costs little."""

    tools: tuple[str, ...]
    steps: tuple[str, ...]
    """Each step with its parameters as one text, equal for equal steps."""
    tool_counts: Counter[str]
    parameter_counts: Counter[tuple[str, str, str]]


def prepared(trajectory: Trajectory, values: Values = "typed") -> Prepared:
    """The trajectory, ready to be compared."""
    parameters = [
        [(name, value_key(value, values)) for name, value in call.arguments.items()] if values != "none" else []
        for call in trajectory
    ]
    tools = tuple(call.tool for call in trajectory)
    steps = tuple(repr((tool, sorted(named))) for tool, named in zip(tools, parameters, strict=True))
    counts = Counter(
        (tool, name, value) for tool, named in zip(tools, parameters, strict=True) for name, value in named
    )
    return Prepared(tools, steps, Counter(tools), counts)


def value_key(value: Any, values: Values = "typed") -> str:
    """A text that is equal for equal values: 5 and 5.0 are, 5 and "5" only as `text`, true and 1 never."""
    if values == "text" and not isinstance(value, dict | list | tuple):
        return str(_plain(value)).strip()
    return canonical([_plain(value)])


def _plain(value: Any, depth: int = 0) -> Any:
    """Whole numbers as integers, tuples as lists: JSON and Python write the same value in both ways."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if depth < 50 and isinstance(value, dict):
        return {str(key): _plain(one, depth + 1) for key, one in value.items()}
    if depth < 50 and isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in value]
    return value


def likeness(gold: Prepared, predicted: Prepared) -> Likeness:
    """How near one predicted trajectory comes to one gold trajectory."""
    if gold.steps == predicted.steps:
        return Likeness(*([1.0] * 6), *([100.0] * 4))
    tool = _precision_recall_f1(gold.tool_counts, predicted.tool_counts)
    parameter = _precision_recall_f1(gold.parameter_counts, predicted.parameter_counts)
    length = len(gold.steps)
    lengths = (
        longest_run(gold.tools, predicted.tools),
        longest_run(gold.steps, predicted.steps),
        common_prefix(gold.tools, predicted.tools),
        common_prefix(gold.steps, predicted.steps),
    )
    return Likeness(*tool, *parameter, *(100 * one / length if length else 0.0 for one in lengths))


def _precision_recall_f1(gold: Counter[Any], predicted: Counter[Any]) -> tuple[float, float, float]:
    """Of two multisets; two empty ones agree, one empty one finds nothing."""
    wanted, given = gold.total(), predicted.total()
    if not wanted and not given:
        return 1.0, 1.0, 1.0
    right = sum(min(count, predicted[item]) for item, count in gold.items() if item in predicted)
    return (right / given if given else 0.0), (right / wanted if wanted else 0.0), 2 * right / (given + wanted)


def longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest run of neighbours that stands in both."""
    best = 0
    above = [0] * (len(other) + 1)
    for item in one:
        row = [0] * (len(other) + 1)
        for at, opposite in enumerate(other, 1):
            if item == opposite:
                row[at] = above[at - 1] + 1
        best = max(best, *row)
        above = row
    return best


def common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def compare_trajectories(
    gold: Iterable[Trajectory], predicted: Iterable[Trajectory], *, values: Values = "typed"
) -> Comparison:
    """The predicted trajectories of one user against the gold ones. Trajectories that occur twice count once."""
    return compare_prepared([prepared(one, values) for one in gold], [prepared(one, values) for one in predicted])


def compare_prepared(gold: Sequence[Prepared], predicted: Sequence[Prepared]) -> Comparison:
    """`compare` for trajectories that were prepared before."""
    wanted, given = (list({one.steps: one for one in side}.values()) for side in (gold, predicted))
    right = {one.steps for one in wanted}
    said = {one.steps for one in given}
    return Comparison(
        pairs=tuple(_aligned(wanted, given)),
        gold=len(wanted),
        predicted=len(given),
        exact_match=right == said,
        matches_any=len(right & said),
        count_agreement=100 * len(given) / len(wanted) if wanted else 100.0 * (not given),
    )


def _aligned(gold: Sequence[Prepared], predicted: Sequence[Prepared]) -> Iterable[Pair]:
    """The pairs whose similarities add up to the most; of equal ones the pairs that come first."""
    table = {(row, column): likeness(g, p) for row, g in enumerate(gold) for column, p in enumerate(predicted)}
    if len(predicted) == 1 or len(gold) == 1:
        best = max(table, key=lambda edge: table[edge].similarity, default=None)
        return [Pair(*best, table[best])] if best else []
    # Every assignment has as many pairs as the shorter side, so that 1 more for each pair changes no choice; it lets
    # pairs without any likeness be pairs too.
    chosen = maximum_assignment({edge: 1.0 + one.similarity for edge, one in table.items()})
    return [Pair(row, column, table[row, column]) for row, column in chosen]


def call(tool: str, /, **arguments: Any) -> ToolCall:
    """A call with these arguments."""
    return ToolCall(tool, arguments)
