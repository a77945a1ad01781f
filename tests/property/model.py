"""A database as its naive model, and the comparison of the engine's answers with the oracle's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import event, reject

from datalog import ast
from datalog.edn import read
from datalog.errors import AdalogError, Code
from datalog.parser import parse_query
from datalog.values import identity, sort_key
from executor.pool import Pool, Request
from planner.plan import Options
from store.snapshot import TX_BASE, Snapshot
from tests.oracle import Facts, TooMuchError, UnboundError, answer
from tests.property.generated import Asked

SWITCHES = (
    Options(),
    Options(reorder=False),
    Options(project=False),
    Options(budget=1),
    Options(reorder=False, project=False, budget=3),
)


class Log:
    """Every datom ever transacted, from the reports alone."""

    def __init__(self, bootstrap: Iterable[Any]) -> None:
        self.datoms = list(bootstrap)

    def facts(self, *, as_of: int | None = None, since: int = 0, history: bool = False) -> Facts:
        """The datoms of a view, found by replaying the log."""
        seen = [d for d in self.datoms if as_of is None or d.t <= as_of]
        names = Facts((d.e, d.a, d.v, 0, True) for d in seen)
        if not history:
            held: dict[Any, Any] = {}
            for d in seen:
                key = (d.e, d.a, identity(d.v))
                if d.added:
                    held[key] = d
                else:
                    held.pop(key, None)
            seen = list(held.values())
        facts = Facts((d.e, d.a, d.v, TX_BASE + d.t, d.added) for d in seen if d.t > since)
        facts.idents, facts.types = names.idents, names.types
        return facts


def check(
    pool: Pool,
    snapshot: Snapshot,
    facts: Facts,
    asked: Asked,
    switches: Sequence[Options] = SWITCHES,
    engine: str = "LOCAL",
) -> None:
    """The engine answers as the oracle does, whatever the switches; or both refuse."""
    query = parse_query(asked.text)
    args = [read(arg) for arg in asked.args]
    expected = outcome(lambda: answer(query, facts, args))
    event(expected if isinstance(expected, str) else f"{min(len(expected), 3)} or more rows")
    for options in switches:
        request = Request(asked.text, args, snapshot, engine=engine, options=options)
        got = outcome(lambda request=request: pool.run(request).rows())
        if asked.partial and Code.QUERY_INVALID in (got, expected):
            continue  # which rows a function sees before others drop them is not specified
        compare(query, expected, got, f"{asked.text} {' '.join(asked.args)}\n{options}")


def outcome(act: Any) -> Any:
    """Rows, or the code of the refusal."""
    try:
        return act()
    except UnboundError:
        return Code.UNBOUND_VARIABLE
    except TooMuchError:
        reject()
    except AdalogError as error:
        return error.code
    except (TypeError, AttributeError):
        return Code.QUERY_INVALID


def compare(query: ast.Query, expected: Any, got: Any, about: str) -> None:
    if isinstance(expected, str) or isinstance(got, str):
        assert got == expected, f"{about}\nexpected {expected}\ngot {got}"
        return
    mine, theirs = [key(row) for row in got], {key(row): row for row in expected}
    assert len(set(mine)) == len(mine), f"{about}\nrepeats itself: {got}"
    unknown = [row for row in got if key(row) not in theirs]
    assert not unknown, f"{about}\nshould not have {unknown}\nexpected {expected}\ngot {got}"
    size = max(0, len(expected) - query.offset)
    if query.limit is not None:
        size = min(size, query.limit)
    assert len(got) == size, f"{about}\nexpected {size} rows of {expected}\ngot {got}"
    if query.order_by:
        stop = query.offset + size
        wanted = [ranks(query, row) for row in expected[query.offset : stop]]
        assert [ranks(query, row) for row in got] == wanted, f"{about}\nexpected order {expected}\ngot {got}"


def ranks(query: ast.Query, row: Sequence[Any]) -> list[Any]:
    """What the row is ordered by."""
    places = {e.var: i for i, e in enumerate(query.find.elements) if isinstance(e, ast.FindVar)}
    return [sort_key(row[places[each.var]]) for each in query.order_by]


def key(row: Sequence[Any]) -> Any:
    """A row's identity, doubles rounded: a sum may be taken in any order."""
    return tuple(identity(round(value, 9) if type(value) is float else value) for value in row)
