import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createClient, type Client } from "@adalog/client";
import { FakeServer } from "./server.js";

let server: FakeServer;
let client: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 } });
});

afterEach(() => server.stop());

function entry(t: number | string) {
  return { transactions: { t, basisBefore: 0, txInstant: "", datoms: [] } };
}

test("each transaction once, over several connections", async () => {
  const log = client.transactions({ from: 3, encoding: "TAGGED" });
  const seen: unknown[] = [];
  const take = async () => seen.push((await log.next()).value?.t);
  let taken = take();
  const first = await server.next();
  assert.deepEqual(first.variables, { from: 3, encoding: "TAGGED" });
  first.data(entry(3), entry(4));
  await taken;
  await take();
  taken = take();
  first.cut();
  const second = await server.next();
  assert.equal(second.variables["from"], 5);
  second.data(entry(4), entry(5)).complete();
  await taken;
  taken = take();
  const third = await server.next();
  assert.equal(third.variables["from"], 6);
  third.data(entry("9007199254740993"));
  await taken;
  taken = take();
  third.cut();
  const fourth = await server.next();
  assert.equal(fourth.variables["from"], "9007199254740994");
  assert.deepEqual(seen, [3, 4, 5, "9007199254740993"]);
  fourth.errors("LIMIT_EXCEEDED");
  await assert.rejects(taken, { code: "LIMIT_EXCEEDED" });
});

test("from now on means from the moment at which it began", async () => {
  const log = client.transactions();
  const taken = log.next();
  (await server.next()).answer({ data: { database: { basisT: 7 } } });
  (await server.next()).cut();
  const second = await server.next();
  assert.equal(second.variables["from"], 8);
  second.data(entry(8));
  assert.equal((await taken).value?.t, 8);
  await log.return();
  await second.closed;
});

test("a slow loop is disconnected until it has taken what is there; a signal ends it", async () => {
  const stop = new AbortController();
  const log = client.transactions({ from: 0, signal: stop.signal });
  const taken = log.next();
  const first = await server.next();
  first.data(...Array.from({ length: 1200 }, (_, t) => entry(t)));
  await taken;
  await first.closed;
  let last = 0;
  let next = log.next();
  const again = server.next();
  for (;;) {
    const which = await Promise.race([next, again]);
    if (!("value" in which)) break;
    assert.equal(which.value?.t, (last += 1));
    next = log.next();
  }
  const second = await again;
  assert.equal(second.variables["from"], last + 1);
  stop.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  await second.closed;
});
