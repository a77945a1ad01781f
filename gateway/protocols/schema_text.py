"""`GET /graphql/schema`: the present schema as SDL, for code generators. Its ETag is that of the surface."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from adalog.datalog.errors import AdalogError
from adalog.executor.permissions.grants import Viewer
from adalog.gateway.connections.conditional import unchanged
from adalog.gateway.identity.auth import Tokens
from adalog.gateway.identity.principal import ANYONE
from adalog.gateway.protocols.responses import refusal_answer
from adalog.gateway.settings.origins import Origins
from adalog.schema.request.background import elsewhere
from adalog.schema.typed.following import Surfaces
from adalog.store.files.formats import RELEASE


class SchemaText:
    """Answers with the text; 304 to a client that has it."""

    def __init__(self, surfaces: Surfaces, tokens: Tokens, origins: Origins) -> None:
        self._surfaces = surfaces
        self._tokens = tokens
        self._origins = origins

    async def answer(self, request: Request) -> Response:
        try:
            self._origins.check(request.scope)
            principal = await self._tokens.asking(request.scope)
        except AdalogError as refused:
            return refusal_answer(refused)
        viewer = None if principal is ANYONE else Viewer.of(principal.identity)
        surface = await self._surfaces.current_for(viewer)
        etag = f'W/"{RELEASE}-{surface.model.version:x}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
        known = request.headers.get("if-none-match")
        if unchanged(None if known is None else known.encode("latin-1"), etag):
            return Response(status_code=304, headers=headers)
        text = await elsewhere(lambda _: surface.sdl)
        return Response(text, headers=headers, media_type="text/plain; charset=utf-8")
