"""Evaluation and delivery in figures, for Prometheus; looked up when they are asked for. Needs the extra `serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gpa.errors import StoreError
from gpa.judging import Spending
from gpa.live.delivery import Delivery
from gpa.live.evaluating import Counts
from gpa.store import Store


class Figures(Collector):
    """What `/metrics` says besides the receiver's own figures."""

    def __init__(
        self, counts: Counts, store: Store, *, spending: Callable[[], Spending | None], delivery: Delivery | None
    ) -> None:
        self._counts, self._store, self._spending, self._delivery = counts, store, spending, delivery

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        counts = self._counts
        yield CounterMetricFamily("gpa_evaluation_traces", "Traces evaluated, each revision counted.", counts.traces)
        yield CounterMetricFamily("gpa_evaluation_revised", "Of them, not the first revision.", counts.revised)
        yield GaugeMetricFamily("gpa_evaluation_under_way", "Traces being evaluated.", counts.under_way)
        yield CounterMetricFamily(
            "gpa_evaluation_postponed", "Times a trace was put back because something was away.", counts.postponed
        )
        results = CounterMetricFamily(
            "gpa_evaluation_results", "Results kept.", labels=("dimension", "type", "evaluator")
        )
        for labels, count in list(counts.results.items()):
            results.add_metric(labels, count)
        yield results
        skipped = CounterMetricFamily(
            "gpa_evaluation_skipped", "Traces that no model was asked about.", labels=("reason",)
        )
        for reason, count in list(counts.skipped.items()):
            skipped.add_metric((reason,), count)
        yield skipped
        spending = self._spending()
        if spending is not None:
            yield GaugeMetricFamily("gpa_evaluation_cost_today_usd", "Paid for models today.", spending.cost_usd)
            yield GaugeMetricFamily("gpa_evaluation_refused_today", "Requests over --max-cost.", spending.refused)
        if self._delivery is not None:
            yield CounterMetricFamily("gpa_export_events", "Events the backend took.", self._delivery.sent)
            yield CounterMetricFamily(
                "gpa_export_given_up", "Evaluations whose events it refused for good.", self._delivery.given_up
            )
            try:
                yield GaugeMetricFamily("gpa_export_waiting", "Evaluations still to be sent.", self._store.waiting())
            except StoreError:
                return

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: the figures are looked up each time."""
        return iter(())
