"""How fast and how small: reading, transcribing and rendering against `orjson.loads` on the same bytes.

    python benchmarks/ingest.py                        # the generated files
    python benchmarks/ingest.py --traces DIR [DIR...]  # and recorded traces of your own
    python benchmarks/ingest.py --only memory --megabytes 500

Prints, each measured in one run on the same bytes, best of `--repeat`:
- per folder of traces: `orjson.loads` alone, read + transcribe + render, their ratio, and rendered bytes / raw bytes;
- the same for a generated OTLP JSON file of 50,000 small spans;
- how the cost of one agent's growing conversation, which every call repeats, follows its bytes;
- the peak memory of a process that reads a generated JSON Lines file of several hundred MB.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from gpa import read_traces, transcribe

WORDS = ("the", "a", "of", "to", "and", "in", "that", "it", "is", "was", "agent", "tool", "order", "price", "city")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the measurements asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", nargs="*", type=Path, default=[], help="folders of recorded traces (JSON)")
    parser.add_argument("--only", choices=("traces", "spans", "linear", "memory"), help="one measurement only")
    parser.add_argument("--spans", type=int, default=50_000, help="spans of the generated file (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=500, help="size for the memory figure (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="take the best of this many (default: %(default)s)")
    parser.add_argument("--count-only", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.count_only:
        _report_peak(options.count_only)
        return
    if options.only in (None, "traces"):
        for folder in options.traces:
            _show(str(folder), _measure(sorted(folder.rglob("*.json")), options.repeat))
        if len(options.traces) > 1:
            every = [path for folder in options.traces for path in sorted(folder.rglob("*.json"))]
            _show("all of them", _measure(every, options.repeat))
    with tempfile.TemporaryDirectory() as scratch:
        if options.only in (None, "spans"):
            path = Path(scratch, "spans.json")
            path.write_bytes(orjson.dumps({"resourceSpans": [_resource_spans(_small_spans(options.spans))]}))
            _show(f"{options.spans:,} small spans", _measure([path], options.repeat))
        if options.only in (None, "linear"):
            _linear(Path(scratch), options.repeat)
        if options.only in (None, "memory"):
            _memory(Path(scratch), options.megabytes)


def _measure(paths: Sequence[Path], repeat: int) -> tuple[int, float, float, int]:
    """(raw bytes, seconds of orjson.loads, seconds of read + transcribe + render, rendered bytes)."""
    contents = [path.read_bytes() for path in paths]

    def loads() -> None:
        for content in contents:
            orjson.loads(content)

    def pipeline() -> None:
        for path in paths:
            for trace in read_traces(path):
                transcribe(trace).render()

    alone, whole = _best(loads, pipeline, repeat)
    rendered = sum(len(transcribe(trace).render().encode()) for path in paths for trace in read_traces(path))
    return sum(map(len, contents)), alone, whole, rendered


def _best(first: Callable[[], None], second: Callable[[], None], repeat: int) -> tuple[float, float]:
    """The best times of two functions, run in turns so that both meet the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for function, seconds in zip((first, second), times, strict=True):
            begin = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - begin)
    return min(times[0]), min(times[1])


def _show(name: str, figures: tuple[int, float, float, int]) -> None:
    size, alone, whole, rendered = figures
    print(
        f"{name}: {size / 1e6:.1f} MB, orjson.loads {alone * 1e3:.1f} ms, "
        f"read + transcribe + render {whole * 1e3:.1f} ms, ratio {whole / alone:.2f}, "
        f"rendered {rendered / size:.2%} of the bytes"
    )


def _id(number: int, digits: int) -> str:
    return f"{number + 1:0{digits}x}"


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def _resource_spans(spans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "resource": {"attributes": _attributes({"service.name": "benchmark"})},
        "scopeSpans": [{"scope": {"name": "benchmark", "version": "1"}, "spans": list(spans)}],
    }


def _span(trace: int, span: int, parent: int | None, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    start = 1_750_000_000_000_000_000 + span * 1_000_000
    return {
        "traceId": _id(trace, 32),
        "spanId": _id(span, 16),
        **({} if parent is None else {"parentSpanId": _id(parent, 16)}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 900_000),
        "attributes": _attributes(attributes),
        "status": {"code": 1},
    }


def _small_spans(count: int, per_trace: int = 100) -> list[dict[str, Any]]:
    """Agent runs of `per_trace` spans each: an agent, model calls with one short exchange, tool calls, plain spans."""
    spans = []
    for number in range(count):
        trace, place = divmod(number, per_trace)
        root = None if place == 0 else number - place
        name, attributes = _small(number, "agent" if place == 0 else ("http", "llm", "tool")[place % 3])
        spans.append(_span(trace, number, root, name, attributes))
    return spans


def _small(number: int, kind: str) -> tuple[str, dict[str, Any]]:
    if kind == "http":
        return "GET", {
            "http.request.method": "GET",
            "url.full": f"http://service/{number}",
            "http.response.status_code": 200,
            "server.address": "service",
            "network.protocol.version": "1.1",
        }
    if kind == "llm":
        return "chat m", {
            "gen_ai.operation.name": "chat",
            "gen_ai.system": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": _said("user", f"question {number}"),
            "gen_ai.output.messages": _said("assistant", f"answer {number}"),
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.output_tokens": 7,
        }
    if kind == "tool":
        return "execute_tool look_up", {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look_up",
            "gen_ai.tool.call.arguments": f'{{"key":"{number}"}}',
            "gen_ai.tool.call.result": f"value {number}",
        }
    return "invoke_agent desk", {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "desk",
        "gen_ai.system": "openai",
    }


def _said(role: str, text: str) -> str:
    return orjson.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()


def _text(source: random.Random, words: int) -> str:
    return " ".join(source.choices(WORDS, k=words))


def _conversation(calls: int, trace: int = 0) -> Iterator[dict[str, Any]]:
    """One agent whose every call sends the whole conversation again, in OpenInference's flat keys."""
    source = random.Random(trace)
    messages: list[tuple[str, str]] = [("system", _text(source, 400)), ("user", _text(source, 80))]
    yield _span(trace, 0, None, "agent.run", {"openinference.span.kind": "AGENT", "input.value": messages[1][1]})
    for call in range(calls):
        said = _text(source, 60)
        attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
        for index, (role, text) in enumerate(messages):
            attributes[f"llm.input_messages.{index}.message.role"] = role
            attributes[f"llm.input_messages.{index}.message.content"] = text
        attributes["llm.output_messages.0.message.role"] = "assistant"
        attributes["llm.output_messages.0.message.content"] = said
        yield _span(trace, call + 1, 0, "call", attributes)
        messages += [("assistant", said), ("user", _text(source, 120))]


def _linear(scratch: Path, repeat: int) -> None:
    """The cost of a conversation whose bytes double, and what `orjson.loads` alone makes of the same doubling."""
    previous: tuple[int, float, float] | None = None
    # A file below about 10 MB fits with its values into 32 MB of cache, and the next size pays for leaving it; spans
    # beyond 96 MiB go through a temporary file, which `_memory` measures.
    calls = 170.0
    for _ in range(3):
        path = scratch / f"conversation-{calls:.0f}.json"
        path.write_bytes(orjson.dumps({"resourceSpans": [_resource_spans(list(_conversation(round(calls))))]}))
        size, alone, whole, rendered = _measure([path], repeat)
        growth = (
            f", {size / previous[0]:.2f} x the bytes cost {whole / previous[2]:.2f} x "
            f"(orjson.loads alone {alone / previous[1]:.2f} x)"
            if previous
            else ""
        )
        print(f"{calls:.0f} calls: {size / 1e6:.2f} MB, {whole * 1e3:.1f} ms, rendered {rendered / size:.2%}{growth}")
        previous = size, alone, whole
        calls *= 2**0.5


def _memory(scratch: Path, megabytes: int) -> None:
    """Peak memory over a JSON Lines file, one span a line: whole traces one after the other, and shuffled in blocks."""
    grouped = scratch / "grouped.jsonl"
    written = 0
    with grouped.open("wb") as file:
        trace = 0
        while written < megabytes * 1_000_000:
            for span in _conversation(24, trace):
                written += file.write(orjson.dumps({"resourceSpans": [_resource_spans([span])]}) + b"\n")
            trace += 1
    _peak("one trace after the other", grouped)
    shuffled = scratch / "shuffled.jsonl"
    with grouped.open("rb") as lines, shuffled.open("wb") as file:
        places = [0]
        for line in lines:
            places.append(places[-1] + len(line))
        places.pop()
        random.Random(0).shuffle(places)
        for place in places:
            lines.seek(place)
            file.write(lines.readline())
    grouped.unlink()
    _peak("all lines shuffled", shuffled)


def _peak(name: str, path: Path) -> None:
    begin = time.perf_counter()
    counted = subprocess.run(
        [sys.executable, __file__, "--count-only", str(path)], check=True, capture_output=True, text=True
    ).stdout.strip()
    seconds = time.perf_counter() - begin
    print(f"{path.stat().st_size / 1e6:.0f} MB JSON Lines, {name}: {counted}, {seconds:.1f} s")


def _report_peak(path: Path) -> None:
    traces = rendered = 0
    for trace in read_traces(path):
        traces += 1
        rendered += len(transcribe(trace).render())
    print(f"{traces} traces, {rendered / 1e6:.1f} M characters rendered, peak memory {_peak_megabytes():.0f} MB")


def _peak_megabytes() -> float:
    """The most memory this process had. On Linux `ru_maxrss` would count what the parent had before the exec, too."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
