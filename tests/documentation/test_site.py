"""The site at /docs: every page stands in its menu, asks only this server, and works under the gateway's policy."""

from __future__ import annotations

import re
import runpy
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.shadowroot import ShadowRoot

from adalog.gateway import documentation
from tests.chromium import chromium, needs_chromium, waiting
from tests.documentation.conftest import ROOT
from tests.gateway.explorer.test_browser import requested
from tests.gateway.support import Gateway, gateway, served


@pytest.fixture
def opened(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setattr(documentation, "ARCHIVE", str(site))
    with gateway(None) as opened:
        yield opened


def _menu(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry if isinstance(entry, list) else entry.values():
            yield from _menu(each)


def test_the_menu_has_every_page_once() -> None:
    build = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))
    named = _menu(tomllib.loads(build["config"]())["project"]["nav"])
    assert sorted(named) == sorted(build["places"]().values())


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    with zipfile.ZipFile(site) as archive:
        names = set(archive.namelist())
        pages = [name for name in names if name.endswith(".html")]
        assert len(pages) > 60
        for page in pages:
            text = archive.read(page).decode()
            for link in re.findall(r'(?:href|src)="([^"]*)"', text):
                if urlsplit(link).scheme in ("http", "https", "mailto", "data"):
                    continue
                path = urlsplit(urljoin(f"/{page}", link)).path.removeprefix("/")
                path = f"{path}index.html" if path.endswith("/") or not path else path
                assert path in names, f"{page} links to {link}"


def test_no_page_has_an_inline_script_or_style_or_loads_from_elsewhere(site: Path) -> None:
    with zipfile.ZipFile(site) as archive:
        for page in archive.namelist():
            if page.endswith(".html"):
                text = archive.read(page).decode()
                assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)|<style|\sstyle=", text), page
                loaded = re.findall(r'<(?:script|img|iframe|source)[^>]*\ssrc="(https?:[^"]*)"', text)
                assert loaded + re.findall(r'<link[^>]*\shref="(https?:[^"]*)"', text) == [], page


def test_pages_are_served(opened: Gateway) -> None:
    first = opened.http.get("/docs/")
    assert first.status_code == 200
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert opened.http.get("/docs").headers["location"].endswith("/docs/")
    moved = opened.http.get("/docs/reference/queries")
    assert (moved.status_code, moved.headers["location"]) == (308, "queries/")
    for ending in (".md", ".html"):
        moved = opened.http.get(f"/docs/reference/queries{ending}")
        assert (moved.status_code, moved.headers["location"]) == (308, "queries/")
    assert opened.http.get("/docs/", headers={"if-none-match": first.headers["etag"]}).status_code == 304
    assert opened.http.get("/docs/search.json").headers["content-type"] == "application/json"
    schema = opened.http.get("/docs/reference/issue-tracker.graphql")
    assert schema.headers["content-type"] == "text/plain; charset=utf-8"
    for name in ("nope", "nope/", "../index.html", "reference//queries/", "%2e%2e/index.html"):
        assert opened.http.get(f"/docs/{name}").status_code == 404


def test_without_the_site_the_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Gateway
) -> None:
    monkeypatch.setattr(documentation, "ARCHIVE", str(tmp_path / "site.zip"))
    answer = opened.http.get("/docs/")
    assert answer.status_code == 404
    assert "make docs" in answer.text


def _search(browser: webdriver.Chrome) -> ShadowRoot | None:
    """The dialog of the search, which has a tree of its own."""
    hosts = browser.find_elements(By.CSS_SELECTOR, "body > div")
    roots = [browser.execute_script("return arguments[0].shadowRoot", host) for host in hosts]  # type: ignore[no-untyped-call]
    return next((root for root in roots if root), None)


class TestInABrowser:
    pytestmark = needs_chromium

    def test_the_search_finds_a_page_and_no_request_leaves_the_host(self, opened: Gateway, tmp_path: Path) -> None:
        with served(opened.app) as address, chromium(tmp_path / "profile") as browser:
            wait = waiting(browser)
            browser.get(f"{address}/docs/reference/queries/")
            browser.find_element(By.CSS_SELECTOR, "button.md-search__button").click()
            search = wait.until(_search)
            (field,) = wait.until(lambda _: search.find_elements(By.CSS_SELECTOR, "input"))
            wait.until(lambda _: field.is_displayed())
            field.send_keys("backup")
            wait.until(lambda _: search.find_elements(By.CSS_SELECTOR, "li a mark"))
            # The dialog has its styles.
            assert search.find_element(By.CSS_SELECTOR, "dialog").value_of_css_property("position") == "fixed"
            field.send_keys(Keys.ENTER)
            wait.until(lambda page: "queries" not in urlsplit(page.current_url).path)
            urls = requested(browser)
            assert f"{address}/docs/search.json" in urls
            assert {urlsplit(url).netloc for url in urls} == {urlsplit(address).netloc}
            assert [each for each in browser.get_log("browser") if each["level"] == "SEVERE"] == []  # type: ignore[no-untyped-call]
