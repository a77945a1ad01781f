"""What a transaction changes: from operations on known entities to the datoms that come and go.

Everything is judged against the database as it was before, and against the other operations of the set; a datom
that already holds is not asserted again, one that does not hold is not retracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import Code
from adalog.store.snapshot.free_ids import Interval
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.permission import GuardedState
from adalog.store.state.state import DatabaseState
from adalog.store.transact import operations as ops
from adalog.store.transact.composites import Composites, tuple_code
from adalog.store.transact.operations import Operation, Path, RefusedTransaction, Tempid, Term, invalid
from adalog.store.transact.permission_check import RequestedChanges, check_granted
from adalog.store.values import bootstrap
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, Attribute
from adalog.store.values.changes import Effect
from adalog.store.values.coercion import added, asserted

_Pair = tuple[int, int, int]  # attribute, entity, value code


class Effects:
    """Collects one transaction's changes. ids: the entity of each tempid. new: the interval that gave the new
    ones. names: what the forms call others, but by number."""

    def __init__(
        self,
        state: DatabaseState,
        ids: Mapping[Tempid, int],
        composites: Composites,
        new: Interval,
        names: Mapping[int, Any],
    ) -> None:
        # Names resolve in what is seen of the state; what has to stay right is the whole of it.
        self._seen = state
        self._state = state.whole
        self._ids = ids
        self._names = names
        self._composites = composites
        self._new = new
        self._free = state.free.current
        # (entity, entity of its spec) that have to be checked, and where that was written.
        self.ensured: dict[tuple[int, int], Path] = {}
        self._asserted: dict[_Pair, tuple[Attribute, Path]] = {}
        self._retracted: dict[_Pair, Path] = {}
        # Retractions that give way where the same transaction asserts the datom.
        self._swept: dict[_Pair, Path] = {}
        # Of these, what retracted entities take with them, and what is seen of the entities themselves.
        self._cascaded: set[_Pair] = set()
        self._deleted: dict[_Pair, Path] = {}
        # The snapshot after the transaction, if it had to be granted.
        self.after: Snapshot | None = None
        # Retractions of what is not there: the entity, and the attribute's id where one is named.
        self.fruitless: dict[Path, tuple[int, int | None]] = {}

    def of(self, operations: Iterable[Operation]) -> list[Effect]:
        """The effects of all operations, in the order written, a replaced value before its successor."""
        ids = self._ids
        for operation in operations:
            e = ids[operation.e] if isinstance(operation.e, Tempid) else operation.e
            if SCHEMA_BASE < e < FIRST_OWN_IDENT:
                name = self._state.snapshot().ident(e)
                raise invalid(f"{name or e} is built in and cannot be changed", operation.path)
            if type(operation) is ops.Add:
                _, attribute, v, path = operation
                pair = (attribute.id, e, ids[v] if isinstance(v, Tempid) else v)
                self._asserted.setdefault(pair, (attribute, path))
                continue
            match operation:
                case ops.Retract():
                    self._retract(e, operation)
                case ops.Cas():
                    self._cas(e, operation)
                case ops.RetractEntity():
                    self._sweep_entity(e, operation.path)
                case ops.Update():
                    self._update(e, operation)
                case ops.Ensure():
                    self.ensured.setdefault((e, operation.spec), operation.path)
        self._check_contradictions()
        if isinstance(self._seen, GuardedState):
            self._leave_unseen()
        self._replace_single_values()
        if self._composites.all:
            self._keep_composites()
        if isinstance(self._seen, GuardedState):
            self._check_granted(self._seen)
        self._check_unique()
        return self._ordered()

    def _leave_unseen(self) -> None:
        """Retractions find what is visible."""
        for pair, path in list(self._retracted.items()):
            a, e, v = pair
            if not self._seen.live(a).holds(e, v):
                del self._retracted[pair]
                self.fruitless[path] = (e, a)

    def _check_granted(self, seen: GuardedState) -> None:
        composites = {each.attribute.id for each in self._composites.all}
        asserted = {
            pair: each
            for pair, each in self._asserted.items()
            if pair[0] not in composites and not seen.live(pair[0]).holds(pair[1], pair[2])
        }
        goes = {**self._swept, **self._retracted}
        retracted = {
            pair: path
            for pair, path in goes.items()
            if pair[0] not in composites and pair not in self._asserted and pair not in self._cascaded
        }
        changes = RequestedChanges(asserted, retracted, self._deleted, self._ordered(), self._called)
        self.after = check_granted(changes, seen, self._new)

    def _called(self, e: int) -> str:
        """What the client calls an entity."""
        if e in self._names:
            return write(self._names[e])
        tempids = [str(name) for name, id_ in self._ids.items() if id_ == e]
        given = next((name for name in tempids if not name.startswith("\0")), None)
        if given is not None:
            return write(given)
        return "a new entity" if tempids else f"entity {e}"

    def _id(self, term: Term) -> int:
        return self._ids[term] if isinstance(term, Tempid) else term

    def paths(self, pair: _Pair) -> Path:
        asserted = self._asserted.get(pair)
        return asserted[1] if asserted is not None else self._retracted.get(pair) or self._swept.get(pair, ())

    def _assert(self, e: int, attribute: Attribute, v: int, path: Path) -> None:
        self._asserted.setdefault((attribute.id, e, v), (attribute, path))

    def _retract(self, e: int, operation: ops.Retract) -> None:
        attribute = operation.a.id
        if operation.v is not None:
            self._retracted.setdefault((attribute, e, self._id(operation.v)), operation.path)
            return
        values = self._seen.live(attribute).values(e)
        for v in values:
            self._swept.setdefault((attribute, e, v), operation.path)
        if not values:
            self.fruitless[operation.path] = (e, attribute)

    def _cas(self, e: int, operation: ops.Cas) -> None:
        attribute, old = operation.a, operation.old
        values = self._seen.live(attribute.id).values(e)
        if values != ([] if old is None else [old]):
            found = self._shown(attribute, values[0]) if values else "nothing"
            wanted = "nothing" if old is None else self._shown(attribute, old)
            raise RefusedTransaction(
                Code.CAS_FAILED, f"{attribute.ident} of entity {e} is {found}, not {wanted}", operation.path
            )
        if operation.new is not None:
            self._assert(e, attribute, self._id(operation.new), operation.path)
        elif old is not None:
            self._retracted.setdefault((attribute.id, e, old), operation.path)

    def _update(self, e: int, operation: ops.Update) -> None:
        attribute, path = operation.a, operation.path
        values = self._seen.live(attribute.id).values(e)
        if operation.function == "default":
            if not values:
                self._assert(e, attribute, self._id(operation.operand), path)
            return
        old = self._state.codes.decode(values[0]) if values else None
        if operation.function == "toggle":
            new: Any = not old
        else:
            total = added(old, operation.operand)
            new = None if total is None else asserted(str(attribute.kind.value_type), total)
            if new is None:
                raise invalid(
                    f"{attribute.ident} of entity {e} is {write(old)}; {write(operation.operand)} more is no "
                    f"{attribute.kind.value_type}",
                    path,
                )
        self._assert(e, attribute, self._state.codes.intern(new), path)

    def _sweep_entity(self, entity: int, path: Path) -> None:
        pending, seen = [entity], {entity}
        is_there = False
        snapshot = self._state.snapshot()
        before = len(self._swept)
        while pending:
            e = pending.pop()
            for attribute in snapshot.attributes_of(np.array([e], np.int64)):
                live = self._state.live(attribute.id)
                for v in live.values(e):
                    is_there = True
                    self._swept.setdefault((attribute.id, e, v), path)
                    if attribute.kind.component and v not in seen:
                        seen.add(v)
                        pending.append(v)
                if attribute.is_ref:
                    for other in live.entities(e):
                        is_there = True
                        self._swept.setdefault((attribute.id, other, e), path)
        if not is_there:
            self.fruitless[path] = (entity, None)
        if isinstance(self._seen, GuardedState):
            self._cascaded.update(islice(self._swept, before, None))
            own = self._seen.visible_datoms(np.array([entity], np.int64))
            self._deleted.update(dict.fromkeys(own, path))

    def _check_contradictions(self) -> None:
        for pair, path in self._retracted.items():
            if pair in self._asserted:
                attribute, _ = self._asserted[pair]
                raise RefusedTransaction(
                    Code.TX_CONFLICT,
                    f"entity {pair[1]} cannot both get and lose {attribute.ident} "
                    f"{self._shown(attribute, pair[2])} in one transaction; its forms have no order, leave one out",
                    path,
                )

    def _replace_single_values(self) -> None:
        single: dict[tuple[int, int], int] = {}
        for (id_, e, v), (attribute, path) in self._asserted.items():
            if attribute.kind.cardinality == "many":
                continue
            first = single.setdefault((id_, e), v)
            if first != v:
                one, other = self._shown(attribute, first), self._shown(attribute, v)
                raise RefusedTransaction(
                    Code.TX_CONFLICT,
                    f"{attribute.ident} has cardinality one, but entity {e} would have {one} and {other}; "
                    "the forms of a transaction have no order, so leave one out",
                    path,
                )
            if not self._is_fresh(e):
                for old in self._state.live(id_).values(e):
                    if old != v:
                        self._swept.setdefault((id_, e, old), path)

    def _is_fresh(self, e: int) -> bool:
        """Whether no datom ever had this entity, so that there is nothing to look up."""
        return self._free.start <= e < self._free.stop or self._new.has(e)

    def _keep_composites(self) -> None:
        """Assert and retract the tuples of every entity with a component that is touched."""
        written: dict[tuple[int, int], Path] = {}
        single: dict[tuple[int, int], int] = {}
        components = self._composites.by_component
        for (a, e, v), (_, path) in self._asserted.items():
            if a in components:
                written.setdefault((a, e), path)
                single[a, e] = v
        for a, e, v in (*self._retracted, *self._swept):
            if a in components:
                written.setdefault((a, e), self.paths((a, e, v)))
        for place, e in sorted(self._composites.kept(written, self._state)):
            composite = self._composites.all[place]
            attribute = composite.attribute
            declared = (bootstrap.TUPLE_ATTRS, attribute.id, self._state.codes.intern(attribute.kind.tuple_attrs))
            parts = (written[c.id, e] for c in composite.components if (c.id, e) in written)
            path = next(parts, self.paths(declared))
            new = tuple_code((self._single(c.id, e, single) for c in composite.components), self._state)
            for old in self._state.live(attribute.id).values(e):
                if old != new:
                    self._swept.setdefault((attribute.id, e, old), path)
            if new is not None:
                self._assert(e, attribute, new, path)

    def _single(self, a: int, e: int, asserted: Mapping[tuple[int, int], int]) -> int | None:
        """The one value that an entity will have."""
        new = asserted.get((a, e))
        if new is not None:
            return new
        return next((v for v in self._state.live(a).values(e) if not self._goes((a, e, v))), None)

    def _check_unique(self) -> None:
        owners: dict[tuple[int, int], int] = {}
        for (id_, e, v), (attribute, path) in self._asserted.items():
            if attribute.kind.unique is None:
                continue
            rivals = [owners.setdefault((id_, v), e), *self._state.live(id_).entities(v)]
            for rival in rivals:
                if rival != e and not self._goes((id_, rival, v)):
                    self._check_may_name(rival, (id_, e, v), path)
                    raise RefusedTransaction(
                        Code.UNIQUE_CONFLICT,
                        f"{attribute.ident} is unique, and entity {rival} already has "
                        f"{self._shown(attribute, v)}; entity {e} cannot have it too",
                        path,
                    )

    def _check_may_name(self, rival: int, pair: _Pair, path: Path) -> None:
        """Refuses a value that an entity has of which that is not visible, without naming it."""
        attribute, code = self._asserted[pair][0], pair[2]
        if self._seen is self._state or (attribute.id, rival, code) in self._asserted:
            return
        if not self._seen.live(attribute.id).holds(rival, code):
            what = "this value" if attribute.kind.tuple_attrs else self._shown(attribute, code)
            raise RefusedTransaction(
                Code.UNIQUE_CONFLICT, f"{attribute.ident} is unique, and {what} is taken", path
            )

    def _goes(self, pair: _Pair) -> bool:
        return pair not in self._asserted and (pair in self._retracted or pair in self._swept)

    def _shown(self, attribute: Attribute, code: int) -> str:
        if attribute.is_ref:
            return str(self._seen.snapshot().ident(code) or code)
        return write(self._state.codes.decode(code))

    def _ordered(self) -> list[Effect]:
        changes: list[tuple[Path, Effect]] = []
        for pair, path in {**self._swept, **self._retracted}.items():
            a, e, v = pair
            if pair in self._asserted:
                continue
            if self._state.live(a).holds(e, v):
                changes.append((path, Effect(e, a, v, False)))
            else:
                self.fruitless[path] = (e, a)
        for (a, e, v), (_, path) in self._asserted.items():
            if self._is_fresh(e) or not self._state.live(a).holds(e, v):
                changes.append((path, Effect(e, a, v, True)))
        changes.sort(key=_written)
        return [effect for _, effect in changes]


def _written(change: tuple[Path, Effect]) -> tuple[Path, bool]:
    return change[0], change[1].added
