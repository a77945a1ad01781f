import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { createClient, edn, keyword, type Client, type Retry } from "@adalog/client";
import { FakeServer, snapshot, type Exchange } from "./server.js";

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

test("a transaction has values for the variables of its text", async () => {
  const done = client.transact("[{:issue/title ?title :issue/labels ?labels}]", { args: { title: '"] x', labels: new Set([keyword(":a")]) } });
  const request = await server.next();
  assert.match(request.body.query, /transact\(tx: \$tx, args: \$args, /);
  assert.deepEqual(request.variables["args"], { title: '"] x', labels: { "#set": [{ "#kw": "a" }] } });
  request.answer({ data: { transact: { t: 2 } } });
  await done;
  for (const args of [null, ["x"], { title: null }, { title: undefined }, { title: () => 1 }]) {
    await assert.rejects(client.transact("[]", { args: args as never }), TypeError);
  }
});

test("a page of another origin is told of its origin, until the server has answered", async (t) => {
  t.after(() => Reflect.deleteProperty(globalThis, "location"));
  const place = (origin: string, href = `${origin}/`) => Object.defineProperty(globalThis, "location", { value: { origin, href }, configurable: true });
  const warnings: string[] = [];
  const make = () => createClient({ url: server.url, queryRetryMs: 0, onWarning: (message) => warnings.push(message) });
  const failure = async (of: Client) => {
    const asked = of.query("[]");
    (await server.next()).cut();
    return asked.then(() => assert.fail("there was no answer"), ({ message }: Error) => message);
  };

  place("http://page.example");
  const page = make();
  const hint = "if this page's origin http://page.example is not in the server's ADALOG_ALLOWED_ORIGINS, list it";
  for (let i = 0; i < 2; i += 1) {
    const message = await failure(page);
    assert.ok(message.startsWith("no answer from the server: ") && message.endsWith(`; ${hint}`), message);
  }
  assert.deepEqual(warnings, [`no answer from ${server.url}; ${hint}`]);
  const refused = page.query("[]");
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "QUERY_INVALID" } }] });
  await assert.rejects(refused, { code: "QUERY_INVALID" });
  assert.doesNotMatch(await failure(page), /ALLOWED_ORIGINS/);

  place(new URL(server.url).origin);
  assert.doesNotMatch(await failure(make()), /ALLOWED_ORIGINS/);
  place("null", "file:///page.html");
  assert.match(await failure(make()), /this page has no origin/);
  assert.equal(warnings.length, 2);
});

test("what was refused is not sent again", async () => {
  for (const [code, retryable] of [["TX_INVALID", false], ["BASIS_CONFLICT", true]] as const) {
    const done = client.transact("[]");
    (await server.next()).answer({ errors: [{ message: "no", extensions: { code, retryable } }] });
    await assert.rejects(done, { code, retryable });
  }
});

test("a query is repeated for a limited time", async () => {
  const short = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 }, queryRetryMs: 1000 });
  let failed = false;
  const done = assert.rejects(short.query("[]"), { code: "BACKEND_UNAVAILABLE", retryable: true }).then(() => (failed = true));
  for (let i = 0; i < 10; i += 1) (await server.next()).answer("starting", 503);
  assert.equal(failed, false);
  // Longer than it is repeated: it ends at once.
  (await server.next()).answer("starting", 503, { "retry-after": "2" });
  await done;
});

test("a transaction is repeated until it is answered, and says so", async () => {
  const retries: Retry[] = [];
  const impatient = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 }, queryRetryMs: 0 });
  const done = impatient.transact("[]", { onRetry: (retry) => retries.push(retry) });
  const keys = new Set<unknown>();
  for (let i = 0; i < 50; i += 1) {
    const request = await server.next();
    keys.add(request.variables["idempotencyKey"]);
    if (i % 2 === 0) request.cut();
    else request.answer({ errors: [{ message: "starting", extensions: { code: "BACKEND_UNAVAILABLE", retryable: true } }] });
  }
  (await server.next()).answer({ data: { transact: { t: 9 } } });
  assert.equal((await done).t, 9);
  assert.equal(keys.size, 1);
  assert.deepEqual(retries.map(({ attempt }) => attempt), Array.from({ length: 50 }, (_, i) => i + 1));
  assert.deepEqual(retries.slice(0, 2).map(({ error }) => error.code), ["NETWORK", "BACKEND_UNAVAILABLE"]);
});

test("it waits as long as the server says, in each of the ways to say it", async () => {
  const busy = { message: "busy", extensions: { code: "RATE_LIMITED", retryable: true, retryAfter: 20 } };
  for (const answer of [
    (request: Exchange) => request.answer("busy", 429, { "retry-after": "20" }),
    (request: Exchange) => request.answer("busy", 503, { "retry-after": new Date(Date.now() + 20_000).toUTCString() }),
    (request: Exchange) => request.answer({ errors: [busy] }),
  ]) {
    const stop = new AbortController();
    let delay = 0;
    const onRetry = ({ delayMs }: Retry) => {
      delay = delayMs;
      setImmediate(() => stop.abort());
    };
    const done = assert.rejects(client.transact("[]", { signal: stop.signal, onRetry }), { name: "AbortError" });
    answer(await server.next());
    await done;
    assert.ok(delay > 18_000 && delay <= 20_000, String(delay));
  }
});

test("a token that is refused is renewed once", async () => {
  const refused: (string | undefined)[] = [];
  let fresh: string | undefined = "second";
  const renewing = createClient({
    url: server.url,
    token: (token) => {
      refused.push(token);
      return token === undefined ? "first" : fresh;
    },
  });
  const unauthenticated = { errors: [{ message: "expired", extensions: { code: "UNAUTHENTICATED", retryable: false } }] };
  const done = renewing.transact("[]");
  const first = await server.next();
  assert.equal(first.headers.authorization, "Bearer first");
  first.answer(unauthenticated, 401);
  const second = await server.next();
  assert.equal(second.headers.authorization, "Bearer second");
  assert.deepEqual(second.body, first.body);
  second.answer({ data: { transact: { t: 2 } } });
  await done;
  assert.deepEqual(refused, [undefined, "first"]);

  for (fresh of ["second", "first", undefined]) {
    const failed = assert.rejects(renewing.query("[]"), { code: "UNAUTHENTICATED" });
    (await server.next()).answer(unauthenticated, 401);
    if (fresh === "second") (await server.next()).answer(unauthenticated, 401);
    await failed;
  }
});

test("what cannot be JSON fails at once, and not as the network", async () => {
  await assert.rejects(client.graphql("{ a }", { n: 1n }), TypeError);
  await assert.rejects(client.query("[]", [() => 1] as never), /args\[0\] is a function/);
  assert.throws(() => client.live("[]", [[1, undefined]] as never), /args\[0\]\[1\] is undefined/);
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

test("what the client has seen is handed back, and no answer is older", async () => {
  const seen = async (done: Promise<unknown>, data: unknown) => {
    const { body } = await server.next().then((request) => (request.answer({ data }), request));
    await done;
    return body.extensions?.["minBasisT"];
  };
  const q = (basisT: number | string) => ({ q: { rows: [], basisT } });
  assert.equal(await seen(client.query("[]"), q(3)), undefined);
  assert.equal(await seen(client.transact("[]"), { transact: { t: 5 } }), undefined);
  assert.equal(await seen(client.query("[]"), q(6)), 5);
  assert.equal(await seen(client.graphql("{ pull }"), { pull: null }), 6);
  // A moment of its own, and data that are only tried.
  assert.equal(await seen(client.query("[]", [], { basis: { t: 2 } }), q(2)), undefined);
  assert.equal(await seen(client.query("[]", [], { basis: { asOf: "2024-01-01" } }), q(1)), undefined);
  assert.equal(await seen(client.query("[]", [], { after: "cursor" }), q(4)), undefined);
  assert.equal(await seen(client.query("[]", [], { basis: { history: true }, with: "[]" }), q(7)), 6);
  // A transaction that was applied long ago.
  await seen(client.transact("[]", { idempotencyKey: "mine" }), { transact: { t: 1 } });

  const live = client.live("[]");
  const stream = await server.next();
  assert.equal(stream.body.extensions?.["minBasisT"], 6);
  stream.send(snapshot(8, []));
  await live.ready();
  live.close();
  assert.equal(await seen(client.query("[]"), q("9007199254740993")), 8);
  assert.equal(await seen(client.query("[]"), q("9007199254740993")), "9007199254740993");
  // Another database has taken its place.
  assert.equal(await seen(client.transact("[]"), { transact: { t: 10 } }), undefined);
  assert.equal(await seen(client.query("[]"), q(4)), 10);
  assert.equal(await seen(client.query("[]"), q(5)), 4);
});

test("a request that hangs is repeated, before its answer and in the middle of it", async () => {
  const impatient = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 }, silenceMs: 20 });
  const retries: string[] = [];
  const onRetry = ({ error }: Retry) => retries.push(error.message);
  const asked = impatient.query("[]", [], { timeoutMs: 30, onRetry });
  const first = await server.next();
  await first.closed;
  const second = await server.next();
  second.write('{"data": {"q": {"rows": [], ');
  await second.closed;
  (await server.next()).answer({ data: { q: { rows: [[1]], basisT: 1 } } });
  assert.deepEqual((await asked).rows, [[1]]);
  assert.equal(retries.length, 2);
  for (const message of retries) assert.match(message, /no answer from the server: silence for 0\.\d+ s/);
});

test("any other document tells the client what it has seen", async () => {
  for (const [document, data, seen] of [
    ["mutation { transact(tx: \"[]\") { t } }", { transact: { t: 5 } }, undefined],
    ["{ q(query: \"[]\") { basisT } pull }", { q: { basisT: 6 }, pull: null }, 5],
    ["{ q(query: \"[]\", with: \"[]\") { basisT } }", { q: { basisT: 7 } }, 6],
    ["{ issue { t } }", { issue: { t: 1000 } }, 6],
    ["{ database { basisT } }", { database: { basisT: 6 } }, 6],
  ] as const) {
    const done = client.graphql(document);
    const request = await server.next();
    assert.equal(request.body.extensions?.["minBasisT"], seen);
    request.answer({ data });
    await done;
  }
});

test("a transaction that a restored database never had is forgotten", async () => {
  const first = client.query("[]");
  (await server.next()).answer({ data: { q: { rows: [], basisT: 5 } } });
  await first;
  mock.timers.enable({ apis: ["Date"], now: Date.now() });
  try {
    const extensions = { code: "BACKEND_UNAVAILABLE", retryable: true };
    const missing = { errors: [{ message: "not read yet", extensions: { ...extensions, minBasisT: 5 } }] };
    const away = { errors: [{ message: "the log is away", extensions }] };
    const second = client.query("[]");
    for (const [answer, ms] of [[away, 0], [missing, 0], [missing, 31_000]] as const) {
      const request = await server.next();
      assert.equal(request.body.extensions?.["minBasisT"], 5);
      mock.timers.tick(ms);
      request.answer(answer);
    }
    const third = await server.next();
    assert.equal(third.body.extensions, undefined);
    third.answer({ data: { q: { rows: [], basisT: 2 } } });
    assert.equal((await second).basisT, 2);
  } finally {
    mock.timers.reset();
  }
});
