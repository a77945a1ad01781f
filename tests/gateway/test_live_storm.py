"""Many clients write at once while one socket follows twenty queries of every kind: at each event the rows told are
those that a fresh query finds at that moment. ADALOG_STORM: how many transactions."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import httpx

from tests.gateway.connections.test_websocket import client_of
from tests.gateway.test_live_errors import LIVE, serving

TRANSACTIONS = int(os.environ.get("ADALOG_STORM", "120"))
CLIENTS = 16
ENTITIES = range(1, 13)
SCHEMA = """[
 {:db/ident :k :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :n :db/valueType :db.type/long} {:db/ident :x :db/valueType :db.type/double}
 {:db/ident :s :db/valueType :db.type/string}
 {:db/ident :m :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :e :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
REACH = ":rules [[(r ?a ?b) [?a :e ?b]] [(r ?a ?c) (r ?a ?b) [?b :e ?c]]]"
QUERIES = [
    "[:find ?k ?n :where [?e :k ?k] [?e :n ?n]]",
    "[:find ?k ?s :where [?e :k ?k] [?e :n ?n] [?e :s ?s] [(< 3 ?n)]]",
    "[:find ?k :where [?e :k ?k] (not [?e :n _])]",
    "[:find ?k :where [?e :k ?k] (not-join [?e] [?e :e ?f] [?f :n 3])]",
    '[:find ?k :where [?e :k ?k] (or [?e :n 1] [?e :m 1] (and [?e :s "a"] [?e :n 2]))]',
    "[:find ?n (count ?e) :where [?e :n ?n]]",
    "[:find (sum ?n) (avg ?n) (min ?n) (max ?n) :with ?e :where [?e :n ?n]]",
    "[:find (sum ?x) (avg ?x) :with ?e :where [?e :x ?x]]",
    "[:find ?s (median ?n) (count-distinct ?m) :where [?e :s ?s] [?e :n ?n] [?e :m ?m]]",
    f"[:find ?a ?b :where (r ?p ?q) [?p :k ?a] [?q :k ?b] {REACH}]",
    f"[:find ?b :where [?p :k 3] (r ?p ?q) [?q :k ?b] {REACH}]",
    f"[:find ?k (count ?q) :where [?p :k ?k] (r ?p ?q) {REACH}]",
    f"[:find ?k :where [?p :k ?k] (not (r ?p ?p)) {REACH}]",
    "[:find ?k ?n :where [?e :k ?k] [?e :n ?n] :order-by ?n ?k :limit 4]",
    "[:find ?k ?n :where [?e :k ?k] [?e :n ?n] :order-by ?k :offset 2 :limit 3]",
    "[:find ?k (pull ?e [:k :s {:e [:k]}]) :where [?e :k ?k] [?e :n ?n] [(< ?n 4)]]",
    "[:find ?k ?y :where [?e :k ?k] [(get-else $ ?e :n 0) ?y]]",
    "[:find ?a ?c :where [?p :e ?q] [?q :e ?r] [?r :e ?p] [?p :k ?a] [?r :k ?c]]",
    "[:find ?k ?tx :where [?e :n _ ?tx] [?e :k ?k]]",
    "[:find ?k ?t :where [?e :k ?k] (or-join [?e ?t] [?e :s ?t] (and [?e :e ?f] [?f :s ?t] (not [?f :n 5])))]",
]


def transaction(rng: Random) -> str:
    if rng.random() < 0.05:
        return f"[[:db/retractEntity {rng.choice(ENTITIES)}]]"
    forms = {}
    for _ in range(rng.choice((1, 1, 2, 4))):
        e, a = rng.choice(ENTITIES), rng.choice(("k", "n", "n", "x", "s", "m", "e", "e"))
        v = {
            "k": e,
            "s": f'"{rng.choice("abc")}"',
            "x": rng.choice((0.1, 0.2, 0.7, 1e16)),
            "e": rng.choice(ENTITIES),
        }
        value = v.get(a, rng.randrange(7))
        forms[e, a, value if a in "me" else None] = (
            f"[:db/{'retract' if rng.random() < 0.3 else 'add'} {e} :{a} {value}]"
        )
    return f"[{' '.join(forms.values())}]"


class Told:
    """What one query's events come to, and what they came to at each moment."""

    def __init__(self) -> None:
        self.rows: set[str] = set()
        self.t = -1
        self.is_whole = False
        self.at: dict[int, frozenset[str]] = {}

    def take(self, event: dict[str, Any]) -> None:
        assert event["basisT"] >= self.t, event
        added = {json.dumps(row) for row in (event["rows"] or event["added"] or ())}
        gone = {json.dumps(row) for row in event["retracted"] or ()}
        if event["kind"] == "RESET":
            self.rows, self.is_whole = set(), False
        elif event["kind"] == "SNAPSHOT":
            assert not self.is_whole, event
            self.is_whole = event["last"]
        else:
            assert self.is_whole, event
            assert event["kind"] == "PROGRESS" or added or gone, event
        assert not added & self.rows, event
        assert gone <= self.rows, event
        self.rows = (self.rows - gone) | added
        self.t = event["basisT"]
        if self.is_whole:
            self.at[self.t] = frozenset(self.rows)


def test_twenty_queries_are_followed_while_sixteen_clients_write() -> None:
    # The closing handshake would wait behind events that nobody reads.
    with serving(live_progress_seconds=0.2) as opened, client_of(opened, close_timeout=0.1) as socket:  # type: ignore[arg-type]
        opened.database.transact(SCHEMA)
        opened.database.transact(
            f"[{' '.join(f'[:db/add {e} :k {e}] [:db/add {e} :n {e % 7}]' for e in ENTITIES)}]"
        )
        told = {str(number): Told() for number in range(len(QUERIES))}
        socket.begun()
        for number, query in enumerate(QUERIES):
            socket.subscribe(str(number), LIVE, variables={"query": query})
        document = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"

        def write(client: int) -> None:
            rng = Random(client)
            with httpx.Client(timeout=60) as http:
                for _ in range(client, TRANSACTIONS, CLIENTS):
                    body = {"query": document, "variables": {"tx": transaction(rng)}}
                    answer = http.post(f"{opened.address}/graphql", json=body).json()
                    # An entity without its key may get it again from another.
                    assert "errors" not in answer, answer

        with ThreadPoolExecutor(CLIENTS) as clients:
            writing = [clients.submit(write, client) for client in range(CLIENTS)]
            while not all(each.done() for each in writing) or any(
                each.t < opened.database.snapshot().t or not each.is_whole for each in told.values()
            ):
                message = socket.read()
                assert message["type"] == "next", message
                told[message["id"]].take(message["payload"]["data"]["live"])
            for each in writing:
                each.result()
        fresh = "query ($query: EDN!, $t: Long) { q(query: $query, basis: {t: $t}) { rows } }"
        with httpx.Client(timeout=60) as http:
            for number, query in enumerate(QUERIES):
                rng, moments = Random(number), sorted(told[str(number)].at)
                for t in {*rng.sample(moments, min(len(moments), 12)), moments[-1]}:
                    body = {"query": fresh, "variables": {"query": query, "t": t}}
                    rows = http.post(f"{opened.address}/graphql", json=body).json()["data"]["q"]["rows"]
                    assert told[str(number)].at[t] == {json.dumps(row) for row in rows}, (query, t)
