"""examples/fastapi: set up as its README says; each user's page shows what policies let the user see."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from adalog.executor.pool import Pool
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.chromium import chromium, needs_chromium, waiting
from tests.documentation.conftest import ROOT
from tests.documentation.pages import blocks, commands, printed, settled
from tests.gateway.support import Gateway, served

FOLDER = ROOT / "examples" / "fastapi"
BLOCKS = blocks("../examples/fastapi/README.md")


@contextmanager
def _running(app: Any) -> Iterator[str]:
    """The address of an application in uvicorn."""
    ready = threading.Event()

    class Told(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        # An open stream does not keep the server from ending.
        server = Told(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            assert ready.wait(30)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The application, over a database that the README's commands made."""
    tmp_path.joinpath("examples").symlink_to(ROOT / "examples")
    tokens = next(block.text for block in BLOCKS if block.language == "sh")
    subprocess.run(["bash", "-eu", "-c", tokens], cwd=tmp_path, check=True)
    for block in BLOCKS:
        if block.language == "console":
            for command, shown in commands(block.text):
                assert settled(printed(command, tmp_path)) == settled(shown)
    settings = Settings(data=str(tmp_path / "issues" / "data"), auth=str(tmp_path / "issues" / "tokens"))
    with Database.open(settings.data) as database:
        pool = Pool(database)
        try:
            gateway = Gateway(database, pool, settings)
            with gateway.app.state.hub, served(gateway.app) as server:
                monkeypatch.setenv("ADALOG_URL", server)
                spec = importlib.util.spec_from_file_location("issues_application", FOLDER / "app.py")
                assert spec is not None
                assert spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                with _running(module.app) as address:
                    yield address
            gateway.app.state.surfaces.close()
            gateway.http.close()
        finally:
            pool.close()


def test_it_has_80_lines() -> None:
    assert len(FOLDER.joinpath("app.py").read_text(encoding="utf-8").splitlines()) <= 80


def test_what_a_user_may_not_see_is_not_there(address: str) -> None:
    with httpx.Client(base_url=address) as ada:
        assert ada.post("/issues", json={"title": "x", "project": "web"}).status_code == 401
        assert ada.post("/login", json={"token": "guessed"}).status_code == 401
        login = ada.post("/login", json={"token": "ada-secret"})
        assert login.json() == ["web"]
        assert "HttpOnly" in login.headers["set-cookie"]
        hidden, missing = (ada.post("/issues", json={"title": "x", "project": each}) for each in ("mail", "nope"))
        assert hidden.status_code == 400
        assert hidden.json()["detail"] == missing.json()["detail"].replace("nope", "mail")


@pytest.mark.browser
class TestPages:
    pytestmark = needs_chromium

    def test_two_users_see_their_own_changes(self, address: str, tmp_path: Path) -> None:
        with chromium(tmp_path / "ada") as ada, chromium(tmp_path / "bob") as bob:
            for browser, token in ((ada, "ada-secret"), (bob, "bob-secret")):
                browser.get(address)
                browser.find_element(By.NAME, "token").send_keys(token)
                browser.find_element(By.CSS_SELECTOR, "#login button").click()
            _shows(ada, "Slow page (web)")
            _shows(bob, "Slow page (web)", "Lost letter (mail)")
            _create(bob, "Spam", "mail")
            _shows(bob, "Slow page (web)", "Lost letter (mail)", "Spam (mail)")
            _create(bob, "Blank page", "web")
            _shows(bob, "Slow page (web)", "Lost letter (mail)", "Spam (mail)", "Blank page (web)")
            _shows(ada, "Slow page (web)", "Blank page (web)")


def _create(browser: webdriver.Chrome, title: str, project: str) -> None:
    field = browser.find_element(By.NAME, "title")
    # The form is emptied when the answer to the last one has come.
    waiting(browser).until(lambda _: field.get_attribute("value") == "")
    field.send_keys(title)
    Select(browser.find_element(By.NAME, "project")).select_by_visible_text(project)
    browser.find_element(By.CSS_SELECTOR, "#create button").click()


def _shows(browser: webdriver.Chrome, *issues: str) -> None:
    def listed(page: webdriver.Chrome) -> bool:
        return sorted(item.text for item in page.find_elements(By.TAG_NAME, "li")) == sorted(issues)

    waiting(browser).until(listed)
