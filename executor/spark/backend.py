"""What the pool and its engine need of Spark: a session of this process, or of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from adalog.executor.prediction import ClusterCapacity

if TYPE_CHECKING:
    from adalog.executor.answer.parquet import Output
    from adalog.executor.bounds.run import QueryRun
    from adalog.executor.evaluation.local import JoinOutcome
    from adalog.executor.question.inputs import Inputs
    from adalog.planner.model.plan import Plan


class SparkBackend(Protocol):
    """See `executor.spark.engine.SparkEngine`."""

    @property
    def state(self) -> str: ...

    @property
    def cluster(self) -> ClusterCapacity: ...

    def wait_ready(self, timeout: float | None = None) -> bool: ...

    def close(self) -> None: ...

    def run_join(
        self, plan: Plan, inputs: Inputs, run: QueryRun, *, most: int | None, ordered: bool, output: Output | None
    ) -> JoinOutcome: ...
