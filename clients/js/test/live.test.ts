import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createClient, type AdalogError, type Argument, type Client, type ClientOptions, type Json, type LiveChange, type LiveOptions, type LiveQuery } from "@adalog/client";
import { delta, FakeServer, progress, reset, snapshot, until, type Exchange } from "./server.js";

const QUERY = "[:find ?id ?name :where [?id :name ?name]]";

let server: FakeServer;
let opened: LiveQuery<Json[]>[];

beforeEach(async () => {
  server = await FakeServer.start();
  opened = [];
});

afterEach(async () => {
  for (const live of opened) live.close();
  await server.stop();
});

function client(options: Partial<ClientOptions> = {}): Client {
  return createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 }, ...options });
}

function subscribed(options: LiveOptions<Json[]> = {}, args: Argument[] = [], more: Partial<ClientOptions> = {}): LiveQuery<Json[]> {
  const live = client(more).live<Json[]>(QUERY, args, options);
  opened.push(live);
  return live;
}

/** A live query with these rows at t 1, the changes that it tells of, and its connection. */
async function begun(rows: Json[][], options: LiveOptions<Json[]> = {}, more: Partial<ClientOptions> = {}) {
  const changes: LiveChange<Json[]>[] = [];
  const live = subscribed({ ...options, onChange: (change) => changes.push(change) }, [], more);
  const connection = (await server.next()).send(snapshot(1, rows));
  await live.ready();
  return { live, changes, connection };
}

test("a snapshot in chunks, then changes; rows that stay are the same objects", async () => {
  const changes: LiveChange<Json[]>[] = [];
  const live = subscribed({ onChange: (change) => changes.push(change) }, ["x", [":a/b", 1]]);
  assert.deepEqual(live.getState(), { rows: [], columns: [], basisT: undefined, resume: undefined, status: "loading", error: undefined, warnings: [] });
  const connection = await server.next();
  assert.equal(connection.headers.accept, "text/event-stream");
  assert.deepEqual(connection.variables, { query: QUERY, args: ["x", [":a/b", 1]], encoding: "PLAIN" });

  connection.send(snapshot(5, [[1, "a"]], false), snapshot(5, [[2, "b"]]));
  const first = await live.ready();
  assert.deepEqual(first.rows, [[1, "a"], [2, "b"]]);
  assert.deepEqual(first.columns.map(({ name }) => name), ["?id", "?name"]);
  assert.equal(first.status, "live");
  assert.equal(live.getState(), first);

  connection.send(delta(6, [[3, "c"]], [[1, "a"]]), delta(8, [["9007199254740993", "d"]]));
  const second = await until(live, ({ basisT }) => basisT === 8);
  assert.deepEqual(second.rows, [[2, "b"], [3, "c"], ["9007199254740993", "d"]]);
  assert.equal(second.rows[0], first.rows[1]);
  assert.deepEqual(first.rows, [[1, "a"], [2, "b"]]);
  assert.deepEqual(changes.map(({ kind, basisT, added, retracted }) => [kind, basisT, added, retracted]), [
    ["snapshot", 5, [[1, "a"], [2, "b"]], []],
    ["delta", 6, [[3, "c"]], [[1, "a"]]],
    ["delta", 8, [["9007199254740993", "d"]], []],
  ]);
});

test("warnings come with the first event of a stream, and stay the same array", async () => {
  const misspelt = { code: "UNKNOWN_ATTRIBUTE", message: "no attribute :naem is declared", line: 1, column: 27 };
  const live = subscribed();
  const connection = await server.next();
  assert.match(connection.body.query, /warnings \{ code message line column \}/);
  connection.send({ ...snapshot(1, []), warnings: [misspelt] });
  const first = await live.ready();
  assert.deepEqual(first.warnings, [misspelt]);
  connection.send({ ...delta(2, [[1, "a"]], []), warnings: null });
  const second = await until(live, ({ basisT }) => basisT === 2);
  assert.equal(second.warnings, first.warnings);

  connection.cut();
  const again = await server.next();
  again.send({ ...progress(3), warnings: [misspelt] });
  assert.equal((await until(live, ({ basisT }) => basisT === 3)).warnings, first.warnings);
  again.cut();
  (await server.next()).send({ ...progress(4), warnings: [] });
  assert.deepEqual((await until(live, ({ basisT }) => basisT === 4)).warnings, []);
});

test("progress moves the token, and the rows stay the same array", async () => {
  const { live, connection } = await begun([[1, "a"]]);
  const before = live.getState();
  connection.send(progress(7));
  const after = await until(live, ({ basisT }) => basisT === 7);
  assert.equal(after.rows, before.rows);
  connection.cut();
  assert.equal((await server.next()).variables["resume"], "r7");
});

test("listeners are called once for what arrived together", async () => {
  const { live, connection } = await begun([]);
  let calls = 0;
  live.subscribe(() => (calls += 1));
  connection.send(...Array.from({ length: 50 }, (_, i) => delta(i + 2, [[i, "x"]])));
  await until(live, ({ basisT }) => basisT === 51);
  assert.ok(calls < 5, `${calls} calls`);
});

test("after a cut it goes on where it was: nothing lost, nothing twice", async () => {
  const { live, changes, connection } = await begun([[1, "a"]]);
  const statuses: string[] = [];
  live.subscribe(() => statuses.push(live.status));
  connection.send(delta(2, [[2, "b"]]));
  await until(live, ({ basisT }) => basisT === 2);
  for (let t = 3; t < 10; t += 1) {
    const before = t === 3 ? connection : again!;
    before.cut();
    var again: Exchange | undefined = await server.next();
    assert.deepEqual(again.variables, { query: QUERY, encoding: "PLAIN", resume: `r${t - 1}` });
    // The last one is sent again, as a server that does not know what arrived may do.
    again.send(delta(t - 1, [[t - 1, "b"]]), delta(t, [[t, "b"]]));
    await until(live, ({ basisT }) => basisT === t);
  }
  assert.deepEqual(changes.map(({ basisT }) => basisT), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(live.rows.length, 9);
  assert.deepEqual([...new Set(statuses)].sort(), ["live", "stale"]);
});

test("an admin's stream as another identity says so, again when it is resumed", async () => {
  const as = { claims: { sub: "ada" }, roles: ["reader"] };
  const live = subscribed({ as });
  const first = await server.next();
  assert.deepEqual(first.variables, { query: QUERY, encoding: "PLAIN", as });
  first.send(snapshot(1, [[1, "a"]]));
  await until(live, ({ basisT }) => basisT === 1);
  first.cut();
  assert.deepEqual((await server.next()).variables, { query: QUERY, encoding: "PLAIN", as, resume: "r1" });
});

test("a snapshot that was cut goes on after the chunk that came", async () => {
  const live = subscribed({ fromT: 3 });
  const first = await server.next();
  assert.deepEqual(first.variables, { query: QUERY, encoding: "PLAIN", fromT: 3 });
  first.cut();
  const again = await server.next();
  assert.deepEqual(again.variables, first.variables);
  again.send(snapshot(3, [[1, "a"]], false)).complete();
  const second = await server.next();
  assert.deepEqual(second.variables, { query: QUERY, encoding: "PLAIN", resume: "r3+1" });
  assert.equal(live.status, "loading");
  second.send(snapshot(3, [[2, "b"]]), delta(4, [], [[1, "a"]]));
  const state = await until(live, ({ basisT }) => basisT === 4);
  assert.deepEqual(state.rows, [[2, "b"]]);
  second.cut();
  assert.deepEqual((await server.next()).variables, { query: QUERY, encoding: "PLAIN", resume: "r4" });
});

test("a reset starts over; what was shown is shown until the new answer is complete", async () => {
  const { live, changes, connection } = await begun([[1, "a"], [2, "b"]]);
  const [one] = live.rows;
  connection.send(delta(2, [[3, "c"]]), reset(10, "too slow"), snapshot(10, [[4, "d"]], false)).complete();
  const second = await server.next();
  assert.deepEqual(second.variables, { query: QUERY, encoding: "PLAIN", resume: "r10+1" });
  const between = await until(live, ({ status }) => status === "stale");
  assert.deepEqual([between.rows.length, between.resume], [3, "r2"]);
  second.send(snapshot(10, [[1, "a"]]));
  const state = await until(live, ({ basisT }) => basisT === 10);
  assert.deepEqual(state.rows, [[4, "d"], [1, "a"]]);
  assert.equal(state.rows[1], one);
  assert.deepEqual(changes.at(-1), {
    kind: "reset", basisT: 10, resume: "r10", columns: state.columns, reason: "too slow", added: [[4, "d"]], retracted: [[2, "b"], [3, "c"]],
  });
  second.send(delta(11, [], [[4, "d"]]));
  await until(live, ({ basisT }) => basisT === 11);
  assert.equal(changes.at(-1)?.reason, undefined);
});

test("a change that cannot be, and a place that is gone, start over", async () => {
  const { live, changes, connection } = await begun([[1, "a"]]);
  connection.send(delta(2, [[2, "b"]], [[7, "never there"]]));
  const second = await server.next();
  assert.deepEqual(second.variables, { query: QUERY, encoding: "PLAIN" });
  second.send(snapshot(2, [[2, "b"]]));
  await until(live, ({ basisT }) => basisT === 2);
  assert.equal(changes.at(-1)?.kind, "reset");
  assert.match(changes.at(-1)?.reason ?? "", /never there/);

  second.cut();
  const third = await server.next();
  assert.equal(third.variables["resume"], "r2");
  third.answer({ errors: [{ message: "gone", extensions: { code: "BASIS_GONE", retryable: false } }] });
  const fourth = await server.next();
  assert.deepEqual(fourth.variables, { query: QUERY, encoding: "PLAIN" });
  fourth.send(snapshot(3, []));
  assert.deepEqual((await until(live, ({ basisT }) => basisT === 3)).rows, []);
});

test("what passes is waited for: proxies, busy servers, a server that says goodbye", async () => {
  const { live, connection } = await begun([[1, "a"]]);
  connection.complete();
  (await server.next()).answer("<h1>Bad gateway</h1>", 502);
  (await server.next()).answer({ errors: [{ message: "busy", extensions: { code: "RATE_LIMITED", retryable: true } }] }, 503);
  (await server.next()).errors("BACKEND_UNAVAILABLE", true);
  const stale = await until(live, ({ error }) => error?.code === "BACKEND_UNAVAILABLE");
  assert.equal(stale.status, "stale");
  assert.equal(stale.rows.length, 1);
  (await server.next()).send(progress(2));
  const state = await until(live, ({ basisT }) => basisT === 2);
  assert.equal(state.status, "live");
  assert.equal(state.error, undefined);
});

test("what will not pass ends it", async () => {
  const refusals: [(exchange: Exchange) => void, string][] = [
    [(exchange) => exchange.answer({ errors: [{ message: "no", extensions: { code: "QUERY_INVALID", line: 1, column: 7 } }] }), "QUERY_INVALID"],
    [(exchange) => exchange.answer({ errors: [{ message: "who", extensions: { code: "UNAUTHENTICATED" } }] }, 401), "UNAUTHENTICATED"],
    [(exchange) => exchange.answer("<h1>Not found</h1>", 404), "PROTOCOL"],
    [(exchange) => exchange.answer({ data: { live: null } }), "PROTOCOL"],
    [(exchange) => exchange.errors("LIMIT_EXCEEDED"), "LIMIT_EXCEEDED"],
    [(exchange) => exchange.write("event: next\ndata: {oops\n\n"), "PROTOCOL"],
  ];
  for (const [refuse, code] of refusals) {
    const live = subscribed();
    refuse(await server.next());
    await assert.rejects(live.ready(), { name: "AdalogError", code, retryable: false });
    assert.equal(live.status, "failed");
    assert.equal(live.error?.code, code);
    await assert.rejects(live[Symbol.asyncIterator]().next(), { code });
  }
});

test("an error later on leaves the rows as they were", async () => {
  const { live, connection } = await begun([[1, "a"]]);
  connection.send(delta(2, [[2, "b"]])).errors("LIMIT_EXCEEDED");
  await assert.rejects(until(live, () => false), { code: "LIMIT_EXCEEDED" });
  assert.equal(live.rows.length, 2);
});

test("silence counts as a lost connection", async () => {
  const live = subscribed({}, [], { silenceMs: 100 });
  (await server.next()).open();
  await server.next();
  await until(live, ({ error }) => error?.code === "NETWORK");
});

/** Runs with a global that can be told of the network, as a page's can. */
async function withNetwork(run: (online: () => void) => Promise<void>): Promise<void> {
  const target = new EventTarget();
  Object.assign(globalThis, {
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
  });
  try {
    await run(() => target.dispatchEvent(new Event("online")));
  } finally {
    Reflect.deleteProperty(globalThis, "addEventListener");
    Reflect.deleteProperty(globalThis, "removeEventListener");
  }
}

test("it comes back at once when the network does", () =>
  withNetwork(async (online) => {
    const { live, connection } = await begun([[1, "a"]], {}, { backoff: { minMs: 1e9, maxMs: 1e9 } });
    connection.cut();
    await until(live, ({ status }) => status === "stale");
    online();
    (await server.next()).send(progress(2));
    await until(live, ({ basisT }) => basisT === 2);
  }));

test("after a sleep, a connection that was silent is not waited for", (context) =>
  withNetwork(async (online) => {
    const { live, connection } = await begun([[1, "a"]]);
    online();
    const now = Date.now();
    context.mock.method(Date, "now", () => now + 31_000);
    assert.equal(live.status, "live");
    online();
    await connection.closed;
    assert.equal((await server.next()).variables["resume"], "r1");
  }));

test("a signal ends it, at whatever time", async () => {
  const before = subscribed({ signal: AbortSignal.abort(new Error("no longer wanted")) });
  assert.equal(before.status, "closed");
  await assert.rejects(before.ready(), /no longer wanted/);

  for (const rows of [undefined, [[1, "a"]]]) {
    const stop = new AbortController();
    const live = subscribed({ signal: stop.signal });
    const connection = (await server.next()).open();
    if (rows !== undefined) {
      connection.send(snapshot(1, rows));
      await live.ready();
    }
    stop.abort();
    await connection.closed;
    assert.equal(live.status, "closed");
    assert.deepEqual(live.rows, rows ?? []);
  }

  const stop = new AbortController();
  const waiting = subscribed({ signal: stop.signal }, [], { backoff: { minMs: 1e9, maxMs: 1e9 } });
  (await server.next()).cut();
  await until(waiting, ({ error }) => error?.code === "NETWORK");
  const ready = waiting.ready();
  stop.abort(new Error("gone"));
  await assert.rejects(ready, /gone/);
});

test("a loop gets every change, and leaving it closes the connection", async () => {
  const live = subscribed();
  const connection = await server.next();
  connection.send(snapshot(1, [[1, "a"]]), delta(2, [[2, "b"]]));
  await until(live, ({ basisT }) => basisT === 2);
  const seen: unknown[] = [];
  for await (const { kind, basisT, added, retracted } of live) {
    seen.push([kind, basisT, added, retracted]);
    if (basisT === 2) connection.send(delta(3, [[3, "c"]]), delta(4, [], [[1, "a"]]));
    if (basisT === 4) break;
  }
  assert.deepEqual(seen, [
    ["snapshot", 2, [[1, "a"], [2, "b"]], []],
    ["delta", 3, [[3, "c"]], []],
    ["delta", 4, [], [[1, "a"]]],
  ]);
  await connection.closed;
  assert.equal(live.status, "closed");
});

test("a loop that is slow is disconnected until it has taken what is there", async () => {
  const live = subscribed();
  const first = await server.next();
  const seen: unknown[] = [];
  const changes = live[Symbol.asyncIterator]();
  const begin = changes.next();
  first.send(snapshot(1, []));
  await begin;
  first.send(...Array.from({ length: 1500 }, (_, i) => delta(i + 2, [[i, "x"]])));
  await first.closed;
  assert.equal(live.status, "stale");
  const last = Number(live.basisT);
  for (let t = 2; t <= last; t += 1) seen.push((await changes.next()).value?.basisT);
  assert.deepEqual(seen, Array.from({ length: last - 1 }, (_, i) => i + 2));
  const next = changes.next();
  const second = await server.next();
  assert.equal(second.variables["resume"], `r${last}`);
  second.send(delta(5000, [[5000, "net"]]));
  assert.equal((await next).value?.basisT, 5000);
  await changes.return();
});

test("a state that was kept is where another live query goes on", async () => {
  const { live, connection } = await begun([[1, "a"], [2, "b"]]);
  const kept = JSON.parse(JSON.stringify(live.getState()));
  live.close();
  await connection.closed;

  const changes: LiveChange<Json[]>[] = [];
  const later = subscribed({ since: kept, key: ["?id"], onChange: (change) => changes.push(change) });
  assert.equal(later.rows.length, 2);
  const second = await server.next();
  assert.deepEqual(second.variables, { query: QUERY, encoding: "PLAIN", resume: "r1" });
  second.send(delta(4, [[1, "A"]], [[1, "a"]]));
  const state = await until(later, ({ basisT }) => basisT === 4);
  assert.deepEqual(state.rows, [[1, "A"], [2, "b"]]);
  assert.deepEqual(changes.map(({ kind }) => kind), ["delta"]);
});

test("two rows with one key end it", async () => {
  const live = subscribed({ key: ["?name"] });
  (await server.next()).send(snapshot(1, [[1, "a"], [2, "a"]]));
  await assert.rejects(live.ready(), { code: "KEY_NOT_UNIQUE" });
});

test("so does a key that cannot be told", async () => {
  const live = subscribed({
    key: () => {
      throw new Error("no key");
    },
  });
  (await server.next()).send(snapshot(1, [[1, "a"]]));
  await assert.rejects(live.ready(), { code: "KEY_INVALID", message: /no key/ });
});

test("what a listener throws is its own", async () => {
  const thrown: unknown[] = [];
  const uncaught = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => thrown.push(error.message));
  try {
    const live = subscribed({
      onChange: ({ basisT }) => {
        throw new Error(`at ${basisT}`);
      },
    });
    (await server.next()).send(snapshot(1, [[1, "a"]]), delta(2, [[2, "b"]]));
    await until(live, ({ basisT }) => basisT === 2);
    assert.deepEqual(thrown, ["at 1", "at 2"]);
    assert.equal(live.status, "live");
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of uncaught) process.on("uncaughtException", listener);
  }
});

test("encodings and EDN arguments are passed on; EDN rows are text", async () => {
  const live = client().live<string>(QUERY, [], { argsEdn: [":a"], encoding: "EDN" });
  const connection = await server.next();
  assert.deepEqual(connection.variables, { query: QUERY, argsEdn: [":a"], encoding: "EDN" });
  connection.send(snapshot(1, ['[1 "a"]', '[2 "b"]']), delta(2, [], ['[1 "a"]']));
  assert.deepEqual((await until(live, ({ basisT }) => basisT === 2)).rows, ['[2 "b"]']);
  live.close();
});

test("headers and tokens are asked for at each connection", async () => {
  let asked = 0;
  const live = subscribed({}, [], { headers: () => ({ "x-request": `${(asked += 1)}` }), token: async () => `token-${asked}` });
  const first = await server.next();
  assert.equal(first.headers["x-request"], "1");
  assert.equal(first.headers.authorization, "Bearer token-1");
  first.cut();
  assert.equal((await server.next()).headers.authorization, "Bearer token-2");
  live.close();
});

test("types of errors", async () => {
  const live = subscribed();
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "QUERY_INVALID", line: 2, column: 7 } }] });
  const error = await live.ready().then(() => undefined, (reason: AdalogError) => reason);
  assert.deepEqual([error?.message, error?.line, error?.column], ["no", 2, 7]);
});

/** Numbers below n that look random and are the same every time. */
function numbers(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

test("whatever is cut wherever, what was told is what happened", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const random = numbers(seed);
    // What happened: a snapshot in chunks, then changes, each with what the rows are then.
    const rows = new Map<number, number>();
    for (let id = 0; id < 9; id += 1) rows.set(id, 0);
    const all = () => [...rows].map(([id, name]) => [id, name]);
    const events: Record<string, unknown>[] = [];
    const told: unknown[] = [["snapshot", all(), []]];
    for (let id = 0; id < 9; id += 3) events.push({ ...snapshot(1, all().slice(id, id + 3), id === 6) });
    for (let t = 2; t < 30; t += 1) {
      if (random(6) === 0) {
        events.push(progress(t));
        continue;
      }
      const id = random(12);
      const before = rows.get(id);
      if (before !== undefined && random(3) === 0) rows.delete(id);
      else rows.set(id, t);
      const added = rows.has(id) ? [[id, t]] : [];
      const retracted = before === undefined ? [] : [[id, before]];
      events.push(delta(t, added, retracted));
      told.push(["delta", added, retracted]);
    }
    events.forEach((event, i) => (event["resume"] = String(i)));

    const changes: LiveChange<Json[]>[] = [];
    const live = subscribed({ key: ["?id"], onChange: (change) => changes.push(change) });
    let done = false;
    const finished = until(live, ({ resume }) => resume === String(events.length - 1)).then(() => (done = true));
    for (;;) {
      const connection = await Promise.race([server.next(), finished]);
      if (typeof connection === "boolean" || done) break;
      const { resume } = connection.variables;
      const rest = events.slice(resume === undefined ? 0 : Number(resume) + 1);
      const text = rest.map((event) => `event: next\ndata: ${JSON.stringify({ id: connection.id, payload: { data: { live: event } } })}\n\n`).join("");
      const last = random(4) === 0;
      const end = last ? text.length : random(Math.min(text.length, 900));
      for (let at = 0; at < end; ) {
        const size = 1 + random(300);
        connection.write(text.slice(at, Math.min(at + size, end)));
        at += size;
        if (random(2) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      if (!last) connection.end();
    }
    assert.deepEqual(changes.map(({ kind, added, retracted }) => [kind, added, retracted]), told, `seed ${seed}`);
    assert.deepEqual(new Set(live.rows.map(String)), new Set(all().map(String)));
    live.close();
    await server.stop();
    server = await FakeServer.start();
  }
});
