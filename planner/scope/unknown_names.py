"""Warnings about pulls and reads of an index: misspelt attributes and idents, values of a wrong type, attributes of
whose past retention may have taken something.

As `planner.scope.suspicions` for queries: the schema and idents are looked at, never other data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from adalog.datalog.diagnostics import Suspicion
from adalog.datalog.edn.writer import shown
from adalog.datalog.errors import Position
from adalog.datalog.pull import DB_ID, PullAttribute, PullPattern
from adalog.datalog.values import Keyword
from adalog.datalog.watched import look
from adalog.planner.model.places import PlaceKind, VariablePlace
from adalog.planner.scope.forgotten_past import ForgottenPast
from adalog.planner.scope.interpretation import Interpretation, expected, holding, unknown_entity
from adalog.planner.scope.pending_warnings import PendingWarning, UnknownName
from adalog.store.snapshot.snapshot import Snapshot

_DATABASE: Final = "$"
_KINDS: Final = {"E": PlaceKind.ENTITY, "T": PlaceKind.TRANSACTION}


def in_pattern(pattern: PullPattern, database: Snapshot, origin: str = "") -> Iterator[PendingWarning]:
    """The undeclared attributes of a pattern, and those of whose past retention may have taken something, each
    once. `origin`: the text that its positions are in."""
    yield from _forgotten(pattern, database, origin)
    seen: set[Keyword] = set()
    for asked in _attributes(pattern):
        look()
        name = asked.attribute
        if name == DB_ID or name in seen or database.attribute(name) is not None:
            continue
        seen.add(name)
        if asked.position is None:
            yield _suspected(UnknownName(name, database), f"in {origin}: " if origin else "")
        else:
            yield _suspected(UnknownName(name, database), position=replace(asked.position, origin=origin))


def in_entities(named: Iterable[tuple[str, Any]], database: Snapshot) -> Iterator[PendingWarning]:
    """The idents and attributes of lookup refs that name no entity. `named`: each with its place in the request."""
    for place, value in named:
        look()
        unknown = unknown_entity(database, value)
        if unknown is not None:
            yield _suspected(unknown, f"{place}: ")


def in_components(index: str, components: Sequence[Any], database: Snapshot) -> Iterator[PendingWarning]:
    """Leading components of an index that nothing can equal, and what retention may have taken from what is read.
    Undeclared attributes are refused elsewhere."""
    known = dict(zip(index, components, strict=False))
    past = ForgottenPast.of(database)
    if past is not None:
        message = past.warning(database.attribute(known["A"]) if "A" in known else None)
        if message is not None:
            yield PendingWarning(Suspicion.PAST_FORGOTTEN, message)
    for number, (letter, value) in enumerate(known.items()):
        place = f"components[{number}]"
        if letter == "A":
            continue
        if letter == "V":
            kind = PlaceKind.VALUE if "A" in known else PlaceKind.ENTITY
            stands = VariablePlace(kind, _DATABASE, known.get("A"))
        else:
            stands = VariablePlace(_KINDS[letter], _DATABASE)
        if stands.kind_in({_DATABASE: database}) is PlaceKind.ENTITY:
            unknown = unknown_entity(database, value)
            if unknown is not None:
                yield _suspected(unknown, f"{place}: ")
                continue
        reading = Interpretation.of((stands,), {_DATABASE: database}, json=False)
        fault = None if reading is None else reading(value)[1]
        if reading is not None and fault is not None:
            held = reading.held[0][0]
            why = f"{holding(held)}; write {expected(held, json=False)}"
            message = f"{place}: nothing can equal {shown(value)} here: {why}"
            yield PendingWarning(Suspicion.IMPOSSIBLE_VALUE, message)


def _forgotten(pattern: PullPattern, database: Snapshot, origin: str) -> Iterator[PendingWarning]:
    past = ForgottenPast.of(database)
    if past is None:
        return
    named = ((database.attribute(each.attribute), each.position) for each in _attributes(pattern))
    reads = [(attribute, position) for attribute, position in named if attribute is not None]
    for attribute, position in [(None, pattern.position)] if _is_wild(pattern) else reads:
        message = past.warning(attribute)
        if message is not None:
            at = None if position is None else replace(position, origin=origin)
            yield PendingWarning(Suspicion.PAST_FORGOTTEN, message, at)


def _is_wild(pattern: PullPattern) -> bool:
    within = (each.sub for each in pattern.attributes)
    return pattern.wildcard or any(_is_wild(sub) for sub in within if isinstance(sub, PullPattern))


def _attributes(pattern: PullPattern) -> Iterator[PullAttribute]:
    for asked in pattern.attributes:
        yield asked
        if isinstance(asked.sub, PullPattern):
            yield from _attributes(asked.sub)


def _suspected(unknown: UnknownName, place: str = "", position: Position | None = None) -> PendingWarning:
    name = shown(unknown.name)
    if unknown.ident:
        return PendingWarning(Suspicion.UNKNOWN_IDENT, f"{place}no entity has the ident {name}", position, unknown)
    message = f"{place}no attribute {name} is declared"
    return PendingWarning(Suspicion.UNKNOWN_ATTRIBUTE, message, position, unknown, ", so nothing has it")
