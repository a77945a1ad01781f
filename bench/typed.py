"""Typed GraphQL over an issue tracker: a page with nested lists, four levels with filters, and both kept live.

The pages are held against EDN queries whose pulls show the same, over HTTP without a cache, and the first one
against SQL with JSON aggregation in PostgreSQL, over its own protocol. A live page is held against its bar: from
the request of the transaction until the client has the event.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any, Final

import psycopg
from websockets.sync.client import ClientConnection, connect

from adalog.store.database import Database
from bench import folder, server
from bench.line import Line
from tests.postgres_servers import running

ISSUES: Final = 100_000
_USERS: Final = 2_000
_LABELS: Final = 100
_BATCH: Final = 5_000
_ROUNDS: Final = 40
_TICKS: Final = 40
_EPOCH: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SCHEMA: Final = """[
  {:db/ident :user/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :label/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :issue/number :db/valueType :db.type/long :db/unique :db.unique/identity}
  {:db/ident :issue/title :db/valueType :db.type/string}
  {:db/ident :issue/points :db/valueType :db.type/long}
  {:db/ident :issue/updated :db/valueType :db.type/instant}
  {:db/ident :issue/assignee :db/valueType :db.type/ref :graphql/type :user}
  {:db/ident :issue/labels :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :graphql/type :label}
  {:db/ident :comment/body :db/valueType :db.type/string}
  {:db/ident :comment/created :db/valueType :db.type/instant}
  {:db/ident :comment/issue :db/valueType :db.type/ref :graphql/type :issue}
  {:db/ident :comment/author :db/valueType :db.type/ref :graphql/type :user}]"""
# Entity ids are given, so that both databases have the same.
_USER, _LABEL, _ISSUE, _COMMENT, _FIRST = 1_000_000, 2_000_000, 3_000_000, 4_000_000, 9_000_000

_SHOWN: Final = "id title assignee { name } labels { name } comments(first: 3) { body author { name } }"
PAGE: Final = f"""query ($points: Long!) {{
  issues(where: {{points: {{gte: $points}}}}, orderBy: [{{updated: DESC}}], first: 50) {{ {_SHOWN} }} }}"""
_EDN_SHOWN: Final = (
    "[:db/id :issue/title {:issue/assignee [:user/name]} {:issue/labels [:label/name]} "
    "{(:comment/_issue :limit 3) [:comment/body {:comment/author [:user/name]}]}]"
)
EDN_PAGE: Final = (
    f"[:find (pull ?e {_EDN_SHOWN}) :in $ ?points :where [?e :issue/number _] [?e :issue/points ?p] "
    "[(>= ?p ?points)] (optional [?e :issue/updated ?u]) :order-by [[?u :desc] ?e] :limit 50]"
)
SQL_PAGE: Final = """
SELECT json_build_object('id', i.id, 'title', i.title,
  'assignee', (SELECT json_build_object('name', u.name) FROM users u WHERE u.id = i.assignee),
  'labels', (SELECT json_agg(json_build_object('name', l.name))
             FROM issue_labels il JOIN labels l ON l.id = il.label WHERE il.issue = i.id),
  'comments', (SELECT json_agg(c.shown) FROM (SELECT json_build_object('body', c.body, 'author',
      (SELECT json_build_object('name', u.name) FROM users u WHERE u.id = c.author)) AS shown
    FROM comments c WHERE c.issue = i.id ORDER BY c.id LIMIT 3) c))
FROM issues i WHERE i.points >= %s ORDER BY i.updated DESC NULLS LAST, i.id LIMIT 50"""
DEEP: Final = """query ($points: Long!, $letter: String!) {
  users(where: {issues: {some: {points: {gte: $points}}}}, orderBy: [{name: ASC}], first: 20) { name
    issues(where: {points: {gte: $points}}, first: 10) { title
      comments(where: {body: {contains: $letter}}, first: 5) { body
        author { name comments(where: {body: {startsWith: $letter}}, first: 3) { body } } } } } }"""
EDN_DEEP: Final = """[:find (pull ?u [:user/name
    (q "issues" [:find [(pull ?i [:issue/title
        (q "comments" [:find [(pull ?c [:comment/body {:comment/author [:user/name
            (q "comments" [:find [(pull ?d [:comment/body]) ...] :in $ ?a ?letter
               :where [?d :comment/author ?a] [?d :comment/body ?b] [(starts-with? ?b ?letter)]
               :order-by [?d] :limit 3])]}]) ...]
          :in $ ?i ?letter
          :where [?c :comment/issue ?i] [?c :comment/body ?b] [(includes? ?b ?letter)] :order-by [?c] :limit 5])
      ]) ...]
      :in $ ?u ?points ?letter
      :where [?i :issue/assignee ?u] [?i :issue/points ?p] [(>= ?p ?points)] :order-by [?i] :limit 10])])
  :in $ ?points ?letter
  :where [?u :user/name ?n] [?x :issue/assignee ?u] [?x :issue/points ?q] [(>= ?q ?points)]
  :order-by [?n ?u] :limit 20]"""


def pages(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Both pages: typed, as EDN, and the first one as SQL; p50 in turns."""
    issues = ISSUES // 20 if quick else ISSUES
    points = {"points": 3}
    deep = {"points": 5, "letter": "c"}
    with _served(issues) as port, running(folder.WORK) as postgres:
        address = postgres.new_database()
        with psycopg.connect(address, autocommit=True) as sql:
            _fill(sql, issues)
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            works: dict[str, Callable[[], Any]] = {
                "page": lambda: server.answered(connection, _typed(PAGE, points)),
                "page as EDN": lambda: server.answered(connection, server.q(EDN_PAGE, 3)),
                "page as SQL": lambda: sql.execute(SQL_PAGE, (3,)).fetchall(),
                "deep": lambda: server.answered(connection, _typed(DEEP, deep)),
                "deep as EDN": lambda: server.answered(connection, server.q(EDN_DEEP, 5, "c")),
            }
            medians = _medians(works)
            shown = works["page"]()["issues"]
            assert [each["title"] for each in shown] == [
                row[0][":issue/title"] for row in works["page as EDN"]()["q"]["rows"]
            ], "the typed page and the EDN page differ"
            connection.close()
    for name, median in medians.items():
        say(f"    {name}: {median * 1000:.2f} ms")
    title = f"issues with nested lists, {issues:,} issues, over HTTP: p50"
    deepest = f"four levels with filters, {issues:,} issues, over HTTP: p50"
    return [
        Line("typed", title, "s", medians["page"], "EDN with pull", medians["page as EDN"], bar=1.5),
        Line("typed", title, "s", medians["page"], "PostgreSQL, JSON aggregation", medians["page as SQL"]),
        Line("typed", deepest, "s", medians["deep"], "EDN with pull", medians["deep as EDN"], bar=2.0),
    ]


_LIVE_SHOWN: Final = f"kind basisT added {{ {_SHOWN} }} changed {{ {_SHOWN} }} removed order"
LIVE_PAGE: Final = f"subscription {{ issuesLive(orderBy: [{{updated: DESC}}], first: 50) {{ {_LIVE_SHOWN} }} }}"
EDN_LIVE_PAGE: Final = (
    f"[:find (pull ?e {_EDN_SHOWN}) :where [?e :issue/number _] (optional [?e :issue/updated ?u]) "
    ":order-by [[?u :desc] ?e] :limit 50]"
)


def live(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """A comment added, an issue renamed, one that enters the page: milliseconds until the client has the event."""
    issues = ISSUES // 20 if quick else ISSUES
    edn = "subscription ($q: EDN!) { live(query: $q) { kind basisT added retracted } }"
    works: dict[str, Callable[[int], str]] = {
        "a comment added": lambda n: (
            f'[{{:comment/issue {_FIRST + n} :comment/author {_USER} :comment/body "new"}}]'
        ),
        "an issue renamed": lambda n: f'[[:db/add {_FIRST + n} :issue/title "renamed"]]',
        "an issue that enters": lambda n: f"[[:db/add {_ISSUE + n} :issue/updated {_instant(99_001_000 + n)}]]",
    }
    lines = []
    for name, document, variables in (("typed", LIVE_PAGE, {}), ("EDN", edn, {"q": EDN_LIVE_PAGE})):
        with _served(issues) as port:
            # The page begins with issues that have no comments.
            first = (
                f"{{:db/id {_FIRST + n} :issue/number {_FIRST + n} :issue/updated {_instant(99_000_000 + n)} "
                f':issue/title "first" :issue/assignee {_USER}}}'
                for n in range(_TICKS)
            )
            server.ask(port, server.transact(f"[{' '.join(first)}]"))
            with _following(port, document, variables) as events:
                for work, tx in works.items():
                    seconds = [_until_told(port, events, tx(n)) for n in range(_TICKS)][5:]
                    p50 = statistics.median(seconds) * 1000
                    say(f"    {name}: {work}: p50 {p50:.1f} ms, worst {max(seconds) * 1000:.1f} ms")
                    title = f"live page of 50 of {issues:,} issues, {name}: {work}, p50"
                    lines.append(Line("typed-live", title, "ms", p50, "", None, bar=10.0))
    return lines


def _until_told(port: int, events: ClientConnection, tx: str) -> float:
    start = time.perf_counter()
    t = server.ask(port, server.transact(tx))["transact"]["t"]
    while True:
        message = json.loads(events.recv(timeout=30))
        if message["type"] != "next":
            continue
        (event,) = message["payload"]["data"].values()
        if event["kind"] == "DELTA" and event["basisT"] == t:
            return time.perf_counter() - start


@contextmanager
def _following(port: int, document: str, variables: dict[str, Any]) -> Iterator[ClientConnection]:
    """A subscription over a WebSocket, after its snapshot."""
    address = f"ws://127.0.0.1:{port}/graphql"
    with connect(address, subprotocols=["graphql-transport-ws"], max_size=None) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(socket.recv())["type"] == "connection_ack"
        payload = {"query": document, "variables": variables}
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
        first = json.loads(socket.recv(timeout=60))
        assert first["type"] == "next", first
        yield socket


def _medians(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(_ROUNDS + 3):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if number >= 3:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def _typed(document: str, variables: dict[str, Any]) -> str:
    return json.dumps({"query": document, "variables": variables})


@contextmanager
def _served(issues: int) -> Iterator[int]:
    """A server without a cache over so many issues; its port."""
    with folder.empty() as data:
        with Database.open(str(data)) as database:
            database.transact(_SCHEMA)
            for tx in _transactions(issues):
                database.transact(tx)
        port = server.free_port()
        with server.adalog(data, port, **server.UNCACHED) as process:
            server.first_answer(process, port, '{"query": "{ database { basisT } }"}')
            server.until_ready(port)
            yield port


def _instant(seconds: int) -> str:
    return f'#inst "{(_EPOCH + timedelta(seconds=seconds)).isoformat()}"'


def _rows(issues: int) -> Iterator[tuple[Any, ...]]:
    """Of each issue: number, title, points, seconds of its update, user, labels, comments (body, seconds, user)."""
    rng = random.Random(25)
    for number in range(issues):
        comments = [
            (f"{rng.choice('abcdefgh')} comment {number} {k}", rng.randrange(8_000_000), rng.randrange(_USERS))
            for k in range(rng.randrange(7))
        ]
        labels = rng.sample(range(_LABELS), rng.randrange(4))
        yield (
            number,
            f"Issue {number}",
            rng.randrange(10),
            rng.randrange(8_000_000),
            rng.randrange(_USERS),
            labels,
            comments,
        )


def _transactions(issues: int) -> Iterator[str]:
    names = [f'{{:db/id {_USER + n} :user/name "user {n:04}"}}' for n in range(_USERS)]
    names += [f'{{:db/id {_LABEL + n} :label/name "label {n}"}}' for n in range(_LABELS)]
    yield f"[{' '.join(names)}]"
    forms: list[str] = []
    comment = _COMMENT
    for number, title, points, updated, user, labels, comments in _rows(issues):
        refs = " ".join(str(_LABEL + each) for each in labels)
        many = f":issue/labels [{refs}]" if labels else ""
        forms.append(
            f'{{:db/id {_ISSUE + number} :issue/number {number} :issue/title "{title}" :issue/points {points} '
            f":issue/updated {_instant(updated)} :issue/assignee {_USER + user} {many}}}"
        )
        for body, created, author in comments:
            forms.append(
                f'{{:db/id {comment} :comment/issue {_ISSUE + number} :comment/body "{body}" '
                f":comment/created {_instant(created)} :comment/author {_USER + author}}}"
            )
            comment += 1
        if len(forms) >= _BATCH:
            yield f"[{' '.join(forms)}]"
            forms = []
    if forms:
        yield f"[{' '.join(forms)}]"


def _fill(sql: psycopg.Connection[Any], issues: int) -> None:
    """The same in tables, with the indexes that a person would make."""
    sql.execute("CREATE TABLE users (id bigint PRIMARY KEY, name text UNIQUE)")
    sql.execute("CREATE TABLE labels (id bigint PRIMARY KEY, name text UNIQUE)")
    sql.execute(
        "CREATE TABLE issues (id bigint PRIMARY KEY, title text, points bigint, updated timestamptz, "
        "assignee bigint)"
    )
    sql.execute("CREATE TABLE issue_labels (issue bigint, label bigint, PRIMARY KEY (issue, label))")
    sql.execute(
        "CREATE TABLE comments (id bigint PRIMARY KEY, issue bigint, author bigint, body text, created timestamptz)"
    )
    cursor = sql.cursor()
    _copy(cursor, "users", ((_USER + n, f"user {n:04}") for n in range(_USERS)))
    _copy(cursor, "labels", ((_LABEL + n, f"label {n}") for n in range(_LABELS)))
    rows = list(_rows(issues))
    at = lambda seconds: _EPOCH + timedelta(seconds=seconds)  # noqa: E731
    _copy(cursor, "issues", ((_ISSUE + r[0], r[1], r[2], at(r[3]), _USER + r[4]) for r in rows))
    _copy(cursor, "issue_labels", ((_ISSUE + r[0], _LABEL + each) for r in rows for each in r[5]))
    every = ((r[0], *each) for r in rows for each in r[6])
    _copy(
        cursor,
        "comments",
        (
            (_COMMENT + n, _ISSUE + i, _USER + user, body, at(seconds))
            for n, (i, body, seconds, user) in enumerate(every)
        ),
    )
    for index in (
        "issues (updated DESC NULLS LAST, id)",
        "issues (assignee)",
        "comments (issue, id)",
        "comments (author)",
    ):
        sql.execute(f"CREATE INDEX ON {index}")  # type: ignore[arg-type]
    sql.execute("VACUUM ANALYZE")


def _copy(cursor: psycopg.Cursor[Any], table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:  # type: ignore[arg-type]
        for row in rows:
            copy.write_row(row)
