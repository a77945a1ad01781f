"""docs/reference/mapping.md: it has every key of a mapping, and each example is read. The files of
docs/how-to/importing.md are imported as it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from adalog.datalog.errors import AdalogError
from adalog.pipeline.importing.read.mapping_reader import mapping_of
from tests.documentation.pages import blocks, commands, printed, settled

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mapping.md").read_text("utf-8")
ENTITY = {"attribute": "person/id", "column": "id"}
SOURCE: dict[str, Any] = {"path": "people.jsonl", "entity": ENTITY, "attributes": {"person/name": "name"}}
TABLE = {"jdbc": "jdbc:postgresql://db.example.com/shop", "table": "orders", "entity": ENTITY}
# What a key needs beside it, where that is not in what the others have.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("an attribute", "columns"): {"ref": "line/key"},
    ("an attribute", "create"): {"column": "knows", "ref": "person/id"},
    ("an attribute", "entity"): {"column": "parts", "attributes": {"part/name": "name"}},
    ("an attribute", "grouping"): {"column": "pay", "decimal": ","},
    ("an entity", "grouping"): {"decimal": ","},
    ("an attribute", "entries"): {"column": "prices", "attributes": {"price/currency": "key"}},
}


def examples(what: str) -> dict[str, str]:
    """The examples of a table, by key."""
    (section,) = re.findall(rf"^## Keys of {what}\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", section, re.MULTILINE))


def read(source: dict[str, Any]) -> None:
    mapping_of(yaml.safe_dump({"sources": {"people": source}}), Path("/x/people.yaml"), {}, {"SHOP_PASSWORD": "x"})


def placed(what: str, given: dict[str, Any]) -> dict[str, Any]:
    """The source that has `given` where the table says."""
    (key,) = given
    beside = BESIDE.get((what, key), {})
    if what == "an entity":
        rest = {"attribute": "person/id", **({} if key == "columns" else {"column": "id"}), **beside}
        return SOURCE | {"entity": rest | given}
    if what == "an attribute":
        rest = beside or ({} if key == "value" else {"column": "name"})
        return SOURCE | {"attributes": {"person/x": rest | given}}
    if key == "ids":
        return {"path": "people.edn", "format": "edn", **given}
    if key in ("jdbc", "table", "query", "user", "password", "driver", "partition", "since"):
        return {name: value for name, value in TABLE.items() if name != "table" or key != "query"} | given
    return SOURCE | given


@pytest.mark.parametrize(
    ("what", "key", "example"),
    [
        (what, key, text)
        for what in ("a source", "an entity", "an attribute")
        for key, text in examples(what).items()
    ],
)
def test_an_example_is_read(what: str, key: str, example: str) -> None:
    given = yaml.safe_load(example)
    assert list(given) == [key]
    read(placed(what, given))


@pytest.mark.parametrize("what", ["a source", "an entity", "an attribute"])
def test_the_tables_have_every_key(what: str) -> None:
    """A refusal of an unknown key names those that there are."""
    with pytest.raises(AdalogError) as caught:
        read(placed(what, {"unknown": 1}))
    assert set(caught.value.message.partition("; it has ")[2].split(", ")) == examples(what).keys()


def test_a_mapping_has_the_keys_of_the_page() -> None:
    assert examples("a mapping").keys() == {"schema", "sources"}
    mapping_of("\n".join(examples("a mapping").values()), Path("/x/people.yaml"), {})


def test_the_mapping_at_the_top_is_read() -> None:
    (text,) = re.findall(r"```yaml\n(schema: people.edn.*?)```", PAGE, re.DOTALL)
    plan = mapping_of(text, Path("/x/people.yaml"), {})
    assert len(plan.sources[0].columns) == 8


def test_the_first_import(tmp_path: Path) -> None:
    found = blocks("how-to/importing.md")
    for block in found:
        if block.language in ("yaml", "csv"):
            name = "people.yaml" if block.language == "yaml" else "people.csv"
            tmp_path.joinpath(name).write_text(block.text, encoding="utf-8")
    (typed,) = [pair for block in found if block.language == "console" for pair in commands(block.text)]
    assert settled(printed(typed[0], tmp_path)) == settled(typed[1])
