"""What a mapping says of an attribute, against what the schema says of it: refused with the mapping's place."""

from __future__ import annotations

from typing import Final

from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.pipeline.importing.files.notation import NUMBERS
from adalog.pipeline.importing.read.intake import with_article
from adalog.pipeline.importing.read.mapping import ColumnMapping, RowSource
from adalog.pipeline.importing.read.wanted_columns import naming
from adalog.store.values.attribute import FIRST_OWN_IDENT, Attribute
from adalog.store.values.schema import Schema

OF_TIME: Final = ("instant", "duration")
"""Types that `round` goes with."""


def check_notation(source: RowSource, column: ColumnMapping, read_as: str) -> None:
    """Raises ARG_INVALID for a notation of another type's values."""
    notation = column.notation
    for entry, given, types in (
        ("round", column.round, OF_TIME),
        ("format", notation.pattern, ("instant",)),
        ("zone", notation.zone, ("instant",)),
        ("decimal", notation.decimal != ".", NUMBERS),
        ("grouping", notation.grouping, NUMBERS),
    ):
        if given and read_as not in types:
            named = "numbers" if types is NUMBERS else " and ".join(f"{each}s" for each in types)
            raise wrong(
                source,
                column,
                f"has `{entry}`, which goes with {named}, and is {with_article(read_as)}; give the `type` that its "
                "texts are read as",
            )


def check_attribute(
    source: RowSource, column: ColumnMapping, attribute: Attribute, schema: Schema, *, entity: bool
) -> None:
    """Raises ARG_INVALID if an import cannot enforce what the schema says of an attribute."""
    if entity and attribute.kind.unique != "identity":
        raise wrong(source, column, "names the source's entities, and has to be :db.unique/identity for that")
    if attribute.id < FIRST_OWN_IDENT:
        raise wrong(source, column, "is adalog's own; it is given in the mapping's `schema`")
    if attribute.kind.preds:
        raise wrong(source, column, "has :db.attr/preds, which an import does not run; transact these values")
    if attribute.kind.value_type == "tuple":
        raise wrong(source, column, "has tuples as values, which an import does not read")
    for composite in schema.composites:
        if attribute.ident in (composite.kind.tuple_attrs or ()):
            raise wrong(source, column, f"is part of {composite.ident}, which an import does not keep")
    text = attribute if column.ref is None else schema.get(column.ref)
    if naming(column).columns and text is not None and text.kind.value_type != "string":
        raise wrong(source, column, "is given by several columns, and has to be a :db.type/string for that")
    if column.replaces and not attribute.is_many:
        raise wrong(source, column, "has `mode: replace`, but one value at most, which a new one replaces anyway")
    if column.structs is not None and not attribute.is_ref:
        raise wrong(source, column, f"has entities as values, but is declared as {attribute.kind.value_type}")
    if column.ref is not None:
        if not attribute.is_ref:
            raise wrong(source, column, f"has `ref`, but its values are {attribute.kind.value_type}s")
        meant = schema.get(column.ref)
        if meant is None or meant.kind.unique is None:
            raise wrong(source, column, f"means entities by {column.ref}, which is not unique")
        if column.create and (meant.id < FIRST_OWN_IDENT or meant.kind.preds):
            raise wrong(source, column, f"cannot create entities by their {column.ref}; transact them first")
        if meant.kind.value_type in ("ref", "tuple", None):
            raise wrong(source, column, f"means entities by {column.ref}, whose values are no plain ones")
        if column.structs is not None and meant.kind.unique != "identity":
            raise wrong(source, column, f"names entities by {column.ref}, which has to be :db.unique/identity")
    elif attribute.is_ref and column.structs is None:
        raise wrong(source, column, "refers to entities: say by which attribute's value, with `ref`")


def wrong(source: RowSource, column: ColumnMapping, why: str) -> AdalogError:
    return invalid_argument(f"{column.place}: source {source.name}: {column.attribute} {why}")
