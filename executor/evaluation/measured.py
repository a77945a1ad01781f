"""What running a plan did, added to its explanation: `explain` with `analyze`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adalog.executor.evaluation.local import JoinOutcome, TaskCounts


def add_measured(shown: dict[str, Any], ran: JoinOutcome) -> None:
    """shown: as of `explain_plan`; its strata and levels get what each of them did, the plan gets its tasks."""
    for stratum, did in zip(shown["rules"], ran.strata, strict=False):
        stratum["actual"] = {"rows": did.rows, "rounds": did.rounds, "how": did.how, "ms": _ms(did.seconds)}
    for level, count in zip(shown["levels"], ran.levels, strict=True):
        looked = {"prefixes": count.prefixes, "candidates": count.candidates}
        level["actual"] = {**looked, "rows": count.rows, "ms": _ms(count.seconds)}
    if ran.tasks:
        shown["tasks"] = _tasks(ran.tasks)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _tasks(tasks: Sequence[TaskCounts]) -> dict[str, Any]:
    """How even the tasks of a job were: skew is the longest as a multiple of the mean."""
    seconds = sorted((task.seconds for task in tasks), reverse=True)
    mean = sum(seconds) / len(seconds)
    works = [task.work for task in tasks]
    return {
        "number": len(tasks),
        "workers": len({task.worker for task in tasks}),
        "ms": {"least": _ms(seconds[-1]), "median": _ms(seconds[len(seconds) // 2]), "most": _ms(seconds[0])},
        "skew": round(seconds[0] / mean, 2) if mean else 1.0,
        "estimatedSkew": round(max(works) * len(works) / sum(works), 2) if sum(works) else 1.0,
        "rows": sum(task.rows for task in tasks),
    }
