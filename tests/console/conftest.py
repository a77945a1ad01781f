"""A browser with the console of a small database. Each test has a page of its own; a file has one browser."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.chromium import chromium
from tests.console.page import Console
from tests.gateway.explorer.test_browser import PACKAGES, SQLITE
from tests.gateway.support import Gateway, gateway, served


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as driver:
        yield driver


@pytest.fixture
def packages() -> Iterator[Gateway]:
    """A database of three packages, of which two depend on one."""
    with gateway(None, PACKAGES, SQLITE) as opened:
        yield opened


@pytest.fixture
def console(browser: webdriver.Chrome, packages: Gateway) -> Iterator[Console]:
    """The console of `packages`, at the page that asks."""
    with served(packages.app) as address:
        page = Console(browser, address)
        page.open()
        yield page
        # Nothing of the page asks a server that has ended.
        browser.get("about:blank")
