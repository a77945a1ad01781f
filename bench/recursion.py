"""The recursion benchmarks on made data: closures, same generation, points-to, shortest paths, in every language.

SQL's recursion knows the rows of the last step alone: where others get a nonlinear closure, DuckDB gets the linear
one. For what is nonlinear by nature it has `recurring`, all rows so far. Answers are sums by the first column:
small to hand over, and different when a pair is missing.
"""

from __future__ import annotations

from typing import Final

from bench.work import Work, graph

_EVEN: Final = {"nemo": 1.0, "Cozo": 1.0, "DuckDB": 1.0}

# By formulation: the second rule, and the SQL that steps the same way.
_ADALOG_STEPS: Final = {
    "left": "(tc ?a ?b) [?b :g/to ?c]",
    "right": "[?a :g/to ?b] (tc ?b ?c)",
    "nonlinear": "(tc ?a ?b) (tc ?b ?c)",
}
_NEMO_STEPS: Final = {
    "left": "tc(?a, ?b), edge(?b, ?c)",
    "right": "edge(?a, ?b), tc(?b, ?c)",
    "nonlinear": "tc(?a, ?b), tc(?b, ?c)",
}
_COZO_STEPS: Final = {
    "left": "tc[a, b], *edge[b, c]",
    "right": "tc[b, c], *edge_back[b, a]",
    "nonlinear": "tc[a, b], tc[b, c]",
}
_LEFT_SQL: Final = "select tc.a, edge.b from tc join edge on edge.a = tc.b"
_RIGHT_SQL: Final = "select edge.a, tc.b from edge join tc on edge.b = tc.a"
_SQL_STEPS: Final = {"left": _LEFT_SQL, "right": _RIGHT_SQL, "nonlinear": _LEFT_SQL}


def _closure(form: str) -> dict[str, str]:
    return {
        "adalog": "[:find ?a (sum ?b) :where (tc ?a ?b)"
        f" :rules [[(tc ?a ?b) [?a :g/to ?b]] [(tc ?a ?c) {_ADALOG_STEPS[form]}]]]",
        "nemo": f"tc(?a, ?b) :- edge(?a, ?b) .\ntc(?a, ?c) :- {_NEMO_STEPS[form]} .\n"
        "out(?a, #sum(?b)) :- tc(?a, ?b) .",
        "Cozo": f"tc[a, b] := *edge[a, b]\ntc[a, c] := {_COZO_STEPS[form]}\n"
        "sums[a, sum(b)] := tc[a, b]\n?[a, total] := sums[a, s], total = to_int(s)",
        "DuckDB": f"with recursive tc(a, b) as (select a, b from edge union {_SQL_STEPS[form]})"
        " select a, sum(b)::bigint from tc group by a",
    }


_SAME_GENERATION: Final = {
    "adalog": "[:find ?a (sum ?b) :where (sg ?a ?b) :rules [[(sg ?a ?b) [?a :g/parent ?p] [?b :g/parent ?p]]"
    " [(sg ?a ?b) [?a :g/parent ?p] (sg ?p ?q) [?b :g/parent ?q]]]]",
    "nemo": "sg(?a, ?b) :- parent(?a, ?p), parent(?b, ?p) .\n"
    "sg(?a, ?b) :- parent(?a, ?p), sg(?p, ?q), parent(?b, ?q) .\n"
    "out(?a, #sum(?b)) :- sg(?a, ?b) .",
    "Cozo": "sg[a, b] := *parent[a, p], *parent_back[p, b]\n"
    "sg[a, b] := sg[p, q], *parent_back[p, a], *parent_back[q, b]\n"
    "sums[a, sum(b)] := sg[a, b]\n?[a, total] := sums[a, s], total = to_int(s)",
    "DuckDB": "with recursive sg(a, b) as (select x.a, y.a from parent x join parent y on x.b = y.b"
    " union select x.a, y.a from sg join parent x on x.b = sg.a join parent y on y.b = sg.b)"
    " select a, sum(b)::bigint from sg group by a",
}

# Andersen's analysis: what a variable may point to, and so what objects may.
_POINTS_TO: Final = {
    "adalog": "[:find ?v (sum ?o) :where (pt ?v ?o) :rules [[(pt ?v ?o) [?v :g/alloc ?o]]"
    " [(pt ?v ?o) [?v :g/assign ?w] (pt ?w ?o)]"
    " [(pt ?v ?o) [?v :g/load ?w] (pt ?w ?a) (pt ?a ?o)]"
    " [(pt ?a ?o) [?v :g/store ?w] (pt ?v ?a) (pt ?w ?o)]]]",
    "nemo": "pt(?v, ?o) :- alloc(?v, ?o) .\n"
    "pt(?v, ?o) :- assign(?v, ?w), pt(?w, ?o) .\n"
    "pt(?v, ?o) :- load(?v, ?w), pt(?w, ?a), pt(?a, ?o) .\n"
    "pt(?a, ?o) :- store(?v, ?w), pt(?v, ?a), pt(?w, ?o) .\n"
    "out(?v, #sum(?o)) :- pt(?v, ?o) .",
    "Cozo": "pt[v, o] := *alloc[v, o]\n"
    "pt[v, o] := pt[w, o], *assign_back[w, v]\n"
    "pt[v, o] := pt[w, a], *load_back[w, v], pt[a, o]\n"
    "pt[a, o] := pt[v, a], *store[v, w], pt[w, o]\n"
    "sums[v, sum(o)] := pt[v, o]\n?[v, total] := sums[v, s], total = to_int(s)",
    "DuckDB": "with recursive pt(v, o) using key (v, o) as (select a, b from alloc union select * from ("
    "select s.a as v, p.o from assign s join pt p on p.v = s.b"
    " union all select l.a, q.o from load l join pt p on p.v = l.b join recurring.pt q on q.v = p.o"
    " union all select l.a, q.o from load l join recurring.pt p on p.v = l.b join pt q on q.v = p.o"
    " union all select p.o, q.o from store s join pt p on p.v = s.a join recurring.pt q on q.v = s.b"
    " union all select p.o, q.o from store s join recurring.pt p on p.v = s.a join pt q on q.v = s.b"
    ") fresh where not exists (select 1 from recurring.pt k where k.v = fresh.v and k.o = fresh.o))"
    " select v, sum(o)::bigint from pt group by v",
}

_SHORTEST: Final = {
    "adalog": "[:find (count ?b) (sum ?d) :with ?b :in $ ?start :where (distance ?start ?b ?d) [(not= ?b ?start)]"
    " :rules [[(distance ?a ?b (min ?d)) [?e :weighted/a ?a] [?e :weighted/b ?b] [?e :weighted/w ?d]]"
    " [(distance ?a ?b (min ?d)) (distance ?a ?c ?far) [?e :weighted/a ?c] [?e :weighted/b ?b]"
    " [?e :weighted/w ?w] [(+ ?far ?w) ?d]]]]",
    "SciPy": "dijkstra",
    "NetworkX": "single_source_dijkstra_path_length",
    "Cozo": "distance[b, min(d)] := b = $start, d = 0\n"
    "distance[b, min(d)] := distance[a, far], *weighted[a, b, w], d = far + w\n"
    "sums[count(b), sum(d)] := distance[b, d], b != $start\n?[n, total] := sums[n, s], total = to_int(s)",
    "DuckDB": "with recursive distance(b, d) using key (b) as (select $start::bigint, 0::bigint union"
    " select e.b, min(n.d + e.w) from distance n join weighted e on e.a = n.b"
    " left join recurring.distance k on k.b = e.b where k.d is null or n.d + e.w < k.d group by e.b)"
    " select count(*), sum(d)::bigint from distance where b <> $start",
}


def work(quick: bool) -> list[Work]:
    """The part of the table that derives relations. quick: the same on a tenth of the facts or fewer."""
    closures = (
        ("sparse-500-1.2", "sparse-500-2", "chain-300")
        if quick
        else ("sparse-5000-1.2", "sparse-5000-2", "chain-2000")
    )
    family, pointers, weighted = (
        ("family-1300", "pointers-10000", "weighted-10")
        if quick
        else ("family-6500", "pointers-100000", "weighted-14")
    )
    listed = [
        Work(f"closure-{_short(data)}-{form}", f"transitive closure, {form}", data, _closure(form), bars=_EVEN)
        for data in closures
        for form in _ADALOG_STEPS
    ]
    hub = graph(weighted.replace("weighted-", "rmat")).hub()
    return [
        *listed,
        Work("same-generation", "same generation", family, _SAME_GENERATION, bars=_EVEN),
        Work("points-to", "points-to analysis (Andersen)", pointers, _POINTS_TO, bars=_EVEN),
        Work("shortest-path", "shortest paths from a hub by min-recursion", weighted, _SHORTEST, {"start": hub}),
    ]


def _short(data: str) -> str:
    kind, *numbers = data.split("-")
    return f"{kind}-{numbers[1]}" if len(numbers) > 1 else kind
