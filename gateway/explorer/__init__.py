"""The explorer: GraphiQL and what it needs, served from this package alone and checked against a manifest first.

`manifest.json` names every file with its SHA-256 and the npm package it came from. A file that differs is not
served.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

import orjson
from starlette.responses import Response

from adalog.gateway.connections.conditional import unchanged
from adalog.gateway.settings.config import SettingError

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


def manifest(folder: Traversable | None = None) -> dict[str, str]:
    """File name -> SHA-256, for every file that may be served."""
    text = ((folder or files(__name__)) / "manifest.json").read_bytes()
    listed: dict[str, str] = orjson.loads(text)["files"]
    return listed


def load(folder: Traversable | None = None) -> dict[str, bytes]:
    """Every listed file's content. Raises SettingError when one is missing or is not what the manifest says."""
    root = folder or files(__name__)
    contents = {}
    for name, expected in manifest(root).items():
        path = root.joinpath(*name.split("/"))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SettingError(
                f"the explorer's file {name} cannot be read ({error}); install adalog again"
            ) from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise SettingError(f"the explorer's file {name} was altered: its checksum is not the manifest's")
        contents[name] = content
    return contents


class Explorer:
    """The explorer's page and files, ready to be sent."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self._contents = contents
        self._etags = {
            name: f'W/"{hashlib.sha256(content).hexdigest()[:20]}"' for name, content in contents.items()
        }

    def page(self) -> Response:
        return self.file("index.html", None)

    def file(self, name: str, if_none_match: str | None) -> Response:
        """One file; 304 when the browser has it, 404 for any name that is not listed."""
        content = self._contents.get(name)
        if content is None:
            return Response(f"no file {name!r} here\n", status_code=404, media_type="text/plain")
        etag = self._etags[name]
        headers = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept"}
        if unchanged(None if if_none_match is None else if_none_match.encode("latin-1"), etag):
            return Response(status_code=304, headers=headers)
        headers["Content-Type"] = _TYPES[name[name.rindex(".") :]]
        return Response(content, headers=headers)
