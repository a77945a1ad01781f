"""The files of a page: the console's, the explorer's, an example's. Each is kept in memory and sent with an ETag.

Console and explorer have a `manifest.json`, which names every file with its SHA-256 and the npm packages it came
from. A file that differs is not served.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

import orjson
from starlette.requests import Request
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


def manifest(folder: Traversable) -> dict[str, str]:
    """File name -> SHA-256, for every file that may be served."""
    text = folder.joinpath("manifest.json").read_bytes()
    listed: dict[str, str] = orjson.loads(text)["files"]
    return listed


def load(root: Traversable) -> dict[str, bytes]:
    """The content of every file that the manifest in a folder lists.

    Raises SettingError when one is missing or is not what the manifest says.
    """
    contents = {}
    for name, expected in manifest(root).items():
        path = root.joinpath(*name.split("/"))
        try:
            content = path.read_bytes()
        except OSError as error:
            raise SettingError(f"the page's file {name} cannot be read ({error}); install adalog again") from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise SettingError(f"the page's file {name} was altered: its checksum is not the manifest's")
        contents[name] = content
    return contents


class PageFiles:
    """A page and its files, ready to be sent. `is_folder`: the page's address is the folder of its files."""

    def __init__(self, contents: dict[str, bytes], is_folder: bool = False) -> None:
        self._contents = contents
        self._index = "index.html" if is_folder else ""
        self._etags = {
            name: f'W/"{hashlib.sha256(content).hexdigest()[:20]}"' for name, content in contents.items()
        }

    @classmethod
    def of(cls, package: str) -> PageFiles:
        """The files that the manifest of a package lists. Raises SettingError as `load` does."""
        return cls(load(files(package)))

    def page(self) -> Response:
        return self.file("index.html", None)

    async def answer(self, request: Request) -> Response:
        """The file that the path's parameter `name` names."""
        return self.file(request.path_params["name"] or self._index, request.headers.get("if-none-match"))

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
