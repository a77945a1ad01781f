"""Values of the language as Python's own, and back.

Most are Python's own already: `int`, `float`, `bool`, `str`, `bytes`, `Decimal`, aware `datetime`, `UUID`. A
bigint, a 32-bit float, a char and a URI are subclasses of `int`, `float` and `str`, so that they come back as what
they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from adalog.client.tables import items_of
from adalog.datalog import values
from adalog.datalog.edn import DEFAULT, scalars
from adalog.datalog.errors import invalid_argument, limit_exceeded, quoted
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


def to_edn(value: Any, depth: int = DEFAULT.depth) -> Any:
    """A value of Python as the engine has it. Lists and tuples are vectors. Raises ARG_INVALID for what is none,
    such as a naive `datetime`, which has no zone, and LIMIT_EXCEEDED for more than `depth` containers in each
    other."""
    kind = type(value)
    convert = _TO_EDN.get(kind)
    if convert is not None:
        return convert(value)
    if value is None or kind in _UNCHANGED:
        return value
    contain = _CONTAINERS.get(kind)
    if contain is not None:
        if not depth:
            raise limit_exceeded(f"a value is nested more than {DEFAULT.depth} deep")
        return contain(value, depth - 1)
    for base, exact in _BASES.items():
        if isinstance(value, base):
            # A subclass of Python's own, such as an enum's member.
            return to_edn(exact(value), depth)
    if (
        getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M")
        and getattr(value, "shape", None) is not None
    ):
        # Their plain values would be whole numbers, or datetimes without a zone.
        _check_zoned_dtype(value)
    items = items_of(value)
    if items is not None:
        return to_edn(items, depth)
    item = getattr(value, "item", None)
    if item is not None and not isinstance(value, Sequence) and getattr(value, "shape", None) == ():
        # A number of NumPy.
        return to_edn(item())
    raise invalid_argument(
        f"{quoted(value)} is a {type(value).__name__}, and no value that adalog has{_hint(value)}"
    )


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


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(value[error.start]):04X}, half of a surrogate pair"
            raise invalid_argument(f"a text has {half}, which is not a character") from None
    return value


def _named(value: str) -> Any:
    """A keyword or symbol, with what EDN can write for its name."""
    try:
        return scalars.atom(str.__str__(value))
    except scalars.Malformed as fault:
        raise invalid_argument(str(fault)) from None


def _symbol(value: Symbol) -> Any:
    found = _named(value) if value and not value.startswith(":") else None
    if not isinstance(found, values.Symbol):
        raise invalid_argument(f"{quoted(value)} is not a symbol; one is written name or namespace/name")
    return found


def _decimal(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise invalid_argument(f"{value} is no bigdec, which is a finite number")
    return value


def _hint(value: Any) -> str:
    """What to write instead."""
    if type(value).__name__ == "NAType":
        return "; leave the attribute of a missing value out, or the value out of a list"
    if isinstance(value, date):
        return "; give an aware datetime, such as datetime.combine(day, time(), UTC)"
    return ""


def _zoned(value: datetime) -> datetime:
    if value.tzinfo is None:
        if type(value).__name__ == "NaTType":
            raise invalid_argument(
                "NaT is no instant; leave the attribute of a missing value out, or the value out of a list"
            )
        raise invalid_argument(
            f"{value.isoformat()} has no zone; give an aware datetime, such as one with tzinfo=UTC"
        )
    return value


def _plain_datetime(value: datetime) -> datetime:
    """Of a subclass, such as pandas' Timestamp; its NaT has no zone."""
    value = _zoned(value)
    return datetime.combine(value.date(), value.time(), value.tzinfo)


def _check_zoned_dtype(value: Any) -> None:
    """Refuses NumPy's times, and series of times without a zone."""
    what = f"a {type(value).__name__} of {value.dtype}"
    if value.dtype.kind == "m":
        raise invalid_argument(f"{what} is no value that adalog has; give an adalog.Duration")
    if getattr(value.dtype, "tz", None) is None:
        raise invalid_argument(
            f"{what} has no zone; give aware datetimes, such as those of pandas.to_datetime(…, utc=True)"
        )


def _moment(value: datetime) -> datetime:
    try:
        return values.instant(_zoned(value))
    except OverflowError:
        raise invalid_argument(f"{value.isoformat()} is before the year 1 or after 9999 in UTC") from None


_TO_EDN: Final[Mapping[type, Callable[[Any], Any]]] = {
    str: _text,
    int: lambda value: value if LONG_MIN <= value <= LONG_MAX else BigInt(value),
    Keyword: _named,
    Symbol: _symbol,
    Decimal: _decimal,
    datetime: _moment,
}
_BASES: Final[Mapping[type, Callable[[Any], Any]]] = {
    Keyword: Keyword,
    Symbol: Symbol,
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: bytes,
    datetime: _plain_datetime,
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    Mapping: dict,
}


def _each(value: Iterable[Any], depth: int) -> list[Any]:
    return [to_edn(item, depth) for item in value]


def _map(value: Mapping[Any, Any], depth: int) -> EdnMap:
    return EdnMap([(to_edn(key, depth), to_edn(item, depth)) for key, item in value.items()])


def _vector(value: Iterable[Any], depth: int) -> tuple[Any, ...]:
    return tuple(_each(value, depth))


def _set(value: Iterable[Any], depth: int) -> EdnSet:
    return EdnSet(_each(value, depth))


_CONTAINERS: Final[Mapping[type, Callable[[Any, int], Any]]] = {
    dict: _map,
    EdnMap: _map,
    list: _vector,
    tuple: _vector,
    EdnList: lambda value, depth: EdnList(_each(value, depth)),
    set: _set,
    frozenset: _set,
    EdnSet: _set,
}
_UNCHANGED: Final = frozenset(values._TYPE_NAMES) - {*_TO_EDN, *_CONTAINERS}


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
