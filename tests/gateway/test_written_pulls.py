"""Pulls that are written from codes answer what maps do, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adalog.executor.evaluation.pulls import EntityPulls
from adalog.executor.pool import Pool
from adalog.executor.turns.brief_work import BriefWork
from adalog.executor.turns.scheduler import Scheduler
from tests.gateway.support import Gateway, gateway

DECLARED = """
[{:db/ident :x/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :x/text :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
 {:db/ident :x/tags :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :x/numbers :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
 {:db/ident :x/any :db/cardinality :db.cardinality/many}
 {:db/ident :x/large :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :x/at :db/valueType :db.type/instant :db/cardinality :db.cardinality/one}
 {:db/ident :x/amount :db/valueType :db.type/bigdec :db/cardinality :db.cardinality/one}
 {:db/ident :x/yes :db/valueType :db.type/boolean :db/cardinality :db.cardinality/one}
 {:db/ident :x/kind :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
 {:db/ident :x/one :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
 {:db/ident :x/many :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :x/part :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :db/isComponent true}]
"""
LONG = "long " * 400
DATA = (
    """[{:db/id "a" :x/name "a" :x/text "quote \\" back \\\\ line \\n é 日 \\u0001" :x/tags ["b" "a" "Z" ""]
         :x/numbers [2.5 -1.0 0.0] :x/large 9007199254740993 :x/at #inst "2024-05-01T12:00:00.123Z" :x/amount 1.50M
         :x/yes false :x/kind :k/v :x/any [1 3 2]
         :x/one "b" :x/many ["a" "b" "c" "d"] :x/part ["p" "q"]}
        {:db/id "b" :x/name "b" :x/many ["a" "c"] :x/one "b" :x/text \""""
    + LONG
    + """"}
        {:db/id "c" :x/name "c" :x/tags ["only"] :x/one "d"} {:db/id "d" :x/large 0}
        {:db/id "p" :x/name "p" :x/part ["q"]} {:db/id "q" :x/text ""}]"""
)
LATER = '[[:db/add [:x/name "a"] :x/tags "later"] [:db/retract [:x/name "b"] :x/one [:x/name "b"]]]'

VALUES = ("name", "text", "tags", "numbers", "any", "large", "at", "amount", "yes", "kind")
REFS = ("one", "many", "part", "_one", "_many", "_part")
plain = st.sampled_from([f":x/{name}" for name in VALUES + REFS] + [":db/id", ":x/nothing", "*"])
optional = st.one_of(
    plain,
    st.sampled_from(
        [
            '[:x/name :as "n"]',
            "[:x/text :as :x/name]",
            '[:x/name :as ":x/text"]',
            "[:x/tags :limit 2]",
            "[:x/tags :limit nil]",
            "[:x/many :limit 1]",
            '[:x/text :default "none \\""]',
            "[:x/one :default 7]",
            "[:x/name :xform str]",
            "{:x/one 2}",
            "{:x/many ...}",
            "{(:x/many :limit 1) [:x/name]}",
            '{[:x/one :default "no"] [:x/large]}',
            '{[:x/part :as "parts"] [:x/text]}',
            '(q "n" [:find (count ?x) . :in $ ?e :where [?x :x/many ?e]])',
        ]
    ),
)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pattern = st.lists(inner, min_size=1, max_size=3).map(" ".join)
    return st.tuples(st.sampled_from(REFS), pattern).map(lambda given: f"{{:x/{given[0]} [{given[1]}]}}")


elements = st.recursive(optional, nested, max_leaves=6)
patterns = st.lists(elements, min_size=1, max_size=5).map(lambda each: f"[{' '.join(each)}]")
NAMED = [
    *('[:x/name "a"]', '[:x/name "b"]', '[:x/name "c"]', '[:x/name "p"]', '[:x/name "no"]', '[:x/text ""]'),
    *("[", "1", "5", "1048577", "99999999999999999999", ":db/ident", ":no/ident", '"text"'),
]
named = st.sampled_from(NAMED)
basis = st.sampled_from([None, {"t": 3}, {"since": 2}, {"history": True}])
ONE = """query ($p: EDN!, $e: EDN!, $b: BasisInput, $w: EDN, $n: Encoding) {
  pull(pattern: $p, eid: $e, basis: $b, with: $w, encoding: $n) }"""
MANY = """query ($p: EDN!, $e: [EDN!]!, $b: BasisInput, $w: EDN, $n: Encoding) {
  pullMany(pattern: $p, eids: $e, basis: $b, with: $w, encoding: $n) }"""
WITH = '[{:x/name "a" :x/text "tried" :x/tags ["new"]}]'


@pytest.fixture(scope="module")
def open_gateway() -> Iterator[Gateway]:
    with gateway(None, DECLARED, DATA, LATER) as opened:
        yield opened


def both(opened: Gateway, document: str, **variables: object) -> tuple[bytes, bytes]:
    """(the answer, the answer by way of maps)"""
    first = opened.post(document, **variables).content
    # Where it is read: at once, if the like of it was pulled on the same snapshot.
    assert all(opened.post_directly(document, **variables) == first for _ in range(2))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EntityPulls, "written", lambda *given: None)
        return first, opened.post(document, **variables).content


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pattern=patterns,
    entities=st.lists(named, min_size=1, max_size=3),
    at=basis,
    tried=st.sampled_from([None, None, None, WITH]),
    encoding=st.sampled_from([None, None, "PLAIN", "TAGGED", "EDN"]),
)
def test_answers_are_those_of_maps(
    open_gateway: Gateway, pattern: str, entities: list[str], at: object, tried: str | None, encoding: str | None
) -> None:
    more = {"b": at, "w": tried, "n": encoding}
    written, mapped = both(open_gateway, MANY, p=pattern, e=entities, **more)
    assert written == mapped, pattern
    written, mapped = both(open_gateway, ONE, p=pattern, e=entities[0], **more)
    assert written == mapped, pattern


PATTERN = "[:db/id :x/name :x/tags :x/large {:x/many [:x/name {:x/one [:x/name]}]} {:x/_many [:x/name]}]"


def test_a_pattern_of_attributes_is_written_from_codes(open_gateway: Gateway) -> None:
    written = []
    original = EntityPulls.written
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EntityPulls, "written", lambda *given: written.append(original(*given)) or written[-1])
        answer = open_gateway.data(ONE, p=PATTERN, e='[:x/name "a"]')["pull"]
    assert [json.loads(each) for each in written[0]] == [answer], "it was written"
    assert answer[":x/tags"] == ["", "Z", "a", "b", "later"]


def test_a_pattern_that_was_pulled_on_a_snapshot_is_pulled_at_once_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = "query ($p: EDN!, $e: EDN!) { x: pull(pattern: $p, eid: $e) }"
    many = "query ($p: EDN!, $e: [EDN!]!) { pullMany(pattern: $p, eids: $e) }"
    asked: list[tuple[str, object]] = [
        *(
            (one, each)
            for each in ('[:x/name "a"]', '[:x/name "b"]', '[:x/name "no"]', "1", "[", "nil", "x" * 20_000)
        ),
        *((many, each) for each in ([], ['[:x/name "a"]', "99", '[:x/name "c"]'], ["("], ['[:x/name "a"]'] * 30)),
    ]
    away: list[object] = []
    original = Pool.apull
    monkeypatch.setattr(Pool, "apull", lambda *given: away.append(given) or original(*given))
    # However busy the machine is.
    monkeypatch.setattr(BriefWork, "knows", lambda *_, **__: True)
    with gateway(None, DECLARED, DATA) as opened:
        for change in (None, LATER):
            if change is not None:
                opened.database.transact(change)
            usual = [opened.post(document, p=PATTERN, e=each).content for document, each in asked * 2][len(asked) :]
            before = len(away)
            assert [opened.post_directly(document, p=PATTERN, e=each) for document, each in asked] == usual
            # Of many, and where something is wrong with the entities or nothing is there.
            assert len(away) - before < 4
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(Scheduler, "may_run_brief", lambda _: False)
                opened.post_directly(one, p=PATTERN, e='[:x/name "a"]')
            assert len(away) - before > 1


def test_an_attribute_declared_later_is_shown_by_a_known_pattern() -> None:
    with gateway(None, DECLARED, DATA) as opened:
        given = {"p": "[:x/name :y/new]", "e": '[:x/name "a"]'}
        assert opened.data(ONE, **given)["pull"] == {":x/name": "a"}
        opened.database.transact("[{:db/ident :y/new :db/cardinality :db.cardinality/one}]")
        opened.database.transact('[{:x/name "a" :y/new 1}]')
        assert opened.data(ONE, **given)["pull"] == {":x/name": "a", ":y/new": 1}
        opened.database.transact("[[:db/add :x/text :db/ident :x/words]]")
        assert opened.data(ONE, **given | {"p": "[:x/words]"})["pull"][":x/words"].startswith("quote")


def test_what_is_much_is_pulled_by_columns_alike() -> None:
    long = " ".join(f'{{:x/name "m{i}" :x/one [:x/name "a"] :x/text "{LONG}"}}' for i in range(450))
    short = " ".join(f'{{:x/name "s{i}" :x/one [:x/name "a"]}}' for i in range(900))
    with gateway(None, DECLARED, DATA, f"[{long}]", f"[{short}]") as opened:
        for pattern in ("[{:x/_one [:x/name]}]", "[{(:x/_one :limit 150) [:x/text]}]", "[{:x/_one [:x/text]}]"):
            written, mapped = both(opened, ONE, p=pattern, e='[:x/name "a"]')
            assert written == mapped
            assert len(written) > 18_000
