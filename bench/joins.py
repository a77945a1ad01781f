"""The join benchmarks on graphs: each piece of work in every language that a contestant reads.

adalog's aggregates run over the distinct tuples of find ∪ :with, so the texts name what is counted there; SQL and
Cypher count bags, which over distinct edges come to the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from bench.work import Work, graph

_HALF: Final = {"DuckDB": 0.5, "Ladybug": 0.5}
_EVEN: Final = {"DuckDB": 1.0, "Ladybug": 1.0}

_TRIANGLES: Final = {
    "adalog": "[:find (count ?c) . :with ?a ?b :where [?a :g/to ?b] [?a :g/to ?c] [?b :g/to ?c]]",
    "DuckDB": "select count(*) from edge x join edge y on x.b = y.a join edge z on z.a = x.a and z.b = y.b",
    "Ladybug": "MATCH (a:V)-[:E]->(b:V)-[:E]->(c:V), (a)-[:E]->(c) RETURN count(*)",
    "Oxigraph": "SELECT (count(*) AS ?n) { ?a <e:to> ?b . ?b <e:to> ?c . ?a <e:to> ?c }",
    "Cozo": "?[count(c)] := *edge[a, b], *edge[b, c], *edge[a, c]",
    "DataScript": '[:find (count ?c) . :with ?a ?b :where [?a "to" ?b] [?b "to" ?c] [?a "to" ?c]]',
}

_TRIANGLE_ROWS: Final = {
    "adalog": "[:find ?a ?b ?c :where [?a :g/to ?b] [?a :g/to ?c] [?b :g/to ?c]]",
    "DuckDB": "select x.a, x.b, y.b as c from edge x join edge y on x.b = y.a"
    " join edge z on z.a = x.a and z.b = y.b",
    "Ladybug": "MATCH (a:V)-[:E]->(b:V)-[:E]->(c:V), (a)-[:E]->(c) RETURN a.id, b.id, c.id",
}

_CLIQUES: Final = {
    "adalog": "[:find (count ?d) . :with ?a ?b ?c :where [?a :g/to ?b] [?a :g/to ?c] [?a :g/to ?d]"
    " [?b :g/to ?c] [?b :g/to ?d] [?c :g/to ?d]]",
    "DuckDB": "select count(*) from edge ab join edge bc on bc.a = ab.b join edge ac on ac.a = ab.a and ac.b = bc.b"
    " join edge cd on cd.a = bc.b join edge bd on bd.a = ab.b and bd.b = cd.b"
    " join edge ad on ad.a = ab.a and ad.b = cd.b",
    # Its own order of the joins above takes minutes.
    "DuckDB by hand": "with t as materialized (select x.a, x.b, y.b as c from edge x join edge y on x.b = y.a"
    " join edge z on z.a = x.a and z.b = y.b)"
    " select count(*) from t join t u on u.a = t.b and u.b = t.c join edge ad on ad.a = t.a and ad.b = u.c",
    "Ladybug": "MATCH (a:V)-[:E]->(b:V)-[:E]->(c:V)-[:E]->(d:V), (a)-[:E]->(c), (a)-[:E]->(d), (b)-[:E]->(d)"
    " RETURN count(*)",
    "Oxigraph": "SELECT (count(*) AS ?n) { ?a <e:to> ?b . ?b <e:to> ?c . ?a <e:to> ?c ."
    " ?c <e:to> ?d . ?b <e:to> ?d . ?a <e:to> ?d }",
    "Cozo": "?[count(d)] := *edge[a, b], *edge[b, c], *edge[a, c], *edge[c, d], *edge[b, d], *edge[a, d]",
    "DataScript": '[:find (count ?d) . :with ?a ?b ?c :where [?a "to" ?b] [?b "to" ?c] [?a "to" ?c]'
    ' [?c "to" ?d] [?b "to" ?d] [?a "to" ?d]]',
}


def _paths(edges: int) -> dict[str, str]:
    """Paths of so many edges from $start, in each language. A path may pass a vertex twice."""
    names = "abcdefg"[: edges + 1]
    pairs = list(pairwise(names))
    clauses = [f"?{x} :g/to ?{y}" for x, y in pairs]
    last, inner = names[-1], " ".join(f"?{name}" for name in names[1:-1])
    where = " ".join(f"[{clause}]" for clause in clauses)
    joins = " ".join(f"join edge e{i} on e{i - 1}.b = e{i}.a" for i in range(1, edges))
    pattern = "(a:V)" + "".join(f"-[:E]->({name}:V)" for name in names[1:])
    return {
        "adalog": f"[:find (count ?{last}) . :with {inner} :in $ ?a :where {where}]",
        "DuckDB": f"select count(*) from edge e0 {joins} where e0.a = $start",
        "Ladybug": f"MATCH {pattern} WHERE a.id = $start RETURN count(*)",
        "Cozo": f"?[count({last}, {', '.join(names[1:-1])})] := a = $start, "
        + ", ".join(f"*edge[{x}, {y}]" for x, y in pairs),
    }


def _all_paths(edges: int) -> dict[str, str]:
    """The same from every start: by hand, DuckDB sums weights level by level."""
    bound = _paths(edges)
    weights = "with w1 as (select a, count(*) as w from edge group by a)" + "".join(
        f", w{i} as (select edge.a as a, sum(w{i - 1}.w) as w from edge join w{i - 1} on edge.b = w{i - 1}.a"
        " group by edge.a)"
        for i in range(2, edges + 1)
    )
    return {
        "adalog": bound["adalog"].replace(" :in $ ?a", "").replace(":with", ":with ?a"),
        "DuckDB": bound["DuckDB"].replace(" where e0.a = $start", ""),
        "DuckDB by hand": f"{weights} select sum(w)::bigint from w{edges}",
        "Ladybug": bound["Ladybug"].replace(" WHERE a.id = $start", ""),
    }


_STRANGERS: Final = {
    "adalog": "[:find ?a (count ?c) :in $ [?a ...] :where [?a :g/to ?b] [?b :g/to ?c] (not [?a :g/to ?c])"
    " [(not= ?a ?c)]]",
    "DuckDB": "select a, count(*) from (select distinct x.a, y.b as c from (select unnest($people) as s) starts"
    " join edge x on x.a = s join edge y on y.a = x.b where x.a <> y.b"
    " and not exists (select 1 from edge z where z.a = x.a and z.b = y.b)) group by a",
    "Ladybug": "MATCH (a:V)-[:E]->(b:V)-[:E]->(c:V) WHERE a.id IN $people AND c.id <> a.id"
    " AND NOT EXISTS { MATCH (a)-[:E]->(c) } RETURN a.id, count(DISTINCT c.id)",
}


def work(quick: bool) -> list[Work]:
    """The graph part of the issue's table. quick: the same on graphs of a sixth of the edges or fewer."""
    large, middle, small = ("rmat14", "rmat12", "rmat10") if quick else ("rmat16", "rmat14", "rmat10")
    some = graph(large)
    starts = tuple(some.starts(1_000).tolist())
    bounds = {"a hub": some.hub(), "an ordinary vertex": some.ordinary()}
    listed = [
        Work(
            "triangles",
            "directed triangles, counted",
            large,
            _only(_TRIANGLES, "adalog DuckDB Ladybug"),
            bars={"Ladybug": 0.6, "DuckDB": 0.25},
        ),
        Work(
            "triangle-rows", "directed triangles, all rows to Arrow", large, _TRIANGLE_ROWS, arrow=True, bars=_EVEN
        ),
        Work(
            "triangles-everyone",
            "directed triangles, counted, with the slower peers",
            middle,
            _only(_TRIANGLES, "adalog DuckDB Ladybug Oxigraph Cozo"),
        ),
        Work("triangles-small", "directed triangles, counted, with the slowest peers", small, _TRIANGLES),
        Work(
            "cliques",
            "4-cliques, counted",
            middle,
            _only(_CLIQUES, "adalog DuckDB Ladybug") | {"DuckDB by hand": _CLIQUES["DuckDB by hand"]},
            bars=_HALF | {"DuckDB by hand": 0.5},
        ),
        Work("cliques-small", "4-cliques, counted, with the slowest peers", small, _CLIQUES),
    ]
    listed += [
        Work(
            f"paths-{edges}-{where.split()[-1]}",
            f"{edges}-paths from {where}, counted",
            large,
            _only(_paths(edges), "adalog DuckDB Ladybug"),
            {"start": start},
            bars=_EVEN,
        )
        for edges in (3, 4)
        for where, start in bounds.items()
    ]
    listed += [
        Work(f"paths-{edges}-all", f"{edges}-paths from every start, counted", data, _all_paths(edges), bars=_EVEN)
        for edges, data in ((3, large), (4, large))
    ]
    listed.append(
        Work(
            "strangers",
            "friends of friends that are not friends, of 1,000 starts",
            large,
            _STRANGERS,
            {"people": starts},
            bars={"DuckDB": 1.0},
        )
    )
    return listed


def _only(texts: dict[str, str], contestants: str) -> dict[str, str]:
    return {name: texts[name] for name in contestants.split()}
