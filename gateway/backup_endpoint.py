"""POST /backup: one backup of the database to a place that the server may write to, told until its end.

The body is JSON: `to`, an absolute path or an address, and `keep`, how many backups stay there, if not all. Events
are `progress` {stage, done, total, rows}, done and total in bytes, and at the end `done` with what was taken, or
`error` with GraphQL's `errors`. The backup ends when the client goes away.
"""

from __future__ import annotations

from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from datalog.errors import AdalogError, Code
from gateway.auth import ANYONE, Principal, Tokens, check_backup
from gateway.backup_places import BackupPlaces
from gateway.backups import Backups, Wanted
from gateway.config import Settings
from gateway.ending import Stop
from gateway.peer import is_own_user
from gateway.telling import body, check_form, refusal, tell
from schema.background import elsewhere


class BackupEndpoint:
    """An ASGI app."""

    def __init__(self, backups: Backups, tokens: Tokens, stop: Stop, settings: Settings) -> None:
        self._backups = backups
        self._tokens = tokens
        self._stop = stop
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            outbox = self._backups.begin(await self._wanted(request))
        except AdalogError as error:
            await refusal(error)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        try:
            await tell(outbox, self._stop, self._settings.ping_seconds, receive, send)
        finally:
            outbox.close(AdalogError(Code.CANCELLED, "the client went away, and no backup was taken"))

    async def _wanted(self, request: Request) -> Wanted:
        """The backup that a request asks for. Raises what is wrong with it, or with who asks."""
        principal = await self._tokens.principal(request.headers.get("authorization"))
        check_backup(principal)
        check_form(request, "/backup", "backup")
        said = members(await body(request, self._settings.request_bytes))
        to = await elsewhere(lambda _: self._places(principal, request.scope).checked(said["to"]))
        return Wanted(to, said.get("keep"))

    def _places(self, principal: Principal, scope: Scope) -> BackupPlaces:
        """Where backups may lie. Without a setting: nowhere, unless who asks runs as the server's own user, and so
        may write and read the same files."""
        named = self._settings.backup_folders
        if named is not None:
            return BackupPlaces.of(named)
        return BackupPlaces.anywhere() if principal is ANYONE and is_own_user(scope) else BackupPlaces()


def members(text: bytes) -> dict[str, Any]:
    """The members of a request that are not null. Raises ARG_INVALID for anything else than a request."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise AdalogError(Code.ARG_INVALID, f"the request is not JSON: {error.msg}") from None
    if not isinstance(said, dict) or not isinstance(said.get("to"), str) or not said["to"]:
        raise AdalogError(
            Code.ARG_INVALID, "the request is a JSON object with `to`, an absolute path or an address"
        )
    given = {name: value for name, value in said.items() if value is not None}
    for name in given:
        if name not in ("to", "keep"):
            raise AdalogError(Code.ARG_INVALID, f"a backup has no {name!r}; it has to, keep")
    if "keep" in given and (type(given["keep"]) is not int or given["keep"] < 1):
        raise AdalogError(Code.ARG_INVALID, "`keep` is a whole number, at least 1")
    return given
