"""The metrics of all workers as one text: whichever worker is asked, each sample says by a label whose it is.

They are not added up: a worker that was started again begins at 0, which Prometheus understands of one series, not
of a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from adalog.datalog.errors import AdalogError
from adalog.gateway.observe.metrics import CallbackCollector
from adalog.gateway.workers.board import Board
from adalog.gateway.workers.calls import Calls

NAME: Final = "metrics"
# A scrape has ten seconds by default; a worker that does not answer is left out.
_SECONDS: Final = 3.0


def text_of_all(own: Iterable[Metric], calls: Calls, board: Board) -> bytes:
    """The metrics of this worker and of the others that answer. Not on the event loop."""
    others = calls.others()
    with ThreadPoolExecutor(len(others)) as asking:
        said = dict(zip(others, asking.map(lambda each: _asked(calls, each), others), strict=True))
    of = {calls.number: own, **{number: families for number, families in said.items() if families is not None}}
    registry = CollectorRegistry(auto_describe=False)
    families = [*merged(of), *_own_figures(board)]
    registry.register(CallbackCollector(lambda: families))
    return generate_latest(registry)


def _asked(calls: Calls, worker: int) -> list[Metric] | None:
    try:
        return next(calls.ask(worker, NAME, seconds=_SECONDS), None)
    except AdalogError:
        return None


def merged(of: Mapping[int, Iterable[Metric]]) -> list[Metric]:
    """The families of several workers, each of them once, with the samples of all."""
    families: dict[str, Metric] = {}
    for number, own in sorted(of.items()):
        for family in own:
            whole = families.get(family.name)
            if whole is None:
                whole = families[family.name] = Metric(family.name, family.documentation, family.type)
            whole.samples += [
                sample._replace(labels={"worker": str(number), **sample.labels}) for sample in family.samples
            ]
    return list(families.values())


def _own_figures(board: Board) -> Iterator[Metric]:
    yield GaugeMetricFamily("adalog_workers", "Workers of this server.", board.workers)
    yield GaugeMetricFamily("adalog_workers_ready", "Workers that are ready.", board.ready)
    yield CounterMetricFamily(
        "adalog_worker_restarts", "Workers that ended and were started again.", board.restarts
    )
