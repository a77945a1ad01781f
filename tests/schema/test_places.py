"""Places in a document are those that graphql-core finds."""

from __future__ import annotations

import pytest
from graphql import GraphQLSyntaxError, Source
from hypothesis import given
from hypothesis import strategies as st

from adalog.schema.documents.measure import _Text, parse_within
from adalog.schema.request.limits import RequestLimits


@given(st.text("a \n\r\t", max_size=40))
def test_lines_and_columns(text: str) -> None:
    plain, own = Source(text), _Text(text)
    for place, letter in enumerate(text):
        if letter == "a":
            assert own.get_location(place) == plain.get_location(place)


def test_a_document_that_cannot_be_read() -> None:
    with pytest.raises(GraphQLSyntaxError) as caught:
        parse_within("{ a \r\n b\n  ]", RequestLimits())
    assert caught.value.locations == [(3, 3)]
