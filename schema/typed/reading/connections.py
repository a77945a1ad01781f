"""Connections: pages of a list with cursors, its number, aggregates and groups.

Each is some queries over the same clauses: for a root they run one after another, for a list they stand in the pull
pattern of its owners. Only those run whose answers are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from adalog.datalog.errors import invalid_argument
from adalog.datalog.values import Keyword
from adalog.schema.request.cursor import question
from adalog.schema.typed.model import FieldModel, Model, TypeModel
from adalog.schema.typed.reading.aggregates import AggregateCompiler, AggregateShape, GroupsShape, TotalShape
from adalog.schema.typed.reading.filters import Clauses, FilterCompiler, Parameters, anchored
from adalog.schema.typed.reading.page_cursors import PageCursors
from adalog.schema.typed.reading.pages import PageSlice, page_slice, reversed_terms
from adalog.schema.typed.reading.queries import HISTORY, PatternText, QueryText
from adalog.schema.typed.reading.writer import DB_ID, Constant, Json, JsonWriter, ObjectShape, Shape, json_value
from adalog.schema.typed.selection import Selected

_NODE: Final = "node"
_CHANGES: Final = ("t", "txInstant", "attribute", "value", "added")


class EntityCompiler(Protocol):
    """What compiles the members of a connection: `patterns.SelectionCompiler`."""

    model: Model
    parameters: Parameters
    cursors: PageCursors
    filters: FilterCompiler
    most: int

    def spend(self, entities: int) -> None: ...

    def entities(self, target: str | None, chosen: Selected, into: PatternText, times: int, path: str) -> Shape: ...

    def selection(
        self, shown: FieldModel, owner: str, entity: str, given: Mapping[str, Any], key: str
    ) -> Clauses: ...

    def order(self, target: str | None, entity: str, given: Mapping[str, Any]) -> tuple[Clauses, list[str]]: ...


Place = Callable[[str, QueryText], str]
"""Takes a part of a connection, by a wanted name: gives the key under which its answer is found."""


@dataclass(frozen=True, slots=True)
class AskedList:
    """What a cursor belongs to. owned: many entities have such a list; owner: whose it is, if a cursor says so."""

    name: str
    owned: bool
    owner: str = ""


@dataclass(frozen=True, slots=True)
class PageRows:
    """The rows of a page as they are found, and their cursors."""

    key: str
    page: PageSlice
    asked: AskedList
    cursors: PageCursors

    def of(self, found: Mapping[Any, Any]) -> list[Any]:
        """Raises ARG_INVALID where a cursor is of the list of another entity."""
        if self.asked.owner and self.asked.owner != self._owner(found):
            raise invalid_argument(
                f"the cursor belongs to the list of entity {self.asked.owner}, and this one is of "
                f"{self._owner(found)}; hand back pageInfo.endCursor of the same list"
            )
        return self.page.rows(found.get(self.key) or ())

    def cursor(self, found: Mapping[Any, Any], number: int, count: int) -> str:
        return self.cursors.write(self.asked.name, self._owner(found), self.page.place(number, count))

    def _owner(self, found: Mapping[Any, Any]) -> str:
        return str(found[DB_ID]) if self.asked.owned else ""


@dataclass(frozen=True, slots=True)
class NodesShape:
    rows: PageRows
    shape: Shape

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        return writer.pieces(self.shape, self.rows.of(found))


@dataclass(frozen=True, slots=True)
class EdgesShape:
    """fields: of each edge, by their response names; None for its cursor."""

    rows: PageRows
    fields: Mapping[str, Shape | None]

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        rows = self.rows.of(found)
        return [
            {
                name: self.rows.cursor(found, number, len(rows)) if shape is None else writer.piece(shape, each)
                for name, shape in self.fields.items()
            }
            for number, each in enumerate(rows)
        ]


@dataclass(frozen=True, slots=True)
class PageInfoShape:
    """fields: by their response names those of PageInfo."""

    rows: PageRows
    fields: Mapping[str, str]

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        return {name: self._value(each, found) for name, each in self.fields.items()}

    def _value(self, name: str, found: Mapping[str, Any]) -> Json:
        rows = found.get(self.rows.key) or ()
        if name == "__typename":
            return "PageInfo"
        if name == "hasNextPage":
            return self.rows.page.has_next(rows)
        if name == "hasPreviousPage":
            return self.rows.page.has_previous(rows)
        count = len(self.rows.of(found))
        return self.rows.cursor(found, 0 if name == "startCursor" else count - 1, count) if count else None


@dataclass(frozen=True, slots=True)
class CountShape:
    key: str

    def read(self, found: Mapping[str, Any], writer: JsonWriter) -> Json:
        return json_value(found.get(self.key) or 0)


@dataclass(frozen=True, slots=True)
class ChangeShape:
    """A change of an entity, as a row of the query for its history. fields: the places in it by response names."""

    fields: Mapping[str, int | None]

    def read(self, found: Sequence[Any], writer: JsonWriter) -> Json:
        return {
            name: "Change" if place is None else json_value(found[place]) for name, place in self.fields.items()
        }


@dataclass(slots=True)
class SelectedConnection:
    """What a connection is of. entity: the variable of its members. base: the clauses that they fulfil. target:
    their type; None: any. place: says where the parts are found."""

    target: str | None
    entity: str
    base: Clauses
    page: PageSlice
    asked: AskedList
    place: Place
    times: int
    path: str


class ConnectionCompiler:
    """Compiles the connections below one root field."""

    def __init__(self, compiler: EntityCompiler) -> None:
        self._of = compiler

    def root(self, kind: TypeModel, chosen: Selected, place: Place) -> Shape:
        """The connection that a root field is."""
        of, given = self._of, chosen.arguments
        entity = of.parameters.variable("e")
        base = Clauses([anchored(kind, entity)])
        base.extend((of.filters.where(kind, entity, given.get("where")),))
        basis = given.get("basis")
        page, asked = self._page(chosen, chosen.field, basis=basis)
        return self._connection(
            SelectedConnection(kind.name, entity, base, page, asked, place, 1, chosen.field), chosen
        )

    def nested(self, shown: FieldModel, chosen: Selected, into: PatternText, times: int, path: str) -> Shape:
        """The connection that a field of the entities of a pattern is."""
        of, given = self._of, chosen.arguments
        owner, entity = of.parameters.variable("e"), of.parameters.variable("e")
        base = of.selection(shown, owner, entity, given, chosen.key)
        path = f"{path}.{chosen.field}"
        page, asked = self._page(chosen, path, owned=True)
        connection = SelectedConnection(shown.target, entity, base, page, asked, _within(into, owner), times, path)
        return self._connection(connection, chosen)

    def history(self, kind: TypeModel | None, chosen: Selected, into: PatternText, path: str) -> Shape:
        """The changes of the entities of a pattern."""
        of, given = self._of, chosen.arguments
        owner, value, t, tx, when, attribute, added = map(
            of.parameters.variable, ("e", "v", "t", "t", "t", "a", "a")
        )
        clauses = Clauses()
        clauses.add(f"[{HISTORY} {owner} {attribute} {value} {tx} {added}]", HISTORY)
        clauses.add(f"[{tx} :db/txInstant {when}] [(tx->t {tx}) {t}]")
        names = given.get("attributes")
        if names is not None:
            wanted = tuple(field_of(kind, name).attribute for name in names)
            parameter = of.parameters.add(wanted)
            clauses.add(f"[(in {attribute} {parameter})]", parameter)
        if of.model.hidden:
            parameter = of.parameters.add(tuple(sorted(of.model.hidden, key=str)))
            clauses.add(f"[(not-in {attribute} {parameter})]", parameter)
        page, asked = self._page(chosen, f"{path}.{chosen.field}", owned=True)
        terms = [t, attribute, added, value]
        ordered = _ordered(page, terms, reversed_terms(terms, required=terms))
        find = f"{t} {when} {attribute} {value} {added}"
        key = _within(into, owner)(f"{chosen.key} changes", QueryText(find, clauses, (), ordered))
        rows = PageRows(key, page, asked, of.cursors)

        def change(selected: Selected) -> Shape:
            places = {name: number for number, name in enumerate(_CHANGES)}
            return ChangeShape({each.key: places.get(each.field) for each in selected.of(selected.type_name)})

        return ObjectShape(self._pages(chosen, rows, change))

    def _page(
        self, chosen: Selected, path: str, *, owned: bool = False, basis: object = None
    ) -> tuple[PageSlice, AskedList]:
        """(the page, the name of its list for cursors)"""
        of, given = self._of, chosen.arguments
        # An empty filter and an empty order are none.
        ways = [_canonical(given.get(name) or None) for name in ("where", "orderBy")]
        ways.append(_canonical(given.get("attributes")))
        asked, owners = question("typed", path, *ways, _canonical(basis)), [""]

        def place(text: str, argument: str) -> int:
            found, owners[0] = of.cursors.place(text, asked, argument, owned=owned)
            return found

        page = page_slice(given, place, of.most, f"{chosen.key}." if owned else "")
        return page, AskedList(asked, owned, owners[0])

    def _connection(self, connection: SelectedConnection, chosen: Selected) -> Shape:
        shapes: dict[str, Shape] = {}
        for each in chosen.of(chosen.type_name):
            if each.field == "totalCount":
                query = QueryText(f"(count {connection.entity}) .", connection.base)
                shapes[each.key] = CountShape(connection.place(f"{chosen.key} count", query))
            elif each.field == "aggregate":
                compiler = self._aggregates(connection)
                total = compiler.aggregate(each)
                shapes[each.key] = TotalShape(self._parts(connection, compiler, f"{chosen.key} {each.key}"), total)
            elif each.field == "groupBy":
                shapes[each.key] = self._groups(connection, each, f"{chosen.key} {each.key}")
        rows = self._rows(connection, chosen)
        if rows is not None:
            shapes |= rows
        return ObjectShape(
            {
                each.key: shapes[each.key] if each.key in shapes else Constant(chosen.type_name)
                for each in chosen.of(chosen.type_name)
            }
        )

    def _rows(self, connection: SelectedConnection, chosen: Selected) -> dict[str, Shape] | None:
        """The fields that show rows; None where none is selected."""
        of = self._of
        if not any(each.field in ("edges", "nodes", "pageInfo") for each in chosen.of(chosen.type_name)):
            return None
        times = connection.times * connection.page.limit
        of.spend(times)
        inner = PatternText()

        def node(selected: Selected) -> Shape:
            return of.entities(connection.target, selected, inner, times, connection.path)

        rows = PageRows("", connection.page, connection.asked, of.cursors)
        shapes = self._pages(chosen, rows, node)
        order, terms = of.order(connection.target, connection.entity, chosen.arguments)
        clauses = Clauses()
        clauses.extend((connection.base, order))
        ordered = _ordered(connection.page, terms, reversed_terms(terms, required=(connection.entity,)))
        query = QueryText(f"[(pull {connection.entity} {inner.text}) ...]", clauses, tuple(inner.uses), ordered)
        key = connection.place(chosen.key, query)
        found = PageRows(key, connection.page, connection.asked, of.cursors)
        return {name: _with_rows(shape, found) for name, shape in shapes.items()}

    def _pages(self, chosen: Selected, rows: PageRows, node: Callable[[Selected], Shape]) -> dict[str, Shape]:
        shapes: dict[str, Shape] = {}
        for each in chosen.of(chosen.type_name):
            inside = each.of(each.type_name)
            if each.field == "nodes":
                shapes[each.key] = NodesShape(rows, node(each))
            elif each.field == "edges":
                edge: dict[str, Shape | None] = {}
                for one in inside:
                    edge[one.key] = (
                        node(one)
                        if one.field == _NODE
                        else None
                        if one.field == "cursor"
                        else Constant(each.type_name)
                    )
                shapes[each.key] = EdgesShape(rows, edge)
            elif each.field == "pageInfo":
                shapes[each.key] = PageInfoShape(rows, {one.key: one.field for one in inside})
            elif each.field == "__typename":
                shapes[each.key] = Constant(chosen.type_name)
        return shapes

    def _aggregates(self, connection: SelectedConnection, keys: Sequence[FieldModel] = ()) -> AggregateCompiler:
        assert connection.target is not None, "what has aggregates has a type"
        kind = self._of.model.types[connection.target]
        return AggregateCompiler(self._of.model, self._of.parameters, kind, connection.entity, keys)

    def _groups(self, connection: SelectedConnection, chosen: Selected, name: str) -> Shape:
        kind = self._of.model.types[connection.target or ""]
        by = chosen.arguments["by"]
        if not by:
            raise invalid_argument(f"{chosen.key}.by is empty; name the fields by which entities are grouped")
        compiler = self._aggregates(connection, [field_of(kind, each) for each in dict.fromkeys(by)])
        fields: dict[str, AggregateShape | Constant | None] = {}
        for each in chosen.of(chosen.type_name):
            fields[each.key] = None if each.field == "key" else Constant(chosen.type_name)
            if each.field == "aggregate":
                fields[each.key] = compiler.aggregate(each)
        return GroupsShape(self._parts(connection, compiler, name), compiler.names, fields)

    def _parts(self, connection: SelectedConnection, compiler: AggregateCompiler, name: str) -> list[str]:
        keys = []
        for part in compiler.parts:
            clauses = Clauses()
            clauses.extend((connection.base, part.clauses))
            groups = " ".join(str(number + 1) for number in range(len(compiler.keys)))
            tail = f":order-by [{groups}] :limit {self._of.most}" if groups else ""
            keys.append(connection.place(name, QueryText(compiler.find(part), clauses, (), tail)))
        return keys


def field_of(kind: TypeModel | None, name: Any) -> FieldModel:
    """The field that a member of a type's enum of fields means."""
    assert kind is not None, "an entity without a type has no such enum"
    return kind.fields[name]


def _within(into: PatternText, owner: str) -> Place:
    def place(wanted: str, query: QueryText) -> str:
        return into.key(wanted, query.within(owner), query.inputs)

    return place


def _with_rows(shape: Shape, rows: PageRows) -> Shape:
    match shape:
        case NodesShape():
            return NodesShape(rows, shape.shape)
        case EdgesShape():
            return EdgesShape(rows, shape.fields)
        case PageInfoShape():
            return PageInfoShape(rows, shape.fields)
    return shape


def _ordered(page: PageSlice, terms: Sequence[str], backward: Sequence[str]) -> str:
    offset = f" :offset {page.offset}" if page.offset else ""
    return f":order-by [{' '.join(backward if page.reversed else terms)}] :limit {page.limit}{offset}"


def _canonical(value: Any) -> str:
    """The same text for equal arguments, in whatever order their fields are written."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return value.name if isinstance(value, Keyword) else repr(value)
