"""Transactions given as JSON, and EDN text with named values: the schema that they meet decides their forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, invalid_argument, shown
from adalog.datalog.hints import nearest
from adalog.datalog.values import EdnMap, EdnSet
from adalog.store.state.settings import Evaluation
from adalog.store.state.state import DatabaseState
from adalog.store.transact.given.reading import GivenValue, read_forms, replaced, variables
from adalog.store.transact.resolve import Transaction, digest_of

# Of a value that is no text, as EDN.
_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class GivenForms:
    """Forms that came as JSON or from Python, as EDN values."""

    forms: tuple[Any, ...]

    def transaction(self, state: DatabaseState, evaluation: Evaluation) -> Transaction:
        forms = read_forms(map(GivenValue, self.forms), state.schema)
        return Transaction(forms, places=[f"tx[{number}]" for number in range(len(forms))])

    def digest(self) -> str:
        return digest_of(("json", self.forms))

    def __len__(self) -> int:
        return size_of(self.forms)


@dataclass(frozen=True, slots=True)
class GivenText:
    """EDN text, and the values of some of its variables. `forms`: with these in their places."""

    text: str
    forms: tuple[Any, ...]
    values: Mapping[str, Any]

    @staticmethod
    def of(text: str, values: Mapping[str, Any], limits: edn.Limits) -> GivenText:
        """values: by the variables' names, with or without question marks. Raises what is wrong with the text, and
        ARG_INVALID for a name that nothing in it uses."""
        forms = Transaction.of(text, limits).forms
        by = {f"?{name.removeprefix('?')}": value for name, value in values.items()}
        if len(by) < len(values):
            raise invalid_argument("args has a name twice, with and without its question mark")
        used = {name for form in forms for name in variables(form)}
        for name in by:
            if name not in used:
                raise invalid_argument(f"args has {shown(name[1:])}, {_unused(name, used)}")
        return GivenText(text, tuple(replaced(form, by) for form in forms), by)

    def transaction(self, state: DatabaseState, evaluation: Evaluation) -> Transaction:
        return Transaction(read_forms(self.forms, state.schema), self.text)

    def digest(self) -> str:
        return digest_of(("args", self.text, EdnMap(self.values)))

    def __len__(self) -> int:
        return len(self.text) + size_of(tuple(self.values.values()))


def given_forms(forms: Sequence[Any]) -> GivenForms:
    """Raises TX_INVALID for what is no list of forms."""
    if type(forms) is not tuple:
        raise AdalogError(Code.TX_INVALID, "a transaction is a list of maps and lists")
    return GivenForms(forms)


def size_of(value: Any) -> int:
    """About how many characters a value is as EDN text."""
    size, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, str | bytes):
            size += len(each)
        elif isinstance(each, EdnMap):
            left.extend(part for entry in each.items() for part in entry)
        elif isinstance(each, tuple | EdnSet):
            left.extend(each)
        size += _CHARACTERS
    return size


def _unused(name: str, used: set[str]) -> str:
    if not used:
        return f"and nothing in the transaction is a variable; write {name} where the value belongs"
    known = sorted(used)
    return f"which nothing in the transaction uses{nearest(name, known)}; its variables are {' '.join(known)}"
