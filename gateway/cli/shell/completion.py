"""What may be typed next: commands, attributes, built-ins, words of the language, and names in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.gateway.cli.shell.session import COMMANDS
from adalog.gateway.cli.shell.statements import is_whole, statements

_SECTIONS: Final = (
    *(":find", ":in", ":where", ":with", ":rules", ":having"),
    *(":order-by", ":limit", ":offset", ":keys", ":strs", ":syms"),
)
_TRANSACTION: Final = (
    *(":db/add", ":db/retract", ":db/retractEntity", ":db/cas", ":db/id", ":db/ident"),
    *(":db/valueType", ":db/cardinality", ":db/unique", ":db/doc"),
    *(":db.cardinality/one", ":db.cardinality/many", ":db.unique/identity", ":db.unique/value"),
    *(f":db.type/{name}" for name in ("string", "long", "double", "boolean", "keyword", "ref", "instant", "uuid")),
)
_CLAUSES: Final = ("and", "or", "or-join", "not", "not-join", "optional", "pull", "q")
_WORD: Final = re.compile(r"[^\s\[\](){}\",]*$")
_VARIABLE: Final = re.compile(r"\?[\w.*+!\-?$%&=<>|:/]+")
# The first word of a list within a vector: what rules are defined or called by, too.
_CALLED: Final = re.compile(r"\(([a-zA-Z][\w.*+!\-?/<>=]*)")
_FILES: Final = (":source", ":save")


class EdnCompleter(Completer):
    """attributes: gives the idents of the attributes, without asking a server."""

    def __init__(self, attributes: Callable[[], Sequence[str]]) -> None:
        self._attributes = attributes
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        command, space, path = before.lstrip().partition(" ")
        if space and command in _FILES:
            yield from self._files.get_completions(Document(path, len(path)), complete_event)
            return
        word = _WORD.search(before)
        typed = "" if word is None else word[0]
        for each in sorted(set(self._candidates(before, typed, document.text))):
            if each.startswith(typed) and each != typed:
                yield Completion(each, -len(typed))

    def _candidates(self, before: str, typed: str, text: str) -> Iterable[str]:
        begun = before[: len(before) - len(typed)]
        if typed.startswith(":"):
            # Commands stand at the beginning.
            if not begun.strip():
                return COMMANDS
            return (*self._attributes(), *_SECTIONS, *_TRANSACTION)
        if typed.startswith("?"):
            return _VARIABLE.findall(f"{begun} {text[len(before) :]}")
        if begun.endswith("("):
            return (*BUILTINS, *AGGREGATES, *_CLAUSES, *_CALLED.findall(text))
        if not typed and begun.strip() and not is_whole(begun):
            return _VARIABLE.findall(text)
        last = statements(begun)[-1:]
        if last and last[0].command == ":describe":
            return (each.removeprefix(":") for each in self._attributes())
        return ()
