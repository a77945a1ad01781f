"""The forms of a transaction: lists, maps, nesting, vectors for many, reverse keys."""

from __future__ import annotations

import pytest

SCHEMA = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/ident :tags :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
             {:db/ident :friend :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :boss :db/valueType :db.type/ref}
             {:db/ident :address :db/valueType :db.type/ref :db/isComponent true}
             {:db/ident :lines :db/valueType :db.type/ref :db/isComponent true :db/cardinality :db.cardinality/many}
             {:db/ident :n :db/valueType :db.type/long}]"""
ALL = "[:find ?a ?v :in $ ?e :where [?e ?a ?v]]"


@pytest.fixture
def shop(db):
    db.tx(SCHEMA)
    return db


def test_add(db):
    db.tx('[[:db/add 1 :name "Ada"]]')
    assert db.q(ALL, "1") == '#{[:name "Ada"]}'


def test_explicit_entity_ids(db):
    db.tx('[[:db/add 0 :name "Zero"] {:db/id 1000000 :name "Million"}]')
    assert db.q("[:find ?e ?n :where [?e :name ?n]]") == '#{[0 "Zero"] [1000000 "Million"]}'


def test_a_fresh_entity_does_not_reuse_an_explicit_id(db):
    db.tx('[{:db/id 1000 :name "A"}]')
    report = db.tx('[{:db/id "new" :name "B"}]')
    assert report.tempids["new"] != 1000
    assert len(db.q("[:find ?e :where [?e :name]]")) == 2


def test_map(db):
    db.tx('[{:db/id 1 :name "Ada" :age 36 :likes :math}]')
    assert db.q(ALL, "1") == '#{[:name "Ada"] [:age 36] [:likes :math]}'


def test_map_without_an_id(db):
    report = db.tx('[{:name "Ada" :age 36} {:name "Bob"}]')
    assert report.tempids == {}
    assert db.q("[:find ?n :where [?e :name ?n]]") == '#{["Ada"] ["Bob"]}'
    assert len(db.q("[:find ?e :where [?e :name]]")) == 2


def test_a_vector_for_a_many_valued_attribute(shop):
    shop.tx("[{:db/id 1 :tags [:a :b]}]")
    assert shop.q("[:find [?t ...] :where [1 :tags ?t]]") == "#{:a :b}"
    shop.tx("[{:db/id 1 :tags #{:c}} {:db/id 2 :tags :d}]")
    assert shop.q("[:find ?e ?t :where [?e :tags ?t]]") == "#{[1 :a] [1 :b] [1 :c] [2 :d]}"


def test_a_vector_in_a_list_form_is_one_value(shop):
    shop.tx_refuses("TX_INVALID", "[[:db/add 1 :tags ‸[:a :b]]]")


def test_repeats_in_a_vector(shop):
    report = shop.tx("[{:db/id 1 :tags [:a :a]}]")
    assert len([datom for datom in report.datoms if datom.e == 1]) == 1


def test_an_empty_vector_says_nothing(shop):
    shop.tx("[{:db/id 1 :tags [] :n 1}]")
    assert shop.q(ALL, "1") == "#{[:n 1]}"


def test_nested_maps(shop):
    shop.tx('[{:db/id 1 :n 1 :address {:street "Main" :boss {:db/id 9 :n 9}}}]')
    query = "[:find ?s ?n :where [1 :address ?a] [?a :street ?s] [?a :boss ?b] [?b :n ?n]]"
    assert shop.q(query) == '#{["Main" 9]}'


def test_nested_maps_in_a_vector(shop):
    shop.tx('[{:db/id 1 :lines [{:item "a" :n 1} {:item "b" :n 2}]}]')
    assert shop.q("[:find ?i ?n :where [1 :lines ?l] [?l :item ?i] [?l :n ?n]]") == '#{["a" 1] ["b" 2]}'


def test_a_nested_map_without_a_name_is_a_new_entity(shop):
    """As in DataScript; Datomic wants a component attribute, an id or a unique attribute."""
    shop.tx('[{:db/id 1 :friend [{:email "x@y"} {:db/id "t" :n 5} {:n 6}] :boss {:n 7}}]')
    assert shop.q("[:find ?n :where [1 :friend ?f] [?f :n ?n]]") == "#{[5] [6]}"
    assert shop.q("[:find ?n :where [1 :boss ?b] [?b :n ?n]]") == "#{[7]}"
    shop.tx("[{:db/id 1 :friend {:n 6}}]")
    assert shop.q("[:find (count ?f) . :where [1 :friend ?f]]") == "4"


def test_a_map_at_the_first_use_of_an_attribute_names_its_entity(shop):
    says = "a map is no value; for an entity of its own declare :profile with :db/valueType :db.type/ref"
    shop.tx_refuses("TX_INVALID", "[{:db/id 1 :profile ‸{:n 5}}]", says=says)
    shop.tx_refuses("TX_INVALID", "[{:db/id 1 :profile {:db/id 2}} {:db/id 1 :profile ‸{:n 5}}]", says=says)
    shop.tx('[{:db/id 1 :profile {:email "a@b"}} {:db/id 2 :card {:db/id "c" :n 3}}]')
    shop.tx("[{:db/id 2 :card {:n 5}}]")
    assert shop.q("[:find ?n :where [2 :card ?c] [?c :n ?n]]") == "#{[5]}"
    shop.tx("[{:db/ident :home :db/valueType :db.type/ref} {:db/id 3 :home {:n 8}}]")
    assert shop.q("[:find ?n :where [3 :home ?c] [?c :n ?n]]") == "#{[8]}"


def test_a_nested_map_needs_a_ref(shop):
    shop.tx_refuses("TX_INVALID", "[{:db/id 1 :n ‸{:n 5}}]", says=":n")


def test_reverse_keys(shop):
    shop.tx("[{:db/id 1 :n 1} {:db/id 2 :n 2}]")
    shop.tx("[{:db/id 3 :n 3 :_boss 1}]")
    assert shop.q("[:find ?e ?b :where [?e :boss ?b]]") == "#{[1 3]}"


def test_reverse_keys_with_a_namespace_and_many(db):
    db.tx("[{:db/ident :works/for :db/valueType :db.type/ref}]")
    db.tx("[{:db/id 9 :works/_for [1 2]}]")
    assert db.q("[:find ?e ?b :where [?e :works/for ?b]]") == "#{[1 9] [2 9]}"


def test_reverse_keys_with_a_nested_map(shop):
    shop.tx('[{:db/id 9 :n 9 :_boss {:db/id "t" :n 1}}]')
    assert shop.q("[:find ?n ?b :where [?e :boss ?b] [?e :n ?n]]") == "#{[1 9]}"


def test_a_reverse_key_of_what_is_no_ref(shop):
    shop.tx_refuses("TX_INVALID", "[{:db/id 1 ‸:_n 2}]", says=":n")


def test_retract(shop):
    shop.tx("[{:db/id 1 :tags [:a :b] :n 1}]")
    shop.tx("[[:db/retract 1 :tags :a]]")
    assert shop.q(ALL, "1") == "#{[:tags :b] [:n 1]}"


def test_retract_without_a_value(shop):
    shop.tx("[{:db/id 1 :tags [:a :b] :n 1}]")
    shop.tx("[[:db/retract 1 :tags]]")
    assert shop.q(ALL, "1") == "#{[:n 1]}"


def test_retract_what_does_not_hold(shop):
    shop.tx("[{:db/id 1 :n 1}]")
    report = shop.tx("[[:db/retract 1 :n 2] [:db/retract 7 :n 1] [:db/retract 1 :tags]]")
    assert [datom for datom in report.datoms if datom.e < 2**41] == []
    assert shop.q(ALL, "1") == "#{[:n 1]}"


def test_retract_entity(shop):
    shop.tx("[{:db/id 1 :n 1 :tags [:a :b]} {:db/id 2 :boss 1 :friend [1 3] :n 2} {:db/id 3 :n 3}]")
    shop.tx("[[:db/retractEntity 1]]")
    assert shop.q(ALL, "1") == "#{}"
    assert shop.q(ALL, "2") == "#{[:friend 3] [:n 2]}"


def test_retract_entity_takes_its_components(shop):
    shop.tx('[{:db/id 1 :n 1 :address {:db/id 5 :street "Main" :lines [{:db/id 6 :n 6}]} :boss 9} {:db/id 9 :n 9}]')
    shop.tx("[[:db/retractEntity 1]]")
    assert shop.q("[:find ?e :where (or [?e :n] [?e :street])]") == "#{[9]}"


def test_retract_entity_by_lookup_ref_and_of_nobody(shop):
    shop.tx('[{:db/id 1 :email "a@x" :n 1}]')
    shop.tx('[[:db/retractEntity [:email "a@x"]]]')
    assert shop.q(ALL, "1") == "#{}"
    shop.tx("[[:db/retractEntity 12345]]")


def test_compare_and_swap(shop):
    shop.tx("[{:db/id 1 :n 1}]")
    shop.tx("[[:db/cas 1 :n 1 2]]")
    assert shop.q(ALL, "1") == "#{[:n 2]}"
    shop.tx_refuses("CAS_FAILED", "[‸[:db/cas 1 :n 1 3]]", says="2")


def test_compare_and_swap_with_nil_means_absent(shop):
    shop.tx("[[:db/cas 1 :n nil 5]]")
    assert shop.q(ALL, "1") == "#{[:n 5]}"
    shop.tx_refuses("CAS_FAILED", "[[:db/cas 1 :n nil 6]]")


def test_lookup_refs_in_every_place(shop):
    shop.tx('[{:db/id 1 :email "a@x"} {:db/id 2 :email "b@x"}]')
    shop.tx("""[[:db/add [:email "a@x"] :n 1] {:db/id [:email "b@x"] :n 2 :boss [:email "a@x"]}
                [:db/add [:email "a@x"] :friend [:email "b@x"]]]""")
    assert shop.q(ALL, "1") == '#{[:email "a@x"] [:n 1] [:friend 2]}'
    assert shop.q(ALL, "2") == '#{[:email "b@x"] [:n 2] [:boss 1]}'


def test_lookup_refs_in_a_vector_of_refs(shop):
    shop.tx('[{:db/id 1 :email "a@x"} {:db/id 2 :email "b@x"}]')
    shop.tx('[{:db/id 3 :friend [[:email "a@x"] [:email "b@x"]]} {:db/id 4 :friend [:email "a@x"]}]')
    assert shop.q("[:find ?e ?f :where [?e :friend ?f]]") == "#{[3 1] [3 2] [4 1]}"


def test_a_lookup_ref_that_names_nobody(shop):
    shop.tx_refuses("TX_INVALID", '[[:db/add ‸[:email "no@x"] :n 1]]', says="no@x")
    shop.tx_refuses("TX_INVALID", '[[:db/add 1 :boss ‸[:email "no@x"]]]')


def test_a_lookup_ref_reads_the_database_before(shop):
    shop.tx_refuses("TX_INVALID", '[{:db/id 1 :email "new@x"} [:db/add [:email "new@x"] :n 1]]')


def test_idents_in_every_place(shop):
    shop.tx("[{:db/ident :color/red} {:db/ident :color/blue}]")
    shop.tx("[[:db/add 1 :boss :color/red] [:db/add :color/blue :n 7] {:db/id :color/red :n 8}]")
    query = "[:find ?i ?n :where [?c :db/ident ?i] [?c :n ?n]]"
    assert shop.q(query) == "#{[:color/red 8] [:color/blue 7]}"
    assert shop.q("[:find ?i . :where [1 :boss ?c] [?c :db/ident ?i]]") == ":color/red"


def test_an_ident_that_names_nobody(shop):
    shop.tx_refuses("TX_INVALID", "[[:db/add 1 :boss ‸:color/green]]", says=":color/green")
    shop.tx_refuses("TX_INVALID", "[[:db/add ‸:color/green :n 1]]", says=":color/green")


def test_the_transaction_entity(shop):
    shop.tx('[[:db/add 1 :n 1] [:db/add "datomic.tx" :source "a"]]')
    shop.tx('[[:db/add 2 :n 2] [:db/add :db/current-tx :source "b"]]')
    shop.tx('[{:db/id 3 :n 3} {:db/id "datomic.tx" :source "c"}]')
    assert shop.q("[:find ?e ?s :where [?e :n _ ?tx] [?tx :source ?s]]") == '#{[1 "a"] [2 "b"] [3 "c"]}'


def test_a_reference_to_the_transaction(shop):
    shop.tx('[[:db/add 1 :boss "datomic.tx"]]')
    assert shop.q("[:find ?e :where [?e :boss ?tx ?tx]]") == "#{[1]}"


def test_an_empty_transaction_is_a_transaction(db):
    assert db.tx("[]").t == 1
    assert db.tx("[]").t == 2


@pytest.mark.parametrize(
    "text",
    [
        "‸42",
        "‸{:db/id 1 :name 2}",
        "[‸42]",
        "[‸[]]",
        "[‸[:db/add]]",
        "[‸[:db/add 1 :name]]",
        '[‸[:db/add 1 :name "a" "b"]]',
        '[[‸:db/ad 1 :name "a"]]',
        '[[:db/add ‸1.5 :name "a"]]',
        '[[:db/add 1 ‸"name" "a"]]',
        "[[:db/add 1 :name ‸nil]]",
        "[{:db/id 1 :name ‸nil}]",
        "[‸{}]",
        "[{:db/id ‸nil :name 1}]",
        "[{:db/id 1 ‸42 1}]",
        "[‸[:db/retract 1]]",
        "[‸[:db/retractEntity]]",
        "[‸[:db/cas 1 :n 1]]",
        "[[‸:my/function 1 2]]",
    ],
)
def test_malformed_forms(db, text):
    db.tx_refuses("TX_INVALID", text)


@pytest.mark.parametrize("text", ["", "[", '[[:db/add 1 :name "a]]', "[] []", "[{:db/id 1 :a 1 :a 2}]"])
def test_broken_edn(db, text):
    assert db.tx_refuses("EDN_SYNTAX", text).position is not None


def test_one_bad_form_undoes_all(db):
    db.tx('[[:db/add 1 :name "Ada"]]')
    db.tx_refuses("TX_INVALID", '[[:db/add 2 :name "Bob"]\n [:db/add 3 :name ‸42]]', says="string")
    assert db.q("[:find ?e :where [?e :name]]") == "#{[1]}"
