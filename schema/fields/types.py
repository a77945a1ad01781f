"""The GraphQL types of answers. Rows and datoms are prepared whole, column by column; nothing resolves per cell.

`schema.descriptions` has the text of each type and field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final

import orjson
import strawberry

from adalog.datalog import edn
from adalog.datalog.builtins.documentation import builtin_docs
from adalog.datalog.diagnostics import Diagnostic, shown_warnings
from adalog.datalog.watched import watching
from adalog.executor.answer.result import Result
from adalog.executor.bounds.budget import Held, Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import Identity
from adalog.executor.turns.lanes import Lane
from adalog.schema.request.background import elsewhere
from adalog.schema.request.budget import JsonChunks, Prepaid
from adalog.schema.request.context import Context
from adalog.schema.writing.columnar import Objects, Reading
from adalog.schema.writing.encoding import Encoding, encode, iso
from adalog.schema.writing.longs import SAFE, write_long
from adalog.schema.writing.rows import PART_BYTES, Page
from adalog.schema.writing.scalars import JSON, Long
from adalog.store.snapshot.index import DatomSpan
from adalog.store.values.datom import Datom, TxReport, nothing_to_tell


@strawberry.enum(name="Engine")
class EngineOption(StrEnum):
    AUTO = "AUTO"
    LOCAL = "LOCAL"
    SPARK = "SPARK"


@strawberry.enum
class CacheOutcome(StrEnum):
    HIT = "HIT"
    MISS = "MISS"
    BYPASS = "BYPASS"


strawberry.enum(Lane)


@strawberry.enum
class Index(StrEnum):
    EAVT = "EAVT"
    AEVT = "AEVT"
    AVET = "AVET"
    VAET = "VAET"


@strawberry.type(name="Column")
class ColumnType:
    name: str
    type: str


COLUMN_FIELDS: Reading = {"name": attrgetter("name"), "type": attrgetter("type")}


@strawberry.type
class PageInfo:
    has_next_page: bool
    end_cursor: str | None
    has_previous_page: bool
    start_cursor: str | None


@strawberry.type
class Warning:
    code: str
    message: str
    line: int | None
    column: int | None


def warnings_of(diagnostics: Iterable[Diagnostic]) -> list[Warning]:
    """The warnings of one field, whatever found them."""
    return [
        Warning(code=code, message=message, line=line, column=column)
        for code, message, line, column in shown_warnings(diagnostics)
    ]


@strawberry.type
class QueryStats:
    engine: EngineOption
    cache: CacheOutcome
    elapsed_ms: float
    rows: int
    waited_ms: float
    lane: Lane | None


@strawberry.type
class QueryResult:
    result: strawberry.Private[Result]
    page: strawberry.Private[Page]
    told: strawberry.Private[list[Diagnostic]]
    """What is suspicious about `with`."""
    basis_t: Long
    page_info: PageInfo

    @strawberry.field
    def columns(self) -> list[ColumnType]:
        return Objects(self.result.columns, COLUMN_FIELDS)  # type: ignore[return-value]

    @strawberry.field
    async def entity_columns(self, info: strawberry.Info[Context, None]) -> list[int]:
        question = self.result.question
        assert question is not None
        return list(await info.context.services.pool.aentity_columns(question))

    @strawberry.field
    async def rows(self) -> list[JSON]:
        return await self.page.rows()  # type: ignore[return-value]

    @strawberry.field
    async def value(self) -> JSON | None:
        return await self.page.value()  # type: ignore[return-value]

    @strawberry.field
    async def arrow(self) -> JSON:
        return JSON(await self.page.arrow())

    @strawberry.field
    async def parquet(self) -> JSON:
        return JSON(await self.page.parquet())

    @strawberry.field
    async def warnings(self, info: strawberry.Info[Context, None]) -> list[Warning]:
        return await result_warnings(self, info.context)

    @strawberry.field
    def stats(self) -> QueryStats:
        return result_stats(self.result)


async def result_warnings(shown: QueryResult, context: Context) -> list[Warning]:
    pool, question = context.services.pool, shown.result.question
    assert question is not None
    found = await pool.adiagnostics(question)
    later = await pool.afound_out(question, shown.result.dropped)
    return warnings_of((*shown.told, *found, *later))


def result_stats(result: Result) -> QueryStats:
    return QueryStats(
        engine=EngineOption(result.engine),
        cache=CacheOutcome(result.cache),
        elapsed_ms=round(result.elapsed_ms, 3),
        rows=len(result),
        waited_ms=round(result.waited_ms, 3),
        lane=None if result.lane is None else Lane(result.lane),
    )


@strawberry.type(
    name="Explanation",
)
class ExplanationType:
    text: str
    plan: JSON
    warnings: list[Warning]


@strawberry.type(name="Datom")
class DatomType:
    e: Long
    a: str
    v: JSON
    t: Long
    added: bool


_DATOMS_AT_ONCE: Final = 2_000
# Of the pool's cost: about three microseconds.
DATOM_COST: Final = 45.0
# Below this many the event loop is not worth leaving.
_FEW_DATOMS: Final = 200


@dataclass(frozen=True, slots=True)
class Datoms:
    """Datoms as columns, decoded as they are written: lists of them, and spans of an index, which are paid for."""

    parts: Sequence[Sequence[Datom] | DatomSpan]
    encoding: Encoding
    deadline: float | None = None
    prepaid: Prepaid | None = None

    @property
    def short(self) -> bool:
        return sum(map(len, self.parts)) <= _FEW_DATOMS

    @property
    def cost(self) -> float:
        return DATOM_COST * sum(map(len, self.parts))

    def pieces(self, cancel: Cancel) -> Iterator[_SomeDatoms]:
        for part in self.parts:
            for start in range(0, len(part), _DATOMS_AT_ONCE):
                cancel.check()
                stop = start + _DATOMS_AT_ONCE
                some = part.cut(start, stop).datoms() if isinstance(part, DatomSpan) else part[start:stop]
                yield from (_SomeDatoms(each, self.encoding) for each in light_parts(some))


@dataclass(frozen=True, slots=True)
class _SomeDatoms:
    items: Sequence[Datom]
    encoding: Encoding

    def __len__(self) -> int:
        return len(self.items)

    def column(self, field: str) -> Sequence[Any]:
        return _DATOM_COLUMNS[field](self.items, self.encoding)


def light_parts(items: Sequence[Datom]) -> Iterator[Sequence[Datom]]:
    """The datoms in parts that are written at once: few where their values are long."""
    if len(items) == 1 or sum(len(item.v) for item in items if isinstance(item.v, str | bytes)) <= PART_BYTES:
        yield items
    else:
        middle = len(items) // 2
        yield from light_parts(items[:middle])
        yield from light_parts(items[middle:])


def _entities(items: Sequence[Datom]) -> list[Any]:
    entities = [datom.e for datom in items]
    return entities if max(entities, default=0) < SAFE else [write_long(e) for e in entities]


def _attribute_names(items: Sequence[Datom]) -> list[str]:
    # By object, as the datoms of an attribute share its keyword.
    names = {id(a): edn.write(a) for a in {id(datom.a): datom.a for datom in items}.values()}
    return [names[id(datom.a)] for datom in items]


def _values(items: Sequence[Datom], encoding: Encoding) -> list[Any]:
    if encoding is Encoding.EDN:
        return [encode(datom.v, encoding) for datom in items]
    return [
        value if (kind := type(value)) is str or (kind is int and -SAFE < value < SAFE) else encode(value, encoding)
        for value in [datom.v for datom in items]
    ]


_DATOM_COLUMNS: dict[str, Callable[[Sequence[Datom], Encoding], Sequence[Any]]] = {
    "e": lambda items, _: _entities(items),
    "a": lambda items, _: _attribute_names(items),
    "v": _values,
    "t": lambda items, _: [datom.t for datom in items],
    "added": lambda items, _: [datom.added for datom in items],
}


@strawberry.type
class DatomPage:
    items: strawberry.Private[Datoms]
    page_info: PageInfo

    @strawberry.field
    def datoms(self) -> list[DatomType]:
        return self.items  # type: ignore[return-value]


def _tempids(report: TxReport) -> dict[str, int | str]:
    return {str(name): write_long(entity) for name, entity in report.tempids.items()}


@strawberry.type(name="TxReport")
class TxReportType:
    report: strawberry.Private[TxReport]
    encoding: strawberry.Private[Encoding]
    t: Long
    basis_before: Long
    tx_instant: str

    @strawberry.field
    async def warnings(self) -> list[Warning]:
        # Its places are looked for in the text of the transaction, which may be long.
        def find(cancel: Cancel) -> list[Warning]:
            with watching(cancel.check):
                return warnings_of(self.report.diagnostics())

        return await elsewhere(find)

    @strawberry.field
    async def tempids(self) -> JSON:
        if len(self.report.tempids) <= _FEW_DATOMS:
            return JSON(_tempids(self.report))
        return JSON(await elsewhere(lambda _: JsonChunks((orjson.dumps(_tempids(self.report)),))))

    @strawberry.field
    def datoms(self) -> list[DatomType]:
        return Datoms((self.report.datoms,), self.encoding)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class TxReports:
    """Transactions as columns, read from the log as they are written. `read` tells what it is given of the bytes of
    each before it is decoded; they are drawn from `memory` until the next."""

    read: Callable[[Callable[[int], None]], Iterator[TxReport]]
    encoding: Encoding
    memory: Memory
    cost: float
    deadline: float | None = None
    prepaid: ClassVar[None] = None
    short: ClassVar[bool] = False

    def pieces(self, cancel: Cancel) -> Iterator[OneReport]:
        most, budget = self.memory.share, self.memory.budget()
        with Held(budget) as held:

            def take(nbytes: int) -> None:
                cancel.expect(nbytes)
                cancel.check()
                held.become(min(nbytes, most))

            try:
                for report in self.read(take):
                    cancel.check()
                    yield OneReport(report, self.encoding)
            finally:
                budget.close()


@dataclass(frozen=True, slots=True)
class OneReport:
    """A transaction's report as GraphQL shows it, field by field."""

    report: TxReport
    encoding: Encoding

    @property
    def short(self) -> bool:
        """Whether it is written in no time: warnings are looked for in the text, which may be long."""
        report = self.report
        is_small = len(report.datoms) <= _FEW_DATOMS and len(report.tempids) <= _FEW_DATOMS
        return is_small and report.diagnostics is nothing_to_tell

    def __len__(self) -> int:
        return 1

    def column(self, field: str) -> Sequence[Any]:
        return [_REPORT_FIELDS[field](self.report, self.encoding)]


_REPORT_FIELDS: dict[str, Callable[[TxReport, Encoding], Any]] = {
    "t": lambda report, _: write_long(report.t),
    "basisBefore": lambda report, _: write_long(report.basis_before),
    "txInstant": lambda report, _: iso(report.tx_instant),
    "tempids": lambda report, _: _tempids(report),
    "datoms": lambda report, encoding: Datoms((report.datoms,), encoding),
    "warnings": lambda report, _: Objects(warnings_of(report.diagnostics()), WARNING_FIELDS),
}
WARNING_FIELDS: Reading = {name: attrgetter(name) for name in ("code", "message", "line", "column")}


def tx_report(report: TxReport, encoding: Encoding) -> TxReportType:
    return TxReportType(
        report=report,
        encoding=encoding,
        t=Long(report.t),
        basis_before=Long(report.basis_before),
        tx_instant=iso(report.tx_instant),
    )


@strawberry.type(name="Attribute")
class AttributeType:
    ident: str
    value_type: str | None
    cardinality: str
    unique: str | None
    is_component: bool
    doc: str | None
    datom_count: Long
    no_history: bool
    retain_days: Long | None
    retain_transactions: Long | None


ATTRIBUTE_FIELDS: Reading = {
    "ident": attrgetter("ident"),
    "valueType": attrgetter("value_type"),
    "cardinality": attrgetter("cardinality"),
    "unique": attrgetter("unique"),
    "isComponent": attrgetter("is_component"),
    "doc": attrgetter("doc"),
    "datomCount": lambda attribute: write_long(attribute.datom_count),
    "noHistory": attrgetter("no_history"),
    "retainDays": lambda attribute: _limit(attribute.retain_days),
    "retainTransactions": lambda attribute: _limit(attribute.retain_transactions),
}


def _limit(number: Long | None) -> int | str | None:
    return None if number is None else write_long(number)


@strawberry.type(name="Database")
class DatabaseType:
    basis_t: Long
    tx_instant: str | None
    datom_count: Long
    entity_count: Long


@strawberry.type(name="Identity")
class IdentityType:
    principal: str | None
    roles: list[str]
    expires: str | None


def identity_of(identity: Identity | None) -> IdentityType:
    """Without authentication every client is admin."""
    if identity is None:
        return IdentityType(principal=None, roles=["admin"], expires=None)
    expires = None
    if identity.expires is not None:
        # A token may be good for longer than there are dates.
        with suppress(OverflowError, ValueError, OSError):
            expires = iso(datetime.fromtimestamp(identity.expires, UTC))
    return IdentityType(principal=identity.name, roles=list(identity.roles), expires=expires)


@strawberry.enum(name="BuiltinKind")
class BuiltinKind(Enum):
    FUNCTION = "FUNCTION"
    AGGREGATE = "AGGREGATE"


@strawberry.type(name="Builtin")
class BuiltinType:
    name: str
    kind: BuiltinKind
    section: str
    usage: str
    value: str | None
    doc: str


@cache
def builtins() -> list[BuiltinType]:
    return [
        BuiltinType(
            name=each.name,
            kind=BuiltinKind.AGGREGATE if each.is_aggregate else BuiltinKind.FUNCTION,
            section=each.section,
            usage=each.usage,
            value=each.value,
            doc=each.doc,
        )
        for each in builtin_docs()
    ]


def written(value: Any) -> JsonChunks:
    """Any JSON value, written out now."""
    return JsonChunks((orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY),))
