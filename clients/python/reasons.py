"""What `why` says as lines for people: a clause each, indented below what it is a reason for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Said = Mapping[str, Any]
_INDENT: Final = "  "


def reason_text(reason: Said) -> str:
    """The lines of what the field `why` says."""
    return "\n".join(_lines(reason))


def _lines(reason: Said) -> Iterator[str]:
    if reason["holds"]:
        rows = reason.get("rows", 1)
        yield "the row is in the answer" + (f", by {rows:,} rows of its clauses, such as" if rows > 1 else "")
        yield from _below(_steps(reason["steps"]))
        return
    yield "the row is not in the answer"
    yield from _below(_failure(reason))


def _below(lines: Iterator[str]) -> Iterator[str]:
    return (_INDENT + line for line in lines)


def _steps(steps: Sequence[Said]) -> Iterator[str]:
    for step in steps:
        yield _step(step)
        yield from _below(_steps(step.get("steps", ())))


def _step(step: Said) -> str:
    shown = step.get("fact") or step.get("clause") or ""
    if step.get("absent"):
        return f"nothing passes {shown}"
    if "branch" in step:
        return f"branch {step['branch']} of {shown}"
    if "datom" in step:
        return f"{shown}, transaction {step['datom']['t']}"
    if "rule" in step:
        return f"{shown}, by {step['rule']}"
    return f"{shown}, and more" if step.get("more") else shown


def _failure(failed: Said) -> Iterator[str]:
    """The clause that no row passes, and below it why, rule by rule."""
    if "clause" not in failed:
        yield failed.get("why", "there is more")
        return
    place = f", at {failed['line']}:{failed['column']}" if "line" in failed else ""
    known = ", ".join(f"{name} = {value}" for name, value in failed.get("with", {}).items())
    yield f"no row passes {failed['clause']}{place}{'; ' if known else ''}{known}"
    for rule in failed.get("fails", ()):
        yield f"{_INDENT}by {rule['rule']}"
        yield from _below(_below(_failure(rule)))
