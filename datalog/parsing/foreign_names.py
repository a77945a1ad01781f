"""What functions of SQL, Clojure, Datomic, JavaScript and Java are called here: the advice of messages.

Only for refusals: a name in this table cannot be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adalog.datalog.aggregates import FIND_AGGREGATES
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.hints import nearest, proposed

GROUPS: Final = (
    "a condition on a group stands in :having, as in [:find ?u (count ?i) :having [(> (count ?i) 1)] :where …]"
)
"""What HAVING is here."""

_ONE_TIME: Final = (
    "there is one time, of transactions: [?e :person/name _ ?tx] [?tx :db/txInstant ?when]; another one is an "
    "attribute and a comparison"
)

# Names as `_key` writes them, and what to write in their place.
_BUILTINS: Final = {
    "ilike similarto glob": 'write like, after lower-case where the case is not to count: [(like ?text "Fix%")]',
    "regex regexp regexpmatch regexplike rematch rlike match matches test": "a regular expression is searched with "
    're-find, and compared with the whole text by re-matches: [(re-find #"^a" ?text)]',
    "contains contain has search": "a part of a text is asked for "
    'with includes?, a member of a set with contains?: [(includes? ?text "part")]',
    "position strpos charindex instr": "write index-of, which counts from 0",
    "isin oneof anyof elementof": "write in, as in [(in ?x [1 2])]",
    "isnull isnil null notnull isnotnull isempty exists notexists has?": "an entity without an attribute is found "
    "with [(missing? $ ?e :person/name)], one that has it with the pattern [?e :person/name]",
    "ifnull nvl orelse getorelse getordefault nullif": "write coalesce, as in (coalesce ?nickname ?name); a default"
    ' for a missing attribute is given by [(get-else $ ?e :person/name "none") ?name]',
    "when iff switch decode": "write if, cond or case, as in (if (> ?n 0) ?n 0)",
    "upper ucase uppercase toupper touppercase upcase": "write upper-case",
    "lower lcase lowercase tolower tolowercase downcase": "write lower-case",
    "length len size charlength strlen cardinality": "the length of a text or collection is (count ?x)",
    "substring substr slice left right mid": "a part of a text is [(subs ?text 0 3) ?part]",
    "concat strcat concatenate stringjoin tostring stringify string": "texts are put together "
    'and values shown by str: [(str ?a " " ?b) ?text]',
    "printf sprintf tochar": "write format",
    "strip": "write trim",
    "ltrim": "write triml",
    "rtrim": "write trimr",
    "padleft leftpad padstart": "write lpad",
    "padright rightpad padend": "write rpad",
    "ceiling": "write ceil",
    "trunc": "the fraction is cut off by [(long ?x) ?n]",
    "int integer tointeger parseint tonumber float cast convert number num": "numbers are converted by long, "
    "double, bigint and bigdec; a text is read by parse-long or parse-double",
    "div intdiv quotient": "the whole part of a quotient is quot, / divides",
    "modulo %": "a remainder is rem, or mod with the divisor's sign",
    "add plus addition": "write +",
    "sub subtract minus": "write -",
    "mul multiply times": "write *",
    "divide": "write /",
    "increment": "write inc",
    "decrement": "write dec",
    "power": "write pow",
    "ln": "write log",
    "<> !== /= neq ne notequal notequals isnot ≠": "write not=, as in [(not= ?x 3)]",
    "=== eq equal equals is eql identical identical?": "write =, as in [(= ?x 3)]",
    "gt greater greaterthan after isafter": "write >, as in [(> ?x 3)]; it compares instants, too",
    "lt less lessthan before isbefore": "write <, as in [(< ?x 3)]; it compares instants, too",
    "gte ge >== => greaterorequal ≥": "write >=",
    "lte le =< lessorequal ≤": "write <=",
    "&& all every every?": "clauses that stand one after the other hold together; (and …) is for branches of or",
    "|| any": "alternatives are (or [?e :a 1] [?e :a 2])",
    "! none not-any? notany": "a negation is the clause (not …), or not= for one value",
    "some": "[(contains? #{1 2} ?x)] tests a value; (or …) is for clauses",
    "now currenttimestamp currentdate getdate sysdate today date.now newdate": "there is no clock in a query; take "
    "the instant from :in, as in :in $ ?now",
    "date datetime timestamp todate parsedate instant inst": 'an instant is written #inst "2024-05-01", and '
    "compared by < and >",
    "datetrunc trunctime startof": "write truncate, as in [(truncate ?t :month) ?month]",
    "extract datepart getyear getmonth getday todayofweek weekday dow": "parts of an instant are year, "
    "month, day, hour, minute, second and day-of-week",
    "typeof type class instance? istype": "types are tested by string?, int?, double?, keyword?, inst? and so on",
    "nth first last head": "a collection is taken apart by a binding: [(untuple ?v) [?a ?b]]",
    "list array arrayof makearray": "a collection is made by vector or tuple",
    "distinct unique dedupe": "an answer is a set, so nothing is there twice",
    "limit top offset skip fetch": "it is a section of the query: :limit 10 :offset 20",
    "orderby sort sortby order": "it is a section of the query: :order-by [[?x :desc]]",
    "having": GROUPS,
    "groupby group partition": "rows are grouped by the variables of :find: [:find ?name (count ?e) …]",
    "leftjoin leftouterjoin outerjoin optional": "a left join is (optional [?e :person/name ?name]), with nil for "
    "what is missing",
    "select from where join innerjoin union": "two patterns are joined by a variable that both have: "
    "[?e :person/child ?c] [?c :person/name ?name]",
    "entity touch attribute": "attributes are read by patterns, [?e :person/name ?name], or (pull ?e [*]) in :find",
    "pull pullmany": "a pull stands in :find: [:find (pull ?e [*]) …]",
    "asof since history": "a past state is the basis of the request, or a second source of :in",
    "random rand-int rand-nth": "(rand ?x) and (sample 3 ?x) choose in :find",
    "fulltext textsearch ortextsearch wildcardtextsearch lucenetextsearch": "there is no index of words; a part of "
    'a text is found by a pattern and [(includes? ?text "word")], or re-find',
    "vecneighbors vecsearch embeddingneighbors idocmatch": "there is no such index; the application finds the "
    "entities and passes them in :in $ [?e ...]",
    "sortedmap assoc dissoc merge zipmap selectkeys keys vals update": "a map is made by hash-map and read by get; "
    "attributes of an entity are read by patterns, and shown together by (pull ?e [*])",
    "into conj disj difference intersection": "a set of constants is written #{1 2}, one of variables "
    "(hash-set ?a ?b); the values of rows are (distinct ?x) in :find",
    "getstartvalidtime getendvalidtime": _ONE_TIME,
    "readstring eval resolve": "a query runs no code; a number in a text is read by parse-long or parse-double",
    "range repeat iterate": "numbers of a range come from :in, as in :in $ [?n ...], or from (ground [1 2 3])",
    "map filter reduce fn let some-> -> ->>": "calls take values and calls, and no functions: (str (inc ?x))",
    "regexpreplace replaceall resub gsub": 'write re-replace, as in [(re-replace ?text #"a+" "b") ?new]',
    "stringsplit splitpart": 'write split, as in [(split ?text #",") ?parts]',
}


USAGES: Final[Mapping[str, str]] = {
    "get-else": '[(get-else $ ?e :person/name "none") ?name]',
    "get-attr": "[(get-attr $ ?e :person/tags) [?tag ...]]",
    "get-some": "[(get-some $ ?e :person/name :person/email) [?a ?v]]",
    "missing?": "[(missing? $ ?e :person/name)]",
    "ground": "[(ground [1 2 3]) [?x ...]]",
    "re-find": '[(re-find #"^A" ?name)]',
    "re-matches": '[(re-matches #"A.*" ?name)]',
    "includes?": '[(includes? ?name "d")]',
    "starts-with?": '[(starts-with? ?name "A")]',
    "ends-with?": '[(ends-with? ?name "a")]',
    "subs": "[(subs ?name 0 3) ?part]",
    "tx-ids": "[(tx-ids $ 1 10) [?tx ...]]",
    "tx-data": "[(tx-data $ ?tx) [[?e ?a ?v]]]",
}
"""Calls of the built-ins whose number of arguments is often wrong."""

_AGGREGATES: Final = {
    "minheap": "the least values are (min 3 ?x)",
    "maxheap": "the greatest values are (max 3 ?x)",
    "average mean": "write avg",
    "total": "write sum",
    "std stdev stddevpop": "write stddev",
    "var varpop": "write variance",
    "collect arrayagg groupconcat stringagg set list": "write distinct, which gives the set of the values",
    "first last": "the least and the greatest are (min ?x) and (max ?x)",
    "entity touch": "write (pull ?e [*])",
    "pullmany": "write (pull ?e [*]), which stands beside others",
    "as": "columns are named by :keys, as in :find ?n (count ?e) :keys name count",
}
_SECTIONS: Final = {
    "select return project columns": "what is returned stands in :find",
    "from using": "the database is $, which needs no mention; other sources stand in :in",
    "join match": "patterns of :where are joined by the variables that they share",
    "filter and": "conditions stand in :where, as in [(> ?x 3)]",
    "or not": "this is a clause of :where, in round brackets: (or …), (not …)",
    "groupby group": "rows are grouped by the other variables of :find",
    "order sort sortby": "write :order-by [[?x :desc]]",
    "skip": "write :offset 20",
    "first take top": "write :limit 10",
    "batchsize fetchsize": "leave it out; pages are made by :limit and :offset",
    "overridejoinorder joinorder": "leave it out; the order of the join follows from the data",
    "validtime asofvalidtime": "there is one time, of transactions: a past state is the basis of the request",
    "full-results?": "whole entities are [:find (pull ?e [*]) :where …]",
    "args params inputs": "arguments are named in :in, as in :in $ ?x, and sent as args",
    "query": "send its value alone, and the arguments as args",
    "pull": "a pull stands in :find: [:find (pull ?e [*]) :where …]",
    "distinct unique": "an answer is a set, so nothing is there twice",
    "asof since history basis": "a past state is the basis of the request",
    "explain": "the plan is shown by the field explain, and by adalog explain",
}


NO_FUNCTIONS: Final = (
    "; a query calls no functions of the application: say it by clauses or a rule, or compute it before and pass "
    "the results in :in"
)
_APIS: Final = frozenset(
    {"d", "datomic.api", "datomic.client.api", "datascript.core", "datalevin.core", "xt", "crux"}
)
"""What the functions of other databases are called by."""


def _key(name: str) -> str:
    """The name without case, dashes and underscores."""
    return name.lower().replace("-", "").replace("_", "")


def _by_key(table: Mapping[str, str]) -> Mapping[str, str]:
    return {_key(name): advice for names, advice in table.items() for name in names.split()}


_RULES: Final = {"validat validbetween": _ONE_TIME}
_TABLES: Final = tuple(map(_by_key, (_BUILTINS, _AGGREGATES, _SECTIONS, _RULES)))


def _advice(table: int, name: str) -> str:
    found = _TABLES[table].get(_key(name))
    return "" if found is None else f"; {found}"


def instead_of_builtin(name: str) -> str:
    """What to write for a built-in that is not there, as the end of a message, or nothing."""
    if name.startswith("?"):
        return NO_FUNCTIONS
    local = name.removeprefix(".")
    if "/" in local[1:-1]:
        space, _, local = local.rpartition("/")
        if local in BUILTINS:
            return proposed(local)
        if local == "filter" and space in _APIS:
            return "; a source is a database or a list: write the condition of the filter as clauses, or as a rule"
        if space not in _APIS and _advice(0, local) == "":
            return NO_FUNCTIONS
    if local in FIND_AGGREGATES:
        return f"; {local} is an aggregate, which stands in :find: ({local} ?x)"
    return _advice(0, local) or nearest(local, BUILTINS)


def instead_of_rule(name: str) -> str:
    """The same for a rule that other databases have built in."""
    return _advice(3, name)


def instead_of_operator(entity: str, attribute: str, operator: str, operand: str) -> str:
    """What to write for a condition within a pattern, `[?e :person/age > 3]`; nothing for other names."""
    own, name = f"a condition is a clause of its own, after [{entity} {attribute} ?n]", operator
    known = next((each for each in (name, name.lower()) if each in BUILTINS), None)
    if known is not None:
        return f"{own}: {USAGES.get(known) or f'[({known} ?n {operand})]'}"
    advice = _TABLES[0].get(_key(name) + ("null" if (name.lower(), operand) == ("is", "nil") else ""))
    return "" if advice is None else f"{own}; {advice}"


def instead_of_aggregate(name: str) -> str:
    """The same for an aggregate."""
    functions = "; a query calls no functions of the application: find (distinct ?x), and compute from that"
    if "/" in name or name == "aggregate":
        return functions
    return _advice(1, name) or nearest(name, FIND_AGGREGATES) or functions


def instead_of_section(name: str) -> str:
    """The same for a section of a query that other languages have."""
    return _advice(2, name)
