"""What becomes of outcomes that nobody waits for any more."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import abandoned


def test_an_abandoned_failure_is_not_logged() -> None:
    logged: list[dict[str, Any]] = []

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: logged.append(context))
        failed, pending = loop.create_future(), loop.create_future()
        failed.set_exception(AdalogError(Code.RATE_LIMITED, "too many"))
        for each in (failed, pending):
            abandoned(each)
            abandoned(each)
        assert pending.cancelled()
        del failed, pending, each
        gc.collect()

    asyncio.run(leave())
    assert logged == []


def test_a_task_that_answers_its_cancellation_with_a_failure_is_not_logged() -> None:
    logged: list[dict[str, Any]] = []

    async def fails() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise AdalogError(Code.TIMEOUT, "too late") from None

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
        task = asyncio.ensure_future(fails())
        await asyncio.sleep(0)
        abandoned(task)
        await asyncio.wait((task,))
        del task
        gc.collect()

    asyncio.run(leave())
    assert logged == []
