"""Arguments as they are given, and as the places in which their variables stand want them.

`1` for an attribute of doubles is 1.0, as it is for a literal; text that came as JSON is a keyword or an instant
where one is asked for. The schema decides, never data, so that the same argument means the same until the schema
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adalog.datalog import ast
from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.datalog.edn.writer import shown, write
from adalog.datalog.errors import AdalogError, Position, invalid_argument
from adalog.datalog.parsing.inputs import GIVEN
from adalog.datalog.parsing.nested import input_name
from adalog.datalog.values import EdnList, EdnSet, Keyword, NotAValueError, identity, stable_text
from adalog.datalog.watched import WatchedList
from adalog.planner.model.places import AttributeVariable, PlaceKind, VariablePlace
from adalog.planner.scope.interpretation import Interpretation, PlaceContent, ValueFault, expected, holding
from adalog.planner.scope.outline import Outline
from adalog.planner.scope.pending_warnings import PendingWarning
from adalog.store.snapshot.ident_names import ident_names
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.scalars import keyword, lookup_ref_meant

# Characters of a message about what is no value.
_SHOWN: Final = 100


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()
"""Stands for the value of a variable of `:in` in a question that is planned for all feeds of a view."""


@dataclass(frozen=True, slots=True)
class BasisArgument:
    """An argument that names a database value: where a source is asked for it is that, elsewhere it is `value`.
    `open` is given the snapshot that `$` is. `value` None: it can be nothing but a source. `key`: what tells it
    from others."""

    key: str
    open: Callable[[Snapshot], Snapshot]
    value: GivenArgument | None = None
    # The transaction that has to be reached before, if it is named by its number.
    t: int | None = None
    # As `open`, but what has yet to come is never ahead of `$`.
    beside: Callable[[Snapshot], Snapshot] | None = None
    # What is suspicious about it where it is a source.
    suspicions: Callable[[], Iterable[Diagnostic]] = tuple

    def followed(self) -> BasisArgument:
        """The same for a live query: an instant in the future is reached with `$`, not before it."""
        return self if self.beside is None else replace(self, open=self.beside)


@dataclass(frozen=True, slots=True)
class GivenArgument:
    """An argument and what it came as: JSON, or the EDN `text` that places in messages about rules refer to."""

    value: Any
    text: str | None = None
    json: bool = False

    @property
    def key(self) -> str:
        """What tells it from others, in every process."""
        return f"{'json' if self.json else 'edn'} {stable_text(identity(self.value))}"


def matched(query: ast.Query, args: Sequence[Any]) -> list[tuple[ast.Input, Any]]:
    """Each input with its argument; the default source, first, stands for the request's snapshot (None). `args`:
    with those of the query's text at their end."""
    inputs = query.inputs
    if len(args) != len(inputs) - 1:
        wanted, args = inputs[1 : len(inputs) - len(query.args)], args[: len(args) - len(query.args)]
        names = " ".join(input_name(each) for each in wanted) or "nothing"
        were = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        if not wanted:
            raise invalid_argument(f"the query has no :in after $, but {were}; add :in to the query")
        message = f"the query takes {len(wanted)} after $ ({names}), but {were}"
        raise invalid_argument(message, wanted[0].position)
    return list(zip(inputs, (None, *args), strict=True))


def gives_default(query: ast.Query, args: Sequence[Any]) -> bool:
    """Whether the arguments of a query that was parsed with one for `$` have a list of tuples there."""
    names = [each.name if isinstance(each, ast.SourceInput) else "" for each in query.inputs[1:]]
    value = args[names.index(GIVEN)]
    value = value.value if isinstance(value, GivenArgument | BasisArgument) else value
    items = _items(value)
    return items is not None and all(_items(each) is not None for each in items)


Matched = Sequence[tuple[ast.Input, Any]]


def rules_text(pairs: Matched) -> str | None:
    """The rule set given for `%`, as EDN text. Raises ARG_INVALID where a basis was given in its place."""
    for each, value in pairs:
        if not isinstance(each, ast.RulesInput):
            continue
        if isinstance(value, BasisArgument):
            value = value.value
        if value is None or isinstance(value, Snapshot):
            raise invalid_argument("% takes rules, but was given a basis", each.position)
        text = None
        if isinstance(value, GivenArgument):
            text, value = value.text, value.value
        # A string is the text of the rules.
        return value if isinstance(value, str) else text if text is not None else write(value)
    return None


def relations_of(pairs: Matched) -> frozenset[str]:
    return frozenset(
        each.name
        for each, value in pairs[1:]
        if isinstance(each, ast.SourceInput) and not isinstance(value, Snapshot | BasisArgument)
    )


@dataclass(frozen=True, slots=True)
class SettledArguments:
    """`args`: values of the language, snapshots for sources, None for rules. `databases`: by their names."""

    args: tuple[Any, ...]
    databases: Mapping[str, Snapshot]
    suspected: tuple[PendingWarning, ...]


def settled(
    outline: Outline, pairs: Matched, snapshot: Snapshot, check: Callable[[], None] = lambda: None
) -> SettledArguments:
    """The arguments as the places in which their variables stand want them. `outline` is that of the query with the
    rules given for `%`. `check` is called now and then, and may raise. Raises ARG_INVALID for a basis where a value
    is wanted, and for what is no value."""
    opened = [(each, _opened(each, value, snapshot)) for each, value in pairs[1:]]
    databases = {pairs[0][0].name: snapshot} if isinstance(pairs[0][0], ast.SourceInput) else {}
    sources = [(each.name, value) for each, value in opened if isinstance(each, ast.SourceInput)]
    databases |= {name: value for name, value in sources if isinstance(value, Snapshot)}
    settling = _Settling(outline, databases, _chosen(outline, opened), check)
    for each, value in pairs[1:]:
        if isinstance(value, BasisArgument) and isinstance(each, ast.SourceInput):
            found = value.suspicions()
            settling.suspected += (PendingWarning(one.code, one.message, each.position) for one in found)
    made = []
    for place, (each, value) in enumerate(opened, 1):
        try:
            made.append(settling.argument(place, each, value))
        except NotAValueError as wrong:
            raise refusal(each, wrong) from None
    return SettledArguments(tuple(made), databases, tuple(settling.suspected))


def refusal(each: ast.Input, wrong: NotAValueError) -> AdalogError:
    """What an input is given and no value is becomes ARG_INVALID."""
    text = str(wrong)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return invalid_argument(f"{input_name(each)} takes a value: {shown}", each.position)


def _opened(each: ast.Input, value: Any, snapshot: Snapshot) -> Any:
    """A moment as the snapshot or the value that its input wants."""
    if isinstance(value, GivenArgument):
        return value
    if isinstance(each, ast.SourceInput):
        return value.open(snapshot) if isinstance(value, BasisArgument) else value
    if isinstance(value, Snapshot) or (isinstance(value, BasisArgument) and value.value is None):
        message = f"{input_name(each)} takes a value, but was given a basis, which is for a source such as $old"
        raise invalid_argument(message, each.position)
    return value.value if isinstance(value, BasisArgument) else value


@dataclass
class _Settling:
    outline: Outline
    databases: Mapping[str, Snapshot]
    chosen: Mapping[str, Keyword]
    check: Callable[[], None]
    suspected: list[PendingWarning] = field(default_factory=list)

    def argument(self, place: int, each: ast.Input, given: Any) -> Any:
        if given is UNBOUND:
            return given
        json = isinstance(given, GivenArgument) and given.json
        value = given.value if isinstance(given, GivenArgument) else given
        if isinstance(each, ast.BindingInput):
            return self._bound(place, each.binding, value, json)
        if isinstance(each, ast.RulesInput):
            return None
        if json and not isinstance(value, Snapshot):
            # As EDN a relation is data, whose types are what they are.
            return self._rows(value, each.name, json, (each,))
        return value

    def _bound(self, place: int, binding: ast.Binding, value: Any, json: bool) -> Any:
        match binding:
            case ast.ScalarBinding(target=target):
                return self._read(value, self._of(target), json, target)
            case ast.TupleBinding(targets=targets):
                items = _items(value)
                if items is None or len(items) < len(targets):
                    return value
                pairs = zip(items, targets, strict=False)
                read = [self._read(item, self._of(target), json, target) for item, target in pairs]
                return (*read, *items[len(targets) :])
            case ast.CollectionBinding(target=target):
                places = self._known(self.outline.places.columns.get((f"in {place}", 0), ()))
                return self._column(value, places, json, target)
            case ast.RelationBinding(targets=targets):
                return self._rows(value, f"in {place}", json, targets)

    def _of(self, target: ast.Var | ast.Blank) -> Sequence[VariablePlace]:
        if isinstance(target, ast.Blank):
            return ()
        return self._known(self.outline.places.variables.get(target.name, ()))

    def _known(self, places: Sequence[VariablePlace]) -> Sequence[VariablePlace]:
        """The places, with the attributes that arguments choose."""
        if not self.chosen:
            return places
        return [
            replace(place, attribute=self.chosen.get(place.attribute.variable, place.attribute))
            if isinstance(place.attribute, AttributeVariable)
            else place
            for place in places
        ]

    def _read(self, value: Any, places: Sequence[VariablePlace], json: bool, named: _Named) -> Any:
        if any(place.listed for place in places):
            return self._column(value, places, json, named)
        reading = Interpretation.of(places, self.databases, json=json) if places else None
        if reading is None:
            return value
        if type(value) is list and not json:
            value = tuple(value)
        meant, fault = reading(value)
        if fault is not None:
            self._found(reading, [fault], named)
        return _entity(reading, meant) if self.chosen else meant

    def _column(self, value: Any, places: Sequence[VariablePlace], json: bool, named: _Named) -> Any:
        items = _items(value)
        reading = None if items is None else Interpretation.of(places, self.databases, json=json)
        if items is None or reading is None:
            return value
        if reading.keeps_all(items):
            return tuple(items)
        read = [reading(item) for item in WatchedList(items, self.check)]
        self._found(reading, [fault for _, fault in read if fault is not None], named)
        return tuple(_entity(reading, meant) if self.chosen else meant for meant, _ in read)

    def _rows(self, value: Any, relation: str, json: bool, named: Sequence[_Named]) -> Any:
        """`named`: what messages call the columns, the last one standing for all further ones."""
        pairs = getattr(value, "items", None)
        rows = _items(list(pairs()) if pairs is not None else value)
        if not rows:
            return value
        listed = self.outline.places.columns.items()
        columns = {number: self._known(places) for (name, number), places in listed if name == relation}
        chosen = _chosen_by_rows(columns, named)
        readings: dict[int, Interpretation] = {}
        for number, places in columns.items():
            reading = None if number in chosen else Interpretation.of(places, self.databases, json=json)
            if reading is not None:
                readings[number] = reading
        if not readings:
            return value
        faults: dict[tuple[int, Keyword | None], tuple[Interpretation, list[ValueFault]]] = {}
        ways: dict[tuple[int, Keyword], Interpretation | None] = {}

        def read_row(row: Any) -> Any:
            items = _items(row)
            if items is None:
                return row
            read = list(items)
            for number, reading in readings.items():
                if number < len(read):
                    read[number], fault = reading(read[number])
                    if fault is not None:
                        faults.setdefault((number, None), (reading, []))[1].append(fault)
            for number, by in chosen.items():
                attribute = read[by] if max(number, by) < len(read) else None
                if not isinstance(attribute, Keyword):
                    continue
                if (number, attribute) not in ways:
                    places = _with_attribute(columns[number], attribute)
                    ways[number, attribute] = Interpretation.of(places, self.databases, json=json)
                way = ways[number, attribute]
                if way is not None:
                    meant, fault = way(read[number])
                    read[number] = _entity(way, meant)
                    if fault is not None:
                        faults.setdefault((number, attribute), (way, []))[1].append(fault)
            return tuple(read)

        made = [read_row(row) for row in WatchedList(rows, self.check)]
        for (number, _), (reading, found) in faults.items():
            self._found(reading, found, named[min(number, len(named) - 1)])
        return tuple(made)

    def _found(self, reading: Interpretation, faults: Sequence[ValueFault], named: _Named) -> None:
        if not faults:
            return
        first = faults[0]
        more = f" (and {len(faults) - 1:,} more like it)" if len(faults) > 1 else ""
        name = "_" if isinstance(named, ast.Blank) else named.name
        given = f"{name} was given {shown(first.value)}{more}"
        position: Position | None = named.position
        kinds = [held for held, _ in reading.held]
        if first.unknown is not None:
            unknown, code, after = first.unknown, Suspicion.UNKNOWN_ATTRIBUTE, ", so nothing has it"
            if unknown.ident:
                code, what, after = Suspicion.UNKNOWN_IDENT, "an ident that no entity has", ""
            elif unknown.name is first.value:
                what = "which is no attribute that is declared"
            else:
                what = f"but no attribute {unknown.name} is declared"
            self.suspected.append(PendingWarning(code, f"{given}, {what}", position, unknown, after))
            return
        if first.ambiguous:
            what = " and ".join(dict.fromkeys(map(holding, kinds)))
            message = f"{given}, which means different things: {what}; it is read as what comes first"
            self.suspected.append(PendingWarning(Suspicion.AMBIGUOUS_ARGUMENT, message, position))
            return
        wanted = _wanted(kinds, reading.json)
        local = _by_local_name(reading, first.value)
        if reading.json and type(first.value) is str and reading(f":{first.value}")[1] is None:
            wanted += f'; did you mean ":{first.value}"?'
        probably = lookup_ref_meant(first.value) if PlaceKind.ENTITY in kinds else None
        if probably is not None:
            ref, value = probably
            shown_ref = f'["{ref}", {shown(value)}]' if reading.json else shown(probably)
            wanted += f"; did you mean {shown_ref}?"
        elif local is not None:
            wanted += f'; did you mean "{local}"?'
        elif isinstance(named, ast.Var) and type(first.value) is tuple:
            wanted += f"; the values of a list are bound by [{name} ...]"
        if reading.compared:
            message = f"{given} and is compared with what is of another type: {wanted}"
        else:
            message = f"{given}, which nothing there can equal: {wanted}"
        self.suspected.append(PendingWarning(Suspicion.IMPOSSIBLE_VALUE, message, position))


def _by_local_name(reading: Interpretation, value: Any) -> Keyword | None:
    """The ident or attribute that ends in a text from JSON: `:issue/open` for `"open"`."""
    if not reading.json or type(value) is not str:
        return None
    for kind, database in reading.held:
        if kind is PlaceKind.ENTITY:
            found = ident_names(database).by_local.get(value)
        else:
            found = database.schema.names.by_local.get(value) if kind is PlaceKind.ATTRIBUTE else None
        if found is not None:
            return found
    return None


def _chosen(outline: Outline, opened: Matched) -> dict[str, Keyword]:
    """The attributes that arguments name, by the variables that have one value."""
    chosen: dict[str, Keyword] = {}
    for each, given in opened:
        json = isinstance(given, GivenArgument) and given.json
        value = given.value if isinstance(given, GivenArgument) else given
        match each.binding if isinstance(each, ast.BindingInput) else None:
            case ast.ScalarBinding(target=target):
                pairs: list[tuple[ast.Var | ast.Blank, Any]] = [(target, value)]
            case ast.TupleBinding(targets=targets):
                pairs = list(zip(targets, _items(value) or (), strict=False))
            case _:
                continue
        for target, item in pairs:
            places = outline.places.variables.get(target.name, ()) if isinstance(target, ast.Var) else ()
            if isinstance(target, ast.Var) and any(place.kind is PlaceKind.ATTRIBUTE for place in places):
                name = keyword(item) if json and type(item) is str else item
                if isinstance(name, Keyword):
                    chosen[target.name] = name
    return chosen


def _chosen_by_rows(columns: Mapping[int, Sequence[VariablePlace]], named: Sequence[_Named]) -> dict[int, int]:
    """The columns that hold values of an attribute which another column of the same row names, with that column."""
    numbers = {target.name: number for number, target in enumerate(named) if isinstance(target, ast.Var)}
    return {
        number: numbers[place.attribute.variable]
        for number, places in columns.items()
        for place in places
        if isinstance(place.attribute, AttributeVariable)
        and numbers.get(place.attribute.variable, number) != number
    }


def _with_attribute(places: Sequence[VariablePlace], attribute: Keyword) -> list[VariablePlace]:
    return [
        replace(each, attribute=attribute) if isinstance(each.attribute, AttributeVariable) else each
        for each in places
    ]


def _entity(reading: Interpretation, meant: Any) -> Any:
    """What stands where a chosen attribute has entities: the plan is made for any attribute, and does not know."""
    held, database = reading.held[0]
    if held is not PlaceKind.ENTITY or reading.compared or not isinstance(meant, Keyword | tuple):
        return meant
    entity = database.entid(meant)
    return meant if entity is None else entity


_Named = ast.Var | ast.Blank | ast.SourceInput


def _wanted(kinds: Sequence[PlaceContent], json: bool) -> str:
    return "; ".join(dict.fromkeys(f"{holding(held)}, {expected(held, json=json)}" for held in kinds))


def _items(value: Any) -> Sequence[Any] | None:
    """The items of a value that may stand for a list; None for any other, which is refused when it is bound."""
    if isinstance(value, tuple | list | EdnList):
        return value
    return tuple(value) if isinstance(value, EdnSet | set | frozenset) else None
