"""What graphql-core's messages do not say: which argument a value was for, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSyntaxError,
    ListValueNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    ValueNode,
    VisitorAction,
    specified_rules,
)
from graphql.language import SKIP
from graphql.utilities import validate_input_literal
from graphql.validation import ValuesOfCorrectTypeRule

from adalog.datalog.edn.languages import other_language
from adalog.datalog.hints import nearest
from adalog.schema.request.errors import WrongValueError

# Names that a message lists.
_MOST_NAMES: Final = 16
_PAST: Final = (
    '; a past state is basis: {t: 2}, with a transaction\'s number, or basis: {asOf: "2024-05-01T12:00:00Z"}'
)
_EDN_AS_VARIABLE: Final = (
    "; EDN is a string in GraphQL, best sent as a variable: query($query: EDN!) { q(query: $query) { rows } }"
)
_FOUND_NUMBER: Final = re.compile(r"String cannot represent a non string value: (?:\{ t: )?(-?\d+)")
_NOT_A_MAP: Final = re.compile(r"value of type 'BasisInput' to be an object, found: (.+?)\.?(?: \(argument|$)")
_NO_MEMBER: Final = re.compile(r"Value '\w+' does not exist in '(\w+)' enum|Enum '(\w+)' cannot represent")
_ONE_OF: Final = re.compile(r"Within OneOf Input Object type '(\w+)'")
_NO_OBJECT: Final = re.compile(r"Expected value of type '(\w+)!?' (?:to be an object|not to include unknown field)")
_NO_FIELD: Final = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'\.")
_OF_ANOTHER_ROOT: Final = "; it is a field of"
_OTHER_TYPE: Final = re.compile(r"Variable '\$(\w+)' of type '[^']+' used in position expecting type '([^']+)'")
_NO_ARGUMENT: Final = re.compile(r"Unknown argument '(\w+)' on field '(\w+)\.(\w+)'\.")
_NO_VARIABLE: Final = re.compile(r"Variable '\$(\w+)' is not defined")
_NOT_SENT: Final = re.compile(r"Variable '\$(\w+)' has invalid value: Expected a value of non-null type")
_AS_DATALOG: Final = re.compile(r"^\s*\[|:find\b|:where\b|:db/")


class LocatedValuesRule(ValuesOfCorrectTypeRule):
    """graphql-core's rule, whose messages name the argument and point at the value."""

    _field = ""
    _argument = ""

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        self._field = node.name.value

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        self._argument = node.name.value

    def is_valid_value_node(self, node: ValueNode, input_type: GraphQLInputType | None) -> VisitorAction:
        def refuse(error: GraphQLError, path: Sequence[str | int]) -> None:
            place = ".".join(map(str, (self._argument, *path)))
            message, where = error.message, ""
            if self._argument:
                message, where = message.removesuffix("."), f" (argument {place} of {self._field})"
            self.report_error(WrongValueError(f"{message}{where}", error.nodes or _inside(node, path)))

        if input_type:
            validate_input_literal(node, input_type, refuse)
        return SKIP


RULES: Final = tuple(LocatedValuesRule if each is ValuesOfCorrectTypeRule else each for each in specified_rules)
"""The rules that a document has to keep."""


def _inside(node: Node, path: Sequence[str | int]) -> Node:
    """The part of a literal at a path, or as much of the way as there is."""
    for step in path:
        if isinstance(node, ObjectValueNode):
            node = next((each.value for each in node.fields if each.name.value == step), node)
        elif isinstance(node, ListValueNode) and isinstance(step, int) and step < len(node.values):
            node = node.values[step]
    return node


def advised(
    errors: Iterable[GraphQLError],
    schema: GraphQLSchema,
    text: str = "",
    document: DocumentNode | None = None,
    variables: Mapping[str, Any] | None = None,
) -> list[GraphQLError]:
    """The errors, with advice in their messages. `text`, `document`: what was refused; `variables`: those sent."""
    found = list(errors)
    for error in found:
        advice = _advice(error, schema, text, document, variables or {})
        if advice:
            message = error.message
            if advice.startswith(_OF_ANOTHER_ROOT):
                # What graphql-core proposes is a name that is like it.
                message = message.partition(" Did you mean")[0]
            error.message = message.removesuffix(".") + advice
    return found


def _advice(
    error: GraphQLError,
    schema: GraphQLSchema,
    text: str,
    document: DocumentNode | None,
    variables: Mapping[str, Any],
) -> str:
    message = error.message
    if isinstance(error, GraphQLSyntaxError):
        language = other_language(text)
        if "GraphQL" not in language and language:
            return f"; {language}"
        if "<EOF>" in message:
            return "; a closing bracket or quote is missing" if text.strip() else ""
        return _EDN_AS_VARIABLE if _AS_DATALOG.search(text) else ""
    if (match := _NO_VARIABLE.match(message)) is not None:
        return nearest(match[1], _variables(document), prefix="$")
    if (match := _NOT_SENT.match(message)) is not None:
        return _not_sent(match[1], document, variables)
    if "asOf" in message and (match := _FOUND_NUMBER.search(message)) is not None:
        return f"; asOf is an instant, a transaction's number is t: {{t: {match[1]}}}"
    if (match := _NOT_A_MAP.search(message)) is not None:
        return f"; write {{t: {match[1]}}}" if match[1].strip("-").isdecimal() else f"; write {{asOf: {match[1]}}}"
    if (match := _NO_ARGUMENT.match(message)) is not None:
        return _no_argument(match[1], schema.type_map.get(match[2]), match[3], message)
    if (match := _NO_FIELD.match(message)) is not None:
        other = _of_another_root(match[1], match[2], schema)
        return other or ("" if "Did you mean" in message else _no_field(match[2], schema))
    if (match := _NO_MEMBER.search(message)) is not None and "Did you mean" not in message:
        enum = schema.type_map.get(match[1] or match[2])
        return f"; it is one of {_listed(enum.values)}" if isinstance(enum, GraphQLEnumType) else ""
    if (match := _NO_OBJECT.search(message)) is not None and "Did you mean" not in message:
        given = schema.type_map.get(match[1])
        return f"; {match[1]} has {_listed(given.fields)}" if isinstance(given, GraphQLInputObjectType) else ""
    if (match := _ONE_OF.search(message)) is not None:
        return _one_of(schema.type_map.get(match[1]))
    if (match := _OTHER_TYPE.match(message)) is not None:
        return f"; declare ${match[1]}: {match[2]}"
    return ""


def _variables(document: DocumentNode | None) -> list[str]:
    """The names of the variables that the operations of a document declare."""
    operations = () if document is None else document.definitions
    return [
        each.variable.name.value
        for operation in operations
        if isinstance(operation, OperationDefinitionNode)
        for each in operation.variable_definitions or ()
    ]


def _not_sent(name: str, document: DocumentNode | None, variables: Mapping[str, Any]) -> str:
    declared = _variables(document)
    others = [each for each in variables if each not in declared][:_MOST_NAMES]
    if others:
        return f"; `variables` has {', '.join(map(repr, others))} in its place"
    return f'; it is sent beside the document: {{"query": …, "variables": {{"{name}": …}}}}'


def _no_argument(name: str, parent: Any, field: str, message: str) -> str:
    if name.lower().replace("_", "") in ("asof", "t", "since", "history", "at", "tx"):
        return _PAST
    if "Did you mean" in message or not isinstance(parent, GraphQLObjectType) or field not in parent.fields:
        return ""
    return f"; it takes {_listed(parent.fields[field].args)}"


def _of_another_root(name: str, type_name: str, schema: GraphQLSchema) -> str:
    """The advice for a field that another kind of operation has."""
    roots = schema.query_type, schema.mutation_type, schema.subscription_type
    known = {root.name: root for root in roots if root is not None}
    owner = next((root for root in known.values() if name in root.fields), None)
    if owner is None or type_name not in known:
        return ""
    return f"{_OF_ANOTHER_ROOT} {owner.name}: {owner.name.lower()} {{ {name}(…) {{ … }} }}"


def _no_field(type_name: str, schema: GraphQLSchema) -> str:
    known = schema.type_map.get(type_name)
    return f"; {type_name} has {_listed(known.fields)}" if isinstance(known, GraphQLObjectType) else ""


def _one_of(given: Any) -> str:
    if not isinstance(given, GraphQLInputObjectType):
        return ""
    ordered = "; several orders are several elements of the list" if given.name.endswith("OrderBy") else ""
    return f"; {given.name} has {_listed(given.fields)}{ordered}"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:_MOST_NAMES]) + (" …" if len(listed) > _MOST_NAMES else "")
