"""Excisions among the forms of a transaction: `{:db/excise entity-or-attribute}`, with `:db.excise/attrs` and
`:db.excise/beforeT` where not all of an entity goes, and `:db.excise/endedBeforeT` for what an attribute had once.

An excision is a transaction of its own, made by an admin. Says what it takes; takes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

import numpy as np

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnMap, EdnSet, Keyword
from adalog.store.excision.remainder import referring
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact.functions import shown
from adalog.store.transact.operations import Path, RefusedTransaction, invalid
from adalog.store.tries.trie import distinct
from adalog.store.values import bootstrap
from adalog.store.values.arrays import Bools, Int64s, are_of
from adalog.store.values.attribute import FIRST_OWN_IDENT, TX_BASE, Attribute
from adalog.store.values.changes import Scope

_EXCISE: Final = Keyword("db/excise")
_ATTRS: Final = Keyword("db.excise/attrs")
_BEFORE: Final = Keyword("db.excise/beforeT")
_ENDED: Final = Keyword("db.excise/endedBeforeT")
_WRITTEN: Final = "{:db/excise 17}"
# So many entities that refer to an excised one are named in an error.
_NAMED: Final = 100


def is_excision(form: Any) -> bool:
    return isinstance(form, EdnMap) and _EXCISE in form


def scopes_of(forms: Sequence[Any], state: DatabaseState, evaluation: Evaluation) -> list[Scope]:
    """What the forms, some of which are excisions, take. Raises RefusedTransaction."""
    reader = _Reader(state.snapshot(), state.t + 1)
    for place, form in enumerate(forms):
        if not is_excision(form):
            raise invalid(
                f"{shown(form)} is beside an excision, which is a transaction of its own; transact it apart",
                (place,),
            )
    if not evaluation.may_excise:
        raise RefusedTransaction(
            Code.FORBIDDEN, "admins alone excise, with transact and nowhere else; others retract", (0,)
        )
    scopes = [reader.scope(form, (place,)) for place, form in enumerate(forms)]
    if len({scope.ended for scope in scopes}) > 1:
        place = next(place for place, form in enumerate(forms) if _ENDED in form)
        raise invalid(
            f"{shown(forms[place])} takes retracted values alone, and cannot be combined with forms that take "
            "current ones; send it as a transaction of its own",
            (place,),
        )
    if scopes[0].ended:
        return _ended(scopes)
    united = _united(scopes)
    reader.check_composites(scopes, united)
    return united


def _ended(scopes: Sequence[Scope]) -> list[Scope]:
    """The same as one scope for each transaction before which values were retracted."""
    attributes: dict[int, frozenset[int]] = {}
    for scope in scopes:
        attributes[scope.before] = attributes.get(scope.before, frozenset()) | (scope.attributes or frozenset())
    return [Scope(None, own, before, ended=True) for before, own in attributes.items()]


def _united(scopes: Sequence[Scope]) -> list[Scope]:
    """The same datoms in fewer scopes, as each costs a look at all columns that it may have datoms of."""
    alike: dict[tuple[Any, ...], list[Scope]] = {}
    others = [each.name for each in fields(Scope) if each.name != "entities"]
    for scope in scopes:
        key = (scope.entities is None, *(getattr(scope, name) for name in others))
        alike.setdefault(key, []).append(scope)
    return [replace(own[0], entities=_all_entities(own)) for own in alike.values()]


def _all_entities(scopes: Sequence[Scope]) -> Int64s | None:
    found = [each.entities for each in scopes if each.entities is not None]
    return distinct(np.sort(np.concatenate(found))) if found else None


class _Reader:
    def __init__(self, snapshot: Snapshot, t: int) -> None:
        self._snapshot = snapshot
        self._schema = snapshot.schema
        self._t = t

    def scope(self, form: EdnMap, path: Path) -> Scope:
        places = {key: (*path, 2 * place + 1) for place, key in enumerate(form)}
        for key in form:
            if key not in (_EXCISE, _ATTRS, _BEFORE, _ENDED):
                known = ":db/excise, :db.excise/attrs, :db.excise/beforeT and :db.excise/endedBeforeT"
                raise invalid(f"an excision has {known}, not {shown(key)}", path)
        before = self._before(_BEFORE, form[_BEFORE], places[_BEFORE]) if _BEFORE in form else self._t
        target = form[_EXCISE]
        attribute = self._attribute_meant(target)
        if _ENDED in form:
            return self._ended(form, attribute, places)
        if attribute is not None:
            if _ATTRS in form:
                raise invalid(
                    f"{shown(target)} is an attribute, all of whose datoms go; :db.excise/attrs chooses among "
                    "those of an entity",
                    places[_ATTRS],
                )
            self._check_own(attribute, places[_EXCISE])
            return Scope(None, frozenset([attribute.id]), before)
        entity = self._entity(target, places[_EXCISE])
        if _ATTRS in form:
            attributes = self._attributes(form[_ATTRS], places[_ATTRS])
            return Scope(np.array([entity], np.int64), attributes, before)
        return Scope(self._with_components(entity), None, before, with_refs=True)

    def _ended(self, form: EdnMap, attribute: Attribute | None, places: Mapping[Any, Path]) -> Scope:
        """Of a form with `:db.excise/endedBeforeT`."""
        for key in (_ATTRS, _BEFORE):
            if key in form:
                raise invalid(f"{key} cannot be combined with {_ENDED}; leave one of them out", places[key])
        if attribute is None:
            raise invalid(
                f"{shown(form[_EXCISE])} is no attribute; {_ENDED} excises retracted values of attributes alone",
                places[_EXCISE],
            )
        self._check_own(attribute, places[_EXCISE])
        return Scope(
            None, frozenset([attribute.id]), self._before(_ENDED, form[_ENDED], places[_ENDED]), ended=True
        )

    def _before(self, key: Keyword, value: Any, path: Path) -> int:
        if type(value) is not int or not 0 < (t := value - TX_BASE if value > TX_BASE else value) <= self._t:
            raise invalid(f"{key} is the number of a transaction, from 1 to {self._t}, not {shown(value)}", path)
        return t

    def _attribute_meant(self, target: Any) -> Attribute | None:
        if isinstance(target, Keyword) or type(target) is int:
            found = self._schema.get(target)
            if found is None and target == bootstrap.PRINCIPAL_IDENT:
                return None
            return found
        return None

    def _check_own(self, attribute: Attribute, path: Path) -> None:
        if attribute.id < FIRST_OWN_IDENT and attribute.id != bootstrap.PRINCIPAL:
            raise invalid(
                f"{attribute.ident} is built in, and makes the schema or policies; it is not excised", path
            )

    def _entity(self, target: Any, path: Path) -> int:
        try:
            found = None if isinstance(target, str) else self._snapshot.entid(target)
        except AdalogError as error:
            raise invalid(error.message, path) from None
        if found is None:
            kind = f"is no entity{self._hint(target)}"
            if isinstance(target, str):
                kind = "is a tempid, and a new entity has nothing to excise"
            raise invalid(f"{shown(target)} {kind}; write {_WRITTEN}, an ident or a lookup ref", path)
        e = int(found)
        if bootstrap.is_built_in(e):
            raise invalid(f"{shown(target)} is built in; it is not excised", path)
        if e > TX_BASE + self._t - 1:
            raise invalid(f"transaction {e - TX_BASE} is not reached yet", path)
        for id_ in bootstrap.POLICY_ATTRIBUTES:
            if self._snapshot.data_of(id_).mentions(e):
                raise invalid(f"{shown(target)} is a policy, which is retracted and not excised", path)
        for id_ in (bootstrap.VALUE_TYPE, bootstrap.CARDINALITY, bootstrap.UNIQUE):
            if self._snapshot.data_of(id_).mentions(e):
                raise invalid(f"{shown(target)} is or was an attribute, and its declaration is not excised", path)
        return e

    def _attributes(self, value: Any, path: Path) -> frozenset[int]:
        given = value if isinstance(value, tuple | EdnSet) else (value,)
        if not given:
            raise invalid(":db.excise/attrs is empty; leave it out where all of the entity goes", path)
        found = set()
        for each in given:
            attribute = self._schema.get(each) if isinstance(each, Keyword | int) else None
            if attribute is None:
                message = f"no attribute {shown(each)}{self._hint(each)}"
                raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, message, path)
            self._check_own(attribute, path)
            found.add(attribute.id)
        return frozenset(found)

    def _hint(self, name: Any) -> str:
        """The attribute that a misspelt name probably means."""
        return self._schema.names.hint(name) if isinstance(name, Keyword) else ""

    def _with_components(self, entity: int) -> Int64s:
        """The entity with its parts and theirs, as they are or were; without those that are another's now."""
        found, new = {entity}, [entity]
        while new:
            parts: set[int] = set()
            for attribute in self._schema.components:
                data = self._snapshot.data_of(attribute.id)
                for e in new:
                    parts.update(data.events_between(e, e + 1, self._snapshot.t).v.tolist())
            new = []
            for part in sorted(parts - found):
                owners = (
                    self._snapshot.data_of(each.id).ve(self._snapshot.t).row(part).tolist()
                    for each in self._schema.components
                )
                if {owner for own in owners for owner in own} <= found:
                    new.append(part)
            found.update(new)
        return distinct(np.array(sorted(found), np.int64))

    def check_composites(self, scopes: Sequence[Scope], united: Sequence[Scope]) -> None:
        """Refuses what would leave a composite tuple that is not that of its parts. scopes: one for each
        form. united: the same datoms in fewer scopes."""
        for composite in self._schema.composites:
            names = composite.kind.tuple_attrs or ()
            parts = [each for name in names if (each := self._schema.get(name)) is not None]
            ids = [each.id for each in (*parts, composite)]
            for place, scope in enumerate(scopes):
                if scope.with_refs:
                    self._check_referring(composite, parts, scope, united, place)
                if not any(map(scope.has, ids)) or (scope.attributes is None and not self._has(composite, scope)):
                    continue
                if scope.before < self._t:
                    raise invalid(
                        f"{composite.ident} is kept from {_listed(names)}, so that of these all goes or nothing; "
                        "leave :db.excise/beforeT out",
                        (place,),
                    )
                if not self._go_whole(scope.entities, ids, united).all():
                    raise invalid(
                        f"{composite.ident} is kept from {_listed(names)}: excise all of these and it, or none",
                        (place,),
                    )

    def _check_referring(
        self, composite: Attribute, parts: Sequence[Attribute], scope: Scope, united: Sequence[Scope], place: int
    ) -> None:
        """Refuses an entity to which others refer by a part of a composite tuple, unless their tuples go too."""
        assert scope.entities is not None, "it takes entities"
        ids = [each.id for each in (*parts, composite)]
        for ref in (each for each in parts if each.is_ref):
            found = referring(self._snapshot.data_of(ref.id), scope.entities)
            left = found[~self._go_whole(found, ids, united)].tolist()
            if left:
                names = " ".join(write(each.ident) for each in (*parts, composite))
                more = ", ".join(map(str, left[1:_NAMED])) + (" and others" if left[_NAMED:] else "")
                raise invalid(
                    f"entity {left[0]} refers to it in {composite.ident}, of which all goes or nothing; add "
                    f"{{:db/excise {left[0]} :db.excise/attrs [{names}]}} to the transaction"
                    f"{f', and the same for {more}' if more else ''}",
                    (place,),
                )

    def _go_whole(self, entities: Int64s | None, attributes: Sequence[int], scopes: Sequence[Scope]) -> Bools:
        """Mask of the entities of which scopes take all values of each attribute. None: all entities, as one."""
        goes = np.ones(1 if entities is None else len(entities), np.bool_)
        for attribute in attributes:
            own = np.zeros_like(goes)
            for each in scopes:
                if each.has(attribute) and each.before >= self._t:
                    if each.entities is None:
                        own[:] = True
                    elif entities is not None:
                        own |= are_of(entities, each.entities)
            goes &= own
        return goes

    def _has(self, attribute: Attribute, scope: Scope) -> bool:
        data = self._snapshot.data_of(attribute.id)
        entities = () if scope.entities is None else scope.entities.tolist()
        return any(len(data.events_between(e, e + 1, self._snapshot.t)) for e in entities)


def _listed(names: Sequence[Keyword]) -> str:
    return " and ".join(map(write, names))
