"""Attacks from outside on a server whose address space ends soon after what it needs at rest.

The server is a process of its own. A bystander at another address asks for its health and a light query all the
while. What is asserted are codes, who was answered before whom, and what is left afterwards; how long things take
is measured by `python -m bench attacks`.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.store.database import Database
from tests.gateway.process.test_shutdown import Served, serving

MIB = 1 << 20
# Of address space beyond what the server has at rest: its budgets below, threads, and what is not counted.
MARGIN = 900 * MIB
SETTINGS = {
    "ADALOG_MEMORY_BYTES": str(128 * MIB),
    "ADALOG_CACHE_BYTES": str(8 * MIB),
    "ADALOG_RESULT_BYTES": str(16 * MIB),
    "ADALOG_REQUEST_BYTES": str(2 * MIB),
    "ADALOG_TIMEOUT_MS": "20000",
    "ADALOG_CONNECTIONS_PER_ADDRESS": "60",
    # An arena of address space for each thread is no memory.
    "MALLOC_ARENA_MAX": "2",
}
ATTACKER, BYSTANDER = "127.0.0.2", "127.0.0.3"
N = 2_000
SCHEMA = """[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
             {:db/ident :s :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"""
# A hang is a failure; nothing else is timed. The first server that ever runs compiles its kernels.
PATIENCE = 60.0
COMPILING = 300.0

# What attacks ask for; the bystander has as long as the server gives.
MS = 1_500

PAIRS = "[?a :n ?x] [?b :n ?y]"
REFUSED = {"TIMEOUT", "LIMIT_EXCEEDED", "RATE_LIMITED"}
ASK = (
    "query($q: EDN!, $args: [JSON!], $edn: [EDN!], $with: EDN, $ms: Int)"
    "{ q(query: $q, args: $args, argsEdn: $edn, with: $with, timeoutMs: $ms) { value } }"
)


def q(query: str, *args: Any, **more: Any) -> dict[str, Any]:
    return {"query": ASK, "variables": {"q": query, "args": list(args) or None, "ms": MS, **more}}


def aliases(text: str, **variables: Any) -> dict[str, Any]:
    fields = " ".join(f"f{n}: {text.replace('{n}', str(n))}" for n in range(30))
    declared = "($eids: [EDN!]!)" if "eids" in variables else ""
    return {"query": f"query{declared} {{ {fields} }}", "variables": variables}


def doubling(depth: int) -> str:
    pairs = " ".join(f"fragment F{i} on Query {{...F{i + 1} ...F{i + 1}}}" for i in range(depth))
    return f"{{...F0}} {pairs} fragment F{depth} on Query {{database {{basisT}}}}"


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"#set": [value]}
    return value


DEEP = "[* {:to [* {:to [* {:to [*]}]}]} {:_to [*]}]"
UP = "[:find (count ?n) . :where (up ?n) :rules [[(up ?n) [(ground {}) ?n]] [(up ?m) (up ?n) {}]]]"
FOREVER = (
    f"[:find (count ?a) . :with ?b ?c ?d :where {PAIRS} [?c :n ?z] [?d :n ?w] [(+ ?x ?y ?z ?w) ?s] [(< ?s {{n}})]]"
)
ATTACKS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "aliases of joins": (aliases(f'q(query: "{FOREVER}", timeoutMs: {MS}) {{ value }}'), REFUSED),
    "aliases of rows": (
        aliases(f'q(query: "[:find ?x ?y :where {PAIRS} [(< ?x 100{{n}})]]", timeoutMs: {MS}) {{ rows }}'),
        REFUSED,
    ),
    "aliases of explain": (
        aliases(f'explain(query: "{FOREVER}", analyze: true, timeoutMs: {MS}) {{ text }}'),
        REFUSED,
    ),
    "aliases of pulls": (
        aliases(
            f'pullMany(pattern: "{DEEP}", eids: $eids, timeoutMs: {MS})',
            eids=[str(n) for n in range(1, N + 1)],
        ),
        REFUSED,
    ),
    "aliases of datoms": (
        aliases("datoms(index: EAVT, first: 1000000, timeoutMs: 1500) { datoms { e a v t added } }"),
        REFUSED,
    ),
    "aliases of transactions": (
        aliases("transactions(first: 1000000, timeoutMs: 1500) { t datoms { e a v t added } }"),
        REFUSED,
    ),
    "aliases of attributes": (aliases("attributes { ident valueType datomCount }"), {"OK"}),
    "fragments that double": ({"query": doubling(28)}, {"LIMIT_EXCEEDED"}),
    "directives": ({"query": "{database{basisT " + "@skip(if:false) " * 1_300 + "}}"}, {"LIMIT_EXCEEDED"}),
    "overlapping fields": ({"query": "{" + "database{basisT}" * 900 + "}"}, {"LIMIT_EXCEEDED"}),
    "digits": (q("[:find ?x . :in $ ?x]", {"#bigint": "9" * 1_200_000}), {"LIMIT_EXCEEDED", "ARG_INVALID"}),
    "an exponent": (q("[:find ?x . :in $ ?x]", {"#dec": "1e300000000"}), {"LIMIT_EXCEEDED", "ARG_INVALID"}),
    "nested tags": (q("[:find ?x . :in $ ?x]", nested(400)), {"LIMIT_EXCEEDED", "ARG_INVALID"}),
    "many arguments": (q("[:find ?x . :in $ ?x]", edn=[str(n) for n in range(100_000)]), {"LIMIT_EXCEEDED"}),
    "two collections": (
        q("[:find (max ?z) . :in $ [?x ...] [?y ...] :where [(+ ?x ?y) ?z]]", *[list(range(50_000))] * 2),
        REFUSED,
    ),
    "rand": (q(f"[:find ?x (rand 1000000 ?b) :where {PAIRS}]"), REFUSED),
    "distinct": (q(f"[:find (distinct ?z) . :where {PAIRS} [(* ?x 10000) ?w] [(+ ?w ?y) ?z]]"), REFUSED),
    "groups": (q(f"[:find ?a ?b (count ?x) :where {PAIRS}]"), REFUSED),
    "order": (q(f"[:find ?x ?y :where {PAIRS} :order-by ?y ?x :limit 10]"), REFUSED),
    "regular expressions": (
        q('[:find (count ?s) . :in $ [?s ...] :where [(re-find "(?:.*a){20}b" ?s)]]', ["a" * 1_400] * 60),
        {"OK", *REFUSED},
    ),
    "endless numbers": (q(UP.format("1", "[(inc ?n) ?m]")), REFUSED),
    "endless strings": (q(UP.format('"ab"', "[(str ?n ?n) ?m]")), REFUSED),
    "endless squares": (q(UP.format("3N", "[(* ?n ?n) ?m]")), REFUSED | {"ARITHMETIC", "QUERY_INVALID", "OK"}),
    "strings": (q("[:find (count ?z) . :where [?a :s ?x] [?b :s ?y] [(str ?x ?y) ?z]]"), REFUSED),
    "pulls without end": (q("[:find (pull ?a [* {:to ...}]) :where [?a :n]]"), REFUSED),
    "with": (
        q("[:find ?x . :where [1 :n ?x]]", **{"with": "[" + "[:db/add 1 :n 2] " * 40_000 + "]"}),
        {"OK", *REFUSED},
    ),
    "a collection": (q("[:find (count ?x) . :in $ [?x ...]]", list(range(400_000))), {"OK", *REFUSED}),
}


def codes_of(answer: Any) -> set[str]:
    return {error["extensions"]["code"] for error in answer.get("errors", ())} or {"OK"}


@dataclass
class Machine:
    """A server, and what it had when nobody asked for anything."""

    server: Served
    rss: int

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def client(self, address: str) -> httpx.Client:
        transport = httpx.HTTPTransport(local_address=address)
        return httpx.Client(transport=transport, base_url=self.server.address, timeout=PATIENCE)

    def status(self, name: str) -> int:
        """Of /proc: bytes."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) * 1024

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def until(self, ready: Callable[[], bool], why: Callable[[], object], patience: float = PATIENCE) -> None:
        """Waits for something that is to become true."""
        until = time.monotonic() + patience
        while not ready():
            assert time.monotonic() < until, why()
            time.sleep(0.05)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine") / "data"
    with Database.open(str(folder)) as database:
        database.transact(SCHEMA)
        database.transact(
            "["
            + " ".join(f'[:db/add {i} :n {i}] [:db/add {i} :s "{"text " * 20}{i}"]' for i in range(1, N + 1))
            + "]"
        )
        for step in (1, 7, 100):
            database.transact(
                "[" + " ".join(f"[:db/add {i} :to {(i + step) % N + 1}]" for i in range(1, N + 1)) + "]"
            )
    with serving(folder, **SETTINGS) as server:
        made = Machine(server, 0)
        made.until(lambda: httpx.get(f"{server.address}/readyz").status_code == 200, lambda: "not ready", COMPILING)
        # What every kind of answer needs once is loaded once.
        with made.client(ATTACKER) as client:
            for body, _ in ATTACKS.values():
                if "aliases" not in body["query"]:
                    client.post("/graphql", json=q("[:find (sum ?x) . :where [?a :n ?x] [?a :to ?b] [?b :s ?s]]"))
                    break
        made.rss = made.status("VmRSS")
        limit = made.status("VmSize") + MARGIN
        resource.prlimit(made.pid, resource.RLIMIT_AS, (limit, limit))
        yield made
        log = _ended(server)
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:5000]


def _ended(server: Served) -> str:
    server.stop()
    assert server.process.returncode == 0
    return server.log()


@dataclass
class Bystander:
    """Who asks for little all the while, at another address. `answered`: when, in seconds of `time.monotonic()`."""

    answered: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@contextmanager
def bystander(machine: Machine) -> Iterator[Bystander]:
    seen, stop = Bystander(), threading.Event()

    def ask() -> None:
        with machine.client(BYSTANDER) as client:
            number = 0
            while not stop.is_set():
                number = number % N + 1
                if client.get("/healthz").status_code != 200:
                    seen.wrong.append("health")
                light = q(f"[:find ?x . :where [{number} :n ?x]]", ms=None)
                answer = client.post("/graphql", json=light).json()
                if answer != {"data": {"q": {"value": number}}}:
                    seen.wrong.append(str(answer)[:300])
                seen.answered.append(time.monotonic())

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    assert not seen.wrong


def send(client: httpx.Client, body: Any) -> set[str]:
    response = client.post("/graphql", content=json.dumps(body), headers={"Content-Type": "application/json"})
    return codes_of(response.json())


def rests(machine: Machine) -> None:
    """The server comes back to what it was before."""
    machine.until(lambda: machine.server.metric("adalog_queries_running") == 0, lambda: "queries are running")
    machine.until(
        # Full caches, and what the allocator keeps of the largest answers, are some 160 MiB.
        lambda: machine.status("VmRSS") < machine.rss + 256 * MIB,
        lambda: f"{machine.rss >> 20} MiB before, {machine.status('VmRSS') >> 20} after",
    )
    # The metrics' own connection is one of them.
    machine.until(lambda: machine.server.metric("adalog_connections") == 1, lambda: "connections are open")


@pytest.mark.parametrize("first", range(0, len(ATTACKS), 9))
def test_attacks_are_answered_and_leave_nothing(machine: Machine, first: int) -> None:
    """Three at a time, each sent by two clients."""
    chosen = list(ATTACKS.items())[first : first + 9]
    with bystander(machine), machine.client(ATTACKER) as client, ThreadPoolExecutor(6) as clients:
        sent = [(name, clients.submit(send, client, body)) for name, (body, _) in chosen for _ in range(2)]
        found = {name: codes.result(PATIENCE) for name, codes in sent}
    for name, (_, allowed) in chosen:
        assert found[name] <= allowed, name
    rests(machine)


def test_a_light_query_is_answered_before_heavy_ones_that_came_earlier(machine: Machine) -> None:
    with machine.client(ATTACKER) as client, ThreadPoolExecutor(12) as clients, bystander(machine) as seen:
        before = machine.server.metric("adalog_queries_running")
        ended: list[float] = []

        def heavy(number: int) -> set[str]:
            codes = send(client, q(FOREVER.replace("{n}", f"-{number}")))
            ended.append(time.monotonic())
            return codes

        running = [clients.submit(heavy, number) for number in range(12)]
        machine.until(lambda: machine.server.metric("adalog_queries_running") > before, lambda: "none runs")
        begun = time.monotonic()
        assert set().union(*(each.result(PATIENCE) for each in running)) <= REFUSED
    assert any(begun < each < max(ended) for each in seen.answered)
    rests(machine)


def test_clients_that_leave_take_their_work_with_them(machine: Machine) -> None:
    host, port = machine.server.address.removeprefix("http://").split(":")
    bodies = [q(FOREVER.replace("{n}", f"-{n}"), ms=600_000) for n in range(20)]
    bodies += [ATTACKS[name][0] for name in ("aliases of datoms", "aliases of transactions", "aliases of pulls")]
    with bystander(machine):
        for body in bodies:
            content = json.dumps(body).encode()
            with socket.create_connection((host, int(port)), source_address=(ATTACKER, 0)) as left:
                head = "POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                left.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
    rests(machine)


@pytest.mark.parametrize(
    "begun",
    [
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 4000000\r\n\r\n" + b" " * 500_000,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["heads", "bodies", "idle"],
)
def test_connections_that_wait_hold_nobody_up(machine: Machine, begun: bytes) -> None:
    host, port = machine.server.address.removeprefix("http://").split(":")
    with ExitStack() as stack, bystander(machine):
        for _ in range(100):
            each = socket.create_connection((host, int(port)), source_address=(ATTACKER, 0), timeout=PATIENCE)
            stack.callback(each.close)
            try:
                each.sendall(begun)
            except ConnectionError:
                continue
        assert machine.server.metric("adalog_connections") <= 62
        assert machine.server.metric("adalog_unfinished_body_bytes") <= 16 * MIB
    rests(machine)


def test_answers_that_nobody_reads_are_few(machine: Machine) -> None:
    host, port = machine.server.address.removeprefix("http://").split(":")
    with ExitStack() as stack, bystander(machine):
        for number in range(50):
            rows = f"[:find ?x ?s ?y :where [?a :n ?x] [?a :s ?s] [?b :n ?y] [(< ?y {20 + number % 5})]]"
            content = json.dumps({"query": "query($q: EDN!) { q(query: $q) { rows } }", "variables": {"q": rows}})
            each = socket.create_connection((host, int(port)), source_address=(ATTACKER, 0), timeout=PATIENCE)
            stack.callback(each.close)
            head = "POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            each.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n{content}".encode())
        machine.until(lambda: machine.server.metric("adalog_queries_running") == 0, lambda: "they run")
        assert machine.status("VmRSS") < machine.rss + 600 * MIB
    rests(machine)
