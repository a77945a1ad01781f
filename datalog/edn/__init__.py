"""Reading EDN that comes from strangers: strict, iterative, bounded, every fault with its line and column.

One regular expression cuts the text into tokens and one loop builds the values; positions are worked out only when
they are needed (`locate`, `read_form`) or something is wrong. `write`, from `datalog.edn.writer`, is the way back.
See https://github.com/edn-format/edn for the format.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

from adalog.datalog.edn import scalars as edn_scalars
from adalog.datalog.edn.brackets import forgotten
from adalog.datalog.edn.form import Form, Lines
from adalog.datalog.edn.languages import other_language
from adalog.datalog.edn.outline import DROPPING, OPENING, TOKEN, Node, is_prefix, read_outline
from adalog.datalog.edn.scalars import MAX_DIGITS as MAX_DIGITS
from adalog.datalog.edn.scalars import Malformed
from adalog.datalog.edn.writer import shown
from adalog.datalog.edn.writer import write as write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.values import EdnList, EdnMap, EdnSet, Keyword, Symbol, Value, identity
from adalog.datalog.watched import WatchedList, look


class EdnError(AdalogError):
    """A text that is not EDN, or is larger or deeper than allowed (LIMIT_EXCEEDED)."""

    def __init__(self, message: str, position: Position | None, code: Code = Code.EDN_SYNTAX) -> None:
        super().__init__(code, message, position)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a text may be, in bytes of UTF-8, and how deeply nested."""

    size: int = 2**20
    depth: int = 64


DEFAULT = Limits()


def read(text: str, limits: Limits = DEFAULT, *, clojure: bool = False) -> Value:
    r"""The one value that the text holds.

    With `clojure` the reader also takes what queries copied from Clojure have: a quote before a form and metadata,
    `^String`, which are dropped, and regular expressions `#"\d+"`, which are strings. Raises EdnError.
    """
    try:
        return _read(text, limits, clojure)
    except EdnError as error:
        advice = other_language(text) if error.code is Code.EDN_SYNTAX else ""
        if not advice:
            raise
        raise EdnError(advice, Lines(text).position(len(text) - len(text.lstrip()))) from None


def _read(text: str, limits: Limits, clojure: bool) -> Value:
    _check_text(text, limits)
    tokens = TOKEN.findall(text)
    known: dict[str, Value] = {}
    stack: list[tuple[str, list[Value], int]] = []
    items: list[Value] = []
    opener, opened, prefixed = "", 0, False
    index = 0
    try:
        for index, token in enumerate(WatchedList(tokens, look)):
            value = known.get(token, known)
            if value is known:
                first = token[0]
                if first in "[({" or (first in "#'^" and (token == "#{" or is_prefix(token))):
                    if len(stack) >= limits.depth:
                        _too_deep(text, index, limits)
                    stack.append((opener, items, opened))
                    opener, items, opened, prefixed = token, [], index, first in "#'^" and is_prefix(token)
                    if prefixed:
                        _check_prefix(token, clojure, tokens, index)
                    continue
                if first in "])}":
                    if OPENING.get(opener) != first:
                        _misplaced(text, token, index, opener, opened)
                    value = tuple(items) if opener == "[" else _collection(text, opener, items, index)
                    opener, items, opened = stack.pop()
                    prefixed = opener != "[" and is_prefix(opener)
                elif first == '"' and len(token) > 1:
                    value = token[1:-1] if "\\" not in token else edn_scalars.string(token)
                elif first == ";":
                    continue
                else:
                    value = known[token] = _scalar(token, clojure)
            items.append(value)
            while prefixed:
                prefix, index = opener, opened
                opener, items, opened = stack.pop()
                prefixed = is_prefix(opener)
                if prefix in DROPPING:
                    break
                value = value if prefix == "'" else edn_scalars.tagged(prefix, value)
                items.append(value)
    except Malformed as fault:
        _refuse(text, index, str(fault), fault.offset)
    if stack:
        _unfinished(text, opener, opened)
    if len(items) != 1:
        _not_one(text, items)
    return items[0]


def read_form(text: str, limits: Limits = DEFAULT, origin: str = "") -> Form:
    """The one form that a query text holds, read as with `clojure`, each part knowing its place.

    `origin` names the text in messages, where it is not the query's own.
    """
    try:
        value = read(text, limits, clojure=True)
    except AdalogError as error:
        raise (error.of_text(origin) if origin else error) from None
    return Form(value, read_outline(text).children[0], Lines(text, origin))


def locate(text: str, path: Sequence[int]) -> Position:
    """Where in a text that has been read the element at `path` begins.

    Each index of the path goes into a vector, list or set by the place of the element, into a map by twice the
    place of the entry (its key) or that plus one (its value). `()` is the value itself.
    """
    return locate_all(text, [path])[0]


def locate_all(text: str, paths: Sequence[Sequence[int]]) -> list[Position]:
    """The same for several elements. The text is read once more, as far as the last of them."""
    if not paths:
        return []
    lines = Lines(text)
    node = read_outline(text, within=max((path[0] for path in paths if path), default=0) + 1).children[0]
    return [lines.position(_offset(node, path)) for path in paths]


def locate_inside(text: str, path: Sequence[int], inside: Position) -> Position:
    """Where a line and column of the string at `path` is in the text that the string is written in."""
    begin = _offset(read_outline(text).children[0], path)
    if text[begin] != '"':
        return Lines(text).position(begin)
    at, line, column = begin + 1, 1, 1
    while text[at] != '"' and (line, column) < (inside.line, inside.column):
        width = 1 if text[at] != "\\" else 6 if text[at + 1] == "u" else 2
        line, column = (line + 1, 1) if text[at : at + width] in ("\n", "\\n") else (line, column + 1)
        at += width
    return Lines(text).position(at)


def _offset(node: Node, path: Sequence[int]) -> int:
    for place in path:
        if place >= len(node.children):
            break
        node = node.children[place]
    return node.offset


# The parts of the loop


def _scalar(token: str, clojure: bool) -> Value:
    first = token[0]
    if first == "\\":
        return edn_scalars.character(token)
    if first != "#":
        if len(token) == 1 and not (token.isalnum() or token in "_.*+!-?$%&=<>|/:"):
            raise Malformed(_unexpected(token))
        return edn_scalars.atom(token)
    if token.startswith("##"):
        return edn_scalars.symbolic(token)
    if len(token) > 1:
        if not clojure:
            raise Malformed('regular expressions #"…" are read in queries only; write a string')
        return token[2:-1]
    raise Malformed("# must be followed by a tag such as #inst, by { for a set, or by _ to leave a form out")


def _collection(text: str, opener: str, items: list[Value], index: int) -> Value:
    if opener == "(":
        return EdnList(items)
    if opener == "#{":
        members = EdnSet(items)
        if len(members) < len(items):
            _duplicate(text, items, index, "the set has", 1)
        return members
    if len(items) % 2:
        place = _position_inside(text, index, len(items) - 1)
        raise EdnError(f"the map has no value for its key {shown(items[-1])}", place)
    entries = EdnMap(zip(items[::2], items[1::2], strict=True))
    if len(entries) * 2 < len(items):
        _duplicate(text, items[::2], index, "the map has the key", 2)
    return entries


def _check_prefix(token: str, clojure: bool, tokens: Sequence[str], index: int) -> None:
    if token == "'":
        written = _in_single_quotes(tokens, index)
        if written:
            raise Malformed(f"a string is written in double quotes, as in {write(written)}")
        if not clojure:
            raise Malformed("a quote ' is read in queries only; leave it out")
    elif token == "^":
        if not clojure:
            raise Malformed(_unexpected(token))
    elif token != "#_":
        edn_scalars.check_tag(token)


def _in_single_quotes(tokens: Sequence[str], index: int) -> str:
    """The text that the quote at `index` begins, if another one ends it soon; else nothing."""
    words = []
    for token in tokens[index + 1 : index + _QUOTED_WORDS]:
        if token in '[](){}"' or token[0] in '";#':
            break
        words.append(token)
        if token[-1] == "'":
            return " ".join(words)[:-1].rstrip() or "…"
    return ""


# Words after a single quote that are looked at for its end.
_QUOTED_WORDS = 12

# What can be wrong with a text as a whole


def check_characters(text: str) -> int:
    """The text's bytes. Raises EDN_SYNTAX for half of a surrogate pair."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        what = f"U+{ord(text[error.start]):04X}, half of a surrogate pair, which is not a character"
        raise EdnError(f"the text has {what}", Lines(text).position(error.start)) from None


def _check_text(text: str, limits: Limits) -> None:
    size = len(text)
    if not text.isascii() and size <= limits.size:
        size = check_characters(text)
    if size > limits.size:
        message = f"the text has more than {limits.size:,} bytes, the most that is read; send it in parts"
        raise EdnError(message, None, Code.LIMIT_EXCEEDED)


def _refuse(text: str, index: int, message: str, offset: int = 0) -> NoReturn:
    raise EdnError(message, _position_of_token(text, index, offset)) from None


def _too_deep(text: str, index: int, limits: Limits) -> NoReturn:
    place = _position_of_token(text, index)
    raise EdnError(f"nested more than {limits.depth} deep", place, Code.LIMIT_EXCEEDED)


def _misplaced(text: str, token: str, index: int, opener: str, opened: int) -> NoReturn:
    if not opener:
        _refuse(text, index, f"{token} closes nothing; there is one too many, or its opening bracket is missing")
    place = _position_of_token(text, opened)
    where = f"at {place.line}:{place.column}"
    if is_prefix(opener):
        _refuse(text, index, f"{token} where {opener} {where} still needs a form after it")
    _refuse(text, index, f"{token} where {OPENING[opener]} was expected: {opener} {where} is still open")


def _unfinished(text: str, opener: str, opened: int) -> NoReturn:
    if is_prefix(opener):
        _refuse(text, opened, f"{opener} needs a form after it, but the text ends")
    lines, where = Lines(text), "at the end of the text"
    place = _position_of_token(text, opened)
    found = forgotten(text)
    if found is not None:
        place, before = map(lines.position, found)
        opener = "#{" if text.startswith("#{", found[0]) else text[found[0]]
        where = f"probably before {before.line}:{before.column}"
    missing = f"{OPENING[opener]} is missing, {where}"
    raise EdnError(f"{opener} at {place.line}:{place.column} is never closed; {missing}", place)


def _not_one(text: str, items: list[Value]) -> NoReturn:
    if not items:
        raise EdnError("the text holds no form: it is empty, or a comment", Position(1, 1))
    if items[0] in (Keyword("find"), Symbol("find")):
        raise EdnError("a query stands in brackets: [:find ?e :where [?e :person/name]]", Position(1, 1))
    message = f"{shown(items[1])} after the end of the form; one form is read, so put several into [ ]"
    raise EdnError(message, Lines(text).position(read_outline(text).children[1].offset))


def _duplicate(text: str, items: Sequence[Value], index: int, what: str, step: int) -> NoReturn:
    seen = set()
    for place, item in enumerate(items):
        if identity(item) in seen:
            raise EdnError(f"{what} {shown(item)} twice", _position_inside(text, index, place * step))
        seen.add(identity(item))
    raise AssertionError("no element is there twice")


def _position_of_token(text: str, index: int, offset: int = 0) -> Position:
    match = next(islice(TOKEN.finditer(text), index, None))
    return Lines(text).position(match.start() + offset)


def _position_inside(text: str, index: int, place: int) -> Position:
    """Where the element at `place` begins in the collection that the token at `index` closes."""
    return Lines(text).position(read_outline(text, upto=index).children[place].offset)


_UNEXPECTED = {
    '"': "the string is never closed; a closing quote is missing",
    "^": "metadata ^ is not EDN; leave it out",
    "@": "@ is not EDN; an argument is a variable that :in names, as in :in $ ?name",
    **dict.fromkeys("“”„‘’«»", 'text is written in straight double quotes, as in "Ada"'),
    "~": "~ is not EDN",
    "`": 'a syntax quote ` is not EDN; leave it out, or write text in double quotes, as in "Ada"',
}


def _unexpected(character: str) -> str:
    if character in _UNEXPECTED:
        return _UNEXPECTED[character]
    name = unicodedata.name(character, "a control character")
    printed = f"{character} " if character.isprintable() else ""
    return f"the character {printed}(U+{ord(character):04X}, {name}) is not EDN outside a string"
