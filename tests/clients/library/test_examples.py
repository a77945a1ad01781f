"""The examples of the library's page and docstrings give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import adalog

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "python.md"
MODULES = (
    "adalog",
    *(f"adalog.client.{name}" for name in ("asynchronous", "connecting", "database", "edn", "testing", "values")),
)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed


def test_the_page() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 10
    assert not found.failed


def test_every_name_is_there() -> None:
    assert {name for name in dir(adalog) if name in adalog._PLACES or name in adalog._MODULES} == {
        *adalog._PLACES,
        *adalog._MODULES,
    }
    assert all(getattr(adalog, name) for name in (*adalog._PLACES, *adalog._MODULES))
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = adalog.conect  # type: ignore[attr-defined]
