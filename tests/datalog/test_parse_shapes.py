"""What a query text means as data: both forms, every section, every clause."""

from __future__ import annotations

import pytest

from adalog.datalog import ast
from adalog.datalog.errors import Position
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import Keyword, Symbol, Value, identity

X, Y, Z = ast.Var("?x"), ast.Var("?y"), ast.Var("?z")
DEFAULT = ast.Source("$")


def const(value: Value) -> ast.Const:
    return ast.Const(value, identity(value))


A, B, C = const(Keyword("a")), const(Keyword("b")), const(Keyword("c"))


def pattern(*terms: ast.Term, source: ast.Source = DEFAULT) -> ast.Pattern:
    return ast.Pattern(source, terms)


def where(clauses: str, inputs: str = "$") -> tuple[ast.Clause, ...]:
    return parse_query(f"[:find ?x :in {inputs} :where {clauses}]").where


@pytest.mark.parametrize(
    "text",
    [
        "[:find ?x ?y :in $ ?z :where [?x :a ?y] [?x :b ?z] :limit 5]",
        "{:find [?x ?y] :in [$ ?z] :where [[?x :a ?y] [?x :b ?z]] :limit 5}",
        "{:limit 5 :where [[?x :a ?y] [?x :b ?z]] :in [$ ?z], :find [?x ?y]}",
        "'[:find ?x ?y :in $ ?z :where [?x :a ?y] [?x :b ?z] :limit 5]",
        "{:find '[?x ?y] :in '[$ ?z] :where '[[?x :a ?y] [?x :b ?z]] :limit 5}",
        "(quote {:find [?x ?y] :in [?z] :where [[?x :a ?y] [?x :b ?z]] :limit 5})",
        "(:find ?x ?y :in ?z :where [?x :a ?y] #_[?x :c] [?x :b ?z] :limit 5 ; the end\n)",
    ],
)
def test_both_forms_are_one_query(text: str) -> None:
    assert parse_query(text) == ast.Query(
        find=ast.Find((ast.FindVar(X), ast.FindVar(Y))),
        with_=(),
        inputs=(ast.SourceInput("$"), ast.BindingInput(ast.ScalarBinding(Z))),
        where=(pattern(X, A, Y), pattern(X, B, Z)),
        limit=5,
    )


COUNT = ast.FindAggregate("count", (), X)


@pytest.mark.parametrize(
    ("find", "shape", "elements"),
    [
        ("?x ?y", "relation", (ast.FindVar(X), ast.FindVar(Y))),
        ("[?x ...]", "collection", (ast.FindVar(X),)),
        ("[?x ?y]", "tuple", (ast.FindVar(X), ast.FindVar(Y))),
        ("[?x]", "tuple", (ast.FindVar(X),)),
        ("?x .", "scalar", (ast.FindVar(X),)),
        ("(count ?x)", "relation", (COUNT,)),
        ("(count ?x) .", "scalar", (COUNT,)),
        ("[(count ?x) ...]", "collection", (COUNT,)),
        ("?y (count ?x) ?y", "relation", (ast.FindVar(Y), COUNT, ast.FindVar(Y))),
        ("(min 3 ?x)", "relation", (ast.FindAggregate("min", (const(3),), X),)),
        ("(sample 2 ?x)", "relation", (ast.FindAggregate("sample", (const(2),), X),)),
    ],
)
def test_find(find: str, shape: str, elements: tuple[ast.FindElement, ...]) -> None:
    assert parse_query(f"[:find {find} :where [?x :a ?y]]").find == ast.Find(elements, shape)
    assert parse_query(f"{{:find [{find}] :where [[?x :a ?y]]}}").find == ast.Find(elements, shape)


@pytest.mark.parametrize("find", ["[?x ...]", "[[?x ...]]"])
def test_a_collection_in_a_map(find: str) -> None:
    assert parse_query(f"{{:find {find} :where [[?x :a]]}}").find.shape == "collection"


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        (":keys x name", (Keyword("x"), Keyword("name"))),
        (":strs x name", ("x", "name")),
        (":syms x name", (Symbol("x"), Symbol("name"))),
    ],
)
def test_keys(section: str, keys: tuple[Value, ...]) -> None:
    assert parse_query(f"[:find ?x ?y {section} :where [?x :a ?y]]").find.keys == keys


@pytest.mark.parametrize(
    ("written", "binding"),
    [
        ("?x", ast.ScalarBinding(X)),
        ("[?x ...]", ast.CollectionBinding(X)),
        ("[?x _ ?y]", ast.TupleBinding((X, ast.Blank(), Y))),
        ("[?x]", ast.TupleBinding((X,))),
        ("[[?x ?y]]", ast.RelationBinding((X, Y))),
        ("[[?x _]]", ast.RelationBinding((X, ast.Blank()))),
        ("[[?x ?y] ...]", ast.RelationBinding((X, Y))),
    ],
)
def test_bindings_are_the_same_in_inputs_and_functions(written: str, binding: ast.Binding) -> None:
    assert parse_query(f"[:find ?x :in {written}]").inputs == (ast.SourceInput("$"), ast.BindingInput(binding))
    assert where(f"[(identity 1) {written}]") == (ast.Function("identity", (const(1),), binding),)


def test_the_default_source_comes_first_wherever_it_is_written() -> None:
    inputs = parse_query("[:find ?x :in ?x $b $ :where [$b ?x]]").inputs
    assert inputs == (ast.SourceInput("$"), ast.BindingInput(ast.ScalarBinding(X)), ast.SourceInput("$b"))


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("[?x]", pattern(X)),
        ("[?x :a]", pattern(X, A)),
        ("[?x ?y ?z _ true]", pattern(X, Y, Z, ast.Blank(), const(True))),
        ("[person :a name]", pattern(ast.Var("person"), A, ast.Var("name"))),
        ('[[:b "k"] :a ?x]', pattern(ast.LookupRef(B, const("k")), A, X)),
        ("[?x :a [:b ?y]]", pattern(X, A, ast.LookupRef(B, Y))),
        ("[?x :a [1 2]]", pattern(X, A, const((1, 2)))),
        ("[?x :a 1.0]", pattern(X, A, const(1.0))),
        ("[?x :a nil]", pattern(X, A, const(None))),
        ("[$b ?x 1 2]", pattern(X, const(1), const(2), source=ast.Source("$b"))),
        ("[$b ?x _ _ _ _ 7]", pattern(X, *[ast.Blank()] * 4, const(7), source=ast.Source("$b"))),
        ("[(< ?x 3)]", ast.Predicate("<", (X, const(3)))),
        ("[(missing? $b ?x :a)]", ast.Predicate("missing?", (ast.Source("$b"), X, A))),
        ('[(re-find #"\\d+" ?y) ?x]', ast.Function("re-find", (const("\\d+"), Y), ast.ScalarBinding(X))),
        ("(and [?x :a] [?x :b])", ast.And((pattern(X, A), pattern(X, B)))),
        ("(or [?x :a] [?x :b])", ast.Or((ast.And((pattern(X, A),)), ast.And((pattern(X, B),))))),
        (
            "(or (and [?x :a ?y] [?y :b]) [?x :c ?y])",
            ast.Or((ast.And((pattern(X, A, Y), pattern(Y, B))), ast.And((pattern(X, C, Y),)))),
        ),
        ("(or-join [?x] [?x :a ?y])", ast.OrJoin((), (X,), (ast.And((pattern(X, A, Y),)),))),
        ("(or-join [[?y] ?x] [?x :a ?y])", ast.OrJoin((Y,), (X,), (ast.And((pattern(X, A, Y),)),))),
        ("(not [?x :a ?y] [?y :b])", ast.Not((pattern(X, A, Y), pattern(Y, B)))),
        ("($b not [?x :a])", ast.Not((ast.Pattern(ast.Source("$b"), (X, A)),))),
        ("($b not [$ ?x :a])", ast.Not((pattern(X, A),))),
        ("($b and [(missing? ?x :a)])", ast.And((ast.Predicate("missing?", (ast.Source("$b"), X, A)),))),
        ("(not-join [?x] [?x :a ?y])", ast.NotJoin((X,), (pattern(X, A, Y),))),
        (
            "(not (or [?x :a] (not [?x :b])))",
            ast.Not((ast.Or((ast.And((pattern(X, A),)), ast.And((ast.Not((pattern(X, B),)),)))),)),
        ),
    ],
)
def test_clauses(clause: str, expected: ast.Clause) -> None:
    assert where(f"{clause} [?x :z]", "$ $b")[0] == expected


def test_numbers_of_different_types_are_different_constants() -> None:
    one, double, true = (where(f"[?x :a {literal}]")[0] for literal in ("1", "1.0", "true"))
    assert len({one, double, true}) == 3


def test_every_node_knows_its_place() -> None:
    query = parse_query("[:find ?x\n :where [?x :a ?y]\n        [(< ?y 3)]\n (not [?x :b])]")
    places = [clause.position for clause in query.where]
    assert places == [Position(2, 9), Position(3, 9), Position(4, 2)]
    first = query.where[0]
    assert isinstance(first, ast.Pattern)
    assert [term.position for term in first.terms] == [Position(2, 10), Position(2, 13), Position(2, 16)]


@pytest.mark.parametrize(
    "section",
    [":order-by [?x [?y :desc]]", ":order-by ?x [?y :desc]", ":order-by [[?x :asc] [?y :desc]]"],
)
def test_order_by(section: str) -> None:
    query = parse_query(f"[:find ?x ?y :where [?x :a ?y] {section} :limit 10 :offset 5 :timeout 250]")
    assert query.order_by == (ast.OrderKey(X), ast.OrderKey(Y, descending=True))
    assert (query.limit, query.offset, query.timeout_ms) == (10, 5, 250)


def test_order_by_an_aggregate_of_the_find() -> None:
    query = parse_query("[:find ?y (count ?x) :where [?x :a ?y] :order-by [[(count  ?x) :desc] ?y]]")
    assert query.order_by == (ast.OrderKey(ast.Var("(count ?x)"), descending=True), ast.OrderKey(Y))
