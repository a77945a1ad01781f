"""What values and entities have to satisfy, `:db.attr/preds` and `:db/ensure`, judged after the transaction.

A predicate is a built-in of one argument or a stored query; nothing that data names runs as code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import Keyword, Symbol
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import Evaluation
from adalog.store.state.speculation import applied
from adalog.store.state.state import DatabaseState
from adalog.store.transact.functions import check_query, shown
from adalog.store.transact.operations import Path, Paths, RefusedTransaction, invalid
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import Attribute
from adalog.store.values.changes import Effect


@dataclass
class UnsatisfiedPredicate(RefusedTransaction):
    """A value or an entity does not satisfy the predicate or spec of this name."""

    name: str = ""


def check(
    effects: Sequence[Effect],
    ensured: Mapping[tuple[int, int], Path],
    paths: Paths,
    state: DatabaseState,
    evaluation: Evaluation,
) -> None:
    """Raises TX_INVALID for a stored query that is none, and naming what does not satisfy its predicate."""
    checking = _Checking(effects, state, evaluation)
    for effect in effects:
        if effect.a == bootstrap.FN and effect.added:
            check_query(state.codes.decode(effect.v), paths((effect.a, effect.e, effect.v)))
    for effect in effects:
        if effect.a in (bootstrap.ATTR_PREDS, bootstrap.ENTITY_PREDS) and effect.added:
            checking.predicate(effect, paths)
    if state.schema.checked:
        for effect in effects:
            if effect.added:
                checking.value(effect, paths)
    for (entity, spec), path in ensured.items():
        checking.entity(entity, spec, path)


def check_column(attribute: Attribute, e: Int64s, v: Int64s, state: DatabaseState) -> None:
    """The same for a bulk load's column, with built-ins only."""
    codes, first = np.unique(v, return_index=True)
    for name in attribute.kind.preds:
        built_in = _built_in(name)
        if built_in is None:
            raise AdalogError(
                Code.TX_INVALID, f"{attribute.ident} has to satisfy {name}, a stored query; load it with transact"
            )
        for value, row in zip(state.codes.decode_many(codes), first.tolist(), strict=True):
            if not built_in(value):
                raise AdalogError(Code.TX_INVALID, _failure(attribute, int(e[row]), value, name))


def _unsatisfied(message: str, path: Path, name: object) -> UnsatisfiedPredicate:
    return UnsatisfiedPredicate(Code.TX_INVALID, message, path, name=str(name))


def _failure(attribute: Attribute, e: int, value: Any, name: Symbol) -> str:
    return f"{attribute.ident} of entity {e} cannot be {shown(value)}: it does not satisfy {name}"


class _Checking:
    def __init__(self, effects: Sequence[Effect], state: DatabaseState, evaluation: Evaluation) -> None:
        self._effects = effects
        self._state = state
        self._evaluation = evaluation
        self._passed: set[tuple[Symbol, int]] = set()

    @cached_property
    def _after(self) -> Snapshot:
        return applied(self._state, self._effects)

    def predicate(self, effect: Effect, paths: Paths) -> None:
        """A predicate is known when it is named, and what an attribute holds already satisfies it."""
        name, path = self._state.codes.decode(effect.v), paths((effect.a, effect.e, effect.v))
        is_built_in = effect.a == bootstrap.ATTR_PREDS and _built_in(name) is not None
        if not is_built_in and self._query(name) is None:
            one = "a built-in of one argument such as pos?, or " if effect.a == bootstrap.ATTR_PREDS else ""
            raise invalid(f"{name} is no predicate; name {one}the ident of an entity with a :db/fn", path)
        attribute = self._after.attribute(effect.e) if effect.a == bootstrap.ATTR_PREDS else None
        if attribute is not None:
            columns = self._after.columns(attribute)
            for e, v in zip(columns.e.tolist(), columns.v.tolist(), strict=True):
                self._satisfies(attribute, name, e, v, path)

    def value(self, effect: Effect, paths: Paths) -> None:
        """A value that is asserted satisfies its attribute's predicates."""
        attribute = self._state.schema.get(effect.a)
        if attribute is not None and attribute.kind.preds:
            for name in attribute.kind.preds:
                self._satisfies(attribute, name, effect.e, effect.v, paths((effect.a, effect.e, effect.v)))

    def entity(self, entity: int, spec: int, path: Path) -> None:
        """An entity has what its spec requires and satisfies its predicates."""
        after, name = self._after, self._after.ident(spec)
        required = self._values(bootstrap.ENTITY_ATTRS, spec)
        predicates = self._values(bootstrap.ENTITY_PREDS, spec)
        if not required and not predicates:
            raise invalid(f"{name or spec} is no entity spec; one has :db.entity/attrs or :db.entity/preds", path)
        for key in sorted(required, key=str):
            attribute = after.attribute(key)
            if attribute is None or not after.ev(attribute).count(entity):
                message = f"entity {entity} lacks {key}, which {name or spec} requires"
                raise _unsatisfied(message, path, name or spec)
        for predicate in sorted(predicates, key=str):
            if not self._holds(predicate, entity, path):
                message = f"entity {entity} does not satisfy {predicate}, as {name or spec} wants"
                raise _unsatisfied(message, path, name or spec)

    def _values(self, attribute: int, entity: int) -> list[Any]:
        row = self._after.trie(attribute, inverse=False).row(entity)
        return self._after.codes.decode_many(row) if len(row) else []

    def _satisfies(self, attribute: Attribute, name: Symbol, e: int, v: int, path: Path) -> None:
        if (name, v) in self._passed:
            return
        value = self._state.codes.decode(v)
        built_in = _built_in(name)
        holds = self._holds(name, value, path) if built_in is None else built_in(value)
        if not holds:
            raise _unsatisfied(_failure(attribute, e, value, name), path, name)
        self._passed.add((name, v))

    def _holds(self, name: Symbol, argument: Any, path: Path) -> bool:
        """Whether a stored query gives a row for the argument; false and nil as its only answer are none."""
        query = self._query(name)
        if query is None:
            raise invalid(f"{name} has no :db/fn any more, so nothing can satisfy it", path)
        try:
            rows = self._evaluation.rows(query, [argument], self._after)
            scalar = parse_query(query).find.shape == "scalar"
        except AdalogError as error:
            code = error.code if error.retryable or error.code is Code.BACKEND_UNAVAILABLE else Code.TX_INVALID
            raise UnsatisfiedPredicate(code, f"{name}: {error.message}", path, name=str(name)) from None
        return bool(rows) and not (scalar and rows[0][0] in (False, None))

    def _query(self, name: Symbol) -> str | None:
        entity = self._after.entid(Keyword(name.name))
        texts = [] if entity is None else self._values(bootstrap.FN, entity)
        return next(iter(texts), None)


def _built_in(name: Symbol) -> Callable[[Any], bool] | None:
    found = BUILTINS.get(name.name)
    if found is None or found.needs_database or found.min_args > 1 or found.max_args == 0:
        return None
    call = found.call

    def holds(value: Any) -> bool:
        try:
            return call(value) not in (None, False)
        except AdalogError:
            # Not for values of this type.
            return False

    return holds
