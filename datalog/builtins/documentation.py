"""What each built-in does, in the words of the reference page, for clients that complete queries.

The page is the only text about built-ins: `reference.md` is a link to it, and a file of its own in a wheel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

_AGGREGATES: Final = "Aggregates"
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW: Final = re.compile(r"^\| `(\((\S+?)[ )].*?)` \| (?:`(.+?)`|refused) \| (.*?) ?\|$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
# `(count (tx-data $ 3))` is the example of `tx-data`.
_WITHIN: Final = re.compile(r"\(tx-data [^()]*\)")


@dataclass(frozen=True, slots=True)
class BuiltinDoc:
    """`usage`: an example of a call, `value`: what it gives (None: it is refused). `doc`: a few words, with code
    between backticks; may be empty. `section`: of the page."""

    name: str
    section: str
    usage: str
    value: str | None
    doc: str

    @property
    def is_aggregate(self) -> bool:
        return self.section == _AGGREGATES


@cache
def builtin_docs() -> tuple[BuiltinDoc, ...]:
    """The functions and aggregates of the reference page, in its order: the first example of each."""
    page = files(__package__).joinpath("reference.md").read_text("utf-8")
    _, *parts = _SECTION.split(page)
    found: dict[tuple[str, bool], BuiltinDoc] = {}
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        for each in _rows(section, text):
            found.setdefault((each.name, each.is_aggregate), each)
    return tuple(found.values())


def _rows(section: str, text: str) -> Iterator[BuiltinDoc]:
    for usage, name, value, doc in _ROW.findall(text):
        within = _WITHIN.search(usage)
        if within is not None:
            usage, name, value = within[0], "tx-data", ""
        yield BuiltinDoc(name, section, usage, value or None, _LINK.sub(r"\1", doc.replace("\\|", "|")))
