"""Rows of a query as a Parquet file, for clients that accept one: what readers make of it is the Arrow answer."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import httpx
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.values import BigInt, Duration, Float, Keyword, Symbol, Uri
from adalog.gateway.settings.config import Settings
from adalog.schema.writing import parquet
from adalog.schema.writing.arrow import METADATA
from adalog.schema.writing.encoding import Encoding, encode
from tests.gateway.identity.test_auth import digest
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway

PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/graphql-response+json"
NAMES = '"[:find ?n :where [_ :person/name ?n] :order-by [?n]]"'
VALUES: dict[str, list[Any]] = {
    "long": [1, -(2**63), 2**63 - 1],
    "bigint": [BigInt(10**40), BigInt(-1)],
    "double": [1.5, math.inf, math.nan, -0.0],
    "float": [Float(1.5), Float(-2)],
    "bigdec": [Decimal("1.55"), Decimal("-12345678901234567890.5")],
    "string": ["a", "", "bé\n\x00", "長" * 3000],
    "keyword": [Keyword("a"), Keyword("a/b")],
    "symbol": [Symbol("a/b")],
    "boolean": [True, False],
    "instant": [datetime(2024, 1, 2, 3, 4, 5, 678000, UTC), datetime(1, 1, 2, tzinfo=UTC)],
    "uuid": [UUID(int=7)],
    "uri": [Uri("http://a")],
    "bytes": [b"", b"a\x00\xff"],
    "duration": [Duration(1, 2, 3)],
    "several": [1, "a", Keyword("a"), 1.5, True, (1, "x")],
    "nil": [None],
}


@pytest.fixture(scope="module")
def family() -> Iterator[Gateway]:
    with gateway(None, SCHEMA, FAMILY) as opened:
        yield opened


def ask(opened: Gateway, document: str, accept: str = PARQUET, token: str = "", **variables: Any) -> httpx.Response:
    headers = {"Accept": accept} | ({"Authorization": f"Bearer {token}"} if token else {})
    return opened.http.post("/graphql", json={"query": document, "variables": variables}, headers=headers)


def file_of(response: httpx.Response) -> bytes:
    assert response.headers["content-type"] == PARQUET, response.text
    assert int(response.headers["content-length"]) == len(response.content)
    return response.content


def table_of(file: bytes) -> pa.Table:
    return pq.ParquetFile(io.BytesIO(file)).read()


def answer_of(file: bytes) -> Any:
    return orjson.loads(pq.read_metadata(io.BytesIO(file)).metadata[parquet.ANSWER.encode()])


def both(opened: Gateway, query: str, **variables: Any) -> tuple[bytes, pa.Table]:
    """The Parquet answer, and the table of the Arrow answer."""
    document = "query($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { %s } }"
    variables = {"query": query, **variables}
    stream = ask(opened, document % "arrow", ARROW, **variables)
    assert stream.headers["content-type"] == ARROW, stream.text
    file = file_of(ask(opened, document % "parquet", **variables))
    return file, pa.ipc.open_stream(stream.content).read_all()


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows, by a notation that tells NaN and -0.0, too."""
    columns = [[_told(each) for each in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _told(value: Any) -> Any:
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    if isinstance(value, datetime):
        value = value.astimezone(UTC)
    if isinstance(value, Decimal):
        value = value.normalize()
    return repr(value)


def check_readers(file: bytes, expected: pa.Table, folder: Path) -> None:
    """PyArrow, DuckDB and Polars read what the Arrow answer has."""
    read = table_of(file)
    assert read.schema.equals(expected.schema)
    assert read.schema.metadata[METADATA] == expected.schema.metadata[METADATA]
    assert plain(read) == plain(expected)
    path = folder / "rows.parquet"
    path.write_bytes(file)
    assert plain(duckdb.read_parquet(str(path)).to_arrow_table()) == plain(expected)
    frame = pl.read_parquet(io.BytesIO(file))
    assert frame.columns == expected.column_names
    assert plain(frame.to_arrow()) == plain(expected)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("absent", [False, True])
def test_values_of_a_type(family: Gateway, kind: str, absent: bool, tmp_path: Path) -> None:
    values = [*VALUES[kind], *([None] if absent else [])]
    rows = tuple(enumerate(values))
    query = "[:find ?i ?v :in $ [[?i ?v]] :order-by [?i]]"
    file, expected = both(family, query, args=[encode(rows, Encoding.TAGGED)])
    assert expected.num_rows == len(values)
    check_readers(file, expected, tmp_path)


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?p ?c ?n :where [?p :person/child ?c] [?c :person/name ?n]]",
        "[:find ?n (pull ?p [:person/name {:person/child [:person/name]}]) :where [?p :person/name ?n]]",
        "[:find ?n . :where [_ :person/name ?n]]",
        "[:find (count ?p) (avg ?b) :where [?p :person/born ?b]]",
        "[:find ?n ?b :keys name born :where [?p :person/name ?n] [?p :person/born ?b]]",
        "[:find ?n ?b :where [?p :person/name ?n] [?p :person/born ?b] [(< ?b 0)]]",
    ],
)
def test_shapes_of_answers(family: Gateway, query: str, tmp_path: Path) -> None:
    check_readers(*both(family, query), tmp_path)


def test_row_groups_have_the_texts_that_occur_in_them(
    family: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 7)
    rows = [[number, f"text {number}" if number % 3 else None] for number in range(100)]
    file, expected = both(family, "[:find ?i ?t :in $ [[?i ?t]] :order-by [?i]]", args=[rows])
    check_readers(file, expected, tmp_path)
    read = pq.ParquetFile(io.BytesIO(file))
    assert read.num_row_groups == math.ceil(100 / 7)
    for number in range(read.num_row_groups):
        texts = read.read_row_group(number)["?t"].combine_chunks()
        assert len(texts.dictionary) == len(texts) - texts.null_count


def test_a_query_is_given_up_between_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 10)
    checked = []

    def check() -> None:
        checked.append(1)
        if len(checked) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        parquet.ParquetFile(pa.table({"n": range(100)}), check)
    assert len(checked) == 3


@pytest.mark.parametrize("accept", [PARQUET, f"{PARQUET}, application/json;q=0.5", f"{ARROW};q=0.5, {PARQUET}"])
def test_the_json_is_in_the_metadata(family: Gateway, accept: str) -> None:
    file = file_of(
        ask(family, f"{{ q(query: {NAMES}, first: 1) {{ parquet basisT pageInfo {{ hasNextPage }} }} }}", accept)
    )
    assert table_of(file)["?n"].to_pylist() == ["Ada"]
    expected = {"parquet": None, "basisT": 2, "pageInfo": {"hasNextPage": True}}
    assert answer_of(file) == {"data": {"q": expected}}


def test_long_json_in_the_metadata(family: Gateway) -> None:
    doc = "doc " * 40_000
    beside = '{ value: q(query: "[:find ?d . :in $ ?d]", args: $args) { value } '
    document = f"query($args: [JSON!]) {beside} rows: q(query: {NAMES}) {{ parquet }} }}"
    assert answer_of(file_of(ask(family, document, args=[doc])))["data"]["value"]["value"] == doc


def test_further_queries_are_base64(family: Gateway) -> None:
    file = file_of(
        ask(family, f"{{ a: q(query: {NAMES}) {{ parquet }} b: q(query: {NAMES}) {{ parquet arrow }} }}")
    )
    files = [each["parquet"] for each in answer_of(file)["data"].values()]
    [within] = [each for each in files if each is not None]
    assert table_of(base64.b64decode(within)).equals(table_of(file))
    stream = base64.b64decode(answer_of(file)["data"]["b"]["arrow"])
    assert pa.ipc.open_stream(stream).read_all()["?n"].to_pylist() == table_of(file)["?n"].to_pylist()


@pytest.mark.parametrize(("field", "accept"), [("parquet", JSON), ("parquet", ARROW), ("arrow", PARQUET)])
def test_other_fields_and_clients_get_base64(family: Gateway, field: str, accept: str) -> None:
    response = ask(family, f"{{ q(query: {NAMES}) {{ {field} }} }}", accept)
    assert response.headers["content-type"].startswith(JSON)
    content = base64.b64decode(response.json()["data"]["q"][field])
    table = table_of(content) if field == "parquet" else pa.ipc.open_stream(content).read_all()
    assert table["?n"].to_pylist() == ["Ada", "Anne", "Byron", "Ralph"]


def errors(response: httpx.Response) -> list[Mapping[str, Any]]:
    assert response.headers["content-type"].startswith(JSON)
    found = response.json()["errors"]
    return [{"message": each["message"], **each["extensions"]} for each in found]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('query: "[:find ?n"', "EDN_SYNTAX"),
        ('query: "[:find ?n :where [(nope ?n)]]"', "QUERY_INVALID"),
        ('query: "[:find ?n :where [_ :person/name ?n]]", args: [1]', "ARG_INVALID"),
        (f"query: {NAMES}, basis: {{t: 99}}", "BASIS_FUTURE"),
    ],
)
def test_errors_are_those_of_an_arrow_answer(family: Gateway, arguments: str, code: str) -> None:
    refused = {
        field: ask(family, f"{{ q({arguments}) {{ {field} }} }}", accept)
        for field, accept in (("parquet", PARQUET), ("arrow", ARROW))
    }
    assert errors(refused["parquet"]) == errors(refused["arrow"])
    assert [each["code"] for each in errors(refused["parquet"])] == [code]
    assert refused["parquet"].status_code == refused["arrow"].status_code


def test_an_error_beside_the_rows_is_json_alone(family: Gateway) -> None:
    response = ask(family, f'{{ a: q(query: {NAMES}) {{ parquet }} b: q(query: "[:find ?n") {{ rows }} }}')
    assert [each["code"] for each in errors(response)] == ["EDN_SYNTAX"]


def test_what_has_no_rows_is_json(family: Gateway) -> None:
    response = ask(family, "{ database { basisT } }")
    assert response.headers["content-type"].startswith(JSON)
    assert response.json() == {"data": {"database": {"basisT": 2}}}


def test_the_limit_of_a_response_holds() -> None:
    with gateway(Settings(data=":memory:", result_bytes=600), SCHEMA, FAMILY) as opened:
        assert [each["code"] for each in errors(ask(opened, f"{{ q(query: {NAMES}) {{ parquet }} }}"))] == [
            "LIMIT_EXCEEDED"
        ]


POLICY = """[{:policy/name "clerks read who was born" :policy/roles [:clerk] :policy/ops [:read]
  :policy/on [:person/name] :policy/rules "[[(allow ?e) [?e :person/born _]]]"}]"""


def test_permissions_hold(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    roles = {"ann": "read,clerk", "bob": "read", "eve": "admin"}
    path.write_text("".join(f"{name}:{role}:{digest(name)}\n" for name, role in roles.items()))
    document = f"{{ q(query: {NAMES}) {{ parquet }} }}"
    other = f'{{ q(query: {NAMES}, as: {{claims: {{sub: "ann"}}, roles: ["read", "clerk"]}}) {{ parquet }} }}'
    with gateway(Settings(data=":memory:", auth=str(path)), SCHEMA, FAMILY, POLICY) as opened:

        def names(token: str, asked: str = document) -> list[str]:
            found: list[str] = table_of(file_of(ask(opened, asked, token=token)))["?n"].to_pylist()
            return found

        assert names("ann") == ["Ada"]
        assert names("bob") == []
        assert names("eve") == ["Ada", "Anne", "Byron", "Ralph"]
        assert names("eve", other) == ["Ada"]
        assert [each["code"] for each in errors(ask(opened, other, token="bob"))] == ["FORBIDDEN"]
        assert [each["code"] for each in errors(ask(opened, document, token="nobody"))] == ["UNAUTHENTICATED"]
