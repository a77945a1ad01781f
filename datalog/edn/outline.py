"""The tokens of EDN, and the outline of a text: where each form in it begins.

The outline is made of a text that the strict reader has accepted (up to the token it is asked for), so it checks
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adalog.datalog.watched import look

_SPACE = r" \t\n\r\f\v\x1c-\x1f"
_NAME = r"\w.*+!\-?$%&=<>|:/"

# Possessive quantifiers throughout: no text makes the expression look twice at what it has taken. What begins
# nothing known (an unclosed quote too) is a token of one character, for the reader to refuse.
TOKEN = re.compile(
    r"[\[\](){}]"
    rf"|[{_NAME}][{_NAME}#']*+"
    r'|"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    r"|;[^\n]*+"
    rf"|\#(?:\{{|_|\#[\w\-]*+|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|[a-zA-Z:][{_NAME}#']*+)"
    rf"|\\(?:\w++|[^{_SPACE}])?+"
    rf"|[^{_SPACE},]",
    re.DOTALL,
)

# Tokens between two looks at whether to go on, and at what is enough.
_LOOK = 1024

OPENING: Mapping[str, str] = {"[": "]", "(": ")", "{": "}", "#{": "}"}


DROPPING = frozenset(("#_", "^"))
"""Prefixes that leave out the form after them."""


def is_prefix(token: str) -> bool:
    """Whether the token belongs to the form after it: a tag, a discard `#_`, a quote, metadata `^String`."""
    return token in ("'", "^") or (token[:1] == "#" and token[1:2] not in ("", "{", "#", '"'))


class Node:
    """A form by the offset at which it begins, prefixes included, and the nodes inside it in written order."""

    __slots__ = ("children", "offset")

    def __init__(self, offset: int, children: list[Node]) -> None:
        self.offset = offset
        self.children = children


def read_outline(text: str, upto: int | None = None, within: int | None = None) -> Node:
    """The whole text as a node, or with `upto` the form that the token of this index completes.

    within: of the first form, where it is a collection without a prefix, so many elements are enough.
    """
    whole = Node(0, [])
    inner = whole
    stack: list[tuple[Node, str]] = []
    for index, match in enumerate(TOKEN.finditer(text)):
        if not index % _LOOK:
            look()
            if within is not None and stack and not whole.children and not is_prefix(stack[0][1]):
                first = inner if len(stack) == 1 else stack[1][0]
                if len(first.children) >= within:
                    whole.children.append(first)
                    break
        token = match[0]
        if token[0] == ";":
            continue
        if token in OPENING or is_prefix(token):
            stack.append((inner, token))
            inner = Node(match.start(), [])
            continue
        if token in ("]", ")", "}"):
            node = inner
            inner, _ = stack.pop()
        else:
            node = Node(match.start(), [])
        if index == upto:
            return node
        inner.children.append(node)
        while stack and is_prefix(stack[-1][1]):
            node = Node(inner.offset, node.children)
            inner, prefix = stack.pop()
            if prefix in DROPPING:
                break
            inner.children.append(node)
    return whole
