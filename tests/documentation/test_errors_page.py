"""docs/reference/errors.md: it has every code, and its examples are refused as it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import adalog
from adalog.datalog.errors import RETRYABLE, Code
from tests.documentation.conftest import ROOT
from tests.documentation.pages import blocks

TEXT = ROOT.joinpath("docs", "reference", "errors.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(\w+)` \| `(\[.*?)` \| `(.*)` \|$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def issues() -> Iterator[adalog.Connection]:
    with adalog.connect(":memory:") as db:
        for block in blocks("reference/errors.md"):
            db.transact(block.text)
        yield db


@pytest.mark.parametrize(("code", "text", "message"), EXAMPLES)
def test_an_example_is_refused(issues: adalog.Connection, code: str, text: str, message: str) -> None:
    with pytest.raises(adalog.Error) as refused:
        issues.q(text) if text.startswith("[:find") else issues.transact(text)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_every_code_has_its_cause_and_remedy() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.*) \|$", TEXT.partition("## All codes")[2], re.MULTILINE)
    assert sorted(code for code, _, _ in rows) == sorted(Code)
    assert {code for code, _, remedy in rows if "retryable" in remedy} == RETRYABLE
    assert len(EXAMPLES) == 10
