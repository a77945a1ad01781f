"""The field `q`: what it asks of the pool, and the arguments that other fields read in the same way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import orjson

from adalog.datalog.errors import invalid_argument
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.question.arguments import BasisArgument
from adalog.executor.question.cost import few
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.speculation import BasisReading, cursor_on
from adalog.schema.arguments.values import BasisInput, check_arguments, describe_arguments, read_arguments
from adalog.schema.arguments.viewers import AsInput, visible_as
from adalog.schema.fields import types
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import question
from adalog.schema.request.limits import exceeded
from adalog.schema.request.transaction_wait import reached
from adalog.schema.writing.encoding import Encoding
from adalog.schema.writing.rows import Page
from adalog.schema.writing.scalars import EDN, JSON, Long

INLINE_VALUES = 500
"""Values, and every fifty characters, that are read in no time."""
# The same, when reading them is heavy work.
_HEAVY_VALUES = 20_000


@dataclass(frozen=True, slots=True)
class _Asked:
    """Arguments read, and the name of the question for cursors (empty where there are no pages)."""

    arguments: tuple[Any, ...]
    question: str = ""


async def read_given(
    services: Services,
    args: list[JSON] | None,
    args_edn: list[EDN] | None,
    within: Cancel,
    parts: tuple[Any, ...] | None = None,
) -> _Asked:
    """Long arguments are read on another thread. `parts`: what else the question consists of; None: no pages."""
    check_arguments(args, args_edn)

    def read(_: Cancel) -> _Asked:
        arguments = read_arguments(services.database, args, args_edn)
        name = "" if parts is None else question("q", *parts, describe_arguments(arguments))
        return _Asked(arguments, name)

    is_one_list = args_edn is None and parts is None
    if few(args or () if is_one_list else (args or (), args_edn or (), parts or ()), INLINE_VALUES):
        found = read(within)
    else:
        cost = 0.0 if few((args or (), args_edn or ()), _HEAVY_VALUES) else math.inf
        found = await services.pool.threaded(Cancel(within.deadline), read, cost)
    for argument in found.arguments:
        if isinstance(argument, BasisArgument):
            await reached(services.database, argument.t, within.deadline)
    return found


def check_first(first: int | None, most: int) -> None:
    if first is None:
        return
    if first < 0:
        raise invalid_argument(f"first is {first}; a page has 0 rows or more")
    if first > most:
        raise exceeded(f"rows asked for with first: {first}", most, "rows")


def time_limit(asked: int | None, most: int) -> Cancel:
    """The deadline of a request that may take so many milliseconds from now. Raises ARG_INVALID."""
    if asked is not None and asked <= 0:
        raise invalid_argument(f"timeoutMs is {asked}; give at least 1")
    return Cancel.after(most if asked is None else min(asked, most))


def basis_name(basis: BasisInput | None) -> object:
    return None if basis is None else (basis.t, basis.as_of, basis.since, basis.since_instant, basis.history)


def with_name(with_: str | None, with_args: Any) -> tuple[object, ...]:
    return (with_,) if with_args is None else (with_, orjson.dumps(with_args, option=orjson.OPT_SORT_KEYS).decode())


async def queried(
    context: Context,
    query: EDN,
    args: list[JSON] | None = None,
    args_edn: list[EDN] | None = None,
    basis: BasisInput | None = None,
    with_: EDN | None = None,
    with_args: JSON | None = None,
    first: int | None = None,
    after: str | None = None,
    encoding: Encoding | None = None,
    engine: types.EngineOption | None = None,
    timeout_ms: int | None = None,
    as_: AsInput | None = None,
) -> types.QueryResult:
    """The rows of a query, to be written as they are selected."""
    services = context.services
    limits, visible = services.limits, visible_as(context, as_)
    check_first(first, limits.rows)
    within = time_limit(timeout_ms, limits.timeout_ms)
    paged = first is not None or after is not None
    name = (query, basis_name(basis), *with_name(with_, with_args), *visible.key) if paged else None
    read = await read_given(services, args, args_edn, within, name)
    arguments, asked = read.arguments, read.question
    reading = BasisReading(context, visible, basis, with_, within.deadline, with_args)
    snapshot, start = await reading.page(after, asked)
    result = await services.pool.arun(
        QueryRequest(
            query=query,
            args=arguments,
            snapshot=snapshot,
            engine=(engine or types.EngineOption.AUTO).value,
            timeout_ms=within.left_ms,
            max_rows=limits.rows,
            ordered=paged,
            shown=(start, None if first is None else start + first),
        )
    )
    stop = len(result) if first is None else min(start + first, len(result))
    context.rows += max(0, stop - start)
    first_row, end = None, None
    if paged and stop > start:
        first_row = services.cursors.write(cursor_on(snapshot, asked, start + 1))
        end = services.cursors.write(cursor_on(snapshot, asked, stop))
    return types.QueryResult(
        result=result,
        page=Page(
            result,
            start,
            max(start, stop),
            encoding or Encoding.PLAIN,
            context.budget,
            services.pool,
            attachment=context.attachment,
            texts=services.texts,
        ),
        told=reading.told,
        basis_t=Long(result.t),
        page_info=types.PageInfo(
            has_next_page=stop < len(result),
            end_cursor=end,
            has_previous_page=start > 0,
            start_cursor=first_row,
        ),
    )
