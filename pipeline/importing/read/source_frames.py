"""A source's files as data frames of Spark, so that nothing is misread in silence.

Spark assumes that quotes in quotes are written with a backslash, that no value has a line break, that all files
have the columns of the first one in its order. Exceptions are detected here, or are errors.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.read.chunks import SourceJob
from adalog.pipeline.importing.read.entity_rows import EntityReader
from adalog.pipeline.importing.read.mapping import AnySource, RowSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

# What patterns are made of, for Hadoop's file systems.
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\]")
_MALFORMED: Final = "what is malformed"
_CORRUPT: Final = "_corrupt_record"
_QUOTE: Final = '"'
_WHICH_FILES: Final = ("recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter")
# Numbers of JSON that a double would change, where these are what is wanted.
_EXACT: Final = frozenset({"long", "bigint", "bigdec"})
NUMBER: Final = "number"
"""What exact numbers are read as, which come as text."""


@dataclass(frozen=True)
class SourceFrame:
    """source: with all options of its reader. malformed: the column with malformed parts of rows."""

    frame: DataFrame
    source: AnySource
    malformed: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the files' own columns."""
        return [name for name in self.frame.columns if name != self.malformed]

    def column(self, name: str) -> Any:
        """A column of the frame, whatever it is called."""
        return self.frame["`" + name.replace("`", "``") + "`"]


def source_frame(spark: SparkSession, source: AnySource) -> SourceFrame:
    """A source's files. Raises ARG_INVALID if they are not what it says, and what Spark raises."""
    if source.format == "csv":
        return _csv(spark, source)
    reader = spark.read.options(**source.options)
    if source.format == "edn":
        # A line of blanks or a comment is no row.
        lines = reader.option("lineSep", "\n").text(_paths(source))
        return SourceFrame(lines.where(lines["value"].rlike(r"\S") & ~lines["value"].startswith(";")), source)
    if source.format == "jsonl":
        if isinstance(source, RowSource) and source.part:
            return _part(reader, source)
        frame = reader.json(_paths(source))
        if frame.columns == [_corrupt(source)]:
            raise invalid_argument(
                f"source {source.name} has no JSON object on any line; for objects of several lines, or a list of "
                "them, say `options: {multiLine: true}`"
            )
        return _json(frame, source)
    return SourceFrame(_parquet(spark, source), source)


def _part(reader: DataFrameReader, source: RowSource) -> SourceFrame:
    """JSON that is a part of many: only the entity's key, and keys with values, are columns."""
    frame = reader.option("dropFieldIfAllNull", "true").json(_paths(source))
    missing = [name for name in source.entity.names if name not in frame.columns]
    if missing:
        schema = frame.schema
        for name in missing:
            schema = schema.add(name, "string")
        frame = reader.schema(schema).json(_paths(source))
    return _json(frame, source)


def _json(frame: DataFrame, source: AnySource) -> SourceFrame:
    return SourceFrame(frame, source, _corrupt(source) if _corrupt(source) in frame.columns else None)


def _corrupt(source: AnySource) -> str:
    return _options(source).get("columnnameofcorruptrecord") or _CORRUPT


def _options(source: AnySource) -> dict[str, str]:
    """By names in lower case."""
    return {name.lower(): value for name, value in source.options.items()}


def _parquet(spark: SparkSession, source: AnySource) -> DataFrame:
    """The rows of Parquet. Spark reads nanoseconds, which pandas writes, as numbers only; local files say which
    columns have them."""
    from pyspark.sql import functions

    reader = spark.read.options(**source.options)
    try:
        return reader.parquet(*_paths(source))
    except Exception as error:
        if "TIMESTAMP(NANOS" not in str(error):
            raise
    other = spark.newSession()
    for name in (
        "spark.sql.session.timeZone",
        "spark.sql.ansi.enabled",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
    ):
        other.conf.set(name, str(spark.conf.get(name)))
    other.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    held = SourceFrame(other.read.options(**source.options).parquet(*_paths(source)), source)
    nanos = {name for address in held.frame.inputFiles() for name in _with_nanoseconds(source, address)}

    def micros(name: str) -> Any:
        column = held.column(name)
        whole = functions.expr("`" + name.replace("`", "``") + "` div 1000")
        before = functions.pmod(column, functions.lit(1000)).cast("boolean") & (column < 0)
        return functions.timestamp_micros(whole - before.cast("long")).alias(name)

    names = held.frame.columns
    return held.frame.select(*(micros(name) if name in nanos else held.column(name) for name in names))


def _with_nanoseconds(source: AnySource, address: str) -> list[str]:
    """The columns of a file whose times are nanoseconds."""
    parts = urlsplit(address)
    if parts.scheme != "file":
        raise invalid_argument(
            f"source {source.name} cannot be read: {address} has times in nanoseconds, which Spark does not know; "
            "write them in microseconds"
        )
    schema = pq.read_schema(unquote(parts.path))
    return [each.name for each in schema if pa.types.is_timestamp(each.type) and each.type.unit == "ns"]


def _paths(source: AnySource) -> list[str]:
    files = source.files
    if not files and "://" not in source.path and Path(source.path).exists():
        # A file that is there is meant, whatever letters it is named with.
        files = (str(Path(source.path).absolute()),)
    if files:
        return [_SPECIAL.sub(r"\\\g<0>", each) for each in files]
    return [source.path if "://" in source.path else str(Path(source.path).absolute())]


def _csv(spark: SparkSession, source: AnySource) -> SourceFrame:
    options = dict(source.options)
    given = _options(source)
    if source.path.lower().endswith((".tsv", ".tsv.gz")) and not {"sep", "delimiter"} & set(given):
        options["sep"] = "\t"
    quote = given.get("quote", _QUOTE)
    if "escape" not in given and len(quote) == 1:
        # As RFC 4180 has it: a quote within quotes is written twice.
        options["escape"] = quote
    options.setdefault("enforceSchema", "false")
    if "multiline" not in given and "linesep" not in given:
        encoding = given.get("encoding", given.get("charset", "UTF-8")).upper()
        # Of lines of wide letters Spark knows no end.
        wide = encoding.startswith(("UTF-16", "UTF-32"))
        plain = encoding in ("UTF-8", "UTF8", "US-ASCII", "ASCII")
        if wide or _has_breaks(spark, source, quote, given.get("escape"), plain=plain):
            options["multiLine"] = "true"
    source = replace(source, options=options)
    frame = spark.read.options(**options).csv(_paths(source))
    if not frame.columns:
        return SourceFrame(frame, source)
    schema = frame.schema.add(_MALFORMED, "string")
    reader = spark.read.options(**options).option("columnNameOfCorruptRecord", _MALFORMED).schema(schema)
    return SourceFrame(reader.csv(_paths(source)), source, _MALFORMED)


def _has_breaks(spark: SparkSession, source: AnySource, quote: str, escape: str | None, *, plain: bool) -> bool:
    """Whether values have line breaks: then a line has an odd number of quotes. plain: raises ARG_INVALID for files
    that are not UTF-8."""
    from pyspark.sql import functions

    # The same files, whatever is in them.
    which = {name: value for name, value in source.options.items() if name.lower() in _WHICH_FILES}
    lines = spark.read.options(**which).text(_paths(source))
    text = lines["value"]
    counted = text if not escape or escape == quote else functions.replace(text, functions.lit(escape + quote))
    odd = functions.lit(False)
    if len(quote) == 1:
        without = functions.replace(counted, functions.lit(quote))
        odd = (functions.length(counted) - functions.length(without)) % 2 == 1
    valid = functions.is_valid_utf8(text) if plain else functions.lit(True)
    wrong = functions.when(~valid, functions.input_file_name())
    looked = lines.select(odd.alias("odd"), wrong.alias("wrong"))
    [found] = looked.agg(functions.bool_or("odd").alias("odd"), functions.min("wrong").alias("wrong")).collect()
    if found["wrong"] is not None:
        raise invalid_argument(
            f"source {source.name} cannot be read: {found['wrong']} is not UTF-8; say how it is encoded, as "
            "`options: {encoding: ISO-8859-1}`"
        )
    return bool(found["odd"])


def _is_too_long(source: AnySource, columns: int, line: str) -> bool:
    """Whether a line, which has another number of values than there are columns, has more."""
    given = _options(source)
    sep, quote = given.get("sep", given.get("delimiter", ",")), given.get("quote", _QUOTE)
    try:
        [values] = csv.reader([line], delimiter=sep, quotechar=quote, strict=True)
    except (csv.Error, TypeError, ValueError):
        return True
    return len(values) > columns


def exactly(
    spark: SparkSession, held: SourceFrame, names: Mapping[str, str], job: SourceJob
) -> tuple[SourceFrame, SourceJob]:
    """The same with numbers as text if a double would change them, and the job that reads them so. names: the
    files' columns by the job's names."""
    from pyspark.sql import types

    source = held.source
    if not isinstance(source, RowSource) or source.format != "jsonl":
        return held, job
    rough = types.DoubleType | types.DecimalType
    kinds = {each.name: getattr(each.dataType, "elementType", each.dataType) for each in held.frame.schema.fields}
    exact = {
        names[each.name]
        for each in job.columns
        if each.name is not None and each.read_as in _EXACT and isinstance(kinds[names[each.name]], rough)
    }
    # A column that is mapped twice is read one way.
    exact -= {names[each.name] for each in job.columns if each.name is not None and each.read_as not in _EXACT}
    if not exact:
        return held, job
    schema = types.StructType(
        [
            types.StructField(field.name, _as_text(field.dataType)) if field.name in exact else field
            for field in held.frame.schema.fields
        ]
    )
    frame = spark.read.options(**source.options).schema(schema).json(_paths(source))
    columns = tuple(
        replace(each, read_as=NUMBER) if each.name is not None and names[each.name] in exact else each
        for each in job.columns
    )
    return replace(held, frame=frame), replace(job, columns=columns, reader=EntityReader(columns))


def _as_text(kind: Any) -> Any:
    from pyspark.sql import types

    return types.ArrayType(types.StringType()) if hasattr(kind, "elementType") else types.StringType()


def wrong_of(held: SourceFrame) -> Callable[[pa.Array], pa.Array]:
    """For tasks: which rows are rejected as malformed. In CSV only those with too many values: with too few, the
    last columns have none."""
    wrong = partial(_is_too_long, held.source, len(held.columns)) if held.source.format == "csv" else _always
    return partial(_mask, wrong)


def _always(_: str) -> bool:
    return True


def _mask(is_wrong: Callable[[str], bool], raw: pa.Array) -> pa.Array:
    if raw.null_count == len(raw):
        return pa.repeat(False, len(raw))
    return pa.array([text is not None and is_wrong(text) for text in raw.to_pylist()], pa.bool_())


_CAUSES: Final = re.compile(
    r"FAILED_READ_FILE|MALFORMED_|CSV header does not conform|ZipException|incorrect header check|UNSUPPORTED_|"
    r"URISyntaxException|PARQUET_|Illegal Parquet type|not a Parquet file|PATH_NOT_FOUND|No such file|"
    r"Permission denied"
)


def unreadable(error: Exception) -> str | None:
    """Why files cannot be read, in Spark's words; None for other failures."""
    from pyspark.errors import AnalysisException

    text = str(error)
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return "there are no files of this format; those whose names begin with _ or . are none to Spark"
    if isinstance(error, AnalysisException):
        return text.split("\n")[0].split(" SQLSTATE")[0]
    if _CAUSES.search(text) is None:
        return None
    file = re.search(r"\[FAILED_READ_FILE\S*\] Error while reading file ([^\n]+)", text)
    causes = re.findall(r"^Caused by: [\w.$]+: (.+?)(?=^\s+at |^Caused by|\Z)", text, re.MULTILINE | re.DOTALL)
    said = [] if file is None else [file[1]]
    if not said or "_MISMATCH" not in text:
        # The last one is what happened; of types that differ Spark itself says more.
        said.append(causes[-1] if causes else text)
    return " ".join(" ".join(said).replace("SQLSTATE: KD001", "").split())[:500]
