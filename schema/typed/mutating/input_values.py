"""Values of inputs as the values of attributes: what GraphQL's scalars gave, or the JSON of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adalog.datalog.errors import AdalogError, Code, quoted
from adalog.datalog.values import Keyword
from adalog.schema.typed.model import FieldModel, Model
from adalog.schema.typed.reading.json_values import tuple_of
from adalog.schema.writing.encoding import TagError, decode
from adalog.store.values.attribute import Attribute
from adalog.store.values.scalars import WRITTEN, from_json
from adalog.store.values.schema import Schema, item_types


def refused(place: str, message: str, code: Code = Code.TX_INVALID) -> AdalogError:
    """The refusal of a part of a mutation's input."""
    return AdalogError(code, f"{place}: {message}")


class InputValues:
    """Reads values by the fields of a model and the attributes of a schema."""

    def __init__(self, model: Model, schema: Schema) -> None:
        self._model = model
        self._schema = schema

    def attribute(self, field: FieldModel, place: str) -> Attribute:
        """Raises TX_INVALID where the schema has changed since the document was validated."""
        found = self._schema.get(field.attribute)
        if found is None:
            raise refused(place, f"there is no attribute {field.attribute} any more")
        return found

    def ident(self, given: Any, place: str) -> Keyword:
        """Raises TX_INVALID for what is no keyword."""
        found = from_json("keyword", given)
        if found is None:
            raise refused(place, f"{quoted(given)} is no ident; write one such as {WRITTEN['keyword'][1]}")
        assert isinstance(found, Keyword)
        return found

    def value(self, field: FieldModel, given: Any, place: str) -> Any:
        """One value of a field as a form of a transaction has it. Raises TX_INVALID."""
        if given is None:
            raise refused(place, "a list of values has no null; leave it out")
        if field.enum is not None and isinstance(given, str):
            return self._model.enums[field.enum].members[given]
        attribute = self.attribute(field, place)
        kind = "keyword" if attribute.is_ref else attribute.kind.value_type
        if kind is None or kind == "tuple":
            try:
                return decode(given) if kind is None else tuple_of(self._item_types(attribute, given), given)
            except TagError as error:
                raise refused(place, str(error)) from None
        found = from_json(kind, given)
        if found is None:
            example = WRITTEN[kind][1]
            raise refused(
                place, f"{quoted(given)} is no {kind}, as {attribute.ident} wants; write a value such as {example}"
            )
        return found

    def _item_types(self, attribute: Attribute, given: Any) -> Sequence[str] | None:
        return item_types(attribute, len(given) if isinstance(given, list | tuple) else 0, self._schema.by_ident)
