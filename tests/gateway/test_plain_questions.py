"""Questions of known texts, run by what was kept of them and written from codes, answer what any way answers, byte
for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.datalog.errors import AdalogError
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.engine import QueryEngine
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.executor.plain_run import PlainRun, SettledRun
from adalog.executor.pool import Pool
from adalog.executor.question.plain_questions import PlainText
from adalog.executor.slow_queries import SlowQueries
from adalog.executor.turns.brief_work import BriefWork
from adalog.executor.turns.scheduler import Scheduler
from adalog.gateway.settings.config import Settings
from adalog.schema.writing.rows import Page
from tests.gateway.support import Gateway, gateway

DECLARED = """
[{:db/ident :x/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :x/tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :x/number :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :x/double :db/valueType :db.type/double :db/cardinality :db.cardinality/one}
 {:db/ident :x/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :x/at :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :x/yes :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :x/amount :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :x/any :db/cardinality :db.cardinality/many}
 {:db/ident :x/many :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]
"""
LONG = "long " * 400
DATA = (
    """[{:db/id "a" :x/name "a" :x/tags ["t" "u" "quote \\" é 日 \\u0001" ""] :x/number [1 9007199254740993 -5]
         :x/double 2.0 :x/kind :k/v :x/at #inst "2024-05-01T12:00:00.123Z" :x/yes false :x/amount 1.50M
         :x/any [1 3 2] :x/many ["a" "b" "c"]}
        {:db/id "b" :x/name "b" :x/tags ["t" \""""
    + LONG
    + """"] :x/number [1 2] :x/many ["a" "c"] :x/kind :k/w :x/yes true}
        {:db/id "c" :x/name "c" :x/tags ["t"] :x/number [2] :x/double -1.5 :x/any [7]}]"""
)
LATER = '[[:db/add [:x/name "a"] :x/tags "later"] [:db/retract [:x/name "b"] :x/many [:x/name "c"]]]'

TEXTS = [
    "[:find ?m ?t :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m] [?d :x/tags ?t]]",
    "[:find ?t :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/tags ?t]]",
    "[:find ?e ?v :in $ ?n :where [?e :x/name ?n] [?e :x/any ?v]]",
    "[:find ?n ?n :in $ ?n :where [?e :x/tags ?n]]",
    "[:find ?n ?v :in $ ?v :where [?e :x/number ?v] [?e :x/name ?n]]",
    "[:find ?n ?x :in $ ?v ?t :where [?e :x/number ?v] [?e :x/tags ?t] [?e :x/name ?n] [?e :x/number ?x]]",
    "[:find ?n :in $ ?v :where [?e :x/double ?v] [?e :x/name ?n]]",
    """[:find ?n ?at ?y ?a :in $ ?v
        :where [?e :x/kind ?v] [?e :x/name ?n] [?e :x/at ?at] [?e :x/yes ?y] [?e :x/amount ?a]]""",
    "[:find ?n :in $ ?v :where [?e :x/yes ?v] [?e :x/name ?n]]",
    "[:find ?n :in $ ?v :where [?e :x/any ?v] [?e :x/name ?n]]",
    "[:find ?n :in $ ?v :where [?e :x/tags ?v] [?e :x/any ?v] [?e :x/name ?n]]",
    "[:find ?n ?v :in $ ?v :where [?e :x/name ?n] (not [?e :x/tags ?v])]",
    "[:find [?m ...] :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m]]",
    "[:find ?m . :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m]]",
    "[:find ?t . :in $ ?n ?v :where [?e :x/name ?n] [?e :x/number ?v] [?e :x/tags ?t]]",
    "[:find ?y . :in $ ?n :where [?e :x/name ?n] [?e :x/yes ?y]]",
    "[:find [?y ?k] :in $ ?n :where [?e :x/name ?n] [?e :x/yes ?y] [?e :x/kind ?k]]",
    "[:find ?m . :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m] :order-by [[?m :desc]]]",
    "[:find ?m :keys m :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m]]",
    "[:find (count ?d) :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d]]",
    "[:find ?m :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m] :limit 1 :order-by ?m]",
    "[:find ?m ?s :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m] [(str ?m ?n) ?s]]",
    """[:find ?m :in $ ?n :where [?e :x/name ?n] (linked ?e ?d) [?d :x/name ?m]
        :rules [[(linked ?a ?b) [?a :x/many ?b]] [(linked ?a ?b) [?a :x/many ?c] (linked ?c ?b)]]]""",
    "[:find ?m :in $ ?e :where [?e :x/many ?d] [?d :x/name ?m]]",
    "[:find ?v :in $ ?a ?n :where [?e :x/name ?n] [?e ?a ?v]]",
    "[:find ?m :in $ [?n ...] :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/name ?m]]",
    "[:find ?m :in $ ?n :where [?e :x/name ?n] [?e :x/nothing ?d] [?d :x/name ?m]]",
    "[:find (pull ?d [:x/name]) :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d]]",
    """[:find ?t ?d :in $ ?n :where [?e :x/name ?n] [?e :x/many ?d] [?d :x/tags ?t]
        :order-by [[?d :desc] ?t] :limit 3]""",
    """[:find ?d ?t :in $ ?n ?f :where [?e :x/number ?n] [?e :x/many ?d] [?d :x/number ?t]
        :order-by [?t [?d :desc]] :limit ?f :offset 1]""",
    """[:find ?d ?t :in $ ?f ?o ?n :where [?e :x/number ?n] [?e :x/many ?d] [?d :x/number ?t]
        :order-by [?d] :offset ?o :limit ?f]""",
    """[:find ?x :in $ ?f ?n :where [?e :x/number ?n] [?e :x/many ?d] [?d :x/number ?x] [?d :x/number ?f]
        :order-by [?x] :limit ?f]""",
    """[:find ?d :in $ ?n :where [?e :x/number ?n] [?e :x/many ?d] [?d :x/number ?t]
        :order-by [[?t :desc]] :limit 2]""",
    "[:find ?d :in $ ?n ?f :where [?e :x/number ?n] [?e :x/many ?d] :limit ?f]",
]
NUMBERED = TEXTS[-6:]
JSONS: list[Any] = [
    *("a", "b", "c", "t", "no", "", ":k/v", "k/v", LONG, "1", "2024-05-01T12:00:00.123Z", "\u0001"),
    *(1, 2, -5, 0, 9007199254740993, 2**70, 2.0, 1.0, 2.5, -1.5, True, False, None, [], ["a"], [1, 2]),
    *([":x/name", "a"], {}, {"a": 1}, {"#edn": '"a"'}, {"#edn": ":k/v"}, {"#edn": "("}, {"#kw": ":k/v"}),
    *({"#inst": "2024-05-01T12:00:00.123Z"}, {"#dec": "1.50"}, {"basis": {"t": 3}}, {"#basis": {"t": 3}}),
]
arguments = st.one_of(
    st.lists(st.sampled_from(JSONS[:3]), min_size=1, max_size=1),
    st.lists(st.sampled_from(JSONS), min_size=1, max_size=2),
    st.lists(st.sampled_from(JSONS), max_size=3),
    st.lists(st.sampled_from([0, 1, 2, 3, 2**60, 2**61, 2**63, -1, "1", 1.0]), min_size=1, max_size=3),
    st.lists(st.sampled_from([1, 1, 2, 2, 2**61]), min_size=1, max_size=3),
)
ASKED = """query ($q: EDN!, $a: [JSON!], $b: BasisInput, $w: EDN, $f: Int, $n: Encoding, $e: Engine) {
  q(query: $q, args: $a, basis: $b, with: $w, first: $f, encoding: $n, engine: $e) {
    rows value columns { name type } warnings { code message line column } basisT } }"""
SHOWN = """query ($q: EDN!, $a: [JSON!]) {
  x: q(args: $a, query: $q, encoding: PLAIN) { rows basisT more: rows __typename v: value } }"""
ROWS = "query ($q: EDN!, $a: [JSON!]) { q(query: $q, args: $a) { rows } }"
WITH = '[{:x/name "a" :x/tags ["new"]} {:x/name "n" :x/many [[:x/name "a"]]}]'
TWO_HOPS = TEXTS[0]


@pytest.fixture(scope="module", autouse=True)
def kernel() -> None:
    SMALL_JOIN.load()


@pytest.fixture(scope="module")
def open_gateway() -> Iterator[Gateway]:
    with gateway(None, DECLARED, DATA, LATER) as opened:
        for _ in range(3):
            for text in TEXTS:
                for given in (["a"], [1], [2.0], [True], [":k/v"], [1, 1], [1, 1, 1]):
                    opened.post(ROWS, q=text, a=given)
        yield opened


def both(opened: Gateway, document: str, **variables: Any) -> tuple[bytes, bytes]:
    """(the answer, the answer with nothing kept of its like)"""
    first = opened.post(document, **variables).content
    # Where it is read, and of texts that were run on this snapshot before without a question.
    assert opened.post_directly(document, **variables) == first
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PlainText, "values", lambda *given: None)
        patched.setattr(QueryEngine, "_plainly", lambda *given: None)
        patched.setattr(Page, "_from_codes", lambda *given: None)
        return first, opened.post(document, **variables).content


def rows_by_plain_run(opened: Gateway, text: str, *args: Any) -> tuple[Any, int]:
    """(the rows, how many runs were plain)"""
    ran: list[Any] = []
    original = PlainRun.result
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(PlainRun, "result", lambda *given: ran.append(1) or original(*given))
        return opened.q(text, *args), len(ran)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.sampled_from([*TEXTS, TWO_HOPS, TWO_HOPS, *NUMBERED, *NUMBERED]),
    args=arguments,
    at=st.sampled_from([None, None, None, {"t": 3}, {"since": 2}, {"history": True}, {"t": 2}]),
    tried=st.sampled_from([None, None, None, None, WITH]),
    first=st.sampled_from([None, None, None, 0, 1, 2]),
    encoding=st.sampled_from([None, None, "PLAIN", "TAGGED", "EDN"]),
    engine=st.sampled_from([None, None, "LOCAL", "SPARK"]),
)
def test_answers_are_those_of_the_usual_way(
    open_gateway: Gateway,
    text: str,
    args: list[Any],
    at: object,
    tried: str | None,
    first: int | None,
    encoding: str | None,
    engine: str | None,
) -> None:
    more = {"a": args, "b": at, "w": tried, "f": first, "n": encoding, "e": engine}
    kept, usual = both(open_gateway, ASKED, q=text, **more)
    assert kept == usual, text
    for document in (ROWS, SHOWN):
        kept, usual = both(open_gateway, document, q=text, a=args)
        assert kept == usual, text


def at_once(opened: Gateway, document: str, **variables: Any) -> tuple[bytes, int]:
    """(the answer, how many runs took what their snapshot keeps)"""
    ran: list[Any] = []
    original = SettledRun.columns
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SettledRun, "columns", lambda *given: ran.append(1) or original(*given))
        return opened.post_directly(document, **variables), len(ran)


@pytest.fixture
def always_brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all work of a known text be taken for brief, however loaded the machine is."""
    monkeypatch.setattr(BriefWork, "knows", lambda *_, **__: True)


def warm(opened: Gateway) -> None:
    """Asks for what has a run of its own on the snapshot then."""
    for name in ("b", "c", "a", "no"):
        for document in (SHOWN, ROWS):
            opened.post(document, q=TWO_HOPS, a=[name])


@pytest.mark.usefixtures("always_brief")
def test_what_was_run_on_a_snapshot_is_run_at_once_on_it_and_on_later_ones() -> None:
    with gateway(None, DECLARED, DATA) as opened:
        warm(opened)
        for change in (None, LATER, '[{:x/name "d" :x/tags "new"}]', '[[:db/retract [:x/name "a"] :x/tags "t"]]'):
            if change is not None:
                before = opened.database.snapshot().statistics_epoch
                opened.database.transact(change)
                is_planned_anew = opened.database.snapshot().statistics_epoch != before
                answer, ran = at_once(opened, SHOWN, q=TWO_HOPS, a=["b"])
                assert ran == (not is_planned_anew)
                assert answer == both(opened, SHOWN, q=TWO_HOPS, a=["b"])[1]
                warm(opened)
            for name in ("b", "c", "b", "c"):
                answer, ran = at_once(opened, SHOWN, q=TWO_HOPS, a=[name])
                assert ran == 1
                assert answer == both(opened, SHOWN, q=TWO_HOPS, a=[name])[1]
        for given in ([], ["no"], ["a", "b"], [1], [None], [{"basis": {"t": 1}}], ["x" * 100_000]):
            assert at_once(opened, SHOWN, q=TWO_HOPS, a=given)[1] == 0


CONSTANTS = [
    '[:find ?t :in $ ?y :where [[:x/name "a"] :x/tags ?t] [?e :x/yes ?y]]',
    '[:find ?t :in $ ?n :where [?e :x/name ?n] [?e :x/many [:x/name "c"]] [?e :x/tags ?t]]',
    "[:find ?n :in $ ?n :where [?e :x/name ?n] [?e :x/many :named/b]]",
]
MANY = [f'{{:x/name "many {n}" :x/tags "t" :x/number 2 :x/many [:x/name "c"]}}' for n in range(40)]
EVENTS = [
    *(f'[{{:x/name "{name}" :x/tags ["t" "new"] :x/number [1 7]}}]' for name in "abcd"),
    *(f'[[:db/retract [:x/name "{name}"] :x/tags "t"]]' for name in "abc"),
    '[{:x/name "c" :x/many [{:x/name "a"} {:x/name "b"}] :x/yes true :x/any "t"}]',
    '[[:db/retract [:x/name "a"] :x/many [:x/name "c"]]]',
    '[[:db/retractEntity [:x/name "d"]]]',
    # Another entity, and none, is named by a constant then.
    '[[:db/add [:x/name "a"] :x/name "was a"] {:db/id "n" :x/name "a" :x/tags "other"}]',
    '[[:db/add [:x/name "c"] :x/name "was c"]]',
    '[{:x/name "c" :x/many {:x/name "c"}}]',
    '[[:db/add [:x/name "b"] :db/ident :named/b]]',
    '[{:db/id "n" :x/name "n" :db/ident :named/b} {:x/name "a" :x/many "n"}]',
    f"[{' '.join(MANY)}]",
    "[[:db/add :x/any :db/doc \"any\"]]",
    '[{:x/name "gone" :x/tags "secret"}]',
    '[{:db/excise [:x/name "gone"]}]',
]  # fmt: skip


@pytest.fixture(scope="module")
def changing_gateway() -> Iterator[Gateway]:
    with gateway(None, DECLARED, DATA, LATER) as opened:
        yield opened


@pytest.mark.usefixtures("always_brief")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    event=st.sampled_from(EVENTS),
    asked=st.lists(
        st.tuples(
            st.sampled_from([*TEXTS, *CONSTANTS, *CONSTANTS]), st.sampled_from([["a"], ["c"], [1], [2, 2], [True]])
        ),
        min_size=2,
        max_size=4,
    ),
)
def test_the_first_answer_after_a_transaction_is_that_of_the_usual_way(
    changing_gateway: Gateway, event: str, asked: list[tuple[str, list[Any]]]
) -> None:
    opened = changing_gateway
    for text, args in asked:
        for _ in range(3):
            opened.post(ROWS, q=text, a=args)
    try:
        opened.database.transact(event)
    except AdalogError:
        # What it names is not there at this time.
        opened.database.transact('[{:x/name "b" :x/tags "now"}]')
    for text, args in asked:
        first = opened.post_directly(ROWS, q=text, a=args)
        assert first == both(opened, ROWS, q=text, a=args)[1], (event, text, args)


@pytest.mark.usefixtures("always_brief")
@pytest.mark.parametrize("text", CONSTANTS[:2])
def test_constants_that_name_entities_are_looked_up_again_when_names_were_written(text: str) -> None:
    args = [True] if "?y" in text else ["a"]
    # Plans are made anew when the number of transactions doubles.
    earlier = [f'[{{:x/name "more {n}"}}]' for n in range(6)]
    with gateway(None, DECLARED, DATA, *earlier) as opened:
        for change, is_known in (
            ("[]", False),
            ('[[:db/add [:x/name "b"] :x/tags "other"]]', True),
            ('[[:db/add [:x/name "a"] :x/tags "another"]]', True),
            ('[{:x/name "d"}]', False),
            ('[[:db/add [:x/name "a"] :x/tags "last"]]', True),
        ):
            opened.database.transact(change)
            answer, ran = at_once(opened, ROWS, q=text, a=args)
            assert ran == is_known, change
            assert answer == both(opened, ROWS, q=text, a=args)[1]
            for _ in range(4):
                opened.post(ROWS, q=text, a=args)


@pytest.mark.usefixtures("always_brief")
def test_pulls_are_made_at_once_after_a_transaction() -> None:
    pull = '{ pull(pattern: "[:x/name :x/tags]", eid: "[:x/name \\"c\\"]") }'
    with gateway(None, DECLARED, DATA) as opened:
        opened.post(pull)
        for tag in ("t1", "t2"):
            opened.database.transact(f'[[:db/add [:x/name "c"] :x/tags "{tag}"]]')
            assert _pulls_at_once(opened, pull) == [True]
            assert tag in str(json.loads(opened.post_directly(pull)))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[:find ?y . :in $ ?n :where [?e :x/name ?n] [?e :x/yes ?y]]", [b"false", b"true", b"null"]),
        (
            "[:find [?y ?k] :in $ ?n :where [?e :x/name ?n] [?e :x/yes ?y] [?e :x/kind ?k]]",
            [b'[false,":k/v"]', b'[true,":k/w"]', b"null"],
        ),
    ],
)
def test_an_answer_of_one_row_is_run_at_once_where_there_is_no_other(text: str, values: list[bytes]) -> None:
    several = text.replace("[?e :x/name ?n]", "[?e :x/tags ?n]")
    with gateway(None, DECLARED, DATA) as opened:
        for asked in (text, several):
            for name in ("b", "a", "u"):
                opened.post(SHOWN, q=asked, a=[name])
        for name, value in zip(("a", "b", "c"), values, strict=True):
            answer, ran = at_once(opened, SHOWN, q=text, a=[name])
            assert (ran, b'"v":' + value in answer) == (1, True), answer
            assert answer == both(opened, SHOWN, q=text, a=[name])[1]
            assert rows_by_plain_run(opened, text, name)[1] == 1
        assert at_once(opened, SHOWN, q=several, a=["u"])[1] == 1
        for _ in range(8):
            answer, _ = at_once(opened, SHOWN, q=several, a=["t"])
            assert answer == both(opened, SHOWN, q=several, a=["t"])[1]


def test_what_is_run_at_once_is_counted_and_kept() -> None:
    with gateway(None, DECLARED, DATA, cache=CacheSettings()) as opened:
        metrics, cache = opened.app.state.answering.metrics, opened.pool.cache
        warm(opened)
        cache.memory.clear()

        def figures() -> tuple[int, float, int, int]:
            tally = cache.tally.all()
            lanes = opened.pool.scheduler.figures().lanes.values()
            started = sum(each.started for each in lanes)
            return metrics.requests("q", "OK"), started, tally["query", "miss"], tally["process", "miss"]

        before = figures()
        answer, ran = at_once(opened, ROWS, q=TWO_HOPS, a=["b"])
        assert ran == 1
        assert figures() == tuple(each + 1 for each in before)
        # Then it is in the cache.
        assert len(cache.memory) == 1
        assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"]) == (answer, 0)
        assert figures()[2] == before[2] + 1
        assert both(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == answer


def test_what_was_run_at_once_before_an_excision_is_not_kept_after_it() -> None:
    with gateway(None, DECLARED, DATA, cache=CacheSettings()) as opened:
        warm(opened)
        cache = opened.pool.cache
        cache.memory.clear()
        original = SettledRun.result

        def result(*given: Any) -> Any:
            found = original(*given)
            opened.database.transact("[{:db/excise :x/tags}]")
            return found

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SettledRun, "result", result)
            assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == 1
        assert len(cache.memory) == 0


def test_questions_stay_plain_however_often_something_is_excised() -> None:
    with gateway(None, DECLARED, DATA) as opened:
        warm(opened)
        for number in range(12):
            opened.database.transact(f'[{{:x/name "gone" :x/tags "secret {number}"}}]')
            opened.database.transact('[{:db/excise [:x/name "gone"]}]')
            warm(opened)
            assert rows_by_plain_run(opened, TWO_HOPS, "b")[1] == 1
            answer, ran = at_once(opened, ROWS, q=TWO_HOPS, a=["b"])
            assert ran == 1
            assert answer == both(opened, ROWS, q=TWO_HOPS, a=["b"])[1]


def test_pulls_are_made_at_once_after_an_excision() -> None:
    pull = '{ pull(pattern: "[:x/name :x/tags]", eid: "[:x/name \\"c\\"]") }'
    with gateway(None, DECLARED, DATA) as opened:
        for tag in ("secret", "public", "last"):
            opened.database.transact(f'[{{:x/name "c" :x/tags "{tag}"}}]')
            opened.database.transact('[{:db/excise [:x/name "c"] :db.excise/attrs [:x/tags]}]')
            opened.database.transact(f'[{{:x/name "c" :x/tags "after {tag}"}}]')
            expected = {"data": {"pull": {":x/name": "c", ":x/tags": [f"after {tag}"]}}}
            assert opened.post(pull).json() == expected
            assert json.loads(opened.post_directly(pull)) == expected
            assert _pulls_at_once(opened, pull) == [True]


def _pulls_at_once(opened: Gateway, document: str) -> list[bool]:
    """For each pull that was tried at once, whether that gave the answer."""
    made: list[bool] = []
    original = Pool.pull_at_once

    def tried(*given: Any) -> list[bytes] | None:
        found = original(*given)
        made.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Pool, "pull_at_once", tried)
        opened.post_directly(document)
    return made


def test_what_is_run_at_once_may_be_slow(caplog: pytest.LogCaptureFixture) -> None:
    with gateway(None, DECLARED, DATA) as opened:
        warm(opened)
        opened.pool.engine.means = replace(opened.pool.engine.means, slow=SlowQueries(0.0))
        with caplog.at_level("WARNING", "adalog.slow"):
            assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == 1
        (told,) = caplog.records
        assert (told.query, told.rows, told.arguments, told.code) == (TWO_HOPS, 5, 1, "OK")  # type: ignore[attr-defined]


def test_nothing_is_run_at_once_while_others_wait_or_units_are_counted() -> None:
    with gateway(None, DECLARED, DATA) as opened:
        warm(opened)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Scheduler, "may_run_brief", lambda _: False)
            assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == 0
        assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == 1
    with gateway(Settings(data=":memory:", rate_units=1e9), DECLARED, DATA) as opened:
        warm(opened)
        assert at_once(opened, ROWS, q=TWO_HOPS, a=["b"])[1] == 0


def test_a_known_text_with_a_value_of_its_type_is_run_by_what_was_kept(open_gateway: Gateway) -> None:
    rows, plain = rows_by_plain_run(open_gateway, TWO_HOPS, "a")
    assert plain == 1
    assert ["a", "later"] in rows
    assert rows_by_plain_run(open_gateway, TWO_HOPS, "no") == ([], 1)
    assert rows_by_plain_run(open_gateway, TEXTS[4], 1)[1] == 1
    assert rows_by_plain_run(open_gateway, TEXTS[4], 1.0)[1] == 0, "it is converted"
    for text, args in zip(NUMBERED, ([["a"], [2, 2], [2, 1, 1], [1, 1], [1], [1, 1]]), strict=True):
        # Orders by what is not shown, and limits without an order, are not.
        assert rows_by_plain_run(open_gateway, text, *args)[1] == (text not in NUMBERED[-3:]), text
        ran = at_once(open_gateway, ROWS, q=text, a=args)[1]
        assert ran == (text not in NUMBERED[-3:]), text


def test_a_declaration_under_a_known_text_counts_at_once() -> None:
    text = "[:find ?n ?v :in $ ?v :where [?e :y/v ?v] [?e :x/name ?n]]"
    with gateway(None, DECLARED, DATA) as opened:
        database = opened.database
        for change in (
            "[]",
            "[{:db/ident :y/v :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]",
            '[{:x/name "a" :y/v "t"}]',
            "[[:db/add :y/v :db/cardinality :db.cardinality/many]]",
            '[{:x/name "a" :y/v "u"} {:x/name "b" :y/v "t"}]',
            "[[:db/add :y/v :db/ident :y/w]]",
            "[{:db/ident :y/v :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}]",
            '[{:x/name "c" :y/v :k/v}]',
            '[[:db/retractEntity [:x/name "a"]]]',
        ):
            database.transact(change)
            for value in ("t", "u", ":k/v"):
                for _ in range(3):
                    kept, usual = both(opened, ASKED, q=text, a=[value])
                    assert kept == usual, change


def test_answers_from_the_cache_are_those_of_the_engine() -> None:
    with gateway(None, DECLARED, DATA, cache=CacheSettings()) as opened:
        for text in TEXTS[:6]:
            for value in ("a", "b", "a", 1, "a", 1):
                kept, usual = both(opened, ASKED, q=text, a=[value])
                assert kept == usual, text
        opened.database.transact(LATER)
        for value in ("a", "b", "a"):
            kept, usual = both(opened, ASKED, q=TWO_HOPS, a=[value])
            assert kept == usual


def test_limits_hold_for_known_texts() -> None:
    with gateway(Settings(data=":memory:", rows=3), DECLARED, DATA) as opened:
        for _ in range(4):
            assert len(opened.q(TEXTS[1], "c")) == 0
        kept, usual = both(opened, ROWS, q=TWO_HOPS, a=["a"])
        assert kept == usual
        assert b"LIMIT_EXCEEDED" in kept
    with gateway(Settings(data=":memory:", result_bytes=20), DECLARED, DATA) as opened:
        for _ in range(4):
            kept, usual = both(opened, ROWS, q=TWO_HOPS, a=["a"])
            assert kept == usual
            assert b"LIMIT_EXCEEDED" in kept
