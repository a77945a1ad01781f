"""What a worker knows of the others and has them do: for the application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client.metrics_core import Metric

from gateway.metrics import Metrics
from gateway.workers.calls import Calls, Service
from gateway.workers.figures import NAME, text_of_all
from gateway.workers.worker import Post


class Workers:
    """Several gateways of one server, as one of them sees them."""

    def __init__(self, post: Post) -> None:
        self._board = post.board
        self._services: dict[str, Service] = {}
        self.calls = Calls(post, self._services)

    @property
    def counts(self) -> dict[str, int]:
        """How many there are, and how many of them are ready."""
        return {"all": self._board.workers, "ready": self._board.ready}

    def tell_metrics(self, metrics: Metrics) -> None:
        """Answers the others when they are asked for the metrics of all."""

        def told(*_: Any) -> Iterator[list[Metric]]:
            yield metrics.families()

        self._services[NAME] = told

    def metrics_text(self, own: Metrics) -> bytes:
        """The metrics of all that answer. Not on the event loop."""
        return text_of_all(own.families(), self.calls, self._board)
