"""How fast and how small: an evaluation of many traces, judges and samples scored against gold errors.

    python benchmarks/score.py                      # 10,000 traces x 7 judges x 5 samples
    python benchmarks/score.py --traces 1000

Writes generated result lines and gold to a temporary folder, then runs `gpa score` and `gpa agree` on them in a process
of its own each, and prints seconds and peak memory.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import orjson

from gpa.judges.verdict import CATEGORIES, DIMENSIONS

SYLLABLES = ("ta", "re", "mi", "son", "ka", "lu", "ven", "do", "per", "ci", "ral", "no")
WORDS = tuple(map("".join, product(SYLLABLES, repeat=3)))
"""1,728 of them: with a few dozen any two texts would be alike."""
SEVERITIES = ("LOW", "MEDIUM", "HIGH")


def main(argv: Sequence[str] | None = None) -> None:
    """Write the files, score them, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=10_000, help="traces (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=5, help="samples of each judge (default: %(default)s)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        results, gold = Path(scratch, "results.jsonl"), Path(scratch, "gold.jsonl")
        verdicts = write(results, gold, options.traces, options.samples)
        print(
            f"{options.traces:,} traces x {len(DIMENSIONS)} judges x {options.samples} samples = {verdicts:,} verdicts,"
        )
        print(f"{results.stat().st_size / 1e6:.0f} MB of result lines, {gold.stat().st_size / 1e6:.1f} MB of gold")
        for command in (
            ["score", str(results), "--gold", str(gold), "--json"],
            ["agree", str(results), "--gold", str(gold), "--json"],
        ):
            seconds, peak = run(command)
            print(f"gpa {command[0]:6} {seconds:6.1f} s  {peak / 1e6:6.0f} MB peak")


def run(command: Sequence[str]) -> tuple[float, float]:
    """Seconds and peak bytes of one `gpa` command."""
    started = time.perf_counter()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(sys.executable, [sys.executable, "-m", "gpa", *command])
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"gpa {command[0]} ended with status {status}")
    scale = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - started, usage.ru_maxrss * scale


def write(results: Path, gold: Path, traces: int, samples: int) -> int:
    """Write verdicts with no, one or two findings about gold errors that are partly the same; how many verdicts."""
    rng = random.Random(7)
    count = 0
    with results.open("wb") as lines, gold.open("wb") as errors:
        for number in range(traces):
            trace_id = f"{number:032x}"
            spans = [f"{number:08x}{step:08x}" for step in range(20)]
            truth = [
                {
                    "trace_id": trace_id,
                    "span_id": rng.choice(spans),
                    "category": rng.choice(CATEGORIES),
                    "evidence": text(rng, 12),
                    "description": text(rng, 25),
                    "impact": rng.choice(SEVERITIES),
                }
                for _ in range(rng.choice((2, 3, 4, 5, 6)))
            ]
            errors.writelines(orjson.dumps(error) + b"\n" for error in truth)
            for judge in DIMENSIONS:
                errors.write(
                    orjson.dumps({"type": "score", "trace_id": trace_id, "judge": judge, "score": rng.randrange(4)})
                    + b"\n"
                )
                for sample in range(samples):
                    findings = [finding(rng, rng.choice(truth), spans) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
                    lines.write(orjson.dumps(verdict(rng, trace_id, judge, sample, findings)) + b"\n")
                    count += 1
    return count


def verdict(
    rng: random.Random, trace_id: str, judge: str, sample: int, findings: list[dict[str, object]]
) -> dict[str, object]:
    """A result line."""
    return {
        "type": "verdict",
        "schema": 1,
        "trace_id": trace_id,
        "judge": judge,
        "model": "scripted/model",
        "sample": sample,
        "score": rng.randrange(4),
        "rationale": text(rng, 60),
        "findings": findings,
        "rubric_hash": "0123456789abcdef",
        "usage": {"input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0},
        "cost_usd": 0.0,
        "unresolved": 0,
    }


def finding(rng: random.Random, error: dict[str, str], spans: list[str]) -> dict[str, object]:
    """A finding: half of them about the error, in words of which half are its own."""
    about = rng.random() < 0.5
    return {
        "span_ids": [error["span_id"] if about and rng.random() < 0.6 else rng.choice(spans)],
        "quote": error["evidence"][:40] if about else text(rng, 8),
        "problem": f"{error['description'][:70]} {text(rng, 10)}" if about else text(rng, 22),
        "category": error["category"] if about and rng.random() < 0.6 else rng.choice(CATEGORIES),
        "severity": rng.choice(SEVERITIES),
        "check": None,
        "grounded": True,
    }


def text(rng: random.Random, words: int) -> str:
    """That many words."""
    return " ".join(rng.choices(WORDS, k=words))


if __name__ == "__main__":
    main()
