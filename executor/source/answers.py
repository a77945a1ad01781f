"""Answers to queries as data frames; each piece of a large answer is read by one task.

A column has the type of the attribute that binds its variable, which is known before the query runs. A variable
that only functions, rules or branches bind is EDN text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from adalog.datalog import ast, edn
from adalog.datalog.errors import invalid_argument
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.terms import Const, Var
from adalog.datalog.values import Keyword
from adalog.executor.answer.result import Result
from adalog.executor.source.arrow_types import EDN, arrow_column, spark_type
from adalog.executor.source.data_folder import DataFolder
from adalog.executor.source.pieces import AnswerPiece, SourceQuery, pieces
from adalog.executor.source.refusals import refusing
from adalog.store.snapshot.snapshot import Snapshot

_BATCH: Final = 1 << 16
_ATTRIBUTE: Final = 1
# Of the places entity, attribute, transaction, and whether it was added.
_FIXED: Final = {0: "long", _ATTRIBUTE: "keyword", 3: "long", 4: "boolean"}


def schema_of(place: DataFolder, query: str) -> types.StructType:
    """The columns of a query's answer. Raises what is wrong with its text."""
    found = _types(parse_query(query), place.open())
    return types.StructType([types.StructField(name, spark_type(kind)) for name, kind in found])


def _types(query: ast.Query, snapshot: Snapshot) -> list[tuple[str, str]]:
    bound = _bound(query.where, snapshot)
    names = query.find.keys or [element.label for element in query.find.elements]
    return [
        (_name(name), _type_of(element, bound)) for name, element in zip(names, query.find.elements, strict=True)
    ]


def _name(name: Any) -> str:
    return name if isinstance(name, str) else str(name).removeprefix(":")


def _type_of(element: ast.FindElement, bound: dict[str, str]) -> str:
    if isinstance(element, ast.FindPull | ast.FindExpression):
        return EDN
    known = bound.get(element.var.name, EDN)
    if isinstance(element, ast.FindVar):
        return known
    return EDN if element.args else element.known.result_type(known) or EDN


def _bound(clauses: Sequence[ast.Clause], snapshot: Snapshot) -> dict[str, str]:
    """The types of the variables that patterns bind, outside of branches; those of an optional may be nil, too."""
    found: dict[str, str] = {}
    for clause in clauses:
        if isinstance(clause, ast.And):
            found |= _bound(clause.clauses, snapshot)
        if isinstance(clause, ast.Optional):
            found = _bound(clause.clauses, snapshot) | found
        if not isinstance(clause, ast.Pattern) or clause.source.name != "$":
            continue
        for place, term in enumerate(clause.terms):
            if isinstance(term, Var):
                kind = _at(place, clause.terms, snapshot)
                if kind is not None:
                    # Places with different types.
                    found[term.name] = kind if found.get(term.name, kind) == kind else EDN
    return found


def _at(place: int, terms: Sequence[Any], snapshot: Snapshot) -> str | None:
    if place in _FIXED:
        return _FIXED[place]
    named = terms[_ATTRIBUTE] if len(terms) > _ATTRIBUTE else None
    ident = named.value if isinstance(named, Const) else None
    attribute = snapshot.attribute(ident) if isinstance(ident, Keyword) else None
    if attribute is None or attribute.kind.value_type in (None, "tuple"):
        return None
    return "long" if attribute.is_ref else attribute.kind.value_type


class AnswerReader(DataSourceReader):
    """`args`: EDN text of a vector of arguments. `rows`: of a partition, more or less."""

    def __init__(self, place: DataFolder, query: str, args: str, schema: types.StructType, rows: int) -> None:
        self._place = place
        self._query = query
        self._source_query = SourceQuery(query, args)
        self._schema = schema
        self._rows = rows
        known = schema_of(place, query).fieldNames()
        for name in schema.fieldNames():
            if name not in known:
                raise invalid_argument(f"the query has no column {name}; it has {', '.join(known)}")

    @refusing
    def partitions(self) -> list[InputPartition]:
        return [
            InputPartition(piece) for piece in pieces(self._source_query, self._place.open(), self._rows) or (None,)
        ]

    @refusing
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        snapshot = self._place.open()
        piece: AnswerPiece | None = partition.value
        result = (
            self._source_query.answered(snapshot) if piece is None else piece.answered(self._source_query, snapshot)
        )
        kinds = to_arrow_schema(self._schema, timezone="UTC")
        found = _types(parse_query(self._query), snapshot)
        places = [[name for name, _ in found].index(field.name) for field in kinds]
        for start in range(0, len(result), _BATCH):
            stop = min(start + _BATCH, len(result))
            arrays = [
                _column(result, place, start, stop, found[place][1], field.type)
                for place, field in zip(places, kinds, strict=True)
            ]
            yield pa.record_batch(arrays, schema=kinds)


def _column(result: Result, place: int, start: int, stop: int, value_type: str, kind: pa.DataType) -> pa.Array:
    if place in result.pulled:
        return pa.array([edn.write(each) for each in result.column(place, start, stop)], kind)
    try:
        return arrow_column(result.values, result.codes_of(place, start, stop), value_type, kind)
    except (pa.ArrowInvalid, ValueError) as error:
        name = result.columns[place].name
        raise invalid_argument(
            f"a value of {name} is no {value_type} as Spark has them ({error}); give .schema(…)"
        ) from None
