"""What a worker knows of the others and has them do: for the application."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from prometheus_client.metrics_core import Metric

from adalog.cluster.status import SessionStatus
from adalog.executor.bounds.other_processes import OtherProcesses
from adalog.gateway.observe.metrics import Metrics
from adalog.gateway.workers.calls import Calls, Gone, Service
from adalog.gateway.workers.shared_metrics import NAME, text_of_all
from adalog.gateway.workers.shared_queries import QueriesOfAll
from adalog.gateway.workers.supervisor_link import SupervisorLink

if TYPE_CHECKING:
    from adalog.executor.bounds.budget import Memory
    from adalog.executor.spark.engine import SparkEngine
    from adalog.executor.spark.remote import RemoteAnswer, RemoteJoin, RemoteSpark
    from adalog.executor.turns.running_queries import RunningQueries

_WITH_SPARK: Final = 0
_JOIN, _IMPORT = "join", "import"
_LOOK_SECONDS: Final = 0.05
_TELL_SECONDS: Final = 0.25


class HasBeside(Protocol):
    """What may be for several processes."""

    beside: OtherProcesses


class Workers:
    """Several gateways of one server, as one of them sees them."""

    def __init__(self, post: SupervisorLink) -> None:
        self.board = post.board
        self.fills = post.board.fills
        self._number = post.number
        self._services: dict[str, Service] = {}
        self._calls = Calls(post, self._services)
        self._ended = threading.Event()

    @property
    def counts(self) -> dict[str, int]:
        """How many there are, and how many of them are ready."""
        return {"all": self.board.workers, "ready": self.board.ready}

    def end(self) -> None:
        """Nothing more is told to the others."""
        self._ended.set()

    def share(self, **amounts: HasBeside) -> None:
        """Has amounts be for all workers together: `board.AMOUNTS` by name."""
        for name, amount in amounts.items():
            amount.beside = self.board.beside(self._number, name)

    # Metrics

    def tell_metrics(self, metrics: Metrics) -> None:
        """Answers the others when they are asked for the metrics of all."""

        def told(_: Gone) -> Iterator[list[Metric]]:
            yield metrics.families()

        self._services[NAME] = told

    def metrics_text(self, own: Metrics) -> bytes:
        """The metrics of all that answer. Not on the event loop."""
        return text_of_all(own.families(), self._calls, self.board)

    # Queries

    def queries(self, own: RunningQueries) -> QueriesOfAll:
        """The queries of all workers; answers the others when they ask for those of this one."""
        queries = QueriesOfAll(own, self._calls)
        self._services |= queries.services()
        return queries

    # Spark: one session, of one worker

    @property
    def has_spark(self) -> bool:
        """Whether this is the worker that has it."""
        return self._number == _WITH_SPARK

    def share_spark(self, engine: SparkEngine, memory: Memory) -> None:
        """Runs what the others send, and says how it stands with the session."""
        from adalog.executor.spark.remote import run_sent

        def joined(gone: Gone, sent: RemoteJoin) -> Iterator[RemoteAnswer]:
            yield run_sent(engine, memory, sent, gone)

        def tell() -> None:
            while not self._ended.wait(_TELL_SECONDS):
                cluster = engine.cluster
                self.board.tell_spark(
                    SessionStatus(engine.state, engine.cores, cluster.tasks, cluster.idle_seconds)
                )

        self.board.tell_spark(SessionStatus("starting", 0, 0, 0.0))
        self._services[_JOIN] = joined
        threading.Thread(target=tell, name="adalog-spark-told", daemon=True).start()

    def spark(self) -> RemoteSpark:
        from adalog.executor.spark.remote import RemoteSpark

        def ask(sent: RemoteJoin) -> Generator[RemoteAnswer | None]:
            return self._calls.ask(_WITH_SPARK, _JOIN, sent, tick=_LOOK_SECONDS)

        return RemoteSpark(ask, lambda: self.board.spark)

    def share_imports(self, run: Callable[[Gone, Any], Iterator[Any]]) -> None:
        self._services[_IMPORT] = run

    def imported(self, wish: Any) -> Generator[Any]:
        """What is said of an import that the worker with Spark does; None while nothing is."""
        return self._calls.ask(_WITH_SPARK, _IMPORT, wish, tick=_LOOK_SECONDS)
