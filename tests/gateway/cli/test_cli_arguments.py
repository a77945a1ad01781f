"""Arguments and points in time on the command line, on a folder and over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result

from tests.gateway.cli.command_line import adalog

Ask = Callable[..., Result]


@pytest.fixture(params=["folder", "address"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """`adalog query --format edn` of the family, in a folder and served."""
    where = request.getfixturevalue(request.param)
    option = "--data" if request.param == "folder" else "--url"
    return lambda *words, **more: adalog("query", option, where, "--format", "edn", *words, **more)


def said(result: Result) -> str:
    """What a query answers, on one line."""
    return " ".join(result.stdout.split())


FOUR = "[:find [?a ?b ?c ?d] :in $ ?a ?b ?c ?d]"
NAMED = "[:find [?n ...] :in $ % :where (named _ ?n) :order-by [?n]]"
RULES = "[[(named ?p ?n) [?p :person/name ?n]]]"
FAMILY = '["Ada" "Anne" "Byron" "Ralph"]'


def test_edn_arguments(ask: Ask) -> None:
    words = ("--arg-edn", ":a/b", "--arg-edn", "#{1}", "--arg-edn", "1.5M", "--arg-edn", '#inst "2024-05-01"')
    assert said(ask(*words, FOUR)) == '[:a/b #{1} 1.5M #inst "2024-05-01T00:00:00.000-00:00"]'


def test_both_kinds_in_the_order_typed(ask: Ask) -> None:
    words = ("--arg-edn", ":a", "--arg", "[1, 2]", "--arg", '"x"', "--arg-edn", "(1 \\c)")
    assert said(ask(*words, FOUR)) == '[:a [1 2] "x" (1 \\c)]'
    words = ("--arg", "1", "--arg-edn=2N", "--arg=3", "--arg-edn", "nil")
    assert ask(*words, "[:find ?a ?b ?c :in $ ?a ?b ?c ?d :where [(nil? ?d)]]").stdout == "[[1 2N 3]]\n"


def test_a_missing_argument_names_its_option(ask: Ask) -> None:
    missing = ask("[:find ?n . :in $ ?n]")
    assert missing.exit_code == 1
    assert "but 0 were given; each is given by --arg JSON or --arg-edn EDN" in missing.stderr


@pytest.mark.parametrize("words", [("--arg-edn", RULES), ("--arg", f'"{RULES}"')])
def test_rules(ask: Ask, words: tuple[str, ...]) -> None:
    assert said(ask(*words, NAMED)) == FAMILY


def test_rules_beside_json(ask: Ask) -> None:
    query = "[:find ?n . :in $ ?n % :where (named _ ?n)]"
    assert ask("--arg", '"Ada"', "--arg-edn", RULES, query).stdout == '"Ada"\n'


@pytest.mark.parametrize("words", [("--arg", '{"basis": {"asOf": 1}}'), ("--arg-edn", "{:basis {:as-of 1}}")])
@pytest.mark.parametrize("before", [(), ("--arg", "1815"), ("--arg-edn", "1815")])
def test_a_source(ask: Ask, words: tuple[str, ...], before: tuple[str, ...]) -> None:
    inputs = "$ ?b $old" if before else "$ $old"
    query = (
        f"[:find ?n . :in {inputs} :where [?p :person/born ?b] [?p :person/name ?n] ($old not [?p :person/name])]"
    )
    assert ask(*before, *words, query).stdout == '"Ada"\n'


def test_an_integer_wider_than_json_carries(ask: Ask) -> None:
    assert ask("--arg", "99999999999999999999", "[:find ?x . :in $ ?x]").stdout == "99999999999999999999N\n"


@pytest.mark.parametrize(
    ("option", "text", "why"),
    [
        ("--arg", "Ada", "needs quotes"),
        ("--arg", "NaN", "NaN is no JSON value"),
        ("--arg", "1e999", "too large for a double"),
        ("--arg", "[" * 100_000, "not JSON"),
        ("--arg-edn", "[1", "line 1, column 1"),
        ("--arg-edn", "1 2", "not EDN"),
        ("--arg-edn", "", "not EDN"),
    ],
)
def test_what_is_no_argument(option: str, text: str, why: str) -> None:
    result = adalog("query", "--data", ":memory:", option, text, "[:find ?x :in $ ?x]")
    assert result.exit_code == 2
    assert why in result.stderr
    assert option in result.stderr


def test_text_that_is_no_unicode(ask: Ask) -> None:
    result = ask("--arg", '"\\ud800"', "[:find ?x :in $ ?x]")
    assert result.exit_code == 1
    assert "ARG_INVALID" in result.stderr


def test_arguments_from_the_environment(ask: Ask) -> None:
    assert said(ask(FOUR, ADALOG_ARG='"a b"\n1\n', ADALOG_ARG_EDN=":c\n:d")) == '["a b" 1 :c :d]'


COUNT = "[:find (count ?n) . :where [?p :person/name ?n]]"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((), "4"),
        (("--as-of", "2"), "4"),
        (("--as-of", "1"), "nil"),
        (("--as-of", "2999-01-01"), "4"),
        (("--as-of", '#inst "2999-01-01"'), "4"),
        (("--since", "1"), "4"),
        (("--since", "2"), "nil"),
        (("--since", "2000-01-01"), "4"),
        (("--since", "2100-01-01"), "nil"),
        (("--as-of", "1", "--since", "0"), "nil"),
        (("--history",), "4"),
        (("--history", "--as-of", "2", "--since", "1"), "4"),
        (("--with", '[{:person/name "Eve"}]'), "5"),
        (("--engine", "local", "--timeout", "1m"), "4"),
        (("--engine", "AUTO", "--timeout", "30"), "4"),
    ],
)
def test_points_in_time_engines_and_timeouts(ask: Ask, words: tuple[str, ...], answer: str) -> None:
    assert ask(*words, COUNT).stdout == answer + "\n"


def test_history_shows_what_no_longer_holds(folder: str) -> None:
    adalog("transact", "--data", folder, '[[:db/add [:person/name "Ada"] :person/born 1816]]')
    query = "[:find ?b ?added :where [_ :person/born ?b _ ?added] :order-by [?b ?added]]"
    say = ("query", "--data", folder, "--format", "edn", query)
    assert adalog(*say, "--history").stdout == "[[1815 false]\n [1815 true]\n [1816 true]]\n"
    assert adalog(*say).stdout == "[[1816 true]]\n"
    assert adalog(*say, ADALOG_HISTORY="1", ADALOG_SINCE="2").stdout == "[[1815 false]\n [1816 true]]\n"


@pytest.mark.parametrize("words", [("--engine", "gpu"), ("--history=1",)])
def test_wrong_words(words: tuple[str, ...]) -> None:
    assert adalog("query", "--data", ":memory:", *words, COUNT).exit_code == 2


ENDLESS = """[:find (count ?x) .
 :where (up 0 ?x)
 :rules [[(up ?x ?y) [(+ ?x 1) ?y] [(< ?y 1000000000)]]
         [(up ?x ?y) (up ?x ?z) [(+ ?z 1) ?y] [(< ?y 1000000000)]]]]"""


def test_a_timeout(ask: Ask) -> None:
    result = ask("--timeout", "5ms", ENDLESS)
    assert result.exit_code == 1
    assert result.stderr.startswith("TIMEOUT")


@pytest.mark.parametrize("span", ["0", "-1", "2x", "1e3", "", "999h", "0.1ms", "s"])
def test_what_is_no_span_of_time(span: str) -> None:
    result = adalog("query", "--data", ":memory:", f"--timeout={span}", COUNT)
    assert result.exit_code == 2
    assert "timeout" in result.stderr
