"""GraphQL documents prepared once and run many times, and lists that skip GraphQL's completion of each item.

`Operations` is the way in for the gateway: text in, an answer ready to be written out. Parsed and validated
documents are kept by their text. Two kinds of list are answered whole: JSON prepared as bytes, and
columns of objects.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    GraphQLError,
    GraphQLList,
    GraphQLObjectType,
    OperationDefinitionNode,
    OperationType,
    execute,
    get_named_type,
    validate,
)
from graphql.execution import Executor

from datalog.errors import AdalogError
from schema.context import Context
from schema.errors import describe, format_error
from schema.limits import Limits, parse_within
from store.collecting import put_off

_VALIDATION_ERRORS = 20


class ColumnarList(Protocol):
    """A list of objects of plain leaf fields, held as one column a field."""

    def column(self, field: str) -> Sequence[Any]:
        """The JSON values of the GraphQL field `field`, one per object."""


class PreparingExecutor(Executor[Any]):
    """graphql-core's executor, except that what is already in shape is not taken apart item by item."""

    def complete_list_value(
        self,
        return_type: GraphQLList[Any],
        field_details_list: Any,
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        if isinstance(result, orjson.Fragment):
            return result
        if hasattr(result, "column"):
            item = get_named_type(return_type)
            assert isinstance(item, GraphQLObjectType)
            return self._complete_columns(item, field_details_list, result)
        return super().complete_list_value(return_type, field_details_list, info, path, result, position_context)

    def _complete_columns(
        self, item: GraphQLObjectType, details: Any, result: ColumnarList
    ) -> list[dict[str, Any]]:
        grouped, *_ = self.collect_subfields(item, details)
        names = list(grouped)
        columns: list[Sequence[Any]] = []
        count = len(result)  # type: ignore[arg-type]
        for group in grouped.values():
            field = group[0].node.name.value
            columns.append([item.name] * count if field == "__typename" else result.column(field))
        if not columns:
            return [{}] * count
        with put_off(count):
            return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def is_awaitable(value: Any) -> bool:
    """Only coroutines and futures are awaited here: a cheaper question than graphql-core's own."""
    return hasattr(value, "__await__")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was parsed and validated, or why it was refused."""

    document: DocumentNode | None
    refusal: tuple[dict[str, Any], ...] = ()

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """The operation that `name` chooses; None where the choice is not clear (execution says why)."""
        if self.document is None:
            return None
        found = [d for d in self.document.definitions if isinstance(d, OperationDefinitionNode)]
        if name is not None:
            found = [d for d in found if d.name is not None and d.name.value == name]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is the response; `executed` says whether it got as far as having `data`."""

    body: dict[str, Any]
    executed: bool


def root_fields(operation: OperationDefinitionNode) -> list[str]:
    """The names of an operation's root fields (those written directly), for metrics."""
    return [node.name.value for node in operation.selection_set.selections if isinstance(node, FieldNode)]


def is_mutation(operation: OperationDefinitionNode) -> bool:
    return operation.operation is OperationType.MUTATION


class Operations:
    """Runs GraphQL requests against one schema."""

    def __init__(self, schema: strawberry.Schema, limits: Limits, *, remembered: int = 500) -> None:
        self._schema = schema._schema  # graphql-core's schema: the one thing Strawberry offers no public name for
        self._limits = limits
        self._remembered = remembered
        self._documents: OrderedDict[str, Prepared] = OrderedDict()

    def prepare(self, text: str) -> Prepared:
        """The document in `text`, from memory when it was asked before."""
        known = self._documents.get(text)
        if known is not None:
            self._documents.move_to_end(text)
            return known
        prepared = self._prepare(text)
        if len(text) <= 20_000:
            self._documents[text] = prepared
            if len(self._documents) > self._remembered:
                self._documents.popitem(last=False)
        return prepared

    def _prepare(self, text: str) -> Prepared:
        try:
            document = parse_within(text, self._limits)
        except AdalogError as error:
            return Prepared(None, (describe(error),))
        except GraphQLError as error:
            return Prepared(None, (format_error(error),))
        errors = validate(self._schema, document, max_errors=_VALIDATION_ERRORS)
        return Prepared(document, tuple(format_error(error) for error in errors))

    async def run(
        self, prepared: Prepared, context: Context, variables: Mapping[str, Any] | None, operation_name: str | None
    ) -> Answer:
        """Executes a prepared document."""
        if prepared.refusal or prepared.document is None:
            return Answer({"errors": list(prepared.refusal)}, executed=False)
        outcome: ExecutionResult | Awaitable[ExecutionResult] = execute(
            self._schema,
            prepared.document,
            context_value=context,
            variable_values=dict(variables) if variables else None,
            operation_name=operation_name,
            executor_class=PreparingExecutor,
            is_awaitable=is_awaitable,  # type: ignore[arg-type]
        )
        result = outcome if isinstance(outcome, ExecutionResult) else await outcome
        return _answer(result)


def _answer(result: ExecutionResult) -> Answer:
    # A request error (no such operation, a wrong variable) comes without data and without a path.
    executed = result.data is not None or any(error.path for error in result.errors or ())
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [format_error(error) for error in result.errors]
    if executed:
        body["data"] = result.data
    return Answer(body, executed)
