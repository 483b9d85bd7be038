"""TRAIL's data: what is annotated, what was predicted, which spans are model calls, and where all of it lies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from gpa.errors import InputError, UsageError
from gpa.judges.result_lines import read_lines
from gpa.judges.trail import TrailError, benchmark_category, read_annotation, read_prediction, span_id
from gpa.judges.verdict import Verdict

Part = Literal["gaia", "swe_bench"]
PARTS: tuple[Part, ...] = ("gaia", "swe_bench")

Pair = tuple[str, str]
"""A location and the category found there."""

DOWNLOAD = """\
TRAIL is published by Patronus AI (arXiv 2505.08638, MIT licence) with 148 annotated traces, 117 of GAIA and 31 of
SWE-bench. Its authors ask that the traces are not posted again, so none comes with this package. Get them from

    git clone https://github.com/patronus-ai/trail-benchmark

or from the data set PatronusAI/TRAIL on Hugging Face (accept its terms first), then

    gpa evaluate trail-benchmark/benchmarking/data/GAIA --jsonl results.jsonl
    gpa benchmark trail --data trail-benchmark --part gaia --results results.jsonl
"""


class Case(NamedTuple):
    """One trace of the benchmark: what is annotated in it."""

    trace_id: str
    errors: tuple[TrailError, ...]

    @property
    def spans(self) -> frozenset[str]:
        """Annotated locations, as written: one that is no span id can be hit by nobody, and counts."""
        return frozenset(error.location for error in self.errors)

    @property
    def pairs(self) -> frozenset[Pair]:
        """Annotated locations with their categories."""
        return frozenset((error.location, benchmark_category(error.category)) for error in self.errors)


@dataclass(frozen=True)
class Annotations:
    """The gold side of the benchmark."""

    cases: tuple[Case, ...]
    version: str
    """12 hex digits over the names and contents of the files."""
    repairs: tuple[str, ...]


@dataclass(frozen=True)
class Predictions:
    """What a judge said about some traces: findings as (location, category) pairs."""

    name: str
    pairs: Mapping[str, frozenset[Pair]]
    """By trace, of those that could be read."""
    categories: Mapping[str, frozenset[str]]
    """Categories named, with or without a location."""
    unreadable: tuple[str, ...] = ()
    """Traces with a prediction that could not be read, or that no judge could judge."""


def read_annotations(folder: Path) -> Annotations:
    """The gold files of a folder. Raises `InputError` when there are none, `FormatError` for one that is broken."""
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not paths:
        raise InputError(f"{folder}: expected a folder of TRAIL gold files (<trace_id>.json), found none")
    digest = sha256()
    cases, repairs = [], []
    for path in paths:
        content = path.read_bytes()
        digest.update(path.name.encode() + b"\0" + sha256(content).digest())
        read = read_annotation(path, content)
        cases.append(Case(read.trace_id, read.errors))
        repairs += [f"{path.name}: {what}" for what in read.repairs]
        repairs += [
            f"{path.name}: location {error.location[:60]!r} is no span id"
            for error in read.errors
            if span_id(error.location) is None
        ]
    return Annotations(tuple(cases), digest.hexdigest()[:12], tuple(repairs))


def read_predictions(folder: Path, trace_ids: Iterable[str]) -> Predictions:
    """The recorded model answers of a folder, `<trace_id>.json` each; what is missing is not in it.

    Raises `InputError` for a folder without any.
    """
    paths = {path.stem.lower(): path for path in folder.glob("*.json")} if folder.is_dir() else {}
    if not paths:
        raise InputError(f"{folder}: expected a folder of predictions (<trace_id>.json), found none")
    pairs, categories, unreadable = {}, {}, []
    for trace_id in trace_ids:
        if trace_id not in paths:
            continue
        errors = read_prediction(paths[trace_id].read_text(encoding="utf-8", errors="replace"))
        if errors is None:
            unreadable.append(trace_id)
            continue
        pairs[trace_id] = frozenset((error.location, benchmark_category(error.category)) for error in errors)
        categories[trace_id] = frozenset(benchmark_category(error.category) for error in errors)
    return Predictions(folder.name, pairs, categories, tuple(unreadable))


def read_results(path: Path, judges: Sequence[str] = (), *, sample: int = 0) -> Predictions:
    """The findings of all judges (or of those named) in a file of result lines; a finding counts at each span it cites.

    A trace that no judge gave a verdict on is unreadable when one failed, else it says that there is nothing.
    """
    pairs: dict[str, set[Pair]] = defaultdict(set)
    categories: dict[str, set[str]] = defaultdict(set)
    seen: dict[str, set[str]] = defaultdict(set)
    for result in read_lines(path):
        if result.sample != sample or (judges and result.judge not in judges):
            continue
        seen[result.trace_id].add(result.type)
        if isinstance(result, Verdict):
            for finding in result.findings:
                name = benchmark_category(finding.category)
                categories[result.trace_id].add(name)
                pairs[result.trace_id].update((span, name) for span in finding.span_ids)
    failed = tuple(trace_id for trace_id, types in seen.items() if "failure" in types and "verdict" not in types)
    judged = [trace_id for trace_id in seen if trace_id not in failed]
    return Predictions(
        path.name,
        {trace_id: frozenset(pairs[trace_id]) for trace_id in judged},
        {trace_id: frozenset(categories[trace_id]) for trace_id in judged},
        failed,
    )


def llm_spans(folder: Path, trace_ids: Iterable[str]) -> dict[str, frozenset[str]]:
    """The LLM spans of each of these traces; a trace that is not in the folder is not in the answer."""
    from gpa.ingest.assembly import read_traces
    from gpa.ingest.transcript import transcribe

    files = {path.stem.lower(): path for path in folder.glob("*.json")}
    found = {}
    for trace_id in trace_ids:
        if trace_id in files:
            for trace in read_traces(files[trace_id], on_problem=lambda _problem: None):
                steps = transcribe(trace).steps
                found[trace.trace_id] = frozenset(step.span_id for step in steps if step.kind == "llm")
    return found


class Layout(NamedTuple):
    """Where a part of the benchmark lies."""

    part: Part
    gold: Path
    traces: Path | None


def find_layout(data: Path, part: Part) -> Layout:
    """The folders of a part: `PART/gold` and `PART/traces`, or those of the published repository.

    That one has `benchmarking/processed_annotations_gaia` and `benchmarking/data/GAIA`, `.../data/SWE Bench`.
    """
    own = data / part
    if (own / "gold").is_dir():
        return Layout(part, own / "gold", _folder(own / "traces"))
    word = part.partition("_")[0]
    folders = [path for path in _folders(data) if word in path.name.lower()]
    gold = [path for path in folders if "annotation" in path.name.lower() or path.name.lower() == "gold"]
    traces = [path for path in folders if path.parent.name.lower() in {"data", "traces"}]
    if not gold:
        raise InputError(f"{data}: expected {part}/gold or an annotations folder of {part}, found none")
    return Layout(part, gold[0], traces[0] if traces else None)


def traces_beside(gold: Path) -> Path | None:
    """The traces that lie beside a folder of gold files, when there are any."""
    return _folder(gold.resolve().parent / "traces") if gold.name == "gold" else None


def check_part(part: str) -> Part:
    """The part of that name. Raises `UsageError`."""
    for known in PARTS:
        if part == known:
            return known
    raise UsageError(f"--part: expected one of {', '.join(PARTS)}, found {part!r}")


def _folder(path: Path) -> Path | None:
    return path if path.is_dir() else None


def _folders(data: Path, depth: int = 3) -> Iterator[Path]:
    """Folders inside, sorted, to a depth at which no trace files are walked."""
    if depth and data.is_dir():
        for path in sorted(path for path in data.iterdir() if path.is_dir() and not path.name.startswith(".")):
            yield path
            yield from _folders(path, depth - 1)
