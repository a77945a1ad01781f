"""The pictures of the documentation: pages of a server over the sample data, in a headless Chromium.

    make pictures, or: python -m tests.documentation.pictures [NAME …]

writes `docs/pictures/NAME.webp` for each scene: a function that brings a browser there, listed in `SCENES`.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.chromium import chromium
from tests.console.page import Console
from tests.documentation.conftest import ROOT
from tests.documentation.pages import SERVER, blocks

FOLDER: Final = ROOT / "docs" / "pictures"
LARGEST: Final = 100_000
COMMAND: Final = str(Path(sys.executable).with_name("adalog"))
TASKS_ORIGIN: Final = "http://127.0.0.1:8000"
DEPENDENCIES: Final = """[:find ?name ?version ?size
 :where [?p :package/name "git"]
        [?p :package/depends ?d]
        [?d :package/name ?name]
        [?d :package/version ?version]
        [?d :package/installed-size ?size]
 :order-by [[?size :desc]]]"""


class Stage:
    """A browser, a server over the sample data, and the folder whose files are pages at `tasks`."""

    def __init__(self, browser: webdriver.Chrome, server: str, tasks: str, folder: Path) -> None:
        self.browser = browser
        self.server = server
        self.tasks = tasks
        self.folder = folder

    def size(self, width: int, height: int) -> None:
        """The size of the page, whatever the window has around it."""
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

        self.browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})

    def one(self, selector: str, by: str = By.CSS_SELECTOR) -> WebElement:
        """An element that is shown, once there is one."""

        def found(page: webdriver.Chrome) -> list[WebElement]:
            return [each for each in page.find_elements(by, selector) if each.is_displayed()]

        return WebDriverWait(self.browser, 60).until(found)[0]

    def shows(self, text: str) -> None:
        WebDriverWait(self.browser, 60).until(lambda page: text in page.find_element(By.TAG_NAME, "body").text)

    def picture(self) -> bytes:
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 80})
        return base64.b64decode(shot["data"])


def console(stage: Stage) -> None:
    """A query and its answer in the console."""
    stage.size(1100, 720)
    page = Console(stage.browser, stage.server)
    page.open()
    # The first query of a server waits for kernels, and the same one again would come from the cache.
    page.run(DEPENDENCIES.replace("git", "curl"))
    page.run(DEPENDENCIES)


def explorer(stage: Stage) -> None:
    """A query and its answer in GraphiQL."""
    stage.size(1100, 640)
    stage.browser.get(f"{stage.server}/graphql")
    stage.one(".graphiql-execute-button").click()
    shown = "return document.querySelector('.result-window .CodeMirror')?.CodeMirror?.getValue() ?? ''"
    WebDriverWait(stage.browser, 60).until(lambda page: "elapsedMs" in page.execute_script(shown))


def live(stage: Stage) -> None:
    """The page of examples/live, with a vulnerable package."""
    stage.size(1000, 760)
    stage.browser.get(f"{stage.server}/examples/live/")
    stage.one("[data-package=libwebp7]").click()
    WebDriverWait(stage.browser, 60).until(lambda page: page.find_element(By.ID, "total").text not in ("", "0"))


def tasks(stage: Stage) -> None:
    """The page of the tutorial, after its first task."""
    stage.size(520, 300)
    for block in blocks("tutorials/live-page.md"):
        if block.file:
            text = block.text.replace(SERVER, stage.server).replace(TASKS_ORIGIN, stage.tasks)
            stage.folder.joinpath(Path(block.file).name).write_text(text, encoding="utf-8")
    transact = [COMMAND, "transact", "--url", stage.server, str(stage.folder / "tasks.edn")]
    subprocess.run(transact, check=True, capture_output=True)
    stage.browser.get(f"{stage.tasks}/index.html")
    stage.one("button").click()
    stage.shows("Pull the wires")


SCENES: Final[dict[str, Callable[[Stage], None]]] = {
    each.__name__: each for each in (console, explorer, live, tasks)
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """The address at which the files of `folder` are served, as `python3 -m http.server` does."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def sample(data: Path, origin: str) -> Iterator[str]:
    """The address of a server over the sample data, which pages of `origin` may use."""
    subprocess.run([COMMAND, "sample", "--data", data], check=True, capture_output=True)
    command = [COMMAND, "serve", "--data", data, "--port", "0", "--spark", "off", "--allowed-origins", origin]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))
        finally:
            server.terminate()


def write(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "pages").mkdir()
        with (
            pages(base / "pages") as origin,
            sample(base / "data", origin) as server,
            chromium(base / "profile") as browser,
        ):
            stage = Stage(browser, server, origin, base / "pages")
            for name in names:
                SCENES[name](stage)
                picture = stage.picture()
                assert len(picture) <= LARGEST, f"{name}: {len(picture):,} bytes"
                FOLDER.joinpath(f"{name}.webp").write_bytes(picture)


if __name__ == "__main__":
    write(sys.argv[1:] or list(SCENES))
