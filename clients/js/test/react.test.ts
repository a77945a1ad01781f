import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Window } from "happy-dom";
import { act, createElement, StrictMode, useState, type ReactNode } from "react";
import type { Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

import { createClient, edn, keyword, type Argument, type Client, type Json } from "@adalog/client";
import { AdalogProvider, useClient, useLive, useQuery, type UseLiveOptions, type UseLiveState, type UseQueryOptions } from "@adalog/client/react";
import { useLiveQuery } from "@adalog/client/typed/react";
import { COLUMNS, delta, FakeServer, progress, snapshot, type Exchange } from "./server.js";

const QUERY = "[:find ?id ?name]";

const page = new Window();
Object.assign(globalThis, { window: page, document: page.document, IS_REACT_ACT_ENVIRONMENT: true });
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: page.navigator });
// React DOM looks at the globals as it is loaded.
const { createRoot, hydrateRoot } = await import("react-dom/client");

let server: FakeServer;
let client: Client;
let root: Root;
let container: HTMLElement;

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url, backoff: { minMs: 1, maxMs: 2 } });
  container = page.document.createElement("div") as unknown as HTMLElement;
  root = createRoot(container);
});

afterEach(async () => {
  await act(async () => root.unmount());
  await server.stop();
});

function render(...children: ReactNode[]): Promise<void> {
  return act(async () => root.render(createElement(AdalogProvider, { client }, ...children)));
}

/** Waits, with React's work done, until the page shows it. */
async function shows(text: string): Promise<void> {
  while (container.textContent !== text) await act(async () => new Promise((resolve) => setImmediate(resolve)));
}

const states = new Map<string, UseLiveState<Json[]>[]>();

function Names({ name = "a", args = [] as Argument[], query = QUERY as string | null, options = {} as UseLiveOptions }) {
  const state = useLive(query, args, { key: ["?id"], lingerMs: 0, ...options });
  states.set(name, [...(states.get(name) ?? []), state]);
  return createElement("span", null, `${name}:${state.status}:${state.rows.map(([, each]) => each).join(",")};`);
}

test("rows come and go, and those that stay are the same objects", async () => {
  states.clear();
  await render(createElement(Names));
  assert.equal(container.textContent, "a:loading:;");
  const connection = (await server.next()).send(snapshot(1, [[1, "x"], [2, "y"]]));
  await shows("a:live:x,y;");
  const before = states.get("a")!.at(-1)!;
  connection.send(delta(2, [[2, "Y"]], [[2, "y"]]));
  await shows("a:live:x,Y;");
  const after = states.get("a")!.at(-1)!;
  assert.equal(after.rows[0], before.rows[0]);
  assert.equal(after.basisT, 2);
  assert.deepEqual(after.columns.map(({ name }) => name), ["?id", "?name"]);
  connection.send(progress(3));
  while (states.get("a")!.at(-1)!.basisT !== 3) await act(async () => new Promise((resolve) => setImmediate(resolve)));
  assert.equal(states.get("a")!.at(-1)!.rows, after.rows);
});

test("components that ask the same share a subscription, in StrictMode too; the last one closes it", async () => {
  states.clear();
  const both = (last: boolean) =>
    createElement(
      StrictMode,
      null,
      createElement(Names, { name: "a", args: [{ x: 1, y: 2 }] }),
      last ? createElement(Names, { name: "b", args: [{ y: 2, x: 1 }] }) : null,
    );
  await render(both(true));
  const connection = (await server.next()).send(snapshot(1, [[1, "x"]]));
  await shows("a:live:x;b:live:x;");
  assert.equal(states.get("a")!.at(-1), states.get("b")!.at(-1));
  await render(both(false));
  connection.send(delta(2, [[2, "y"]]));
  await shows("a:live:x,y;");
  await render(null);
  await connection.closed;

  // Nobody else asked: the next request is of whoever comes next.
  await render(createElement(Names, { name: "c", args: [7] }));
  assert.deepEqual((await server.next()).variables["args"], [7]);
});

test("other arguments are another subscription; without a query there is none", async () => {
  let choose: (x: number | null) => void = () => {};
  function Chosen() {
    const [x, setX] = useState<number | null>(1);
    choose = setX;
    return createElement(Names, { args: [x], query: x === null ? null : QUERY });
  }
  await render(createElement(Chosen));
  const first = (await server.next()).send(snapshot(1, [[1, "one"]]));
  await shows("a:live:one;");
  await act(async () => choose(2));
  let second: Exchange = await server.next();
  // Until the subscription of before has gone, the stream carries both.
  while (second.operations.length > 1) second = await server.next();
  assert.deepEqual(second.variables["args"], [2]);
  assert.equal(container.textContent, "a:loading:;");
  second.send(snapshot(1, [[2, "two"]]));
  await first.closed;
  await shows("a:live:two;");
  await act(async () => choose(null));
  assert.equal(container.textContent, "a:idle:;");
  await second.closed;
});

test("what is unmounted and mounted again soon keeps its subscription", async () => {
  function Lingering() {
    const { rows } = useLive(QUERY, [], { lingerMs: 3000 });
    return createElement("span", null, rows.length);
  }
  await render(createElement(Lingering));
  const connection = (await server.next()).send(snapshot(1, [[1, "x"]]));
  await shows("1");
  await render(null);
  await render(createElement(Lingering));
  assert.equal(container.textContent, "1");
  connection.send(delta(2, [[2, "y"]]));
  await shows("2");
  await act(async () => root.unmount());
  await connection.closed;
  root = createRoot(container);
});

test("an error for good is shown", async () => {
  function Failing() {
    const { status, error } = useLive(QUERY, [], { lingerMs: 0 });
    return createElement("span", null, `${status} ${error?.code ?? ""}`);
  }
  await render(createElement(Failing));
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "QUERY_INVALID" } }] });
  await shows("failed QUERY_INVALID");
});

/** The state that a component had last. */
function last(name = "a"): UseLiveState<Json[]> {
  return states.get(name)!.at(-1)!;
}

test("typed arguments are compared by value", async () => {
  states.clear();
  const both = ["a", "b"].map((name) => createElement(Names, { name, key: name, args: [5n, keyword(":open"), new Date(0)] }));
  await render(...both);
  const connection = (await server.next()).send(snapshot(1, [[1, "x"]]));
  assert.deepEqual(connection.variables["args"], [{ "#long": "5" }, { "#kw": "open" }, { "#inst": "1970-01-01T00:00:00.000Z" }]);
  await shows("a:live:x;b:live:x;");
  assert.equal(last("a").rows, last("b").rows);
});

test("one that failed is opened again", async () => {
  states.clear();
  await render(createElement(Names));
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "FORBIDDEN" } }] });
  await shows("a:failed:;");
  await act(async () => last().retry());
  const second = (await server.next()).send(snapshot(1, [[1, "x"]]));
  await shows("a:live:x;");
  const rows = last().rows;
  second.errors("FORBIDDEN");
  await shows("a:failed:x;");
  await act(async () => last().retry());
  const third = await server.next();
  assert.equal(third.variables["resume"], "r1");
  third.send(delta(2, [[2, "y"]]));
  await shows("a:live:x,y;");
  assert.equal(last().rows[0], rows[0]);
  assert.equal(last().error, undefined);
});

test("it begins with a kept state, and goes on from there", async () => {
  states.clear();
  const since = JSON.parse(JSON.stringify({ rows: [[1, "x"]], columns: COLUMNS, basisT: 4, resume: "r4", status: "live" }));
  const names = createElement(Names, { options: { since } });
  assert.match(renderToString(createElement(AdalogProvider, { client }, names)), /a:stale:x;/);
  await render(names);
  assert.equal(container.textContent, "a:stale:x;");
  const connection = await server.next();
  assert.equal(connection.variables["resume"], "r4");
  connection.send(delta(5, [[2, "y"]]));
  await shows("a:live:x,y;");
});

test("it begins with an answer from a server's render, in place of which comes the live query's", async () => {
  states.clear();
  const since = { rows: [[1, "x"]], columns: COLUMNS, basisT: 4, value: [[1, "x"]], warnings: [] };
  const names = createElement(Names, { options: { since } });
  container = page.document.createElement("div") as unknown as HTMLElement;
  container.innerHTML = renderToString(createElement(AdalogProvider, { client }, names));
  assert.equal(container.textContent, "a:stale:x;");
  const complaints: unknown[] = [];
  await act(async () => {
    root = hydrateRoot(container, createElement(AdalogProvider, { client }, names), { onRecoverableError: (error) => complaints.push(error) });
  });
  const connection = await server.next();
  assert.equal(connection.variables["resume"], undefined);
  assert.equal(container.textContent, "a:stale:x;");
  connection.send(snapshot(5, [[2, "y"]], false));
  connection.send(snapshot(5, [[3, "z"]]));
  await shows("a:live:y,z;");
  assert.deepEqual(complaints, []);
  assert.ok(states.get("a")!.every(({ rows }) => rows.length > 0), "it was never empty");
});

/** What the component showed, without repetitions. */
function shown(name = "a"): string[] {
  const texts = states.get(name)!.map(({ rows, pending }) => `${rows.map(([, each]) => each).join(",")}${"*".repeat(pending)}`);
  return texts.filter((text, i) => text !== texts[i - 1]);
}

test("a change is shown at once, and settled by its transaction, whichever comes first", async () => {
  for (const eventFirst of [false, true]) {
    states.clear();
    await render(createElement(Names, { name: "a", key: "a" }), createElement(Names, { name: "b", key: "b" }));
    const connection = (await server.next()).send(snapshot(1, [[1, "x"]]));
    await shows("a:live:x;b:live:x;");
    let done: Promise<unknown> = Promise.resolve();
    await act(async () => {
      done = last().mutate((rows) => [...rows, [-1, "y"]], () => client.transact('[{:name "y"}]'));
    });
    assert.equal(container.textContent, "a:live:x,y;b:live:x,y;");
    assert.equal(last().resume, undefined);
    const request = await server.next();
    const report = { data: { transact: { t: 3 } } };
    if (!eventFirst) request.answer(report);
    if (!eventFirst) await act(async () => done);
    // Of another transaction, which came before.
    connection.send(delta(2, [[2, "w"]]));
    if (!eventFirst) await shows("a:live:x,w,y;b:live:x,w,y;");
    connection.send(delta(3, [[3, "y"]]));
    if (eventFirst) request.answer(report);
    if (eventFirst) await act(async () => done);
    while (last().basisT !== 3) await act(async () => new Promise((resolve) => setImmediate(resolve)));
    assert.equal(container.textContent, "a:live:x,w,y;b:live:x,w,y;");
    assert.deepEqual(last().rows, [[1, "x"], [2, "w"], [3, "y"]]);
    assert.ok(shown().every((text) => (text.match(/y/g) ?? []).length <= 1), shown().join(" "));
    assert.equal(last().pending, 0);
    assert.equal(last().resume, "r3");
    await render(null);
    await connection.closed;
  }
});

test("a change whose transaction is refused is taken back", async () => {
  states.clear();
  await render(createElement(Names));
  const connection = (await server.next()).send(snapshot(1, [[1, "x"]]));
  await shows("a:live:x;");
  let done: Promise<unknown> = Promise.resolve();
  await act(async () => {
    done = assert.rejects(last().mutate(() => [], () => client.transact("[]")), { code: "CAS_FAILED" });
  });
  assert.equal(container.textContent, "a:live:;");
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "CAS_FAILED" } }] });
  await act(async () => done);
  assert.equal(container.textContent, "a:live:x;");
  assert.deepEqual(shown(), ["", "x", "*", "x"]);
  // What a change throws is the caller's, and nothing is sent.
  const wrong = () => {
    throw new RangeError("wrong");
  };
  await act(() => assert.rejects(last().mutate(wrong, () => client.transact("[]")), RangeError));
  assert.equal(last().pending, 0);
  connection.send(delta(2, [[2, "y"]]));
  await shows("a:live:x,y;");
});

function Answer({ name = "q", options = {} as UseQueryOptions, args = [] as Argument[], query = QUERY as string | null }) {
  const { status, rows, error, refetch, isFetching } = useQuery(query, args, { lingerMs: 0, ...options });
  refetches.set(name, refetch);
  return createElement("span", null, `${name}:${status}${isFetching ? "…" : ""}:${(error as { code?: string } | undefined)?.code ?? rows.map(([, each]) => each).join(",")};`);
}

const refetches = new Map<string, () => void>();
const answerOf = (...rows: Json[][]) => ({ rows, columns: COLUMNS, value: rows, basisT: 5, pageInfo: { hasNextPage: false, endCursor: null }, warnings: [] });

test("one answer, which components with the same question share; it is asked for again on demand", async () => {
  const asOf = new Date("2024-05-01T00:00:00Z");
  const both = ["p", "q"].map((name) => createElement(Answer, { name, key: name, args: [7n], options: { asOf, with: edn`[{:a ${1}}]` } }));
  await render(createElement(StrictMode, null, ...both));
  assert.equal(container.textContent, "p:loading…:;q:loading…:;");
  const first = await server.next();
  const { args, basis, with: data } = first.variables;
  assert.deepEqual({ args, basis, data }, { args: [{ "#long": "7" }], basis: { asOf: asOf.toISOString() }, data: "[{:a 1}]" });
  first.answer({ data: { q: answerOf([1, "x"]) } });
  await shows("p:ready:x;q:ready:x;");
  await act(async () => refetches.get("p")!());
  assert.equal(container.textContent, "p:ready…:x;q:ready…:x;");
  (await server.next()).answer({ errors: [{ message: "no", extensions: { code: "TIMEOUT", retryable: true } }] });
  await shows("p:failed:TIMEOUT;q:failed:TIMEOUT;");
  await act(async () => refetches.get("q")!());
  assert.equal(container.textContent, "p:loading…:x;q:loading…:x;");
  (await server.next()).answer({ data: { q: answerOf([1, "y"]) } });
  await shows("p:ready:y;q:ready:y;");
});

test("a question that is not wanted any more is given up", async () => {
  await render(createElement(Answer, { options: { asOf: 3 } }));
  const first = await server.next();
  assert.deepEqual(first.variables["basis"], { t: 3 });
  await render(createElement(Answer, { options: { asOf: "4" } }));
  await first.closed;
  const second = await server.next();
  assert.deepEqual(second.variables["basis"], { t: "4" });
  second.answer({ data: { q: answerOf([1, "x"]) } });
  await shows("q:ready:x;");
  await render(createElement(Answer, { query: null }));
  assert.equal(container.textContent, "q:idle:;");
  await render(createElement(Answer));
  const third = await server.next();
  await render(null);
  await third.closed;
});

test("an answer from a server's render is shown, and not asked for", async () => {
  const given = createElement(Answer, { options: { initial: answerOf([1, "x"]) } });
  assert.match(renderToString(createElement(AdalogProvider, { client }, given)), /q:ready:x;/);
  await render(given);
  assert.equal(container.textContent, "q:ready:x;");
  await act(async () => refetches.get("q")!());
  (await server.next()).answer({ data: { q: answerOf([1, "y"]) } });
  await shows("q:ready:y;");
});

test("on a server it is loading, and opens nothing", () => {
  const html = renderToString(createElement(AdalogProvider, { client }, createElement(Names)));
  assert.match(html, /a:loading:;/);
});

test("without a provider it says so", () => {
  function Lost() {
    useClient();
    return null;
  }
  assert.throws(() => renderToString(createElement(Lost)), /AdalogProvider/);
  assert.throws(() => renderToString(createElement(Names)), /AdalogProvider/);
});

const ISSUES = "subscription ($status: String) { issuesLive(status: $status) { added { title } } }";

function Issues({ status = "open" as string | null }) {
  const { rows, status: state } = useLiveQuery<{ issuesLive: { added: readonly { title: string }[] } }, Record<string, unknown>>(
    status === null ? null : ISSUES,
    { status },
    { lingerMs: 0 },
  );
  return createElement("span", null, `${state}:${rows.map(({ title }) => title).join(",")};`);
}

test("the list of a typed subscription, shared by components with the same variables", async () => {
  await render(createElement(Issues, { key: 1 }), createElement(Issues, { key: 2 }));
  const connection = await server.next();
  assert.equal(connection.operations.length, 1);
  const event = { kind: "SNAPSHOT", basisT: 1, resume: "r1", added: [{ id: "1", title: "x" }, { id: "2", title: "y" }], changed: [], removed: [], last: true };
  connection.data({ issuesLive: event });
  await shows("live:x,y;live:x,y;");
  connection.data({ issuesLive: { ...event, kind: "DELTA", basisT: 2, resume: "r2", added: [], changed: [{ id: "1", title: "z" }], order: ["2", "1"] } });
  await shows("live:y,z;live:y,z;");
  await render(createElement(Issues, { status: null }));
  await shows("idle:;");
});
