"""The page of examples/live, served beside the explorer: it asks this server and no other."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from adalog.gateway.page_files import PageFiles

FILES: Final = ("index.html", "live.css", "live.js", "adalog-client.js", "shared-worker.js")


def live_page() -> PageFiles:
    folder = files("adalog.examples.live")
    return PageFiles({name: folder.joinpath(name).read_bytes() for name in FILES}, is_folder=True)
