"""Transaction functions: calls of stored queries become the forms that their rows are.

A stored query is an entity with a `:db/ident` and a `:db/fn`, the text of a Datalog query. It reads the database as
it was before the transaction, and nothing but Datalog runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from adalog.datalog.ast import FindAggregate
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import EdnMap, Keyword
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact.operations import PRODUCED, Path, RefusedTransaction, invalid
from adalog.store.transact.suspicions import Suspicions
from adalog.store.values import bootstrap

# What is built in: the least and the most arguments, and how a call looks.
OPERATIONS: Final = {
    Keyword("db/add"): (3, 3, "[:db/add entity attribute value]"),
    Keyword("db/retract"): (2, 3, "[:db/retract entity attribute value]"),
    Keyword("db/retractEntity"): (1, 1, "[:db/retractEntity entity]"),
    Keyword("db.fn/retractEntity"): (1, 1, "[:db.fn/retractEntity entity]"),
    Keyword("db.fn/retractAttribute"): (2, 2, "[:db.fn/retractAttribute entity attribute]"),
    Keyword("db/cas"): (4, 4, "[:db/cas entity attribute old new]"),
    Keyword("db.fn/cas"): (4, 4, "[:db.fn/cas entity attribute old new]"),
    Keyword("db.fn/inc"): (2, 3, "[:db.fn/inc entity attribute number]"),
    Keyword("db.fn/toggle"): (2, 2, "[:db.fn/toggle entity attribute]"),
    Keyword("db.fn/default"): (3, 3, "[:db.fn/default entity attribute value]"),
}

# Calls that make calls that make calls …, and the forms that all of a transaction's calls may make.
_MOST_NESTED: Final = 8
_MOST_FORMS: Final = 100_000
_MOST_CALLS: Final = 1_000

Placed = tuple[Any, Path]


def expanded(
    forms: Sequence[Any], state: DatabaseState, evaluation: Evaluation, suspects: Suspicions
) -> list[Placed]:
    """Each form with its place; calls are replaced by what they make, at the place of the call."""
    calls: list[int] = []
    for place, form in enumerate(forms):
        if type(form) is tuple and form and form[0] not in OPERATIONS and isinstance(form[0], Keyword):
            calls.append(place)
    if not calls:
        return [(form, (place,)) for place, form in enumerate(forms)]
    called, calling = set(calls), _Calls(state, evaluation, suspects)
    placed: list[Placed] = []
    for place, form in enumerate(forms):
        if place in called:
            placed.extend(calling.made(form, (place,), 1))
        else:
            placed.append((form, (place,)))
    return placed


class _Calls:
    def __init__(self, state: DatabaseState, evaluation: Evaluation, suspects: Suspicions) -> None:
        self._state = state
        self._evaluation = evaluation
        self._suspects = suspects
        self._forms = 0
        self._calls = 0

    def made(self, call: tuple[Any, ...], path: Path, depth: int) -> Iterator[Placed]:
        """What a call makes, and the calls in that."""
        name = call[0]
        query = stored_query(name, self._state)
        if query is None:
            raise invalid(_unknown(call, self._state), (*path, 0))
        self._count(name, path, depth)
        try:
            rows = self._evaluation.rows(query, call[1:], self._state.snapshot())
        except AdalogError as error:
            code = error.code if error.retryable or error.code is Code.BACKEND_UNAVAILABLE else Code.TX_INVALID
            raise RefusedTransaction(code, f"{name}: {error.message}", path) from None
        if not rows:
            self._suspects.fruitless.append((name, path))
        self._forms += len(rows)
        if self._forms > _MOST_FORMS:
            raise RefusedTransaction(
                Code.LIMIT_EXCEEDED, f"the transaction's functions make more than {_MOST_FORMS:,} forms", path
            )
        for number, row in enumerate(rows):
            form, at = _form(name, row, path), (*path, PRODUCED, number)
            if isinstance(form, tuple) and form[0] not in OPERATIONS:
                yield from self.made(form, at, depth + 1)
            else:
                yield form, at

    def _count(self, name: Keyword, path: Path, depth: int) -> None:
        self._calls += 1
        if depth > _MOST_NESTED:
            raise RefusedTransaction(
                Code.LIMIT_EXCEEDED, f"{name} is called more than {_MOST_NESTED} calls deep", path
            )
        if self._calls > _MOST_CALLS:
            raise RefusedTransaction(Code.LIMIT_EXCEEDED, f"a transaction may make {_MOST_CALLS:,} calls", path)


def _form(name: Keyword, row: tuple[Any, ...], path: Path) -> Any:
    """The form that a row is: a vector or map in its one column, or else its columns together."""
    form = row[0] if len(row) == 1 else row
    if isinstance(form, EdnMap) or (type(form) is tuple and form and isinstance(form[0], Keyword)):
        return form
    raise invalid(
        f"{name} gives {shown(form)}, which is no transaction form; let its :find be an operation and its "
        "arguments, say ?op ?e ?a ?v, or one map or vector",
        path,
    )


_ADDED: Final = '; write [:db/add 1 :person/name "Ada"]'
_OTHER_OPERATIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("insert", "assert", "update", "upsert", "set", "put", "add"), '; write [:db/add 1 :person/name "Ada"]'
    ),
    **dict.fromkeys(("delete", "remove"), "; write [:db/retractEntity 1], or [:db/retract 1 :person/name]"),
    "call": "; a function is called by its name: [:my/function 1]",
    **dict.fromkeys(
        ("purge", "entity", "excise", "excision"),
        "; {:db/excise 1} takes all that was ever said of an entity, [:db/retractEntity 1] keeps its past",
    ),
    "patchidoc": '; a document is an entity with attributes, or a string: [:db/add 1 :doc/title "Ada"]',
}
"""What other databases call their operations, and what to write."""


_OF_DOCUMENTS: Final[Mapping[str, str]] = {
    "put": '; a document is a map, which adds to its entity: [{:xt/id :ada :person/name "Ada"}]',
    "delete": "; write [:db/retractEntity [:xt/id :ada]]",
    "evict": "; write {:db/excise [:xt/id :ada]}, in a transaction of its own",
    **dict.fromkeys(
        ("match", "cas"),
        "; write [:db/cas entity attribute old new], which refuses the transaction if old is not there",
    ),
    "fn": "; a function is called by its name: [:my/function 1]",
}
"""Operations of XTDB."""


def _unknown(call: tuple[Any, ...], state: DatabaseState) -> str:
    name = call[0]
    builtin = [str(each) for each in OPERATIONS]
    value = shown(call[1]) if len(call) == 2 else "value"
    asserted = f"write [:db/add entity {name} {value}] or {{{name} {value}}}"
    if state.schema.get(name) is not None:
        return f"{name} is an attribute, and no operation; {asserted}"
    if state.ident_holder(name) is not None:
        return f"{name} holds no query, which :db/fn would give it to call it; as an attribute, {asserted}"
    others = _OF_DOCUMENTS if name.namespace in ("xtdb.api", "xt", "crux.tx") else _OTHER_OPERATIONS
    suggestion = others.get(name.local.lower(), "") or nearest(str(name), builtin)
    if not suggestion and len(call) == 3:
        suggestion = f"; a datom is added by [:db/add {name} {shown(call[1])} {shown(call[2])}]"
    known = "" if suggestion else f"; there are {', '.join(builtin[:3])}, :db/cas and what has a :db/fn"
    return f"no operation {name}{suggestion}{known}"


def stored_query(name: Keyword, state: DatabaseState) -> str | None:
    """The text of the query that the entity with this ident holds."""
    entity = state.ident_holder(name)
    texts = () if entity is None else state.values(bootstrap.FN, entity)
    return next(iter(texts), None)


def check_query(text: str, path: Path) -> None:
    """Refuse a text that is no query, or whose answer could be another one next time."""
    try:
        query = parse_query(text)
    except AdalogError as error:
        raise invalid(f"the query of :db/fn: {error.message}", path, error.position) from None
    for aggregate in _aggregates(query):
        if aggregate.known.by_chance:
            raise invalid(
                "the query of :db/fn uses chance; a transaction has to mean the same every time",
                path,
                aggregate.position,
            )


def _aggregates(part: object) -> Iterator[FindAggregate]:
    if isinstance(part, FindAggregate):
        yield part
    elif is_dataclass(part):
        for each in fields(part):
            yield from _aggregates(getattr(part, each.name))
    elif isinstance(part, tuple):
        for item in part:
            yield from _aggregates(item)


def shown(value: Any) -> str:
    text = write(value)
    return text if len(text) <= 80 else text[:77] + "…"
