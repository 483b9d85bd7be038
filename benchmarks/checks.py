"""What each check is worth: findings, precision, and what only it finds, against annotated traces.

    python benchmarks/checks.py                              # TRAIL beside the project, both parts
    python benchmarks/checks.py --traces DIR --gold DIR      # traces and gold errors of your own
    python benchmarks/checks.py --split dev                  # the two thirds the rules were developed on

Per check: findings; spans cited and the share of them that an annotator marked; (span, category) pairs and the share
that an annotator marked so; gold spans and pairs that no other check finds; and what location and joint accuracy lose
without it. `held` is the third that was looked at rarely: trace ids that 3 divides. Accuracy is TRAIL's: the mean over
traces of the share of gold spans (or pairs) that are cited.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.checks import CHECKS
from gpa.judges.gold import GoldError, load_gold
from gpa.judges.scoring import judge
from gpa.judges.verdict import Verdict

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "trail"
PARTS = ("gaia", "swe_bench")

Pair = tuple[str, str]
"""Span id, category."""


class Annotated(NamedTuple):
    """A trace's gold pairs, and the pairs each check cites in it, one set a finding."""

    gold: set[Pair]
    cited: dict[str, list[set[Pair]]]


class Figures(NamedTuple):
    """What a set of checks reaches."""

    location: float
    joint: float
    location_precision: float
    joint_precision: float
    cited: int


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each part of the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of traces (with --gold)")
    parser.add_argument("--gold", type=Path, help="folder or file of gold errors")
    parser.add_argument("--split", choices=("all", "dev", "held"), help="one split only (default: each of them)")
    parser.add_argument("--brief", action="store_true", help="only the totals")
    options = parser.parse_args(argv)
    parts = (
        [(options.traces, options.gold)]
        if options.traces
        else [(BESIDE / p / "traces", BESIDE / p / "gold") for p in PARTS]
    )
    for traces, gold in parts:
        if gold is None or not traces.exists():
            sys.exit(f"{traces}: not there; give --traces and --gold")
        data, seconds = _read(traces, gold)
        for split in (options.split,) if options.split else ("all", "dev", "held"):
            chosen = {trace_id: one for trace_id, one in data.items() if _in(trace_id, split)}
            print(f"\n{traces.parent.name}, {split}: {len(chosen)} traces (checks took {seconds:.2f} s on all)")
            _print(list(chosen.values()), brief=options.brief)


def _in(trace_id: str, split: str) -> bool:
    return split == "all" or (int(trace_id, 16) % 3 == 0) == (split == "held")


def _read(traces: Path, gold_path: Path) -> tuple[dict[str, Annotated], float]:
    gold = load_gold(gold_path)
    errors: dict[str, list[GoldError]] = {trace_id: list(found) for trace_id, found in gold.by_trace.items()}
    data: dict[str, Annotated] = {}
    seconds = 0.0
    for trace in read_traces([str(traces)]):
        transcript = transcribe(trace)
        start = time.perf_counter()
        cited = _cited(transcript)
        seconds += time.perf_counter() - start
        found = errors.get(trace.trace_id)
        if found is not None:
            data[trace.trace_id] = Annotated({(error.span_id, error.category) for error in found}, cited)
    return data, seconds


def _cited(transcript: Transcript) -> dict[str, list[set[Pair]]]:
    """Per check the pairs of each of its findings, each finding once however many dimensions it stands under."""
    seen: dict[tuple[str, tuple[str, ...], str], None] = {}
    for result in judge(transcript):
        if isinstance(result, Verdict):
            for finding in result.findings:
                seen[finding.check or "", finding.span_ids, finding.category] = None
    cited: defaultdict[str, list[set[Pair]]] = defaultdict(list)
    for check, spans, category in seen:
        cited[check].append({(span, category) for span in spans})
    return cited


def _figures(data: Sequence[Annotated], without: str = "") -> Figures:
    location = joint = 0.0
    spans = right = pairs = agreed = 0
    for gold, cited in data:
        found = set(_pairs(cited, without))
        found_spans, gold_spans = {span for span, _ in found}, {span for span, _ in gold}
        location += len(gold_spans & found_spans) / len(gold_spans) if gold_spans else 0
        joint += len(gold & found) / len(gold) if gold else 0
        spans += len(found_spans)
        right += len(gold_spans & found_spans)
        pairs += len(found)
        agreed += len(gold & found)
    traces = max(1, len(data))
    return Figures(location / traces, joint / traces, right / max(1, spans), agreed / max(1, pairs), spans)


def _pairs(cited: dict[str, list[set[Pair]]], without: str) -> Iterator[Pair]:
    for check, findings in cited.items():
        if check != without:
            for pairs in findings:
                yield from pairs


def _print(data: Sequence[Annotated], *, brief: bool) -> None:
    whole = _figures(data)
    if not brief:
        print(
            f"{'check':26}{'findings':>9}{'spans':>7}{'prec':>7}{'pairs':>7}{'prec':>7}{'only':>6}{'only':>6}{'loc':>8}{'joint':>8}"
        )
        for check in CHECKS:
            print(f"{check.name:26}{_row(data, check.name, whole)}")
    print(
        f"location {whole.location:.4f}  joint {whole.joint:.4f}  location precision {whole.location_precision:.4f}"
        f"  joint precision {whole.joint_precision:.4f}  cited spans {whole.cited / max(1, len(data)):.2f} a trace"
    )


def _row(data: Sequence[Annotated], name: str, whole: Figures) -> str:
    findings = spans = right = pairs = agreed = only_spans = only_pairs = 0
    for gold, cited in data:
        findings += len(cited.get(name, ()))
        mine = set(_pairs({name: cited.get(name, [])}, ""))
        others = set(_pairs(cited, name))
        my_spans, gold_spans = _spans(mine), _spans(gold)
        spans += len(my_spans)
        right += len(my_spans & gold_spans)
        pairs += len(mine)
        agreed += len(mine & gold)
        only_spans += len((my_spans & gold_spans) - _spans(others))
        only_pairs += len((mine & gold) - others)
    less = _figures(data, without=name)
    return (
        f"{findings:9}{spans:7}{_share(right, spans):>7}{pairs:7}{_share(agreed, pairs):>7}{only_spans:6}{only_pairs:6}"
        f"{less.location - whole.location:+8.3f}{less.joint - whole.joint:+8.3f}"
    )


def _spans(pairs: Iterable[Pair]) -> set[str]:
    return {span for span, _ in pairs}


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


if __name__ == "__main__":
    main()
