import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createCollection, createLiveQueryCollection, eq } from "@tanstack/db";

import { createClient, edn, type Client } from "@adalog/client";
import { liveCollectionOptions } from "@adalog/client/tanstack-db";
import { delta, FakeServer, progress, reset, snapshot, until } from "./server.js";

const QUERY = "[:find ?id ?name]";

interface Person {
  id: number;
  name: string;
}

let server: FakeServer;
let client: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 } });
});

afterEach(() => server.stop());

test("the collection has the rows, and is told each change as one", async () => {
  const people = createCollection(
    liveCollectionOptions<Person, number>({ client, query: QUERY, args: [1], getKey: ({ id }) => id }),
  );
  const loaded = people.preload();
  const connection = await server.next();
  assert.deepEqual(connection.variables, { query: QUERY, args: [1], encoding: "PLAIN" });
  connection.send(snapshot(1, [[1, "a"]], false), snapshot(1, [[2, "b"]]));
  await loaded;
  assert.deepEqual(people.toArray.map(({ id, name }) => [id, name]), [[1, "a"], [2, "b"]]);

  const seen: unknown[][] = [];
  people.subscribeChanges((changes) => seen.push(changes.map(({ type, key, value }) => [type, key, value.name])), {
    includeInitialState: true,
  });
  const live = people.utils.live();
  assert.ok(live);
  connection.send(delta(2, [[2, "B"], [3, "c"]], [[1, "a"], [2, "b"]]));
  await until(live, ({ basisT }) => basisT === 2);
  assert.deepEqual(seen.splice(0), [
    [["insert", 1, "a"], ["insert", 2, "b"]],
    [["update", 2, "B"], ["insert", 3, "c"], ["delete", 1, "a"]],
  ]);

  connection.send(reset(9, "too slow"), snapshot(9, [[3, "c"], [4, "d"]]));
  await until(live, ({ basisT }) => basisT === 9);
  assert.deepEqual(seen, [[["insert", 4, "d"], ["delete", 2, "B"]]]);
  assert.deepEqual(people.toArray.map(({ id, name }) => [id, name]), [[3, "c"], [4, "d"]]);

  await people.cleanup();
  await connection.closed;
  assert.equal(people.utils.live(), undefined);
});

test("a change of the collection is shown until its transaction has come back", async () => {
  const people = createCollection({
    ...liveCollectionOptions<Person, number>({ client, query: QUERY, getKey: ({ id }) => id }),
    onUpdate: async ({ transaction }) => {
      const [{ original, changes }] = transaction.mutations;
      await people.utils.transact(edn`[[:db/add ${original.id} :name ${changes.name}]]`);
    },
  });
  const loaded = people.preload();
  const connection = (await server.next()).send(snapshot(1, [[1, "a"]]));
  await loaded;
  const names: unknown[] = [];
  people.subscribeChanges((changes) => names.push(...changes.map(({ value }) => value.name)));

  const update = people.update(1, (person) => void (person.name = "b"));
  assert.equal(people.get(1)?.name, "b");
  (await server.next()).answer({ data: { transact: { t: 3 } } });
  connection.send(progress(2));
  await until(people.utils.live()!, ({ basisT }) => basisT === 2);
  assert.equal(update.state, "persisting");
  connection.send(delta(3, [[1, "b"]], [[1, "a"]]));
  await update.isPersisted.promise;
  assert.equal(people.get(1)?.name, "b");
  assert.deepEqual([...new Set(names)], ["b"]);

  const refused = people.update(1, (person) => void (person.name = "c"));
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "CAS_FAILED" } }] });
  await assert.rejects(refused.isPersisted.promise, { code: "CAS_FAILED" });
  assert.equal(people.get(1)?.name, "b");

  // Where nothing follows any more, it is applied nevertheless.
  const applied = people.utils.transact("[]");
  const request = await server.next();
  await people.cleanup();
  request.answer({ data: { transact: { t: 9 } } });
  assert.equal((await applied).t, 9);
});

test("queries over the collection follow", async () => {
  const people = createCollection(liveCollectionOptions<Person, number>({ client, query: QUERY, getKey: ({ id }) => id }));
  const named = createLiveQueryCollection((q) => q.from({ p: people }).where(({ p }) => eq(p.name, "b")).select(({ p }) => ({ id: p.id })));
  const loaded = named.preload();
  const connection = (await server.next()).send(snapshot(1, [[1, "a"], [2, "b"]]));
  await loaded;
  assert.deepEqual(named.toArray.map(({ id }) => id), [2]);
  const changed = new Promise((resolve) => named.subscribeChanges(resolve));
  connection.send(delta(2, [[3, "b"]]));
  await changed;
  assert.deepEqual(named.toArray.map(({ id }) => id).sort(), [2, 3]);
  await named.cleanup();
  await people.cleanup();
});

test("items of one's own, with whole rows as keys", async () => {
  const items = createCollection(
    liveCollectionOptions({ client, query: QUERY, item: ([id, name]) => ({ label: `${String(id)} ${String(name)}` }) }),
  );
  const loaded = items.preload();
  const connection = (await server.next()).send(snapshot(1, [[1, "a"]]));
  await loaded;
  connection.send(delta(2, [], [[1, "a"]]));
  await until(items.utils.live()!, ({ basisT }) => basisT === 2);
  assert.equal(items.size, 0);
  await items.cleanup();
});

test("what fails before there are rows fails the collection", async () => {
  const items = createCollection(liveCollectionOptions({ client, query: QUERY }));
  const loaded = assert.rejects(items.preload(), { code: "QUERY_INVALID" });
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "QUERY_INVALID" } }] });
  await loaded;
  assert.equal(items.status, "error");
  await items.cleanup();
});
