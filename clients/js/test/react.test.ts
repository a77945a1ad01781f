import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { Window } from "happy-dom";
import { act, createElement, StrictMode, useState, type ReactNode } from "react";
import type { Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

import { createClient, type Argument, type Client, type Json } from "@adalog/client";
import { AdalogProvider, useClient, useLive, type UseLiveState } from "@adalog/client/react";
import { delta, FakeServer, progress, snapshot, type Exchange } from "./server.js";

const QUERY = "[:find ?id ?name]";

const page = new Window();
Object.assign(globalThis, { window: page, document: page.document, IS_REACT_ACT_ENVIRONMENT: true });
if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: page.navigator });
// React DOM looks at the globals as it is loaded.
const { createRoot } = await import("react-dom/client");

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

function Names({ name = "a", args = [] as Argument[], query = QUERY as string | null }) {
  const state = useLive(query, args, { key: ["?id"], lingerMs: 0 });
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
  const second: Exchange = await server.next();
  assert.deepEqual(second.variables["args"], [2]);
  assert.equal(container.textContent, "a:loading:;");
  await first.closed;
  second.send(snapshot(1, [[2, "two"]]));
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
