"""A typed mutation as one transaction: its forms are made for the state that it is applied to, so nothing is lost
between what it reads and what it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.schema.typed.model import Model, TypeModel
from adalog.schema.typed.mutating.input_forms import Entity, InputForms
from adalog.schema.typed.reading.filters import FilterCompiler, Parameters, anchored
from adalog.schema.typed.roots import RootKind
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact.resolve import Transaction, digest_of

# About the characters of a form around its value.
_FORM: Final = 30
_ENTITY: Final = "?e"
_DENYING: Final = frozenset(("not", "none", "every"))


@dataclass(frozen=True, eq=False)
class TypedMutation:
    """One root field with its arguments. entities: by the transaction, those that it was about: the ids of entities
    that were there, or tempids."""

    model: Model
    kind: TypeModel
    root: RootKind
    arguments: Mapping[str, Any]
    entities: dict[int, tuple[Entity, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.is_bulk:
            _check_filter(self.arguments["where"], "where")

    @property
    def is_bulk(self) -> bool:
        """Whether a filter selects the entities."""
        return self.root in ("update_many", "delete_many")

    def __len__(self) -> int:
        return _size(self._input)

    @property
    def _input(self) -> dict[str, Any]:
        about = ("idempotencyKey", "expectedBasisT")
        return {name: value for name, value in self.arguments.items() if name not in about}

    def digest(self) -> str:
        """The same whether attributes have one value or many: a repeated request is known after such a change."""
        given = self._input
        for name in given.keys() & {"input", "set"}:
            given[name] = _with_lists(self.model, self.kind, given[name])
        return digest_of([self.root, self.kind.name, given])

    def transaction(self, state: DatabaseState, evaluation: Evaluation) -> Transaction:
        forms = InputForms(self.model, state)
        self.entities[state.t + 1] = tuple(self._filled(forms, state, evaluation))
        return forms.transaction()

    def _filled(self, forms: InputForms, state: DatabaseState, evaluation: Evaluation) -> Iterator[Entity]:
        given, kind = self.arguments, self.kind
        if self.root in ("create", "upsert"):
            upserts = self.root == "upsert"
            known = forms.known(kind, given["input"], "input") if upserts else None
            forms.announce(kind, given["input"], "input", created=known is None)
            if known is None:
                yield forms.create(kind, given["input"], "input", upserts=upserts)
            else:
                forms.change(kind, known, given["input"], "input")
                yield known
            return
        many = self.is_bulk
        found = self._selected(state, evaluation) if many else [forms.named(kind, given["by"], "by")]
        deletes = self.root in ("delete", "delete_many")
        marks = {entity: f" of {entity}" if many else "" for entity in found}
        for entity in () if deletes else found:
            forms.announce(kind, given["set"], "set", marks[entity], created=False)
        for entity in found:
            if deletes:
                forms.delete(entity, "where" if many else "by")
            else:
                forms.change(kind, entity, given["set"], "set", marks[entity])
            yield entity

    @cached_property
    def _query(self) -> tuple[str, Sequence[Any]]:
        parameters = Parameters()
        clauses = FilterCompiler(self.model, parameters).where(self.kind, _ENTITY, self.arguments["where"])
        inputs = " ".join(("$", *parameters.names))
        text = f"[:find {_ENTITY} :in {inputs} :where {anchored(self.kind, _ENTITY)} {clauses.text}]"
        return text, parameters.values

    def _selected(self, state: DatabaseState, evaluation: Evaluation) -> list[int]:
        """The entities that the filter selects, which are as many as expected."""
        text, parameters = self._query
        found = [row[0] for row in evaluation.rows(text, parameters, state.snapshot())]
        expected = self.arguments["expected"]
        if len(found) != expected:
            raise AdalogError(
                Code.TX_INVALID,
                f"where selects {len(found):,} {self.kind.plural}, not {expected:,} as expected, and nothing was "
                "applied; read them, then give their number",
            )
        return found


def _with_lists(model: Model, kind: TypeModel, given: Mapping[str, Any]) -> dict[str, Any]:
    """An input as it would be if all attributes had many values."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        field = kind.fields[name]
        if value is None or not field.refers:
            found[name] = value if value is None or field.many else [value]
            continue
        ways = {way: each if isinstance(each, list | tuple) else [each] for way, each in value.items()}
        target = model.types.get(field.target or "")
        if target is not None and value.get("create") is not None:
            ways["create"] = [_with_lists(model, target, each) for each in ways["create"]]
        found[name] = ways
    return found


def _check_filter(given: Any, place: str, *, denied: bool = False) -> None:
    """Refuses what a bulk change could reach every entity by: a filter, or a part of one, without conditions.
    denied: within a condition that holds for what the filter does not select."""
    if isinstance(given, Mapping):
        if not given.keys() - {"ignoreCase"}:
            raise _empty(place)
        for name, value in given.items():
            _check_filter(value, f"{place}.{name}", denied=denied or name in _DENYING)
    elif isinstance(given, list | tuple):
        # No value is in an empty list: of the entities that a client has collected there may be none.
        if not given and (denied or not place.endswith(".in")):
            raise _empty(place)
        for number, value in enumerate(given):
            _check_filter(value, f"{place}[{number}]", denied=denied)


def _empty(place: str) -> AdalogError:
    return invalid_argument(
        f"{place} is empty, and a bulk change takes no empty filter: give a condition. A variable that is not "
        "given leaves its condition out; a condition that all entities satisfy is, say, `id: {isNull: false}`"
    )


def _size(given: Any) -> int:
    """About how many characters an input is."""
    if isinstance(given, Mapping):
        return sum(_FORM + _size(each) for each in given.values())
    if isinstance(given, list | tuple):
        return sum(_FORM + _size(each) for each in given)
    return len(given) if isinstance(given, str | bytes) else 1
