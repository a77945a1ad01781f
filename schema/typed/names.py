"""How idents become GraphQL names: types in Pascal case, fields in camel case, members of enums in capitals.

Plurals follow the few rules of English that hold for names of tables, and a list of exceptions. A library would
bring a dictionary of the language; `:graphql/plural` is the remedy for what is missing here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Names of which the spelling is kept: a schema is read again after each change of it.
_KEPT: Final = 16_384
_NAME: Final = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
_SEPARATOR: Final = re.compile(r"[-._/]+")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]|[0-9]+")
_IRREGULAR: Final = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "goose": "geese",
    "mouse": "mice",
    "ox": "oxen",
    "datum": "data",
    "medium": "media",
    "criterion": "criteria",
    "phenomenon": "phenomena",
    "analysis": "analyses",
    "basis": "bases",
    "crisis": "crises",
    "diagnosis": "diagnoses",
    "hypothesis": "hypotheses",
    "thesis": "theses",
    "index": "indexes",
    "quiz": "quizzes",
    "leaf": "leaves",
    "half": "halves",
    "shelf": "shelves",
    "self": "selves",
    "life": "lives",
    "knife": "knives",
    "wife": "wives",
    "hero": "heroes",
    "echo": "echoes",
    "potato": "potatoes",
    "tomato": "tomatoes",
}
# Words whose plural is the same, so that a list needs another name.
_UNCOUNTABLE: Final = frozenset(
    ("equipment", "information", "metadata", "money", "news", "rice", "series", "sheep", "fish", "species")
)


@lru_cache(_KEPT)
def is_spellable(name: str) -> bool:
    """Whether it is a name in GraphQL; names that begin with `__` belong to introspection."""
    return _NAME.fullmatch(name) is not None


def _parts(text: str) -> list[str]:
    return [each for each in _SEPARATOR.split(text) if each]


@lru_cache(_KEPT)
def pascal(text: str) -> str:
    """`shop.order-line` → `ShopOrderLine`."""
    return "".join(each[0].upper() + each[1:] for each in _parts(text))


@lru_cache(_KEPT)
def camel(text: str) -> str:
    """`due-date` → `dueDate`, `URL` → `url`."""
    first, *rest = _parts(text) or [""]
    head = _WORD.match(first)
    length = 0 if head is None else head.end()
    return first[:length].lower() + first[length:] + "".join(each[0].upper() + each[1:] for each in rest)


@lru_cache(_KEPT)
def capitals(text: str) -> str:
    """`in-progress` → `IN_PROGRESS`, `dueDate` → `DUE_DATE`."""
    words = (
        word
        for part in _parts(text)
        for word in (_WORD.findall(part) if part.isascii() and part.isalnum() else [part])
    )
    return "_".join(words).upper()


@lru_cache(_KEPT)
def plural(name: str) -> str:
    """The plural of a name in camel case: `lineItem` → `lineItems`. Of what has none, a list: `newsList`."""
    words = _WORD.findall(name)
    last = words[-1] if words else name
    stem, word = name[: len(name) - len(last)], last.lower()
    if word in _UNCOUNTABLE:
        return name + "List"
    irregular = _IRREGULAR.get(word)
    if irregular is not None:
        return stem + last[0] + irregular[1:]
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return name[:-1] + "ies"
    return name + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


@lru_cache(_KEPT)
def derived(name: str, many: str) -> tuple[str, ...]:
    """All names of types that one type needs. many: the name of its list."""
    return (name, *(name + suffix for suffix in _SUFFIXES), f"{upper(many)}Payload")


_SUFFIXES: Final = (
    *("Connection", "Edge", "Aggregate", "Group", "Where", "ListWhere", "OrderBy", "Field", "Unique"),
    *("CreateInput", "UpdateInput", "RefInput", "RefUpdateInput", "RefsInput", "Payload", "LiveEvent"),
)


def upper(name: str) -> str:
    """`issues` → `Issues`."""
    return name[:1].upper() + name[1:]


def payload_field(name: str) -> str:
    """The field of a payload that shows what was changed, by the name of its root field."""
    return f"{name}Value" if name in ("t", "report") else name
