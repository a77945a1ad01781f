"""What hostile clients send to a gateway with the sample data: each attack by its name, as requests or as a way to send.

A request made without a timeout of its own has the server's. Nothing here measures.
"""

# An attack is a line, however long its query.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Final

ADDRESS: Final = "127.0.0.2"
_JSON: Final = {"Content-Type": "application/json"}
_DEFAULT_MS: Final = 60_000


@dataclass(frozen=True)
class Sent:
    """One request. `ms`: the timeout that it asks for, or has."""

    body: bytes
    ms: int = _DEFAULT_MS
    headers: Mapping[str, str] = field(default_factory=lambda: _JSON)


@dataclass(frozen=True)
class Attack:
    """`requests` are sent by so many `clients` at once, each `times`. `before`: what must be asked first, and is no
    attack. `wire`: what is done on sockets instead, within the stack; the requests are sent meanwhile."""

    requests: Sequence[Sent]
    clients: int = 1
    before: Sequence[Sent] = ()
    wire: Callable[[int, ExitStack], None] | None = None


def document(text: str, within: int = _DEFAULT_MS, /, **variables: Any) -> Sent:
    """A GraphQL request."""
    return Sent(json.dumps({"query": text, "variables": variables}).encode(), within)


_ASK: Final = (
    "query($q: EDN!, $args: [JSON!], $edn: [EDN!], $ms: Int, $first: Int, $engine: Engine, $with: EDN)"
    "{ q(query: $q, args: $args, argsEdn: $edn, timeoutMs: $ms, first: $first, engine: $engine, with: $with) { value } }"
)


def asked(query: str, *args: Any, ms: int = 2_000, **more: Any) -> Sent:
    """A query."""
    return document(_ASK, ms, q=query, args=list(args) or None, **{"ms": ms, **more})


def transacted(tx: str, **more: Any) -> Sent:
    """A transaction."""
    return document(
        "mutation($tx: EDN!, $k: String) { transact(tx: $tx, idempotencyKey: $k) { t } }", tx=tx, **more
    )


def _aliases(field: str, declared: str = "", ms: int = 2_000, **variables: Any) -> Attack:
    """Thirty of one field. `{n}` in it is the number of each."""
    fields = " ".join(f"f{n}: {field.replace('{n}', str(n))}" for n in range(30))
    declared = f"($ms: Int{declared})"
    return Attack([document(f"query{declared} {{ {fields} }}", ms, ms=ms, **variables)])


_JOIN: Final = (
    "[:find (count ?a) . :with ?b ?c ?d :where [?a :package/depends ?b] [?b :package/depends ?c]"
    " [?a :package/depends ?d] [?d :package/depends ?c] [?a :package/size ?s] [(< 100{n} ?s)]]"
)
_PAIRS: Final = "[?a :package/size ?x] [?b :package/size ?y]"
_NEEDS: Final = "[[(needs ?a ?b) [?a :package/depends ?b]] [(needs ?a ?c) (needs ?a ?b) [?b :package/depends ?c]]]"
_ID: Final = "[:find ?x . :in $ ?x]"
_COUNT: Final = "[:find (count ?x) . :in $ [?x ...]]"
_SLOW: Final = (
    "[:find ?op ?a ?at ?s :where [?a :package/size ?v] [?b :package/size ?w] [(+ ?v ?w) ?s] [(< ?s 0)]"
    " [(ground :db/add) ?op] [(ground :n/value) ?at]]"
)
_EVERY: Final = "[:find ?p ?n ?s :where [?p :package/name ?n] [?p :package/summary ?s]]"


def _doubling(depth: int) -> str:
    pairs = " ".join(f"fragment F{i} on Query {{...F{i + 1} ...F{i + 1}}}" for i in range(depth))
    return f"{{...F0}} {pairs} fragment F{depth} on Query {{database {{basisT}}}}"


def _nested(levels: int, tag: str) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {tag: [value]}
    return value


def _entities(count: int) -> str:
    return "[" + " ".join(f'{{:db/id "e{i}" :hostile/n {i} :hostile/s "s{i}"}}' for i in range(count // 2)) + "]"


def _nested_or(depth: int) -> str:
    """An `or` of two within an `or` of two, and so on."""
    return (
        "[?a :package/size ?x]"
        if not depth
        else f"(or {_nested_or(depth - 1)} (and [?a :package/size ?x] [(< {depth} ?x)]))"
    )


def _collisions(count: int) -> list[int]:
    """Longs that a hash without a seed puts into one place."""
    return [n << 40 for n in range(count)]


# Before there is a query

DOCUMENTS: Final = {
    "30 aliases of q": _aliases(f'q(query: "{_JOIN}", timeoutMs: $ms) {{ value }}'),
    "30 aliases of q, all rows": _aliases("q(query: $q, timeoutMs: $ms) { rows }", ", $q: EDN!", q=_EVERY),
    "30 aliases of q, other rows": _aliases(
        'q(query: "[:find ?p ?s :where [?p :package/size ?s] [(< {n} ?s)]]", timeoutMs: $ms, first: 60000) { rows value }'
    ),
    "30 aliases of pull": _aliases(
        'pull(pattern: "[* {:package/_depends [* {:package/_depends [*]}]}]", eid: "[:package/name \\"libc6\\"]",'
        " timeoutMs: $ms)"
    ),
    "30 aliases of pullMany": _aliases(
        'pullMany(pattern: "[* {:package/depends [* {:package/depends [*]}]}]", eids: $e, timeoutMs: $ms)',
        ", $e: [EDN!]!", e=[str(n) for n in range(1, 20_000)],
    ),
    "30 aliases of explain": _aliases(f'explain(query: "{_JOIN}", timeoutMs: $ms) {{ text plan }}'),
    "30 aliases of explain analyze": _aliases(f'explain(query: "{_JOIN}", analyze: true, timeoutMs: $ms) {{ text plan }}'),
    "30 aliases of attributes": _aliases("attributes { ident valueType cardinality datomCount doc }", ms=60_000),
    "30 aliases of database": _aliases("database { basisT datomCount entityCount txInstant }", ms=60_000),
    "30 aliases of datoms": _aliases(
        "datoms(index: EAVT, first: 1000000, timeoutMs: $ms) { datoms { e a v t added } pageInfo { endCursor } }"
    ),
    "30 aliases of transactions": _aliases(
        "transactions(first: 1000000, timeoutMs: $ms) { t tempids datoms { e a v t added } }"
    ),
    "30 aliases of with": _aliases(
        'q(query: "[:find (count ?e) . :where [?e :hostile/n]]", with: $w, timeoutMs: $ms) { value }',
        ", $w: EDN", w=_entities(20_000),
    ),
    "30 aliases of introspection": Attack([document(
        "{" + " ".join(f"a{i}: __schema {{ types {{ name fields {{ name type {{ name ofType {{ name }} }} args {{ name }} }} }} }}" for i in range(30)) + "}"
    )], 4),
    "28 fragments that double": Attack([document(_doubling(28))], 4),
    "200 fragments that double": Attack([document(_doubling(200))], 4),
    "directives by the thousand": Attack([document("{database{basisT " + "@skip(if:false) " * n + "}}") for n in (700, 1_300, 20_000)], 2),
    "overlapping fields": Attack([document("{" + "database{basisT datomCount}" * n + "}") for n in (300, 900)]
                                 + [document("{" + "datoms(index:EAVT){datoms{e a v}}" * 250 + "}")], 4),
    "long names": Attack([document("{" + "x" * n + ": database{basisT}}") for n in (300_000, 1_900_000)], 4),
    "wrong fields": Attack([document("{" + " ".join(f"x{i}" for i in range(900)) + "}")], 4),
    "documents never seen": Attack([document(f"{{a{n}: database {{ basisT }} " + " ".join(f"b{i}: __typename" for i in range(29)) + "}") for n in range(300)], 4),
    "a document of brackets": Attack([Sent(json.dumps({"query": "{" * 100_000}).encode()), Sent(json.dumps({"query": "{a(b:" + "[" * 3_000}).encode())], 4),
    "huge variables": Attack([asked(_ID, "x" * 7_000_000), document("{database{basisT}}", x=["y" * 100] * 70_000)], 4),
    "a million values": Attack([asked(_ID, [[] for _ in range(900_000)])], 2),
    "deep lists": Attack([
        Sent(b'{"query":"{database{basisT}}","variables":{"x":' + b"[" * n + b"]" * n + b"}}") for n in (900, 100_000, 3_000_000)
    ], 2),
    "batched GraphQL": Attack([Sent(json.dumps([{"query": "{database{basisT}}"}] * 1_000).encode())], 4),
    "gzipped requests": Attack([Sent(gzip.compress(b'{"query":"{database{basisT}}' + b" " * 200_000_000 + b'"}'), 2_000, {**_JSON, "Content-Encoding": "gzip"})], 4),
    "timeouts": Attack([asked(_JOIN, ms=ms) for ms in (0, -1, 1, -(1 << 31))] + [asked(_ID, 1, ms=ms) for ms in (2**31 - 1, 2**31, 2**63)]),
}  # fmt: skip

# Values

VALUES: Final = {
    "tagged JSON: exponents": Attack([asked(_ID, {"#dec": text}) for text in ("1e300000000", "1e-300000000", "1e4001")], 2),
    "tagged JSON: digits": Attack([asked(_ID, {tag: "9" * 1_200_000}) for tag in ("#bigint", "#dec", "#long")], 2),
    "tagged JSON: nested": Attack([asked(_ID, _nested(200, tag)) for tag in ("#set", "#list")]
                                  + [asked(_ID, [_nested(20, "#set") for _ in range(20_000)])], 2),
    "tagged JSON: sets of equals": Attack([asked(_ID, {"#set": [[n % 7, "x"] for n in range(100_000)]})], 2),
    "argsEdn of 100,000": Attack([asked(_ID, edn=[str(n) for n in range(100_000)])], 2),
    "one argument of 100,000 numbers": Attack([asked(_COUNT, edn=["[" + " ".join(map(str, range(100_000))) + "]"])], 4),
    "one argument of nested maps": Attack([asked(_ID, edn=["[" + "{:a {:b #{1 2}}} " * 50_000 + "]"])], 4),
    "a collection of 500,000": Attack([asked(_COUNT, list(range(500_000)))], 4),
    "a relation of 300,000": Attack([asked(
        "[:find (count ?x) . :with ?y :in $ [[?x ?y]] :where [?p :package/size ?x]]", [[n, str(n)] for n in range(300_000)]
    )], 4),
    "two relations, crossed": Attack([asked(
        "[:find (max ?z) . :in $ [?x ...] [?y ...] :where [(+ ?x ?y) ?z]]", list(range(60_000)), list(range(60_000))
    )], 4),
    "chosen longs": Attack([asked("[:find (count ?x) . :in $ [?x ...] :where [(* ?x 1) ?y] [(+ ?y 0) ?x]]", _collisions(100_000))], 4),
    "long literals, never the same": Attack([
        asked('[:find ?x . :where [(ground "' + f"{n:06}" + "x" * 500_000 + '") ?x]]') for n in range(200)
    ], 4),
    "queries never seen": Attack([asked(f"[:find ?p . :where [?p :package/size {n}]]") for n in range(1_000)], 4),
}  # fmt: skip

# Work

WORK: Final = {
    "four joins of seconds": Attack([asked(_JOIN.replace("{n}", str(n)), ms=5_000) for n in range(8)], 4),
    "16 closures": Attack([
        asked(f"[:find (count ?b) . :with ?a :where [?a :package/size ?s] [(< {n} ?s)] (needs ?a ?b) :rules {_NEEDS}]", ms=4_000) for n in range(16)
    ], 16),
    "50 heavy ones": Attack([asked(_JOIN.replace("{n}", str(n)), ms=6_000) for n in range(52)], 52),
    "rand of a million by group": Attack([asked(f"[:find ?x (rand 1000000 ?b) :where {_PAIRS}]")], 4),
    "sample, min, max of a million": Attack([asked(f"[:find ?x ({name} 1000000 ?y) :where {_PAIRS}]") for name in ("sample", "min", "max")], 3),
    "distinct": Attack([asked(f"[:find (distinct ?z) . :where {_PAIRS} [(+ ?x ?y) ?z]]"), asked(f"[:find ?x (distinct ?y) :where {_PAIRS}]")], 4),
    "groups of 50 million": Attack([asked(f"[:find ?a ?b (count ?x) :where {_PAIRS}]", ms=8_000)], 4),
    "count-distinct, median": Attack([asked(f"[:find ({name} ?z) . :with ?a ?b :where {_PAIRS} [(+ ?x ?y) ?z]]", ms=4_000) for name in ("count-distinct", "median")], 4),
    "all rows of a cross product": Attack([asked(f"[:find ?a ?b :where {_PAIRS}]", ms=5_000)], 4),
    "a count of a cross product": Attack([asked(f"[:find (count ?a) . :with ?b ?c :where {_PAIRS} [?c :package/size ?z]]", ms=4_000)], 4),
    "six-fold cross product": Attack([asked("[:find (count ?a) . :with ?b ?c ?d ?e ?f :where " + " ".join(f"[?{v} :package/name]" for v in "abcdef") + "]", ms=4_000)], 2),
    "order-by of millions": Attack([asked(f"[:find ?x ?y ?a ?b :where {_PAIRS} [(< ?x 3000)] :order-by ?y ?x :limit 10]", ms=4_000),
                                    asked("[:find ?s ?t :where [?a :package/summary ?s] [?b :package/tag ?t] :order-by ?t ?s :limit 10]", ms=4_000)], 4),
    "huge limits and offsets": Attack([asked(f"[:find ?x ?y :where {_PAIRS} :limit {n} :offset {m}]", ms=3_000)
                                       for n, m in ((999_999_999_999, 0), (10, 999_999_999_999), (1_000_000, 1_000_000))], 3),
    "or of 60 branches": Attack([
        asked("[:find (count ?a) . :where [?a :package/size ?x] (or " + " ".join(f"[(< {n} ?x)]" for n in range(60)) + ")]", ms=5_000),
        asked(f"[:find (count ?a) . :where {_nested_or(28)}]", ms=5_000),
        asked("[:find (count ?a) . :where [?a :package/size ?x] " + " ".join(f"(or [(< {n} ?x)] [(> {n} ?x)])" for n in range(60)) + "]", ms=5_000),
    ], 3),
    "not over cross products": Attack([asked("[:find (count ?a) . :where [?a :package/size ?x] (not [?b :package/size ?y] [(< ?x ?y)] [(* ?y -1) ?z] [(< ?x ?z)])]", ms=4_000)], 4),
    "arithmetic that never ends": Attack([asked(f"[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground 1) ?n]] [(up ?m) (up ?n) {step}]]]")
                                          for step in ("[(inc ?n) ?m]", "[(* ?n 3) ?m]", "[(dec ?n) ?m]")], 3),
    "strings that double": Attack([asked('[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground "ab") ?n]] [(up ?m) (up ?n) [(str ?n ?n) ?m]]]]'),
                                   asked('[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground "ab") ?n]] [(up ?m) (up ?n) (up ?k) [(str ?n ?k) ?m]]]]')], 4),
    "strings put together": Attack([asked("[:find (count ?z) . :where [?a :package/summary ?x] [?b :package/summary ?y] [(str ?x ?y ?x ?y) ?z]]")], 4),
    "vectors that double": Attack([asked("[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(vector 1) ?n]] [(up ?m) (up ?n) [(vector ?n ?n) ?m]]]]")], 4),
    "numbers that square": Attack([asked("[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground 3N) ?n]] [(up ?m) (up ?n) [(* ?n ?n) ?m]]]]"),
                                   asked("[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground 3.1M) ?n]] [(up ?m) (up ?n) [(* ?n ?n) ?m]]]]")], 4),
    "regular expressions": Attack([
        asked("[:find (count ?s) . :in $ [?s ...] ?r :where [(re-find ?r ?s)]]", [("a" * 1_400) + str(n) for n in range(60)], pattern)
        for pattern in ("(?:.*a){20}b", "(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)x", "(?:a{1,30}){1,30}b")
    ], 5),
    "regular expressions over the data": Attack([
        asked('[:find (count ?s) . :where [?p :package/summary ?s] [(re-pattern "(?i)(.*?[aeiou]){8}z") ?r] [(re-find ?r ?s)]]'),
        asked('[:find ?m :where [?p :package/summary ?s] [(re-seq #"." ?s) ?m]]'),
        asked('[:find (count ?m) . :where [?p :package/summary ?s] [?q :package/name ?n] [(re-find ?n ?s) ?m]]'),
    ], 3),
    "regular expressions that are large": Attack([asked("[:find ?m . :in $ ?r :where [(re-find ?r \"a\") ?m]]", pattern)
                                                  for pattern in ("(?:(?:a{1,1000}){1,1000}){1,1000}", "(" * 5_000 + ")" * 5_000, "a?" * 50_000, "[^x]{1000}" * 500, "x|" * 300_000)], 5),
    "pulls of all, three levels": Attack([asked("[:find (pull ?p [* {:package/_depends [* {:package/_depends [*]}]}]) :where [?p :package/priority :required]]")], 4),
    "pulls without end": Attack([asked("[:find (pull ?p [:package/name {:package/_depends ...}]) :where [?p :package/name \"libc6\"]]"),
                                 asked("[:find (pull ?p [* {:package/depends ...}]) :where [?p :package/size]]"),
                                 asked("[:find (pull ?p [* {:package/depends 1000}]) :where [?p :package/size]]")], 3),
    "pulls of hubs": Attack([asked("[:find (pull ?s [* {(:package/_section :limit nil) [*]}]) :where [?s :section/name]]"),
                             asked("[:find (pull ?s [* {(:package/_maintainer :limit nil) [* {:package/depends [*]}]}]) :where [?s :maintainer/name]]")], 4),
    "queries within queries": Attack([asked("[:find (count ?v) . :where [?a :package/size ?x] [(q [:find (count ?b) . :in ?x :where [?b :package/size ?y] [(< ?y ?x)]] ?x) ?v]]", ms=3_000)], 4),
    "many columns": Attack([asked("[:find " + " ".join(f"?x{n}" for n in range(900)) + " :where " + " ".join(f"[?p :package/size ?x{n}]" for n in range(900)) + "]", ms=3_000),
                            asked("[:find " + "?p " * 300 + " :where [?p :package/size]]", ms=3_000)], 4),
    "many clauses": Attack([asked("[:find (count ?x0) . :where " + " ".join(f"[?x{n} :package/depends ?x{n + 1}]" for n in range(400)) + "]", ms=3_000)], 4),
    "many rules": Attack([asked("[:find (count ?x) . :where (r0 ?x) :rules [" + " ".join(f"[(r{n} ?x) (r{n + 1} ?x)] [(r{n} ?x) [?x :package/size {n}]]" for n in range(600)) + "[(r600 ?x) [?x :package/size]]]]", ms=3_000)], 2),
    "Spark asked for": Attack([asked(_JOIN.replace("{n}", "7"), engine="SPARK", ms=3_000)], 4),
    "answers of 60 MB": Attack([document("query($q: EDN!, $ms: Int) { q(query: $q, timeoutMs: $ms) { rows } a: q(query: $q, timeoutMs: $ms, encoding: TAGGED) { rows } b: q(query: $q, timeoutMs: $ms) { rows } }", 10_000, ms=10_000,
                                        q="[:find ?p ?s ?n ?v :where [?p :package/summary ?s] [?p :package/name ?n] [?p :package/version ?v]]")], 8),
    "datoms, by many": Attack([document("query($ms: Int) { datoms(index: EAVT, first: 700000, timeoutMs: $ms) { datoms { e a v t added } } }", 5_000, ms=5_000)], 8),
}  # fmt: skip

# What is suspicious: names that nobody declared, to be looked for among many

_UNKNOWN: Final = "[" + " ".join(f"[:db/retract 1 :u{n:05}/n 1]" for n in range(36_000)) + "]"
_MISSPELT: Final = "[" + " ".join(f"[:db/add 1 :attribut{n}/n{n:05} 1]" for n in range(3_000)) + "]"
# So many attributes that are declared by their use.
_DECLARED: Final = [
    transacted("[" + " ".join(f"[:db/add {n} :attribute/n{n:05} 1]" for n in range(start, start + 4_000)) + "]")
    for start in range(1, 20_001, 4_000)
]


def _suspicious(
    fields: str, count: int = 1, ms: int = 10_000, before: Sequence[Sent] = _DECLARED, tx: str = _UNKNOWN
) -> Attack:
    """A document with so many aliases of fields that are given `$w` and `$ms`."""
    aliases = " ".join(f"f{n}: {fields}" for n in range(count))
    return Attack([document(f"query($w: EDN, $ms: Int) {{ {aliases} }}", ms, w=tx, ms=ms)], before=before)


_WITH: Final = (
    'q(query: "[:find ?n . :where [?e :package/size ?n]]", with: $w, timeoutMs: $ms) { value warnings { message } }'
)
SUSPICIOUS: Final = {
    "unknown names in with": _suspicious(_WITH, before=()),
    "unknown names in with, ten times": _suspicious(_WITH, 10, before=()),
    "unknown names, 20,000 attributes": _suspicious(_WITH),
    "unknown names, 20,000 attributes, ten times": _suspicious(_WITH, 10),
    "unknown names and explain": _suspicious('explain(query: "[:find ?n . :where [?e :package/size ?n]]", with: $w, timeoutMs: $ms) { text warnings { message } }', 4),
    "unknown names and datoms": _suspicious("datoms(index: AVET, with: $w, timeoutMs: $ms) { datoms { e } }", 4),
    "unknown names and pulls": _suspicious('pullMany(pattern: "[*]", eids: ["1"], with: $w, timeoutMs: $ms) p: pull(pattern: "[:package/name]", eid: "1", with: $w, timeoutMs: $ms)'),
    "unknown names in transactions": Attack([
        document("mutation($t: EDN!) { transact(tx: $t) { t warnings { message } } }", t=_UNKNOWN),
        document("mutation($t: EDN!) { a: transact(tx: $t) { warnings { message } } b: transact(tx: $t) { warnings { message } } }", t=_UNKNOWN),
    ], 2, before=_DECLARED),
    "names that look misspelt": _suspicious(_WITH, 4, tx=_MISSPELT),
    "unknown names in queries": Attack([
        document("query($q: EDN!, $ms: Int) { q(query: $q, timeoutMs: $ms) { value warnings { message } } }", 10_000, ms=10_000,
                 q="[:find ?e . :where " + " ".join(f"[?e :attribute/n{n:05}x ?v{n}]" for n in range(m, m + 500)) + "]")
        for m in range(4)
    ], 4, before=_DECLARED),
    "unknown names in arguments": Attack([
        document("query($q: EDN!, $a: [JSON!], $ms: Int) { q(query: $q, args: $a, timeoutMs: $ms) { value warnings { message } } }", 10_000, ms=10_000,
                 q="[:find ?e . :in $ [[?a ?v]] :where [?e ?a ?v]]", a=[[[f":attribute/n{n:05}x", n] for n in range(m)]])
        for m in (900, 900, 30_000, 30_000)
    ], 2, before=_DECLARED),
    "all attributes": Attack([document("{" + " ".join(f"f{n}: attributes {{ ident valueType cardinality datomCount }}" for n in range(10)) + "}")], 2, before=_DECLARED),
}  # fmt: skip

# Writing

WRITES: Final = {
    "with of 100,000 datoms": Attack([
        asked("[:find (count ?e) . :where [?e :hostile/n]]", ms=500, **{"with": _entities(n)}) for n in (20_000, 40_000)
    ] + [document("query($w: EDN!, $ms: Int) { datoms(index: AEVT, with: $w, timeoutMs: $ms, first: 5) { datoms { e } } }", 500, ms=500, w="[" + " ".join(f"[:db/add {n} :hostile/n {n}]" for n in range(1, 35_000)) + "]")], 4),
    "slow functions in the writer": Attack([transacted("[[:hostile/slow]]")], 8, before=[transacted(f'[{{:db/ident :hostile/slow :db/fn "{_SLOW}"}}]')]),
    "refused transactions of 1 MB": Attack([transacted("[[:db/add 1 :package/name \"" + "y" * 1_000_000 + f'{n}"] [:db/add 1 :package/size "wrong"]]') for n in range(100)], 4),
    "refused transactions of many strings": Attack([transacted("[[:db/add 1 :package/size \"wrong\"] " + " ".join(f'[:db/add {i} :hostile/s "{n}-{i}"]' for i in range(1, 20_000)) + "]") for n in range(12)], 4),
    "long idempotency keys": Attack([transacted("[[:db/add 1 :hostile/n 1]]", k="k" * 1_000_000)], 4),
    "idempotency keys by the thousand": Attack([transacted("[[:db/add 1 :hostile/n 1]]", k=f"key {n}" + "k" * 100) for n in range(10_000)], 4),
    "attributes by the thousand": Attack([transacted("[" + " ".join(f"[:db/add 1 :hostile{n}/a{i} 1]" for i in range(1_000)) + "]") for n in range(12)], 1),
    "transactions of 8 MB": Attack([transacted("[" + f"[:db/add {n} :hostile/v {n}] " * (7_900_000 // 26) + "]") for n in (1, 2)], 2),
    "large transactions": Attack([transacted("[" + " ".join(f"[:db/add {i} :hostile/v {n}]" for i in range(1, 25_000)) + "]") for n in range(8)], 4),
}  # fmt: skip

# The wire


def _opened(port: int, stack: ExitStack, data: bytes, count: int) -> list[socket.socket]:
    sockets = []
    for _ in range(count):
        with suppress(OSError):
            each = stack.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(ADDRESS, 0))
            )
            each.sendall(data)
            sockets.append(each)
    return sockets


def post_of(sent: Sent) -> bytes:
    """The bytes of a request over HTTP."""
    head = f"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(sent.body)}\r\n\r\n"
    return head.encode() + sent.body


def _slow_heads(port: int, stack: ExitStack) -> None:
    _opened(port, stack, b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nX: ", 300)


def _slow_bodies(port: int, stack: ExitStack) -> None:
    head = b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\n\r\n"
    _opened(port, stack, head + b"x" * 500_000, 200)


def _idle(port: int, stack: ExitStack) -> None:
    _opened(port, stack, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 240)


def _upgrades(port: int, stack: ExitStack) -> None:
    head = b"GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    _opened(port, stack, head, 100)


def _unread(port: int, stack: ExitStack) -> None:
    """Large answers that nobody reads."""
    body = document("query($q: EDN!) { q(query: $q) { rows } }", q=_EVERY)
    _opened(port, stack, post_of(body), 100)


def _unread_datoms(port: int, stack: ExitStack) -> None:
    for n in range(60):
        body = document(f"{{ datoms(index: EAVT, first: {500_000 + n}) {{ datoms {{ e a v t added }} }} }}")
        _opened(port, stack, post_of(body), 1)


def _unread_rows(port: int, stack: ExitStack) -> None:
    """The same, each computed for itself."""
    for n in range(60):
        query = f"[:find ?p ?n ?s :where [?p :package/name ?n] [?p :package/summary ?s] [?p :package/size ?z] [(< {n} ?z)]]"
        body = document("query($q: EDN!) { q(query: $q) { rows } }", q=query)
        _opened(port, stack, post_of(body), 1)


def _leaving(port: int, stack: ExitStack) -> None:
    """Clients that ask for much and are gone."""
    for _ in range(4):
        for n in range(50):
            for each in _opened(port, stack, post_of(asked(_JOIN.replace("{n}", str(n)), ms=60_000)), 1):
                each.close()


def _leaving_fields(port: int, stack: ExitStack) -> None:
    for name in ("30 aliases of datoms", "30 aliases of transactions", "30 aliases of pullMany"):
        for each in _opened(port, stack, post_of(DOCUMENTS[name].requests[0]), 4):
            each.close()


_LIGHTLY: Final = [asked('[:find ?p . :where [?p :package/name "bash"]]')]
WIRE: Final = {
    "slow headers": Attack(_LIGHTLY * 10, wire=_slow_heads),
    "slow bodies": Attack(_LIGHTLY * 10, wire=_slow_bodies),
    "idle connections": Attack(_LIGHTLY * 10, wire=_idle),
    "WebSockets": Attack(_LIGHTLY * 10, wire=_upgrades),
    "answers nobody reads": Attack(_LIGHTLY * 10, wire=_unread),
    "datoms nobody reads": Attack(_LIGHTLY * 10, wire=_unread_datoms),
    "rows nobody reads": Attack(_LIGHTLY * 10, wire=_unread_rows),
    "clients that leave": Attack(_LIGHTLY * 10, wire=_leaving),
    "clients that leave many fields": Attack(_LIGHTLY * 10, wire=_leaving_fields),
}

ATTACKS: Final[dict[str, Attack]] = {**DOCUMENTS, **VALUES, **WORK, **SUSPICIOUS, **WRITES, **WIRE}
