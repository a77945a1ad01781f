"""Forms of a transaction whose values came as JSON or from Python, read by the attributes of one moment.

JSON has no keywords, instants or uuids. A text is read as the type of its attribute, as arguments of queries are.
Where an entity stands, a text is a tempid, or with a colon an ident, and a list of two is a lookup ref. Keys of
maps need no colon. A text for an attribute without a type stays text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adalog.datalog.edn.scalars import Malformed
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnMap, EdnSet, Keyword, Symbol
from adalog.store.transact.functions import OPERATIONS
from adalog.store.values.attribute import VALUE_TYPES, Attribute, AttributeKind
from adalog.store.values.scalars import from_json, keyword, keyword_named
from adalog.store.values.schema import UNDECLARED, Schema, item_types

_ID: Final = Keyword("db/id")
_EXCISE: Final = Keyword("db/excise")
_EXCISED_ATTRS: Final = Keyword("db.excise/attrs")
_IDENT: Final = Keyword("db/ident")
_VALUE_TYPE: Final = Keyword("db/valueType")
_CARDINALITY: Final = Keyword("db/cardinality")
_MANY: Final = Keyword("db.cardinality/many")


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value among the forms that came as JSON or from Python, with all that is in it."""

    value: Any


def read_forms(forms: Iterable[Any], schema: Schema) -> tuple[Any, ...]:
    """The forms with the meaning of every `GivenValue` in its place. Each part keeps its path. Raises
    TX_INVALID for a map that has a key twice."""
    forms = tuple(forms)
    read = tuple(map(FormReader(schema, {}).form, forms))
    declared = _declared(read)
    return tuple(map(FormReader(schema, declared).form, forms)) if declared else read


def _declared(forms: Iterable[Any]) -> dict[Keyword, Attribute]:
    """The attributes that maps among the forms declare with a type."""
    found = {}
    for form in forms:
        if not isinstance(form, EdnMap) or not isinstance(form.get(_VALUE_TYPE), Keyword):
            continue
        ident, value_type = form.get(_IDENT), form[_VALUE_TYPE].local
        if isinstance(ident, Keyword) and value_type in VALUE_TYPES:
            many = form.get(_CARDINALITY) == _MANY
            kind = AttributeKind(value_type=value_type, cardinality="many" if many else "one")
            found[ident] = Attribute(-1, ident, -1, kind)
    return found


class FormReader:
    """`declared`: attributes of the transaction itself, which go before those of the schema."""

    def __init__(self, schema: Schema, declared: Mapping[Keyword, Attribute]) -> None:
        self._schema = schema
        self._declared = declared

    def form(self, form: Any, given: bool = False) -> Any:
        """One form: a map, or a list that begins with an operation or the name of a function."""
        form, given = _opened(form, given)
        if isinstance(form, EdnMap):
            return self._map(form, given)
        if type(form) is not tuple or not form:
            return _plain(form)
        operation = _name(form[0], given)
        if operation not in OPERATIONS:
            return (operation, *map(_plain, form[1:]))
        if len(form) < 3:
            return (operation, *(self._entity(each, given) for each in form[1:]))
        ident = _name(form[2], given)
        values = (self._value(ident, each, given, several=False) for each in form[3:])
        return (operation, self._entity(form[1], given), ident, *values)

    def _attribute(self, ident: Any) -> Attribute | None:
        if not isinstance(ident, Keyword):
            return None
        return self._declared.get(ident) or self._schema.by_ident.get(ident) or UNDECLARED.get(ident)

    def _map(self, form: EdnMap, given: bool) -> EdnMap:
        entries: dict[Any, Any] = {}
        for key, value in form.items():
            ident = _name(key, given)
            if ident in entries:
                raise AdalogError(Code.TX_INVALID, f"a map has {ident} twice; give its values as a list")
            if ident == _ID:
                entries[ident] = self._entity(value, given)
            elif ident == _EXCISE:
                named, opened = _opened(value, given)
                # Nothing is new here, so that a text without a colon is no tempid.
                is_text = opened and type(named) is str
                entries[ident] = _name(named, opened) if is_text else self._entity(named, opened)
            elif ident == _EXCISED_ATTRS:
                named, opened = _opened(value, given)
                several = named if isinstance(named, tuple | EdnSet) else (named,)
                entries[ident] = tuple(_name(each, opened) for each in several)
            elif isinstance(ident, Keyword) and ident.local.startswith("_") and len(ident.local) > 1:
                entries[ident] = self._entities(value, given, several=True)
            else:
                entries[ident] = self._value(ident, value, given, several=True)
        return EdnMap(entries)

    # Entities

    def _entity(self, value: Any, given: bool) -> Any:
        """What names one entity."""
        value, given = _opened(value, given)
        if given and type(value) is str:
            return (keyword(value) or value) if value.startswith(":") else value
        if type(value) is tuple and len(value) == 2:
            ident = _name(value[0], given)
            return (ident, self._value(ident, value[1], given, several=False))
        if given and isinstance(value, EdnMap) and len(value) == 1:
            # What a pull shows of an entity of which it shows nothing else.
            return self._map(value, given).get(_ID, value)
        return _plain(value)

    def _entities(self, value: Any, given: bool, *, several: bool) -> Any:
        """What a ref refers to, or the other end of a reverse key: names and maps of entities."""
        value, given = _opened(value, given)
        if isinstance(value, EdnMap):
            return self._map(value, given)
        if several and isinstance(value, EdnSet):
            return EdnSet(self._entities(each, given, several=False) for each in value)
        if several and isinstance(value, tuple) and not self._is_lookup_ref(value, given):
            return type(value)(self._entities(each, given, several=False) for each in value)
        return self._entity(value, given)

    def _is_lookup_ref(self, value: tuple[Any, ...], given: bool) -> bool:
        """Whether a list is a lookup ref, and no list of entities."""
        if type(value) is not tuple or len(value) != 2:
            return False
        first, given = _opened(value[0], given)
        if isinstance(first, Keyword):
            attribute = self._attribute(first)
            return attribute is None or attribute.kind.unique is not None
        if not given or type(first) is not str:
            return False
        attribute = self._attribute(_name(first, given))
        return attribute is not None and attribute.kind.unique is not None

    # Values

    def _value(self, ident: Any, value: Any, given: bool, *, several: bool) -> Any:
        """A value of an attribute. several: a list may be several values, as in maps."""
        value, given = _opened(value, given)
        attribute = self._attribute(ident)
        kind = None if attribute is None else attribute.kind.value_type
        if attribute is None or kind is None:
            return self._map(value, given) if isinstance(value, EdnMap) else _plain(value)
        several = several and attribute.is_many
        if kind == "ref":
            if given and type(value) is str and (attribute.ident.namespace or "").partition(".")[0] == "db":
                # Of the schema's own attributes the values are idents alone.
                return _name(value, given)
            return self._entities(value, given, several=several)
        if several and isinstance(value, EdnSet):
            return EdnSet(self._one(attribute, each, given) for each in value)
        if several and isinstance(value, tuple) and (kind != "tuple" or _holds_lists(value)):
            return type(value)(self._one(attribute, each, given) for each in value)
        return self._one(attribute, value, given)

    def _one(self, attribute: Attribute, value: Any, given: bool) -> Any:
        value, given = _opened(value, given)
        kind = attribute.kind.value_type
        if kind == "tuple" and type(value) is tuple:
            types = item_types(attribute, len(value), self._schema.by_ident)
            if types is None or len(types) != len(value):
                return _plain(value)
            return tuple(self._item(name, each, given) for name, each in zip(types, value, strict=True))
        assert kind is not None
        return _scalar(kind, value) if given else _plain(value)

    def _item(self, kind: str, value: Any, given: bool) -> Any:
        """An item of a tuple."""
        if kind == "ref":
            return self._entity(value, given)
        value, given = _opened(value, given)
        return _scalar(kind, value) if given else _plain(value)


def _opened(value: Any, given: bool) -> tuple[Any, bool]:
    return (value.value, True) if type(value) is GivenValue else (value, given)


def _name(value: Any, given: bool) -> Any:
    """A keyword; of a text that came as JSON, with or without its colon."""
    value, given = _opened(value, given)
    if not given or type(value) is not str:
        return value
    try:
        return keyword_named(value)
    except Malformed:
        return value


def _scalar(kind: str, value: Any) -> Any:
    """A value that came as JSON as the type; itself where it is none, to be refused."""
    if kind == "keyword":
        return _name(value, True)
    if type(value) is str or (type(value) is float and kind == "bigdec"):
        read = from_json(kind, value)
        return value if read is None else read
    return value


def _holds_lists(value: tuple[Any, ...]) -> bool:
    return all(type(_opened(each, False)[0]) is tuple for each in value)


def _plain(value: Any) -> Any:
    """The value without a GivenValue in it."""
    if type(value) is GivenValue:
        return value.value
    if isinstance(value, EdnMap):
        return EdnMap((_plain(key), _plain(item)) for key, item in value.items())
    if isinstance(value, EdnSet):
        return EdnSet(map(_plain, value))
    return type(value)(map(_plain, value)) if isinstance(value, tuple) else value


def variables(form: Any) -> set[str]:
    """The names of the variables in a form, with their question marks."""
    if isinstance(form, Symbol):
        return {form.name} if form.name.startswith("?") else set()
    if isinstance(form, EdnMap):
        return {name for entry in form.items() for each in entry for name in variables(each)}
    if isinstance(form, tuple | EdnSet):
        return {name for each in form for name in variables(each)}
    return set()


def replaced(form: Any, by: Mapping[str, Any]) -> Any:
    """A form with given values in the places of variables. Raises TX_INVALID for a map that has a key twice."""
    if isinstance(form, Symbol):
        return GivenValue(by[form.name]) if form.name in by else form
    if isinstance(form, EdnMap):
        entries = [(_plain(_name(replaced(key, by), False)), replaced(value, by)) for key, value in form.items()]
        made = EdnMap(entries)
        if len(made) < len(entries):
            raise AdalogError(Code.TX_INVALID, "the values of its variables give a map one key twice")
        return made
    if isinstance(form, EdnSet):
        # Members have no place of their own: all of them are read as given.
        return (
            GivenValue(EdnSet(_plain(replaced(each, by)) for each in form)) if variables(form) & by.keys() else form
        )
    return type(form)(replaced(each, by) for each in form) if isinstance(form, tuple) else form
