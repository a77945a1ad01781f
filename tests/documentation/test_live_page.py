"""docs/tutorials/live-page.md: its commands print what it shows, and its page shows in two windows what it says."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By

from adalog.gateway.settings.config import Settings
from tests.chromium import chromium, needs_chromium, waiting
from tests.documentation.pages import SERVER, blocks, commands, printed, settled
from tests.gateway.support import gateway, served

BLOCKS = blocks("tutorials/live-page.md")
pytestmark = needs_chromium


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


@contextmanager
def _pages(folder: Path) -> Iterator[str]:
    """The address at which the files of `folder` are served, as `python3 -m http.server` does."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _shows(browser: webdriver.Chrome, window: str, text: str) -> None:
    browser.switch_to.window(window)
    waiting(browser).until(lambda page: page.find_element(By.TAG_NAME, "body").text == text.strip())


def test_the_tutorial(tmp_path: Path) -> None:
    board = tmp_path / "board"
    board.mkdir()
    consoles = [block.text for block in BLOCKS if block.language == "console"]
    _, before, after = (block.text for block in BLOCKS if block.language == "text")
    with _pages(board) as origin:
        settings = Settings(data=":memory:", port=0, allowed_origins=origin)
        with gateway(settings) as opened, served(opened.app) as address:
            for block in BLOCKS:
                if block.file:
                    tmp_path.joinpath(block.file).write_text(block.text.replace(SERVER, address), "utf-8")

            def type_in(text: str) -> None:
                for command, shown in commands(text):
                    assert settled(printed(command, tmp_path, address)) == settled(shown)

            for text in consoles[:2]:
                type_in(text)
            with chromium(tmp_path / "profile") as browser:
                browser.get(origin)
                browser.switch_to.new_window("window")
                browser.get(origin)
                first, second = browser.window_handles
                for window in (first, second):
                    _shows(browser, window, before)
                browser.find_element(By.TAG_NAME, "button").click()
                for window in (first, second):
                    _shows(browser, window, after)
                type_in(consoles[2])
                for window in (first, second):
                    _shows(browser, window, after + "Order the paint (Bob) Done\n")
            for text in consoles[3:]:
                type_in(text)


def test_the_command_of_the_server_allows_the_page() -> None:
    serve, page = (block.text for block in BLOCKS if block.language == "sh")
    assert "--allowed-origins http://127.0.0.1:8000" in serve
    assert re.search(r"http\.server 8000 --bind 127\.0\.0\.1", page)
