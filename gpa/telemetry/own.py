"""What the evaluator says of itself when asked: a span for each evaluation and a few metrics, to the same backend.

The spans are traces of their own, linked to the spans they are about, and never part of what is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpa.judges.verdict import AnyResult
from gpa.telemetry.events import contexts_of
from gpa.telemetry.sending import SCOPE, Endpoint, resource

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter

    from gpa.ingest.transcript import Transcript

TIMEOUT_S = 5.0
EVERY_S = 30.0


class Own:
    """Records evaluations."""

    def __init__(self, spans: SpanExporter, metrics: MetricExporter) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._tracers = TracerProvider(resource=resource(), shutdown_on_exit=False)
        self._tracers.add_span_processor(BatchSpanProcessor(spans))
        reader = PeriodicExportingMetricReader(metrics, export_interval_millis=EVERY_S * 1000)
        self._meters = MeterProvider([reader], resource=resource(), shutdown_on_exit=False)
        meter = self._meters.get_meter(SCOPE)
        self._tracer = self._tracers.get_tracer(SCOPE)
        self._duration = meter.create_histogram("gpa.evaluation.duration", "s", "Time to judge a trace")
        self._results = meter.create_counter("gpa.evaluation.results", "{result}", "Results by dimension and type")
        self._cost = meter.create_counter("gpa.evaluation.cost", "USD", "What models were paid")

    def evaluated(
        self, transcript: Transcript, results: Sequence[AnyResult], *, revision: int, start_ns: int, end_ns: int
    ) -> None:
        """Record that a trace was judged."""
        from opentelemetry.trace import Link, SpanContext, TraceFlags

        links = [
            Link(SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(1)))
            for trace_id, span_id in contexts_of(transcript, results)
        ]
        evaluators = sorted({result.model for result in results})
        span = self._tracer.start_span(
            "gpa.evaluate",
            links=links,
            start_time=start_ns,
            attributes={
                "gpa.trace.id": transcript.trace_id,
                "gpa.evaluation.revision": revision,
                "gpa.evaluation.steps": len(transcript.steps),
                "gpa.evaluator.name": evaluators,
            },
        )
        span.end(end_ns)
        for evaluator in evaluators:
            self._duration.record((end_ns - start_ns) / 1e9, {"gpa.evaluator.name": evaluator})
        for result in results:
            about = {"gpa.evaluation.dimension": result.judge, "gpa.evaluator.name": result.model}
            self._results.add(1, about | {"gpa.evaluation.type": result.type})
            if result.cost_usd:
                self._cost.add(result.cost_usd, about)

    def close(self) -> None:
        """Send what is left, or give up."""
        self._tracers.shutdown()
        self._meters.shutdown(timeout_millis=TIMEOUT_S * 1000)


@contextmanager
def recording(endpoint: Endpoint) -> Iterator[Own]:
    """A recorder as long as the block lasts; `opened` of `gpa.telemetry.sending` has checked that the SDK is there."""
    headers = endpoint.headers or None
    if endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans

        own = Own(
            GrpcSpans(endpoint=endpoint.url, headers=headers, timeout=TIMEOUT_S),
            GrpcMetrics(endpoint=endpoint.url, headers=headers, timeout=TIMEOUT_S),
        )
    else:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans

        own = Own(
            HttpSpans(endpoint=endpoint.base("traces"), headers=headers, timeout=TIMEOUT_S),
            HttpMetrics(endpoint=endpoint.base("metrics"), headers=headers, timeout=TIMEOUT_S),
        )
    try:
        yield own
    finally:
        own.close()
