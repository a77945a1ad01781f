"""`where` and `orderBy` as clauses of a query over one variable. Values become parameters.

A filter is true or false of each entity: `not`, `ne` and `notIn` are the complement of what they deny, so they hold
for entities without the value. A filter on an attribute with many values holds if one value satisfies all of its
conditions. A filter without conditions is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adalog.datalog import edn
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.errors import AdalogError, invalid_argument, limit_exceeded
from adalog.datalog.values import Keyword
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.reading.json_values import tuple_of
from adalog.schema.typed.slots import Slot
from adalog.schema.writing.encoding import TagError, decode

Filter = Mapping[str, Any]

_NEVER: Final = "[(= 1 2)]"
_COMPARED: Final = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_IN_TEXT: Final = {"contains": "includes?", "startsWith": "starts-with?", "endsWith": "ends-with?"}
_DENIED: Final = {"ne": "eq", "notIn": "in"}
_IS_NULL: Final = "IsNull"
_NO_VALUE: Final = frozenset(("isNull", "ignoreCase", "matches"))
_NULL_ADVICE: Final = {
    "eq": "isNull: true selects the entities without a value",
    "ne": "isNull: false selects the entities with a value",
    "isNull": "it is true or false",
}
# The most conditions in one `where`, and levels: each is a clause to plan.
_MOST_CONDITIONS: Final = 1_000
_MOST_LEVELS: Final = 50


@dataclass(slots=True)
class Parameters:
    """The parameters of one query, as variables of its `:in`, and the supply of other variables. A value may be a
    slot."""

    values: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    _fresh: int = 0

    def add(self, value: Any) -> str:
        name = f"?p{len(self.names)}"
        self.names.append(name)
        self.values.append(value)
        return name

    def variable(self, prefix: str) -> str:
        self._fresh += 1
        return f"?{prefix}{self._fresh}"

    def filled(self, values: Mapping[str, Any]) -> Parameters:
        """Those with the values of variables in their slots. Raises what refuses such a value."""
        found = [each.of(values) if isinstance(each, Slot) else each for each in self.values]
        return Parameters(found, self.names)


@dataclass(slots=True)
class Clauses:
    """Clauses that hold together, and the parameters that they use, in the order of first use. never: they hold of
    nothing, whatever the data are."""

    texts: list[str] = field(default_factory=list)
    uses: dict[str, None] = field(default_factory=dict)
    never: bool = False

    def add(self, text: str, *uses: str) -> None:
        self.texts.append(text)
        self.uses.update(dict.fromkeys(uses))

    def extend(self, others: Iterable[Clauses]) -> None:
        for each in others:
            self.texts += each.texts
            self.uses.update(each.uses)
            self.never |= each.never

    @property
    def text(self) -> str:
        return " ".join((*self.texts, _NEVER) if self.never else self.texts)

    def joined(self, kind: str, variable: str, branches: Sequence[Clauses]) -> None:
        """Adds a `not-join` or `or-join` of the branches over the variable."""
        uses = dict.fromkeys(name for each in branches for name in each.uses)
        written = [each.text if kind == "not-join" else f"(and {each.text})" for each in branches]
        self.add(f"({kind} [{' '.join((variable, *uses))}] {' '.join(written)})", *uses)


def written(ident: Keyword) -> str:
    text: str = edn.write(ident)
    return text


def pattern(shown: FieldModel, entity: str, value: str) -> str:
    """The data pattern between an entity and a value of one of its fields."""
    first, last = (value, entity) if shown.reverse else (entity, value)
    return f"[{first} {written(shown.attribute)} {last}]"


def anchored(kind: TypeModel, entity: str) -> str:
    """The clause for the entities of a type."""
    each = [f"[{entity} {written(anchor)} _]" for anchor in kind.anchors]
    return each[0] if len(each) == 1 else f"(or {' '.join(each)})"


def entity_id(text: object, place: str) -> Any:
    """The entity that an `ID` names; a slot for it where there is a slot. Raises ARG_INVALID."""
    if isinstance(text, Slot):
        return Slot(text.name, lambda given: entity_id(given, place))
    if isinstance(text, int):
        return text
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < 2**63:
        return int(text)
    raise invalid_argument(
        f'{place} is {text!r}, which names no entity; an id is the text of a number, such as "17"'
    )


@dataclass(slots=True)
class FilterCompiler:
    """Compiles the filters and orders of one query."""

    model: Model
    parameters: Parameters
    _conditions: int = 0

    def where(self, kind: TypeModel, entity: str, given: Filter | None, place: str = "where") -> Clauses:
        """The clauses that hold for the entities which a filter of this type selects. `place`: the filter's path in
        the arguments, for messages. Raises ARG_INVALID."""
        return Clauses() if given is None else self._where(kind, entity, given, place, 0)

    def _where(self, kind: TypeModel, entity: str, given: Filter, place: str, level: int) -> Clauses:
        if level > _MOST_LEVELS:
            raise _exceeded(place, f"is nested more than {_MOST_LEVELS} levels deep")
        found = Clauses()
        for name, value in given.items():
            self._conditions += 1
            if self._conditions > _MOST_CONDITIONS:
                raise _exceeded(place, f"has more than {_MOST_CONDITIONS:,} conditions")
            found.extend((self._condition(kind, entity, name, value, f"{place}.{name}", level + 1),))
        return found

    def _condition(self, kind: TypeModel, entity: str, name: str, value: Any, place: str, level: int) -> Clauses:
        found = Clauses()
        if value is None:
            raise _null(place, self._advice(kind, name))
        if name in ("and", "or"):
            items = [self._where(kind, entity, each, f"{place}[{i}]", level) for i, each in enumerate(value)]
            if name == "and":
                found.extend(items)
            else:
                self._any(found, entity, items)
        elif name == "not":
            self._deny(found, entity, self._where(kind, entity, value, place, level))
        elif name == "id":
            self._identified(found, entity, value, place)
        elif (shown := kind.fields.get(name)) is not None:
            if not shown.refers:
                self._valued(found, shown, entity, value, place)
            elif shown.many:
                self._listed(found, shown, entity, value, place, level)
            else:
                target = self.parameters.variable("x")
                found.add(pattern(shown, entity, target))
                found.extend((self.within(shown, target, value, place, level),))
        else:
            self._absent(found, pattern(kind.fields[name.removesuffix(_IS_NULL)], entity, "_"), entity, value)
        return found

    def _advice(self, kind: TypeModel, name: str) -> str:
        shown = kind.fields.get(name)
        if shown is not None and shown.refers and not shown.many:
            return f"use {name}{_IS_NULL}: true for entities without it"
        return "leave it out, or give it conditions"

    def within(self, shown: FieldModel, target: str, value: Filter, place: str, level: int = 0) -> Clauses:
        """The conditions on an entity that a field refers to."""
        inner = self.model.types.get(shown.target or "")
        if inner is not None:
            return self._where(inner, target, value, place, level)
        found = Clauses()
        if value.get("id") is not None:
            self._identified(found, target, value["id"], f"{place}.id")
        return found

    @staticmethod
    def _any(found: Clauses, entity: str, items: Sequence[Clauses]) -> None:
        possible = [each for each in items if not each.never]
        if not possible:
            found.never = True
        elif len(possible) == 1:
            found.extend(possible)
        elif all(each.texts for each in possible):
            found.joined("or-join", entity, possible)

    @staticmethod
    def _deny(found: Clauses, entity: str, denied: Clauses) -> None:
        if denied.never:
            return
        if denied.texts:
            found.joined("not-join", entity, (denied,))
        else:
            found.never = True

    def _absent(self, found: Clauses, any_value: str, entity: str, absent: bool) -> None:
        if absent:
            self._deny(found, entity, Clauses([any_value]))
        else:
            found.add(any_value)

    def _listed(
        self, found: Clauses, shown: FieldModel, entity: str, given: Filter, place: str, level: int
    ) -> None:
        """`some`, `every`, `none` and `count` of the entities of a list."""
        for name, value in given.items():
            at = f"{place}.{name}"
            if value is None:
                raise _null(at, "leave it out, or give it conditions")
            target = self.parameters.variable("x")
            member = Clauses([pattern(shown, entity, target)])
            if name == "count":
                self._counted(found, shown, entity, value, at)
                continue
            inner = self.within(shown, target, value, at, level + 1)
            if name == "every":
                denied = Clauses()
                self._deny(denied, target, inner)
                inner = denied
            member.extend((inner,))
            if name == "some":
                found.extend((member,))
            else:
                self._deny(found, entity, member)

    def _counted(self, found: Clauses, shown: FieldModel, entity: str, given: Filter, place: str) -> None:
        """The conditions on how many entities a list has."""
        conditions = {name: value for name, value in given.items() if name != "isNull"}
        if given.get("isNull"):
            found.never = True
        if not conditions:
            return
        inner, some, count = (self.parameters.variable(prefix) for prefix in ("x", "n", "n"))
        query = f"[:find (count {inner}) . :in $ {entity} :where {pattern(shown, entity, inner)}]"
        found.add(f"(optional [(q {query} $ {entity}) {some}])")
        found.add(f"[(coalesce {some} 0) {count}]")
        for name, value in conditions.items():
            if value is None:
                raise _null(f"{place}.{name}", "give it a number")
            parameter = self.parameters.add(tuple(value) if isinstance(value, list) else value)
            operator = {"eq": "=", "ne": "not=", "in": "in", "notIn": "not-in"}.get(name) or _COMPARED[name]
            found.add(f"[({operator} {count} {parameter})]", parameter)

    def _identified(self, found: Clauses, entity: str, given: Filter, place: str) -> None:
        """The conditions on an entity's id."""
        for name, value in given.items():
            at = f"{place}.{name}"
            if value is None:
                raise _null(at, "every entity has an id; leave it out")
            if name == "isNull":
                found.never |= value
                continue
            listed = name in ("in", "notIn")
            ids = [entity_id(each, at) for each in (value if listed else [value])]
            parameter = self.parameters.add(tuple(ids) if listed else ids[0])
            operator = {"eq": "=", "ne": "not=", "in": "in", "notIn": "not-in"}[name]
            found.add(f"[({operator} {entity} {parameter})]", parameter)

    def _valued(self, found: Clauses, shown: FieldModel, entity: str, given: Filter, place: str) -> None:
        """The conditions on a value: those that affirm are of one value."""
        folds = bool(given.get("ignoreCase"))
        affirmed: dict[str, Any] = {}
        for name, value in given.items():
            at = f"{place}.{name}"
            if value is None:
                raise _null(at, _NULL_ADVICE.get(name, _NULL_ADVICE["eq"]))
            if name in ("in", "notIn"):
                value = [self.value(shown, each, f"{at}[{number}]") for number, each in enumerate(value)]
            elif name not in _NO_VALUE:
                value = self.value(shown, value, at)
            if name == "isNull":
                self._absent(found, pattern(shown, entity, "_"), entity, value)
            elif name in _DENIED:
                self._deny(found, entity, self._having(shown, entity, {_DENIED[name]: value}, folds))
            elif name != "ignoreCase":
                if name == "matches":
                    _check_pattern(value, at)
                affirmed[name] = value
        if affirmed:
            found.extend((self._having(shown, entity, affirmed, folds),))

    def _having(self, shown: FieldModel, entity: str, conditions: Filter, folds: bool) -> Clauses:
        """The clauses for entities with a value that satisfies all conditions."""
        found = Clauses()
        named = shown.enum is not None or names_idents(shown)
        if set(conditions) == {"eq"} and not folds:
            parameter = self.parameters.add(conditions["eq"])
            found.add(pattern(shown, entity, parameter), parameter)
            return found
        value = self.parameters.variable("v")
        found.add(pattern(shown, entity, value))
        if named:
            ident = self.parameters.variable("v")
            found.add(f"[{value} :db/ident {ident}]")
            value = ident
        lower = self.parameters.variable("v") if folds else value
        if folds:
            found.add(f"[(lower-case {value}) {lower}]")
        for name, given in conditions.items():
            subject = value if name == "matches" else lower
            found.add(*self._compared(shown, subject, name, given, folds))
        return found

    def _compared(self, shown: FieldModel, subject: str, name: str, given: Any, folds: bool) -> tuple[str, str]:
        if name == "matches":
            parameter = self.parameters.add(f"(?i){given}" if folds else given)
            return f"[(re-matches {parameter} {subject})]", parameter
        values = list(given) if name == "in" else [given]
        if folds:
            values = [each.lower() if isinstance(each, str) else each for each in values]
        parameter = self.parameters.add(tuple(values) if name == "in" else values[0])
        if name in _IN_TEXT:
            return f"[({_IN_TEXT[name]} {subject} {parameter})]", parameter
        operator = {"eq": "=", "in": "in"}.get(name) or _COMPARED[name]
        return f"[({operator} {subject} {parameter})]", parameter

    def value(self, shown: FieldModel, given: Any, place: str) -> Any:
        """A value of a field as a parameter of a query. Raises ARG_INVALID."""
        if shown.enum is not None and isinstance(given, str):
            return self.model.enums[shown.enum].members.get(given, given)
        if shown.scalar != "JSON":
            return given
        try:
            if shown.kind.value_type != "tuple":
                return decode(given)
            types = shown.item_types(len(given) if isinstance(given, list | tuple) else 0)
            found = tuple_of(types, given)
            for kind, each in zip(types or (), found, strict=False):
                if kind == "ref" and isinstance(each, Keyword):
                    raise TagError(f"{each} is the ident of an entity; write its id")
            return found
        except TagError as error:
            raise invalid_argument(f"{place}: {error}") from None

    def order(self, kind: TypeModel, entity: str, given: Sequence[Filter] | None) -> tuple[Clauses, list[str]]:
        """(clauses, terms of `:order-by`). Absent values come last, ties go by the entity's id."""
        found, terms = Clauses(), []
        for each in given or ():
            ((name, value),) = each.items()
            path: list[str] = []
            subject, at = entity, kind
            while isinstance(value, Mapping):
                shown = at.fields[name]
                target = self.parameters.variable("o")
                path.append(pattern(shown, subject, target))
                subject, at = target, self.model.types[shown.target or ""]
                ((name, value),) = value.items()
            if name == "id" and not path:
                term = subject
            elif name == "id":
                term = subject
                found.add(f"(optional {' '.join(path)})")
            else:
                term = self.parameters.variable("o")
                path.append(pattern(at.fields[name], subject, term))
                if names_idents(at.fields[name]):
                    ident = self.parameters.variable("o")
                    path.append(f"[{term} :db/ident {ident}]")
                    term = ident
                found.add(f"(optional {' '.join(path)})")
            terms.append(f"[{term} :desc]" if str(value) == "DESC" else term)
        if entity not in terms:
            terms.append(entity)
        return found, terms


def names_idents(shown: FieldModel) -> bool:
    """Whether it is a ref that is shown as the keyword of its target."""
    return shown.enum is None and shown.scalar == "Keyword" and shown.kind.value_type == "ref"


def _check_pattern(text: str, place: str) -> None:
    try:
        BUILTINS["re-pattern"].call(text)
    except AdalogError as error:
        raise invalid_argument(f"{place}: {error.message}") from None


def _null(place: str, advice: str) -> AdalogError:
    return invalid_argument(f"{place} is null; {advice}")


def _exceeded(place: str, what: str) -> AdalogError:
    return limit_exceeded(f"{place} {what}; split the request")
