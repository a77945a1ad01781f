"""What is left of a list of datoms after excisions, by the definition: an assertion goes with its retraction, as
though nobody had ever made them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from adalog.datalog.values import identity
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import SCHEMA_BASE
from adalog.store.values.datom import Datom

Row = tuple[Any, ...]


@dataclass
class ExcisedModel:
    """Datoms of entities with ids below those of the schema, as reports told them. refs, parts: attributes whose
    values are entities, and those whose values are parts of theirs. forgetful: with :db/noHistory."""

    refs: Collection[str]
    parts: Collection[str]
    forgetful: Collection[str] = ()
    datoms: list[Datom] = field(default_factory=list)

    def learn(self, datoms: Iterable[Datom]) -> None:
        self.datoms += [datom for datom in datoms if datom.e < SCHEMA_BASE]

    def excise(self, takes: Callable[[Datom], bool]) -> None:
        """takes: whether an assertion goes."""
        left, gone = [], set()
        for datom in sorted(self.datoms, key=lambda each: (each.t, each.added)):
            pair = (datom.e, str(datom.a), identity(datom.v))
            if datom.added and takes(datom):
                gone.add(pair)
            elif not datom.added and pair in gone:
                gone.discard(pair)
            else:
                left.append(datom)
        self.datoms = left

    def retain(self, attribute: str, before: int) -> None:
        """Takes what an attribute had that was retracted before a transaction."""
        since: dict[Any, Datom] = {}
        gone = set[int]()
        for datom in sorted(self.datoms, key=lambda each: (each.t, each.added)):
            pair = (datom.e, str(datom.a), identity(datom.v))
            if datom.added:
                since[pair] = datom
            elif str(datom.a) == attribute and datom.t < before:
                gone |= {id(since[pair]), id(datom)}
        self.datoms = [datom for datom in self.datoms if id(datom) not in gone]

    def excise_entity(self, entity: int, before: int) -> None:
        whole = self.with_parts(entity)
        self.excise(
            lambda datom: (
                datom.t < before and (datom.e in whole or (str(datom.a) in self.refs and datom.v in whole))
            )
        )

    def with_parts(self, entity: int) -> set[int]:
        found, new = {entity}, {entity}
        held = {(d.e, str(d.a), d.v) for d in self.held(1 << 60) if str(d.a) in self.parts}
        while new:
            parts = {d.v for d in self.datoms if d.added and str(d.a) in self.parts and d.e in new} - found
            new = {part for part in parts if {e for e, _, v in held if v == part} <= found}
            found |= new
        return found

    def held(self, t: int) -> list[Datom]:
        """What held after a transaction."""
        held: dict[Any, Datom] = {}
        for datom in sorted(self.datoms, key=lambda each: (each.t, each.added)):
            pair = (datom.e, str(datom.a), identity(datom.v))
            if datom.t <= t:
                if datom.added:
                    held[pair] = datom
                else:
                    held.pop(pair)
        return list(held.values())

    def rows(self, t: int, newest: int, *, history: bool = False) -> set[Row]:
        """What a view shows."""
        now = set(map(row_of, self.held(newest)))
        seen = [datom for datom in self.datoms if datom.t <= t] if history else self.held(t)
        kept = {row_of(datom) for datom in seen if str(datom.a) not in self.forgetful}
        if t == newest and not history:
            return {row_of(datom) for datom in seen}
        return kept | {row for row in now if row[1] in self.forgetful and row[3] <= t}


def row_of(datom: Datom) -> Row:
    return datom.e, str(datom.a), repr(identity(datom.v)), datom.t, datom.added


def shown(snapshot: Snapshot) -> set[Row]:
    return {row_of(datom) for datom in snapshot.datoms("EAVT") if datom.e < SCHEMA_BASE}


def state(database: Database) -> Any:
    """All by which two processes on one log may differ: what they show, the values by number, the ids to come."""
    newest = database.snapshot()
    views = [shown(database.at(t=t)) for t in range(newest.t)]
    dictionaries = newest.codes.dictionaries()
    values = {tag: [own.key(number) for number in range(len(own))] for tag, own in dictionaries.items()}
    counters = database._head.counters
    return shown(newest), shown(newest.history()), views, values, counters, newest.schema.key, newest.entity_count
