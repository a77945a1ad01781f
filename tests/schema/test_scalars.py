"""Long and EDN as GraphQL reads and writes them."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLError

from adalog.schema.writing.longs import write_long
from adalog.schema.writing.scalars import read_edn, read_long


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, 0), (2**53 - 1, 2**53 - 1), (2**53, str(2**53)), (-(2**53) + 1, -(2**53) + 1), (-(2**63), str(-(2**63)))],
)
def test_long_is_written_so_that_javascript_can_read_it(number: int, written: Any) -> None:
    assert write_long(number) == written
    assert read_long(written) == number


@pytest.mark.parametrize("value", [True, 1.5, "", "1.5", "--1", "1-", "x", "٣", None, [], 2**63, "9" * 30, "-"])
def test_what_is_no_long_is_refused(value: Any) -> None:
    with pytest.raises(GraphQLError, match="Long"):
        read_long(value)


def test_edn_is_text() -> None:
    assert read_edn("[1]") == "[1]"
    with pytest.raises(GraphQLError, match="EDN"):
        read_edn([1])
