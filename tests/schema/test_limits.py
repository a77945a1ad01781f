"""Documents that ask for too much are refused before they are validated."""

from __future__ import annotations

import gc
import weakref

import pytest
from graphql import GraphQLError, get_introspection_query, graphql_sync

from adalog.datalog.errors import AdalogError, Code
from adalog.schema.documents.measure import introspected, parse_within
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema

LIMITS = RequestLimits(query_tokens=200, query_depth=5, query_aliases=3, query_fields=20)


def refusal(document: str, limits: RequestLimits = LIMITS) -> str:
    with pytest.raises(AdalogError) as caught:
        parse_within(document, limits)
    assert caught.value.code is Code.LIMIT_EXCEEDED
    return caught.value.message


def test_tokens() -> None:
    assert "tokens in the" in refusal("{" + "a " * 300 + "}")
    assert "tokens in the" in refusal("# c\n" * 300 + "{a}")


def test_depth() -> None:
    assert "levels of nesting" in refusal("{a" * 6 + "}" * 6)
    parse_within("{a" * 5 + "}" * 5, LIMITS)


def test_depth_is_seen_through_fragments() -> None:
    text = "{...A} fragment A on Q {a{...B}} fragment B on Q {a{...C}} fragment C on Q {a{b{c{d}}}}"
    assert "levels of nesting" in refusal(text)
    assert "levels of nesting" in refusal("{... on Q {a{b{c{d{e{f}}}}}}}")


def test_a_document_too_deep_to_parse() -> None:
    wide = RequestLimits(query_tokens=1_000_000)
    with pytest.raises(AdalogError, match="levels of nesting"):
        parse_within("{a" * 20_000 + "}" * 20_000, wide)


def test_aliases() -> None:
    assert "aliases in the" in refusal("{a:x b:x c:x d:x}")
    assert "aliases in the" in refusal("{...A ...A ...A ...A} fragment A on Q {a:x}")


def test_fields_multiply_through_fragments() -> None:
    text = "{" + "...A " * 7 + "} fragment A on Q {a b c}"
    assert "fields and fragments" in refusal(text)


def test_fragments_that_spread_themselves_are_refused_and_unknown_ones_left_to_validation() -> None:
    for text in ("{...A} fragment A on Q {...A b}", "{...A} fragment A on Q {...B} fragment B on Q {a {...A}}"):
        with pytest.raises(GraphQLError, match="within itself"):
            parse_within(text, LIMITS)
    parse_within("{...Unknown}", LIMITS)


def doubling(count: int, leaf: str) -> str:
    """Fragments each of which spreads the next one twice."""
    pairs = " ".join(f"fragment F{i} on Q {{...F{i + 1} ...F{i + 1}}}" for i in range(count))
    return f"{pairs} fragment F{count} on Q {{{leaf}}}"


@pytest.mark.parametrize("leaf", ["a", "__typename", "a {b}"])
@pytest.mark.parametrize("operation", ["{...F0}", "{a}"])
def test_fragments_that_double_are_measured_without_being_spread(operation: str, leaf: str) -> None:
    wide = RequestLimits(query_tokens=10_000)
    assert "fields and fragments" in refusal(f"{operation} {doubling(28, leaf)}", wide)
    assert "fields and fragments" in refusal(f"{operation} {doubling(50, leaf)}", wide)


def test_a_chain_of_fragments_is_nesting() -> None:
    chain = " ".join(f"fragment F{i} on Q {{...F{i + 1}}}" for i in range(500)) + " fragment F500 on Q {a}"
    assert "levels of nesting" in refusal("{...F0} " + chain, RequestLimits(query_tokens=10_000))
    assert "levels of nesting" in refusal("{" + "...{" * 100 + "a" + "}" * 101, RequestLimits())


def test_spreads_count_as_fields() -> None:
    assert "fields and fragments" in refusal("{" + "...A " * 30 + "} fragment A on Q {a}")


def test_fields_under_one_name_are_compared_in_pairs_by_validation() -> None:
    few = RequestLimits(query_fields=30)
    assert "pairs" in refusal("{" + "a " * 29 + "}", few)
    assert "pairs" in refusal("{" + "a{b c} " * 22 + "}", RequestLimits(query_fields=22 * 3))
    assert "pairs" in refusal("{" + "...F " * 33 + "} fragment F on Q {a {b}}", RequestLimits(query_fields=33 * 3))
    parse_within("{" + " ".join(f"a{i}" for i in range(29)) + "}", few)


def test_names_and_texts_are_not_longer_than_anybody_writes() -> None:
    assert "name" in refusal("{" + "a" * 300 + "}")
    assert "name" in refusal("{" + "a" * 300 + ": b}")
    assert "name" in refusal("query " + "a" * 300 + "{ b }")
    assert "characters in the GraphQL document" in refusal("{ a }" + " " * 500, RequestLimits(query_bytes=500))


@pytest.mark.parametrize("number", ["9" * 5_000, "9" * 5_000 + ".5", "-" + "9" * 5_000])
def test_numbers_of_too_many_digits(number: str) -> None:
    for text in (f"{{a(b: {number})}}", f"{{a(b: [{{c: [{number}]}}])}}", f"query($x: Int = {number}) {{a}}"):
        with pytest.raises(AdalogError) as caught:
            parse_within(text, LIMITS)
        assert caught.value.code is Code.ARG_INVALID
        assert len(caught.value.message) < 200
    parse_within('{a(b: "' + "9" * 5_000 + '")}', LIMITS)


def test_introspection_is_weighed_by_what_the_schema_has() -> None:
    schema = build_schema()._schema
    size = introspected(schema)
    _, usual = parse_within(get_introspection_query(), RequestLimits(), size)
    answer = graphql_sync(schema, get_introspection_query()).data
    assert entries(answer) <= usual <= 4 * entries(answer)
    assert 2 * usual < size.bound
    within = "{fields {type {fields {type {fields {name}}}}}}"
    for document in (
        "{" + " ".join(f"a{i}: __schema {{types {{{FIELDS}}}}}" for i in range(29)) + "}",
        f"{{__schema {{types {within} directives {{args {{type {within}}}}}}}}}",
        '{__type(name: "Query") ' + within.replace("name", "args {type {fields {args {type {name}}}}}") + "}",
    ):
        with pytest.raises(AdalogError, match="introspection"):
            parse_within(document, RequestLimits(query_fields=10_000, query_depth=30), size)
    _, none = parse_within("{ database { basisT } }", RequestLimits(), size)
    assert none == 0


FIELDS = "name kind description fields {name description args {name description type {name kind} defaultValue}}"


def entries(value: object) -> int:
    """The objects, lists and values of an answer."""
    if isinstance(value, dict):
        return 1 + sum(map(entries, value.values()))
    return 1 + (sum(map(entries, value)) if isinstance(value, list) else 0)


def test_a_document_is_freed_with_its_last_reference() -> None:
    """Its tokens hold each other in graphql-core, so that documents never seen before would pile up."""
    gc.collect()
    gc.disable()
    try:
        document, _ = parse_within("{ database { basisT } }", RequestLimits())
        assert document.loc is not None
        field = weakref.ref(document.definitions[0])
        del document
        assert field() is None
    finally:
        gc.enable()
