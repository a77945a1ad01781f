"""One line of the benchmarks' table: adalog's figure, what it is held against, and whether the bar is met."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.arena import LIMIT_SECONDS, Outcome
from bench.work import ADALOG, Work


@dataclass(frozen=True)
class Line:
    """The ratio to theirs, or adalog's figure where there is no peer, is to be at most `bar` (at least, if `more`).

    None stands for a figure that is not to be had; `note` says why, or what else there is to know.
    """

    work: str
    title: str
    unit: str
    ours: float | None
    against: str
    theirs: float | None
    bar: float | None = None
    more: bool = False
    note: str = ""
    answer: str = ""

    @property
    def ratio(self) -> float | None:
        if self.ours is None or not self.theirs:
            return None
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        """met, missed, report where there is no bar, or unmeasured where the peer failed before its time was up.

        A failure may be the fault of how the peer is set up here: nothing is won by it.
        """
        if self.bar is None:
            return "report"
        if self.ours is None:
            return "missed"
        measured = self.ratio if self.against else self.ours
        if measured is None:
            return "unmeasured"
        return "met" if (measured >= self.bar if self.more else measured <= self.bar) else "missed"


def lines_of(results: Iterable[tuple[Work, list[Outcome]]]) -> list[Line]:
    """A line for each peer that a piece of work was also given to."""
    lines = []
    for work, outcomes in results:
        ours = next((outcome for outcome in outcomes if outcome.contestant == ADALOG), None)
        for outcome in outcomes:
            if outcome is ours:
                continue
            notes = [outcome.failure]
            if ours is not None and ours.failure:
                notes.append(f"adalog: {ours.failure}")
            lines.append(
                Line(
                    work=work.name,
                    title=f"{work.title} ({work.data})",
                    unit="s",
                    ours=ours.median if ours is not None and ours.seconds else None,
                    against=outcome.contestant,
                    theirs=_seconds(outcome),
                    bar=work.bars.get(outcome.contestant),
                    note="; ".join(note for note in notes if note),
                    answer=next((one.answer for one in outcomes if one.answer), ""),
                )
            )
    return lines


def _seconds(outcome: Outcome) -> float | None:
    """A peer stopped at the limit would have taken at least that long."""
    if outcome.seconds:
        return outcome.median
    return LIMIT_SECONDS if outcome.failure.startswith("over ") else None
