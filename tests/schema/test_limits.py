"""Documents that ask for too much are refused before they are validated."""

from __future__ import annotations

import pytest

from datalog.errors import AdalogError, Code
from schema.limits import Limits, parse_within

LIMITS = Limits(query_tokens=200, query_depth=5, query_aliases=3, query_fields=20)


def refusal(document: str) -> str:
    with pytest.raises(AdalogError) as caught:
        parse_within(document, LIMITS)
    assert caught.value.code is Code.LIMIT_EXCEEDED
    return caught.value.message


def test_tokens() -> None:
    assert "ADALOG_QUERY_TOKENS" in refusal("{" + "a " * 300 + "}")
    assert "ADALOG_QUERY_TOKENS" in refusal("# c\n" * 300 + "{a}")


def test_depth() -> None:
    assert "ADALOG_QUERY_DEPTH" in refusal("{a" * 6 + "}" * 6)
    parse_within("{a" * 5 + "}" * 5, LIMITS)


def test_depth_is_seen_through_fragments() -> None:
    text = "{...A} fragment A on Q {a{...B}} fragment B on Q {a{...C}} fragment C on Q {a{b{c{d}}}}"
    assert "QUERY_DEPTH" in refusal(text)
    assert "QUERY_DEPTH" in refusal("{... on Q {a{b{c{d{e{f}}}}}}}")


def test_a_document_too_deep_to_parse() -> None:
    wide = Limits(query_tokens=1_000_000)
    with pytest.raises(AdalogError, match="QUERY_DEPTH"):
        parse_within("{a" * 20_000 + "}" * 20_000, wide)


def test_aliases() -> None:
    assert "ADALOG_QUERY_ALIASES" in refusal("{a:x b:x c:x d:x}")
    assert "ADALOG_QUERY_ALIASES" in refusal("{...A ...A ...A ...A} fragment A on Q {a:x}")


def test_fields_multiply_through_fragments() -> None:
    text = "{" + "...A " * 7 + "} fragment A on Q {a b c}"
    assert "ADALOG_QUERY_FIELDS" in refusal(text)


def test_circular_and_unknown_fragments_are_left_to_validation() -> None:
    parse_within("{...A} fragment A on Q {...A b}", LIMITS)
    parse_within("{...Unknown}", LIMITS)
