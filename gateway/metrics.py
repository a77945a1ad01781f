"""The process's Prometheus metrics, in a registry of their own."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_ROWS = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


class Metrics:
    """Counts what the gateway answers and reads the store's and the pool's state when it is asked."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "adalog_requests", "GraphQL root fields answered.", ["field", "code"], registry=self.registry
        )
        self._seconds = Histogram(
            "adalog_request_seconds", "Time to answer.", ["field"], buckets=_SECONDS, registry=self.registry
        )
        self._rows = Histogram(
            "adalog_query_rows", "Rows in the answers of q.", buckets=_ROWS, registry=self.registry
        )
        self._counters: dict[tuple[str, str], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A figure that is looked up whenever the metrics are read."""
        Gauge(name, description, registry=self.registry).set_function(read)

    def answered(self, field: str, code: str, seconds: float) -> None:
        """One root field was answered; `code` is OK or the error's."""
        counter = self._counters.get((field, code))
        if counter is None:
            counter = self._counters[field, code] = self._requests.labels(field, code)
            self._histograms[field] = self._seconds.labels(field)
        counter.inc()
        self._histograms[field].observe(seconds)

    def rows(self, count: int) -> None:
        self._rows.observe(count)

    def text(self) -> bytes:
        return generate_latest(self.registry)
