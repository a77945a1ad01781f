"""The queries of the articles the project began with, each with its answer."""

from __future__ import annotations

import pytest


@pytest.fixture
def lovelace(db):
    db.tx("""[{:db/ident :children :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""")
    db.tx("""[{:db/id 1 :first-name "Ada" :last-name "Lovelace" :gender :female :profession :programmer}
              {:db/id 2 :first-name "William" :last-name "Lovelace" :gender :male}
              {:db/id 3 :first-name "Byron" :last-name "Lovelace" :gender :male}
              {:db/id 4 :first-name "George" :last-name "Byron" :gender :male :children [1]}]""")
    return db


def test_or(lovelace):
    query = """{:find [p]
                :where [[p :last-name "Lovelace"]
                        (or [p :first-name "Ada"]
                            [p :first-name "William"])]}"""
    assert lovelace.q(query) == "#{[1] [2]}"


def test_and_inside_or(lovelace):
    query = """{:find [p]
                :where [[p :last-name "Lovelace"]
                        (or [p :first-name "Ada"]
                            (and [p :first-name "William"] [p :gender :male]))]}"""
    assert lovelace.q(query) == "#{[1] [2]}"


def test_not(lovelace):
    query = (
        """{:find [p] :where [[a :first-name "Ada"] [a :gender g] [p :last-name "Lovelace"] (not [p :gender g])]}"""
    )
    assert lovelace.q(query) == "#{[2] [3]}"


def test_name(db):
    db.tx('[{:db/id 1 :name "Ada"}]')
    assert db.q("{:find [person name] :where [[person :name name]]}") == '#{[1 "Ada"]}'


def test_directed_triangles(db):
    db.tx("[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :g/to [2 3 4]} {:db/id 2 :g/to [3 4]} {:db/id 3 :g/to [4]}]")
    query = "{:find [?a ?b ?c] :where [[?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]}"
    assert db.q(query) == "#{[1 2 3] [1 2 4] [1 3 4] [2 3 4]}"
    assert db.q("[:find (count ?c) . :with ?a ?b :where [?a :g/to ?b] [?b :g/to ?c] [?a :g/to ?c]]") == "4"


def test_cliques_of_four(db):
    db.tx("[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
    db.tx("[{:db/id 1 :g/to [2 3 4 5]} {:db/id 2 :g/to [3 4]} {:db/id 3 :g/to [4 5]}]")
    query = """[:find ?a ?b ?c ?d :where [?a :g/to ?b] [?a :g/to ?c] [?a :g/to ?d]
                                         [?b :g/to ?c] [?b :g/to ?d] [?c :g/to ?d]]"""
    assert db.q(query) == "#{[1 2 3 4]}"
