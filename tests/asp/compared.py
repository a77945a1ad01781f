"""The comparison of the engine's answers with clingo's, and what fails made smaller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from adalog.datalog import ast
from adalog.datalog.edn import read, write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import EdnList, identity, sort_key
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.asp.nests import SCHEMA, VALUES, Asked
from tests.asp.translated import Row, Untranslatable, solved

REFUSED = (Code.UNBOUND_VARIABLE, Code.UNSTRATIFIABLE, Code.ARG_INVALID, Code.QUERY_INVALID)
AGGREGATES: dict[str, Any] = {"count": len, "sum": sum, "min": min, "max": max}


def check(forms: Sequence[str], asked: Asked, switches: Sequence[Options], *, threads: int = 1) -> bool:
    """Whether the query is answered at all; every way of running it answers as clingo does."""
    wrong, answered = difference(forms, asked, switches, threads)
    if wrong is not None:
        forms, asked, wrong = smallest(forms, asked, switches, threads, wrong)
        data = " ".join(forms)
        raise AssertionError(f"{wrong}\n[{data}]\n{asked.text}\n{asked.rules}\n{' '.join(asked.args)}")
    return answered


def difference(
    forms: Sequence[str], asked: Asked, switches: Sequence[Options], threads: int = 1
) -> tuple[str | None, bool]:
    """What is wrong, or None; and whether there was an answer to compare."""
    with filled(forms) as database:
        pool = Pool(database, PoolSettings(threads=threads))
        try:
            return compared(pool, asked, switches)
        finally:
            pool.close()


def filled(forms: Sequence[str]) -> Database:
    """A database of the forms' datoms."""
    database = Database.open(":memory:")
    database.transact(SCHEMA)
    database.transact(f"[{' '.join(forms)}]")
    return database


def compared(
    pool: Pool, asked: Asked, switches: Sequence[Options], engine: str = "LOCAL"
) -> tuple[str | None, bool]:
    """As `difference`, of a pool over the database."""
    snapshot = pool.database.snapshot()
    args = [read(arg) for arg in asked.args]
    facts = [(d.e, d.a, d.v) for d in snapshot.datoms("EAVT") if write(d.a) in VALUES]
    try:
        query = parse_query(asked.text, asked.rules)
        wanted = shown(query, solved(query, facts, args))
    except (AdalogError, Untranslatable):
        return None, False
    if wanted is None:
        return None, False
    for options in switches:
        request = QueryRequest(asked.text, [*args, asked.rules], snapshot, engine=engine, options=options)
        try:
            wrong = told(query, wanted, [tuple(row) for row in pool.run(request).rows()])
        except AdalogError as error:
            if error.code in REFUSED:
                return None, False
            wrong = repr(error)
        except Exception as error:
            wrong = repr(error)
        if wrong is not None:
            return f"{wrong}, with {options}", True
    return None, True


def shown(query: ast.Query, tuples: set[Row]) -> list[Row] | None:
    """The rows of a query, from the tuples of its find and `:with` variables; None where an aggregate refuses."""
    answer = list(dict.fromkeys([*(e.var.name for e in query.find.elements), *(v.name for v in query.with_)]))
    places = [(answer.index(each.var.name), each) for each in query.find.elements]
    plain = [place for place, each in places if isinstance(each, ast.FindVar)]
    groups: dict[Row, list[Row]] = {}
    for values in tuples:
        groups.setdefault(tuple(values[place] for place in plain), []).append(values)
    rows = []
    for members in groups.values():
        row = []
        for place, each in places:
            column = [values[place] for values in members]
            if isinstance(each, ast.FindVar):
                row.append(column[0])
            elif each.name == "count" or all(type(value) is int for value in column):
                row.append(AGGREGATES[each.name](column))
            else:
                return None
        rows.append(tuple(row))
    for key in reversed(query.order_by):
        place = next(i for i, each in enumerate(query.find.elements) if each.var == key.var)
        rows.sort(key=lambda row, place=place: sort_key(row[place]), reverse=key.descending)
    return rows


def told(query: ast.Query, wanted: list[Row], got: list[Row]) -> str | None:
    """What is wrong with the rows got."""
    mine, theirs = [tuple(map(identity, row)) for row in got], [tuple(map(identity, row)) for row in wanted]
    if len(set(mine)) != len(mine):
        return f"a row twice: {got}"
    right = set(mine) <= set(theirs) and len(mine) == len(theirs[: query.limit])
    if query.order_by:
        right = mine == theirs[: query.limit]
    return None if right else f"{got}, not {wanted}"


# What fails, made smaller


def smallest(
    forms: Sequence[str], asked: Asked, switches: Sequence[Options], threads: int, wrong: str
) -> tuple[Sequence[str], Asked, str]:
    """The same failure with as little in it as can be."""
    for _ in range(200):
        for less_forms, less in (*((f, asked) for f in fewer(forms)), *((forms, each) for each in smaller(asked))):
            found, _ = difference(less_forms, less, switches, threads)
            if found is not None:
                forms, asked, wrong = less_forms, less, found
                break
        else:
            break
    return forms, asked, wrong


def fewer(forms: Sequence[str]) -> Iterator[Sequence[str]]:
    for i in range(len(forms)):
        yield [*forms[:i], *forms[i + 1 :]]


def smaller(asked: Asked) -> Iterator[Asked]:
    for rules in less(read(asked.rules)):
        yield replace(asked, rules=write(rules))
    for text in less(read(asked.text)):
        yield replace(asked, text=write(text))


def less(form: Any) -> Iterator[Any]:
    """A form with one of the forms in it gone, or in the place of the one around it."""
    if not isinstance(form, tuple):
        return
    made = EdnList if isinstance(form, EdnList) else tuple
    for i, each in enumerate(form):
        yield made((*form[:i], *form[i + 1 :]))
        if isinstance(each, tuple):
            for inner in each:
                if isinstance(inner, tuple):
                    yield made((*form[:i], inner, *form[i + 1 :]))
        for instead in less(each):
            yield made((*form[:i], instead, *form[i + 1 :]))
