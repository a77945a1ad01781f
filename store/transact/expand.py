"""From transaction data to operations: maps, nested maps, vectors for many, reverse keys, names and lookup refs.

Reads the database as it was before the transaction and knows nothing of tempids but their names.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any, Final

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import proposed
from adalog.datalog.values import NUMERIC, EdnList, EdnMap, EdnSet, Keyword, Symbol, type_name
from adalog.store.snapshot.ident_names import ident_names
from adalog.store.state.state import DatabaseState
from adalog.store.transact import operations as ops
from adalog.store.transact.declarations import Declarations, as_keyword, unnamed
from adalog.store.transact.functions import OPERATIONS, shown
from adalog.store.transact.multiple_values import MultipleValues
from adalog.store.transact.operations import CURRENT_TX, Operation, Path, RefusedTransaction, Tempid, Term, invalid
from adalog.store.transact.partitions import is_installation
from adalog.store.transact.plain_values import PlainReaders
from adalog.store.values import bootstrap
from adalog.store.values.attribute import SCHEMA_BASE, TX_BASE, VALUE_TYPES, Attribute
from adalog.store.values.coercion import FIRST_ROUNDED, WHOLE, asserted, coerced_tuple
from adalog.store.values.scalars import READERS, WRITTEN, from_file, from_json, keyword, lookup_ref_meant
from adalog.store.values.schema import item_types

_ID: Final = Keyword("db/id")
_ADD: Final = Keyword("db/add")
_TYPES: Final = " ".join(sorted(VALUE_TYPES))
_TX_INSTANT: Final = Keyword("db/txInstant")
_CURRENT_TX: Final = Keyword("db/current-tx")


class Expansion:
    """One transaction's reading. t: its number."""

    def __init__(self, state: DatabaseState, declarations: Declarations, t: int) -> None:
        self._state = state
        self._declarations = declarations
        self._t = t
        # What the forms call entities that are there.
        self.names: dict[int, Any] = {}
        self._unnamed = 0
        self._plain = PlainReaders(state, declarations, self._tempid)
        self._several = MultipleValues(declarations)

    def operations(self, forms: list[tuple[Any, Path]]) -> Iterator[Operation]:
        """Everything the forms ask for, what they imply for the schema last."""
        for form, path in forms:
            add = self._plain_add(form, path)
            if add is not None:
                yield add
            elif isinstance(form, EdnMap):
                yield from self._map(form, path, self._tempid(unnamed(path)))
            elif isinstance(form, tuple) and form and isinstance(form[0], Keyword):
                if not (form[0] == _ADD and len(form) == 4 and is_installation(form[2], form[1])):
                    yield from self._list(form, path)
            else:
                raise invalid(_no_form(form), path)
        yield from self._declarations.implied

    def _plain_add(self, form: Any, path: Path) -> ops.Add | None:
        if type(form) is not tuple or len(form) != 4 or form[0] != _ADD:
            return None
        known = self._plain.attribute(form[2])
        e = self._plain.entity(form[1])
        if known is None or e is None:
            return None
        attribute, read = known
        value = read(form[3])
        return None if value is None else ops.Add(e, attribute, value, (*path, 3))

    def _list(self, form: tuple[Any, ...], path: Path) -> Iterator[Operation]:
        least, most, pattern = OPERATIONS[form[0]]
        if not least <= len(form) - 1 <= most:
            raise invalid(f"{shown(form)} should look like {pattern}", path)
        e = self._entity(form[1], (*path, 1))
        match form[0].name:
            case "db/add":
                yield from self._add(e, form[2], form[3], path)
            case "db/retract":
                yield from self._retract(e, form[2], form[3] if len(form) == 4 else None, path)
            case "db.fn/retractAttribute":
                yield from self._retract(e, form[2], None, path)
                yield from self._retract_components(e, form[2], path)
            case "db/cas" | "db.fn/cas":
                yield self._cas(e, form[2], form[3], form[4], path)
            case "db.fn/inc":
                yield self._inc(e, form[2], form[3] if len(form) == 4 else 1, path)
            case "db.fn/toggle":
                yield self._toggle(e, form[2], path)
            case "db.fn/default":
                yield from self._default(e, form[2], form[3], path)
            case _:
                yield ops.RetractEntity(e, path)

    def _add(self, e: Term, key: Any, value: Any, path: Path) -> Iterator[Operation]:
        attribute = self._used(key, value, (*path, 2), (*path, 3))
        for item, item_path in self._several.of_list(attribute, value, (*path, 3)):
            yield from self._one(e, attribute, item, item_path)

    def _retract(self, e: Term, key: Any, value: Any, path: Path) -> Iterator[Operation]:
        attribute = self._declarations.find(key)
        if attribute is not None:
            self._check_by_hand(attribute, (*path, 2))
        if attribute is None:
            self._declarations.unknown(key, (*path, 2))
            return
        if value is None:
            yield ops.Retract(e, attribute, None, path)
        elif attribute.kind.value_type is not None:
            for item, item_path in self._several.of_list(attribute, value, (*path, 3)):
                yield ops.Retract(e, attribute, self._value(attribute, item, item_path), path)

    def _retract_components(self, e: Term, key: Any, path: Path) -> Iterator[Operation]:
        attribute = self._declarations.find(key)
        if attribute is not None and attribute.kind.component and isinstance(e, int):
            yield from (ops.RetractEntity(part, path) for part in self._state.values(attribute.id, e))

    def _cas(self, e: Term, key: Any, old: Any, new: Any, path: Path) -> Operation:
        given = old if new is None else new
        attribute = self._used(key, given, (*path, 2), (*path, 4))
        self._check_single(attribute, ":db/cas", path)
        before = None if old is None else self._value(attribute, old, (*path, 3))
        if isinstance(before, Tempid):
            raise invalid("the old value of :db/cas cannot be a tempid", (*path, 3))
        after = None if new is None else self._value(attribute, new, (*path, 4))
        return ops.Cas(e, attribute, before, after, path)

    def _inc(self, e: Term, key: Any, number: Any, path: Path) -> Operation:
        attribute = self._used(key, number, (*path, 2), (*path, 3))
        self._check_single(attribute, ":db.fn/inc", path, NUMERIC, "adds numbers")
        if type_name(number) not in NUMERIC:
            raise invalid(f":db.fn/inc adds a number, not {shown(number)}", (*path, 3))
        return ops.Update("inc", e, attribute, number, path)

    def _toggle(self, e: Term, key: Any, path: Path) -> Operation:
        attribute = self._used(key, False, (*path, 2), (*path, 2))
        self._check_single(attribute, ":db.fn/toggle", path, ("boolean",), "needs a boolean")
        return ops.Update("toggle", e, attribute, None, path)

    def _default(self, e: Term, key: Any, value: Any, path: Path) -> Iterator[Operation]:
        attribute = self._used(key, value, (*path, 2), (*path, 3))
        self._check_by_hand(attribute, (*path, 2))
        for item, item_path in self._several.of_list(attribute, value, (*path, 3)):
            yield ops.Update("default", e, attribute, self._value(attribute, item, item_path), path)

    def _check_single(
        self, attribute: Attribute, function: str, path: Path, types: Collection[str] = VALUE_TYPES, does: str = ""
    ) -> None:
        """Refuses an attribute with many values, and one of none of the types. does: what the function does."""
        ident, held = attribute.ident, attribute.kind.value_type
        if attribute.is_many:
            raise invalid(f"{function} needs an attribute of cardinality one, and {ident} has many", (*path, 2))
        if held not in types:
            raise invalid(f"{function} {does}, and {ident} holds {held}s", (*path, 2))

    def _check_by_hand(self, attribute: Attribute, path: Path) -> None:
        if attribute.kind.tuple_attrs is not None:
            made_of = " ".join(map(str, attribute.kind.tuple_attrs))
            raise invalid(f"{attribute.ident} is kept from {made_of}; write those instead", path)
        if attribute.id == bootstrap.ENSURE:
            raise invalid(":db/ensure is asked for, not stored: write {:db/ensure spec}", path)

    def _map(self, form: EdnMap, path: Path, unnamed: Term) -> Iterator[Operation]:
        e, entries = unnamed, []
        if _ID not in form and _TX_INSTANT in form:
            e = self._tempid(CURRENT_TX)
        for place, (key, value) in enumerate(form.items()):
            if key == _ID:
                plain = self._plain.entity(value)
                e = self._entity(value, (*path, 2 * place + 1)) if plain is None else plain
            elif not is_installation(key, value):
                entries.append((2 * place, key, value))
        if not form:
            raise invalid(f"{shown(form)} says nothing of its entity; add an attribute", path)
        for place, key, value in entries:
            known = self._plain.attribute(key)
            if known is not None:
                plain = known[1](value)
                if plain is not None:
                    yield ops.Add(e, known[0], plain, (*path, place + 1))
                    continue
            key_path, value_path = (*path, place), (*path, place + 1)
            if not isinstance(key, Keyword):
                raise invalid(f"a map's key is an attribute{as_keyword(key)}, not {shown(key)}", key_path)
            if "_" in key.name and key.local.startswith("_") and len(key.local) > 1:
                yield from self._reverse(e, key, value, key_path, value_path)
            else:
                yield from self._entry(e, key, value, key_path, value_path)

    def _entry(self, e: Term, key: Keyword, value: Any, key_path: Path, path: Path) -> Iterator[Operation]:
        attribute = self._used(key, value, key_path, path)
        for item, item_path in self._several.of(attribute, value, path, several=attribute.is_many):
            yield from self._one(e, attribute, item, item_path)

    def _reverse(self, e: Term, key: Keyword, value: Any, key_path: Path, path: Path) -> Iterator[Operation]:
        name = key.name[: len(key.name) - len(key.local)] + key.local[1:]
        attribute = self._declarations.used_with(Keyword(name), "ref", key_path)
        if not attribute.is_ref:
            raise invalid(
                f"{key} goes from a ref back to its entity, but {attribute.ident} holds "
                f"{attribute.kind.value_type}s",
                key_path,
            )
        for item, item_path in self._several.of(attribute, value, path, several=True):
            if isinstance(item, EdnMap):
                other: Term = self._nested_id(item, item_path)
                if len(item) > 1 or _ID not in item:
                    yield from self._map(item, item_path, other)
            else:
                other = self._entity(item, item_path)
            yield ops.Add(other, attribute, e, path)

    def _one(self, e: Term, attribute: Attribute, value: Any, path: Path) -> Iterator[Operation]:
        if attribute.id == bootstrap.ENSURE:
            spec = self._value(attribute, value, path)
            if isinstance(spec, Tempid):
                raise invalid(f"{shown(value)} is no entity spec yet; transact it before", path)
            yield ops.Ensure(e, spec, path)
        elif isinstance(value, EdnMap) and attribute.is_ref and len(value) == 1 and _ID in value:
            yield ops.Add(e, attribute, self._entity(value[_ID], path), path)
        elif isinstance(value, EdnMap) and attribute.is_ref:
            self._check_is_entity(attribute, value, path)
            nested = self._nested_id(value, path)
            yield from self._map(value, path, nested)
            yield ops.Add(e, attribute, nested, path)
        else:
            yield ops.Add(e, attribute, self._value(attribute, value, path), path)

    def _check_is_entity(self, attribute: Attribute, form: EdnMap, path: Path) -> None:
        """Refuses a map that may be meant for a value: nothing in it names an entity, and its attribute is new."""
        if attribute.kind.component or _ID in form or not self._declarations.is_typed_by_use(attribute):
            return
        used = (self._declarations.find(key) for key in form)
        if not any(each is not None and each.kind.unique is not None for each in used):
            raise invalid(
                f"a map is no value; for an entity of its own declare {attribute.ident} with :db/valueType "
                ":db.type/ref, or give the map a :db/id or a unique attribute",
                path,
            )

    def _nested_id(self, form: EdnMap, path: Path) -> Term:
        if _ID in form:
            return self._entity(form[_ID], path)
        self._unnamed += 1
        return Tempid(f"\0\0{self._unnamed}")

    def _used(self, key: Any, value: Any, key_path: Path, value_path: Path) -> Attribute:
        if value is None:
            raise invalid(f"nil is no value for {shown(key)}; leave it out, or retract", value_path)
        attribute = self._declarations.find(key)
        if attribute is None or attribute.kind.value_type is None:
            if attribute is not None and attribute.is_many and value in ((), EdnSet(), EdnList()):
                return attribute
            implied = self._several.implied_type(key, attribute, value)
            if implied in ("symbol", "tuple"):
                _check_no_variable(key, value, value_path)
            if attribute is None and implied == "tuple" and self._several.is_lookup_ref(value):
                self._declarations.suspect_lookup_ref(key, value, value_path)
            attribute = self._declarations.used_with(key, implied, key_path)
        if attribute.kind.tuple_attrs is not None:
            self._check_by_hand(attribute, key_path)
        return attribute

    def _entity(self, value: Any, path: Path) -> Term:
        if isinstance(value, Tempid):
            return self._tempid(value)
        if type(value) is str:
            if not value.startswith("\0"):
                return self._tempid(value)
            raise invalid(f'a tempid is a name such as "ada", not {shown(value)}', path)
        if type(value) is int:
            return self._tempid(str(value)) if value < 0 else self._known_id(value, path)
        if isinstance(value, Keyword):
            if value == _CURRENT_TX:
                return TX_BASE + self._t
            entity = self._declarations.ident(value)
            if entity is None:
                hint = _type_hint(value) if str(value).startswith(":db.type/") else self._ident_hint(value)
                raise invalid(f"no entity has the ident {value}{hint}", path)
            self.names[entity] = value
            return entity
        if type(value) is tuple and len(value) == 2 and isinstance(value[0], Keyword | int):
            entity = self._looked_up(value, path)
            self.names[entity] = value
            return entity
        wanted = 'write a number, a tempid such as "ada" or -1, an ident or a lookup ref'
        raise invalid(f"{shown(value)} is no entity; {wanted}{_entity_hint(value)}", path)

    def _ident_hint(self, ident: Keyword) -> str:
        """` (did you mean :status/open?)` for an ident that no entity has."""
        names = ident_names(self._state.snapshot())
        meant = names.by_local.get(ident.local) if ident.namespace is None else None
        return names.hint(ident) if meant is None else proposed(str(meant))

    def _tempid(self, name: str) -> Term:
        if name == CURRENT_TX:
            return TX_BASE + self._t
        known = self._declarations.ids.get(Tempid(name))
        return Tempid(name) if known is None else known

    def _known_id(self, e: int, path: Path) -> int:
        if self._state.whole is not self._state:
            # Whether it is there is told by no refusal of its own.
            return e
        if e >= SCHEMA_BASE and not self._declarations.exists(e) and not TX_BASE < e <= TX_BASE + self._t:
            raise invalid(f"{e} is no entity; ids of one's own choice are below {SCHEMA_BASE}", path)
        return e

    def _looked_up(self, value: tuple[Any, Any], path: Path) -> int:
        attribute = self._declarations.find(value[0])
        if attribute is None:
            wanted = "a lookup ref takes an attribute that is declared with :db/unique :db.unique/identity"
            hint = f"; {wanted if isinstance(value[0], Keyword) else 'several values need :db.cardinality/many'}"
            raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, f"no attribute {shown(value[0])}{hint}", path)
        if attribute.kind.unique is None:
            why = f"{attribute.ident} is not unique, so {shown(value)} names no entity"
            raise invalid(f"{why}; its :db/unique would be :db.unique/identity", path)
        code = self._value(attribute, value[1], path)
        holder = None if isinstance(code, Tempid) else self._state.holder(attribute.id, code)
        if holder is None:
            made = attribute.kind.tuple_attrs is not None
            hint = "" if made else f"; {shown(EdnMap([value]))} in a transaction adds one"
            raise invalid(f"no entity has {shown(value)}{hint}", path)
        return holder

    def _tuple(self, attribute: Attribute, value: Any, path: Path) -> tuple[Any, ...] | None:
        """A tuple whose items are of the attribute's types, refs as ids; None where it does not fit."""
        if type(value) is not tuple:
            return None
        types = item_types(attribute, len(value), self._declarations.attributes())
        if types is None:
            return value if all(item is None or type_name(item) in VALUE_TYPES for item in value) else None
        if attribute.kind.tuple_type is not None and not 2 <= len(value) <= 8:
            return None
        items = [
            self._entity(item, path) if kind == "ref" and item is not None else item
            for kind, item in zip(types, value, strict=False)
        ]
        if any(isinstance(item, Tempid) for item in items):
            raise invalid(f"{shown(value)}: a tempid cannot be in a tuple", path)
        return coerced_tuple(types, tuple(items), asserted) if len(types) == len(value) else None

    def _value(self, attribute: Attribute, value: Any, path: Path) -> Term:
        """A value's code, or for a ref the entity."""
        if value is None:
            raise invalid(f"nil is no value for {attribute.ident}", path)
        if attribute.is_ref:
            if not isinstance(value, str | int | Keyword | tuple) or isinstance(value, bool):
                hint = _ref_hint(attribute, value)
                raise invalid(f"{shown(value)} is no ref, as {attribute.ident} wants{hint}", path)
            return self._entity(value, path)
        assert attribute.kind.value_type is not None
        if attribute.kind.value_type == "tuple":
            converted = self._tuple(attribute, value, path)
        else:
            if type(value) is Keyword and attribute.id in (bootstrap.ATTR_PREDS, bootstrap.ENTITY_PREDS):
                value = Symbol(value.name)
            converted = asserted(attribute.kind.value_type, value)
        if converted is None:
            raise invalid(
                f"{shown(value)} is not {_described_type(attribute)}, as {attribute.ident} wants"
                f"{_hint(attribute, value)}",
                path,
            )
        try:
            return self._state.codes.intern(converted)
        except (UnicodeEncodeError, TypeError, OverflowError):
            raise invalid(f"{shown(value)} cannot be stored", path) from None
        except AdalogError as error:
            raise RefusedTransaction(error.code, error.message, path) from None


def _check_no_variable(key: Any, value: Any, path: Path) -> None:
    """Refuses what is a variable without a value, rather than the first symbol of an attribute."""
    found = value if isinstance(value, EdnSet | EdnList | tuple) else (value,)
    variable = next((each for each in found if _is_variable(each)), None)
    if variable is not None:
        raise invalid(
            f"{variable.name} {_NO_VALUE}; to store such symbols, declare {shown(key)} with :db/valueType "
            ":db.type/symbol",
            path,
        )


def _is_variable(value: Any) -> bool:
    return isinstance(value, Symbol) and value.name.startswith("?")


_NO_VALUE: Final = "has no value; give it one in args"

_OTHER_TYPES: Final = {
    **dict.fromkeys(("text", "varchar", "str"), "string"),
    **dict.fromkeys(("int", "integer", "number", "int64", "bigserial"), "long"),
    **dict.fromkeys(("date", "datetime", "timestamp", "time", "inst"), "instant"),
    **dict.fromkeys(("decimal", "numeric", "bigdecimal", "money"), "bigdec"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("reference", "entity", "id"), "ref"),
    **dict.fromkeys(("real", "float64"), "double"),
    **dict.fromkeys(("enum", "kw"), "keyword"),
    **dict.fromkeys(("guid",), "uuid"),
    **dict.fromkeys(("interval", "period"), "duration"),
}


def _type_hint(ident: Keyword) -> str:
    meant = _OTHER_TYPES.get(ident.local.lower())
    return f"{'' if meant is None else proposed(f':db.type/{meant}')}; types are {_TYPES}"


def _no_form(form: Any) -> str:
    """The refusal of what is no form of a transaction."""
    if type(form) is tuple and len(form) == 3:
        example = f"[:db/add {' '.join(map(write, form))}]"
        return f"{shown(form)} is no transaction form; write {example if len(example) <= 80 else '[:db/add …]'}"
    whole = "; a transaction is a vector of such forms: [[:db/add …] …]" if isinstance(form, Keyword) else ""
    return f'{shown(form)} is no transaction form; write a map or, say, [:db/add 1 :person/name "Ada"]{whole}'


def _entity_hint(value: Any) -> str:
    """What an entity was probably meant to be."""
    if _is_variable(value):
        return f": {value.name} {_NO_VALUE}"
    if (meant := lookup_ref_meant(value)) is not None:
        return f": {write(meant)}"
    if type(value) is tuple and len(value) == 1:
        return f": {shown(value[0])}"
    return ""


def _ref_hint(attribute: Attribute, value: Any) -> str:
    """What the attribute of a schema takes."""
    if _is_variable(value):
        return f": it {_NO_VALUE}"
    choices = {
        bootstrap.VALUE_TYPE: ":db.type/string or another type",
        bootstrap.CARDINALITY: ":db.cardinality/one or :db.cardinality/many",
        bootstrap.UNIQUE: ":db.unique/identity or :db.unique/value",
    }
    return f"; write {choices[attribute.id]}" if attribute.id in choices else ""


def _described_type(attribute: Attribute) -> str:
    if attribute.kind.tuple_attrs:
        return f"a tuple of {', '.join(map(str, attribute.kind.tuple_attrs))}"
    if attribute.kind.tuple_types:
        return f"a tuple of {', '.join(attribute.kind.tuple_types)}"
    if attribute.kind.tuple_type:
        return f"a tuple of 2 to 8 {attribute.kind.tuple_type}s"
    return f"{'an' if attribute.kind.value_type == 'instant' else 'a'} {attribute.kind.value_type}"


def _hint(attribute: Attribute, value: Any) -> str:
    """How such a value is written."""
    written = WRITTEN.get(str(attribute.kind.value_type))
    if written is None:
        return ""
    if _is_variable(value):
        return f": it {_NO_VALUE}"
    kind = str(attribute.kind.value_type)
    if kind in WHOLE and isinstance(value, float) and FIRST_ROUNDED <= abs(value) < math.inf:
        return (
            "; a double from 2^53 on stands for several whole numbers: write all digits, and no point or exponent"
        )
    if isinstance(value, Symbol) and value.name.lower() in ("null", "none", "undefined"):
        return f"; {value.name} is nil in EDN, and no value: leave the attribute out, or retract"
    probably = from_json(kind, value)
    if probably is None and kind == "keyword" and type(value) in (str, Symbol):
        probably = keyword(f":{value}")
    if probably is None and kind == "boolean" and type(value) in (str, Symbol):
        probably = READERS[kind].file(str(value))
    if probably is None and kind == "instant" and type(value) is int:
        probably = from_file(kind, value)
    if probably is None and kind == "string" and isinstance(value, int | float | Keyword | Symbol):
        probably = write(value)
    if type(value) is tuple and not attribute.is_many:
        return f"; several values need :db.cardinality/many, and {attribute.ident} has one"
    return f"; write a value such as {written[0]}" if probably is None else f"; did you mean {write(probably)}?"
