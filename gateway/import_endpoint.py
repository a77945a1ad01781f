"""POST /import: one import on the server's Spark session, told with server-sent events until its end.

The body is JSON: `mapping`, the text of a mapping, and what may go with it (`_MEMBERS`). Events are `progress`
{stage, done, total, rows}, `rejected` {file, text} with rows as JSON lines, and at the end `done` with what came of
it, or `error` with GraphQL's `errors`. The import ends when the client goes away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from datalog.errors import AdalogError, Code
from executor.spark.pipeline.mapping import mapping_of
from executor.spark.pipeline.places import Places
from gateway.auth import ANYONE, Principal, Tokens, check_import
from gateway.config import Settings, import_places
from gateway.ending import Stop
from gateway.imports import Imports, Wish
from gateway.peer import is_own_user
from gateway.telling import body, check_form, refusal, tell
from schema.background import elsewhere

# `file`: the mapping's absolute path where the client is, to which its paths are relative. `schema`: the
# transaction data of the file that the mapping names. `paths`: of sources by name, instead of the mapping's.
# `files`: likewise lists of paths, and other sources are left out. `idempotencyKey`: what comes with the same one
# is done once.
_MEMBERS: Final[Mapping[str, tuple[type, str]]] = {
    "mapping": (str, "text"),
    "file": (str, "text"),
    "schema": (str, "text"),
    "paths": (dict, "an object"),
    "files": (dict, "an object"),
    "idempotencyKey": (str, "text"),
    "maxErrors": (int, "a whole number"),
    "dryRun": (bool, "true or false"),
}


class ImportEndpoint:
    """An ASGI app."""

    def __init__(self, imports: Imports, tokens: Tokens, stop: Stop, settings: Settings) -> None:
        self._imports = imports
        self._tokens = tokens
        self._stop = stop
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            outbox = await self._imports.abegin(await self._wish(request))
        except AdalogError as error:
            await refusal(error)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        try:
            await tell(outbox, self._stop, self._settings.ping_seconds, receive, send)
        finally:
            outbox.close(AdalogError(Code.CANCELLED, "the client went away, and nothing was imported"))

    async def _wish(self, request: Request) -> Wish:
        """The import that a request asks for. Raises what is wrong with it, or with who asks."""
        principal = await self._tokens.principal(request.headers.get("authorization"))
        check_import(principal)
        check_form(request, "/import", "import")
        text = await body(request, self._settings.request_bytes)
        return await elsewhere(lambda _: self._read_wish(text, principal, request.scope))

    def _read_wish(self, text: bytes, principal: Principal, scope: Scope) -> Wish:
        said = members(text)
        plan = mapping_of(said["mapping"], Path(said.get("file", "/mapping.yaml")), said.get("paths", {}))
        sent = said.get("schema")
        if plan.schema is not None and sent is None:
            raise AdalogError(Code.ARG_INVALID, f"the mapping names {plan.schema}: send its text as `schema`")
        plan = replace(plan, sent=sent)
        if "files" in said:
            plan = plan.of_files(said["files"])
        plan = self._places(principal, scope).checked(plan)
        return Wish(plan, said.get("maxErrors", 0), said.get("dryRun", False), said.get("idempotencyKey"))

    def _places(self, principal: Principal, scope: Scope) -> Places:
        """Where sources may lie. Without a setting: nowhere, unless who asks runs as the server's own user, and so
        may read the same files."""
        named = self._settings.import_folders
        if named is not None:
            return import_places(named)
        return Places.anywhere() if principal is ANYONE and is_own_user(scope) else Places()


def members(text: bytes) -> dict[str, Any]:
    """The members of a request that are not null. Raises ARG_INVALID for anything else than a request."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise AdalogError(Code.ARG_INVALID, f"the request is not JSON: {error.msg}") from None
    if not isinstance(said, dict) or said.get("mapping") is None:
        raise AdalogError(Code.ARG_INVALID, "the request is a JSON object with `mapping`, the text of a mapping")
    given = {name: value for name, value in said.items() if value is not None}
    for name, value in given.items():
        if name not in _MEMBERS:
            raise AdalogError(Code.ARG_INVALID, f"an import has no {name!r}; it has {', '.join(_MEMBERS)}")
        kind, what = _MEMBERS[name]
        if type(value) is not kind:
            raise AdalogError(Code.ARG_INVALID, f"`{name}` is {what}")
    if given.get("maxErrors", 0) < 0 or not all(isinstance(each, str) for each in given.get("paths", {}).values()):
        raise AdalogError(Code.ARG_INVALID, "`maxErrors` is 0 or more, and each of `paths` is text")
    for listed in given.get("files", {}).values():
        if not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
            raise AdalogError(Code.ARG_INVALID, "each of `files` is a list of texts")
    return given
