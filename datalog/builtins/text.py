"""Strings, keywords and symbols."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from adalog.datalog.builtins.builtin import Builtin, long_of, refuse, refuse_type, shown, shown_call, text_of
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import limit_exceeded
from adalog.datalog.values import Keyword, Symbol, Value, type_name

MAX_CHARACTERS = 1 << 20

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
        case "instant":
            return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
        case "uuid":
            return str(value)
        case "bytes":
            return base64.b64encode(value).decode("ascii")
        case _:
            return write(value)


def _str(*args: Value) -> str:
    whole = "".join(map(text, args))
    # A rule that calls itself may double a string in every round, far faster than any deadline is looked at.
    if len(whole) > MAX_CHARACTERS:
        raise limit_exceeded(
            f"{shown_call('str', args)} has more than {MAX_CHARACTERS:,} characters, the most that `str` makes; "
            "in a recursion, say with a clause where it ends"
        )
    return whole


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


def _change(name: str, changed: Callable[[str], str | bool]) -> Builtin:
    return Builtin(name, 1, 1, lambda *args: changed(text_of(name, args, 0)))


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
    _change("trim", str.strip),
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
