"""Our compiler beside the package traxgen 0.1.5, in one run: same workflows, same users, and the paper's own times.

    python benchmarks/workflow.py --traxgen /tmp/venv/bin/python     # a Python that can import traxgen
    python benchmarks/workflow.py --make-venv /tmp/venv              # make one there first (pip install traxgen==0.1.5)
    python benchmarks/workflow.py                                    # ours alone; says that the package is missing

For each of the nine workflows in fixtures/workflows, and for three pairs of them, 1,000 users are made up with a seed;
their values stand on either side of every condition. Both compile them, workflow by workflow, to the format that keeps
all values (google). CPU time, the best of some rounds, both in turns, garbage collection off as in timeit; reading
files is not counted. Then every trajectory is compared. A difference is explained by making our compiler choose as the
package does and by imitating its faults, until what is left is equal; what is not explained is shown.

The package runs in its own process and is given every advantage: one call a workflow, with that workflow's users alone,
and what it prints goes nowhere. LangChain's format is left out: there it fails for users of several workflows.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gpa.errors import FormatError
from gpa.plans.calls import GoldSet
from gpa.plans.compile import TRAXGEN, Settings, compile_users
from gpa.plans.outputs import written
from gpa.plans.profiles import changed, sample_profiles, workflow_template
from gpa.plans.references import parse, resolve
from gpa.plans.workflow import Workflow
from gpa.plans.workflow_files import load_workflows, read_workflows

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "workflows"
TIERS = {
    "simple": ("check_order_status", "check_product_availability", "resend_email_receipt"),
    "intermediate": ("account_suspension_request", "submit_time_off_request", "update_address"),
    "complex": ("book_flight", "cancel_flight", "handle_flight_disruption"),
    "two workflows": (
        "book_flight, cancel_flight",
        "cancel_flight, book_flight",
        "book_flight, handle_flight_disruption",
    ),
}
PAPER = {"simple": 0.00009979, "intermediate": 0.00017534, "complex": 0.00048337}
"""Seconds per trajectory of the package, table 2 of the paper; its machine is not told."""
PAPER_FASTEST_MODEL = {"simple": 1.53, "intermediate": 2.87, "complex": 4.48}
"""The fastest language model of the same table (Gemini, Gemini, GPT-4.1)."""

FORMAT = "google"

CHOICES = "choice: a tool that only override_trajectory names is dropped (as with --like-traxgen)"
LAST_END = "fault: of several end_after the last rule counts, not the earliest step"
LOST = "fault: override_params are lost when a user has several workflows"
FALSY = "fault: 0, false, null and empty text are replaced by the text of the reference"
NUMBER_KEY = "fault: a number finds no key of a JSON object, which is text; the reference's own text stands there"
SERVER = """
import contextlib, gc, io, json, sys, time
import traxgen
work = json.load(open(sys.argv[1]))
for line in sys.stdin:
    given = work[json.loads(line)]
    users = json.loads(json.dumps(given["users"]))
    result, failed = {}, None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        gc.collect()
        gc.disable()
        start = time.process_time()
        try:
            result = traxgen.generate_trajectories(users, given["workflows"], trajectory_format=["google"])
        except BaseException as error:  # the package ends the process over wrong input
            failed = f"{type(error).__name__}: {error}, after {said.getvalue()[-300:]!r}"
        seconds = time.process_time() - start
        gc.enable()
    print(json.dumps([seconds, {str(key): one["google"] for key, one in result.items()}, failed]), flush=True)
"""
"""The package in a process of its own: a line with the name of a group comes, one with what it took and made goes."""


class Timed(NamedTuple):
    """What a compiler made of a group of users, and how long it took."""

    seconds: float
    result: dict[str, list[Any]]
    failed: str | None = None

    @property
    def trajectories(self) -> int:
        """All of all users."""
        return sum(map(len, self.result.values()))


class Group(NamedTuple):
    """The users of one sequence of workflows."""

    tier: str
    name: str
    workflows: dict[str, Any]
    users: list[dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traxgen", metavar="PYTHON", help="a Python that can import traxgen 0.1.5")
    parser.add_argument("--make-venv", metavar="DIR", help="make a virtual environment with it there, and use that")
    parser.add_argument("--users", type=int, default=1000, help="for each sequence of workflows (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many counts (default: 3)")
    options = parser.parse_args(argv)
    python = _with_traxgen(options.make_venv) if options.make_venv else options.traxgen or sys.executable
    groups = _groups(options.users, options.seed)
    users = sum(len(group.users) for group in groups)
    print(
        f"{users} users, seed {options.seed}, format {FORMAT}, Python {platform.python_version()}, {platform.machine()}"
    )
    ours, theirs = _measured(groups, python, options.repeats)
    if theirs is None:
        print(
            f"\nSKIPPED the comparison: {python} cannot import traxgen. "
            "Give --traxgen PYTHON or --make-venv DIR (pip install traxgen==0.1.5)."
        )
    _print_times(groups, ours, theirs)
    if theirs is not None:
        _print_differences(groups, ours, theirs)


def _with_traxgen(folder: str) -> str:
    python = Path(folder) / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "traxgen==0.1.5"], check=True)
    return str(python)


def _groups(count: int, seed: int) -> list[Group]:
    workflows = load_workflows(FIXTURES)
    values = {name: json.loads((FIXTURES / f"{name}.json").read_text()) for name in workflows}
    sequences = [(tier, sequence) for tier, sequences in TIERS.items() for sequence in sequences]
    groups = []
    for tier, sequence in sequences:
        names = sequence.split(", ")
        template = changed(
            workflow_template([workflows[name] for name in names]), {"agent_sequence": {sequence: count}}
        )
        users = sample_profiles(template, seed=seed)
        groups.append(Group(tier, sequence, {name: values[name] for name in names}, users))
    return groups


def _has_traxgen(python: str) -> bool:
    try:
        return not subprocess.run([python, "-c", "import traxgen"], capture_output=True, check=False).returncode
    except OSError:
        return False


def _measured(groups: Sequence[Group], python: str, repeats: int) -> tuple[dict[str, Timed], dict[str, Timed] | None]:
    """The best of some rounds for both, taken in turns so that a busy machine is busy for both."""
    workflows = load_workflows(FIXTURES)
    ours: dict[str, Timed] = {}
    theirs: dict[str, Timed] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        server = None
        if _has_traxgen(python):
            given = Path(folder) / "given.json"
            given.write_text(json.dumps({g.name: {"users": g.users, "workflows": g.workflows} for g in groups}))
            command = [python, "-c", SERVER, str(given)]
            server = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for _ in range(repeats):
            for group in groups:
                _keep(ours, group.name, _time(partial(_compiled, workflows, group)))
                if server is not None:
                    assert server.stdin is not None
                    assert server.stdout is not None
                    print(json.dumps(group.name), file=server.stdin, flush=True)
                    _keep(theirs, group.name, Timed(*json.loads(server.stdout.readline())))
        if server is not None and server.stdin is not None:
            server.stdin.close()
    return ours, theirs or None


def _keep(best: dict[str, Timed], name: str, timed: Timed) -> None:
    if name not in best or timed.seconds < best[name].seconds:
        best[name] = timed


def _compiled(workflows: dict[str, Workflow], group: Group, settings: Settings | None = None) -> dict[str, list[Any]]:
    gold = compile_users(workflows, group.users, settings=settings)
    return {one.user: written(one, (FORMAT,))[FORMAT] for one in gold if isinstance(one, GoldSet)}


def _time(work: Callable[[], dict[str, list[Any]]]) -> Timed:
    gc.collect()
    gc.disable()  # as timeit does: collections fall on whoever runs when one is due
    try:
        start = time.process_time()
        result = work()
        return Timed(time.process_time() - start, result)
    finally:
        gc.enable()


def _print_times(groups: Sequence[Group], ours: dict[str, Timed], theirs: dict[str, Timed] | None) -> None:
    print(f"\n{'seconds per trajectory':<46}{'users':>6}{'traj.':>7}{'ours':>12}{'traxgen':>12}{'faster':>9}")
    rows = [(group.name, [group]) for group in groups]
    rows += [(f"= {tier}", [group for group in groups if group.tier == tier]) for tier in TIERS]
    rows.append(("= all", list(groups)))
    for name, some in rows:
        mine = _rate(ours, some)
        users, trajectories = sum(len(g.users) for g in some), sum(ours[g.name].trajectories for g in some)
        line = f"{name:<46}{users:>6}{trajectories:>7}{mine:>12.8f}"
        if theirs is not None:
            other = _rate(theirs, some)
            line += f"{other:>12.8f}{other / mine:>8.1f}x" if other else f"{'failed':>12}"
        print(line)
    head = f"{'beside table 2 of the paper':<46}{'package':>12}{'ours here':>12}{'faster':>9}"
    print(f"\n{head}{'fastest model':>15}{'faster':>12}")
    for tier, seconds in PAPER.items():
        mine = _rate(ours, [group for group in groups if group.tier == tier])
        model = PAPER_FASTEST_MODEL[tier]
        print(f"{tier:<46}{seconds:>12.8f}{mine:>12.8f}{seconds / mine:>8.1f}x{model:>14.2f}s{model / mine:>11,.0f}x")


def _rate(timed: dict[str, Timed], groups: Sequence[Group]) -> float:
    """Seconds per trajectory over the groups that were compiled."""
    done = [timed[group.name] for group in groups if timed[group.name].failed is None]
    return sum(one.seconds for one in done) / max(1, sum(one.trajectories for one in done))


def _print_differences(groups: Sequence[Group], ours: dict[str, Timed], theirs: dict[str, Timed]) -> None:
    reasons: Counter[str] = Counter()
    same = users = 0
    unexplained = []
    for group in groups:
        if theirs[group.name].failed:
            print(f"\n{group.name}: the package fails: {theirs[group.name].failed}")
            continue
        variants = list(_variants(group))
        for record in group.users:
            user = str(record["customer_id"])
            users += 1
            mine, other = ours[group.name].result[user], theirs[group.name].result.get(user, [])
            if mine == other:
                same += 1
                continue
            why = _why(record, other, [(said, made[user]) for said, made in variants])
            reasons.update(why or ())
            if why is None:
                unexplained.append((group.name, user, mine, other))
    print(
        f"\nsame trajectories, values and order: {same:,} of {users:,} users; of the others, by reason (some have two):"
    )
    for reason, count in reasons.most_common():
        print(f"  {count:>6,}  {reason}")
    print(f"  {len(unexplained):>6,}  without a reason")
    for name, user, mine, other in unexplained[:3]:
        print(f"\n{name}, user {user}\n  ours    {json.dumps(mine)}\n  traxgen {json.dumps(other)}")


def _variants(group: Group) -> Iterator[tuple[tuple[str, ...], dict[str, list[Any]]]]:
    """What our compiler makes with the package's choices, and of workflows changed as its faults change them.

    Each with its reasons; those with fewer come first.
    """
    ends = [
        (name, rule, branch, at)
        for name, workflow in group.workflows.items()
        for rule, conditional in enumerate(workflow["conditionals"])
        for branch in ("then", "else")
        for at, action in enumerate(conditional.get(branch, ()))
        if action["action"] == "end_after"
    ]
    found = []
    for settings, choice in ((Settings(), ()), (TRAXGEN, (CHOICES,))):
        for end in (None, *ends):
            for lost in (False, True) if len(group.workflows) > 1 else (False,):
                workflows = copy.deepcopy(group.workflows)
                if end is not None:
                    name, rule, branch, at = end
                    del workflows[name]["conditionals"][rule][branch][at]
                if lost:
                    _without_overrides(workflows)
                why = (*choice, *((LAST_END,) if end is not None else ()), *((LOST,) if lost else ()))
                found.append((why, _compiled(read_workflows(workflows), group, settings)))
    yield from sorted(found, key=lambda pair: len(pair[0]))


def _without_overrides(workflows: dict[str, Any]) -> None:
    for workflow in workflows.values():
        for conditional in workflow["conditionals"]:
            for branch in ("then", "else"):
                actions = conditional.get(branch, [])
                conditional[branch] = [action for action in actions if action["action"] != "override_params"]


def _why(
    record: dict[str, Any], other: list[Any], variants: Sequence[tuple[tuple[str, ...], list[Any]]]
) -> set[str] | None:
    """The fewest reasons with which ours is what the package made; None when there are none."""
    for said, mine in variants:
        if _tools(mine) != _tools(other):
            continue
        calls = zip(_calls(mine), _calls(other), strict=True)
        values = [_value(record, one["tool_input"], two["tool_input"]) for one, two in calls]
        if None not in values:
            return {*said, *(reason for reasons in values for reason in reasons or ())}
    return None


def _value(record: dict[str, Any], mine: dict[str, Any], other: dict[str, Any]) -> set[str] | None:
    """Why the package has the text of a reference where ours has the value at it; None when that is not all."""
    if mine.keys() != other.keys():
        return None
    why = set()
    for name, value in mine.items():
        if value == other[name] and type(value) is type(other[name]):
            continue
        try:
            there = resolve(parse(other[name]), record)
        except (FormatError, TypeError):
            return None
        if there != value:
            return None
        why.add(NUMBER_KEY if value else FALSY)
    return why


def _tools(trajectories: list[Any]) -> list[list[str]]:
    return [[call["tool_name"] for call in trajectory] for trajectory in trajectories]


def _calls(trajectories: list[Any]) -> list[dict[str, Any]]:
    return [call for trajectory in trajectories for call in trajectory]


if __name__ == "__main__":
    main()
