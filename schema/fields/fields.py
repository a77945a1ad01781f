"""The root fields: what each asks of the database and the pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import strawberry

from adalog.datalog import edn
from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING
from adalog.executor.question.cost import few
from adalog.executor.question.request import QueryRequest
from adalog.planner.scope.pending_warnings import diagnostics_of as described
from adalog.planner.scope.unknown_names import in_components
from adalog.schema.arguments.speculation import BasisReading, With, WithArgs, cursor_on
from adalog.schema.arguments.transactions import json_forms, transaction_data
from adalog.schema.arguments.values import (
    BasisInput,
    read_draft_arguments,
    read_row,
)
from adalog.schema.arguments.viewers import As, AsGiven, viewer_given, visible_as
from adalog.schema.fields import types
from adalog.schema.fields.pulls import only, pulled
from adalog.schema.fields.queries import (
    INLINE_VALUES,
    basis_name,
    check_first,
    queried,
    read_given,
    time_limit,
    with_name,
)
from adalog.schema.fields.running import RunningQueryType, cancel_query, running_queries
from adalog.schema.fields.transacting import transacted
from adalog.schema.fields.why_visible import why_visible
from adalog.schema.request.background import elsewhere
from adalog.schema.request.budget import Prepaid, RepeatedWork
from adalog.schema.request.context import Context
from adalog.schema.request.cursor import question
from adalog.schema.writing.columnar import Objects
from adalog.schema.writing.encoding import Encoding, iso
from adalog.schema.writing.scalars import EDN, JSON, Long
from adalog.store.snapshot.index import datom_spans
from adalog.store.snapshot.past_limits import PastLimits
from adalog.store.values import bootstrap

if TYPE_CHECKING:
    from adalog.schema.request.visible_database import VisibleDatabase
    from adalog.store.snapshot.index import DatomSpan
    from adalog.store.snapshot.snapshot import Snapshot
    from adalog.store.transact.resolve import TransactionData
    from adalog.store.values.datom import TxReport

Info = strawberry.Info[Context, None]
T = TypeVar("T")


# Of a datom as codes.
_DATOM_BYTES = 29
# Of the pool's cost, for a datom that is found in an index.
_DATOM_COST = 5.0
# The same, for a character of transaction data that is tried.
_TX_CHARACTER_COST = 30.0
# The same, for a byte of the log: some five to a datom.
_LOGGED_COST = 9.0


@strawberry.type(name="Query")
class QueryFields:
    @strawberry.field
    async def q(
        self,
        info: Info,
        query: EDN,
        args: list[JSON] | None = None,
        args_edn: list[EDN] | None = None,
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        first: int | None = None,
        after: str | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        engine: types.EngineOption | None = types.EngineOption.AUTO,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> types.QueryResult:
        return await queried(
            info.context,
            query,
            args,
            args_edn,
            basis,
            with_,
            with_args,
            first,
            after,
            encoding,
            engine,
            timeout_ms,
            as_,
        )

    @strawberry.field
    async def explain(
        self,
        info: Info,
        query: EDN,
        args: list[JSON] | None = None,
        args_edn: list[EDN] | None = None,
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        engine: types.EngineOption | None = types.EngineOption.AUTO,
        analyze: bool | None = False,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> types.ExplanationType:
        context = info.context
        services, visible = context.services, visible_as(context, as_)
        if analyze and not visible.for_another:
            visible.check_all("`analyze`")
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        reading = BasisReading(context, visible, basis, with_, within.deadline, with_args)
        request = QueryRequest(
            query=query,
            args=(await read_given(services, args, args_edn, within)).arguments,
            snapshot=await reading.snapshot(),
            engine=(engine or types.EngineOption.AUTO).value,
            timeout_ms=within.left_ms,
            max_rows=services.limits.rows,
        )
        explanation = await services.pool.aexplain(request, bool(analyze))
        plan = await elsewhere(lambda _: types.written(explanation.plan))
        info.context.budget.take(plan.nbytes + len(explanation.text))
        return types.ExplanationType(
            text=explanation.text,
            plan=JSON(plan),
            warnings=types.warnings_of((*reading.told, *explanation.diagnostics)),
        )

    @strawberry.field
    async def why(
        self,
        info: Info,
        query: EDN,
        row: list[JSON | None],
        args: list[JSON] | None = None,
        args_edn: list[EDN] | None = None,
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> JSON:
        context = info.context
        services, visible = context.services, visible_as(context, as_)
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        reading = BasisReading(context, visible, basis, with_, within.deadline, with_args)
        request = QueryRequest(
            query=query,
            args=(await read_given(services, args, args_edn, within)).arguments,
            snapshot=await reading.snapshot(),
            timeout_ms=within.left_ms,
        )
        reason = await services.pool.awhy(request, read_row(services.database, row))
        found = await elsewhere(lambda _: types.written(reason))
        context.budget.take(found.nbytes)
        return JSON(found)

    @strawberry.field
    async def check(
        self,
        info: Info,
        query: EDN,
        args_edn: list[EDN | None] | None = None,
        basis: BasisInput | None = None,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> list[types.Warning]:
        context = info.context
        services = context.services
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        reading = BasisReading(context, visible_as(context, as_), basis, None, within.deadline, None)
        request = QueryRequest(
            query=query,
            args=await services.pool.threaded(
                within, lambda _: read_draft_arguments(services.database, args_edn or ())
            ),
            snapshot=await reading.snapshot(),
            timeout_ms=within.left_ms,
        )
        return types.warnings_of((*reading.told, *await services.pool.acheck(request)))

    @strawberry.field
    def builtins(self) -> list[types.BuiltinType]:
        return types.builtins()

    @strawberry.field
    async def pull(
        self,
        info: Info,
        pattern: EDN,
        eid: EDN,
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        encoding: Encoding | None = Encoding.PLAIN,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> JSON | None:
        context = info.context
        made, told = await pulled(
            context, pattern, [eid], "eid", basis, with_, with_args, encoding, timeout_ms, as_
        )
        context.warn(info.path, told)
        return cast(JSON | None, only(made))

    @strawberry.field
    async def pull_many(
        self,
        info: Info,
        pattern: EDN,
        eids: list[EDN],
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        encoding: Encoding | None = Encoding.PLAIN,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> list[JSON | None]:
        context = info.context
        made, told = await pulled(
            context, pattern, eids, "eids", basis, with_, with_args, encoding, timeout_ms, as_
        )
        context.warn(info.path, told)
        return cast(list[JSON | None], made)

    @strawberry.field
    async def datoms(
        self,
        info: Info,
        index: types.Index,
        components: list[EDN] | None = None,
        basis: BasisInput | None = None,
        with_: With = None,
        with_args: WithArgs = None,
        first: int | None = 1000,
        after: str | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> types.DatomPage:
        services, prepaid = info.context.services, Prepaid(info.context.budget)
        first = 1000 if first is None else first
        check_first(first, services.limits.rows)
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        if components is not None and len(components) > len(index.value):
            message = f"{len(components):,} components; an index has {len(index.value)} places"
            raise invalid_argument(message)
        context = info.context
        visible = visible_as(context, as_)
        asked = question(
            "datoms",
            index.value,
            components,
            basis_name(basis),
            *with_name(with_, with_args),
            *visible.key,
        )
        reading = BasisReading(context, visible, basis, with_, within.deadline, with_args)
        snapshot, start = await reading.page(after, asked)
        held = RepeatedWork(prepaid.add)

        def find(cancel: Cancel) -> tuple[list[DatomSpan], tuple[Diagnostic, ...]]:
            held.begin()
            leading = tuple(_component(number, text) for number, text in enumerate(components or ()))
            found = []
            for span in datom_spans(snapshot, index.value, leading, start, first + 1, cancel.check):
                held.take(len(span) * _DATOM_BYTES)
                found.append(span)
            with watching(cancel.check):
                return found, described(tuple(in_components(index.value, leading, snapshot)))

        # How many there are is not known without counting them.
        spans, suspicious = await services.pool.threaded(Cancel(within.deadline), find, _DATOM_COST * first)
        info.context.warn(info.path, [*reading.told, *suspicious])
        count = sum(map(len, spans))
        if count > first:
            last = spans.pop()
            spans.append(last.cut(0, len(last) - 1))
        stop = start + min(count, first)
        first_row, end = None, None
        if stop > start:
            first_row = services.cursors.write(cursor_on(snapshot, asked, start + 1))
            end = services.cursors.write(cursor_on(snapshot, asked, stop))
        return types.DatomPage(
            items=types.Datoms(spans, encoding or Encoding.PLAIN, within.deadline, prepaid),
            page_info=types.PageInfo(
                has_next_page=count > first,
                end_cursor=end,
                has_previous_page=start > 0,
                start_cursor=first_row,
            ),
        )

    @strawberry.field
    async def transactions(
        self,
        info: Info,
        from_: Annotated[Long | None, strawberry.argument(name="from")] = None,
        to: Long | None = None,
        first: int | None = 100,
        encoding: Encoding | None = Encoding.PLAIN,
        timeout_ms: int | None = None,
    ) -> list[types.TxReportType]:
        services = info.context.services
        first = 100 if first is None else first
        check_first(first, services.limits.rows)
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        visible = info.context.visible
        start = 0 if from_ is None else int(from_)
        stop = visible.t + 1 if to is None else int(to)
        flag = Cancel(within.deadline)
        size = await services.pool.threaded(flag, lambda _: visible.raw.logged_bytes(start, stop, first))
        return types.TxReports(  # type: ignore[return-value]
            lambda take: visible.transactions(start, stop, first, take),
            encoding or Encoding.PLAIN,
            services.pool.memory,
            _LOGGED_COST * size,
            within.deadline,
        )

    @strawberry.field
    async def attributes(self, info: Info, as_: As = None) -> list[types.AttributeType]:
        services, visible = info.context.services, visible_as(info.context, as_)
        cancel = Cancel.after(services.limits.timeout_ms)
        found = await services.pool.threaded(cancel, lambda flag: _attributes(visible.snapshot(), flag))
        return Objects(found, types.ATTRIBUTE_FIELDS, cancel.deadline)  # type: ignore[return-value]

    @strawberry.field
    async def database(self, info: Info) -> types.DatabaseType:
        services, visible = info.context.services, info.context.visible
        snapshot = info.context.present(visible)
        cancel = Cancel.after(services.limits.timeout_ms)
        return await services.pool.threaded(cancel, lambda _: _database(visible, snapshot))

    @strawberry.field(name="whyVisible")
    async def why_visible(self, info: Info, entity: EDN, as_: AsGiven, timeout_ms: int | None = None) -> JSON:
        context = info.context
        services, visible = context.services, visible_as(context, as_)
        within = time_limit(timeout_ms, services.limits.timeout_ms)
        found = await services.pool.threaded(
            within, lambda cancel: types.written(why_visible(services.pool, visible, entity, cancel))
        )
        context.budget.take(found.nbytes)
        return JSON(found)

    @strawberry.field
    async def dry_run(
        self,
        info: Info,
        tx: EDN | None = None,
        args: JSON | None = None,
        revert: Long | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        timeout_ms: int | None = None,
        as_: As = None,
    ) -> types.TxReportType:
        context = info.context
        services, visible = context.services, visible_as(context, as_)
        database = services.database
        if tx is not None and revert is None:
            given = partial(transaction_data, database, tx, args)
        elif revert is not None and tx is None:
            given = partial(database.reversal, revert)
        else:
            raise invalid_argument("give tx or revert, and not both")

        def run(cancel: Cancel) -> TxReport:
            return visible.dry_run(given(), cancel)

        within = time_limit(timeout_ms, services.limits.timeout_ms)
        report = await services.pool.threaded(within, run, _TX_CHARACTER_COST * len(tx or ""))
        return types.tx_report(report, encoding or Encoding.PLAIN)

    @strawberry.field
    async def running_queries(self, info: Info) -> list[RunningQueryType]:
        return await running_queries(info.context)

    @strawberry.field
    def whoami(self) -> types.IdentityType:
        return types.identity_of(ASKING.get().identity)


@strawberry.type(name="Mutation")
class MutationFields:
    @strawberry.mutation
    async def transact(
        self,
        info: Info,
        tx: EDN,
        args: JSON | None = None,
        expected_basis_t: Long | None = None,
        idempotency_key: str | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        as_: As = None,
    ) -> types.TxReportType:
        services = info.context.services
        read: Callable[[], TransactionData] = partial(transaction_data, services.database, tx, args)
        data = tx if args is None else await _read_briefly((tx, args), read)
        report = await transacted(services, data, expected_basis_t, idempotency_key, viewer_given(as_))
        return types.tx_report(report, encoding or Encoding.PLAIN)

    @strawberry.mutation
    async def transact_json(
        self,
        info: Info,
        tx: list[JSON],
        expected_basis_t: Long | None = None,
        idempotency_key: str | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        as_: As = None,
    ) -> types.TxReportType:
        data = await _read_briefly(tx, partial(json_forms, tx))
        viewer = viewer_given(as_)
        report = await transacted(info.context.services, data, expected_basis_t, idempotency_key, viewer)
        return types.tx_report(report, encoding or Encoding.PLAIN)

    @strawberry.mutation
    async def revert(
        self,
        info: Info,
        t: Long,
        expected_basis_t: Long | None = None,
        idempotency_key: str | None = None,
        encoding: Encoding | None = Encoding.PLAIN,
        as_: As = None,
    ) -> types.TxReportType:
        services = info.context.services
        # Read from the log.
        data = await elsewhere(lambda _: services.database.reversal(t))
        report = await transacted(services, data, expected_basis_t, idempotency_key, viewer_given(as_))
        return types.tx_report(report, encoding or Encoding.PLAIN)

    @strawberry.mutation
    async def cancel_query(self, info: Info, id: strawberry.ID) -> bool:
        return await cancel_query(info.context, id)


async def _read_briefly(values: Sequence[Any], read: Callable[[], T]) -> T:
    """What is read from values, on another thread if they are many."""
    return read() if few(values, INLINE_VALUES) else await elsewhere(lambda _: read())


def _component(number: int, text: str) -> Any:
    try:
        return edn.read(text)
    except AdalogError as error:
        raise error.of_text(f"components[{number}]") from None


def _database(visible: VisibleDatabase, snapshot: Snapshot) -> types.DatabaseType:
    made = visible.raw.tx_instant(snapshot.t)
    return types.DatabaseType(
        basis_t=Long(snapshot.t),
        tx_instant=None if made is None else iso(made),
        datom_count=Long(snapshot.datom_count),
        entity_count=Long(visible.entity_count(snapshot)),
    )


def _attributes(snapshot: Snapshot, cancel: Cancel) -> list[types.AttributeType]:
    found = []
    limits = PastLimits.of_view(snapshot, datetime.now(UTC))
    for attribute in snapshot.attributes():
        cancel.check()
        by, value = limits.of(attribute) or (0, 0)
        found.append(
            types.AttributeType(
                ident=edn.write(attribute.ident),
                value_type=attribute.kind.value_type,
                cardinality=attribute.kind.cardinality,
                unique=attribute.kind.unique,
                is_component=attribute.kind.component,
                doc=attribute.doc,
                datom_count=Long(snapshot.count(attribute)),
                no_history=attribute.kind.no_history,
                retain_days=Long(value) if by == bootstrap.RETAIN_DAYS else None,
                retain_transactions=Long(value) if by == bootstrap.RETAIN_TRANSACTIONS else None,
            )
        )
    return found
