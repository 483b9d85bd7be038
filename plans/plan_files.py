"""Files of plans -> rows to judge: one plan, JSON Lines of plans with queries and references, CSV, or traces.

A row that cannot be understood is a problem with its line and costs no other. What is in a plan itself is the
validator's to say: a text that is no plan is a row all the same, for a planner that wrote it has failed.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpa.ingest.files import STDIN, as_list, expand
from gpa.ingest.formats import detect
from gpa.ingest.problems import OnProblem, Problem
from gpa.ingest.tool_calls import tool_calls
from gpa.ingest.transcript import Transcript
from gpa.plans.plan import Plan
from gpa.plans.plan import Problem as PlanProblem
from gpa.plans.policy import stated_plans
from gpa.plans.topology import CycleError
from gpa.plans.validation import Validated, validate

_PLAN = ("plan", "candidate")
_REFERENCE = ("reference", "reference_plan", "best_plan")
_LINEAGE = ("lineage", "plan_lineage")
_QUERY = ("query", "question")
_ID = ("query_id", "id")
_PLANNER = ("planner", "llm")
_FLAGS = {
    "subjectivity": (("is_query_subjective", "subjective"), ("objective", "subjective")),
    "compoundness": (("is_query_compound", "compound"), ("simple", "compound")),
}
"""Group -> the fields that say it, and what no and yes mean."""
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "y"}), frozenset({"0", "0.0", "false", "no", "n"})
_LENGTHS = ((2, "1-2"), (4, "3-4"), (15, "5-15"))


class PlanRow(Struct, frozen=True):
    """One plan to judge, and what is known beside it."""

    id: str
    plan: Plan | None
    """None when it cannot be read or the validator rejects it."""
    rejected: tuple[PlanProblem, ...] = ()
    """Why."""
    query: str = ""
    reference: Plan | None = None
    lineage: tuple[Plan, ...] = ()
    """Successive plans for the query, the weakest first."""
    planner: str = ""
    """Who made the plan, and how it was asked."""
    groups: dict[str, str] = {}
    """What kind of query it is: subjectivity, compoundness, and the steps and hops of its reference (or the plan)."""
    place: str = ""
    """`file:line`, or the trace and step."""
    trace_id: str = ""
    """Of a plan out of a trace."""
    fields: dict[str, Any] = {}
    """The row as it was read."""


def read_rows(
    paths: str | Iterable[str], *, on_problem: OnProblem, queries: Sequence[str] = (), reference: Plan | None = None
) -> list[PlanRow]:
    """Every plan in files, folders and patterns, in order.

    Args:
        paths: JSON, JSON Lines, pseudo-JSON, CSV or traces; `-` for standard input.
        on_problem: Told what cannot be read, and what was passed over.
        queries: Files of queries (and references, flags), joined by `query_id` or `id`.
        reference: For every row that has none of its own.
    """
    known = _queries(queries, on_problem)
    traces: list[str] = []
    found: list[PlanRow] = []
    for file in expand(as_list(paths), on_problem):
        rows = list(_read_file(file.path, traces, on_problem))
        if file.named or not all(map(_is_no_plan, rows)):
            found += rows
        elif rows:
            on_problem(Problem(file.path, "holds no plan: passed over", fatal=False))
    if STDIN in traces:
        traces.remove(STDIN)
        on_problem(Problem("<stdin>", "expected plans on standard input, found traces: give their file"))
    # Together: a trace may be in several files, and its logs in another one.
    found += _traces(traces, on_problem) if traces else ()
    return [_joined(row, known.get(str(_first(row.fields, _ID))), reference, on_problem) for row in found]


def _is_no_plan(row: PlanRow) -> bool:
    """Whether a text or value by itself is nothing like a plan: in a folder, a note, and no planner's failure."""
    return row.plan is None and row.fields.keys() == {"plan"} and not any(one.step for one in row.rejected)


def read_one(path: str, *, on_problem: OnProblem) -> Plan | None:
    """The one plan of a file (a reference); None after telling why there is none."""
    rows = [row for file in expand([path], on_problem) for row in _read_file(file.path, [], on_problem)]
    if len(rows) != 1:
        on_problem(Problem(path, f"expected one plan, found {len(rows)}"))
        return None
    for problem in rows[0].rejected:
        on_problem(Problem(path, f"not a valid plan: {replace(problem, where='')}"))
    return rows[0].plan


def _read_file(path: str, traces: list[str], on_problem: OnProblem) -> Iterator[PlanRow]:
    """The plans of a file; one that holds traces is put on the list of them."""
    name = "<stdin>" if path == STDIN else path
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        on_problem(Problem(name, f"cannot be read: {error.strerror or error}"))
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        traces.append(path)  # compressed or protobuf: no text, and no plan
        return
    if not text.strip():
        on_problem(Problem(name, "expected plans, found an empty file"))
    elif path.lower().endswith(".csv") or _is_csv(text):
        yield from _csv(text, name, on_problem)
    else:
        yield from _text(text, path, traces, on_problem)


def _text(text: str, path: str, traces: list[str], on_problem: OnProblem) -> Iterator[PlanRow]:
    name = "<stdin>" if path == STDIN else path
    whole = _decoded(text)
    if whole is not None:
        yield from _value(whole, name, path, traces)
        return
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    first = _decoded(lines[0][1])
    if not isinstance(first, dict | list) or (len(lines) > 1 and all(_decoded(line) is None for _, line in lines[1:])):
        yield _row({"plan": text}, Path(name).stem, name)  # one plan in nearly JSON, or calls as code
    elif detect(first) is not None:
        traces.append(path)
    else:
        for number, line in lines:
            value = _decoded(line)
            if value is None:
                on_problem(Problem(f"{name}:{number}", f"expected a JSON object, found {line[:60]!r}"))
            else:
                yield from _value(value, f"{name}:{number}", path, traces)


def _value(value: Any, place: str, path: str, traces: list[str]) -> Iterator[PlanRow]:
    """The rows in a decoded document: itself, its elements, or a plan by itself."""
    if _is_row(value):
        yield _row(value, place, place)
    elif isinstance(value, list) and value and all(map(_is_row, value)):
        for number, one in enumerate(value, 1):
            yield _row(one, f"{place}[{number}]", f"{place}[{number}]")
    elif detect(value) is not None:
        traces.append(path)
    else:
        yield _row({"plan": value}, place, place)


def _is_row(value: Any) -> bool:
    """Whether it is a row about a plan: something holds a plan, and it is not the plan itself."""
    if not isinstance(value, dict):
        return False
    held = any(key in value for key in (*_PLAN, *_REFERENCE, *_LINEAGE))
    return held and "depends_on" not in value


def _row(fields: Mapping[str, Any], default_id: str, place: str) -> PlanRow:
    source = _first(fields, _PLAN)
    lineage = _plans(_first(fields, _LINEAGE))
    of_reference = False
    if source is None:
        source, of_reference = _first(fields, _REFERENCE), True
    last = Validated(lineage[-1], (), ()) if source is None and lineage else None
    found = last or validate(_shape(source), where=place)
    reference = None if of_reference else _reference(fields)
    kind = ", ".join(str(one) for one in (_first(fields, _PLANNER), fields.get("prompt_type")) if one not in (None, ""))
    return PlanRow(
        id=_row_id(fields, kind, default_id),
        plan=found.usable,
        rejected=found.rejected,
        query=str(_first(fields, _QUERY) or ""),
        reference=reference,
        lineage=lineage,
        planner=kind,
        groups=_groups(fields, reference or found.usable),
        place=place,
        fields=dict(fields),
    )


def _row_id(fields: Mapping[str, Any], planner: str, default: str) -> str:
    """The row's own id; a query's with the planner, for there may be several plans for it."""
    if fields.get("id") is not None:
        return str(fields["id"])
    if fields.get("query_id") is None:
        return default
    return ":".join(filter(None, (str(fields["query_id"]), planner)))


def _reference(fields: Mapping[str, Any]) -> Plan | None:
    source = _first(fields, _REFERENCE)
    return None if source is None else validate(_shape(source)).usable


def _shape(source: Any) -> Any:
    """The plan itself where a release keeps it as JSON in a text, maybe twice."""
    for _ in range(2):
        inner = _decoded(source) if isinstance(source, str) else None
        if inner is None:
            break
        source = inner
    return source


def _plans(value: Any) -> tuple[Plan, ...]:
    """The plans of a lineage: a list, an object by number, or either of them as JSON in a text."""
    value = _shape(value)
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return ()
    found = [validate(_shape(one.get("plan", one) if isinstance(one, dict) else one)).usable for one in value]
    return tuple(plan for plan in found if plan is not None)


def _groups(fields: Mapping[str, Any], sized: Plan | None) -> dict[str, str]:
    groups = {}
    for group, (keys, (no, yes)) in _FLAGS.items():
        said = str(_first(fields, keys)).strip().lower()
        if said in _YES | _NO | {no, yes}:
            groups[group] = yes if said in _YES | {yes} else no
    if sized is not None:
        groups["steps"] = length_group(len(sized))
        try:
            hops = sized.hops()
        except CycleError:  # a placeholder that points forward: a fault of form, costed as such
            return groups
        groups["hops"] = "3+" if hops > 2 else str(hops)
    return groups


def length_group(steps: int) -> str:
    """The group of plans of this length: 1-2, 3-4, 5-15 steps, or more."""
    return next((name for most, name in _LENGTHS if steps <= most), "16+")


def _joined(row: PlanRow, told: PlanRow | None, reference: Plan | None, on_problem: OnProblem) -> PlanRow:
    """The row with what the queries' file and the command line add; its own fields come first."""
    if told is not None:
        known = told.reference or (told.plan if row.reference is None else None)
        row = replace(
            row,
            query=row.query or told.query,
            reference=row.reference or known,
            lineage=row.lineage or told.lineage,
            groups={**told.groups, **{key: one for key, one in row.groups.items() if key not in told.groups}},
        )
    if row.reference is None and reference is not None:
        row = replace(row, reference=reference, groups={**row.groups, **_groups({}, reference)})
    elif row.reference is None and _first(row.fields, _PLAN) is not None and _first(row.fields, _REFERENCE) is not None:
        why = "; ".join(map(str, validate(_shape(_first(row.fields, _REFERENCE))).rejected))
        on_problem(Problem(row.place, f"its reference is not a valid plan: {why}"))
    return row


def _queries(paths: Sequence[str], on_problem: OnProblem) -> dict[str, PlanRow]:
    known: dict[str, PlanRow] = {}
    for path in paths:
        for file in expand([path], on_problem):
            for fields, place in _fields_of(file.path, on_problem):
                identity = _first(fields, _ID)
                if identity is None:
                    on_problem(Problem(place, f"expected a query_id, found only {', '.join(map(str, fields))}"))
                else:
                    known[str(identity)] = _row(fields, str(identity), place)
    return known


def _fields_of(path: str, on_problem: OnProblem) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a file of queries, each with its place."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        on_problem(Problem(path, f"cannot be read: {error}"))
        return
    if path.lower().endswith(".csv") or _is_csv(text):
        yield from ((fields, place) for fields, place in _csv_fields(text, path))
        return
    whole = _decoded(text)
    listed = whole if isinstance(whole, list) else [whole] if whole is not None else None
    numbered = enumerate(text.splitlines() if listed is None else listed, 1)
    for number, one in numbered:
        value = _decoded(one) if isinstance(one, str) else one
        if isinstance(value, dict):
            yield value, f"{path}:{number}"
        elif not isinstance(one, str) or one.strip():
            on_problem(Problem(f"{path}:{number}", f"expected an object with query_id, found {str(one)[:60]!r}"))


def _is_csv(text: str) -> bool:
    """Whether the first line is the header of a table of plans or queries."""
    head = text.lstrip().partition("\n")[0]
    names = {name.strip().strip('"') for name in head.split(",")}
    return len(names) > 1 and "query_id" in names and not head.startswith(("{", "["))


def _csv(text: str, name: str, on_problem: OnProblem) -> Iterator[PlanRow]:
    for fields, place in _csv_fields(text, name):
        if _first(fields, (*_PLAN, *_REFERENCE, *_LINEAGE)) is None:
            on_problem(Problem(place, f"expected a column plan or best_plan, found {', '.join(fields)}"))
        else:
            yield _row(fields, place, place)


def _csv_fields(text: str, name: str) -> Iterator[tuple[dict[str, Any], str]]:
    # A plan may be longer than the 128 KiB the module takes for a mistake.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        yield {key: value for key, value in row.items() if key and value not in (None, "")}, f"{name}:{reader.line_num}"


def _traces(paths: Sequence[str], on_problem: OnProblem) -> Iterator[PlanRow]:
    """The plans that the agents of traces state, as far as they name tools, in the order of their steps."""
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    for trace in read_traces(paths, on_problem=on_problem):
        yield from stated_rows(transcribe(trace), on_problem)


def stated_rows(transcript: Transcript, on_problem: OnProblem) -> list[PlanRow]:
    """The plans of one trace: those stated as such, and those in the outputs of model calls."""
    found: dict[str, PlanRow] = {}
    in_prose = 0
    for stated in transcript.plans:
        place = f"trace {transcript.trace_id} step {stated.label}"
        read = validate(stated.text, where=place)
        if read.plan is None or not any(step.tool for step in read.plan):
            in_prose += 1
        else:
            found[stated.label] = _stated_row(transcript, stated.label, stated.agent, read)
    for label, plan in stated_plans(transcript, tool_calls(transcript)).items():
        if label not in found:
            found[label] = _stated_row(transcript, label, transcript.step(label).agent, Validated(plan, (), ()))
    if in_prose:
        message = f"{in_prose} stated plan{'s' * (in_prose != 1)} in prose, without tools: passed over"
        on_problem(Problem(f"trace {transcript.trace_id}", message, fatal=False))
    order = {step.label: place for place, step in enumerate(transcript.steps)}
    return sorted(found.values(), key=lambda row: order.get(row.id.rpartition("/")[2], 0))


def _stated_row(transcript: Transcript, label: str, agent: str, read: Validated) -> PlanRow:
    return PlanRow(
        id=f"{transcript.trace_id}/{label}",
        plan=read.usable,
        rejected=read.rejected,
        query=transcript.goal,
        planner=agent,
        groups=_groups({}, read.usable),
        place=f"trace {transcript.trace_id} step {label}",
        trace_id=transcript.trace_id,
    )


def _decoded(text: str) -> Any:
    """The value of a JSON text; None when it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)
