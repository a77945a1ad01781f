"""Documents that are one typed root field that reads, answered without GraphQL's executor.

Fragments, aliases, constant directives and arguments are settled by graphql-core itself, once for each form that
its variables have; values of variables are coerced by it for each request. Whatever it would refuse is left
to the executor, and so are documents that a directive makes depend on a variable. Answers are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

import graphql
import orjson
from graphql import Undefined
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetails
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.execution.values import VariableValues, input_is_nested_too_deeply
from graphql.utilities.coerce_input_value import coerce_default_value, coerce_input_value

from adalog.datalog.diagnostics import Diagnostic
from adalog.schema.arguments.viewers import visible_as_named
from adalog.schema.request.budget import JsonChunks
from adalog.schema.request.context import Context, Services
from adalog.schema.request.errors import format_located
from adalog.schema.typed.reading.kept_reads import KeptReads
from adalog.schema.typed.reading.reads import answered
from adalog.schema.typed.roots import MUTATIONS, TYPED_MODEL, TYPED_ROOT, TypedRoot
from adalog.schema.typed.selection import Selected, selected
from adalog.schema.typed.slots import VariableForm, filled_value
from adalog.schema.writing.written_answer import WrittenAnswer
from adalog.store.snapshot.snapshot import Snapshot

# Forms of variables for which a document is settled, and the characters of one.
_MOST: Final = 4
_LONG: Final = 1_000


@dataclass(frozen=True, slots=True)
class TypedArguments:
    """What a request gives. reads: of its document; values: for their slots."""

    reads: KeptReads
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TypedField:
    """The one root field of a document. `name`: of the operation. `alias`: in the answer. `nullable`: whether an
    error leaves the answer with a null in its place. `executor`: of the document without its variables. `opening`:
    what stands before the field in the answer."""

    name: str | None
    alias: str
    node: graphql.FieldNode
    nullable: bool
    root: TypedRoot
    variables: tuple[_Variable, ...]
    executor: Executor[Any]
    writes: bool = False
    opening: bytes = b""
    # By the form of the variables; None: as graphql-core refuses it.
    _settled: dict[str, KeptReads | None] = field(default_factory=dict, compare=False)

    def given(self, variables: Mapping[str, Any] | None) -> TypedArguments | None:
        """What a request gives; None where GraphQL is to look at it."""
        raw: Mapping[str, Any] = variables or {}
        coerced: dict[str, Any] = {}
        try:
            for each in self.variables:
                if not each.coerce(raw, coerced):
                    return None
            form = VariableForm()
            slots = {name: form.slots(name, value) for name, value in coerced.items()}
        except RecursionError:
            return None
        key = form.key
        reads = self._settled[key] if key in self._settled else self._settle(key, slots, form)
        return None if reads is None else TypedArguments(reads, form.values)

    def _settle(self, key: str, slots: Mapping[str, Any], form: VariableForm) -> KeptReads | None:
        chosen, found = self._chosen(slots), None
        if chosen is not None:
            found = KeptReads.of(self.executor.schema.extensions[TYPED_MODEL], self.root, chosen, list(form.values))
        if len(key) <= _LONG:
            if len(self._settled) >= _MOST:
                self._settled.clear()
            self._settled[key] = found
        return found

    def _chosen(self, slots: Mapping[str, Any]) -> Selected | None:
        """The field with slots for the values of variables; None where graphql-core refuses an argument."""
        executor, query = copy(self.executor), self.executor.schema.query_type
        assert query is not None, "its field is asked for"
        executor.variable_values = VariableValues({}, dict(slots))
        executor._relevant_sub_fields = {}
        try:
            return selected(executor, query, [FieldDetails(self.node, None)])
        except (graphql.GraphQLError, RecursionError):
            return None

    def written_at_once(
        self, services: Services, snapshot: Snapshot, variables: Mapping[str, Any] | None
    ) -> WrittenAnswer | None:
        """The answer of what is read without a wait on the newest snapshot, for a client who sees all of it; None
        where `answer` is to make it, as if nothing had been."""
        given = self.given(variables)
        found = None if given is None else given.reads.written_at_once(services, snapshot, given.values)
        if found is None:
            return None
        text = b"".join((b'{"data":{', self.opening, found, b"}}"))
        return WrittenAnswer(text, 0) if len(text) <= services.limits.result_bytes else None

    async def answer(self, context: Context, given: TypedArguments) -> dict[str, Any]:
        """The body of the answer."""
        try:
            found, told = await self._read(context, given)
        except Exception as error:  # noqa: BLE001 - as in GraphQL: it is the field's
            described = format_located(error, self.node, [self.alias])
            return {"errors": [described], "data": {self.alias: None} if self.nullable else None}
        if told:
            context.warnings[(self.alias,)] = told
        lookups = context.lookups
        if given.reads.is_newest and lookups.queries and not lookups.missed and context.visible.guard is None:
            context.holds_for = context.present(context.visible)
        return {"data": {self.alias: found}}

    async def _read(self, context: Context, given: TypedArguments) -> tuple[JsonChunks, Sequence[Diagnostic]]:
        arguments, values = given.reads.chosen.arguments, given.values
        visible = visible_as_named(context, filled_value(arguments.get("as"), values))
        asked = given.reads.read(context, values, visible.key)
        return await answered(context, visible, asked, filled_value(arguments.get("basis"), values))


@dataclass(frozen=True, slots=True)
class _Variable:
    """default: as it is coerced; Undefined: there is none."""

    name: str
    type: graphql.GraphQLInputType
    default: Any

    def coerce(self, raw: Mapping[str, Any], values: dict[str, Any]) -> bool:
        """Adds its value, if it has one; whether that is right. Raises RecursionError."""
        value = raw.get(self.name, Undefined)
        if value is Undefined:
            if self.default is not Undefined:
                values[self.name] = self.default
                return True
            return not graphql.is_non_null_type(self.type)
        if type(value) in (dict, list) and input_is_nested_too_deeply(value, self.type):
            return False
        found = coerce_input_value(value, self.type)
        if found is Undefined:
            return False
        values[self.name] = found
        return True


def typed_field(document: graphql.DocumentNode, schema: graphql.GraphQLSchema) -> TypedField | None:
    """The one typed root field that a valid document consists of; None for any other document."""
    operations = [each for each in document.definitions if isinstance(each, graphql.OperationDefinitionNode)]
    if len(operations) != 1:
        return None
    operation = operations[0]
    node = operation.selection_set.selections[0]
    if (
        operation.operation is not graphql.OperationType.QUERY
        or operation.directives
        or len(operation.selection_set.selections) > 1
        or not isinstance(node, graphql.FieldNode)
        or node.directives
        or schema.query_type is None
        or _depends(document, schema)
    ):
        return None
    definition = schema.query_type.fields.get(node.name.value)
    root = None if definition is None else definition.extensions.get(TYPED_ROOT)
    variables = _variables(operation, schema)
    if definition is None or root is None or root.kind in MUTATIONS or variables is None:
        return None
    without = replace(operation, variable_definitions=())
    others = [each for each in document.definitions if each is not operation]
    executor = Executor.build(schema, graphql.DocumentNode(definitions=(without, *others)))
    if isinstance(executor, list):
        return None
    alias = node.name.value if node.alias is None else node.alias.value
    return TypedField(
        None if operation.name is None else operation.name.value,
        alias,
        node,
        not graphql.is_non_null_type(definition.type),
        root,
        variables,
        executor,
        opening=orjson.dumps(alias) + b":",
    )


def _variables(
    operation: graphql.OperationDefinitionNode, schema: graphql.GraphQLSchema
) -> tuple[_Variable, ...] | None:
    found = []
    for each in operation.variable_definitions or ():
        signature = get_variable_signature(schema, each)
        if each.directives or isinstance(signature, graphql.GraphQLError):
            return None
        try:
            default = Undefined if signature.default is None else coerce_default_value(signature)
        except TypeError:
            return None
        found.append(_Variable(signature.name, signature.type, default))
    return tuple(found)


class _Dependence(graphql.Visitor):
    """Finds variables of directives and within literals of scalars."""

    def __init__(self, types: graphql.TypeInfo) -> None:
        super().__init__()
        self._types = types
        self.found = False

    def enter_variable_definition(self, *_: Any) -> Any:
        return graphql.SKIP

    def enter_variable(self, node: Any, key: Any, parent: Any, path: Any, ancestors: Sequence[Any]) -> Any:
        around = self._types.get_parent_input_type()
        if (
            self._types.get_input_type() is None
            or (around is not None and graphql.is_leaf_type(graphql.get_nullable_type(around)))
            or any(isinstance(each, graphql.DirectiveNode) for each in ancestors)
        ):
            self.found = True
            return graphql.BREAK
        return None


def _depends(document: graphql.DocumentNode, schema: graphql.GraphQLSchema) -> bool:
    types = graphql.TypeInfo(schema)
    visitor = _Dependence(types)
    graphql.visit(document, graphql.TypeInfoVisitor(types, visitor))
    return visitor.found
