"""Documents that are one root field: recognised when they are prepared, and run without GraphQL's executor.

What such a document says is settled once: only variables differ between its requests. Whatever is otherwise
(fragments, directives, a second field, a value of a type that is converted), or GraphQL would refuse, is left to
the executor; answers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import graphql

from adalog.schema.arguments.values import BasisInput
from adalog.schema.fields.types import EngineOption
from adalog.schema.request.errors import format_located
from adalog.schema.writing.columnar import FieldShape
from adalog.schema.writing.encoding import Encoding

_LONGS: Final = range(-(2**63), 2**63)
_INTS: Final = range(-(2**31), 2**31)
_BASIS: Final = {"t": "t", "asOf": "as_of", "since": "since", "sinceInstant": "since_instant", "history": "history"}


class _ConvertedError(Exception):
    """A value that GraphQL converts or refuses."""


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _ConvertedError
    return value


def _texts(value: Any) -> list[str]:
    return list(map(_text, _list(value)))


def _list(value: Any) -> list[Any]:
    """A list without null: GraphQL makes a list of anything else."""
    if type(value) is not list or None in value:
        raise _ConvertedError
    return value


def _long(value: Any) -> int:
    if type(value) is not int or value not in _LONGS:
        raise _ConvertedError
    return value


def _int(value: Any) -> int:
    if type(value) is not int or value not in _INTS:
        raise _ConvertedError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise _ConvertedError
    return value


def _encoding(value: Any) -> Encoding:
    if type(value) is not str or value not in Encoding.__members__:
        raise _ConvertedError
    return Encoding[value]


def _engine(value: Any) -> EngineOption:
    if type(value) is not str or value not in EngineOption.__members__:
        raise _ConvertedError
    return EngineOption[value]


def _basis(value: Any) -> BasisInput:
    if type(value) is not dict or not value.keys() <= _BASIS.keys():
        raise _ConvertedError
    read = _BASIS_READERS
    return BasisInput(**{_BASIS[name]: None if each is None else read[name](each) for name, each in value.items()})


_BASIS_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "t": _long,
    "asOf": _text,
    "since": _long,
    "sinceInstant": _text,
    "history": _flag,
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "EDN": _text,
    "String": _text,
    "Long": _long,
    "Int": _int,
    "JSON": lambda value: value,
    "[JSON!]": _list,
    "[EDN!]": _texts,
    "Encoding": _encoding,
    "Engine": _engine,
    "BasisInput": _basis,
}
"""What is taken as it stands, by the type without the `!` at its end."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """`default`: as JSON; None: there is none, or it is null."""

    name: str
    read: Callable[[Any], Any]
    is_needed: bool
    has_default: bool
    default: Any


@dataclass(frozen=True, slots=True)
class SingleField:
    """The one root field of a document. `name`: of the operation. `alias`: in the answer. `nullable`: whether an
    error leaves the answer with a null in its place. `shape`: what is selected of it, None for a scalar. `nodes`:
    those of its fields, by their names in the answer.

    `arguments`: the variable of each, by its name in GraphQL; `constants`: the others that are given. `form`: of an
    answer without errors, where that is known: what stands before each field, and the field."""

    name: str | None
    writes: bool
    field: str
    alias: str
    node: graphql.FieldNode
    nullable: bool
    shape: FieldShape | None
    nodes: Mapping[str, graphql.FieldNode]
    variables: tuple[_Variable, ...]
    arguments: Mapping[str, str]
    constants: Mapping[str, Any]
    form: tuple[tuple[bytes, str], ...] | None = None

    def given(self, variables: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The arguments by their names, without those that are null; None where GraphQL is to look at them."""
        raw: Mapping[str, Any] = variables or {}
        values = {}
        try:
            for each in self.variables:
                value = raw.get(each.name)
                if value is None:
                    if each.has_default and each.name not in raw:
                        value = each.default
                    if value is None:
                        if each.is_needed:
                            return None
                        continue
                values[each.name] = each.read(value)
        except _ConvertedError:
            return None
        found = dict(self.constants)
        for argument, variable in self.arguments.items():
            if variable in values:
                found[argument] = values[variable]
        return found

    @property
    def fields(self) -> frozenset[str]:
        """What is selected of it, by the names in the schema."""
        return frozenset() if self.shape is None else frozenset(field for _, field, _ in self.shape.fields)

    def failed(self, error: Exception, *path: str) -> dict[str, Any]:
        """One of the answer's errors. `path`: within the field."""
        return format_located(error, self.nodes[path[0]] if path else self.node, [self.alias, *path])

    def nothing(self, *errors: dict[str, Any]) -> dict[str, Any]:
        """The answer where there are errors instead of the field."""
        return {"errors": list(errors), "data": {self.alias: None} if self.nullable else None}


def single_field(
    document: graphql.DocumentNode, schema: graphql.GraphQLSchema, fields: Mapping[str, frozenset[str]]
) -> SingleField | None:
    """The one root field of a valid document, if it is one of `fields`, with none but these arguments; None for any
    other document."""
    operation = document.definitions[0]
    if len(document.definitions) > 1 or not isinstance(operation, graphql.OperationDefinitionNode):
        return None
    root = schema.get_root_type(operation.operation)
    node = operation.selection_set.selections[0]
    if (
        root is None
        or operation.directives
        or len(operation.selection_set.selections) > 1
        or not isinstance(node, graphql.FieldNode)
        or node.directives
        or node.name.value not in fields
    ):
        return None
    field = node.name.value
    definition = root.fields[field]
    shown = graphql.get_named_type(definition.type)
    nodes: dict[str, graphql.FieldNode] = {}
    shape = None
    if isinstance(shown, graphql.GraphQLObjectType):
        shape = _shape(node.selection_set, shown, nodes)
        if shape is None:
            return None
    variables = _variables(operation)
    settled = _settled(node, definition, fields[field])
    if variables is None or settled is None:
        return None
    arguments, constants = settled
    # A variable that may be null is not taken for an argument that must not be.
    strict = {
        variable
        for argument, variable in arguments.items()
        if isinstance(definition.args[argument].type, graphql.GraphQLNonNull)
    }
    return SingleField(
        None if operation.name is None else operation.name.value,
        operation.operation is graphql.OperationType.MUTATION,
        field,
        field if node.alias is None else node.alias.value,
        node,
        not isinstance(definition.type, graphql.GraphQLNonNull),
        shape,
        nodes,
        tuple(
            _Variable(each.name, each.read, each.is_needed or each.name in strict, each.has_default, each.default)
            for each in variables
        ),
        arguments,
        constants,
    )


def _settled(
    node: graphql.FieldNode, definition: graphql.GraphQLField, known: frozenset[str]
) -> tuple[dict[str, str], dict[str, Any]] | None:
    """(arguments in variables, others); None where there is an argument of another name or kind."""
    arguments, constants = {}, {}
    for argument in node.arguments or ():
        name, value = argument.name.value, argument.value
        if name not in known:
            return None
        if isinstance(value, graphql.VariableNode):
            arguments[name] = value.name.value
            continue
        kind = str(definition.args[name].type).removesuffix("!")
        try:
            found = _plain(value, kind)
            if found is not None:
                constants[name] = _READERS[kind](found)
        except (_ConvertedError, KeyError, ValueError):
            return None
    return arguments, constants


def _variables(operation: graphql.OperationDefinitionNode) -> list[_Variable] | None:
    found = []
    for each in operation.variable_definitions or ():
        written = graphql.print_ast(each.type)
        read = _READERS.get(written.removesuffix("!"))
        if each.directives or read is None:
            return None
        default = None
        if each.default_value is not None:
            try:
                default = _plain(each.default_value, written.removesuffix("!"))
                if default is not None:
                    read(default)
            except (_ConvertedError, ValueError):
                return None
        is_needed = written.endswith("!")
        found.append(_Variable(each.variable.name.value, read, is_needed, each.default_value is not None, default))
    return found


def _plain(node: graphql.ValueNode, kind: str) -> Any:
    """A literal of a type as a variable would have it. Raises _ConvertedError for one that holds a variable, or is
    written in another way than its type."""
    match node:
        case graphql.NullValueNode():
            return None
        case graphql.StringValueNode() | graphql.BooleanValueNode():
            if kind in ("Encoding", "Engine"):
                raise _ConvertedError
            return node.value
        case graphql.EnumValueNode():
            if kind not in ("Encoding", "Engine"):
                raise _ConvertedError
            return node.value
        case graphql.IntValueNode():
            return int(node.value)
        case graphql.ListValueNode() if kind in ("[JSON!]", "[EDN!]"):
            return [_plain(each, "") for each in node.values]
    raise _ConvertedError


def _shape(
    selected: graphql.SelectionSetNode | None,
    item: graphql.GraphQLObjectType,
    nodes: dict[str, graphql.FieldNode] | None = None,
) -> FieldShape | None:
    """What is asked of an object, where its fields are written one by one, each once. `nodes`: those of its fields
    are added by their names in the answer."""
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
        if nodes is not None:
            nodes[alias] = node
    return FieldShape(item.name, list(fields.values()))
