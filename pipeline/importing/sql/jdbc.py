"""Rows of SQL databases as files of Parquet, through Spark's JDBC.

Decimals, dates and times arrive as the texts that the driver shows, with their types beside them: Spark's own types
would round decimals without a scale, shift local times, and give infinite dates a year.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import BadZipFile, ZipFile

from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.hints import nearest
from adalog.pipeline.importing.sql.table import PREFIX, SqlTable
from adalog.store.files.addresses import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

_SERVICE: Final = "META-INF/services/java.sql.Driver"
# Rows that a driver holds at a time; by default PostgreSQL's holds all.
_FETCHED: Final = "10000"
_SHOWN: Final = 400
_INSTANTS: Final = ("DateType", "TimestampType", "TimestampNTZType")
_ENDLESS: Final = ("infinity", "nan")
_PLAIN: Final = ("ByteType", "ShortType", "IntegerType", "LongType", "FloatType", "DoubleType", "BooleanType")


@dataclass(frozen=True, slots=True)
class SqlRows:
    """folder: of the rows as Parquet. kinds: the types of columns that are texts there. last: the greatest value of
    `since` among the table's rows, as text."""

    folder: Path
    kinds: Mapping[str, str]
    last: str | None


def fetched(spark: SparkSession, source: str, table: SqlTable, wanted: Collection[str], folder: Path) -> SqlRows:
    """The wanted columns of a table's new rows, in a new folder. source: its name. Raises ARG_INVALID where they
    cannot be read."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return _Reading(spark.newSession(), source, table).rows(wanted, folder)
    except (Py4JJavaError, PySparkException) as error:
        raise _refused(source, table, error) from None


class _Reading:
    def __init__(self, spark: SparkSession, source: str, table: SqlTable) -> None:
        self._spark = spark
        self._source = source
        self._table = table
        self._driver = self._found_driver()

    def rows(self, wanted: Collection[str], folder: Path) -> SqlRows:
        table, names = self._table, sorted({*wanted, *self._table.own_columns})
        schema = self._schema(names)
        texts = {field.name: text for field in schema if (text := self._text(field)) is not None}
        last, conditions = self._new(schema) if table.since is not None else (None, [])
        parts = self._parts(schema, conditions) or [" AND ".join(conditions) or "1 = 1"]
        custom = ", ".join(f"{_ticked(name)} {sql}" for name, (sql, _) in texts.items())
        read = self._spark.read.options(**self._options(), **({"customSchema": custom} if custom else {}))
        frame = read.jdbc(table.url, self._selected(names), predicates=parts)
        frame.select(*map(_ticked, wanted)).write.parquet(folder.absolute().as_uri())
        return SqlRows(folder, {name: kind for name, (_, kind) in texts.items() if name in wanted}, last)

    def _found_driver(self) -> str | None:
        """The class of the driver; None: Spark may find one."""
        jars = [Path(path) for path in self._table.drivers]
        loader = self._spark._jsparkSession.sessionState().resourceLoader()
        for jar in jars:
            if not jar.is_file():
                raise self._wrong(f"there is no driver at {jar}")
            loader.addJar(str(jar.absolute()))
        listed = self._spark.sparkContext.getConf().get("spark.jars") or ""
        jars += [Path(path.removeprefix("file:")) for path in listed.split(",") if path]
        found = [name for jar in jars for name in _drivers(jar)]
        product = self._table.url[len(PREFIX) :].partition(":")[0].lower()
        return next((name for name in found if product in name.lower()), found[0] if found else None)

    def _options(self) -> dict[str, str]:
        given = {"driver": self._driver, "user": self._table.user, "password": self._table.password}
        return {
            "fetchsize": _FETCHED,
            **self._table.options,
            **{name: value for name, value in given.items() if value is not None},
        }

    def _schema(self, names: Sequence[str]) -> StructType:
        """The types of columns. Other columns may have types that Spark cannot read."""
        try:
            return self._frame(self._selected(names)).schema
        except Exception:
            known: Sequence[str] = names
            with suppress(Exception):
                known = self._frame(f"(SELECT * FROM {self._table.rows}) adalog_rows").schema.names  # noqa: S608
            for name in names:
                if name not in known:
                    hint, listed = nearest(name, known), ", ".join(known)
                    raise self._wrong(f"has no column {name}{hint}; its columns are {listed}") from None
            raise

    def _text(self, field: StructField) -> tuple[str, str] | None:
        """What Spark reads a column as that it is to read as text, and the type of the texts; None for others."""
        kind, many = field.dataType, False
        if kind.typeName() == "array":
            kind, many = kind.elementType, True  # type: ignore[attr-defined]
        name = type(kind).__name__
        if many and (name in _INSTANTS or kind.typeName() in ("array", "map", "struct")):
            raise self._wrong(
                f"column {field.name} has lists of {kind.simpleString()}, which arrive in no exact form; write a "
                "`query` that casts them to lists of texts, or leave the column out"
            )
        if name in _PLAIN or name == "BinaryType" or (name == "StringType" and not many):
            return None
        if field.metadata.get("logical_time_type"):
            return "STRING", "string"
        read_as = "instant" if name in _INSTANTS else "bigdec" if name == "DecimalType" else "string"
        return ("ARRAY<STRING>" if many else "STRING"), read_as

    def _new(self, schema: StructType) -> tuple[str | None, list[str]]:
        """The greatest value of `since`, and the conditions of rows that were not read before. Rows without a value
        are always new."""
        since, after = self._table.since, self._table.after
        assert since is not None
        column = self._quoted(since)
        [(last,)] = self._read(f"MAX({column}) last_one", "last_one STRING")
        last = after if last is None else last
        if last is None:
            return None, []
        if last.lower() in _ENDLESS:
            raise self._wrong(f"`since` cannot be {since}, which holds {last}: no later value would be new")
        number = schema[since].dataType
        upto = f"{column} <= {_literal(last, number)}"
        if after is None:
            return last, [f"({upto} OR {column} IS NULL)"]
        return last, [f"(({column} > {_literal(after, number)} AND {upto}) OR {column} IS NULL)"]

    def _parts(self, schema: StructType, conditions: Sequence[str]) -> list[str]:
        """The conditions of the tasks' rows, if they are to be read in parts."""
        partition = self._table.partition
        if partition is None:
            return []
        if schema[partition.column].dataType.typeName() not in ("byte", "short", "integer", "long"):
            raise self._wrong(f"`partition` needs a column of whole numbers, and {partition.column} is none")
        column = self._quoted(partition.column)
        first, last = partition.first, partition.last
        if first is None or last is None:
            [(least, most)] = self._read(
                f"MIN({column}) least_one, MAX({column}) last_one",
                "least_one STRING, last_one STRING",
                " AND ".join(conditions),
            )
            first = int(least or 0) if first is None else first
            last = int(most or 0) if last is None else last
        ends = [first + (last + 1 - first) * at // partition.count for at in range(1, partition.count)]
        # The first and the last part have what lies outside, and the first one nulls.
        bounds = sorted({end for end in ends if first < end <= last})
        lows = ["", *(f"{column} >= {end}" for end in bounds)]
        highs = [*(f"{column} < {end}" for end in bounds), ""]
        parts = [" AND ".join(filter(None, each)) for each in zip(lows, highs, strict=True)]
        parts[0] = f"({parts[0]} OR {column} IS NULL)" if parts[0] else "1 = 1"
        return [" AND ".join((part, *conditions)) for part in parts]

    def _read(self, what: str, types: str, where: str = "") -> Sequence[Sequence[str | None]]:
        where = f" WHERE {where}" if where else ""
        frame = self._frame(f"(SELECT {what} FROM {self._table.rows}{where}) adalog_bounds", types)  # noqa: S608
        return frame.collect()

    def _frame(self, relation: str, types: str | None = None) -> DataFrame:
        read = self._spark.read.options(**self._options(), **({} if types is None else {"customSchema": types}))
        return read.jdbc(self._table.url, relation)

    def _selected(self, names: Sequence[str]) -> str:
        return f"(SELECT {', '.join(map(self._quoted, names))} FROM {self._table.rows}) adalog_rows"  # noqa: S608

    def _quoted(self, name: str) -> str:
        jvm: Any = self._spark.sparkContext._jvm
        quoted: str = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self._table.url).quoteIdentifier(name)
        return quoted

    def _wrong(self, why: str) -> AdalogError:
        return invalid_argument(f"source {self._source}: {self._table.name}: {why}")


def _drivers(jar: Path) -> Iterator[str]:
    """The classes of drivers in a jar."""
    with suppress(OSError, BadZipFile, KeyError), ZipFile(jar) as content:
        for line in content.read(_SERVICE).decode().splitlines():
            if name := line.partition("#")[0].strip():
                yield name


def _literal(text: str, kind: DataType) -> str:
    if kind.typeName() in ("byte", "short", "integer", "long", "float", "double", "decimal"):
        return text
    return "'" + text.replace("'", "''") + "'"


def _ticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _refused(source: str, table: SqlTable, error: Exception) -> AdalogError:
    raised = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while raised is not None and raised.getCause() is not None:
        raised = raised.getCause()
    text = str(error) if raised is None else str(raised.getMessage() or raised)
    if "No suitable driver" in text or "ClassNotFoundException" in str(error):
        text = (
            "Spark has no driver for this address; name its jar as `driver: postgresql.jar`, or in "
            "ADALOG_SPARK_CONF=spark.jars=…"
        )
    if "UnknownReason" in text:
        # An error of a class that only tasks have.
        text = "the driver cannot show a value of these columns; write a `query` that casts them to text"
    # The server's first two lines: the error, and its hint.
    text = " ".join(line.strip() for line in text.splitlines()[:2])[:_SHOWN]
    return invalid_argument(f"source {source} cannot be read: {table.name}: {table.hidden(without_secrets(text))}")
