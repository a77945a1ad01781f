"""Values of the language as Python's own, and back.

Most are Python's own already: `int`, `float`, `bool`, `str`, `bytes`, `Decimal`, aware `datetime`, `UUID`. A
bigint, a 32-bit float, a char and a URI are subclasses of `int`, `float` and `str`, so that they come back as what
they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from adalog.datalog import values
from adalog.datalog.errors import invalid_argument, quoted
from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, EdnList, EdnMap, EdnSet


class Keyword(str):
    """A keyword, which is a `str` with its colon.

    >>> Keyword("person/name"), Keyword(":person/name") == ":person/name"
    (Keyword(':person/name'), True)
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Keyword:
        return super().__new__(cls, name if name.startswith(":") else f":{name}")

    def __repr__(self) -> str:
        return f"Keyword({str.__repr__(self)})"

    @property
    def namespace(self) -> str | None:
        """What stands before the slash.

        >>> Keyword(":person/name").namespace
        'person'
        """
        namespace, slash, _ = self[1:].partition("/")
        return namespace if slash else None

    @property
    def name(self) -> str:
        """What stands after the slash."""
        return self[1:].rpartition("/")[2]


class Symbol(str):
    """A symbol, such as `?x` or `inc`, which is a `str`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


def to_edn(value: Any) -> Any:
    """A value of Python as the engine has it. Lists and tuples are vectors. Raises ARG_INVALID for what is none,
    such as a naive `datetime`, which has no zone."""
    convert = _TO_EDN.get(type(value))
    if convert is not None:
        return convert(value)
    if value is None or type(value) in _UNCHANGED:
        return value
    for kind, convert in _TO_EDN.items():
        if isinstance(value, kind):
            return convert(value)
    for own in _OWN:
        if isinstance(value, own):
            # A subclass of Python's own, such as an enum's member.
            return own(value)
    item = getattr(value, "item", None)
    if item is not None and not isinstance(value, Sequence) and getattr(value, "shape", None) == ():
        # A number of NumPy.
        return to_edn(item())
    raise invalid_argument(f"{quoted(value)} is a {type(value).__name__}, and no value that adalog has")


def from_edn(value: Any) -> Any:
    """A value of the engine as Python's own: vectors are tuples, maps dicts, sets frozensets.

    A set or map whose members Python takes for equal, such as 1 and 1.0, or cannot hash, stays the engine's."""
    convert = _FROM_EDN.get(type(value))
    return value if convert is None else convert(value)


def from_pulled(value: Any) -> Any:
    """What a pull shows, with lists for vectors: values of an attribute with many."""
    if type(value) is EdnMap:
        return {from_edn(key): from_pulled(item) for key, item in value.items()}
    return list(map(from_pulled, value)) if type(value) is tuple else from_edn(value)


def column_of(column: Sequence[Any], kind: str) -> Sequence[Any]:
    """A whole column of the engine's values. kind: the type of all of them, or any."""
    if kind in _PLAIN_KINDS:
        return column
    if kind == "map":
        return list(map(from_pulled, column))
    if kind in ("keyword", "symbol"):
        known: dict[Any, Any] = {}
        return [known[each] if each in known else known.setdefault(each, from_edn(each)) for each in column]
    return list(map(from_edn, column))


_PLAIN_KINDS: Final = frozenset(
    {"long", "ref", "double", "boolean", "string", "instant", "uuid", "bytes", "bigdec", "bigint", "float", "uri"}
)
_OWN: Final[tuple[type[Any], ...]] = (int, float, bytes)
_UNCHANGED: Final = frozenset(values._TYPE_NAMES) - {datetime, tuple, str, int}


def _moment(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise invalid_argument(
            f"{value.isoformat()} has no zone; give an aware datetime, such as one with tzinfo=UTC"
        )
    return values.instant(value)


def _map(value: Mapping[Any, Any]) -> EdnMap:
    return EdnMap((to_edn(key), to_edn(item)) for key, item in value.items())


_TO_EDN: Final[dict[type, Callable[[Any], Any]]] = {
    str: str,
    int: lambda value: value if LONG_MIN <= value <= LONG_MAX else BigInt(value),
    Keyword: lambda value: values.Keyword(value[1:]),
    Symbol: lambda value: values.Symbol(str(value)),
    values.Keyword: lambda value: value,
    values.Symbol: lambda value: value,
    datetime: _moment,
    EdnMap: _map,
    EdnSet: lambda value: EdnSet(map(to_edn, value)),
    EdnList: lambda value: EdnList(map(to_edn, value)),
    tuple: lambda value: tuple(map(to_edn, value)),
    list: lambda value: tuple(map(to_edn, value)),
    dict: _map,
    set: lambda value: EdnSet(map(to_edn, value)),
    frozenset: lambda value: EdnSet(map(to_edn, value)),
}


def _dict(value: EdnMap) -> Any:
    try:
        found = {from_edn(key): from_edn(item) for key, item in value.items()}
    except TypeError:
        return value
    return found if len(found) == len(value) else value


def _frozenset(value: EdnSet) -> Any:
    try:
        found = frozenset(map(from_edn, value))
    except TypeError:
        return value
    return found if len(found) == len(value) else value


_FROM_EDN: Final[dict[type, Callable[[Any], Any]]] = {
    values.Keyword: lambda value: Keyword(":" + value.name),
    values.Symbol: lambda value: Symbol(value.name),
    tuple: lambda value: tuple(map(from_edn, value)),
    EdnList: lambda value: EdnList(map(from_edn, value)),
    EdnMap: _dict,
    EdnSet: _frozenset,
}
