"""What one GraphQL request may ask for, and the checks on its document. Every limit is a setting."""

from __future__ import annotations

from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
)

from datalog.errors import AdalogError, Code


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a request and on its answer."""

    query_tokens: int = 4_000
    query_depth: int = 15
    query_aliases: int = 30
    query_fields: int = 1_000
    rows: int = 1_000_000
    result_bytes: int = 64 * 1024 * 1024
    timeout_ms: int = 60_000


def parse_within(text: str, limits: Limits) -> DocumentNode:
    """The document, when within the limits on tokens, depth, aliases and fields.

    Raises LIMIT_EXCEEDED and GraphQLSyntaxError.
    """
    try:
        document = parse(text, max_lexical_tokens=limits.query_tokens, max_comments=limits.query_tokens)
    except GraphQLSyntaxError as error:
        # The parser has no type for its own limits, only these words.
        if "nested too deeply" in error.message:
            raise exceeded("levels of nesting in the GraphQL document", limits.query_depth, "query_depth") from None
        if "Document contains more than" in error.message:
            raise exceeded("tokens in the GraphQL document", limits.query_tokens, "query_tokens") from None
        raise
    _Measure(document, limits).check()
    return document


def exceeded(what: str, limit: int, setting: str) -> AdalogError:
    """A LIMIT_EXCEEDED that names the limit and the setting that moves it."""
    return AdalogError(
        Code.LIMIT_EXCEEDED, f"more than {limit:,} {what}; the setting ADALOG_{setting.upper()} moves this limit"
    )


class _Measure:
    """Depth, aliases and fields of a document with its fragments spread; a repeated fragment counts each time."""

    def __init__(self, document: DocumentNode, limits: Limits) -> None:
        self.limits = limits
        self.aliases = 0
        self.fields = 0
        self.operations = [d for d in document.definitions if isinstance(d, OperationDefinitionNode)]
        self.fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}

    def check(self) -> None:
        for operation in self.operations:
            self.aliases = self.fields = 0
            self._walk(operation.selection_set, 1, ())

    def _walk(self, selections: SelectionSetNode, depth: int, inside: tuple[str, ...]) -> None:
        limits = self.limits
        if depth > limits.query_depth:
            raise exceeded("levels of nesting in the GraphQL document", limits.query_depth, "query_depth")
        for node in selections.selections:
            if isinstance(node, FieldNode):
                self.fields += 1
                self.aliases += node.alias is not None
                if self.fields > limits.query_fields:
                    raise exceeded("fields in the GraphQL document", limits.query_fields, "query_fields")
                if self.aliases > limits.query_aliases:
                    raise exceeded("aliases in the GraphQL document", limits.query_aliases, "query_aliases")
                if node.selection_set is not None:
                    self._walk(node.selection_set, depth + 1, inside)
            elif isinstance(node, FragmentSpreadNode):
                name = node.name.value
                fragment = self.fragments.get(name)
                # Unknown and circular fragments are for validation to refuse.
                if fragment is not None and name not in inside:
                    self._walk(fragment.selection_set, depth, (*inside, name))
            else:
                nested = getattr(node, "selection_set", None)
                if nested is not None:
                    self._walk(nested, depth, inside)
