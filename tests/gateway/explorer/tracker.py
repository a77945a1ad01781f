"""An issue tracker as somebody's own data, and the ways of asking it: every shape of an argument, in JSON and in
EDN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMA = """
[{:db/ident :user/email :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :user/name :db/valueType :db.type/string}
 {:db/ident :issue/key :db/valueType :db.type/uuid :db/unique :db.unique/identity}
 {:db/ident :issue/title :db/valueType :db.type/string}
 {:db/ident :issue/status :db/valueType :db.type/keyword}
 {:db/ident :issue/kind :db/valueType :db.type/ref}
 {:db/ident :issue/owner :db/valueType :db.type/ref}
 {:db/ident :issue/blocks :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :issue/created :db/valueType :db.type/instant}
 {:db/ident :issue/points :db/valueType :db.type/long}
 {:db/ident :issue/score :db/valueType :db.type/double}
 {:db/ident :issue/cost :db/valueType :db.type/bigdec}
 {:db/ident :issue/open? :db/valueType :db.type/boolean}
 {:db/ident :issue/link :db/valueType :db.type/uri}
 {:db/ident :issue/hash :db/valueType :db.type/bytes}
 {:db/ident :issue/huge :db/valueType :db.type/bigint}
 {:db/ident :issue/ratio :db/valueType :db.type/float}
 {:db/ident :issue/tag :db/valueType :db.type/symbol}
 {:db/ident :issue/place :db/valueType :db.type/tuple
  :db/tupleTypes [:db.type/keyword :db.type/long]}
 {:db/ident :kind/bug} {:db/ident :kind/wish}]
"""
DATA = """
[{:db/id 1 :user/email "ada@x.org" :user/name "Ada"}
 {:db/id 2 :user/email "bob@x.org" :user/name "Bob"}
 {:db/id 11 :issue/key #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21" :issue/title "Crash" :issue/status :open
  :issue/kind :kind/bug :issue/owner 1 :issue/blocks [12 13] :issue/created #inst "2024-05-01T12:00:00.000Z"
  :issue/points 3 :issue/score 1.0 :issue/cost 9.99M :issue/open? true :issue/link #uri "https://x.org/11"
  :issue/hash #bytes "AQID" :issue/huge 123456789012345678901234567890N :issue/ratio 0.5 :issue/tag urgent
  :issue/place [:lab 7]}
 {:db/id 12 :issue/key #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e22" :issue/title "Colour" :issue/status :closed
  :issue/kind :kind/wish :issue/owner 2 :issue/blocks [13] :issue/created #inst "2024-06-01T12:00:00.000Z"
  :issue/points 5 :issue/score 2.5 :issue/cost 10M :issue/open? false}
 {:db/id 13 :issue/title ":open" :issue/status :open :issue/owner 1 :issue/points 9007199254740993}]
"""
LATER = "[[:db/add 12 :issue/status :open]]"

REACHES = "[[(reaches ?a ?b) [?a :issue/blocks ?b]] [(reaches ?a ?b) [?a :issue/blocks ?c] (reaches ?c ?b)]]"
HAVING = "[[(having ?i ?s) [?i :issue/status ?s]]]"


def by(attribute: str) -> str:
    """The issues that have the argument's value."""
    return f"[:find ?i :in $ ?v :where [?i :issue/{attribute} ?v]]"


@dataclass(frozen=True)
class Way:
    """A query with its arguments, as JSON (None: JSON cannot say it) and as EDN, and its rows in order."""

    name: str
    query: str
    json: list[Any] | None
    edn: list[str] | None
    rows: list[Any]
    warned: str | None = None


WAYS = [
    # What a scalar means where it stands
    Way("keyword", by("status"), [":open"], [":open"], [[11], [12], [13]]),
    Way("tagged keyword", by("status"), [{"#kw": "open"}], None, [[11], [12], [13]]),
    Way("text like a keyword", by("title"), [":open"], ['":open"'], [[13]]),
    Way("uuid", by("key"), ["6F1C3B9E-0d7e-4c7a-9a53-0b8c2a3f6e21"], None, [[11]]),
    Way("instant", by("created"), ["2024-05-01T12:00:00Z"], ['#inst "2024-05-01T12:00:00Z"'], [[11]]),
    Way("instant elsewhere", by("created"), ["2024-05-01T14:00:00.000+02:00"], None, [[11]]),
    Way("bigdec", by("cost"), [9.99], ["9.99M"], [[11]]),
    Way("bigdec as text", by("cost"), ["9.990"], ["9.990M"], [[11]]),
    Way("bigdec as integer", by("cost"), [10], ["10"], [[12]]),
    Way("double", by("score"), [1], ["1"], [[11]]),
    Way("double as it is", by("score"), [2.5], ["2.5"], [[12]]),
    Way("long", by("points"), [3], ["3"], [[11]]),
    Way("long as a double", by("points"), [3.0], ["3.0"], [[11]]),
    Way("long beyond 2^53", by("points"), ["9007199254740993"], ["9007199254740993"], [[13]]),
    Way("bigint", by("huge"), ["123456789012345678901234567890"], ["123456789012345678901234567890N"], [[11]]),
    Way("float", by("ratio"), [0.5], ["0.5"], [[11]]),
    Way("boolean", by("open?"), [False], ["false"], [[12]]),
    Way("uri", by("link"), ["https://x.org/11"], ['#uri "https://x.org/11"'], [[11]]),
    Way("bytes", by("hash"), ["AQID"], ['#bytes "AQID"'], [[11]]),
    Way("symbol", by("tag"), ["urgent"], ["urgent"], [[11]]),
    Way("tuple", by("place"), [[":lab", 7]], ["[:lab 7]"], [[11]]),
    Way("entity", by("owner"), [1], ["1"], [[11], [13]]),
    Way("entity as text", by("owner"), ["1"], None, [[11], [13]]),
    Way("ident", by("kind"), [":kind/bug"], [":kind/bug"], [[11]]),
    Way("lookup ref", by("owner"), [[":user/email", "ada@x.org"]], ['[:user/email "ada@x.org"]'], [[11], [13]]),
    Way(
        "lookup ref by uuid",
        "[:find ?t :in $ ?i :where [?i :issue/title ?t]]",
        [[":issue/key", "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"]],
        ['[:issue/key #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"]'],
        [["Crash"]],
    ),
    Way(
        "attribute",
        "[:find ?v :in $ ?a :where [11 ?a ?v]]",
        [":issue/title"],
        [":issue/title"],
        [["Crash"]],
    ),
    Way(
        "attribute and value",
        "[:find ?i :in $ ?a ?v :where [?i ?a ?v]]",
        [":issue/status", ":open"],
        [":issue/status", ":open"],
        [[11], [12], [13]],
    ),
    Way(
        "attribute and instant",
        "[:find ?i :in $ ?a ?v :where [?i ?a ?v]]",
        [":issue/created", "2024-05-01T12:00:00Z"],
        None,
        [[11]],
    ),
    Way(
        "attribute and entity",
        "[:find ?i :in $ ?a ?v :where [?i ?a ?v]]",
        [":issue/owner", [":user/email", "bob@x.org"]],
        [":issue/owner", '[:user/email "bob@x.org"]'],
        [[12]],
    ),
    Way(
        "attribute and ident",
        "[:find ?i :in $ ?a ?v :where [?i ?a ?v]]",
        [":issue/kind", ":kind/bug"],
        [":issue/kind", ":kind/bug"],
        [[11]],
    ),
    Way("transaction", "[:find ?e :in $ ?tx :where [?e :issue/status :open ?tx]]", [3], ["3"], [[12]]),
    Way(
        "compared instant",
        "[:find ?i :in $ ?since :where [?i :issue/created ?c] [(> ?c ?since)]]",
        ["2024-05-15"],
        ['#inst "2024-05-15"'],
        [[12]],
    ),
    Way(
        "compared bigdec",
        "[:find ?i :in $ ?most :where [?i :issue/cost ?c] [(<= ?c ?most)]]",
        [9.99],
        ["9.99M"],
        [[11]],
    ),
    Way(
        "default of get-else",
        "[:find ?i ?s :in $ ?none :where [?i :issue/title] [(get-else $ ?i :issue/created ?none) ?s]]",
        ["2020-01-01T00:00:00Z"],
        ['#inst "2020-01-01T00:00:00Z"'],
        [
            [11, "2024-05-01T12:00:00.000Z"],
            [12, "2024-06-01T12:00:00.000Z"],
            [13, "2020-01-01T00:00:00.000Z"],
        ],
    ),
    Way("only shown", "[:find ?x :in $ ?x :where [1 :user/name]]", [":open"], ['":open"'], [[":open"]]),
    # Collections, tuples, relations
    Way(
        "collection",
        "[:find ?i :in $ [?s ...] :where [?i :issue/status ?s]]",
        [[":closed", ":open", ":open"]],
        ["[:closed :open :open]"],
        [[11], [12], [13]],
    ),
    Way("empty collection", "[:find ?i :in $ [?s ...] :where [?i :issue/status ?s]]", [[]], ["[]"], []),
    Way(
        "set",
        "[:find ?i :in $ [?k ...] :where [?i :issue/kind ?k]]",
        None,
        ["#{:kind/bug :kind/wish}"],
        [[11], [12]],
    ),
    Way(
        "tuple binding",
        "[:find ?i :in $ [?s ?o] :where [?i :issue/status ?s] [?i :issue/owner ?o]]",
        [[":open", [":user/email", "bob@x.org"]]],
        ['[:open [:user/email "bob@x.org"]]'],
        [[12]],
    ),
    Way(
        "relation",
        "[:find ?i ?c :in $ [[?s ?c]] :where [?i :issue/status ?s] [?i :issue/cost ?c]]",
        [[[":open", 9.99], [":open", "10"], [":closed", 9.99]]],
        ["[[:open 9.99M] [:open 10M] [:closed 9.99M]]"],
        [[11, "9.99"], [12, "10"]],
    ),
    # Sources
    Way(
        "relation source",
        "[:find ?i ?n :in $ $names :where [?i :issue/status ?s] [$names ?s ?n]]",
        [[[":open", "to do"], [":done", "over"]]],
        ['[[:open "to do"] [:done "over"]]'],
        [[11, "to do"], [12, "to do"], [13, "to do"]],
    ),
    Way(
        "basis",
        "[:find ?i :in $ $old :where [?i :issue/status :open] [$old ?i :issue/status :closed]]",
        [{"basis": {"t": 2}}],
        ["{:basis {:t 2}}"],
        [[12]],
    ),
    # Rules
    Way("rules", "[:find ?b :in $ % :where (reaches 11 ?b)]", [REACHES], [REACHES], [[12], [13]]),
    Way(
        "rules as an EDN string", "[:find ?b :in $ % :where (reaches 11 ?b)]", None, [f'"{REACHES}"'], [[12], [13]]
    ),
    Way("no rules", "[:find ?t :in $ % :where [11 :issue/title ?t]]", ["[]"], ["[]"], [["Crash"]]),
    Way(
        "rules first",
        "[:find ?i :in % $ ?s :where (having ?i ?s)]",
        [HAVING, ":open"],
        [HAVING, ":open"],
        [[11], [12], [13]],
    ),
    Way(
        "by way of a rule",
        "[:find ?i :in $ % ?s :where (having ?i ?s)]",
        [HAVING, ":open"],
        [HAVING, ":open"],
        [[11], [12], [13]],
    ),
    Way(
        "by way of recursion",
        "[:find ?b :in $ % ?a :where (reaches ?a ?b)]",
        [REACHES, [":issue/key", "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e22"]],
        [REACHES, '[:issue/key #uuid "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e22"]'],
        [[13]],
    ),
    # Queries within, disjunctions, pulls
    Way(
        "query within",
        "[:find ?n :in $ ?s :where [(q [:find (count ?i) . :in $ ?st :where [?i :issue/status ?st]] $ ?s) ?n]]",
        [":open"],
        [":open"],
        [[3]],
    ),
    Way(
        "or",
        "[:find ?i :in $ ?s :where (or [?i :issue/status ?s] (and [?i :issue/owner 2] [?i :issue/status ?s]))]",
        [":open"],
        [":open"],
        [[11], [12], [13]],
    ),
    Way(
        "not",
        "[:find ?i :in $ ?s :where [?i :issue/title] (not [?i :issue/kind ?s])]",
        [":kind/bug"],
        [":kind/bug"],
        [[12], [13]],
    ),
    Way(
        "pull",
        "[:find (pull ?e [:user/name]) :in $ ?e :where [?e :user/email]]",
        [[":user/email", "ada@x.org"]],
        ['[:user/email "ada@x.org"]'],
        [[{":user/name": "Ada"}]],
    ),
    Way(
        "pull pattern",
        "[:find (pull ?e ?p) :in $ ?e ?p :where [?e :user/email]]",
        [1, "[:user/name]"],
        ["1", "[:user/name]"],
        [[{":user/name": "Ada"}]],
    ),
    Way("aggregate", "[:find (count ?i) . :in $ ?s :where [?i :issue/status ?s]]", [":open"], [":open"], [[3]]),
    # What nothing can equal
    Way("misspelt status", by("status"), ["open"], ['"open"'], [], "IMPOSSIBLE_VALUE"),
    Way("no instant", by("created"), ["yesterday"], ['"yesterday"'], [], "IMPOSSIBLE_VALUE"),
    Way("no uuid", by("key"), ["6f1c3b9e"], ['"6f1c3b9e"'], [], "IMPOSSIBLE_VALUE"),
    Way("no number", by("points"), ["3.5"], ["3.5"], [], "IMPOSSIBLE_VALUE"),
    Way("nil", by("status"), None, ["nil"], [], "IMPOSSIBLE_VALUE"),
    Way(
        "null in a list",
        "[:find ?i :in $ [?s ...] :where [?i :issue/status ?s]]",
        [[None, ":open"]],
        ["[nil :open]"],
        [[11], [12], [13]],
        "IMPOSSIBLE_VALUE",
    ),
    Way("a map", by("owner"), [{"id": 1}], ["{:id 1}"], [], "IMPOSSIBLE_VALUE"),
    Way(
        "no such attribute",
        "[:find ?v :in $ ?a :where [11 ?a ?v]]",
        [":issue/titel"],
        [":issue/titel"],
        [],
        "UNKNOWN_ATTRIBUTE",
    ),
    Way(
        "no such attribute in a lookup ref",
        by("owner"),
        [[":user/mail", "ada@x.org"]],
        ['[:user/mail "ada@x.org"]'],
        [],
        "UNKNOWN_ATTRIBUTE",
    ),
    Way("what a pull showed", by("owner"), [{":db/id": 1, ":user/name": "Ada"}], None, [[11], [13]]),
    Way("a list for a value", by("status"), [[":open", ":closed"]], ["[:open :closed]"], [], "IMPOSSIBLE_VALUE"),
    Way("no such ident", by("kind"), [":kind/bgu"], [":kind/bgu"], [], "UNKNOWN_IDENT"),
    Way(
        "no such ident in a list",
        "[:find ?i :in $ [?k ...] :where [?i :issue/kind ?k]]",
        [[":kind/bug", ":kind/bgu"]],
        ["[:kind/bug :kind/bgu]"],
        [[11]],
        "UNKNOWN_IDENT",
    ),
]


@dataclass(frozen=True)
class Refusal:
    """Arguments that are refused, with the code that says so."""

    name: str
    query: str
    json: list[Any] | None
    edn: list[str] | None
    code: str


REFUSALS = [
    Refusal(
        "rules that are no rules",
        "[:find ?b :in $ % :where (reaches 11 ?b)]",
        ["[[reaches]]"],
        ["[[reaches]]"],
        "QUERY_INVALID",
    ),
    Refusal("a number for rules", "[:find ?b :in $ % :where (reaches 11 ?b)]", [5], ["5"], "QUERY_INVALID"),
    Refusal("null for rules", "[:find ?b :in $ % :where (reaches 11 ?b)]", None, ["nil"], "QUERY_INVALID"),
    Refusal(
        "a map for rules", "[:find ?b :in $ % :where (reaches 11 ?b)]", [{"a": 1}], ["{:a 1}"], "QUERY_INVALID"
    ),
    Refusal("broken rules", "[:find ?b :in $ % :where (reaches 11 ?b)]", ["[[(reaches"], None, "EDN_SYNTAX"),
    Refusal(
        "rules without a head", "[:find ?b :in $ % :where (reaches 11 ?b)]", ["[[]]"], ["[[]]"], "QUERY_INVALID"
    ),
    Refusal(
        "rules that do not know it",
        "[:find ?b :in $ % :where (reaches 11 ?b)]",
        [HAVING],
        [HAVING],
        "QUERY_INVALID",
    ),
    Refusal(
        "a basis for rules",
        "[:find ?b :in $ % :where (reaches 11 ?b)]",
        [{"#basis": {"t": 2}}],
        None,
        "ARG_INVALID",
    ),
    Refusal("too few", by("status"), [], [], "ARG_INVALID"),
    Refusal("too many", by("status"), [":open", 1], [":open", "1"], "ARG_INVALID"),
    Refusal(
        "no list", "[:find ?i :in $ [?s ...] :where [?i :issue/status ?s]]", [":open"], [":open"], "ARG_INVALID"
    ),
    Refusal(
        "a short tuple",
        "[:find ?i :in $ [?s ?o] :where [?i :issue/status ?s] [?i :issue/owner ?o]]",
        [[":open"]],
        ["[:open]"],
        "ARG_INVALID",
    ),
    Refusal(
        "no tuples",
        "[:find ?i :in $ [[?s ?c]] :where [?i :issue/status ?s] [?i :issue/cost ?c]]",
        [[1]],
        ["[1]"],
        "ARG_INVALID",
    ),
    Refusal("a basis for a value", by("status"), [{"#basis": {"t": 2}}], None, "ARG_INVALID"),
    Refusal(
        "a value for a source",
        "[:find ?i :in $ $old :where [$old ?i :issue/status]]",
        ["x"],
        ['"x"'],
        "ARG_INVALID",
    ),
    Refusal(
        "a basis that is none",
        "[:find ?i :in $ $old :where [$old ?i :issue/status]]",
        [{"basis": {"t": "x"}}],
        ["{:basis {:t :x}}"],
        "ARG_INVALID",
    ),
    Refusal(
        "a lookup ref that is none", by("owner"), [[":user/name", "Ada"]], ['[:user/name "Ada"]'], "ARG_INVALID"
    ),
    Refusal("a tag that is none", by("status"), [{"#nope": 1}], ["#nope 1"], "ARG_INVALID EDN_SYNTAX"),
]
