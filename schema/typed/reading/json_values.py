"""Inputs of the scalar `JSON` as values: tuples by the types of their items, others as the arguments of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adalog.datalog.errors import quoted
from adalog.schema.writing.encoding import TagError, decode
from adalog.store.values.scalars import WRITTEN, from_json


def tuple_of(types: Sequence[str] | None, given: Any) -> tuple[Any, ...]:
    """A list as a tuple whose items have these types; None: any. Raises TagError."""
    if not isinstance(given, list | tuple):
        raise TagError(f"a tuple is written as a list, not {quoted(given)}")
    if types is None:
        return tuple(map(decode, given))
    if len(types) != len(given):
        raise TagError(
            f"{quoted(list(given))} has {len(given)} items, and the tuple {len(types)}: {', '.join(types)}"
        )
    return tuple(_item(kind, each) for kind, each in zip(types, given, strict=True))


def _item(kind: str, given: Any) -> Any:
    if given is None:
        return None
    if kind == "ref":
        number = from_json("long", given)
        found = number if number is not None else from_json("keyword", given)
    else:
        found = from_json(kind, given)
    if found is not None:
        return found
    found = decode(given)
    if isinstance(given, dict):
        # What is tagged says its type itself.
        return found
    example = '17 or ":an/ident"' if kind == "ref" else WRITTEN[kind][1]
    raise TagError(f"{quoted(given)} is no {kind}, an item of the tuple; write one such as {example}")
