"""Typed live fields: accumulated events are what the query answers afresh, at every transaction."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.follow.presentation.kept_rows_view import KeptRowsView
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.question.request import QueryRequest
from adalog.schema.documents.operations import OperationRequest, Operations
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.schema.typed.following import Surfaces
from adalog.store.database import Database
from tests.live.following import hub_over
from tests.typed.tracker import tracker_texts

SELECTIONS: Final = (
    ("", "id title"),
    ("orderBy: [{points: DESC}], first: 2", "id title points status"),
    (
        "orderBy: [{dueDate: ASC}, {title: DESC}], first: 3",
        "id title assignee { name } labels { name } comments(first: 2) { body author { name } }",
    ),
    (
        "where: {points: {gte: 2}}",
        'id number comments(where: {body: {contains: "a"}}, orderBy: [{created: DESC}], first: 2) { body }',
    ),
    (
        'where: {assignee: {name: {startsWith: "A"}}}, orderBy: [{number: ASC}], first: 10',
        "id blockedBy { title blockedBy { title } } subject { id __typename ... on User { name } }",
    ),
    (
        'where: {labels: {some: {name: {ne: "x"}}}}',
        "id n: commentsConnection { totalCount } status urgent risk",
    ),
    ("", "id attributes"),
    ("where: {comments: {count: {gte: 1}}}", "id comments { author { issues(first: 1) { title } } }"),
)

STEPS: Final = int(os.environ.get("ADALOG_TYPED_STEPS", "25"))


@dataclass
class Asking:
    """Asks and follows one database."""

    database: Database
    services: Services
    surfaces: Surfaces
    operations: Operations

    async def ask(self, document: str, **variables: Any) -> Any:
        prepared = await self.operations.aprepare(document)
        answer = await self.operations.run(OperationRequest(prepared, Context(self.services), variables))
        body = orjson.loads(b"".join(answer.chunks()))
        assert "errors" not in body, body
        return body["data"]

    async def subscribe(self, document: str, **variables: Any) -> Subscription:
        prepared = await self.operations.aprepare(document)
        return await self.operations.subscribe(OperationRequest(prepared, Context(self.services), variables))


@pytest.fixture
def asking(request: pytest.FixtureRequest) -> Iterator[Asking]:
    rows = getattr(request, "param", 1_000)
    with Database.open(":memory:") as database, hub_over(database, chunk_rows=rows) as hub:
        for text in tracker_texts():
            database.transact(text)
        yield _asking(database, hub)


def _asking(database: Database, hub: Hub) -> Asking:
    services = Services(database, hub.pool, RequestLimits(), Cursors(b"k" * 32), None, hub)
    schema = build_schema()
    surfaces = Surfaces(schema._schema, database)
    return Asking(database, services, surfaces, Operations(schema, RequestLimits(), surfaces))


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await asyncio.wait_for(work(), 60 if STEPS < 100 else 900)

    asyncio.run(whole())


@dataclass
class Follower:
    """What a client makes of a stream: entities by id, in their order."""

    asking: Asking
    arguments: str
    selection: str
    t: int = -1
    resume: str | None = None
    entities: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[Subscription]:
        shown = f"added {{ {self.selection} }} changed {{ {self.selection} }}"
        inner = f"kind basisT resume first last reason {shown} removed order"
        arguments = ", ".join(filter(None, (self.arguments, "resume: $resume")))
        document = f"subscription ($resume: String) {{ issuesLive({arguments}) {{ {inner} }} }}"
        stream = await self.asking.subscribe(document, resume=self.resume)
        try:
            yield stream
        finally:
            stream.close()

    async def until(self, stream: Subscription, t: int) -> None:
        while self.t < t or not self.is_whole:
            message = await anext(stream)
            self.apply(orjson.loads(message.payload)["data"]["issuesLive"])

    def apply(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.resume = event["resume"]
        added, changed = ({each["id"]: each for each in event[name]} for name in ("added", "changed"))
        if event["kind"] == "RESET":
            self.entities, self.is_whole = {}, False
        elif event["kind"] == "SNAPSHOT":
            assert not changed
            assert self.entities.keys().isdisjoint(added)
            assert event["first"] is not bool(self.entities)
            self.entities |= added
            self.is_whole = event["last"]
        elif event["kind"] == "DELTA":
            assert self.is_whole
            assert self.entities.keys().isdisjoint(added)
            assert changed.keys() <= self.entities.keys()
            assert all(self.entities[id_] != each for id_, each in changed.items()), "what is told has changed"
            for each in event["removed"]:
                del self.entities[each]
            self.entities |= changed | added
            assert added or changed or event["removed"] or event["order"]
        if event["order"] is not None:
            assert set(event["order"]) == set(self.entities)
            self.entities = {each: self.entities[each] for each in event["order"]}
        self.t = event["basisT"] if self.is_whole else self.t

    async def check(self) -> None:
        """That it shows what the query answers at this moment."""
        arguments = f"{self.arguments}, basis: {{t: {self.t}}}".removeprefix(", ")
        if "first:" not in self.arguments:
            arguments += ", first: 1000"
        found = (await self.asking.ask(f"{{ issues({arguments}) {{ {self.selection} }} }}"))["issues"]
        shown = list(self.entities.values())
        if "first:" not in self.arguments:
            found, shown = (sorted(each, key=lambda one: int(one["id"])) for each in (found, shown))
        assert shown == found, (self.arguments, self.selection, self.t, self.events[-3:])


def changes(rng: random.Random, asking: Asking) -> str:
    """A random transaction."""

    def some(attribute: str) -> int:
        found = asking.services.pool.run(QueryRequest(f"[:find [?e ...] :where [?e {attribute} _]]")).column(0)
        return rng.choice(sorted(found)) if found else 1

    number = rng.randrange(10**6)
    issue, user, label = some(":issue/id"), some(":user/id"), some(":label/name")
    comment = some(":comment/id")
    text = rng.choice(("a", "ab", "b", "", "cad"))
    return rng.choice(
        (
            f'[[:db/add {issue} :issue/title "{text}"]]',
            f"[[:db/add {issue} :issue/points {rng.randrange(5)}]]",
            f"[[:db/retract {issue} :issue/points]]",
            f'[[:db/add {issue} :issue/due-date #inst "2024-01-0{rng.randrange(1, 9)}"]]',
            f"[[:db/retract {issue} :issue/due-date]]",
            f"[[:db/add {issue} :issue/assignee {user}] [:db/add {issue} :issue/subject {some(':user/id')}]]",
            f"[[:db/retract {issue} :issue/assignee]]",
            f"[[:db/add {issue} :issue/labels {label}]]",
            f"[[:db/retract {issue} :issue/labels]]",
            f"[[:db/add {issue} :issue/blocked-by {some(':issue/id')}]]",
            f'[[:db/add {user} :user/name "{rng.choice("ABC")}{text}"]]',
            f'[[:db/add {label} :label/name "{text}{number}"]]',
            f'[{{:comment/id {_uuid(rng)} :comment/issue {issue} :comment/author {user} :comment/body "{text}"}}]',
            f'[[:db/add {comment} :comment/body "{text}"]]',
            f"[[:db/retractEntity {comment}]]",
            f'[{{:issue/id {_uuid(rng)} :issue/title "{text}" :issue/points {number % 5} :issue/assignee {user}}}]',
            f"[[:db/retractEntity {issue}]]",
            f"[[:db/add {issue} :issue/urgent {rng.choice(('true', 'false'))}]]",
            f"[[:db/retract {issue} :issue/id]]",
        )
    )


def _uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return f'#uuid "{text}"'


@pytest.mark.parametrize("asking", [2], indirect=True)
@pytest.mark.parametrize("seed", range(4))
def test_accumulated_events_are_the_answer_at_every_moment(asking: Asking, seed: int) -> None:
    async def work() -> None:
        rng = random.Random(seed)
        followers = [Follower(asking, *each) for each in SELECTIONS[seed % 4 :: 4]]
        streams = [await _opened(each) for each in followers]
        for step in range(STEPS):
            number = rng.choice((1, 1, 3))
            for _ in range(number):
                asking.database.transact(changes(rng, asking))
            t = asking.database.snapshot().t
            for follower, (_, stream) in zip(followers, streams, strict=True):
                await follower.until(stream, t)
                await follower.check()
            if step % 5 == 4:
                # Goes on from its token after transactions that it missed.
                at = rng.randrange(len(followers))
                await streams[at][0].__aexit__(None, None, None)
                asking.database.transact(changes(rng, asking))
                streams[at] = await _opened(followers[at])
        for manager, _ in streams:
            await manager.__aexit__(None, None, None)
        kinds = {event["kind"] for each in followers for event in each.events}
        assert "DELTA" in kinds

    run(work)


@pytest.mark.parametrize("seed", range(2))
def test_several_selections_of_one_list_share_its_rows(asking: Asking, seed: int) -> None:
    hub = asking.services.hub

    def shared() -> tuple[int, int]:
        """The views, and the answers of which they keep rows."""
        views = [each.view for each in hub._views.known.values()]
        return len(views), sum(len(each._shared) for each in views if isinstance(each, KeptRowsView))

    async def work() -> None:
        rng = random.Random(seed)
        for arguments, selections in (
            ("orderBy: [{points: DESC}], first: 3", SELECTIONS),
            ("where: {points: {gte: 1}}", SELECTIONS[:4]),
        ):
            followers = [Follower(asking, arguments, each) for _, each in selections]
            streams = [await _opened(each) for each in followers]
            for step in range(STEPS // 2):
                asking.database.transact(changes(rng, asking))
                t = asking.database.snapshot().t
                for follower, (_, stream) in zip(followers, streams, strict=True):
                    await follower.until(stream, t)
                    await follower.check()
                if not step:
                    assert shared() == (1, 1)
                if step % 4 == 3:
                    # One leaves, and comes back while the others go on.
                    at = rng.randrange(len(followers))
                    await streams[at][0].__aexit__(None, None, None)
                    asking.database.transact(changes(rng, asking))
                    streams[at] = await _opened(followers[at])
            for manager, _ in streams:
                await manager.__aexit__(None, None, None)

    run(work)


async def _opened(follower: Follower) -> tuple[Any, Subscription]:
    manager = follower.following()
    return manager, await manager.__aenter__()


@pytest.mark.parametrize("asking", [2], indirect=True)
def test_chunks_of_a_snapshot_say_which_is_the_first(asking: Asking) -> None:
    async def work() -> None:
        document = (
            "subscription ($resume: String) { issuesLive(resume: $resume) { kind first last resume added { id } } }"
        )
        chunks, resume = [], None
        # Each is of a stream of its own: one that goes on in the middle tells no first chunk.
        while not chunks or not chunks[-1]["last"]:
            stream = await asking.subscribe(document, resume=resume)
            chunks.append(orjson.loads((await anext(stream)).payload)["data"]["issuesLive"])
            resume = chunks[-1]["resume"]
            stream.close()
        assert [(each["kind"], each["first"], len(each["added"])) for each in chunks] == [
            ("SNAPSHOT", True, 2),
            ("SNAPSHOT", False, 2),
            ("SNAPSHOT", False, 1),
        ]
        stream = await asking.subscribe(document, resume=resume)
        asking.database.transact('[[:db/add [:issue/number 1] :issue/title "another one"]]')
        event = orjson.loads((await anext(stream)).payload)["data"]["issuesLive"]
        assert (event["first"], event["last"]) == (None, None)
        stream.close()
        none = await asking.subscribe("subscription { issuesLive(first: 0) { first last } }")
        assert orjson.loads((await anext(none)).payload)["data"]["issuesLive"] == {"first": True, "last": True}
        none.close()

    run(work)


def test_one_entity_comes_changes_and_goes(asking: Asking) -> None:
    async def work() -> None:
        shown = "kind added { id title } changed { name: title } removed"
        document = f"subscription {{ issueLive(by: {{number: 77}}) {{ {shown} }} }}"
        stream = await asking.subscribe(document)
        assert await told(stream) == {"kind": "SNAPSHOT", "added": [], "changed": [], "removed": []}
        id_ = asking.database.transact(
            '[{:db/id "x" :issue/number 77 :issue/id #uuid "00000000-0000-4000-8000-000000000077"}]'
        )
        entity = str(id_.tempids["x"])
        assert await told(stream) == {
            "kind": "DELTA", "added": [{"id": entity, "title": None}], "changed": [], "removed": []
        }  # fmt: skip
        asking.database.transact(f'[[:db/add {entity} :issue/title "x"]]')
        assert await told(stream) == {"kind": "DELTA", "added": [], "changed": [{"name": "x"}], "removed": []}
        asking.database.transact(f"[[:db/retractEntity {entity}]]")
        assert await told(stream) == {"kind": "DELTA", "added": [], "changed": [], "removed": [entity]}
        stream.close()

    run(work)


async def told(stream: Subscription) -> Any:
    """The next event that is no PROGRESS."""
    while True:
        (event,) = orjson.loads((await anext(stream)).payload)["data"].values()
        if event["kind"] != "PROGRESS":
            return event


def test_an_order_that_changes_alone_is_told(asking: Asking) -> None:
    async def work() -> None:
        follower = Follower(asking, "orderBy: [{points: ASC}], first: 10", "id title")
        async with follower.following() as stream:
            await follower.until(stream, asking.database.snapshot().t)
            first, *_, last = follower.entities
            asking.database.transact(f"[[:db/add {first} :issue/points 1000] [:db/add {last} :issue/points -1000]]")
            await follower.until(stream, asking.database.snapshot().t)
            await follower.check()

    run(work)


def test_a_field_of_another_type_ends_the_stream(asking: Asking) -> None:
    async def work() -> None:
        stream = await asking.subscribe("subscription { issuesLive { kind added { id subject { id } } } }")
        other = await asking.subscribe("subscription { issuesLive { kind added { id title } } }")
        assert (await told(stream))["kind"] == (await told(other))["kind"] == "SNAPSHOT"
        asking.database.transact("[{:db/id :issue/subject :graphql/type :user}]")
        await asking.surfaces.current()
        with pytest.raises(AdalogError, match="the schema has changed") as ended:
            await told(stream)
        assert ended.value.retryable
        asking.database.transact('[{:issue/id #uuid "00000000-0000-4000-8000-000000000099" :issue/title "new"}]')
        assert (await told(other))["added"][0]["title"] == "new"
        other.close()

    run(work)


def test_a_stream_that_is_resumed_after_its_fields_changed_starts_over(asking: Asking) -> None:
    async def work() -> None:
        follower = Follower(asking, "", "id subject { id }")
        async with follower.following() as stream:
            await follower.until(stream, asking.database.snapshot().t)
        asking.database.transact("[{:db/id :issue/subject :graphql/type :user}]")
        await asking.surfaces.current()
        async with follower.following() as stream:
            await follower.until(stream, asking.database.snapshot().t)
            await follower.check()
        assert "RESET" in [event["kind"] for event in follower.events]

    run(work)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("subscription { issueLive(by: {id: \"x\"}) { kind } }", "names no entity"),
        ("subscription { issuesLive(first: -1) { kind } }", "give 0 or more"),
        ("subscription { issuesLive(where: {title: {eq: null}}) { kind } }", "isNull"),
        ("subscription { issuesLive(resume: \"x\") { kind } }", "is not a token"),
        ("subscription { issuesLive { kind nothing } }", "nothing"),
        ("subscription { a: issuesLive { kind } b: issuesLive { kind } }", "only one top level field"),
        ("subscription { issuesLive { added { commentsConnection(after: \"x\") { totalCount } } } }", "after"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(asking: Asking, document: str, said: str) -> None:
    async def work() -> None:
        with pytest.raises(RefusedError, match=said):
            await asking.subscribe(document)

    run(work)
