"""A process that asks a folder's database and says, as JSON, by which names it knows the answers.

Arguments: the folder, and as JSON what an earlier process said, `{}` for the first one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import orjson

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.cache.key import CacheKeys
from adalog.executor.live.hub.hub import Hub
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.schema.arguments.values import read_arguments
from adalog.schema.documents.operations import OperationRequest, Operations
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.store.database import Database
from tests.live.following import QUICK

QUERY = "[:find ?name ?given :in $ ?given :where [?e :name ?name]]"
AMONG = "[:find ?name :in $ [?name ...] :where [_ :name ?name]]"
GIVEN: dict[str, dict[str, Any]] = {
    "json map": {"args": [{":db/id": 7, ":name": "Ada", ":age": 36}]},
    "tagged set": {"args": [{"#set": [1, 2, "a", "b", {"#kw": "c"}]}]},
    "edn map": {"edn": ["{:a 1 :b 2.5 :c #{1 2 3} :d {:e [#{:f :g :h}]}}"]},
    "edn set": {"edn": ["#{:a :b :c :d #{1 2} #{}}"]},
    "set of Python": {"python": [{"Ada", "Grace", "x", "y"}]},
    "the word": {"args": ["frozenset({'a'})"]},
}
PAGES = """query ($q: EDN!, $args: [JSON!], $edn: [EDN!], $after: String) {
  q(query: $q, args: $args, argsEdn: $edn, first: 1, after: $after) { pageInfo { endCursor } }
}"""
LIVE = """subscription ($q: EDN!, $args: [JSON!], $edn: [EDN!], $resume: String) {
  live(query: $q, args: $args, argsEdn: $edn, resume: $resume) { kind resume }
}"""


async def named(database: Database, hub: Hub, given: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """What is found out for one list of arguments."""
    if "python" in given:
        query, args, values = AMONG, tuple(given["python"]), given["python"]
        found: dict[str, Any] = {"kinds": []}
    else:
        query, args = QUERY, read_arguments(database, given.get("args"), given.get("edn"))
        values = [each.value for each in args]
        found = await asked(database, hub, given, earlier)
    told = next(database.live(query, *values, resume=earlier.get("values")))
    question = hub.pool.questions.of(QueryRequest(query, args), database.snapshot(), Cancel())
    kept = CacheKeys(database, LruCache(1 << 20)).asked(question)
    assert kept is not None
    return {
        **found,
        "values": told.resume,
        "kinds": [*found["kinds"], told.kind.value],
        "key": kept.key.name.hex(),
    }


async def asked(database: Database, hub: Hub, given: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """The next page, and the next event."""
    services = Services(database, hub.pool, RequestLimits(), Cursors(b"k" * 32), None, hub)
    operations = Operations(build_schema(), RequestLimits())
    variables = {"q": QUERY, **given}
    after = {**variables, "after": earlier.get("cursor")}
    answer = await operations.run(OperationRequest(operations.prepare(PAGES), Context(services), after))
    assert "errors" not in answer.body, answer.body
    page = orjson.loads(b"".join(answer.chunks()))["data"]["q"]
    resume = {**variables, "resume": earlier.get("token")}
    stream = await operations.subscribe(OperationRequest(operations.prepare(LIVE), Context(services), resume))
    first = orjson.loads((await anext(stream)).payload)["data"]["live"]
    stream.close()
    return {"cursor": page["pageInfo"]["endCursor"], "token": first["resume"], "kinds": [first["kind"]]}


async def main(folder: str, earlier: dict[str, Any]) -> None:
    with Database.open(folder) as database:
        if database.snapshot().t == 0:
            database.transact('[{:name "Ada"} {:name "Grace"}]')
        pool = Pool(database)
        with Hub(pool, QUICK) as hub:
            found = {}
            for name, given in GIVEN.items():
                try:
                    found[name] = await named(database, hub, given, earlier.get(name, {}))
                except RefusedError as refused:
                    found[name] = {"refused": refused.errors}
        pool.close()
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
