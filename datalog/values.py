"""EDN values as Python objects: their types, their equality and their order.

Python holds that 1 == 1.0 == True and that a URI is a string; the dialect does not. `identity` is the one typed
equality behind literals, joins, sets and indexes, `sort_key` the one total order, `compare` what `<` means.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping, Set
from datetime import UTC, datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, Final
from uuid import UUID

import edn_format

from adalog.datalog.durations import Duration

Value = Any

LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1
TX_BASE: Final = 1 << 42
"""The entity of transaction t has the id TX_BASE + t."""


class Keyword(edn_format.Keyword):  # type: ignore[misc]
    """`:name` or `:namespace/name`, `name` being all of it without the colon.

    edn_format's keyword; its own hash builds a dictionary, which a transaction of 100,000 datoms would feel.
    """

    _name: str

    def __hash__(self) -> int:
        return hash(self._name) ^ 0x3A

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Keyword) and self._name == other._name)

    @property
    def namespace(self) -> str | None:
        namespace, slash, _ = self._name.partition("/")
        return namespace if slash else None

    @property
    def local(self) -> str:
        """The part after the slash."""
        return self._name.rpartition("/")[2]


class Symbol(edn_format.Symbol):  # type: ignore[misc]
    """A symbol; edn_format's, with the hash and equality of `Keyword`."""

    _name: str

    def __hash__(self) -> int:
        return hash(self._name) ^ 0x27

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Symbol) and self._name == other._name)


class BigInt(int):
    """`12N`: an integer of any size, of another type than a long."""

    __slots__ = ()


class Float(float):
    """A 32-bit float. No literal makes one: it comes from an attribute of type float."""

    __slots__ = ()


class Char(str):
    r"""`\a`: one character, not a string."""

    __slots__ = ()


class Uri(str):
    """`#uri "…"`, not a string."""

    __slots__ = ()


class EdnList(tuple[Value, ...]):
    """`(1 2 3)`, where a plain tuple is the vector `[1 2 3]`."""

    __slots__ = ()


class EdnSet(Set[Value]):
    """A set in its written order whose members are told apart by `identity`, so that `#{1 1.0 true}` has three."""

    __slots__ = ("_by_identity",)
    _by_identity: dict[Hashable, Value]

    def __init__(self, members: Iterable[Value] = ()) -> None:
        self._by_identity = {}
        for member in members:
            self._by_identity.setdefault(identity(member), member)

    def __contains__(self, value: object) -> bool:
        return identity(value) in self._by_identity

    def __iter__(self) -> Iterator[Value]:
        return iter(self._by_identity.values())

    def __len__(self) -> int:
        return len(self._by_identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EdnSet) and self._by_identity.keys() == other._by_identity.keys()

    def __hash__(self) -> int:
        return hash(identity(self))

    def __repr__(self) -> str:
        return f"EdnSet({list(self)!r})"


class EdnMap(Mapping[Value, Value]):
    """A map in its written order whose keys are told apart by `identity`."""

    __slots__ = ("_by_identity",)
    _by_identity: dict[Hashable, tuple[Value, Value]]

    def __init__(self, entries: Mapping[Value, Value] | Iterable[tuple[Value, Value]] = ()) -> None:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        self._by_identity = {identity(key): (key, value) for key, value in pairs}

    @classmethod
    def told_apart(cls, by_identity: dict[Hashable, tuple[Value, Value]]) -> EdnMap:
        """A map of entries whose keys' identities are at hand; the dictionary is the map's from here on."""
        made = cls.__new__(cls)
        made._by_identity = by_identity
        return made

    def __getitem__(self, key: Value) -> Value:
        return self._by_identity[identity(key)][1]

    def __iter__(self) -> Iterator[Value]:
        return (key for key, _ in self._by_identity.values())

    def __len__(self) -> int:
        return len(self._by_identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EdnMap) and _identity_of_map(self) == _identity_of_map(other)

    def __hash__(self) -> int:
        return hash(_identity_of_map(self))

    def items(self) -> ItemsView[Value, Value]:
        return _Entries(self)

    def __repr__(self) -> str:
        return f"EdnMap({list(self.items())!r})"


class _Entries(ItemsView[Value, Value]):
    """A map's entries, without looking each key up again."""

    _mapping: EdnMap

    def __iter__(self) -> Iterator[tuple[Value, Value]]:
        return iter(self._mapping._by_identity.values())


_TYPE_NAMES: dict[type, str] = {
    type(None): "nil",
    bool: "boolean",
    int: "long",
    BigInt: "bigint",
    float: "double",
    Float: "float",
    Decimal: "bigdec",
    str: "string",
    Keyword: "keyword",
    Symbol: "symbol",
    Char: "char",
    datetime: "instant",
    UUID: "uuid",
    Uri: "uri",
    bytes: "bytes",
    Duration: "duration",
    tuple: "tuple",
    EdnList: "list",
    EdnMap: "map",
    EdnSet: "set",
}
_RANKS = {name: rank for rank, name in enumerate(_TYPE_NAMES.values())}

NUMERIC = frozenset({"long", "bigint", "double", "float", "bigdec"})


class NotAValueError(TypeError):
    """Something of Python that no value of the language is."""

    def __init__(self, given: object) -> None:
        super().__init__(f"{given!r} ({type(given).__name__}) is not an EDN value")


def type_name(value: Value) -> str:
    """The value's EDN type, as attribute types are named. Raises NotAValueError."""
    try:
        return _TYPE_NAMES[type(value)]
    except KeyError:
        raise NotAValueError(value) from None


def is_long(value: Value) -> bool:
    """An integer of the type long, whatever its size; True is none."""
    return type(value) is int


# Identity


def identity(value: Value) -> Hashable:
    """A key that two values share exactly when they are the same value of the same type.

    -0.0 is 0.0, NaN is NaN, and 1.0M is 1.00M; `[1 2]` and `(1 2)` differ by their type. Types that Python keeps
    apart by itself are their own key.
    """
    if type(value) in _THEIR_OWN_IDENTITY:
        return value  # type: ignore[no-any-return]
    return _IDENTITIES[type_name(value)](value)


def _within(identity_: Hashable) -> Hashable:
    """An identity as a part of another's.

    Python's hashes of tuples and frozensets of integers are known to everybody, so that thousands of them could be
    made to share one; those of texts are seeded for each process.
    """
    return ("long", f"{identity_:x}") if type(identity_) is int else identity_


def _identity_of_items(kind: str, items: Iterable[Value]) -> Hashable:
    return (kind, *(_within(identity(item)) for item in items))


def _identity_of_map(value: EdnMap) -> Hashable:
    entries = value._by_identity.items()
    return ("map", frozenset((_within(key), _within(identity(item))) for key, (_, item) in entries))


_ALL_DIGITS = Context(prec=20_000, Emax=MAX_EMAX, Emin=MIN_EMIN)

# Numbers of any size, and UUIDs, go by their text: Python's hashes of large integers are known to everybody, and
# a set of a few thousand that share one would take seconds to read.
_THEIR_OWN_IDENTITY = frozenset({str, int, Keyword, Symbol, type(None), datetime, bytes})
_IDENTITIES: dict[str, Callable[[Any], Hashable]] = {
    "boolean": lambda value: ("boolean", value),
    "bigint": lambda value: ("bigint", f"{value:x}"),
    "double": lambda value: ("double", value if value == value else "NaN"),
    "float": lambda value: ("float", float(value) if value == value else "NaN"),
    "bigdec": lambda value: ("bigdec", str(value.normalize(_ALL_DIGITS)) if value else "0"),
    "uuid": lambda value: ("uuid", value.hex),
    "char": lambda value: ("char", str(value)),
    "uri": lambda value: ("uri", str(value)),
    "duration": lambda value: ("duration", str(value)),
    "tuple": lambda value: _identity_of_items("tuple", value),
    "list": lambda value: _identity_of_items("list", value),
    "map": _identity_of_map,
    "set": lambda value: ("set", frozenset(map(_within, value._by_identity))),
}


def stable_text(key: Hashable) -> str:
    """A text of an identity, or of tuples of them: the same one in every process, another for every other.

    It is its `repr`, where that does not depend on the order in which Python keeps a frozenset.
    """
    text = repr(key)
    return text if "frozenset(" not in text else _stable_text(key)


def _stable_text(key: Hashable) -> str:
    match key:
        case tuple():
            return f"({' '.join(f'{_stable_text(item)},' for item in key)})"
        case frozenset():
            return f"frozenset({', '.join(sorted(map(_stable_text, key)))})"
    return repr(key)


# Order


def sort_key(value: Value) -> Any:
    """A key for `sorted` over any mixture of values: by type first, then by value. NaN comes after every number."""
    name = type_name(value)
    return (_RANKS[name], _ORDERS[name](value))


def _order_of_float(value: float) -> Any:
    return (0, float(value)) if value == value else (1, 0.0)


def _order_of_sequence(value: tuple[Value, ...]) -> Any:
    return (len(value), tuple(map(sort_key, value)))


_ORDERS: dict[str, Callable[[Any], Any]] = {
    "nil": lambda value: 0,
    "boolean": bool,
    "long": int,
    "bigint": int,
    "double": _order_of_float,
    "float": _order_of_float,
    "bigdec": lambda value: value,
    "string": str,
    "keyword": lambda value: (value.namespace or "", value.local),
    "symbol": lambda value: value.name,
    "char": str,
    "instant": lambda value: value,
    "uuid": lambda value: value.int,
    "uri": str,
    "bytes": bytes,
    "duration": lambda value: value,
    "tuple": _order_of_sequence,
    "list": _order_of_sequence,
    "map": lambda value: (len(value), tuple(sorted((sort_key(k), sort_key(v)) for k, v in value.items()))),
    "set": lambda value: (len(value), tuple(sorted(map(sort_key, value)))),
}

_WITHOUT_ORDER = frozenset({"nil", "map", "set"})


def compare(left: Value, right: Value) -> int | None:
    """-1, 0 or 1 where the two have a common order, else None.

    Numbers compare by value whatever their types, other values with their own type only. NaN, nil, maps and sets
    have no order; vectors compare by length, then item by item, as in Clojure.
    """
    if type(left) is type(right) and type(left) in (int, str):
        return _sign(left, right)
    left_name, right_name = type_name(left), type_name(right)
    if left_name in NUMERIC and right_name in NUMERIC:
        return None if left != left or right != right else _sign(left, right)
    if left_name != right_name or left_name in _WITHOUT_ORDER:
        return None
    if left_name in ("tuple", "list"):
        return _compare_sequences(left, right)
    return _sign(_ORDERS[left_name](left), _ORDERS[left_name](right))


def order_among(value: Value) -> Any | None:
    """A key in the order that `compare` has of the values of this type, which is no number; None where it has none,
    or goes through the items of two values."""
    name = type_name(value)
    return None if name in _WITHOUT_ORDER or name in ("tuple", "list") else _ORDERS[name](value)


NUMBER: Final = "number"
"""What `order_key` calls all types of numbers together."""


def order_key(value: Value) -> tuple[str, Any] | None:
    """(what a value has an order with, a key in that order), or None for what has none."""
    name = type_name(value)
    if name in NUMERIC:
        return None if value != value else (NUMBER, value)
    key = order_among(value)
    return None if key is None else (name, key)


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _compare_sequences(left: tuple[Value, ...], right: tuple[Value, ...]) -> int | None:
    if len(left) != len(right):
        return -1 if len(left) < len(right) else 1
    for ours, theirs in zip(left, right, strict=True):
        order = compare(ours, theirs)
        if order != 0:
            return order
    return 0


def instant(moment: datetime) -> datetime:
    """The moment in UTC, cut to the millisecond: the one form instants have everywhere."""
    utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)
