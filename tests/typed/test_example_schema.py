"""docs/reference/issue-tracker.graphql is the schema of the issue tracker of these tests.

After a change of the typed surface:
`python -m tests.typed.test_example_schema > docs/reference/issue-tracker.graphql`
"""

from __future__ import annotations

from pathlib import Path

from graphql import build_schema as read_sdl
from graphql import validate_schema

from adalog.datalog import edn
from adalog.schema.surface import build_schema
from adalog.schema.typed.surface import SurfaceFactory
from adalog.store.database import Database

EXAMPLE = Path(__file__).parents[2] / "docs" / "reference" / "issue-tracker.graphql"


def written() -> str:
    declarations, *_ = edn.read(Path(__file__).with_name("issue_tracker.edn").read_text("utf-8"))
    with Database.open(":memory:") as database:
        database.transact(declarations)
        return SurfaceFactory(build_schema()._schema).surface(database.snapshot()).sdl + "\n"


def test_the_example_is_the_schema_and_valid() -> None:
    text = EXAMPLE.read_text("utf-8")
    assert text == written(), f"write it anew: python -m {__name__} > docs/{EXAMPLE.name}"
    assert validate_schema(read_sdl(text)) == []


if __name__ == "__main__":
    print(written(), end="")
