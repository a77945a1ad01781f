"""Every element of the GraphQL surface has a description, which the explorer and other tools show."""

from __future__ import annotations

from typing import Any

from adalog.schema.descriptions import TEXTS, elements
from adalog.schema.surface import build_schema

KINDS_OF_PARTS = ("fields", "inputFields", "enumValues")


def undescribed(element: dict[str, Any], place: str) -> list[str]:
    found = [] if (element["description"] or "").strip() else [place]
    for kind in (*KINDS_OF_PARTS, "args"):
        for part in element.get(kind) or ():
            found += undescribed(part, f"{place}.{part['name']}")
    return found


def test_introspection_shows_a_description_of_everything() -> None:
    types = build_schema().introspect()["__schema"]["types"]
    own = [kind for kind in types if not kind["name"].startswith("__")]
    assert len(own) > 20
    assert [place for kind in own for place in undescribed(kind, kind["name"])] == []


def test_every_text_belongs_to_an_element() -> None:
    there = {coordinate for coordinate, _ in elements(build_schema()._schema)}
    arguments = {coordinate[coordinate.index("(") :] for coordinate in there if "(" in coordinate}
    assert set(TEXTS) - there - arguments == set()


def test_descriptions_are_short_sentences() -> None:
    for coordinate, text in TEXTS.items():
        assert text.endswith((".", "…")), coordinate
        assert text[0].isupper() or text.startswith("`"), coordinate
        assert len(text) < 330, coordinate
