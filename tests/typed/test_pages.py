"""docs/tutorials/typed-graphql.md and docs/reference/graphql.md: documents run in order, with the answers shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
from graphql import build_schema, parse, validate

from tests.typed.tracker import Tracker

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = sorted((DOCS.parent / "schema" / "typed").glob("*.py"))
BLOCK = re.compile(r"^```(clojure|graphql|json)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def shown(answer: dict[str, Any]) -> Any:
    """The data; of a refused field its message and code."""
    if "errors" not in answer:
        return answer["data"]
    (error,) = answer["errors"]
    return {"error": error["message"], "code": error["extensions"]["code"]}


def run(tracker: Tracker, page: str) -> None:
    """Runs the page's transactions and documents, each with the answer below it. One without an answer is of the
    schema in issue-tracker.graphql."""
    blocks = BLOCK.findall(page)
    assert {kind for kind, _ in blocks} == {"clojure", "graphql", "json"}
    for (kind, text), (following, answer) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "clojure":
            tracker.transact(text)
        elif kind == "graphql" and following == "json":
            assert shown(tracker.ask(text)) == orjson.loads(answer)
        elif kind == "graphql":
            schema = build_schema(DOCS.joinpath("reference", "issue-tracker.graphql").read_text(encoding="utf-8"))
            assert not validate(schema, parse(text)), text


def test_the_first_ten_minutes() -> None:
    page = DOCS.joinpath("tutorials", "typed-graphql.md").read_text(encoding="utf-8")
    with Tracker.opened() as tracker:
        run(tracker, page)


def test_the_reference() -> None:
    page = DOCS.joinpath("reference", "graphql.md").read_text(encoding="utf-8")
    with Tracker.opened() as tracker:
        run(tracker, page)


def test_the_reference_has_the_codes_of_all_warnings() -> None:
    page = DOCS.joinpath("reference", "graphql.md").read_text(encoding="utf-8")
    table = page[page.index("| warning | says |") :].partition("\n\n")[0]
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    codes = set(re.findall(r'(?:warn|SurfaceWarning)\(\s*"([A-Z_]+)"', source))
    assert set(re.findall(r"\b([A-Z]+_[A-Z]+)\b", table)) == codes
