"""Transactions: how the field `transact` applies one, and the short way for a request that asks for nothing else.

Nearly all that writers send is one document with one `transact`, whose arguments are variables. What such a
document says is worked out once, when it is prepared; a request then costs no GraphQL execution. Whatever is
otherwise, or GraphQL would refuse, is GraphQL's affair, and what is answered is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import graphql
from graphql.error import located_error

from adalog.datalog import tracing
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING
from adalog.executor.bounds.failure import emptied
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import viewer_asking
from adalog.schema.fields.types import OneReport
from adalog.schema.request.background import elsewhere
from adalog.schema.request.context import Services, check_asks_for
from adalog.schema.request.errors import format_error
from adalog.schema.request.thread_results import arrived
from adalog.schema.writing.columnar import ColumnarWriter, FieldShape, free
from adalog.schema.writing.encoding import Encoding
from adalog.store.transact.resolve import TransactionData
from adalog.store.values.datom import TxReport

# Of the pool's cost: a transaction's way to the disk, and what is read, resolved and kept of it.
_COST: Final = 10_000.0
_CHARACTER_COST: Final = 10.0
_DATOM_COST: Final = 200.0
_FIELD: Final = "transact"
_LONGS: Final = range(-(2**63), 2**63)
_ARGUMENTS: Final = frozenset({"tx", "expectedBasisT", "idempotencyKey", "encoding"})


async def transacted(
    services: Services,
    tx: TransactionData,
    expected_basis_t: int | None,
    idempotency_key: str | None,
    viewer: Viewer | None = None,
) -> TxReport:
    """The report of a transaction that is durable. viewer: whose permissions count, where they are not the
    client's own. Raises what refuses it."""
    check_asks_for(viewer)
    client = ASKING.get()
    meter = client.meter
    if meter is not None:
        meter.admit(_COST + _CHARACTER_COST * len(tx))
    with tracing.span("adalog.transact"):
        future = services.database.submit(
            tx,
            expected_basis_t=expected_basis_t,
            idempotency_key=idempotency_key,
            principal=client.author,
            viewer=viewer or viewer_asking(),
        )
        # A client that goes away does not undo what is on its way to the disk.
        report = await arrived(future)
    if meter is not None:
        meter.pay(_DATOM_COST * len(report.datoms))
    return report


async def reported(report: TxReport, encoding: Encoding, shape: FieldShape) -> dict[str, Any]:
    """A report as orjson writes it."""
    one = OneReport(report, encoding)

    def write(cancel: Cancel) -> dict[str, Any]:
        # What a transaction did has to be told, whatever its size: it is as large as the request that made it.
        return ColumnarWriter(free, cancel).row(one, shape)

    return write(Cancel()) if one.short else await elsewhere(write)


@dataclass(frozen=True, slots=True)
class Transact:
    """A document that is one `transact`. variables: type and whether one is needed, by name. arguments: the
    variable of each. encoding: where no variable says."""

    name: str | None
    alias: str
    node: graphql.FieldNode
    shape: FieldShape
    variables: Mapping[str, tuple[str, bool]]
    arguments: Mapping[str, str]
    encoding: Encoding

    def given(self, variables: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The variables as the field takes them, without those that are null; None where GraphQL is to look at
        them."""
        found, raw = {}, variables or {}
        for name, (kind, needed) in self.variables.items():
            value = raw.get(name)
            if value is None:
                if needed:
                    return None
                continue
            if kind == "Long":
                if type(value) is not int or value not in _LONGS:
                    return None
            elif type(value) is not str:
                return None
            elif kind == "Encoding":
                if value not in Encoding.__members__:
                    return None
                value = Encoding[value]
            found[name] = value
        return found

    async def run(self, services: Services, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            shown = await self._shown(services, {name: given.get(each) for name, each in self.arguments.items()})
        except Exception as error:  # noqa: BLE001 - as in GraphQL: it is the field's
            located = located_error(error, [self.node], [self.alias])
            described = format_error(located)
            # Its frames hold what the request was about.
            emptied(located)
            return {"errors": [described], "data": None}
        return {"data": {self.alias: shown}}

    async def _shown(self, services: Services, given: Mapping[str, Any]) -> dict[str, Any]:
        report = await transacted(services, given["tx"], given.get("expectedBasisT"), given.get("idempotencyKey"))
        return await reported(report, given.get("encoding") or self.encoding, self.shape)


def transact_in(document: graphql.DocumentNode, schema: graphql.GraphQLSchema) -> Transact | None:
    """The one `transact` that a valid document consists of, arguments in variables; None for any other document."""
    operation = document.definitions[0]
    root = schema.mutation_type
    if len(document.definitions) > 1 or root is None or not isinstance(operation, graphql.OperationDefinitionNode):
        return None
    if operation.operation is not graphql.OperationType.MUTATION or operation.directives:
        return None
    selections = operation.selection_set.selections
    node = selections[0]
    if (
        len(selections) > 1
        or not isinstance(node, graphql.FieldNode)
        or node.name.value != _FIELD
        or node.directives
    ):
        return None
    shown = graphql.get_named_type(root.fields[_FIELD].type)
    assert isinstance(shown, graphql.GraphQLObjectType)
    shape = _shape(node.selection_set, shown)
    variables = _variables(operation)
    if shape is None or variables is None:
        return None
    encoding, arguments = Encoding.PLAIN, {}
    for argument in node.arguments or ():
        value = argument.value
        if isinstance(value, graphql.VariableNode):
            arguments[argument.name.value] = value.name.value
        elif isinstance(value, graphql.EnumValueNode):
            encoding = Encoding[value.value]
        else:
            return None
    if "tx" not in arguments or not arguments.keys() <= _ARGUMENTS:
        return None
    name = None if operation.name is None else operation.name.value
    alias = node.name.value if node.alias is None else node.alias.value
    return Transact(name, alias, node, shape, variables, arguments, encoding)


def _variables(operation: graphql.OperationDefinitionNode) -> dict[str, tuple[str, bool]] | None:
    found = {}
    for each in operation.variable_definitions or ():
        kind: graphql.TypeNode = each.type
        needed = isinstance(kind, graphql.NonNullTypeNode)
        if isinstance(kind, graphql.NonNullTypeNode):
            kind = kind.type
        if each.default_value is not None or each.directives or not isinstance(kind, graphql.NamedTypeNode):
            return None
        if kind.name.value not in ("EDN", "String", "Long", "Encoding"):
            return None
        found[each.variable.name.value] = kind.name.value, needed
    return found


def _shape(selected: graphql.SelectionSetNode | None, item: graphql.GraphQLObjectType) -> FieldShape | None:
    """What is asked of an object, where its fields are written one by one, each once."""
    fields: dict[str, tuple[str, str, FieldShape | None]] = {}
    for node in () if selected is None else selected.selections:
        if not isinstance(node, graphql.FieldNode) or node.directives:
            return None
        field = node.name.value
        alias = field if node.alias is None else node.alias.value
        inner = None if field == "__typename" else graphql.get_named_type(item.fields[field].type)
        shape = None
        if isinstance(inner, graphql.GraphQLObjectType):
            shape = _shape(node.selection_set, inner)
            if shape is None:
                return None
        if alias in fields:
            return None
        fields[alias] = alias, field, shape
    return FieldShape(item.name, list(fields.values()))
