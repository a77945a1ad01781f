"""Subgraphs of a social network, counted: the nine queries of LSQB, over a made network of that shape.

Source of the queries: Mhedhbi et al., "LSQB: A Large-Scale Subgraph Query Benchmark" (GRADES-NDA 2021). Theirs runs
over files of LDBC's generator; here each kind of edge is a table of pairs, for every contestant alike.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from bench.work import Work

# "a table b" is an edge from a to b, with `not` before it that there is none, with "?" an optional one. "a <> b":
# two that differ.
_QUERIES: Final = {
    1: "city part country; person located city; forum member person; forum container post; comment reply_post post;"
    " comment comment_tag tag; tag type class",
    2: "one knows other; comment creator one; comment reply_post post; post creator other",
    3: "x part country; y part country; z part country; a located x; b located y; c located z;"
    " a knows b; b knows c; c knows a",
    4: "message tag topic; message creator author; liker likes message; comment reply message",
    5: "message tag one; comment reply message; comment comment_tag other; one <> other",
    6: "a knows b; b knows c; c interest topic; a <> c",
    7: "message tag topic; message creator author; ? liker likes message; ? comment reply message",
    8: "message tag one; comment reply message; comment comment_tag other; one <> other;"
    " not comment comment_tag one",
    9: "a knows b; b knows c; c interest topic; a <> c; not a knows c",
}


def work(quick: bool) -> list[Work]:
    """The nine queries over some 599,000 edges. quick: over a sixth of them."""
    data = "network-300" if quick else "network-1700"
    return [
        Work(
            f"lsqb-{number}",
            f"LSQB's query {number}, counted",
            data,
            {"adalog": _datalog(parts), "DuckDB": _sql(parts), "Ladybug": _cypher(parts)},
            bars={"DuckDB": 1.0, "Ladybug": 1.0},
        )
        for number, parts in ((number, _parts(text)) for number, text in _QUERIES.items())
    ]


def _parts(text: str) -> list[tuple[str, str, str, str]]:
    """(`""`, `not`, `?` or `<>`; a; table; b) of each part."""
    found = []
    for part in text.split(";"):
        words = re.fullmatch(r"\s*(not|\?|) ?(\w+) (\w+|<>) (\w+)", part)
        assert words is not None, part
        kind, a, table, b = words.groups()
        found.append(("<>" if table == "<>" else kind, a, table, b))
    return found


def _datalog(parts: list[tuple[str, str, str, str]]) -> str:
    forms = {"": "[?{0} :g/{1} ?{2}]", "not": "(not [?{0} :g/{1} ?{2}])", "<>": "[(not= ?{0} ?{2})]"}
    forms["?"] = "(optional [?{0} :g/{1} ?{2}])"
    names = list(dict.fromkeys(chain.from_iterable((a, b) for _, a, _, b in parts)))
    clauses = " ".join(forms[kind].format(a, table, b) for kind, a, table, b in parts)
    first, *others = (f"?{name}" for name in names)
    return f"[:find (count {first}) . :with {' '.join(others)} :where {clauses}]"


def _sql(parts: list[tuple[str, str, str, str]]) -> str:
    """Joins in the order of the patterns, as in LSQB's SQL; `not` is an outer join without a match."""
    tables, conditions = "", []
    places: dict[str, str] = {}
    for number, (kind, a, table, b) in enumerate(parts):
        if kind == "<>":
            conditions.append(f"{places[a]} <> {places[b]}")
            continue
        alias = f"e{number}"
        sides = {a: f"{alias}.a", b: f"{alias}.b"}
        ties = [f"{places[name]} = {side}" for name, side in sides.items() if name in places]
        join = "join" if kind == "" else "left join"
        tied = f" on {' and '.join(ties)}" if ties else " on true"
        tables += f" {join} {table} {alias}{tied}" if tables else f"{table} {alias}"
        if kind == "not":
            conditions.append(f"{alias}.a is null")
        for name, side in sides.items():
            places.setdefault(name, side)
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return f"select count(*) from {tables}{where}"


def _cypher(parts: list[tuple[str, str, str, str]]) -> str:
    def edge(a: str, table: str, b: str) -> str:
        return f"(v_{a}:V)-[:`{table}`]->(v_{b}:V)"

    plain = ", ".join(edge(a, table, b) for kind, a, table, b in parts if kind == "")
    conditions = [f"v_{a}.id <> v_{b}.id" for kind, a, _, b in parts if kind == "<>"]
    conditions += [f"NOT (v_{a})-[:`{table}`]->(v_{b})" for kind, a, table, b in parts if kind == "not"]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    optional = "".join(f" OPTIONAL MATCH {edge(a, table, b)}" for kind, a, table, b in parts if kind == "?")
    return f"MATCH {plain}{where}{optional} RETURN count(*)"
