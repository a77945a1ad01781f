"""Texts of other languages that were sent as EDN, told by how they begin: what to say of them."""

from __future__ import annotations

import re
from typing import Final

_QUERY: Final = "[:find ?name :where [?e :person/name ?name]]"
_DATA: Final = '[{:person/name "Ada"}]'
_ATTRIBUTE: Final = "[{:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"
_SQL_PAGE: Final = '; "Coming from SQL" in the docs, coming-from/sql, has more'
_LANGUAGES: Final = (
    (
        r"\s*(?:insert\s+into|update\s+[\w.\"]+\s+set|merge\s+into)\b",
        f"this is SQL; data is added as EDN: {_DATA}{_SQL_PAGE}",
    ),
    (r"\s*delete\s+from\b", f"this is SQL; an entity is removed by [[:db/retractEntity 42]]{_SQL_PAGE}"),
    (
        r"\s*(?:create|alter|drop)\s+(?:table|index|view)\b",
        f"this is SQL; there are no tables: an attribute is declared by {_ATTRIBUTE}{_SQL_PAGE}",
    ),
    (r"\s*(?:select|with\s+\w+\s+as)\b", f"this is SQL; a query is EDN Datalog: {_QUERY}{_SQL_PAGE}"),
    (r"\s*(?:prefix\s+\w*:|construct\b|ask\s*\{)", f"this is SPARQL; a query is EDN Datalog: {_QUERY}"),
    (r"\s*(?:match|optional\s+match)\s*\(", f"this is Cypher; a query is EDN Datalog: {_QUERY}"),
    (
        r"\s*(?:(?:query|mutation|subscription)\b[^\[]*\{|\{\s*\w+\s*[({]|\{\s*\w+(?:[\s,]+\w+)*\s*\})",
        f"this is GraphQL, where EDN is wanted: the argument is EDN, such as {_QUERY}, or [:person/name] to pull",
    ),
    (
        r"[^\[{]*:-",
        "this is Prolog's notation; a rule is [(ancestor ?a ?d) [?a :person/child ?d]], its variables have a ?",
    ),
)
_PATTERNS: Final = tuple((re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in _LANGUAGES)
# How much of a text is looked at.
_BEGINNING: Final = 400


def other_language(text: str) -> str:
    """What to say of a text that is no EDN and begins as one of another language; empty: it does not."""
    beginning = text[:_BEGINNING]
    return next((advice for pattern, advice in _PATTERNS if pattern.match(beginning)), "")
