"""A pull pattern against one snapshot's schema: which tries to read, in which direction, what to make of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from datalog.ast import Const
from datalog.builtins import BUILTINS
from datalog.edn_writer import write
from datalog.errors import AdalogError, Code
from datalog.pull import DB_ID, DEFAULT_LIMIT, PullAttribute, PullPattern, Recursion
from datalog.values import Keyword, Value, identity
from planner.resolve import unknown_attribute
from store.attribute import Attribute
from store.columns import Int64s
from store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Step:
    """One attribute to read. `attribute` is None where the database has none of that name: only a default is left.

    many: gives a vector. target: what is shown of the entities it refers to, None for values. loops: shows the node
    that it is a step of again, `depth` times along one path, None for no bound.
    """

    asked: PullAttribute
    attribute: Attribute | None
    many: bool
    target: Node | None = None
    loops: bool = False
    depth: int | None = None

    @property
    def key(self) -> Value:
        """What the value is shown under."""
        return self.asked.key.value

    @property
    def key_identity(self) -> Hashable:
        """The typed identity of `key`."""
        return self.asked.key.key  # type: ignore[no-any-return]

    def transformed(self, value: Value) -> Value:
        """The value after `:xform`, where there is one."""
        xform = self.asked.xform
        if xform is None:
            return value
        try:
            return BUILTINS[xform.name].call(value)
        except AdalogError as error:
            raise AdalogError(error.code, f":xform {error.message}", xform.position) from error


@dataclass(frozen=True, slots=True)
class Node:
    """What is shown of an entity. ids: `:db/id`. loops: recursions, which show this node again. others: of `*`, the
    attributes that it does not mean, as the pattern names them; None without a `*`."""

    ids: tuple[Step, ...]
    steps: tuple[Step, ...]
    loops: tuple[Step, ...]
    others: frozenset[Keyword] | None = None


def _shown_id() -> PullAttribute:
    return PullAttribute(DB_ID, False, Const(DB_ID, identity(DB_ID)))


_ID = Step(_shown_id(), None, many=False)
BARE = Node((_ID,), (), ())
"""`{:db/id n}`: all that is shown of an entity that is only referred to."""


class Resolver:
    """Makes nodes of patterns. Raises UNKNOWN_ATTRIBUTE where the schema is strict, and QUERY_INVALID."""

    def __init__(self, snapshot: Snapshot, *, strict: bool) -> None:
        self._snapshot = snapshot
        self._strict = strict
        self._whole: Node | None = None
        self._defaults: dict[int, Step] = {}

    def node(self, pattern: PullPattern) -> Node:
        """The node of a pattern."""
        if pattern.wildcard and not pattern.attributes:
            return self.whole()
        steps: list[Step] = []
        others: frozenset[Keyword] | None = None
        if pattern.wildcard:
            others = named = frozenset(each.attribute for each in pattern.attributes if not each.reverse)
            if DB_ID not in named:
                steps.append(_ID)
        steps += [self._step(asked) for asked in pattern.attributes]
        # Of two that are shown under one key it is the later one that is.
        steps = list({step.key_identity: step for step in steps}.values())
        return Node(
            tuple(step for step in steps if step.asked.attribute == DB_ID),
            tuple(step for step in steps if step.asked.attribute != DB_ID and not step.loops),
            tuple(step for step in steps if step.loops),
            others,
        )

    def steps(self, node: Node, entities: Int64s) -> Sequence[Step]:
        """A node's steps for some entities, which are sorted and distinct: of `*` those of the attributes that they
        may have, however many others there are."""
        if node.others is None:
            return node.steps
        taken = {step.key_identity for step in (*node.ids, *node.loops)}
        found = (each for each in self._snapshot.attributes_of(entities) if each.ident not in node.others)
        defaults = [step for step in map(self._default, found) if step.key_identity not in taken]
        # Of two that are shown under one key it is the later one that is.
        return list({step.key_identity: step for step in (*defaults, *node.steps)}.values())

    def whole(self) -> Node:
        """All attributes, components and theirs in full."""
        if self._whole is None:
            components = self._snapshot.schema.components
            loops = [Step(_asked(each), each, each.is_many, loops=True) for each in components]
            self._whole = Node((_ID,), (), tuple(loops), frozenset(each.ident for each in components))
        return self._whole

    def _default(self, attribute: Attribute) -> Step:
        """What `*` shows of an attribute."""
        step = self._defaults.get(attribute.id)
        if step is None:
            target = self._implied(attribute, reverse=False)
            step = self._defaults[attribute.id] = Step(_asked(attribute), attribute, attribute.is_many, target)
        return step

    def _implied(self, attribute: Attribute, *, reverse: bool) -> Node | None:
        """What is shown of an attribute without a pattern of its own."""
        if not attribute.is_ref:
            return None
        return self.whole() if attribute.component and not reverse else BARE

    def _step(self, asked: PullAttribute) -> Step:
        if asked.attribute == DB_ID:
            return Step(asked, None, many=False)
        attribute = self._snapshot.attribute(asked.attribute)
        if attribute is None:
            if self._strict:
                name = asked.attribute
                raise unknown_attribute(self._snapshot, Const(name, identity(name), position=asked.position))
            return Step(asked, None, many=False)
        if (asked.reverse or asked.sub is not None) and not attribute.is_ref:
            if attribute.value_type is None:
                return Step(asked, None, many=False)
            raise AdalogError(
                Code.QUERY_INVALID,
                f"{attribute.ident} holds values of the type {attribute.value_type}, not refs, so "
                + ("nothing refers through it" if asked.reverse else f"{write(asked.key.value)} takes no pattern"),
                asked.position,
            )
        many = not attribute.component if asked.reverse else attribute.is_many
        if isinstance(asked.sub, Recursion):
            return Step(asked, attribute, many, loops=True, depth=asked.sub.depth)
        if asked.sub is not None:
            return Step(asked, attribute, many, self.node(asked.sub))
        return Step(asked, attribute, many, self._implied(attribute, reverse=asked.reverse))


def _asked(attribute: Attribute) -> PullAttribute:
    return PullAttribute(
        attribute.ident, False, Const(attribute.ident, identity(attribute.ident)), limit=DEFAULT_LIMIT
    )
