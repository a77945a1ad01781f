"""The documentation's site at /docs: the pages, styles, scripts and search index in the file of `make docs`.

The site is public, as the explorer is. Each request opens the archive, so a new one counts at once; the event loop
must not run this.
"""

from __future__ import annotations

import zipfile
from importlib.resources import as_file, files
from pathlib import PurePosixPath
from typing import Final

from starlette.responses import RedirectResponse, Response

from adalog.gateway.connections.conditional import unchanged

ARCHIVE: Final = "site.zip"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
}
_NOT_BUILT: Final = (
    "The documentation is not built here. In a checkout, `make docs` builds it (`make run` does, too); then load "
    "this page again. Its pages are the files of the folder docs/ of adalog's sources.\n"
)


def page(name: str, if_none_match: str | None) -> Response:
    """The file `name` of the site, the page of a folder, or 404; 304 when the browser has it."""
    with as_file(files(__package__) / ARCHIVE) as path:
        try:
            archive = zipfile.ZipFile(path)
        except OSError:
            return Response(_NOT_BUILT, status_code=404, media_type="text/plain")
        with archive:
            return _answer(archive, name, if_none_match)


def _answer(archive: zipfile.ZipFile, name: str, if_none_match: str | None) -> Response:
    names = archive.NameToInfo
    if name and not name.endswith("/") and f"{name}/index.html" in names:
        return RedirectResponse(f"{PurePosixPath(name).name}/", status_code=308)
    # As the pages' files are called in the sources.
    source = PurePosixPath(name)
    if source.suffix in (".md", ".html") and f"{source.with_suffix('')}/index.html" in names:
        return RedirectResponse(f"{source.stem}/", status_code=308)
    entry = names.get(f"{name}index.html" if not name or name.endswith("/") else name)
    if entry is None:
        return Response(
            f"no page {name!r} here; /docs/ is the first one\n", status_code=404, media_type="text/plain"
        )
    etag = f'W/"{entry.CRC:08x}{entry.file_size:x}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept"}
    if unchanged(None if if_none_match is None else if_none_match.encode("latin-1"), etag):
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = _TYPES.get(PurePosixPath(entry.filename).suffix, "text/plain; charset=utf-8")
    return Response(archive.read(entry), headers=headers)
