"""Transaction data as the store wants it: EDN text with values for its variables, and forms in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adalog.datalog.errors import AdalogError, Code, invalid_argument, quoted
from adalog.schema.writing.encoding import NestingError, TagError, decode
from adalog.store.transact.given.transactions import GivenForms

if TYPE_CHECKING:
    from adalog.store.database import Database
    from adalog.store.transact.resolve import TransactionData


def transaction_data(database: Database, tx: str, args: Any, place: str = "args") -> TransactionData:
    """The text with the values of `args`, an object by the variables' names; None: the text alone. `place`: the
    argument's name, for messages. Raises what is wrong with the text, and ARG_INVALID."""
    if args is None:
        return tx
    if not isinstance(args, Mapping):
        raise invalid_argument(
            f'{place} is an object of values, e.g. {{"title": "x"}} for ?title, not {quoted(args)}'
        )
    return database.with_values(tx, {name: _decoded(value, f"{place}.{name}") for name, value in args.items()})


def json_forms(tx: Sequence[Any]) -> GivenForms:
    """Raises ARG_INVALID for what is no value."""
    return GivenForms(tuple(_decoded(form, f"tx[{number}]") for number, form in enumerate(tx)))


def _decoded(value: Any, place: str) -> Any:
    try:
        return decode(value)
    except TagError as error:
        code = Code.LIMIT_EXCEEDED if isinstance(error, NestingError) else Code.ARG_INVALID
        raise AdalogError(code, f"{place}: {error}") from None
