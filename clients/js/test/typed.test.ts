import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { parse, type DocumentNode } from "graphql";

import { createClient, type Client, type LiveChange, type LiveQuery } from "@adalog/client";
import { applied, liveList, request, resubscribing, socketTokens, updateList, type EntityOf, type ListEvent, type Sink, type TypedDocument } from "@adalog/client/typed";
import { FakeServer, until, type Exchange } from "./server.js";

interface Issue {
  readonly id: string;
  readonly title: string | null;
}

interface Issues {
  readonly __typename?: "Subscription";
  readonly issuesLive: { readonly added: readonly Issue[] };
}

type Document<Data, Variables> = DocumentNode & { __apiType?: (variables: Variables) => Data };

const ISSUES = parse("subscription Issues($first: Int) { issuesLive(first: $first) { added { title } } }") as Document<Issues, { first: number }>;

let server: FakeServer;
let client: Client;
let opened: LiveQuery<Issue>[];

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 } });
  opened = [];
});

afterEach(async () => {
  for (const live of opened) live.close();
  await server.stop();
});

function followed(changes: LiveChange<Issue>[] = []): LiveQuery<Issue> {
  const live = liveList(client, ISSUES, { first: 50 }, { onChange: (change) => changes.push(change) });
  opened.push(live);
  return live;
}

const issue = (id: string, title: string | null = id): Issue => ({ id, title });

function event(kind: string, basisT: number, more: object = {}) {
  const empty = { added: [], changed: [], removed: [], order: null, last: null, reason: null };
  return { issuesLive: { ...empty, kind, basisT, resume: `r${basisT}`, ...more } };
}

async function begun(...issues: Issue[]): Promise<{ live: LiveQuery<Issue>; connection: Exchange; changes: LiveChange<Issue>[] }> {
  const changes: LiveChange<Issue>[] = [];
  const live = followed(changes);
  const connection = (await server.next()).data(event("SNAPSHOT", 1, { added: issues, last: true }));
  await live.ready();
  return { live, connection, changes };
}

test("the document selects what is shown, the list all that it needs", async () => {
  followed();
  const { body, variables } = await server.next();
  assert.deepEqual(variables, { first: 50 });
  const text = body.query.replace(/\s+/g, " ");
  assert.equal(
    text.trim(),
    "subscription Issues($first: Int, $adalogResume: String) { issuesLive(first: $first, resume: $adalogResume) " +
      "{ kind basisT resume last reason removed order added { id title } changed { id title } } }",
  );
});

test("entities come, change, go and move, and those that stay are the same objects", async () => {
  const { live, connection, changes } = await begun(issue("1"), issue("2"), issue("3"));
  const before = live.rows;
  connection.data(event("DELTA", 2, { added: [issue("4")], changed: [issue("2", "two")], removed: ["1"], order: ["4", "3", "2"] }));
  await until(live, ({ basisT }) => basisT === 2);
  assert.deepEqual(live.rows, [issue("4"), issue("3"), issue("2", "two")]);
  assert.equal(live.rows[1], before[2]);
  assert.deepEqual(changes.at(-1)!.added, [issue("2", "two"), issue("4")]);
  assert.deepEqual(changes.at(-1)!.retracted, [issue("1"), issue("2")]);

  connection.data(event("DELTA", 3, { order: ["2", "3", "4"] }));
  await until(live, ({ basisT }) => basisT === 3);
  assert.deepEqual(live.rows.map(({ id }) => id), ["2", "3", "4"]);
  assert.equal(changes.length, 3);
});

test("after a cut it goes on where it was, with the variables of the document", async () => {
  const { live, connection } = await begun(issue("1"));
  connection.cut();
  const again = await server.next();
  assert.deepEqual(again.variables, { first: 50, adalogResume: "r1" });
  again.data(event("DELTA", 1, { removed: ["1"] }), event("DELTA", 2, { added: [issue("2")] }));
  await until(live, ({ basisT }) => basisT === 2);
  assert.deepEqual(live.rows, [issue("1"), issue("2")]);
});

test("a stream that starts over keeps what stayed; one that does not fit starts over", async () => {
  const { live, connection, changes } = await begun(issue("1"), issue("2"));
  const [first] = live.rows;
  connection.data(event("RESET", 5, { reason: "too slow" }), event("SNAPSHOT", 5, { added: [issue("1")] }), event("SNAPSHOT", 5, { added: [issue("3")], last: true }));
  await until(live, ({ basisT }) => basisT === 5);
  assert.deepEqual(live.rows, [issue("1"), issue("3")]);
  assert.equal(live.rows[0], first);
  assert.deepEqual([changes.at(-1)!.kind, changes.at(-1)!.reason], ["reset", "too slow"]);

  connection.data(event("DELTA", 6, { removed: ["77"] }));
  const again = await server.next();
  assert.deepEqual(again.variables, { first: 50 });
});

test("a resume variable of the document's own is used", async () => {
  const text = "subscription ($token: String) { mine: issuesLive(resume: $token) { added { id } changed { id } kind } }";
  const live = liveList<{ mine: { added: readonly Issue[] } }, Record<string, unknown>>(client, text);
  opened.push(live);
  const connection = (await server.next()).data({ mine: event("SNAPSHOT", 1, { added: [issue("1")], last: true }).issuesLive });
  await live.ready();
  connection.cut();
  const again = await server.next();
  assert.deepEqual(again.variables, { token: "r1" });
  assert.doesNotMatch(again.body.query, /adalogResume/);
});

test("documents that are no list are refused", () => {
  assert.throws(() => liveList(client, "{ issues { id } }"), /one subscription of one field/);
  assert.throws(() => liveList(client, "subscription { issuesLive { kind } }"), /shows the fields that are selected of `added`/);
});

test("queries and mutations have the types of their documents", async () => {
  const document = parse("query ($id: ID!) { issue(id: $id) { title } }") as Document<{ issue: { title: string } | null }, { id: string }>;
  const answered = request(client, document, { id: "1", number: 2n ** 60n } as { id: string });
  const exchange = await server.next();
  assert.deepEqual(exchange.variables, { id: "1", number: "1152921504606846976" });
  exchange.answer({ data: { issue: { title: "x" } } });
  const title: string | undefined = (await answered).issue?.title;
  assert.equal(title, "x");
});

const NOTHING: ListEvent<Issue> = { kind: "DELTA", first: null, added: [], changed: [], removed: [], order: null };

test("lists of other caches: what is not selected is asked for, since the list would be a wrong one", () => {
  const { first: _, order: __, ...rest } = NOTHING;
  const message = /selects all of \{ kind first added changed removed order \}; missing: first, order/;
  assert.throws(() => applied<Issue>([], rest as ListEvent<Issue>), { code: "QUERY_INVALID", message });
});

test("lists of other caches: the event is applied", () => {
  const snapshot = applied<Issue>([issue("0")], { ...NOTHING, kind: "SNAPSHOT", first: true, added: [issue("1"), issue("2")] });
  const more = applied(snapshot, { ...NOTHING, kind: "SNAPSHOT", first: false, added: [issue("3")] });
  assert.deepEqual(more.map(({ id }) => id), ["1", "2", "3"]);
  const next = applied(more, { ...NOTHING, removed: ["1"], changed: [issue("2", "two")], added: [issue("4")], order: ["4", "2", "3"] });
  assert.deepEqual(next, [issue("4"), issue("2", "two"), issue("3")]);
  assert.equal(applied(next, { ...NOTHING, kind: "PROGRESS" }), next);
});

test("lists in caches with updateQuery", () => {
  let data: unknown = { __typename: "Query", issues: [issue("1")] };
  const cache = { updateQuery: (_: { query: string }, update: (data: never) => unknown) => (data = update(data as never)) };
  updateList(cache, { query: "q" }, { ...NOTHING, added: [issue("2")], order: ["2", "1"] }, { field: "issues" });
  assert.deepEqual(data, { __typename: "Query", issues: [issue("2"), issue("1")] });
});

test("connections of other clients: the token is renewed in time, and connected again with where it was not", async () => {
  const at = Date.now() / 1000;
  const signed = (exp: number) => `e30.${btoa(JSON.stringify({ iat: exp - 1, exp }))}.x`;
  const asked: (string | undefined)[] = [];
  const options = socketTokens((stale) => (asked.push(stale), signed(at + asked.length)));
  assert.deepEqual(await options.connectionParams(), { authorization: `Bearer ${signed(at + 1)}` });
  const codes: number[] = [];
  let close = () => {};
  const sent = await new Promise<string>((resolve) => {
    const socket = {
      OPEN: 1,
      readyState: 1,
      send: resolve,
      onclose: ({ code }: { code: number }) => codes.push(code),
      addEventListener: (_: string, listener: () => void) => (close = listener),
    };
    options.on.connected(socket);
    socket.onclose({ code: 4401 });
    socket.onclose({ code: 1006 });
  });
  close();
  assert.deepEqual(codes, [4403, 1006]);
  assert.deepEqual(JSON.parse(sent), { type: "ping", payload: { authorization: `Bearer ${signed(at + 2)}` } });
  assert.deepEqual(asked, [undefined, signed(at + 1)]);
});

test("streams of other clients: another one is opened when the token has expired, and for no other error", () => {
  const expired = { errors: [{ message: "expired", extensions: { code: "UNAUTHENTICATED" } }] };
  const wrong = { errors: [{ message: "wrong", extensions: { code: "QUERY_INVALID" } }] };
  const sinks: Sink[] = [];
  let closed = 0;
  const client = { subscribe: (_: unknown, sink: Sink) => (sinks.push(sink), () => void (closed += 1)) };
  const seen: unknown[] = [];
  const close = resubscribing(client).subscribe({ query: "q" }, { next: (each) => seen.push(each), error: (error) => seen.push(error), complete: () => seen.push("complete") });
  sinks[0]!.next({ data: 1 });
  sinks[0]!.next(expired);
  sinks[0]!.complete();
  sinks[1]!.next({ data: 2 });
  sinks[1]!.next(wrong);
  sinks[1]!.complete();
  assert.deepEqual([seen, sinks.length], [[{ data: 1 }, { data: 2 }, wrong, "complete"], 2]);
  close();
  assert.equal(closed, 1);
});

// Types that have to fit.
export type Shown = EntityOf<Issues> extends Issue ? (Issue extends EntityOf<Issues> ? true : never) : never;
export const shown: Shown = true;
export const untyped: TypedDocument<unknown, Record<string, unknown>> = "{ issues { id } }";
