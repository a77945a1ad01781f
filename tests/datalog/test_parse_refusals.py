"""What the parser refuses: the code, the place, and what the message says would be right."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import EdnList, EdnMap, Keyword, Symbol, Value

REFUSED = [
    # the query as a whole
    ("5", 1, "a query is a map {:find … :where …} or a vector"),
    ("[]", 1, "a query needs :find"),
    ("{:where [[?x :a]]}", 1, "a query needs :find"),
    ("[?x :where [?x :a]]", 2, "begins with :find, not with ?x"),
    ("[:fnd ?x :where [?x :a]]", 2, "no section :fnd (did you mean :find?)"),
    ('{:find [?x] "where" []}', 13, 'a section of a query is a keyword such as :find or :where, not "where"'),
    ("[:find ?x :find ?y]", 11, ":find is given twice"),
    ("[:find ?x :keys a :strs a :where [?x :a]]", 19, "give :keys or :strs, not both"),
    # :find and what goes with it
    ("[:find :where [?x :a]]", 2, ":find is empty"),
    ("[:find [] :where [?x :a]]", 8, "at least one variable"),
    ("[:find _ :where [_ :a]]", 8, "takes variables, calls, aggregates and pulls: ?x, (inc ?x)"),
    ("[:find :x]", 8, "no section :x"),
    ('[:find "x" :where [?x :a]]', 8, 'not "x"'),
    ("[:find $ :where [?x :a]]", 8, "not $"),
    ("[:find ?x ?y . :where [?x :a ?y]]", 14, "a scalar find is one element and a dot"),
    ("[:find [?x ?y ...] :where [?x :a ?y]]", 15, "a collection find is one element and dots"),
    ("[:find [[?x]] :where [?x :a]]", 9, "not [?x]"),
    ("[:find (cuont ?x) :where [?x :a]]", 9, "there is no aggregate cuont (did you mean count?)"),
    ("[:find (count) :where [?x :a]]", 8, "(count …) aggregates a variable: (count ?x)"),
    ("[:find (count 3 ?x) :where [?x :a]]", 8, "wrong number of arguments; write (count ?x)"),
    ("[:find (sample ?x) :where [?x :a]]", 8, "write (sample n ?x)"),
    ("[:find (max ?x 3) :where [?x :a]]", 16, "(max …) aggregates a variable"),
    ("[:find (max 1.5 ?x) :where [?x :a]]", 13, "takes a whole number for n, not 1.5"),
    ("[:find (pull ?x) :where [?x :a]]", 8, "a pull takes a variable and a pattern, as in (pull ?e [*])"),
    ("[:find ?x :keys a b :where [?x :a]]", 19, ":keys has 2 names for the 1 element of :find"),
    ("[:find ?x ?y :keys a :where [?x :a ?y]]", 20, ":keys has 1 name for the 2 elements of :find"),
    ("[:find ?x :keys :where [?x :a]]", 11, ":keys is empty"),
    ("[:find ?x . :keys a :where [?x :a]]", 19, "this :find is a scalar"),
    ("[:find ?x ?y :keys a a :where [?x :a ?y]]", 22, "a is in :keys twice"),
    ('[:find ?x :keys "a" :where [?x :a]]', 17, ':keys takes plain names such as name, not "a"'),
    ("[:find ?x :with _ :where [?x :a]]", 17, ":with takes variables such as ?x, not _"),
    # :in
    ("[:find ?x :in $ ?a ?a :where [?x :a ?a]]", 20, "?a is in :in twice"),
    ("[:find ?x :in $ [?a ?a] :where [?x :a ?a]]", 21, "?a is in :in twice"),
    ("[:find ?x :in $ $ :where [?x :a]]", 17, "$ is in :in twice"),
    ("[:find ?x :in 5 :where [?x :a]]", 15, ":in takes ?x, [?x ...], [?a ?b] or [[?a ?b]], not 5"),
    ("[:find ?x :in [] :where [?x :a]]", 15, "not []"),
    ("[:find ?x :in [[]] :where [?x :a]]", 15, "binds nothing"),
    ("[:find ?x :in [?x [?y #{?z}]]]", 23, "binds variables such as ?x, not #{?z}"),
    ("[:find ?x :in [?x [?y [?x]]]]", 24, "?x is in :in twice"),
    ("[:find ?x :in [?x []]]", 19, ":in takes ?x, [?x ...]"),
    # patterns
    ("[:find ?x :where ?x]", 18, "a clause is a data pattern [entity attribute value tx added?]"),
    ("{:find [?x] :where [?x :a]}", 21, "each stands in brackets of its own"),
    ("[:find ?x :where []]", 18, "an empty clause"),
    ("[:find ?x :where [?x ?a ?v ?t ?op ?z]]", 18, "at most 5 places"),
    ("[:find ?x :where [?x :a % ]]", 25, "% cannot stand here"),
    ("[:find ?x :where [?x :a $b]]", 25, "$b cannot stand here"),
    ("[:find ?x :where [$other ?x :a]]", 19, "no source $other is in :in"),
    ("[:find ?x :in $ $db1 :where [$db2 ?x :a]]", 30, "(did you mean $db1?)"),
    ("[:find ?x :where [$]]", 18, "1 to 5 places"),
    ("[:find ?x :where [?x :a (+ 1 2)]]", 25, "bind its value first: [(+ 1 2) ?x]"),
    # calls
    ("[:find ?x :where [?x :a ?y] [(upper-csae ?y) ?z]]", 31, "no built-in upper-csae (did you mean upper-case?)"),
    ("[:find ?x :where [?x :a ?y] [(start-with? ?y 1)]]", 31, "(did you mean starts-with?)"),
    ("[:find ?x :where [?x :a] [(java.lang.System/exit 0)]]", 28, "there is no built-in java.lang.System/exit"),
    ("[:find ?x :where [?x :a ?y] [(subs ?y) ?z]]", 30, "(subs …) takes 2 to 3 arguments, not 1"),
    ("[:find ?x :where [?x :a ?y] [(inc ?y 2) ?z]]", 30, "(inc …) takes 1 argument, not 2"),
    ("[:find ?x :where [?x :a ?y] [(-) ?z]]", 30, "(- …) takes at least 1 argument, not 0"),
    ("[:find ?x :where [?x :a] [(= ?x _)]]", 33, "an argument cannot be _"),
    ("[:find ?x :where [?x :a] [(inc $) ?y]]", 32, "(inc …) takes no source"),
    ("[:find ?x :where [?x :a ?y] [(inc ?y) ?z ?w]]", 42, "a call takes one binding: [(inc ?y) ?z]"),
    ("[:find ?x :where [?x :a ?y] [(inc ?y) 5]]", 39, "a binding takes ?x"),
    ("[:find ?x :where [?x :a ?y] [((< ?y 3))]]", 30, "begins with the name of a built-in"),
    ("[:find ?x :where [?x :a] [()]]", 27, "begins with the name of a built-in"),
    ("[:find ?x :where [?x :a ?y] (< ?y 3)]", 29, "a call stands in brackets: [(< ?y 3)]"),
    # compound clauses
    ("[:find ?x :where (nto [?x :a])]", 19, "there is no rule or clause (nto …) (did you mean not?)"),
    ("[:find ?x :where [?x :a] (ancestor ?x 1)]", 27, "there is no rule or clause (ancestor …)"),
    ("[:find ?x :where ([?x :a])]", 18, "a clause in parentheses is (or …), (not …), (and …)"),
    ("[:find ?x :where (or)]", 18, "(or) is empty"),
    ("[:find ?x :where (and)]", 18, "(and) is empty"),
    ("[:find ?x :where [?x :a] (not)]", 26, "(not) is empty"),
    ("[:find ?x :where (or [?x :a] [?x :b ?y])]", 30, "?y is not in all; or-join says which variables to share"),
    ("[:find ?x :where (or [?x :a] [?y :b])]", 30, "?x, ?y are not in all"),
    ("[:find ?x :where (or-join ?x [?x :a])]", 27, "or-join begins with its variables: (or-join [?x] …)"),
    ("[:find ?x :where (or-join [] [?x :a])]", 27, "at least one variable"),
    ("[:find ?x :where (or-join [?x])]", 18, "or-join needs at least one branch"),
    ("[:find ?x :where (or-join [?x _] [?x :a])]", 31, "a variable such as ?x is expected here, not _"),
    ("[:find ?x :where (or-join [?x ?x] [?x :a])]", 31, "or-join lists ?x twice"),
    ("[:find ?x :where (or-join [?x ?z] [?x :a])]", 31, "or-join lists ?z, but no clause in it uses it"),
    ("[:find ?x :where [?x :a] (not-join [] [?x :b])]", 36, "not-join begins with its variables"),
    ("[:find ?x :where [?x :a] (not-join [?x])]", 26, "not-join needs at least one clause"),
    ("[:find ?x :where [?x :a] (not-join [?z] [?x :b])]", 37, "not-join lists ?z"),
    # order and limits
    ("[:find ?x :where [?x :a] :order-by [[?x :down]]]", 41, "a direction is :asc or :desc, not :down"),
    ("[:find ?x :where [?x :a] :order-by [5]]", 37, ":order-by 5: :find has 1 column, counted from 1"),
    ("[:find ?x :where [?x :a] :limit -1]", 33, ":limit takes one non-negative whole number, not -1"),
    ("[:find ?x :where [?x :a] :limit 1 2]", 33, "not 1 2"),
    ("[:find ?x :where [?x :a] :limit 1.0]", 33, "not 1.0"),
    ("[:find ?x :where [?x :a] :limit true]", 33, "not true"),
    ("[:find ?x :where [?x :a] :limit]", 26, ":limit is empty"),
    ("[:find ?x :where [?x :a] :offset ?n]", 34, ":offset takes a whole number, or a variable of :in"),
    ("[:find ?x :where [?x :a] :timeout 0]", 35, ":timeout takes one positive whole number, not 0"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED, ids=[case[0][:50] for case in REFUSED])
def test_refuses(text: str, column: int, message: str) -> None:
    with pytest.raises(AdalogError) as caught:
        parse_query(text)
    assert caught.value.code is Code.QUERY_INVALID
    assert message in caught.value.message
    assert caught.value.position == Position(1, column)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        (
            "[:find ?x ?nmae\n :where [?x :a ?name]]",
            Position(1, 11),
            "?nmae is in :find, but nothing in :where or :in",
        ),
        ("[:find ?x ?nmae\n :where [?x :a ?name]]", Position(1, 11), "(did you mean ?name?)"),
        ("[:find (sum ?y) :where [?x :a]]", Position(1, 13), "?y is in :find"),
        ("[:find ?x\n :with ?z\n :where [?x :a]]", Position(2, 8), "?z is in :with"),
        ("[:find ?y :where (or-join [?x] [?x :a ?y])]", Position(1, 8), "?y is in :find"),
    ],
)
def test_what_find_asks_for_must_be_bound(text: str, position: Position, message: str) -> None:
    with pytest.raises(AdalogError) as caught:
        parse_query(text)
    assert caught.value.code is Code.UNBOUND_VARIABLE
    assert message in caught.value.message
    assert caught.value.position == position


def test_broken_edn_is_refused_with_its_place() -> None:
    with pytest.raises(AdalogError) as caught:
        parse_query("[:find ?x\n :where [?x :a 012]]")
    assert (caught.value.code, caught.value.position) == (Code.EDN_SYNTAX, Position(2, 16))


def test_a_long_form_is_cut_in_the_message() -> None:
    with pytest.raises(AdalogError) as caught:
        parse_query(f'[:find "{"x" * 10_000}"]')
    assert len(caught.value.message) < 200


def _names(count: int) -> str:
    return " ".join(f"?x{n}" for n in range(count))


def _calls(text: str) -> int:
    """How many functions are called to parse a text."""
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        parse_query(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"[:find ?x0 :in {_names(n)}]",
        lambda n: f"[:find {_names(n)} :keys {_names(n)} :in {_names(n)}]",
        lambda n: f"[:find ?x0 :where (or-join [{_names(n)}] (and [{_names(n).replace(' ', '] [')}]))]",
        lambda n: "[:find ?x :where " + "(or [?x :a] " * (n // 50) + "[?x :b]" + ")" * (n // 50) + "]",
    ],
    ids=["inputs", "keys", "or-join", "nested"],
)
def test_a_query_of_twice_the_size_takes_little_more_than_twice_the_calls(text: Callable[[int], str]) -> None:
    # Alternatives look at their variables level by level: the depth, which ends at 64, may cost its square.
    most = 5 if "(or " in text(50) else 3
    assert _calls(text(2_000)) < most * _calls(text(1_000))


# Whatever the text, the parser answers with a query or with a refusal.

_symbols = "?x ?y _ $ $b % . ... and or not or-join not-join < inc count ground missing? pull"
_keywords = "find in with where keys order-by limit offset timeout rules a desc"
_atoms = st.sampled_from(
    [*map(Symbol, _symbols.split()), *map(Keyword, _keywords.split()), 1, -1, 1.5, "text", None, True]
)
_forms: st.SearchStrategy[Value] = st.recursive(
    _atoms,
    lambda inner: (
        st.lists(inner, max_size=5).map(tuple)
        | st.lists(inner, max_size=5).map(EdnList)
        | st.lists(st.tuples(inner, inner), max_size=2).map(EdnMap)
    ),
    max_leaves=12,
)


@given(
    st.lists(_forms, max_size=3),
    st.lists(_forms, max_size=3),
    st.lists(_forms, max_size=4),
    st.sampled_from(["order-by", "limit", "keys", "with", "timeout"]),
    st.lists(_forms, max_size=2),
)
def test_every_refusal_has_a_place(
    find: list[Value], inputs: list[Value], where: list[Value], other: str, more: list[Value]
) -> None:
    sections = {"find": find, "in": inputs, "where": where, other: more}
    text = "[" + " ".join(f":{name} {' '.join(map(write, forms))}" for name, forms in sections.items()) + "]"
    refusal = _refusal(text)
    if refusal is not None:
        assert refusal.code in (Code.QUERY_INVALID, Code.UNBOUND_VARIABLE, Code.EDN_SYNTAX)
        assert refusal.position is not None


def _refusal(text: str) -> AdalogError | None:
    try:
        parse_query(text)
    except AdalogError as error:
        return error
    return None
