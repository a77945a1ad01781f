"""How large a GraphQL document is with its fragments spread, found out before anybody pays for it.

Each fragment is measured once, however often it is spread: a chain of fragments that double costs its length, not
its size. What validation and introspection will cost is measured likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import graphql

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.schema.request.limits import RequestLimits, exceeded

_NAME: Final = 200
# As many as EDN takes.
_DIGITS: Final = edn.MAX_DIGITS
_INTROSPECTING: Final = re.compile(r"__schema|__type\b")
_MANY_DIGITS: Final = re.compile(r"[0-9]{1000}")
# Selections within selections, those of fragments counted too, for each level of fields that is allowed.
_NESTING: Final = 4
# Definitions together, for each field that one operation may have.
_DEFINITIONS: Final = 10
# Pairs of fields under one name, which validation compares, for each field that is allowed.
_PAIRS: Final = 10
# Entries of an answer to introspection, and for each type, field, argument and value of a large schema.
_INTROSPECTION: Final = 24_000
_ELEMENT_ENTRIES: Final = 60
# Fields of introspection that lead to another type, of which nothing is known.
_LEADING: Final = frozenset(("type", "ofType", "queryType", "mutationType", "subscriptionType"))
_LEADING_LISTS: Final = frozenset(("interfaces", "possibleTypes"))


@dataclass(slots=True)
class DocumentSize:
    """Of a selection set with its fragments spread.

    `selections`: fields, spreads and inline fragments. `entries`: how many objects and values an answer may have
    where this is introspection, `mean`: of an element that is no larger than others; `introspection`: the entries
    of the introspection that begins here."""

    depth: int = 0
    nesting: int = 0
    selections: int = 0
    aliases: int = 0
    entries: float = 0
    mean: float = 0
    introspection: float = 0

    def add(self, other: DocumentSize) -> None:
        self.depth = max(self.depth, other.depth)
        self.nesting = max(self.nesting, other.nesting)
        self.selections += other.selections
        self.aliases += other.aliases
        self.entries += other.entries
        self.mean += other.mean
        self.introspection += other.introspection


def parse_within(
    text: str, limits: RequestLimits, introspection: IntrospectionSize | None = None
) -> tuple[graphql.DocumentNode, int]:
    """(the document, entries that its introspection may give), when within the limits. Raises LIMIT_EXCEEDED and
    GraphQLError."""
    if len(text) > limits.query_bytes:
        raise exceeded("characters in the GraphQL document; variables may hold more", limits.query_bytes)
    try:
        document = graphql.parse(
            _Text(text), max_lexical_tokens=limits.query_tokens, max_comments=limits.query_tokens
        )
    except graphql.GraphQLSyntaxError as error:
        # The parser has no type for its own limits, only these words.
        if "nested too deeply" in error.message:
            raise _too_deep(limits) from None
        if "Document contains more than" in error.message:
            raise exceeded("tokens in the GraphQL document", limits.query_tokens) from None
        raise
    _unlink_tokens(document)
    if _MANY_DIGITS.search(text):
        _check_numbers(document)
    return document, Measure(document, limits, introspection or IntrospectionSize()).check()


class _Text(graphql.Source):
    """A document's text that finds lines at the speed of C: an error of each field asks, on the event loop."""

    def get_location(self, position: int) -> graphql.SourceLocation:
        body = self.body
        breaks = body.count("\n", 0, position) + body.count("\r", 0, position) - body.count("\r\n", 0, position)
        start = 1 + max(body.rfind("\n", 0, position), body.rfind("\r", 0, position))
        return graphql.SourceLocation(breaks + 1, position + 1 - start)


def _unlink_tokens(document: graphql.DocumentNode) -> None:
    """Takes apart the list of the document's tokens, which is not needed any more.

    As a ring of references it would keep every document until the next full garbage collection."""
    token = None if document.loc is None else document.loc.start_token
    while token is not None:
        following, token.next, token.prev = token.next, None, None
        token = following


def _check_numbers(document: graphql.DocumentNode) -> None:
    """Raises ARG_INVALID for a number with more digits than Python cares to read."""
    left: list[object] = [document]
    while left:
        node = left.pop()
        if isinstance(node, list | tuple):
            left += node
        elif isinstance(node, graphql.IntValueNode | graphql.FloatValueNode) and len(node.value) > _DIGITS:
            message = f"a number in the document has {len(node.value):,} characters; at most {_DIGITS:,} are read"
            raise invalid_argument(message)
        elif isinstance(node, graphql.Node):
            left += (getattr(node, key) for key in node.keys)


@dataclass(frozen=True, slots=True)
class IntrospectionSize:
    """How many entries lists of introspection have, by the field's name: at most, and in the mean of the elements
    that they belong to. bound: entries that an answer may have; what every client asks comes to less than half."""

    most: Mapping[str, int] = field(default_factory=dict)
    mean: Mapping[str, float] = field(default_factory=dict)
    bound: int = _INTROSPECTION


def introspected(schema: graphql.GraphQLSchema) -> IntrospectionSize:
    """The size of a schema's introspection. Makes all types."""
    types = list(schema.type_map.values())
    inputs = [each.fields for each in types if isinstance(each, graphql.GraphQLInputObjectType)]
    outputs = [
        each.fields for each in types if isinstance(each, graphql.GraphQLObjectType | graphql.GraphQLInterfaceType)
    ]
    fields = [each for own in outputs for each in own.values()]
    lists: dict[str, tuple[list[int], int]] = {
        "types": ([len(types)], 1),
        "directives": ([len(schema.directives)], 1),
        "fields": (list(map(len, outputs)), len(types)),
        "inputFields": (list(map(len, inputs)), len(types)),
        "enumValues": ([len(getattr(each, "values", ())) for each in types], len(types)),
        "interfaces": ([len(getattr(each, "interfaces", ())) for each in types], len(types)),
        "possibleTypes": (
            [len(schema.get_possible_types(each)) for each in types if graphql.is_abstract_type(each)],
            len(types),
        ),
        "args": ([len(each.args) for each in (*fields, *schema.directives)], len(fields) + len(schema.directives)),
        "locations": ([len(each.locations) for each in schema.directives], len(schema.directives)),
    }
    elements = len(types) + sum(sum(counts) for name, (counts, _) in lists.items() if name != "types")
    return IntrospectionSize(
        {name: max(counts, default=0) for name, (counts, _) in lists.items()},
        {name: sum(counts) / max(1, of) for name, (counts, of) in lists.items()},
        max(_INTROSPECTION, _ELEMENT_ENTRIES * elements),
    )


def introspects(text: str) -> bool:
    """Whether a document may have introspection of the schema in it."""
    return _INTROSPECTING.search(text) is not None


def only_introspects(document: graphql.DocumentNode) -> bool:
    """Whether a document is one query without variables, and its fields show the schema and nothing else."""
    first, *others = document.definitions
    if not isinstance(first, graphql.OperationDefinitionNode) or first.variable_definitions:
        return False
    return all(isinstance(each, graphql.FragmentDefinitionNode) for each in others) and all(
        isinstance(node, graphql.FieldNode) and node.name.value.startswith("__")
        for node in first.selection_set.selections
    )


def is_within(document: graphql.DocumentNode, schema: graphql.GraphQLSchema) -> bool:
    """Whether all root fields are fields of this schema, and none is introspection of it."""
    known: dict[str, Mapping[str, object]] = {
        each.name: each.fields
        for each in (schema.query_type, schema.mutation_type, schema.subscription_type)
        if each is not None
    }
    for definition in document.definitions:
        if isinstance(definition, graphql.OperationDefinitionNode):
            root = schema.get_root_type(definition.operation)
            name = "" if root is None else root.name
        elif isinstance(definition, graphql.FragmentDefinitionNode):
            name = definition.type_condition.name.value
        else:
            return False
        if name in known and not _is_within(definition.selection_set, known[name]):
            return False
    return True


def _is_within(selections: graphql.SelectionSetNode, fields: Mapping[str, object]) -> bool:
    for node in selections.selections:
        if isinstance(node, graphql.FieldNode):
            if node.name.value not in fields and node.name.value != "__typename":
                return False
        elif isinstance(node, graphql.InlineFragmentNode) and not _is_within(node.selection_set, fields):
            return False
    return True


@dataclass
class Measure:
    """Measures one document. `introspection`: of the schema."""

    document: graphql.DocumentNode
    limits: RequestLimits
    introspection: IntrospectionSize = field(default_factory=IntrospectionSize)
    _fragments: dict[str, graphql.FragmentDefinitionNode] = field(init=False)
    _measured: dict[str, DocumentSize] = field(default_factory=dict, init=False)
    _entered: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        found = (each for each in self.document.definitions if isinstance(each, graphql.FragmentDefinitionNode))
        self._fragments = {each.name.value: each for each in found}

    def check(self) -> int:
        """The most entries that introspection of one operation may give. Raises LIMIT_EXCEEDED, and GraphQLError
        for a fragment that spreads itself."""
        limits, most, total, pairs = self.limits, 0.0, 0, 0
        for definition in self.document.definitions:
            if not isinstance(definition, graphql.OperationDefinitionNode | graphql.FragmentDefinitionNode):
                continue
            _check_name(definition.name)
            size = self._size(definition.selection_set, 1)
            self._refuse(size)
            total += size.selections
            most = max(most, size.introspection)
        if total > limits.query_fields * _DEFINITIONS:
            raise exceeded("fields in the GraphQL document", limits.query_fields * _DEFINITIONS)
        for definition in self.document.definitions:
            if isinstance(definition, graphql.OperationDefinitionNode | graphql.FragmentDefinitionNode):
                pairs += self._pairs([definition.selection_set], limits.query_fields * _PAIRS - pairs)
        return int(most)

    def _refuse(self, size: DocumentSize) -> None:
        limits = self.limits
        if size.depth > limits.query_depth:
            raise _too_deep(limits)
        if size.selections > limits.query_fields:
            raise exceeded("fields and fragments in the GraphQL document", limits.query_fields)
        if size.aliases > limits.query_aliases:
            raise exceeded("aliases in the GraphQL document", limits.query_aliases)
        bound = self.introspection.bound
        if size.introspection > bound:
            raise exceeded("entries in an answer to introspection; ask for less at once", bound)

    def _size(self, selections: graphql.SelectionSetNode, nesting: int) -> DocumentSize:
        if nesting > self.limits.query_depth * _NESTING:
            raise _too_deep(self.limits)
        size = DocumentSize(depth=1, nesting=1)
        for node in selections.selections:
            size.add(self._of(node, nesting))
            # Sums of sums of a document with doubling fragments have as many digits as it has fragments.
            self._refuse(size)
        return size

    def _of(self, node: graphql.SelectionNode, nesting: int) -> DocumentSize:
        if isinstance(node, graphql.FieldNode):
            return self._of_field(node, nesting)
        if isinstance(node, graphql.FragmentSpreadNode):
            inner = self._of_fragment(node, nesting)
        else:
            assert isinstance(node, graphql.InlineFragmentNode)
            inner = self._size(node.selection_set, nesting + 1)
        size = DocumentSize(inner.depth, inner.nesting + 1, 1)
        size.add(
            DocumentSize(0, 0, inner.selections, inner.aliases, inner.entries, inner.mean, inner.introspection)
        )
        return size

    def _of_field(self, node: graphql.FieldNode, nesting: int) -> DocumentSize:
        _check_name(node.alias)
        _check_name(node.name)
        size = DocumentSize(1, 1, 1, node.alias is not None, 1, 1)
        if node.selection_set is None:
            return size
        inner = self._size(node.selection_set, nesting + 1)
        name = node.name.value
        entries, mean = self._entries(name, inner)
        # Saturated: what is beyond the limit is refused where introspection begins, if it does.
        entries, mean = (min(each, 2.0 * self.introspection.bound) for each in (entries, mean))
        introspection = entries if name in ("__schema", "__type") else inner.introspection
        aliases = inner.aliases + size.aliases
        return DocumentSize(
            inner.depth + 1, inner.nesting + 1, inner.selections + 1, aliases, entries, mean, introspection
        )

    def _entries(self, name: str, inner: DocumentSize) -> tuple[float, float]:
        """The entries of a field of introspection with what is in it: (at most, in the mean)."""
        most, mean = self.introspection.most.get(name, 1), self.introspection.mean.get(name, 1)
        if name == "types":
            # All of them are there: what they have in the mean is what they have together.
            return (1 + most * inner.mean,) * 2
        below = inner.entries if name in _LEADING or name in _LEADING_LISTS else inner.mean
        return 1 + most * inner.entries, 1 + mean * below

    def _of_fragment(self, node: graphql.FragmentSpreadNode, nesting: int) -> DocumentSize:
        name = node.name.value
        _check_name(node.name)
        fragment = self._fragments.get(name)
        if fragment is None:
            return DocumentSize()  # unknown: for validation to refuse
        if name in self._entered:
            raise graphql.GraphQLError(f"Cannot spread fragment '{name}' within itself.", node)
        known = self._measured.get(name)
        if known is None:
            self._entered.add(name)
            known = self._measured[name] = self._size(fragment.selection_set, nesting + 1)
            self._entered.remove(name)
        return known

    def _pairs(self, together: Iterable[graphql.SelectionSetNode], room: int) -> int:
        """The pairs of fields under one response name in selection sets that are merged, and within those."""
        named: dict[str, list[graphql.FieldNode]] = {}
        for selections in together:
            self._gather(selections, named)
        pairs = 0
        for nodes in named.values():
            pairs += len(nodes) * (len(nodes) - 1) // 2
            if pairs > room:
                most = self.limits.query_fields * _PAIRS
                raise exceeded("pairs of fields under one name in the GraphQL document", most)
            inner = [node.selection_set for node in nodes if node.selection_set is not None]
            if inner:
                pairs += self._pairs(inner, room - pairs)
        return pairs

    def _gather(self, selections: graphql.SelectionSetNode, named: dict[str, list[graphql.FieldNode]]) -> None:
        for node in selections.selections:
            if isinstance(node, graphql.FieldNode):
                named.setdefault((node.alias or node.name).value, []).append(node)
            elif isinstance(node, graphql.FragmentSpreadNode):
                fragment = self._fragments.get(node.name.value)
                if fragment is not None:
                    self._gather(fragment.selection_set, named)
            elif isinstance(node, graphql.InlineFragmentNode):
                self._gather(node.selection_set, named)


def _check_name(node: object) -> None:
    value = getattr(node, "value", "")
    if len(value) > _NAME:
        raise exceeded("characters in a name of the GraphQL document", _NAME)


def _too_deep(limits: RequestLimits) -> AdalogError:
    return exceeded("levels of nesting in the GraphQL document", limits.query_depth)
