import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createClient, edn, type Client } from "@adalog/client";
import { FakeServer } from "./server.js";

let server: FakeServer;
let client: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url, token: "secret", backoff: { minMs: 1, maxMs: 2 } });
});

afterEach(() => server.stop());

test("a query, its arguments and options", async () => {
  const asked = client.query("[:find ?x :in $ ?y]", [1], { basis: { t: 5 }, first: 10, with: edn`[[:db/add 1 :a ${2}]]` });
  const request = await server.next();
  assert.equal(request.headers.authorization, "Bearer secret");
  assert.equal(request.headers["content-type"], "application/json");
  assert.deepEqual(request.variables, {
    query: "[:find ?x :in $ ?y]", args: [1], basis: { t: 5 }, first: 10, with: "[[:db/add 1 :a 2]]", encoding: "PLAIN", engine: "AUTO",
  });
  const q = { rows: [[1]], columns: [], value: [[1]], basisT: 5, pageInfo: { hasNextPage: false, endCursor: null }, warnings: [] };
  request.answer({ data: { q } });
  assert.deepEqual(await asked, q);
});

test("a transaction is sent again with the key that it had", async () => {
  const done = client.transact(edn`[{:a ${"b"}}]`);
  const first = await server.next();
  const key = first.variables["idempotencyKey"];
  assert.match(String(key), /^[\da-f]{32}$/);
  first.cut();
  const second = await server.next();
  assert.deepEqual(second.variables, { tx: '[{:a "b"}]', encoding: "PLAIN", idempotencyKey: key });
  second.answer({ data: { transact: { t: 2 } } });
  assert.equal((await done).t, 2);
  const other = client.transact("[]", { expectedBasisT: 2 });
  const third = await server.next();
  assert.notEqual(third.variables["idempotencyKey"], key);
  assert.equal(third.variables["expectedBasisT"], 2);
  third.answer({ data: { transact: { t: 3 } } });
  await other;
});

test("what was refused is not sent again", async () => {
  for (const [code, retryable] of [["TX_INVALID", false], ["BASIS_CONFLICT", true]] as const) {
    const done = client.transact("[]");
    (await server.next()).answer({ errors: [{ message: "no", extensions: { code, retryable } }] });
    await assert.rejects(done, { code, retryable });
  }
});

test("it gives up in the end", async () => {
  const done = assert.rejects(client.query("[]"), { code: "BACKEND_UNAVAILABLE", retryable: true });
  for (let i = 0; i < 4; i += 1) (await server.next()).answer("starting", 503);
  await done;
});

test("a signal ends the request, and the waiting for the next attempt", async () => {
  const stop = new AbortController();
  const done = assert.rejects(client.query("[]", [], { signal: stop.signal }), /enough/);
  const request = await server.next();
  stop.abort(new Error("enough"));
  await done;
  await request.closed;
  await assert.rejects(client.query("[]", [], { signal: stop.signal }), /enough/);

  const later = new AbortController();
  const slow = createClient({ url: server.url, backoff: { minMs: 1e9, maxMs: 1e9 } });
  const waiting = assert.rejects(slow.query("[]", [], { signal: later.signal }), /enough/);
  (await server.next()).answer("", 503);
  setImmediate(() => later.abort(new Error("enough")));
  await waiting;
});

test("any other document", async () => {
  const asked = client.graphql<{ database: { basisT: number } }>("{ database { basisT } }");
  (await server.next()).answer({ data: { database: { basisT: 7 } } });
  assert.equal((await asked).database.basisT, 7);
});

test("what is told beside the data of a request", async () => {
  const told: unknown[] = [];
  const asked = client.graphql('{ pull(pattern: "[:naem]", eid: "1") }', {}, { onWarnings: (warnings) => told.push(...warnings) });
  const warning = { code: "UNKNOWN_ATTRIBUTE", message: "no attribute :naem is declared", line: 1, column: 2, path: ["pull"] };
  (await server.next()).answer({ data: { pull: null }, extensions: { warnings: [warning] } });
  assert.deepEqual(await asked, { pull: null });
  assert.deepEqual(told, [warning]);
});
