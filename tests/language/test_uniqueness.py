"""Unique attributes: a value names one entity at most; `:db.unique/value` refuses where `identity` upserts."""

from __future__ import annotations

import pytest


@pytest.fixture
def accounts(db):
    db.tx("""[{:db/ident :iban :db/valueType :db.type/string :db/unique :db.unique/value}
              {:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}]""")
    return db


def test_a_second_entity_with_the_value(accounts):
    accounts.tx('[{:db/id 1 :iban "X"}]')
    accounts.tx_refuses("UNIQUE_CONFLICT", '[[:db/add 2 :iban ‸"X"]]', says=":iban")
    accounts.tx_refuses("UNIQUE_CONFLICT", '[{:db/id "t" :iban ‸"X"}]')


def test_twice_in_one_transaction(accounts):
    accounts.tx_refuses("UNIQUE_CONFLICT", '[[:db/add 1 :iban "X"] [:db/add 2 :iban "X"]]')
    accounts.tx_refuses("UNIQUE_CONFLICT", '[[:db/add 1 :email "X"] [:db/add 2 :email "X"]]')


def test_the_same_entity_again(accounts):
    accounts.tx('[{:db/id 1 :iban "X"}]', '[{:db/id 1 :iban "X"}]')
    assert accounts.q("[:find ?e :where [?e :iban]]") == "#{[1]}"


def test_a_value_moves_within_one_transaction(accounts):
    accounts.tx('[{:db/id 1 :iban "X"}]')
    accounts.tx('[[:db/add 2 :iban "X"] [:db/retract 1 :iban "X"]]')
    assert accounts.q('[:find ?e :where [?e :iban "X"]]') == "#{[2]}"


def test_two_entities_swap_their_values(accounts):
    accounts.tx('[{:db/id 1 :iban "X"} {:db/id 2 :iban "Y"}]')
    accounts.tx('[{:db/id 1 :iban "Y"} {:db/id 2 :iban "X"}]')
    assert accounts.q("[:find ?e ?v :where [?e :iban ?v]]") == '#{[1 "Y"] [2 "X"]}'


def test_a_replaced_value_is_free_again(accounts):
    accounts.tx('[{:db/id 1 :iban "X"}]', '[{:db/id 1 :iban "Y"}]', '[{:db/id 2 :iban "X"}]')
    assert accounts.q("[:find ?e ?v :where [?e :iban ?v]]") == '#{[1 "Y"] [2 "X"]}'


def test_uniqueness_is_typed(db):
    db.tx("[{:db/ident :key :db/valueType :db.type/double :db/unique :db.unique/value}]")
    db.tx("[{:db/id 1 :key 1.0}]")
    db.tx_refuses("UNIQUE_CONFLICT", "[{:db/id 2 :key 1}]")


def test_an_attribute_becomes_unique(db):
    db.tx('[{:db/id 1 :name "Ada"} {:db/id 2 :name "Bob"}]')
    db.tx("[{:db/id :name :db/unique :db.unique/identity}]")
    assert db.tx('[{:db/id "t" :name "Ada"}]').tempids == {"t": 1}


def test_not_while_old_data_contradicts(db):
    db.tx('[{:db/id 1 :name "Ada"} {:db/id 2 :name "Ada"}]')
    error = db.tx_refuses("TX_INVALID", "[{:db/id :name :db/unique :db.unique/identity}]")
    assert "1" in error.message or "2" in error.message


def test_two_entities_one_ident(db):
    db.tx("[{:db/id 1 :db/ident :here}]")
    db.tx_refuses("UNIQUE_CONFLICT", "[{:db/id 2 :db/ident :here}]")
