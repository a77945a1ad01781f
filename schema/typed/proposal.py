"""`adalog schema --propose` and `schemaProposal`: the declarations that the data suggest, for review.

A ref whose values all have the anchor of a type is of that type; one whose values all are idents of one namespace
is an enum. A namespace without a unique identity gets the attribute as its anchor that all its entities have. Types
never follow from data by themselves: data change, and generated clients would break.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce

import numpy as np
from graphql import GraphQLResolveInfo

from adalog.datalog.edn.writer import write
from adalog.datalog.values import EdnMap, Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.schema.request.context import Context, check_admin
from adalog.schema.typed import names
from adalog.schema.typed.declarations import model_of
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import Attribute

# Of the pool's cost: a proposal may look at every datom.
_DATOM_COST = 1.0
_NOTHING = np.empty(0, np.int64)
_IDENT, _NAMESPACE = Keyword("db/ident"), Keyword("graphql/namespace")


def proposal(snapshot: Snapshot, *, strict: bool = False) -> str:
    """A transaction with a comment on each of its maps."""
    model = model_of(snapshot, strict=strict)
    reading = _Proposing(snapshot, model)
    lines = [f" {write(form)} ; {why}" for form, why in reading.forms()]
    return "\n".join(["[", *lines, "]"]) + "\n" if lines else "[] ; the data suggest nothing that is not declared\n"


async def proposed(_: object, info: GraphQLResolveInfo[Context]) -> str:
    """The resolver of `schemaProposal`. Raises FORBIDDEN for others than admins."""
    context = info.context
    check_admin("`schemaProposal` reads all data")
    services, snapshot = context.services, context.present(context.visible)
    strict = services.database.schema == "strict"
    cancel = Cancel.after(services.limits.timeout_ms)
    work = partial(proposal, snapshot, strict=strict)
    text = await services.pool.threaded(cancel, lambda _: work(), _DATOM_COST * snapshot.datom_count)
    context.budget.take(len(text))
    return text


class _Proposing:
    def __init__(self, snapshot: Snapshot, model: Model) -> None:
        self._snapshot = snapshot
        self._model = model
        # The entities of each type.
        self._members = {name: self._entities(each) for name, each in model.types.items()}

    def forms(self) -> Iterator[tuple[EdnMap, str]]:
        for each in self._model.types.values():
            if each.key is None:
                yield from self._anchor(each)
            for shown in each.fields.values():
                if shown.refers and not shown.reverse and shown.target is None:
                    yield from self._reference(shown)
        yield from self._names()

    def _entities(self, each: TypeModel) -> Int64s:
        return reduce(np.union1d, map(self._having, each.anchors), _NOTHING)

    def _having(self, ident: Keyword) -> Int64s:
        attribute = self._snapshot.attribute(ident)
        return _NOTHING if attribute is None else self._snapshot.ev(attribute).keys

    def _anchor(self, each: TypeModel) -> Iterator[tuple[EdnMap, str]]:
        entities = self._members[each.name]
        for shown in each.fields.values():
            if (
                len(each.anchors) > 1
                and not shown.reverse
                and len(self._having(shown.attribute)) == len(entities) > 0
            ):
                form = EdnMap(((_NAMESPACE, Keyword(each.namespace)), (Keyword("graphql/anchor"), shown.attribute)))
                yield form, f"all {len(entities):,} entities with an attribute in :{each.namespace} have it"
                return

    def _reference(self, shown: FieldModel) -> Iterator[tuple[EdnMap, str]]:
        attribute = self._snapshot.attribute(shown.attribute)
        targets = _NOTHING if attribute is None else self._snapshot.ve(attribute).keys
        if not len(targets):
            return
        named = self._enum(targets)
        if named is not None:
            yield _declared(shown.attribute, "graphql/enum", Keyword(named)), f"all values are idents in :{named}"
            return
        fitting = [
            name for name, members in self._members.items() if len(members) and np.isin(targets, members).all()
        ]
        if fitting:
            # The fewest entities say the most.
            found = self._model.types[min(fitting, key=lambda name: len(self._members[name]))]
            have = " or ".join(map(str, found.anchors[:3]))
            yield (
                _declared(shown.attribute, "graphql/type", Keyword(found.namespace)),
                f"all {len(targets):,} entities that it refers to have {have}",
            )

    def _enum(self, targets: Int64s) -> str | None:
        """The one namespace of the idents of all targets."""
        idents = self._snapshot.attribute(_IDENT)
        assert idents is not None
        named = self._snapshot.columns_of_entities(idents.id, targets)
        if len(named) != len(targets):
            return None
        found = {each.namespace for each in self._snapshot.codes.decode_many(named.v)}
        [namespace, *others] = found
        return None if others else namespace

    def _names(self) -> Iterator[tuple[EdnMap, str]]:
        """Names for attributes whose own ones GraphQL cannot spell."""
        types = {each.namespace: each for each in self._model.types.values()}
        for attribute in self._snapshot.attributes():
            kind = types.get(attribute.ident.namespace or "")
            if kind is None or not _lacks_field(attribute, kind, self._model):
                continue
            name = names.camel("".join(letter if letter.isascii() else "" for letter in attribute.ident.local))
            name = "".join(letter for letter in name if letter.isalnum() or letter == "_")
            if names.is_spellable(name) and name not in kind.fields:
                form = _declared(attribute.ident, "graphql/name", name)
                yield form, f"GraphQL cannot spell {names.camel(attribute.ident.local)}"


def _lacks_field(attribute: Attribute, kind: TypeModel, model: Model) -> bool:
    """Whether it has no field since its name cannot be spelt."""
    shown = any(each.attribute == attribute.ident and not each.reverse for each in kind.fields.values())
    return (
        not shown
        and attribute.ident not in model.hidden
        and not names.is_spellable(names.camel(attribute.ident.local))
    )


def _declared(ident: Keyword, name: str, value: object) -> EdnMap:
    return EdnMap(((_IDENT, ident), (Keyword(name), value)))
