"""Value types: what a declared attribute takes, and what it becomes where nothing is lost."""

from __future__ import annotations

import pytest

TAKES = """
long | 1 => 1
long | -9223372036854775808 => -9223372036854775808
long | 1.0 => 1
long | 1N => 1
long | 1M => 1
bigint | 1N => 1N
bigint | 1 => 1N
bigint | 123456789012345678901234567890N => 123456789012345678901234567890N
double | 1.5 => 1.5
double | 1 => 1.0
double | ##Inf => ##Inf
bigdec | 1.50M => 1.5M
bigdec | 2 => 2M
string | "a" => "a"
string | "" => ""
keyword | :a/b => :a/b
symbol | a/b => a/b
boolean | true => true
boolean | false => false
instant | #inst "2020-01-01" => #inst "2020-01-01T00:00:00.000Z"
instant | #inst "2020-01-01T02:00:00+02:00" => #inst "2020-01-01T00:00:00Z"
uuid | #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" => #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
uri | #uri "https://example.org/" => #uri "https://example.org/"
bytes | #bytes "AAEC" => #bytes "AAEC"
duration | #duration "P1Y14MT90M" => #duration "P2Y2MT1H30M"
ref | 5 => 5
"""

REFUSES = """
long | 1.5
long | "1"
duration | 5
duration | "a day"
long | 9223372036854775808N
long | true
bigint | 1.5
double | "1.0"
double | 9007199254740993
bigdec | "1"
string | :a
string | 1
string | \\a
keyword | ":a"
keyword | a
symbol | :a
boolean | 1
boolean | "true"
instant | "2020-01-01"
instant | 0
uuid | "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
uri | "https://example.org/"
bytes | "AAEC"
ref | 1.5
ref | true
"""


@pytest.mark.parametrize("line", TAKES.strip().splitlines())
def test_takes(db, line):
    kind, rest = line.split(" | ")
    given, kept = rest.split(" => ")
    db.tx(f"[{{:db/ident :v :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/one}}]")
    db.tx(f"[[:db/add 1 :v {given}]]")
    assert db.q("[:find ?v . :where [1 :v ?v]]") == kept
    assert db.q("[:find ?e :in $ ?v :where [?e :v ?v]]", kept) == "#{[1]}"
    assert db.q(f"[:find ?e :where [?e :v {given}]]") == "#{[1]}"


@pytest.mark.parametrize("line", REFUSES.strip().splitlines())
def test_refuses(db, line):
    kind, given = line.split(" | ")
    db.tx(f"[{{:db/ident :v :db/valueType :db.type/{kind} :db/cardinality :db.cardinality/one}}]")
    db.tx_refuses("TX_INVALID", f"[[:db/add 1 :v ‸{given}]]", says=":v")
    db.tx_refuses("TX_INVALID", f"[{{:db/id 1 :v ‸{given}}}]", says=kind)


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("instant", '"2020-01-01"', 'is not an instant, as :v wants; did you mean #inst "2020-01-01T00:00:00'),
        ("uuid", '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"', 'did you mean #uuid "f81d4fae-'),
        ("bigdec", "1.5", "is not a bigdec, as :v wants; did you mean 1.5M?"),
        ("bigdec", '"1.50"', "did you mean 1.50M?"),
        ("keyword", '":open"', "did you mean :open?"),
        ("keyword", '"open"', "did you mean :open?"),
        ("long", "null", "null is nil in EDN, and no value"),
        ("long", "9007199254740993.0", "a double from 2^53 on stands for several whole numbers: write all digits"),
        ("bigint", "1e30", "is not a bigint, as :v wants; a double from 2^53 on"),
        ("ref", '"ada@example.org"', "an ident or a lookup ref such as [:user/email"),
    ],
)
def test_a_refusal_says_what_would_be_right(db, kind, given, says):
    db.tx(f"[{{:db/ident :v :db/valueType :db.type/{kind}}}]")
    db.tx_refuses("TX_INVALID", f"[[:db/add 1 :v {given}]]", says=says)


def test_a_type_that_there_is_not(db):
    db.tx_refuses("TX_INVALID", "[{:db/ident :v :db/valueType :db.type/decimal}]", says="types are bigdec bigint")


def test_float_keeps_single_precision(db):
    db.tx("[{:db/ident :v :db/valueType :db.type/float}]")
    db.tx("[[:db/add 1 :v 1.5]]")
    assert db.run("[:find ?v . :where [1 :v ?v]]").rows()[0][0] == 1.5
    assert db.q("[:find ?e :where [?e :v 1.5]]") == "#{[1]}"


def test_tuples(db):
    db.tx("""[{:db/ident :point :db/valueType :db.type/tuple :db/tupleTypes [:db.type/long :db.type/long]}
              {:db/ident :path :db/valueType :db.type/tuple :db/tupleType :db.type/keyword}]""")
    db.tx("[{:db/id 1 :point [1 2] :path [:a :b :c]}]")
    assert db.q("[:find ?p . :where [1 :point ?p]]") == "[1 2]"
    assert db.q("[:find ?e :where [?e :point [1 2]]]") == "#{[1]}"
    assert db.q("[:find ?x ?y :where [1 :point ?p] [(untuple ?p) [?x ?y]]]") == "#{[1 2]}"
    db.tx_refuses("TX_INVALID", '[{:db/id 1 :point [1 "2"]}]')
    db.tx_refuses("TX_INVALID", "[{:db/id 1 :point [1 2 3]}]")


def test_instants_have_milliseconds(db):
    db.tx('[[:db/add 1 :v #inst "2020-02-29T12:34:56.789Z"]]')
    assert db.q("[:find ?v . :where [1 :v ?v]]") == '#inst "2020-02-29T12:34:56.789Z"'


def test_strings_of_every_kind(db):
    text = '"tab\\t quote\\" backslash\\\\ newline\\n \\u2603 𝄞"'
    db.tx(f"[[:db/add 1 :v {text}]]")
    assert db.q("[:find ?v . :where [1 :v ?v]]") == text


def test_a_long_string(db):
    text = '"' + "x" * 100_000 + '"'
    db.tx(f"[[:db/add 1 :v {text}]]")
    assert db.q("[:find ?n . :where [1 :v ?v] [(count ?v) ?n]]") == "100000"
