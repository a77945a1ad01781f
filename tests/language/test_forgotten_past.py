"""Queries of the past warn which attributes retention may have shortened; queries of the present never do."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool
from adalog.store.database import Database
from tests.support import World

READS = "[:find ?v :where [?e ‸:v ?v]]"
HISTORY = "[:find ?v ?t :where [?e ‸:v ?v ?t]]"


@pytest.fixture
def changed(db: World) -> World:
    """A value that was 1 from t = 2 on, 2 from 3, 3 from 4. A retention at t = 6 takes what ended before t = 5."""
    db.tx("[{:db/ident :v :db/valueType :db.type/long} {:db/ident :w :db/valueType :db.type/long}]")
    for number in (1, 2, 3):
        db.tx(f"[[:db/add 1 :v {number}] [:db/add 1 :w {number}]]")
    db.tx("[{:db/ident :v :db/retainTransactions 1}]")
    return db


@pytest.fixture
def folded(changed: World) -> World:
    changed.database.retain()
    assert changed.database.snapshot().t == 6
    return changed


def test_before_the_point_it_is_said_and_after_it_is_not(folded):
    assert folded.at(t=2).warnings(READS) == ["PAST_FORGOTTEN"]
    assert folded.at(t=3).warnings(READS) == ["PAST_FORGOTTEN"]
    message = (
        "the view as of t = 2 may lack values of :v that had ended before t = 5, which retention "
        "(:db/retainTransactions 1) need not keep"
    )
    assert folded.at(t=2).says(READS.replace("‸", "")) == message
    for t in (4, 5):
        # What retention took was retracted before these, so that they never showed it.
        assert folded.at(t=t).warnings(READS.replace("‸", "")) == []


def test_the_present_and_what_came_since_say_nothing(folded):
    for basis in ({}, {"t": 6}, {"since": 1}, {"since": 3}):
        assert folded.at(**basis).warnings(READS.replace("‸", "")) == []


def test_a_history_says_it_unless_it_begins_later(folded):
    assert folded.at(history=True).warnings(HISTORY) == ["PAST_FORGOTTEN"]
    assert folded.at(history=True).says(HISTORY.replace("‸", "")).startswith("the history may lack values of :v ")
    assert folded.at(history=True, since=3).warnings(HISTORY) == ["PAST_FORGOTTEN"]
    assert folded.at(history=True, since=4).warnings(HISTORY.replace("‸", "")) == []


def test_other_attributes_say_nothing(folded):
    assert folded.at(t=2).warnings("[:find ?v :where [?e :w ?v]]") == []


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?a ?v :where ‸[?e ?a ?v]]",
        "[:find (pull ?e [:w ‸:v]) :where [?e :w _]]",
        "[:find (pull ?e ‸[*]) :where [?e :w _]]",
        "[:find ?v :where [?e :w] [(get-else $ ?e ‸:v 0) ?v]]",
        "[:find ?v :where [?e ‸:v ?v] [?f :v ?v]]",
        "[:find ?e :where [?e :w] (not [?e ‸:v 3])]",
        "[:find ?n :where [(q [:find (count ?e) . :where [?e ‸:v]]) ?n]]",
    ],
)
def test_wherever_it_is_read(folded, query):
    assert folded.at(t=2).warnings(query) == ["PAST_FORGOTTEN"]


def test_nothing_is_said_before_anything_has_gone(changed):
    assert changed.at(t=2).warnings(READS.replace("‸", "")) == []
    assert changed.at(history=True).warnings(HISTORY.replace("‸", "")) == []
    changed.database.retain()
    assert changed.at(t=2).warnings(READS) == ["PAST_FORGOTTEN"]


def test_what_was_kept_by_then_counts_and_not_what_is_said_now(folded):
    folded.tx("[[:db/retract :v :db/retainTransactions 1]]")
    assert folded.at(t=2).warnings(READS) == ["PAST_FORGOTTEN"]
    folded.tx("[{:db/ident :w :db/retainTransactions 1}]")
    assert folded.at(t=2).warnings("[:find ?v :where [?e :w ?v]]") == []
    folded.tx("[{:db/id 99 :w 5}]", "[{:db/excise 99}]")
    assert folded.at(t=2).warnings(READS) == ["PAST_FORGOTTEN"]


def test_days_are_counted_to_the_run():
    now = [1_700_000_000_000]
    with Database.open(":memory:", now=lambda: now[0]) as database, closing(Pool(database)) as pool:
        world = World(database, pool)
        world.tx(
            "[{:db/ident :w :db/valueType :db.type/long :db/retainDays 2}]",
            *(f"[[:db/add 1 :w {n}]]" for n in (1, 2)),
        )
        now[0] += 3 * 86_400_000
        world.tx("[[:db/add 1 :w 3]]")
        assert database.retain().datoms == 2
        assert world.at(history=True).warnings("[:find ?v ?t :where [1 ‸:w ?v ?t]]") == ["PAST_FORGOTTEN"]
        said = world.at(t=2).says("[:find ?v :where [1 :w ?v]]")
        assert "before t = 4, which retention (:db/retainDays 2)" in said
        assert world.at(t=3).warnings("[:find ?v :where [1 :w ?v]]") == []


def test_what_is_said_of_all(changed):
    changed.tx("[{:db/ident :db/retention :db/retainTransactions 1} {:db/ident :w :db/retainAll true}]")
    changed.database.retain()
    said = changed.at(t=2).says("[:find ?a ?v :where [1 ?a ?v]]")
    assert said.startswith("the view as of t = 2 may lack values of :v that had ended before t = 6,")
    assert changed.at(t=2).warnings("[:find ?v :where [?e :w ?v]]") == []


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("v"), st.integers(0, 2)),
        st.tuples(st.just("w"), st.integers(0, 2)),
        st.tuples(st.sampled_from(("limit", "default")), st.integers(0, 4)),
        st.tuples(st.sampled_from(("retain", "excise")), st.just(0)),
    ),
    max_size=25,
)


def text_of(kind: str, number: int, before: int) -> str:
    """before: the limit until now, 0 for none; 4 keeps all."""
    if kind in ("v", "w"):
        return f"[[:db/add 1 :{kind} {number}]]"
    said = {4: ":db/retainAll true"}
    of = ":v" if kind == "limit" else ":db/retention"
    old, new = (said.get(each, f":db/retainTransactions {each}") for each in (before, number))
    return f"[{f'[:db/retract {of} {old}]' if before else ''} {f'[:db/add {of} {new}]' if number else ''}]"


def shown(database, attribute, basis):
    datoms = database.at(**basis).datoms("EAVT")
    return [(each.v, each.t, each.added) for each in datoms if each.e == 1 and str(each.a) == f":{attribute}"]


@settings(max_examples=30, deadline=None)
@given(EVENTS)
def test_no_view_that_lacks_something_is_silent(events):
    """Beside a database that folds nothing away, of as many transactions."""
    with (
        Database.open(":memory:") as folding,
        Database.open(":memory:") as whole,
        closing(Pool(folding)) as pool,
    ):
        world = World(folding, pool)
        for each in (folding, whole):
            each.transact("[{:db/ident :v :db/valueType :db.type/long} {:db/ident :w :db/valueType :db.type/long}]")
            each.transact('[{:db/ident :db/retention :db/doc ""}]')
        said = {"limit": 0, "default": 0}
        for kind, number in events:
            if kind == "retain":
                folding.retain()
            elif kind == "excise":
                folding.transact("[[:db/add 77 :w 1]]")
                folding.transact("[{:db/excise 77}]")
            elif said.get(kind) != number:
                folding.transact(text_of(kind, number, said.get(kind, 0)))
                if kind in said:
                    said[kind] = number
                else:
                    whole.transact(text_of(kind, number, 0))
            while whole.snapshot().t < folding.snapshot().t:
                whole.transact("[]")
        for attribute in ("v", "w"):
            query = f"[:find ?v :where [1 :{attribute} ?v]]"
            for t in range(2, folding.snapshot().t + 1):
                for basis in ({"t": t}, {"history": True, "since": t}, {"t": t, "history": True}):
                    if shown(folding, attribute, basis) != shown(whole, attribute, basis):
                        assert world.at(**basis).warnings(query) == ["PAST_FORGOTTEN"], (attribute, basis)
