"""What policies say of a transaction: each datom that comes or goes has to be granted, before and after it.

A refusal names what the client named itself, and tells nothing of what is not visible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.datalog.errors import Code
from adalog.datalog.values import Keyword
from adalog.store.snapshot.free_ids import Interval, referred
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.permission import ADMINS_DECLARE, CREATE, DELETE, UPDATE, GuardedState, unseen
from adalog.store.state.speculation import applied
from adalog.store.transact import operations as ops
from adalog.store.transact.operations import Operation, Path, RefusedTransaction, Tempid
from adalog.store.values import bootstrap
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.changes import Effect
from adalog.store.values.datom import ShownParts

_Pair = tuple[int, int, int]  # attribute, entity, value code

# What says of a plain entity nothing that makes it an attribute.
_PLAIN: Final = frozenset(
    (bootstrap.IDENT, bootstrap.DOC, bootstrap.FN, bootstrap.ENTITY_ATTRS, bootstrap.ENTITY_PREDS, bootstrap.ENSURE)
)


def check_named(operations: Sequence[Operation], seen: GuardedState, own: Collection[int]) -> None:
    """Raises FORBIDDEN for entities of which nothing is visible, whether they are there or not. own: ids that the
    transaction has chosen for entities that it makes."""
    places: dict[int, Path] = {}
    for operation in operations:
        for id_ in _named(operation, seen):
            places.setdefault(id_, operation.path)
    hidden = unseen(seen.view, places.keys() - set(own) - {TX_BASE + seen.t + 1})
    if hidden:
        first = min(hidden, key=lambda id_: (places[id_], id_))
        raise _forbidden(f"entity {first} is not there, or nothing of it is visible to you", places[first])


def _named(operation: Operation, seen: GuardedState) -> Iterator[int]:
    """The entities that an operation is about, and those that it makes values."""
    e = operation.e
    if not isinstance(e, Tempid):
        yield e
    match operation:
        case ops.Ensure():
            yield operation.spec
        case ops.Add(a=attribute, v=value) | ops.Cas(a=attribute, new=value):
            if attribute.refers and value is not None and not isinstance(value, Tempid):
                held = not isinstance(e, Tempid) and seen.live(attribute.id).holds(e, value)
                yield from () if held else referred(attribute, value, seen.codes)
        case ops.Update(a=attribute, operand=int() as value) if attribute.refers:
            yield from referred(attribute, value, seen.codes)


@dataclass(frozen=True)
class RequestedChanges:
    """What has to be granted, each with its place: what comes, what goes, and what is seen of entities that are
    retracted. effects: all that changes. name: what the client calls an entity."""

    asserted: Mapping[_Pair, tuple[Attribute, Path]]
    retracted: Mapping[_Pair, Path]
    deleted: Mapping[_Pair, Path]
    effects: Sequence[Effect]
    name: Callable[[int], str]


def check_granted(changes: RequestedChanges, seen: GuardedState, new: Interval) -> Snapshot:
    """The state after the changes. Raises FORBIDDEN for the first of them that no policy grants."""
    whole = seen.whole
    paths = {pair: path for pair, (_, path) in changes.asserted.items()}
    paths |= {**changes.retracted, **changes.deleted}
    _check_no_schema(changes, paths, seen)
    after = applied(whole, changes.effects, " changed")

    def is_new(e: int) -> bool:
        return new.has(e) or whole.next_ident <= e < TX_BASE or e == TX_BASE + whole.t + 1

    emptied = _emptied(changes, seen)
    before: dict[tuple[Keyword, int], list[_Pair]] = {}
    later: dict[tuple[Keyword, int], list[_Pair]] = {}
    for pair in changes.asserted:
        op = CREATE if is_new(pair[1]) else UPDATE
        later.setdefault((op, pair[0]), []).append(pair)
        if op == UPDATE:
            before.setdefault((op, pair[0]), []).append(pair)
    for pair in changes.retracted:
        before.setdefault((DELETE if pair[1] in emptied else UPDATE, pair[0]), []).append(pair)
    for pair in changes.deleted:
        before.setdefault((DELETE, pair[0]), []).append(pair)
    refused = [
        (paths[pair], pair, op)
        for asked, state in ((before, None), (later, after))
        for (op, a), pairs in asked.items()
        for pair in _ungranted(op, a, pairs, seen, state)
    ]
    if refused:
        path, (a, e, _), op = min(refused, key=lambda each: each[:2])
        attribute = whole.schema.get(a)
        assert attribute is not None
        raise _forbidden(f"no policy grants you {op} of {attribute.ident} of {changes.name(e)}", path)
    return after


def _ungranted(
    op: Keyword, a: int, pairs: Sequence[_Pair], seen: GuardedState, state: Snapshot | None
) -> Iterator[_Pair]:
    """The datoms on which the operation is not granted. state: None for that before the transaction."""
    attribute = seen.whole.schema.get(a)
    assert attribute is not None
    _, e, v = np.array(pairs, np.int64).T
    granted = seen.allows(op, attribute, e, v) if state is None else seen.guard.allows(op, attribute, e, v, state)
    return (pair for pair, is_granted in zip(pairs, granted.tolist(), strict=True) if not is_granted)


def _check_no_schema(changes: RequestedChanges, paths: Mapping[_Pair, Path], seen: GuardedState) -> None:
    """Refuses what describes attributes, makes policies or limits the past, also where it goes with a retracted
    entity."""
    schema = seen.whole.schema
    for e, a, v, _ in changes.effects:
        if a in bootstrap.POLICY_ATTRIBUTES:
            raise _forbidden("admins alone change policies", paths.get((a, e, v), ()))
        if a in bootstrap.RETAINING:
            raise _forbidden("admins alone say how long the past is kept", paths.get((a, e, v), ()))
        if a in bootstrap.SCHEMA_ATTRIBUTES and (
            schema.get(e) is not None or (a < bootstrap.TX_INSTANT and a not in _PLAIN)
        ):
            raise _forbidden(ADMINS_DECLARE, paths.get((a, e, v), ()))


def _emptied(changes: RequestedChanges, seen: GuardedState) -> set[int]:
    """The entities of which nothing that is visible is left."""
    losing = {e for _, e, _ in changes.retracted} - {e for _, e, _ in changes.asserted}
    if not losing:
        return set()
    gone = {(a, e, v) for e, a, v, added in changes.effects if not added}
    left = seen.visible_datoms(np.array(sorted(losing), np.int64)) - gone
    return losing - {e for _, e, _ in left}


def shown_parts(
    effects: Sequence[Effect], tempids: Mapping[str, int], seen: GuardedState, after: Snapshot
) -> ShownParts:
    """What the viewer sees of a transaction: what goes as it was visible before, what comes as it is after."""
    view = seen.guard.view(after)
    asked: dict[tuple[int, bool], list[int]] = {}
    for place, effect in enumerate(effects):
        # What was built in later is declared by whoever is the first to need it.
        if effect.e < TX_BASE and effect.e not in bootstrap.LATER:
            asked.setdefault((effect.a, effect.added), []).append(place)
    shown: set[int] = set()
    for (a, added), places in asked.items():
        e, v = (np.array([effects[place][part] for place in places], np.int64) for part in (0, 2))
        visible = (view if added else seen.view).visible.datoms(a, e, v)
        shown.update(place for place, is_shown in zip(places, visible.tolist(), strict=True) if is_shown)
    if shown:
        # The entity of a transaction is seen with any other datom of it.
        shown.update(place for place, effect in enumerate(effects) if effect.e >= TX_BASE)
    hidden = unseen(view, set(tempids.values()))
    return ShownParts(
        [place in shown for place in range(len(effects))],
        frozenset(name for name, id_ in tempids.items() if id_ not in hidden),
    )


def _forbidden(message: str, path: Path) -> RefusedTransaction:
    return RefusedTransaction(Code.FORBIDDEN, message, path)
