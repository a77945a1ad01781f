"""The examples of the library's pages and docstrings give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import adalog

DOCS = Path(__file__).parents[3] / "docs"
MODULES = (
    "adalog",
    *(f"adalog.client.{name}" for name in ("asynchronous", "connecting", "database", "edn", "testing", "values")),
)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize(("page", "least"), [("how-to/python.md", 10), ("reference/live.md", 6)])
def test_a_page(page: str, least: int) -> None:
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.attempted >= least
    assert not found.failed


def test_every_name_is_there() -> None:
    assert {name for name in dir(adalog) if name in adalog._PLACES or name in adalog._MODULES} == {
        *adalog._PLACES,
        *adalog._MODULES,
    }
    assert all(getattr(adalog, name) for name in (*adalog._PLACES, *adalog._MODULES))
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = adalog.conect  # type: ignore[attr-defined]
