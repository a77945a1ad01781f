"""The issue tracker of `issue_tracker.edn` in memory, asked in GraphQL.

A document that is one typed field is answered without GraphQL's executor, too: the bytes must be the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson
from graphql import DocumentNode, parse, validate
from graphql.execution import Executor

from adalog.datalog import edn
from adalog.executor.pool import Pool, PoolSettings
from adalog.schema.documents.mistakes import RULES, advised
from adalog.schema.documents.operations import PreparingExecutor, is_awaitable
from adalog.schema.request.budget import assembled
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.errors import format_error
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.schema.typed.alone import TypedField, typed_field
from adalog.schema.typed.surface import Surface, SurfaceFactory
from adalog.schema.writing.code_texts import NewestTexts
from adalog.store.database import Database

DATA = Path(__file__).parent / "issue_tracker.edn"
INCIDENT = re.compile(rb'incident( |":")[0-9a-f]{8}')


@dataclass
class Tracker:
    """A database with its surface. Documents are validated and executed as the gateway does."""

    database: Database
    services: Services
    factory: SurfaceFactory
    surface: Surface
    checks_alone: bool = True
    # Documents that are one field, as they are kept for a surface.
    alone: dict[tuple[int, str], TypedField | None] = field(default_factory=dict)

    @staticmethod
    @contextmanager
    def opened(*transactions: str, schema: Literal["open", "strict"] = "open", **limits: Any) -> Iterator[Tracker]:
        with Database.open(":memory:", schema=schema) as database:
            for each in transactions:
                database.transact(each)
            pool = Pool(database, PoolSettings(threads=1))
            try:
                yield Tracker.of(database, pool, **limits)
            finally:
                pool.close()

    @staticmethod
    def of(database: Database, pool: Pool, **limits: Any) -> Tracker:
        services = Services(
            database, pool, RequestLimits(**limits), Cursors(b"k" * 32), newest_texts=NewestTexts(database).texts
        )
        factory = SurfaceFactory(build_schema()._schema, strict=database.schema == "strict")
        return Tracker(database, services, factory, factory.surface(database.snapshot()))

    def transact(self, text: str) -> None:
        self.database.transact(text)
        self.surface = self.factory.surface(self.database.snapshot(), self.surface)

    def ask(self, document: str, **variables: Any) -> dict[str, Any]:
        """The response."""
        return asyncio.run(self._asked(document, variables))

    def data(self, document: str, **variables: Any) -> Any:
        """The response's data, where it has no errors."""
        answer = self.ask(document, **variables)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def error(self, document: str, **variables: Any) -> str:
        """The message of the one error."""
        (error,) = self.ask(document, **variables)["errors"]
        return str(error["message"])

    async def _asked(self, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        parsed = parse(document)
        errors = validate(self.surface.schema, parsed, RULES)
        if errors:
            advised(errors, self.surface.schema, document, parsed)
            return {"errors": [format_error(each) for each in errors]}
        executor = PreparingExecutor.build(
            self.surface.schema,
            parsed,
            context_value=Context(self.services),
            raw_variable_values=variables,
            is_awaitable=is_awaitable,  # type: ignore[arg-type]
        )
        if not isinstance(executor, Executor):
            return {"errors": [format_error(each) for each in executor]}
        outcome: Any = executor.execute_operation()
        result = await outcome if is_awaitable(outcome) else outcome
        body: dict[str, Any] = {"errors": [format_error(e) for e in result.errors]} if result.errors else {}
        text = b"".join(assembled(body | {"data": result.data}))
        await self._check_alone(document, parsed, variables, text)
        found: dict[str, Any] = orjson.loads(text)
        return found

    async def _check_alone(
        self, document: str, parsed: DocumentNode, variables: dict[str, Any], expected: bytes
    ) -> None:
        key = id(self.surface), document
        if key not in self.alone:
            self.alone[key] = typed_field(parsed, self.surface.schema) if self.checks_alone else None
        single = self.alone[key]
        given = None if single is None else single.given(variables)
        # The second time what was compiled is at hand.
        for _ in range(0 if given is None else 2):
            assert single is not None
            assert given is not None
            body = await single.answer(Context(self.services), given)
            text = b"".join(assembled(body))
            assert INCIDENT.sub(b"", text) == INCIDENT.sub(b"", expected), (document, variables)

    def entity(self, text: str) -> str:
        """The id of what a lookup ref names."""
        found = self.database.snapshot().entid(edn.read(text))
        assert found is not None
        return str(found)


def tracker_texts() -> list[str]:
    """The transactions of the issue tracker."""
    return [edn.write(each) for each in edn.read(DATA.read_text())]
