"""A pull pattern against one snapshot's schema: which tries to read, in which direction, what to make of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from adalog.datalog.ast import Const
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.pull import DB_ID, DEFAULT_LIMIT, PullAttribute, PullPattern, PullQuery, Recursion
from adalog.datalog.values import EdnMap, Keyword, Value, identity
from adalog.planner.scope.resolve import unknown_attribute
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.arrays import Int64s
from adalog.store.values.attribute import Attribute


@dataclass(frozen=True, slots=True)
class PullStep:
    """One attribute to read. `attribute` is None where the database has none of that name: only a default is left.

    many: gives a vector. target: what is shown of the entities it refers to, None for values. loops: shows the node
    that it is a step of again, `depth` times along one path, None for no bound. expands: a component that is shown
    in full without a pattern of its own, on a path that begins with the entity it is part of. number: tells apart
    the steps that are shown under one key, None where there is but one.
    """

    asked: PullAttribute
    attribute: Attribute | None
    many: bool
    target: PullNode | None = None
    loops: bool = False
    depth: int | None = None
    expands: bool = False
    number: int | None = None

    @property
    def key(self) -> Value:
        return self.asked.key.value

    @property
    def key_identity(self) -> Hashable:
        return self.asked.key.key  # type: ignore[no-any-return]

    @property
    def slot(self) -> Hashable:
        """Where a row has the value until all of its entity's are known."""
        return self.key_identity if self.number is None else _Slot(self.number)

    def transformed(self, value: Value) -> Value:
        xform = self.asked.xform
        if xform is None:
            return value
        try:
            return BUILTINS[xform.name].call(value)
        except AdalogError as error:
            raise AdalogError(error.code, f":xform {error.message}", xform.position) from error


@dataclass(frozen=True, slots=True)
class _Slot:
    number: int


Row = dict[Hashable, tuple[Value, Value]]
"""The entries of a map in the making: (key, value) by their slots."""


@dataclass(frozen=True, slots=True)
class PullNode:
    """What is shown of an entity. ids: `:db/id`. loops: recursions, which show this node again. others: of `*`, the
    attributes that it does not mean, as the pattern names them; None without a `*`. shared: slots of each key that
    several steps may be shown under, in the order of the pattern. queries: those whose answers it shows, too."""

    ids: tuple[PullStep, ...]
    steps: tuple[PullStep, ...]
    loops: tuple[PullStep, ...]
    others: frozenset[Keyword] | None = None
    shared: tuple[tuple[Hashable, tuple[Hashable, ...]], ...] = ()
    queries: tuple[PullQuery, ...] = ()

    def map(self, row: Row) -> EdnMap | None:
        """The map of an entity whose values are all known: under a key that several have the last that is there."""
        for key, slots in self.shared:
            found = [row.pop(slot) for slot in slots if slot in row]
            if found:
                row[key] = found[-1]
        return EdnMap.told_apart(row) if row else None


_ID = PullStep(PullAttribute(DB_ID, False, Const(DB_ID, identity(DB_ID))), None, many=False)
BARE = PullNode((_ID,), (), ())
"""`{:db/id n}`: all that is shown of an entity that is only referred to."""


class PullResolver:
    """Makes nodes of patterns. Raises UNKNOWN_ATTRIBUTE where the schema is strict, and QUERY_INVALID."""

    def __init__(self, snapshot: Snapshot, *, strict: bool) -> None:
        self._snapshot = snapshot
        self._strict = strict
        self._whole: PullNode | None = None
        self._defaults: dict[int, PullStep] = {}

    def node(self, pattern: PullPattern) -> PullNode:
        if pattern.wildcard and not pattern.attributes and not pattern.queries:
            return self.whole()
        steps: list[PullStep] = []
        others: frozenset[Keyword] | None = None
        if pattern.wildcard:
            others = named = frozenset(each.attribute for each in pattern.attributes if not each.reverse)
            if DB_ID not in named:
                steps.append(_ID)
        steps += [self._step(asked) for asked in pattern.attributes]
        steps, shared = _told_apart(steps, frozenset() if others is None else self._implied_keys(steps, others))
        return PullNode(
            tuple(step for step in steps if step.asked.attribute == DB_ID),
            tuple(step for step in steps if step.asked.attribute != DB_ID and not step.loops),
            tuple(step for step in steps if step.loops),
            others,
            shared,
            pattern.queries,
        )

    def steps(self, node: PullNode, entities: Int64s) -> Sequence[PullStep]:
        """A node's steps for some entities, which are sorted and distinct: of `*` those of the attributes that they
        may have, however many others there are."""
        if node.others is None:
            return node.steps
        found = (each for each in self._snapshot.attributes_of(entities) if each.ident not in node.others)
        return [*map(self._default, found), *node.steps]

    def expanded(self, node: PullNode) -> Sequence[PullStep]:
        """The steps of `*` that show parts of an entity in full."""
        if node.others is None:
            return ()
        components = self._snapshot.schema.components
        return [self._default(each) for each in components if each.ident not in node.others]

    def _implied_keys(self, steps: Sequence[PullStep], others: frozenset[Keyword]) -> frozenset[Hashable]:
        """The keys of some steps under which `*` shows an attribute, too."""
        return frozenset(
            step.key_identity
            for step in steps
            if isinstance(step.key, Keyword)
            and step.key not in others
            and self._snapshot.attribute(step.key) is not None
        )

    def whole(self) -> PullNode:
        """All attributes, components and theirs in full."""
        if self._whole is None:
            components = self._snapshot.schema.components
            loops = [PullStep(_asked(each), each, each.is_many, loops=True) for each in components]
            self._whole = PullNode((_ID,), (), tuple(loops), frozenset(each.ident for each in components))
        return self._whole

    def _default(self, attribute: Attribute) -> PullStep:
        """What `*` shows of an attribute."""
        step = self._defaults.get(attribute.id)
        if step is None:
            step = self._implied(_asked(attribute), attribute, many=attribute.is_many)
            self._defaults[attribute.id] = step
        return step

    def _implied(self, asked: PullAttribute, attribute: Attribute, *, many: bool) -> PullStep:
        """What shows an attribute without a pattern of its own."""
        if not attribute.is_ref:
            return PullStep(asked, attribute, many)
        if attribute.kind.component and not asked.reverse:
            return PullStep(asked, attribute, many, self.whole(), expands=True)
        return PullStep(asked, attribute, many, BARE)

    def _step(self, asked: PullAttribute) -> PullStep:
        if asked.attribute == DB_ID:
            return PullStep(asked, None, many=False)
        attribute = self._snapshot.attribute(asked.attribute)
        if attribute is None:
            if self._strict:
                name = asked.attribute
                raise unknown_attribute(self._snapshot, Const(name, identity(name), position=asked.position))
            return PullStep(asked, None, many=False)
        if (asked.reverse or asked.sub is not None) and not attribute.is_ref:
            if attribute.kind.value_type is None:
                return PullStep(asked, None, many=False)
            so = "nothing refers through it" if asked.reverse else f"{write(asked.key.value)} takes no pattern"
            message = f"{attribute.ident} holds values of the type {attribute.kind.value_type}, not refs, so {so}"
            raise AdalogError(Code.QUERY_INVALID, message, asked.position)
        many = not attribute.kind.component if asked.reverse else attribute.is_many
        if isinstance(asked.sub, Recursion):
            return PullStep(asked, attribute, many, loops=True, depth=asked.sub.depth)
        if asked.sub is not None:
            return PullStep(asked, attribute, many, self.node(asked.sub))
        return self._implied(asked, attribute, many=many)


def _told_apart(
    steps: Sequence[PullStep], implied: frozenset[Hashable]
) -> tuple[list[PullStep], tuple[tuple[Hashable, tuple[Hashable, ...]], ...]]:
    """The steps, and the slots of the keys that several are shown under. What a pattern says twice of an attribute
    under one key counts as it was said last. implied: keys under which `*` shows an attribute, before these."""
    by_key: dict[Hashable, dict[tuple[Keyword, bool], PullStep]] = {}
    for step in steps:
        of_key = by_key.setdefault(step.key_identity, {})
        name = (step.asked.attribute, step.asked.reverse)
        of_key.pop(name, None)
        of_key[name] = step
    told: list[PullStep] = []
    shared = []
    for key, of_key in by_key.items():
        if len(of_key) == 1 and key not in implied:
            told += of_key.values()
            continue
        numbered = [replace(step, number=len(told) + n) for n, step in enumerate(of_key.values())]
        told += numbered
        slots = tuple(step.slot for step in numbered)
        shared.append((key, (key, *slots) if key in implied else slots))
    return told, tuple(shared)


def _asked(attribute: Attribute) -> PullAttribute:
    ident = attribute.ident
    return PullAttribute(ident, False, Const(ident, identity(ident)), limit=DEFAULT_LIMIT)
