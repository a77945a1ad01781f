"""Requests that nobody thought of: whatever is sent, the answer is GraphQL's, in time, and never INTERNAL.

Some seconds; `HYPOTHESIS_PROFILE=full` half a minute, `thorough` hours. Afterwards nothing of it is held.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import Code
from adalog.gateway.process.trimming import heap_trimmer, resident
from adalog.gateway.settings.config import Settings
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway
from tests.property.model import examples

# Threads of other tests' servers may draw random numbers while Hypothesis looks.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the .random. module inside strategies")

MANY = settings(max_examples=examples(400))
TIMEOUT_MS = 5_000
# Caches are bounded, and loaded once.
KEPT_BYTES = 192 << 20
CODES = {code.value for code in Code} - {Code.INTERNAL.value}


@pytest.fixture(scope="module")
def family() -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:", timeout_ms=TIMEOUT_MS), SCHEMA, FAMILY) as opened:
        trim, before = heap_trimmer(), resident()
        yield opened
        assert opened.pool.memory.held == 0
        assert (opened.pool.scheduler.running, opened.pool.scheduler.waiting) == (0, 0)
        if trim is not None and before is not None:
            gc.collect()
            trim()
            after = resident()
            assert after is not None
            assert after - before < KEPT_BYTES


def check(to: Gateway, body: Any) -> None:
    """Sends it; the answer is well formed."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    began = time.monotonic()
    response = to.http.post("/graphql", content=content, headers={"Content-Type": "application/json"})
    assert time.monotonic() - began < TIMEOUT_MS / 1000 + 1, body
    answer = response.json()
    assert isinstance(answer, dict), answer
    assert answer.keys() <= {"data", "errors"}, answer
    assert answer
    for error in answer.get("errors", ()):
        assert error["extensions"]["code"] in CODES, (body, error)
        assert isinstance(error["extensions"]["retryable"], bool)
        assert 0 < len(error["message"]) <= 400
    if "errors" not in answer:
        assert isinstance(answer["data"], dict)


# Arguments

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**53, 2**63 - 1, -(2**63), 2**63, 0, -1]),
    st.floats(allow_nan=False, allow_infinity=False),
)
NUMERALS = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,10})?", fullmatch=True),
    st.sampled_from(["NaN", "sNaN", "Infinity", "-Infinity", "1e39", "1e400", "9" * 5_000, "1e-99999999", "", "-"]),
)
INSTANTS = st.sampled_from(
    [
        "2024-05-01",
        "9999-12-31T23:59:59-05:00",
        "0001-01-01T00:00:00+05:00",
        "2024-05-01T12:00:00.123456789Z",
        "9999",
    ]
)
TEXTS = st.one_of(st.text(max_size=20), NUMERALS, INSTANTS, st.sampled_from([":a/b", "#inst", "[1 2]", "\ud7ff"]))
TAGS = ["kw", "sym", "inst", "uuid", "long", "bigint", "dec", "double", "float", "bytes", "char", "uri"]
TAGS += ["set", "list", "map", "edn", "basis", "nope"]


def tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    content = st.one_of(inner, TEXTS, NUMBERS, st.lists(st.lists(inner, min_size=2, max_size=2), max_size=3))
    return st.one_of(
        st.builds(lambda tag, value: {f"#{tag}": value}, st.sampled_from(TAGS), content),
        st.builds(
            lambda key, value: {"basis": {key: value}},
            st.sampled_from(["t", "asOf", "since", "history", "x"]),
            content,
        ),
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )


VALUES = st.recursive(st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS), tagged, max_leaves=12)
QUERIES = st.sampled_from(
    [
        "[:find ?x . :in $ ?x]",
        "[:find ?x :in $ [?x ...]]",
        "[:find ?x ?y :in $ [[?x ?y]]]",
        "[:find ?x ?y :in $ [?x ?y]]",
        "[:find ?e :in $ ?n :where [?e :person/born ?n]]",
        "[:find ?e :in $ ?e :where [?e :person/name]]",
        "[:find ?e :in $ $b :where [$b ?e :person/name]]",
        "[:find ?e :in $ % :where (r ?e)]",
        "[:find ?y . :in $ ?x :where [(+ ?x 1) ?y]]",
        "[:find (pull ?e ?p) :in $ ?p :where [?e :person/name]]",
    ]
)
ENCODINGS = st.sampled_from(["PLAIN", "TAGGED", "EDN"])
ASK = (
    "query($query: EDN!, $args: [JSON!], $encoding: Encoding) "
    "{ q(query: $query, args: $args, encoding: $encoding, first: 5) { columns { name type } rows value } }"
)


def sendable(value: Any) -> Any:
    """The same without what JSON cannot carry: integers of more than 64 bits are text."""
    if isinstance(value, dict):
        return {key: sendable(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(sendable, value))
    big = isinstance(value, int) and not -(2**63) <= value < 2**64
    return str(value) if big else value


@MANY
@given(query=QUERIES, args=st.lists(VALUES, min_size=1, max_size=2), encoding=ENCODINGS)
def test_arguments(family: Gateway, query: str, args: list[Any], encoding: str) -> None:
    variables = {"query": query, "args": sendable(args), "encoding": encoding}
    check(family, {"query": ASK, "variables": variables})


# Documents

NAMES = st.sampled_from(["a", "b", "q", "datoms", "__typename", "__schema", "F", "G", "e", "value", "types"])
LITERALS = st.sampled_from(
    [
        *('"[:find ?e :where [?e :person/name]]"', "1", "-0", "9" * 30, "1.5", "null", "true", "EAVT", "[1, [2]]"),
        *("$x", "{t: 1}", '{asOf: "x"}', '"""block"""', "{a: {b: [1]}}", '"\\uD83D"', "[]", "$y", "1e999"),
    ]
)
ARGUMENTS = st.lists(
    st.builds(
        "{}: {}".format,
        st.sampled_from(
            ["query", "index", "first", "after", "basis", "encoding", "components", "args", "from", "x"]
        ),
        LITERALS,
    ),
    max_size=3,
).map(lambda given: f"({', '.join(given)})" if given else "")
DIRECTIVES = st.sampled_from(["", "", "", " @skip(if: true)", " @include(if: $x)", " @nope", " @skip"])
FIELDS = [
    "q",
    "datoms",
    "transactions",
    "attributes",
    "database",
    "pull",
    "pullMany",
    "explain",
    "__schema",
    "__type",
]
FIELDS += ["__typename", "rows", "value", "basisT", "pageInfo", "e", "v", "t", "tempids", "types", "fields", "name"]


def selections(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    field = st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["", "", "a: ", "b: "]),
        st.sampled_from(FIELDS),
        ARGUMENTS,
        DIRECTIVES,
        st.one_of(st.just(""), inner),
    )
    spread = st.sampled_from(["...F", "...G", "...H"])
    inline = st.builds("... {}{}".format, st.sampled_from(["on Query ", "on Datom ", ""]), inner)
    return st.lists(st.one_of(field, field, spread, inline), min_size=1, max_size=4).map(
        lambda s: f"{{{' '.join(s)}}}"
    )


SELECTIONS = st.recursive(st.sampled_from(["{basisT}", "{e v}", "{__typename}", "{value}", "{}"]), selections)
DEFINITIONS = st.builds(
    "{}{} {}".format,
    st.sampled_from(["query", "query A", "mutation", "subscription", "query($x: Boolean, $y: [JSON!])", ""]),
    DIRECTIVES,
    SELECTIONS,
)
FRAGMENTS = st.builds(
    "fragment {} on {} {}".format, st.sampled_from("FGH"), st.sampled_from(["Query", "Datom", "Nope"]), SELECTIONS
)
DOCUMENTS = st.builds(
    lambda definitions, fragments: " ".join([*definitions, *fragments]),
    st.lists(DEFINITIONS, min_size=1, max_size=2),
    st.lists(FRAGMENTS, max_size=3),
)


@MANY
@given(text=DOCUMENTS, x=VALUES, name=st.sampled_from([None, "A", "", "B"]))
def test_documents(family: Gateway, text: str, x: Any, name: str | None) -> None:
    check(family, {"query": text, "variables": {"x": sendable(x), "y": sendable([x])}, "operationName": name})


@MANY
@given(text=DOCUMENTS, at=st.integers(0, 200), length=st.integers(0, 10), put=st.text(max_size=5))
def test_documents_with_a_piece_changed(family: Gateway, text: str, at: int, length: int, put: str) -> None:
    check(family, {"query": text[:at] + put + text[at + length :]})


@MANY
@given(query=st.text(alphabet='[]{}()#"\\:?$%_a1 .-N\n', max_size=40), args=st.lists(TEXTS, max_size=2))
def test_edn(family: Gateway, query: str, args: list[str]) -> None:
    document = "query($query: EDN!, $args: [EDN!]) { q(query: $query, argsEdn: $args) { value } }"
    check(family, {"query": document, "variables": {"query": query, "args": args}})
    check(family, {"query": document, "variables": {"query": "[:find ?x . :in $ ?x]", "args": [query]}})


@MANY
@given(body=st.binary(max_size=60))
def test_bodies(family: Gateway, body: bytes) -> None:
    check(family, body)
    check(family, b'{"query":' + body + b"}")
