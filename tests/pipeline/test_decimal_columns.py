"""Bigdecs as decimals in the files of an export, in those of a query, and in Arrow: there and back unchanged."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.executor.answer.parquet import Output, ParquetPart, mixed, widened, write_part
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.gateway.cli.output.formats import ResultTable, write_arrow
from adalog.store.database import Database
from adalog.store.values.codes import Scratch
from adalog.store.values.decimals import decimal_column, digits_among, digits_of
from adalog.store.values.keys import spell
from tests.pipeline.exports_in_process import exported, held, loaded

SCHEMA = "[{:db/ident :p/price :db/valueType :db.type/bigdec} {:db/ident :p/long :db/valueType :db.type/bigdec}]"
PRICES = ("30.130", "-5", "0", "1E+3", "0.0000001", "12345678901234567890.5")
LARGE = "1" * 60 + "." + "2" * 17


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        yield database


def prices(database: Database, texts: tuple[str, ...] | list[str], attribute: str = ":p/price") -> None:
    database.transact("[" + " ".join(f"{{{attribute} {text}M}}" for text in texts) + "]")


def column(folder: Path) -> pa.ChunkedArray:
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]).column("v")


def test_digits_are_those_of_the_canonical_form() -> None:
    chance = random.Random(3)
    for _ in range(300):
        digits = "".join(chance.choices("0123456789", k=chance.randrange(1, 80)))
        value = Decimal(int(digits)).scaleb(-chance.randrange(90)) * chance.choice((1, -1))
        _, key = spell(value)
        assert isinstance(key, bytes)
        found = digits_among([value, None])
        assert digits_of(pa.array([key.decode()], pa.large_string())) == found
        if found.type is None:
            assert decimal_column([value]) is None
        else:
            read = decimal_column([value, None])
            assert read is not None
            assert read.to_pylist() == [value, None]


def test_an_export_has_decimals_and_comes_back(database: Database, tmp_path: Path) -> None:
    prices(database, PRICES)
    prices(database, ["1.5", LARGE], ":p/long")
    exported(database.snapshot(), tmp_path / "out", rows=2)
    found = column(tmp_path / "out" / "p.price")
    assert found.type == pa.decimal128(38, 7)
    assert sorted(found.to_pylist()) == sorted(map(Decimal, PRICES))
    # One column has not so many digits.
    assert column(tmp_path / "out" / "p.long").to_pylist() == ["1.5", LARGE]
    with Database.open(str(tmp_path / "other")) as other:
        loaded(other, tmp_path, {"path": "out", "format": "adalog", "ids": "keep"})
        assert held(other.snapshot()) == held(database.snapshot())


def test_more_than_38_digits_have_the_wide_decimal(database: Database, tmp_path: Path) -> None:
    prices(database, ["1" * 50, "0.25"])
    exported(database.snapshot(), tmp_path / "out")
    assert column(tmp_path / "out" / "p.price").type == pa.decimal256(76, 2)
    with Database.open(str(tmp_path / "other")) as other:
        loaded(other, tmp_path, {"path": "out", "format": "adalog", "ids": "keep"})
        assert held(other.snapshot()) == held(database.snapshot())


def test_a_history_has_the_digits_of_what_it_was(database: Database, tmp_path: Path) -> None:
    database.transact("[{:db/id 1 :p/price 0.125M}]")
    database.transact("[{:db/id 1 :p/price 5M}]")
    exported(database.snapshot().history(), tmp_path / "history")
    assert column(tmp_path / "history" / "p.price").type == pa.decimal128(38, 3)
    exported(database.snapshot(), tmp_path / "now")
    assert column(tmp_path / "now" / "p.price").type == pa.decimal128(38, 0)


def test_a_query_writes_decimals(database: Database, tmp_path: Path) -> None:
    prices(database, PRICES)
    pool = Pool(database)
    try:
        request = QueryRequest("[:find ?p (sum ?p) :where [_ :p/price ?p]]", engine="LOCAL")
        [part] = pool.write(request, str(tmp_path))
        table = pq.read_table(tmp_path / part.file)
        assert table.schema.types == [pa.decimal128(38, 7)] * 2
        assert sorted(table.column(0).to_pylist()) == sorted(map(Decimal, PRICES))
        assert table.sort_by("?p") == pool.run(request).to_arrow().sort_by("?p")
    finally:
        pool.scheduler.close()


def part(database: Database, output: Output, number: int, texts: list[str]) -> ParquetPart:
    """What one task writes."""
    values = Scratch(database.snapshot().codes)
    codes = np.array([values.intern(None if text == "nil" else Decimal(text)) for text in texts], np.int64)
    return write_part(output, number, ["?p"], [codes], values, Cancel.after(60_000))


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ([["1.5", "2"], ["0.125"], ["7"]], pa.decimal128(38, 3)),
        ([["1" * 40], ["0.125"]], pa.decimal256(76, 3)),
        ([["1" * 38], ["0.5"]], pa.decimal256(76, 1)),
        ([["1" * 60], ["0." + "1" * 20]], None),
        # A task whose values are all nil knows no type.
        ([["1.5", "nil"], ["nil", "nil"], ["2"]], pa.decimal128(38, 1)),
        ([["nil"], ["nil"]], pa.large_string()),
    ],
)
def test_files_of_tasks_get_one_type(
    database: Database, tmp_path: Path, files: list[list[str]], wanted: pa.DataType | None
) -> None:
    output = Output(str(tmp_path))
    parts = [part(database, output, number, texts) for number, texts in enumerate(files)]
    assert mixed(parts) == (frozenset({0}) if wanted is None else frozenset())
    if wanted is None:
        output = Output(str(tmp_path), frozenset({0}))
        parts = [part(database, output, number, texts) for number, texts in enumerate(files)]
        assert pq.read_table(tmp_path / parts[1].file).to_pydict() == {"?p": ["0." + "1" * 20 + "M"]}
        return
    parts = widened(output, parts)
    assert {pq.read_schema(tmp_path / each.file).types[0] for each in parts} == {wanted}
    read = [pq.read_table(tmp_path / each.file).column(0).to_pylist() for each in parts]
    assert read == [[None if text == "nil" else Decimal(text) for text in texts] for texts in files]


def test_an_arrow_stream_has_decimals() -> None:
    out = io.BytesIO()
    rows = [(Decimal("30.13"), Decimal("1" * 80)), (Decimal("1E+3"), Decimal(1))]
    write_arrow(ResultTable(["?p", "?q"], ["bigdec", "bigdec"], rows, rows, ""), out)
    table = pa.ipc.open_stream(io.BytesIO(out.getvalue())).read_all()
    assert table.schema.types == [pa.decimal128(38, 2), pa.string()]
    assert table.column(0).to_pylist() == [Decimal("30.13"), Decimal(1000)]
