"""What one GraphQL request may ask for. The rows, the bytes and the time of an answer are settings."""

from __future__ import annotations

from dataclasses import dataclass

from adalog.datalog.errors import AdalogError, limit_exceeded


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds on a request and on its answer. `result_bytes`: of all that one response holds;
    `document_bytes`: of the GraphQL documents that are remembered. `query_*`: of one document, fragments spread:
    beyond what a tool writes, the checks of a document would take longer than its queries."""

    query_bytes: int = 2 * 1024 * 1024
    query_tokens: int = 4_000
    query_depth: int = 15
    query_aliases: int = 30
    query_fields: int = 1_000
    rows: int = 1_000_000
    result_bytes: int = 64 * 1024 * 1024
    document_bytes: int = 8 * 1024 * 1024
    timeout_ms: int = 60_000


def exceeded(what: str, limit: int, setting: str | None = None) -> AdalogError:
    """A LIMIT_EXCEEDED that names the limit and the setting that moves it, where one does."""
    moved = "" if setting is None else f"; the setting ADALOG_{setting.upper()} moves this limit"
    return limit_exceeded(f"more than {limit:,} {what}{moved}")
