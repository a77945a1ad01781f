"""Forms of the suites and tutorials of other databases: what they mean here, and what is refused."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.follow.recomputed import RECOMPUTED
from adalog.executor.follow.view_choice import live_of
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from tests.support import MARK, World

_SCHEMA = """[{:db/ident :id :db/valueType :db.type/long :db/cardinality :db.cardinality/one
   :db/unique :db.unique/identity}
  {:db/ident :age :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
  {:db/ident :state :db/valueType :db.type/keyword :db/cardinality :db.cardinality/one}
  {:db/ident :parent :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"""
_DATA = """[{:db/id 1 :id 1 :name "Ivan" :age 15 :state :open :parent 2}
  {:db/id 2 :id 2 :name "Petr" :age 37 :state :closed}
  {:db/id 3 :id 3 :name "Oleg" :age 37 :state :open :parent 2}]"""

_ANSWERS = [
    # XTDB's arguments in the text.
    ("{:find [n] :where [[e :name n] [e :age a]] :args [{a 15}]}", '#{["Ivan"]}'),
    ('{:find [n a] :where [[e :name n] [e :age a]] :args [{:n "Ivan" a 15} {n "Petr" :a 15}]}', '#{["Ivan" 15]}'),
    ("{:find [n] :where [[e :name n]] :args [{}]}", '#{["Ivan"] ["Petr"] ["Oleg"]}'),
    ("[:find ?n :where [?e :name ?n] [?e :age ?a] :args [{?a 15} {?a 37}]]", '#{["Ivan"] ["Petr"] ["Oleg"]}'),
    ("{:find [n] :where [[e :name n]] :args [{e [:id 1]} {e 3}]}", '#{["Ivan"] ["Oleg"]}'),
    ("{:find [i] :where [[e :db/ident i]] :args [{e :age}]}", "#{[:age]}"),
    ("{:find [n] :where [[e :name n] [e :state s] [e :age a]] :args [{s :open a 37.0}]}", '#{["Oleg"]}'),
    ("{:find [x k] :where [[(identity l) [x ...]]] :args [{l [:a 2] k :b}]}", "#{[:a :b] [2 :b]}"),
    ("{:find [n] :where [(named e n)] :args [{e [:id 1]}] :rules [[(named e n) [e :name n]]]}", '#{["Ivan"]}'),
    ("{:find [n] :where [[(q {:find [n] :where [[e :name n]] :args [{e [:id 1]} {e 3}]}) [[n]]]]}",
     '#{["Ivan"] ["Oleg"]}'),
    # A set stands for any of its members.
    ('[:find ?a :where [?e :name #{"Ivan" "Oleg"}] [?e :age ?a]]', "#{[15] [37]}"),
    ("[:find ?n :where [#{[:id 1] 3} :name ?n]]", '#{["Ivan"] ["Oleg"]}'),
    ('[:find ?e :where [#{1 2} :name #{"Ivan" "Oleg"}] [?e :name #{"Ivan"}]]', "#{[1]}"),
    ('[:find ?n :where [?e :name ?n] (not [?e :name #{"Ivan" "Oleg"}])]', '#{["Petr"]}'),
    # A query within a query reads the same database, and may be a condition.
    ("[:find ?n ?k :where [?e :name ?n] [(q [:find (count ?c) :in $ ?e :where [?c :parent ?e]] ?e) [[?k]]]]",
     '#{["Petr" 2]}'),
    ("[:find ?n :where [?e :name ?n] [(q [:find ?c :in $ ?e :where [?c :parent ?e]] ?e)]]", '#{["Petr"]}'),
    # Options of a pull as a map.
    ("[:find (pull ?e [(:name {:as :n}) (:child {:default 0}) (:age {:into #{}})]) . :where [?e :id 1]]",
     '{:n "Ivan", :child 0, :age 15}'),
    ("[:find (pull ?e [{(:_parent {:limit 1 :into #{}}) [:id]}]) . :where [?e :id 2]]", "{:_parent [{:id 1}]}"),
    # Clojure's names.
    ("[:find ?x . :where [(clojure.core// 7 2) ?y] [(clojure.core/* 2 ?y) ?x]]", "7.0"),
    ("[:find (clojure.core// (max ?a) 2) . :where [?e :age ?a]]", "18.5"),
    # Built-ins are called by name with what a collection holds, and make collections.
    ("[:find ?x . :where [(ground [1 2 3]) ?l] [(apply clojure.core/+ 4 ?l) ?x]]", "10"),
    ('[:find ?n . :where [?e :name ?n] [?e :age ?a] [(vector 1 ?a 20) ?l] [(apply < ?l)]]', '"Ivan"'),
    ("[:find (apply max ?l) . :where [(ground [3 2.5]) ?l]]", "3"),
    ("[:find [?x ...] :where [?e :id 1] [?e :age ?a] [(sorted-set ?a 2 2) [?x ...]]]", "#{2 15}"),
    ('[:find (join "," (sorted-set ?a 3 16 2)) . :where [?e :id 1] [?e :age ?a]]', '"2,3,15,16"'),
    ("[:find ?m . :where [?e :id 1] [?e :age ?a] [(hash-map :age ?a :of {:n 1}) ?m]]", "{:age 15 :of {:n 1}}"),
    ("[:find ?x . :where [?e :id 1] [?e :age ?a] [(hash-map :b ?a) ?m] [(get-in {:a 1} [:x] 7) ?x]]", "7"),
    ('[:find [?n ...] :where [?e :name ?n] [(vector :of ?e) ?p] [(get-in {:of {1 true}} ?p) ?b] [(boolean ?b)]]',
     '#{"Ivan"}'),
    ('[:find [?n ...] :where [?e :name ?n] [(like ?n "I!van%" (hash-map :escape "!"))]]', '#{"Ivan"}'),
    ('[:find ?n . :where [?e :name ?n] [(java.util.Arrays/equals ^bytes ?n "Ivan")]]', '"Ivan"'),
    # Datalevin's parentheses around patterns and calls, and its list of names.
    ("[:find ?b . :where (?e :id 1) (?e :age ?a) ((inc ?a) ?b)]", "16"),
    ("[:find ?n . :where (?e :name ?n) ((= ?e 1))]", '"Ivan"'),
    ('[:find ?n :strs "the name" :where [?e :id 1] [?e :name ?n]]', '#{{"the name" "Ivan"}}'),
    ("[:find (pull ?e #{:name}) . :where [?e :id 1]]", '{:name "Ivan"}'),
    # DataScript.
    ("[:find ?n :where [?e :name ?n] [(missing? $ ?e :_parent)]]", '#{["Ivan"] ["Oleg"]}'),
    ("[:find ?n :where [?e :name ?n] [(any? ?e)]]", '#{["Ivan"] ["Petr"] ["Oleg"]}'),
    ("[:find [?n ...] :where [?e :name ?n] :order-by ((?n :desc))]", '["Petr" "Oleg" "Ivan"]'),
    ("[:find ?a (count ?e) :where [?e :age ?a] :order-by [((count ?e) :desc)]]", "[[37 2] [15 1]]"),
]  # fmt: skip

_REFUSED = [
    ("[:find (‸if) :where [?e :age ?a]]", "as in (if (> ?n 0) ?n 0)"),
    ("[:find (coalesce) :where [?e :age ?a]]", "as in (coalesce ?nickname ?name)"),
    ("[:find (sum ‸(sum ?a)) :where [?e :age ?a]]", "a query within the query, [(q [:find ?key (sum ?a)"),
    ("[:find (sum (+ 1 ‸(avg ?a))) :where [?e :age ?a]]", "is one of a group"),
    ("[:find ?n :where [?e :age ?n] [(count [1 ‸?n]) ?x]]", "write (vector 1 ?n)"),
    ("[:find ?n :where [?e :age ?n] [(= {:a ‸?n} 3)]]", "?n is a symbol and no variable"),
    ("[:find ?n :where [?e :age ?n] (or [?n ‸> 3] [?e :id 1])]", "[(> ?n 3)]"),
    ("[:find ?x :where [?e :age ?n] [(apply ‸my/halve ?n) ?x]]", "a query calls no functions of the application"),
    ("[:find ?x :where [?e :age ?n] [(apply ‸get-else $ ?n) ?x]]", "as in (apply + ?numbers), not get-else"),
    ("[:find ?x :where [?e :age ?n] [(‸map inc ?n) ?x]]", "map; calls take values and calls, and no functions"),
    ("[:find ?x :where [?e :age ?n] [(‸my-fn ?n) ?x]]", "a query calls no functions of the application"),
    ("[:find (‸sort-reverse ?n) :where [?e :age ?n]]", "find (distinct ?x), and compute from that"),
    ("[:find ?x :where [(‸merge {:a 1} {:b 2}) ?x]]", "a map is made by hash-map"),
    ('[:find ?x :where ‸(valid-at ?x #inst "2020")]'.replace("‸(", "(‸"), "another one is an attribute"),
    ('[:find ?x :where [(q ‸"[:find ?x :where [?x]]") [[?x]]]]', "leave the quotation marks around it out"),
    ("[:find ‸{:a ?x} :where [?x :age]]", "rows are maps by :keys"),
    ('[:find ?x :where [?x :name ?n] [(like ?n "a" {:escape ‸?c})]]', "write (hash-map :escape ?c)"),
    ('[:find ?x :where [?x :name ?n] ‸[(like ?n "a" {:escape "ab"})]]', "one character that escapes the next"),
    ("[:find ?x :in $ ‸(below ?x) :where [?x :age]]", "a clause stands in :where"),
    ("[:find ?x :where [?x :age] :order-by [‸0]]", "so the first is 1, not 0"),
    ("[:find (pull ?x [[:age :xform ‸clojure.core/first]]) :where [?x :age]]", "built-ins of one argument are"),
    ("{:find [x] :where [[x :age]] ‸:override-join-order [x]}", "the order of the join follows from the data"),
    ('[:find ?x :where [(‸or-text-search :name #{"a"}) [[?x]]]]', "there is no index of words"),
    ("[:find ?k :where [(q [:find (max ‸?n ?x) :in $ ?n :where [_ :age ?x]] $ 3) [[?k]]]]", "as in (max 3 ?x)"),
    ("[:find ?a (max ?n ?x) :in $ ?n :where [?x :age ?a] :having [(< (max ‸?n ?a) 3)]]", "a whole number for n"),
    ("{:find [n] :where [[e :name n]] ‸:batch-size 3}", "pages are made by :limit and :offset"),
    ("{:find [n] :where [[e :name n]] ‸:given [[e :age]]}", "there are :find :keys"),
    ('{:find [n] :where [[e :name n]] :args [‸"Ivan"]}', "arguments are named in :in"),
    ("{:find [n] :where [[e :name n]] :args [{n 1} ‸{e 1}]}", "the maps of :args have the same keys: n"),
]


@pytest.fixture
def people(db: World) -> World:
    db.tx(_SCHEMA, _DATA)
    return db


@pytest.mark.parametrize(("query", "answer"), _ANSWERS)
def test_an_answer(people: World, query: str, answer: str) -> None:
    assert people.q(query) == answer
    assert not set(people.warnings(query)) - {"UNKNOWN_ATTRIBUTE"}


@pytest.mark.parametrize(("query", "advice"), _REFUSED)
def test_a_refusal_says_what_to_write(people: World, query: str, advice: str) -> None:
    people.refuses("QUERY_INVALID", query.replace("(‸if", "‸(if"), says=advice)


def test_arguments_in_the_text_and_beside_it(people: World) -> None:
    query = "{:find [n k] :in [$ k] :where [[e :name n] [e :age k]] :args [{e [:id 1]} {e [:id 2]}]}"
    assert people.q(query, "37") == '#{["Petr" 37]}'
    assert people.q(query, "15") == '#{["Ivan" 15]}'
    people.refuses("ARG_INVALID", query, says="takes 1 after $ (k), but 0 were given")
    people.refuses("ARG_INVALID", query, "1", "2", says="takes 1 after $ (k), but 2 were given")
    assert people.q("{:find [v] :where [[e :v v]] :args [{e 7}]}", "[[7 :v 1] [8 :v 2]]") == "#{[1]}"


_RANGES = "[[:young [10 20]] [:old [30 40]] [:any [0 99]]]"


def test_bindings_within_bindings(people: World) -> None:
    query = "[:find ?k ?n :in $ [[?k [?min ?max]] ...] :where [?e :name ?n] [?e :age ?a] [(<= ?min ?a ?max)]]"
    expected = '#{[:young "Ivan"] [:old "Petr"] [:old "Oleg"] [:any "Ivan"] [:any "Petr"] [:any "Oleg"]}'
    assert people.q(query, _RANGES) == expected
    assert people.q(query.replace("] ...]", "]]"), _RANGES) == expected
    assert people.q(query, GivenArgument([[":young", [10, 20]]], json=True)) == '#{[":young" "Ivan"]}'
    schema = "[:find ?a ?v :in [[?a [[?p ?v] ...]] ...]]"
    assert people.q(schema, "[[:a [[:x 1] [:y 2]]] [:b [[:x 3]]] [:c []]]") == "#{[:a 1] [:a 2] [:b 3]}"
    assert people.q("[:find ?x :in [[?x ...] ...]]", "[[1 2] [3]]") == "#{[1] [2] [3]}"
    assert people.q("[:find ?x ?y :in [?x [_ [?y]]]]", "[1 [2 [3]]]") == "#{[1 3]}"
    # In a clause, also of an or, where the whole is no variable of the branch.
    clause = "[(ground [[1 [15 0]] [9 [8 0]]]) [[?e [?a _]]]]"
    assert people.q(f"[:find ?e ?a :where {clause}]") == "#{[1 15] [9 8]}"
    assert people.q(f"[:find ?e ?a :where (or {clause} [?e :age ?a])]") == "#{[1 15] [9 8] [2 37] [3 37]}"
    assert people.q(f"[:find ?n :where [?e :name ?n] [?e :age ?a] (not {clause})]") == '#{["Petr"] ["Oleg"]}'
    assert people.q(f"[:find ?e :where (r ?e 15) :rules [[(r ?e ?a) {clause}]]]") == "#{[1]}"
    inner = "[(q [:find ?e ?p :where [?e :age ?a] [(vector ?e ?a) ?p]]) [[?e [_ ?a]]]]"
    assert people.q(f"[:find ?e ?a :where {inner}]") == "#{[1 15] [2 37] [3 37]}"
    assert people.q("[:find (count *) . :in $ [[?k [?min]] ...]]", _RANGES) == "3"
    people.refuses("ARG_INVALID", "[:find ?x :in $ ‸[[?x [?y]]]]", "1", says="[[?x [?y]]] takes")
    people.refuses("QUERY_INVALID", "[:find ?x :in $ [[?x ‸[?y]]]]", "[[1 2]]", says="takes apart a vector")


def test_the_number_of_an_aggregate_from_in(people: World) -> None:
    query = "[:find ?s (max ?n ?a) (min ?n ?a) :in $ ?n :where [?e :state ?s] [?e :age ?a]]"
    assert people.q(query, "1") == "#{[:open [37] [15]] [:closed [37] [37]]}"
    assert people.q(query, "2") == "#{[:open [37 15] [15 37]] [:closed [37] [37]]}"
    assert people.q(query.replace("]]", "] :order-by [(max ?n ?a) ?s]]"), "1") == (
        "[[:closed [37] [37]] [:open [37] [15]]]"
    )
    people.refuses("ARG_INVALID", query.replace("?n ?a", "‸?n ?a", 1), '"1"', says="the number of (max ?n ?a)")
    people.refuses("ARG_INVALID", query.replace("?n ?a", "‸?n ?a", 1), "-1", says="a non-negative whole number")
    people.refuses("QUERY_INVALID", query.replace("?n ?a", "‸?n ?a", 1).replace("$ ?n", "$ [?n]"), "[1]")
    pulled = "[:find (pull ?e [:name]) (max ?n ?a) :in $ ?n :where [?e :age ?a] :order-by [?e] :limit 1]"
    assert people.q(pulled, "1") == '[[{:name "Ivan"} [15]]]'
    for text in (query, pulled, query.replace("]]", "] :order-by [?s] :limit 1]")):
        asked = people.pool.question(QueryRequest(query=text, args=(2,), snapshot=people.database.snapshot()))
        assert live_of(asked) == {"how": RECOMPUTED, "reason": ":in gives how many values an aggregate finds"}


_NO_TRANSACTIONS = [
    ("[[‸:xtdb.api/put {:xt/id :ada}]]", "a document is a map"),
    ("[[‸:xtdb.api/delete :ada]]", "[:db/retractEntity [:xt/id :ada]]"),
    ("[[‸:xtdb.api/match :ada nil]]", ":db/cas"),
    ("[[‸:db.purge/entity 1]]", "{:db/excise 1}"),
    ("[[‸:db/excise 1]]", "{:db/excise 1}"),
    ("[[‸:xtdb.api/evict :ada]]", "{:db/excise [:xt/id :ada]}"),
    ("[[‸:ada :knows :charles]]", "[:db/add :ada :knows :charles]"),
    ("[[:db/add ‸[:id 99] :age 1]]", "{:id 99} in a transaction adds one"),
    ('[[:db/add ‸[:name "Ivan"] :age 1]]', "its :db/unique would be :db.unique/identity"),
    ("[[:db/add ‸[:no/such 1] :age 1]]", "declared with :db/unique"),
    ("[{:db/ident :a ‸:db/maxLength 5}]", ":db.attr/preds"),
    ("[{:db/ident :a ‸:db.secondary/type :scriptum}]", "no other indexes"),
    ("[{:id 9 ‸:db.valid/from 5}]", "there is one time"),
    ('[{:id 9 :at ‸#xtdb/local-date "2020-01-01"}]', "did you mean #inst?"),
    ('[{:id 9 :at ‸#xtdb/id "ada"}]', "write the id itself"),
]


@pytest.mark.parametrize(("text", "advice"), _NO_TRANSACTIONS)
def test_a_refused_transaction_says_what_to_write(people: World, text: str, advice: str) -> None:
    with pytest.raises(AdalogError) as caught:
        people.tx(text.replace(MARK, ""))
    assert advice in caught.value.message
    people.tx_refuses(str(caught.value.code), text, says=advice)


def test_members_of_a_list_from_json_are_read_as_what_they_are_compared_with(people: World) -> None:
    query = "[:find [?n ...] :in $ ?l :where [?e :state ?s] [(in ?s ?l)] [?e :name ?n]]"
    assert people.q(query, GivenArgument([":closed"], json=True)) == '#{"Petr"}'
    query = "[:find [?n ...] :in $ [?l ?k] :where [?e :state ?s] [(not-in ?s ?l)] [?e :name ?n] [?e :id ?k]]"
    assert people.q(query, GivenArgument([[":closed"], 1], json=True)) == '#{"Ivan"}'


def test_a_path_over_an_attribute_of_values(people: World) -> None:
    assert people.says("[:find ?x :where [?e :age+ ?x]]") == (
        ":age+ repeats an attribute of refs, and :age holds longs, so nothing has it"
    )


def test_a_tuple_that_may_be_meant_for_a_lookup_ref(people: World) -> None:
    (warning,) = people.tx("[{:owner [:id 1]}]").diagnostics()
    assert warning.code == "NEW_ATTRIBUTE"
    assert "declare it before with :db/valueType :db.type/ref" in warning.message
    assert people.tx("[{:pair [:no-attribute 1]}]").diagnostics() == ()


def test_all_values_of_an_attribute_are_retracted(people: World) -> None:
    assert len(people.tx("[[:db.fn/retractAttribute 1 :name]]").datoms) == 2
    parts = (
        "[{:db/ident :part :db/valueType :db.type/ref :db/isComponent true :db/cardinality :db.cardinality/many}]"
    )
    people.tx(
        parts,
        '[{:db/id 1 :part [{:name "a" :part {:name "b"}} {:name "c"}]}]',
        "[[:db.fn/retractAttribute [:id 1] :part]]",
    )
    assert people.q("[:find [?n ...] :where [_ :name ?n]]") == '#{"Petr" "Oleg"}'
    people.tx_refuses("TX_INVALID", "[‸[:db.fn/retractAttribute 1]]", says="entity attribute")


def test_code_in_a_transaction(people: World) -> None:
    text = '[{:db/ident :f :db/fn ‸#db/fn {:lang "clojure" :params [] :code nil}}]'
    people.tx_refuses("EDN_SYNTAX", text, says="a stored query")


def test_a_list_in_place_of_the_database(people: World) -> None:
    assert people.q("[:find ?n :where [_ :name ?n]]", '[[1 :name "Ada"]]') == '#{["Ada"]}'
    with pytest.raises(AdalogError, match="add :in to the query"):
        people.q("[:find ?n :where [_ :name ?n]]", "7")


def test_the_id_of_an_entity_is_no_attribute(people: World) -> None:
    people.tx_refuses("UNKNOWN_ATTRIBUTE", "[[:db/add -1 ‸:db/id -1]]", says="{:db/id 1 …}")
