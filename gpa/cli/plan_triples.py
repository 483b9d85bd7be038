"""Files that `gpa plan weights` and `gpa plan answers` read: JSON objects, one a line or in a list."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from gpa.errors import InputError

BEST_FIRST = ("best", "penultimate", "antepenultimate")
KEPT = 3
"""Plans of a lineage that weights are learnt from: the last three."""

Scores = dict[str, float]
"""Metric -> normalised score, 0 to 1."""


def objects(path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a file, each with its place; a list counts as its elements. Raises `InputError`."""
    name = "<stdin>" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from error
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        values = list(_lines(data, name))
    else:
        listed = whole if isinstance(whole, list) else [whole]
        values = [(value, f"{name}[{number}]") for number, value in enumerate(listed, 1)]
    if not values:
        raise InputError(f"{name}: expected JSON objects, found nothing")
    for value, place in values:
        if not isinstance(value, dict):
            raise InputError(f"{place}: expected a JSON object, found {str(value)[:60]!r}")
        yield value, place


def _lines(data: bytes, name: str) -> Iterator[tuple[Any, str]]:
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield orjson.loads(line), f"{name}:{number}"
            except orjson.JSONDecodeError as error:
                raise InputError(f"{name}:{number}: expected a JSON object, found {line[:60]!r}") from error


def ranked_plans(path: str) -> list[list[Scores]]:
    """The scores of each query's plans, the best first.

    Understood are `{"best": {metric: score}, "penultimate": ..., "antepenultimate": ...}`, `{"lineage": [...]}` with
    the weakest first, and what `gpa plan score --lineages --json` writes. Raises `InputError`.
    """
    found: list[list[Scores]] = []
    lineages: dict[str, list[tuple[int, Scores]]] = defaultdict(list)
    for value, place in objects(path):
        if isinstance(value.get("plans"), list):
            for plan in value["plans"]:
                query, _, number = str(plan.get("id", "")).rpartition("#")
                if number.isdecimal() and plan.get("score") is not None:
                    lineages[query].append((int(number), _of_plan(plan)))
        elif isinstance(value.get("lineage"), list):
            plans = [_scores(one, f"{place}: lineage[{at}]") for at, one in enumerate(value["lineage"])]
            found.append(plans[: -KEPT - 1 : -1])
        elif any(name in value for name in BEST_FIRST):
            named = [name for name in BEST_FIRST if name in value]
            found.append([_scores(value[name], f"{place}: {name}") for name in named])
        else:
            expected = "expected best, penultimate, antepenultimate or lineage"
            raise InputError(f"{place}: {expected}, found {', '.join(value) or 'nothing'}")
    best_first = (sorted(numbered, key=lambda one: -one[0]) for numbered in lineages.values())
    found += [[scores for _, scores in numbered[:KEPT]] for numbered in best_first]
    return [plans for plans in found if len(plans) > 1]


def planner_scores(path: str) -> dict[str, dict[str, Scores]]:
    """Kind of prompt -> planner -> its mean score per metric, from `gpa plan score --json` or lines of scores."""
    sums: dict[str, dict[str, dict[str, list[float]]]] = {}
    for value, place in objects(path):
        plans = value["plans"] if isinstance(value.get("plans"), list) else [value]
        for plan in plans:
            if "metrics" in plan:
                scores = _of_plan(plan)
            else:
                known = ("planner", "llm", "prompt_type")
                scores = _scores({key: one for key, one in plan.items() if key not in known}, place)
            name = str(plan.get("planner") or plan.get("llm") or "")
            means = sums.setdefault(str(plan.get("prompt_type") or ""), {}).setdefault(name, defaultdict(list))
            for metric, score in scores.items():
                means[metric].append(score)
    return {
        prompt: {
            planner: {metric: sum(values) / len(values) for metric, values in means.items()}
            for planner, means in planners.items()
        }
        for prompt, planners in sums.items()
    }


def _of_plan(plan: Mapping[str, Any]) -> Scores:
    return {metric["metric"]: float(metric["share"]) for metric in plan.get("metrics", ())}


def _scores(value: Any, place: str) -> Scores:
    if not isinstance(value, dict) or not value:
        raise InputError(f"{place}: expected an object of metrics and scores, found {str(value)[:60]!r}")
    for metric, score in value.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise InputError(f"{place}.{metric}: expected a score of 0 to 1, found {score!r}")
    return {str(metric): float(score) for metric, score in value.items()}
