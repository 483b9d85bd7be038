"""How fast the receiver takes spans in, each on disk before it is acknowledged, over gRPC and over HTTP/protobuf.

    python benchmarks/receiver.py --seconds 60

A sender in this process, with requests that are serialised already, against a receiver in another process: on two cores
both share them. Prints spans/s, acknowledgement times, the receiver's memory, and what CPU a span costs it. Complete
traces are taken out of the spool and removed as an evaluation would, but not evaluated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
MARK = b"benchmrk"
"""First half of every trace id in the template; each request has its own in its place."""
WORDS = "the agent searched for a flight and compared prices before it booked one of them for the user"
Send = Callable[[bytes], Awaitable[None]]


def template(spans: int, traces: int, span_bytes: int) -> bytes:
    """A request of so many spans in so many traces, roots last, as SDKs send them: when they end."""
    words, vocabulary = random.Random(7), WORDS.split()
    request = ExportTraceServiceRequest()
    held = request.resource_spans.add()
    for key, value in (("service.name", "agent"), ("telemetry.sdk.language", "python")):
        held.resource.attributes.add(key=key).value.string_value = value
    scoped = held.scope_spans.add()
    scoped.scope.name, scoped.scope.version = "opentelemetry.instrumentation.openai_v2", "2.1"
    for index in reversed(range(spans)):
        trace, place = index % traces, index // traces
        span = scoped.spans.add(
            name="chat gpt-5", kind=3, start_time_unix_nano=10**18, end_time_unix_nano=10**18 + 10**9
        )
        span.trace_id = MARK + trace.to_bytes(8, "big")
        span.span_id = (place + 1).to_bytes(8, "big")
        span.parent_span_id = (place // 2 + 1).to_bytes(8, "big") if place else b""
        for key, value in (
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "gpt-5"),
            ("gen_ai.response.model", "gpt-5-2026-01-01"),
            ("gen_ai.response.id", f"chatcmpl-{words.getrandbits(96):x}"),
            ("gen_ai.conversation.id", f"conversation-{trace}"),
            ("server.address", "api.example.com"),
        ):
            span.attributes.add(key=key).value.string_value = value
        for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "server.port"):
            span.attributes.add(key=key).value.int_value = words.randrange(1000)
        room = max(0, span_bytes - span.ByteSize())
        text = " ".join(words.choice(vocabulary) for _ in range(room // 5))[:room]
        messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
        span.attributes.add(key="gen_ai.input.messages").value.string_value = json.dumps(messages)
    return request.SerializeToString()


async def grpc_sender(address: str) -> Send:
    """Sends a request over gRPC."""
    from grpc import aio

    call: Any = aio.insecure_channel(address).unary_unary(METHOD)

    async def send(body: bytes) -> None:
        assert await call(body) == b""

    return send


async def http_sender(url: str) -> Send:
    """Sends a request over a connection of its own, which stays open."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port, limit=1 << 20)
    head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: "

    async def send(body: bytes) -> None:
        writer.write(f"{head}{len(body)}\r\n\r\n".encode())
        writer.write(body)
        await writer.drain()
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert b"content-length: 0\r\n" in answer, answer

    return send


async def flood(
    make: Callable[[str], Awaitable[Send]], at: str, body: bytes, seconds: float, senders: int
) -> list[float]:
    """How long each acknowledgement took, with so many requests under way all the time."""
    taken: list[float] = []
    end = time.perf_counter() + seconds
    count = 0

    async def one() -> None:
        nonlocal count
        send = await make(at)
        while time.perf_counter() < end:
            count += 1
            fresh = body.replace(MARK, (os.getpid() << 32 | count).to_bytes(8, "big"))
            started = time.perf_counter()
            await send(fresh)
            taken.append(time.perf_counter() - started)

    await asyncio.gather(*(one() for _ in range(senders)))
    return taken


def serve(folder: str) -> None:
    """The other process: a receiver, and what takes complete traces out of its spool; ends with its stdin."""
    import threading

    from gpa.ingest.completion import Patience
    from gpa.ingest.receiver import start
    from gpa.ingest.spool import open_spool

    ended = threading.Event()
    with (
        open_spool(Path(folder) / "spool.db") as spool,
        start(spool, http="127.0.0.1:0", grpc="127.0.0.1:0") as receiver,
    ):

        def drain() -> None:
            while not ended.wait(1.0):
                for _ in range(50):
                    ready = spool.complete(Patience(), limit=64)
                    spool.evaluated_all([(one, None) for one in ready])
                    if not ready:
                        break
                while spool.prune(keep_s=10.0):
                    pass

        thread = threading.Thread(target=drain)
        thread.start()
        print(json.dumps({"http": receiver.http, "grpc": receiver.grpc}), flush=True)
        for _ in sys.stdin:
            used = resource.getrusage(resource.RUSAGE_SELF)
            status = spool.status()
            figures = {
                "cpu_s": used.ru_utime + used.ru_stime,
                "peak_mb": used.ru_maxrss / 1024,
                "open": status.open_traces,
                "disk_mb": sum(file.stat().st_size for file in Path(folder).iterdir()) / (1 << 20),
                "commit_ms": 1000 * status.commit_s / max(1, status.commits),
            }
            print(json.dumps(figures), flush=True)
        ended.set()
        thread.join()


def measure(transport: str, body: bytes, spans: int, seconds: float, senders: int) -> None:
    """Run one transport and print its figures."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("GPA_BENCHMARK_FOLDER")) as folder:
        command = [sys.executable, __file__, "--serve", folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin
            assert server.stdout
            asked, answers = server.stdin, server.stdout
            at = json.loads(answers.readline())[transport]

            def figures() -> Any:
                print(file=asked, flush=True)
                return json.loads(answers.readline())

            make = grpc_sender if transport == "grpc" else http_sender
            asyncio.run(flood(make, at, body, 1.0, senders))  # warm
            before, own = figures(), time.process_time()
            started = time.perf_counter()
            taken = asyncio.run(flood(make, at, body, seconds, senders))
            elapsed = time.perf_counter() - started
            after, own = figures(), time.process_time() - own
            asked.close()
    count, rate = len(taken) * spans, len(taken) * spans / elapsed
    cuts = [cut * 1000 for cut in statistics.quantiles(taken, n=100)]
    cpu = after["cpu_s"] - before["cpu_s"]
    print(f"{transport}: {rate:,.0f} spans/s for {elapsed:.0f} s, {len(taken)} requests of {len(body):,} bytes")
    print(f"  acknowledged in {cuts[49]:.0f} ms (p50), {cuts[98]:.0f} ms (p99), {max(taken) * 1000:.0f} ms at most")
    print(f"  receiver: peak memory {before['peak_mb']:.0f} MB at the start, {after['peak_mb']:.0f} MB at the end")
    shares = f"{cpu / elapsed:.0%} of a core, the sender {own / elapsed:.0%}"
    print(f"  receiver: {cpu / count * 1e6:.1f} us of CPU a span ({shares}), {after['commit_ms']:.1f} ms a commit")
    print(f"  left open: {after['open']} traces, {after['disk_mb']:.0f} MB on disk")


def many_open(traces: int) -> None:
    """So many traces whose roots never come: what they cost, and what finding the complete one among them costs."""
    from gpa.ingest.completion import Patience
    from gpa.ingest.receiver.requests import protobuf_batch
    from gpa.ingest.spool import open_spool

    request = ExportTraceServiceRequest.FromString(template(500, 500, 600))
    for span in request.resource_spans[0].scope_spans[0].spans:
        span.parent_span_id = MARK
    body = request.SerializeToString()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory(dir=os.environ.get("GPA_BENCHMARK_FOLDER")) as folder:
        with open_spool(Path(folder) / "spool.db") as spool:
            started = time.perf_counter()
            for number in range(2, traces // 500 + 2):  # 0 would be no parent, 1 the span itself
                spool.append(protobuf_batch(body.replace(MARK, number.to_bytes(8, "big")), "spans"))
            stored = time.perf_counter() - started
            root = ExportTraceServiceRequest.FromString(template(1, 1, 600)).SerializeToString()
            spool.append(protobuf_batch(root, "spans"))
            time.sleep(0.1)
            started = time.perf_counter()
            ready = spool.complete(Patience(quiet_s=0.1))
            found = time.perf_counter() - started
            started = time.perf_counter()
            status = spool.status()
            looked = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{status.open_traces:,} open traces in {stored:.1f} s, {traces / stored:,.0f} new traces/s")
    print(f"  the {len(ready)} complete one found in {found * 1000:.1f} ms, the figures in {looked * 1000:.1f} ms")
    print(f"  peak memory {before / 1024:.0f} MB before, {after / 1024:.0f} MB after")


def main() -> None:
    """Run the measurements asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--spans", type=int, default=512, help="in a request")
    parser.add_argument("--traces", type=int, default=16, help="that these belong to")
    parser.add_argument("--span-bytes", type=int, default=1500)
    parser.add_argument("--senders", type=int, default=4, help="requests under way at a time")
    parser.add_argument("--transport", choices=("grpc", "http"), action="append")
    parser.add_argument("--open-traces", type=int, help="measure so many open traces instead, for example 100000")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.open_traces:
        many_open(options.open_traces)
        return
    body = template(options.spans, options.traces, options.span_bytes)
    for transport in options.transport or ("grpc", "http"):
        measure(transport, body, options.spans, options.seconds, options.senders)


if __name__ == "__main__":
    main()
