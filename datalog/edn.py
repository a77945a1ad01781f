"""The strict EDN reader: text to values, or to forms that know their places. Never recurses, always bounded.

`read` is for data and is fast: places are looked for only when something is wrong, by `locate`. `read_form` is for
the query parser, which points at what it refuses. `write` gives text back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from datalog.edn_scalars import Malformed, atom, character, check_tag, pattern, string, symbolic, tagged
from datalog.edn_writer import write
from datalog.errors import AdalogError, Code, Position
from datalog.values import EdnList, EdnMap, EdnSet, Value, identity

__all__ = ["DEFAULT", "Form", "Limits", "locate", "position_at", "read", "read_form", "write"]


@dataclass(frozen=True, slots=True)
class Limits:
    """`depth`: how deep collections, tags and discards may nest. `size`: bytes of UTF-8."""

    depth: int = 64
    size: int = 1 << 20


DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Form:
    """A value and where it was written. `kind`: atom, vector, list, map or set; of a map `items` alternate."""

    kind: str
    value: Value
    items: tuple[Form, ...]
    position: Position


_TOKEN = re.compile(
    r"""
    [\s,]+ | ;[^\n]*
    | (?P<string> "[^"\\]*(?:\\.[^"\\]*)*" )
    | (?P<open> [\[({] | \#\{ )
    | (?P<close> [\])}] )
    | (?P<atom> [^\s,;"\\\[\](){}\#'`~@^][^\s,;"\\\[\](){}`~@^]* )
    | (?P<character> \\(?:[^\s,;"\\\[\](){}]+ | .) )
    | (?P<discard> \#_ )
    | (?P<symbolic> \#\#[^\s,;"\\\[\](){}]* )
    | (?P<pattern> \#"[^"\\]*(?:\\.[^"\\]*)*" )
    | (?P<tag> \#[^\s,;"\\\[\](){}\#]+ )
    | (?P<quote> ' )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_KINDS = {"[": "vector", "(": "list", "{": "map", "#{": "set"}
_SCALARS = {"string": string, "character": character, "symbolic": symbolic, "pattern": pattern, "atom": atom}


def read(text: str, limits: Limits = DEFAULT) -> Value:
    """The one value of a text. Raises EDN_SYNTAX with the place, LIMIT_EXCEEDED for a text that is too large."""
    return _Reader(text, limits, forms=False).run()


def read_form(text: str, limits: Limits = DEFAULT) -> Form:
    """The one form of a text, each part with its place; a quote before a form is passed over."""
    form: Form = _Reader(text, limits, forms=True).run()
    return form


def position_at(text: str, offset: int) -> Position:
    """The line and column of a character."""
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def locate(text: str, path: Sequence[int], limits: Limits = DEFAULT) -> Position:
    """Where the part at a path of indexes stands in a text that can be read; the deepest part there is.

    An index counts elements as written; in a map key i is 2i and its value 2i + 1.
    """
    form = read_form(text, limits)
    for index in path:
        if not 0 <= index < len(form.items):
            break
        form = form.items[index]
    return form.position


class _Reader:
    """One pass over a text with an explicit stack. A frame is an opening token, its elements and its offset."""

    def __init__(self, text: str, limits: Limits, *, forms: bool) -> None:
        self.text = text
        self.limits = limits
        self.forms = forms
        self.known: dict[str, Any] = {}

    def run(self) -> Any:
        text = self.text
        if len(text) > self.limits.size or len(text.encode("utf-8", "surrogatepass")) > self.limits.size:
            raise AdalogError(
                Code.LIMIT_EXCEEDED, f"the EDN text is longer than {self.limits.size:,} bytes; send it in parts"
            )
        top: list[Any] = []
        stack: list[tuple[str, list[Any], int]] = [("", top, 0)]
        elements = top
        waiting = False
        place = 0
        match = _TOKEN.match
        known, forms = self.known, self.forms
        while found := match(text, place):
            start, place = place, found.end()
            kind = found.lastgroup
            if kind is None or kind == "quote":
                continue
            if kind == "open":
                stack.append((found.group(), [], start))
                elements = stack[-1][1]
                waiting = False
                if len(stack) > self.limits.depth + 1:
                    raise self.wrong(start, f"nested more than {self.limits.depth} deep")
                continue
            if kind == "discard" or kind == "tag":
                token = found.group()
                if kind == "tag":
                    self.checked(check_tag, token, start)
                stack.append((token, [], start))
                elements = stack[-1][1]
                waiting = True
                if len(stack) > self.limits.depth + 1:
                    raise self.wrong(start, f"nested more than {self.limits.depth} deep")
                continue
            if kind == "close":
                opening, inner, start = self.closed(stack, found.group(), start)
                value = self.collection(opening, inner, start)
                elements = stack[-1][1]
                waiting = _expects_value(stack)
            else:
                token = found.group()
                value = known.get(token)
                if value is None:
                    value = known[token] = self.checked(_SCALARS[kind], token, start)
                if forms:
                    value = Form("atom", value, (), position_at(text, start))
            if waiting:
                finished, value = self.unwrapped(stack, value)
                elements = stack[-1][1]
                waiting = _expects_value(stack)
                if finished:
                    continue
            elements.append(value)
        return self.only(top, stack, place)

    def closed(self, stack: list[tuple[str, list[Any], int]], token: str, start: int) -> tuple[str, list[Any], int]:
        """Takes the frame that a closing bracket ends off the stack."""
        opening, inner, began = stack[-1]
        if len(stack) == 1:
            raise self.wrong(start, f"{token} closes nothing")
        if opening not in _CLOSING:
            raise self.wrong(began, f"{opening} must be followed by a value, not by {token}")
        if _CLOSING[opening] != token:
            where = position_at(self.text, began)
            raise self.wrong(
                start,
                f"{token} cannot close the {opening} of line {where.line}, column {where.column}: "
                f"{_CLOSING[opening]} is expected",
            )
        stack.pop()
        return opening, inner, began

    def unwrapped(self, stack: list[tuple[str, list[Any], int]], value: Any) -> tuple[bool, Any]:
        """Applies the tags before a value, innermost first; (whether a discard swallowed it, the value)."""
        while _expects_value(stack):
            token, _, start = stack.pop()
            if token == "#_":
                return True, None
            plain = value.value if self.forms else value
            made = self.checked(lambda tag, plain=plain: tagged(tag, plain), token, start)
            value = Form("atom", made, (), position_at(self.text, start)) if self.forms else made
        return False, value

    def collection(self, opening: str, items: list[Any], start: int) -> Any:
        values = [item.value for item in items] if self.forms else items
        made: Value
        if opening == "[":
            made = tuple(values)
        elif opening == "(":
            made = EdnList(values)
        elif opening == "#{":
            made = EdnSet(values)
            if len(made) < len(values):
                raise self.repeated(values, start, "set")
        else:
            if len(values) % 2:
                raise self.wrong(start, "a map has a value for each key, but this one has a key left over")
            made = EdnMap(zip(values[::2], values[1::2], strict=True))
            if 2 * len(made) < len(values):
                raise self.repeated(values[::2], start, "map")
        return Form(_KINDS[opening], made, tuple(items), position_at(self.text, start)) if self.forms else made

    def repeated(self, members: Sequence[Value], start: int, kind: str) -> AdalogError:
        seen: set[Any] = set()
        for member in members:
            key = identity(member)
            if key in seen:
                what = "member" if kind == "set" else "key"
                shown = write(member)
                return self.wrong(start, f"the {what} {shown[:60]} is in this {kind} twice")
            seen.add(key)
        raise AssertionError("a shorter collection has a repeat")

    def only(self, top: list[Any], stack: list[tuple[str, list[Any], int]], place: int) -> Any:
        """The one value read, or what is wrong with the end of the text."""
        text = self.text
        if place < len(text):
            character = text[place]
            if character == '"':
                raise self.wrong(place, 'this string is not closed: " is expected')
            if text.startswith('#"', place):
                raise self.wrong(place, 'this pattern is not closed: " is expected')
            raise self.wrong(place, f"{character!r} cannot stand here")
        if len(stack) > 1:
            opening, _, start = stack[-1]
            if opening in _CLOSING:
                raise self.wrong(start, f"this {opening} is not closed: {_CLOSING[opening]} is expected")
            raise self.wrong(start, f"{opening} must be followed by a value")
        if not top:
            raise self.wrong(0, "the text is empty; a value is expected")
        if len(top) > 1:
            raise self.wrong(self.second(), "one value is expected, but another follows it")
        return top[0]

    def second(self) -> int:
        """The offset of the second value of the text."""
        depth, values = 0, 0
        for found in _TOKEN.finditer(self.text):
            kind = found.lastgroup
            if kind is None or kind in ("quote", "tag", "discard"):
                continue
            if kind == "close":
                depth -= 1
                continue
            if depth == 0:
                values += 1
                if values == 2:
                    return found.start()
            depth += kind == "open"
        return 0

    def checked(self, make: Any, token: str, start: int) -> Any:
        try:
            return make(token)
        except Malformed as reason:
            raise self.wrong(start, str(reason)) from None

    def wrong(self, offset: int, message: str) -> AdalogError:
        return AdalogError(Code.EDN_SYNTAX, message, position_at(self.text, offset))


def _expects_value(stack: list[tuple[str, list[Any], int]]) -> bool:
    """Whether the innermost frame is a tag or a discard, which the next value ends."""
    return len(stack) > 1 and stack[-1][0] not in _CLOSING
