"""The process's Prometheus metrics, in a registry of their own."""

from __future__ import annotations

import platform
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from adalog.executor.distribution import Distribution
from adalog.store.files.formats import RELEASE

if TYPE_CHECKING:
    from adalog.executor.cache.answers import ResultCache
    from adalog.executor.live.hub.hub import Hub
    from adalog.executor.turns.scheduler import Scheduler

AnyFamily = TypeVar("AnyFamily", CounterMetricFamily, GaugeMetricFamily)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: tuple[float, ...] = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_ROWS: tuple[float, ...] = (0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


class CallbackCollector(Collector):
    """Metrics that are looked up whenever they are read."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        return self._read()


def _labelled(family: AnyFamily, counts: Mapping[str, int]) -> AnyFamily:
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def cache_figures(cache: ResultCache) -> Iterator[Metric]:
    counts = cache.tally.all()
    events = CounterMetricFamily("adalog_cache", "Look-ups and writes of answers.", labels=["layer", "outcome"])
    carried = CounterMetricFamily("adalog_cache_bytes", "Bytes from and to Redis.", labels=["direction"])
    for (layer, outcome), count in sorted(counts.items()):
        if outcome.startswith("bytes "):
            carried.add_metric([outcome.removeprefix("bytes ")], count)
        else:
            events.add_metric([layer, outcome], count)
    yield from (events, carried)
    memory, redis = cache.memory, cache.redis
    yield GaugeMetricFamily("adalog_cache_memory_bytes", "Bytes of answers kept here.", memory.nbytes)
    yield GaugeMetricFamily("adalog_cache_memory_entries", "Answers kept here.", len(memory))
    if redis is not None:
        yield GaugeMetricFamily("adalog_cache_redis_up", "1 while Redis is asked.", int(redis.usable))
        yield GaugeMetricFamily(
            "adalog_cache_redis_round_trip_seconds", "A round trip, as measured.", redis.cost.round_trip
        )


def lane_figures(scheduler: Scheduler) -> Iterator[Metric]:
    """What runs and waits in each lane."""
    figures = scheduler.figures()
    running = GaugeMetricFamily("adalog_lane_running", "Queries that have a place.", labels=["lane"])
    waiting = GaugeMetricFamily("adalog_lane_waiting", "Queries that wait for one.", labels=["lane"])
    waits = SummaryMetricFamily("adalog_lane_wait_seconds", "Time waited for a place.", labels=["lane"])
    refused = CounterMetricFamily(
        "adalog_lane_refused", "Queries that would have waited too long, or found too many.", labels=["lane"]
    )
    moves = CounterMetricFamily(
        "adalog_lane_moves", "Changes of lane and place, by their reason.", labels=["reason"]
    )
    for lane, each in figures.lanes.items():
        running.add_metric([lane], figures.running[lane])
        waiting.add_metric([lane], figures.waiting[lane])
        waits.add_metric([lane], each.started, each.waited)
        refused.add_metric([lane], each.refused)
    for reason, count in figures.moves.items():
        moves.add_metric([reason], count)
    yield from (running, waiting, waits, refused, moves)


def live_figures(hub: Hub) -> Iterator[Metric]:
    """Subscriptions, views and their events."""
    figures = hub.figures
    for name, description, value in (
        ("subscriptions", "Subscriptions that are open.", figures.subscriptions),
        ("feeds", "Queries that are followed, each with its arguments.", figures.feeds),
        ("views", "The same, where queries that differ in their arguments count once.", figures.views),
        ("bytes", "What views keep, and snapshots that are not read yet.", hub.holdings.held),
        ("mailbox_bytes", "Events that wait for their subscribers.", hub.mail.held),
    ):
        yield GaugeMetricFamily(f"adalog_live_{name}", description, value)
    events = CounterMetricFamily("adalog_live_events", "Events, for each subscriber.", labels=["kind"])
    for kind, count in sorted(figures.events.copy().items()):
        events.add_metric([str(kind)], count)
    yield events
    for name, description, count in (
        ("overflows", "Mailboxes that were full.", figures.overflows),
        ("resets", "Streams that started over.", figures.resets),
        ("refused", "Subscriptions that were refused because there are too many.", figures.refused),
    ):
        yield CounterMetricFamily(f"adalog_live_{name}", description, count)
    ticks = SummaryMetricFamily(
        "adalog_live_tick_seconds", "Time of a transaction that touches a live query, on the hub's thread."
    )
    ticks.add_metric([], figures.ticks, figures.tick_seconds)
    yield ticks
    lags = HistogramMetricFamily(
        "adalog_live_lag_seconds", "From a transaction's instant until its events wait for their subscribers."
    )
    _show(figures.lags, lags)
    yield lags


def build_figures() -> Iterator[Metric]:
    """What runs, as labels of a 1."""
    family = GaugeMetricFamily("adalog_build_info", "The version that runs.", labels=["version", "python"])
    family.add_metric([RELEASE, platform.python_version()], 1)
    yield family


def disk_figures(places: Mapping[str, str]) -> Iterator[Metric]:
    """The disks of folders, by what they are for."""
    free = GaugeMetricFamily("adalog_disk_free_bytes", "Bytes left on a folder's disk.", labels=["place"])
    size = GaugeMetricFamily("adalog_disk_bytes", "Bytes of a folder's disk.", labels=["place"])
    for place, folder in places.items():
        # It may be away.
        with suppress(OSError):
            usage = shutil.disk_usage(folder)
            free.add_metric([place], usage.free)
            size.add_metric([place], usage.total)
    yield from (free, size)


def _show(figures: Distribution, family: HistogramMetricFamily, *labels: str) -> None:
    """Adds figures to a family of metrics."""
    bounds, counts = zip(*figures.counts(), strict=True)
    family.add_metric(labels, list(zip(map(floatToGoString, bounds), counts, strict=True)), figures.sum)


class Metrics:
    """Counts what the gateway answers, on its event loop, and reads the store's and the pool's state when it is
    asked."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        to = self.registry
        # `process_*`, as of any program.
        ProcessCollector(registry=to)
        self.read_from(build_figures)
        # Counted for each request, and put into the form of metrics when these are read.
        self._requests: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, Distribution] = {}
        self._rows = Distribution(_ROWS)
        self.read_from(self._answers)

    def gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """A figure that is looked up whenever the metrics are read."""
        Gauge(name, description, registry=self.registry).set_function(read)

    def count(self, name: str, description: str, read: Callable[[], int]) -> None:
        """A count that is looked up whenever the metrics are read."""
        self.read_from(lambda: [CounterMetricFamily(name, description, read())])

    def counts(self, name: str, description: str, label: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Counts by one label that are looked up whenever the metrics are read."""
        self.read_from(lambda: [_labelled(CounterMetricFamily(name, description, labels=[label]), read())])

    def gauges(self, name: str, description: str, label: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Figures by one label that are looked up whenever the metrics are read."""
        self.read_from(lambda: [_labelled(GaugeMetricFamily(name, description, labels=[label]), read())])

    def read_from(self, read: Callable[[], Iterable[Metric]]) -> None:
        """Metrics that are looked up whenever they are read."""
        self.registry.register(CallbackCollector(read))

    def answered(self, field: str, code: str, seconds: float) -> None:
        """One root field was answered; `code` is OK or the error's."""
        self._requests[field, code] += 1
        times = self._seconds.get(field)
        if times is None:
            times = self._seconds[field] = Distribution(_SECONDS)
        times.add(seconds)

    def rows(self, count: int) -> None:
        self._rows.add(count)

    def requests(self, field: str, code: str) -> int:
        """How often a field was answered so."""
        return self._requests[field, code]

    def _answers(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("adalog_requests", "GraphQL root fields answered.", labels=["field", "code"])
        for labels, count in sorted(self._requests.copy().items()):
            requests.add_metric(labels, count)
        times = HistogramMetricFamily("adalog_request_seconds", "Time to answer.", labels=["field"])
        for field, each in sorted(self._seconds.copy().items()):
            _show(each, times, field)
        rows = HistogramMetricFamily("adalog_query_rows", "Rows in the answers of q.")
        _show(self._rows, rows)
        yield from (requests, times, rows)

    def families(self) -> list[Metric]:
        return list(self.registry.collect())

    def text(self) -> bytes:
        return generate_latest(self.registry)
