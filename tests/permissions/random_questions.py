"""Random questions over the databases of `random_worlds`: queries, pulls and indexes, as EDN texts."""

from __future__ import annotations

from random import Random

from tests.permissions.random_worlds import ENTITIES, USERS, VALUES

ATTRIBUTES = (*VALUES, ":doc/code", ":doc/key", ":user/id", ":user/mark", ":num/brief")
REFS = (":doc/parent", ":doc/part", ":doc/state", ":doc/owner", ":tag/on", ":group/members", ":group/parent")
BUILT_IN = (":db/ident", ":db/doc", ":db/txInstant", ":db/valueType", ":policy/name", ":graphql/enum")
STRANGE = (":doc/titel", ":nowhere", ":tx/why", ":policy/rules")
LITERALS = {
    ":doc/code": ('"c1"', '"c2"', '"c3"'),
    ":user/id": ('"u1"', '"u2"', '"u3"'),
    ":user/mark": ("121", "122"),
    ":num/brief": ("1", "2"),
    ":doc/key": ('["a" 1]', '["b" nil]', '["c" 2]'),
}
ENTITY_NAMES = (*map(str, ENTITIES), *map(str, USERS), '[:doc/code "c1"]', '[:doc/code "c2"]', '[:user/id "u1"]')
NAMES = (*ENTITY_NAMES, ":state/open", ":other", ":doc/title", "[:user/mark 121]", "[:doc/title 1]", "5000")
RULES = (
    "[(up ?x ?y) [?x :doc/parent ?y]] [(up ?x ?y) [?x :doc/parent ?z] (up ?z ?y)]",
    "[(up ?x ?y) [?x :doc/part ?y]] [(up ?x ?y) (up ?x ?z) [?z :doc/part ?y]]",
    '[(up ?x ?y) [?x :doc/owner ?y]] [(up ?x ?y) [?y :tag/on ?x] (not [?x :doc/title "a"])]',
)


class Asker:
    """Writes questions. `partial`: the last one's functions may refuse what they are given."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.partial = False

    def one(self, *options: str) -> str:
        return self.rng.choice(options)

    def attribute(self) -> str:
        return self.one(*ATTRIBUTES * 4, *BUILT_IN, *STRANGE)

    def value(self, attribute: str) -> str:
        return self.one(*LITERALS.get(attribute, VALUES.get(attribute, ("1", '"a"', ":doc/title"))))

    # Clauses

    def pattern(self, e: str, v: str) -> str:
        a = self.one(*REFS) if v in ("?f", "?e") else self.attribute()
        draw = self.rng.random()
        if draw < 0.1:
            return f"[{self.one(*NAMES)} {a} {v}]"
        if draw < 0.25:
            return f"[{e} {a} {self.value(a)}]"
        if draw < 0.3:
            return f"[{e} ?a {v}]"
        if draw < 0.38:
            return f"[{e} {a} {v} ?tx]"
        if draw < 0.42:
            return f"[{e} {a} {v} ?tx ?op]"
        if draw < 0.46:
            return f"[{e} ?a {v} ?tx]"
        if draw < 0.49:
            return f"[?tx :db/txInstant _] [{e} {a} {v} ?tx]"
        return f"[{e} {a} {v}]"

    def filter(self) -> str:
        """A clause that tests or adds to rows with ?e and ?v."""
        a = self.attribute()
        kind = self.rng.randrange(18)
        if kind >= 16:
            return self.nested(a)
        if kind == 0:
            return f"(not [?e {a}])"
        if kind == 1:
            return f"(not [?e {a} ?v])"
        if kind == 2:
            return f"(not-join [?e] [?e {self.one(*REFS)} ?g] [?g {a} {self.value(a)}])"
        if kind == 3:
            return f"(or [?e {a}] [?e {self.attribute()}])"
        if kind == 4:
            return (
                f"(or-join [?e] [?e {a} {self.value(a)}] (and [?g {self.one(*REFS)} ?e] [?g {self.attribute()}]))"
            )
        if kind == 5:
            return f'[(get-else $ ?e {a} "none") ?x]'
        if kind == 6:
            return f"[(get-some $ ?e {a} {self.attribute()}) [_ ?x]]"
        if kind == 7:
            return f"[(missing? $ ?e {a})]"
        if kind == 8:
            return "(up ?e ?f)"
        if kind == 9:
            return f"[(q [:find (count ?i) . :where [?i {a}]] $) ?x]"
        if kind == 10:
            return f"[(q [:find [?i ...] :in $ ?e :where [?e {a} ?i]] $ ?e) [?x ...]]"
        if kind == 11:
            return self.one("[(> ?v 1)]", "[(str ?v) ?x]", "[(not= ?v 2)]", "[(entid ?v) ?x]", "[(ident ?e) ?x]")
        if kind == 12:
            self.partial = True
            return self.one("[(/ 6 ?v) ?x]", "[(+ ?v 1) ?x]", "[(subs ?v 0 1) ?x]")
        if kind == 13:
            return f"(optional [?e {a} ?x])"
        if kind == 14:
            return f"[?e {self.one(*REFS)}{self.one('+', '*')} ?f]"
        return self.pattern("?e", self.one("?v", "?w", "_", "?f"))

    def nested(self, a: str) -> str:
        """A query within, with an aggregate or a window."""
        kind = self.rng.randrange(5)
        count = self.one("count", "count-distinct", "min", "max", "distinct")
        if kind == 0:
            return f"[(q [:find ?g ({count} ?i) :where [?g {a} ?i]] $) [[?e ?x]]]"
        if kind == 1:
            return f"[(q [:find ({count} ?i) . :in $ ?e :where [?i {self.one(*REFS)} ?e] [?i {a}]] $ ?e) ?x]"
        if kind == 2:
            having = f":having [(> (count ?i) {self.one('0', '1', '2')})]"
            return f"[(q [:find ?g (count ?i) :with ?j :where [?g {a} ?i] [?g ?j] {having}] $) [[?e ?x]]]"
        if kind == 3:
            window = f":order-by [?i {self.one(':asc', ':desc')}] :limit {self.one('1', '2', '3')}"
            return f"[(q [:find ?i :where [?i {a}] {window} :offset {self.one('0', '1')}] $) [[?e]]]"
        return f"[(q [:find [?i ...] :where [?i {a} ?j] (not [?i {self.attribute()} ?j])] $) [?e ...]]"

    # Queries

    def query(self) -> str:
        """A query's text; rules are written in it."""
        self.partial = False
        clauses = [self.pattern("?e", self.one("?v", "?v", "?f"))]
        clauses += [self.filter() for _ in range(self.rng.choice((0, 1, 1, 2, 3)))]
        text = " ".join(self.rng.sample(clauses, len(clauses)))
        names = [each for each in ("?e", "?v", "?f", "?a", "?tx", "?op", "?x", "?w") if f"{each}" in text]
        rules = f" :rules [{self.one(*RULES)}]" if "(up " in text else ""
        return f"[:find {self.find(names)} :where {text}{rules}{self.having(names)}]"

    def having(self, names: list[str]) -> str:
        """Mostly nothing. Its variables stand in :with."""
        if self.rng.random() < 0.9:
            return ""
        name = self.rng.choice(names)
        kind = self.one("count", "count-distinct")
        return f" :with {name} :having [({self.one('<', '=', '>=')} ({kind} {name}) {self.one('1', '2')})]"

    def find(self, names: list[str]) -> str:
        chosen = self.rng.sample(names, self.rng.randint(1, min(3, len(names))))
        draw = self.rng.random()
        if draw < 0.25:
            kind = self.one("count", "count-distinct", "min", "max", "distinct", "min 2")
            return " ".join([*chosen[1:], f"({kind} {chosen[0]})"])
        if draw < 0.4:
            return f"(pull ?e {self.pull()})"
        if draw < 0.45 and "?v" in names:
            self.partial = True
            return f"({self.one('sum', 'avg')} ?v)"
        if draw < 0.6:
            order = self.one("?e", "?e :desc", "1")
            first = [] if "?e" in chosen or order == "1" else ["?e"]
            limit = self.one("", " :limit 2", " :limit 3 :offset 1")
            return f"{' '.join(dict.fromkeys([*first, *chosen]))} :order-by [{order}]{limit}"
        if draw < 0.63:
            return f"[{chosen[0]} ...]"
        return " ".join(chosen)

    def pull(self, depth: int = 2) -> str:
        parts = []
        for _ in range(self.rng.randint(1, 4)):
            a, ref = self.attribute(), self.one(*REFS)
            reverse = ref.replace("/", "/_")
            kind = self.rng.randrange(9)
            if kind < 2:
                parts.append("*")
            elif kind == 2:
                parts.append(
                    self.one(f"({a} :default 0)", f'({a} :as "x")', f"({a} :limit 1)", f"[{a} :limit nil]")
                )
            elif kind == 3 and depth:
                parts.append(f"{{{self.one(ref, reverse)} {self.pull(depth - 1)}}}")
            elif kind == 4:
                parts.append(f"{{{self.one(ref, reverse)} {self.one('...', '2')}}}")
            elif kind == 5:
                parts.append(self.one(ref, reverse))
            elif kind == 6:
                parts.append(f"(:doc/part :limit {self.one('1', '2')})")
            elif kind == 7:
                parts.append(":db/id")
            else:
                parts.append(a)
        return f"[{' '.join(dict.fromkeys(parts))}]"

    def entities(self) -> str:
        return f"[{' '.join(self.one(*NAMES) for _ in range(self.rng.randint(1, 4)))}]"

    def components(self, index: str) -> str:
        parts = {"E": self.one(*NAMES), "A": self.attribute(), "T": self.one("3", "4", "5")}
        parts["V"] = self.value(parts["A"] if "A" in index[: index.index("V")] else ":doc/owner")
        return f"[{' '.join(parts[each] for each in index[: self.rng.choice((0, 1, 1, 2, 3, 4))])}]"
