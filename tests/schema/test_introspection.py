"""Introspection is written without graphql-core's executor, and tells what that tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from graphql import execute_sync, get_introspection_query

from adalog.schema.documents import operations
from tests.gateway.support import Gateway, gateway
from tests.typed.test_declarations import SCHEMA

_ALL: Final = get_introspection_query(
    specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
)
_FRAGMENTS: Final = """
{ again: __schema { __typename types { ...named ... on __Type { kind } fields { __typename n: name } } }
  __schema { types { name } queryType { interfaces { name } } } __typename }
fragment named on __Type { name: name of: ofType { name } possibleTypes { ...kinds } }
fragment kinds on __Type { name enumValues(includeDeprecated: true) { name isDeprecated deprecationReason } }
"""
_ONE: Final = """
query ($name: String!, $with: Boolean!, $old: Boolean = true) {
  __type(name: $name) {
    name @skip(if: $with)
    fields(includeDeprecated: $old) { name args { name defaultValue type { name ofType { name } } } }
    inputFields @include(if: $with) { name defaultValue isDeprecated }
    isOneOf specifiedByURL
  }
}
"""
TYPES: Final = ("Query", "Issue", "Entity", "Status", "IssueOrderBy", "IssueWhere", "UUID", "__Type", "Nothing")


@pytest.fixture(scope="module")
def opened() -> Iterator[Gateway]:
    with gateway(None, SCHEMA) as found:
        yield found


def check(opened: Gateway, document: str, **variables: Any) -> None:
    prepared = opened.app.state.answering.operations.prepare(document)
    assert prepared.introspection > 0
    expected = execute_sync(prepared.surface.schema, prepared.document, variable_values=variables)
    assert expected.errors is None
    assert opened.data(document, **variables) == expected.data


@pytest.mark.parametrize("document", [_ALL, _FRAGMENTS])
def test_a_schema(opened: Gateway, document: str) -> None:
    check(opened, document)


@pytest.mark.parametrize("given", [{"with": True}, {"with": False, "old": False}])
@pytest.mark.parametrize("name", TYPES)
def test_a_type(opened: Gateway, monkeypatch: pytest.MonkeyPatch, name: str, given: dict[str, bool]) -> None:
    monkeypatch.setattr(operations, "_INLINE_INTROSPECTION", 0)
    check(opened, _ONE, name=name, **given)
