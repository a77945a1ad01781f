"""Strings, keywords and symbols."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence

from adalog.datalog.builtins.builtin import Builtin, long_of, refuse, refuse_type, shown, shown_call, text_of
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import limit_exceeded
from adalog.datalog.values import Keyword, Symbol, Value, type_name

MAX_CHARACTERS = 1 << 20

_ITEMS = frozenset({"tuple", "list", "set"})
_NAME = re.compile(r"[^\s,;\"'`~@^()\[\]{}\\:/][^\s,;\"`~@^()\[\]{}\\/]*")


def text(value: Value) -> str:
    """The value as `str` has it: strings bare, nil as nothing, whatever is inside a collection as EDN."""
    match type_name(value):
        case "nil":
            return ""
        case "string" | "char" | "uri":
            return str.__str__(value)
        case "bigint" | "bigdec":
            return write(value)[:-1]
        case "double" | "float":
            return write(value) if value else "0.0"  # no zero has a sign
        case "instant":
            return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
        case "uuid" | "duration":
            return str(value)
        case "bytes":
            return base64.b64encode(value).decode("ascii")
        case _:
            return write(value)


def check_length(name: str, args: Sequence[Value], length: int) -> None:
    """Raises LIMIT_EXCEEDED for a text of more characters than a built-in makes.

    A rule that calls itself may double a string in every round, far faster than any deadline is looked at.
    """
    if length > MAX_CHARACTERS:
        raise limit_exceeded(
            f"{shown_call(name, args)} has more than {MAX_CHARACTERS:,} characters, the most that `{name}` makes; "
            "in a recursion, say with a clause where it ends"
        )


def _put_together(name: str, args: Sequence[Value], parts: Sequence[str], separator: str = "") -> str:
    check_length(name, args, sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


def _str(*args: Value) -> str:
    return _put_together("str", args, [*map(text, args)])


def _subs(*args: Value) -> str:
    whole = text_of("subs", args, 0)
    start = long_of("subs", args, 1)
    end = long_of("subs", args, 2) if len(args) > 2 else len(whole)
    if not 0 <= start <= end <= len(whole):
        refuse(
            f"{shown_call('subs', args)}: the string has {len(whole)} characters; "
            f"start and end must satisfy 0 <= start <= end <= {len(whole)}"
        )
    return whole[start:end]


def _test(name: str, holds: Callable[[str, str], bool]) -> Builtin:
    return Builtin(name, 2, 2, lambda *args: holds(text_of(name, args, 0), text_of(name, args, 1)))


def _change(name: str, changed: Callable[[str], Value]) -> Builtin:
    return Builtin(name, 1, 1, lambda *args: changed(text_of(name, args, 0)))


def _lines(whole: str) -> tuple[str, ...]:
    """Without empty ones at the end, as `split` gives them."""
    parts = re.split("\r?\n", whole)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return tuple(parts) if parts[0] or len(parts) > 1 or not whole else ()


def _join(*args: Value) -> str:
    *first, collection = args
    if collection is None:
        return ""
    if type_name(collection) not in _ITEMS:
        refuse_type("join", args, collection, 'a collection in last place, as in (join ", " ["a" "b"])')
    return _put_together("join", args, [*map(text, collection)], text(first[0]) if first else "")


def _replace(name: str, most: int) -> Builtin:
    """`replace`, or `replace-first`, of a text as it stands."""

    def call(*args: Value) -> str:
        whole, old, new = (text_of(name, args, index) for index in range(3))
        times = whole.count(old) if most < 0 else min(most, whole.count(old))
        check_length(name, args, len(whole) + times * (len(new) - len(old)))
        return whole.replace(old, new, most)

    return Builtin(name, 3, 3, call)


def _found(name: str, find: Callable[..., int]) -> Builtin:
    """The place of a part of a text, or nil."""

    def call(*args: Value) -> int | None:
        whole, part = text_of(name, args, 0), text_of(name, args, 1)
        at = find(whole, part, *(long_of(name, args, 2),) if len(args) > 2 else ())
        return at if at >= 0 else None

    return Builtin(name, 2, 3, call)


def _found_last(whole: str, part: str, start: int | None = None) -> int:
    """The last place of the part, no later than `start`."""
    end = len(whole) if start is None else start + len(part)
    return whole.rfind(part, 0, end) if start is None or start >= 0 else -1


def _padded(name: str, pad: Callable[[str, str], str]) -> Builtin:
    """`lpad` or `rpad`: a text of so many characters, filled or cut, as in SQL."""

    def call(*args: Value) -> str:
        whole, width = text_of(name, args, 0), long_of(name, args, 1)
        fill = text_of(name, args, 2) if len(args) > 2 else " "
        check_length(name, args, width)
        missing = width - len(whole)
        if missing <= 0 or not fill:
            return whole[: max(0, width)]
        return pad(whole, (fill * -(-missing // len(fill)))[:missing])

    return Builtin(name, 2, 3, call)


def _name(value: Value) -> str:
    if type(value) is str:
        return value
    if not isinstance(value, (Keyword, Symbol)):
        refuse_type("name", (value,), value, "a keyword, symbol or string")
    return value.name.rpartition("/")[2] or value.name  # type: ignore[no-any-return]


def _namespace(value: Value) -> str | None:
    if not isinstance(value, (Keyword, Symbol)):
        refuse_type("namespace", (value,), value, "a keyword or symbol")
    return value.name.rpartition("/")[0] or None


def _keyword(*args: Value) -> Value:
    if len(args) == 1:
        if isinstance(args[0], Keyword):
            return args[0]
        if isinstance(args[0], Symbol):
            return Keyword(args[0].name)
        parts = text_of("keyword", args, 0).split("/", 1)
    else:
        parts = [text_of("keyword", args, 1)]
        if args[0] is not None:
            parts.insert(0, text_of("keyword", args, 0))
    for part in parts:
        if not _NAME.fullmatch(part):
            refuse(f"{shown_call('keyword', args)}: {shown(part)} is no name that can be written in a keyword")
    return Keyword("/".join(parts))


STRINGS = (
    _test("starts-with?", str.startswith),
    _test("ends-with?", str.endswith),
    _test("includes?", str.__contains__),
    _change("upper-case", str.upper),
    _change("lower-case", str.lower),
    _change("capitalize", str.capitalize),
    _change("trim", str.strip),
    _change("triml", str.lstrip),
    _change("trimr", str.rstrip),
    _change("trim-newline", lambda whole: whole.rstrip("\r\n")),
    _change("reverse", lambda whole: whole[::-1]),
    _change("split-lines", _lines),
    Builtin("join", 1, 2, _join),
    _replace("replace", -1),
    _replace("replace-first", 1),
    _found("index-of", lambda whole, part, start=0: whole.find(part, max(0, start))),
    _found("last-index-of", _found_last),
    Builtin("blank?", 1, 1, lambda value: value is None or not text_of("blank?", (value,), 0).strip()),
)
"""Those of the namespace clojure.string."""

NAMES = (
    Builtin("str", 0, None, _str),
    Builtin("subs", 2, 3, _subs),
    Builtin("name", 1, 1, _name),
    Builtin("namespace", 1, 1, _namespace),
    Builtin("keyword", 1, 2, _keyword),
)

PADDING = (
    _padded("lpad", lambda whole, fill: fill + whole),
    _padded("rpad", lambda whole, fill: whole + fill),
)
"""SQL's."""
