"""Questions of texts that are known, whose arguments mean what they are: made without looking at the text again.

Taken where a text reads `$` alone and its inputs are single variables that stand for values of attributes, or are
numbers of rows. An argument of another type than these have, which is converted or warned of, is settled as in
`question`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.datalog import ast
from adalog.datalog.values import Keyword, NotAValueError, type_name
from adalog.executor.question.arguments import GivenArgument
from adalog.planner.model.places import VariablePlace
from adalog.planner.scope.interpretation import Interpretation
from adalog.planner.scope.outline import Outline
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import Attribute
from adalog.store.values.schema import Schema

# Types whose values Python has as they are. Others, such as instants, are settled where they come from Python.
_AS_THEY_ARE: Final = frozenset(("string", "long", "boolean", "keyword", "uuid"))


@dataclass(frozen=True, slots=True)
class PlainText:
    """What a text says for snapshots of one schema. `source`: the name of `$`. `types`: those of the arguments."""

    schema: Schema
    outline: Outline
    source: str
    types: tuple[str, ...]

    @staticmethod
    def of(outline: Outline, snapshot: Snapshot) -> PlainText | None:
        """None where the arguments have to be settled."""
        query = outline.query
        source, *inputs = query.inputs
        if not isinstance(source, ast.SourceInput) or query.args or outline.relations:
            return None
        types, names = [], set()
        numbers = {each.name for each in (query.limit, query.offset) if isinstance(each, ast.Var)}
        for each in inputs:
            binding = each.binding if isinstance(each, ast.BindingInput) else None
            target = binding.target if isinstance(binding, ast.ScalarBinding) else None
            if not isinstance(target, ast.Var) or target.name in names:
                return None
            names.add(target.name)
            places = outline.places.variables.get(target.name, ())
            is_number = target.name in numbers and not places
            held = "long" if is_number else _type_held(places, source.name, snapshot)
            if held is None:
                return None
            types.append(held)
        return PlainText(snapshot.schema, outline, source.name, tuple(types))

    def values(self, args: Sequence[Any]) -> tuple[Any, ...] | None:
        """The values of arguments; None where they have to be settled."""
        if len(args) != len(self.types):
            return None
        values = []
        for given, wanted in zip(args, self.types, strict=True):
            if type(given) is GivenArgument:
                value = given.value
            elif wanted in _AS_THEY_ARE:
                value = given
            else:
                return None
            try:
                if type_name(value) != wanted:
                    return None
            except NotAValueError:
                return None
            values.append(value)
        return tuple(values)


def _type_held(places: Sequence[VariablePlace], source: str, snapshot: Snapshot) -> str | None:
    """The one type of the attributes in some places of a database, which are all that stands there."""
    if any(each.listed or each.source != source or not isinstance(each.attribute, Keyword) for each in places):
        return None
    reading = Interpretation.of(places, {source: snapshot}, json=False)
    types = set()
    for held, _ in () if reading is None else reading.held:
        types.add(held.kind.value_type if isinstance(held, Attribute) else None)
    return types.pop() if len(types) == 1 and types.isdisjoint((None, "tuple", "ref")) else None
