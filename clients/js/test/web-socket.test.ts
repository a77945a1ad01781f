/** Over the WebSocket of a real `graphql-ws` client; the other end is written out here, frame by frame. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { AddressInfo } from "node:net";

import { createClient as createWebSocketClient, type Client as WebSocketClient } from "graphql-ws";
import { WebSocket, WebSocketServer } from "ws";

import { createClient, type Json, type LiveChange, type LiveQuery } from "@adalog/client";
import { delta, progress, snapshot, until } from "./server.js";

interface Message {
  readonly id: string;
  readonly type: string;
  readonly payload: { readonly variables: Record<string, unknown> };
}

class Subscription {
  constructor(readonly socket: WebSocket, readonly message: Message) {}

  get variables() {
    return this.message.payload.variables;
  }

  send(...events: object[]): this {
    for (const live of events) this.write("next", { data: { live } });
    return this;
  }

  write(type: string, payload?: unknown): this {
    this.socket.send(JSON.stringify({ id: this.message.id, type, payload }));
    return this;
  }
}

let server: WebSocketServer;
let sockets: WebSocketClient;
let arrived: Subscription[];
let awaited: ((subscription: Subscription) => void)[];
let completed: string[];
let live: LiveQuery<Json[]> | undefined;

beforeEach(async () => {
  [arrived, awaited, completed] = [[], [], []];
  server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.on("listening", resolve));
  server.on("connection", (socket) => {
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as Message;
      if (message.type === "connection_init") socket.send('{"type":"connection_ack"}');
      else if (message.type === "complete") completed.push(message.id);
      else if (message.type === "subscribe") {
        const subscription = new Subscription(socket, message);
        const waiting = awaited.shift();
        if (waiting === undefined) arrived.push(subscription);
        else waiting(subscription);
      }
    });
  });
  sockets = open(0);
});

afterEach(async () => {
  live?.close();
  await sockets.dispose();
  for (const socket of server.clients) socket.terminate();
  await new Promise((resolve) => server.close(resolve));
});

function open(retryAttempts: number): WebSocketClient {
  const { port } = server.address() as AddressInfo;
  return createWebSocketClient({ url: `ws://127.0.0.1:${port}`, webSocketImpl: WebSocket, retryAttempts, retryWait: async () => {} });
}

function next(): Promise<Subscription> {
  const subscription = arrived.shift();
  return subscription === undefined ? new Promise((resolve) => awaited.push(resolve)) : Promise.resolve(subscription);
}

function subscribed(changes: LiveChange<Json[]>[] = []): LiveQuery<Json[]> {
  const client = createClient({ url: "http://127.0.0.1:9/unused", webSocket: sockets, backoff: { minMs: 1, maxMs: 2 } });
  return (live = client.live<Json[]>("[:find ?x]", [7], { onChange: (change) => changes.push(change) }));
}

for (const retryAttempts of [0, 5]) {
  test(`it goes on where it was, whoever connects anew (${retryAttempts} attempts of graphql-ws itself)`, async () => {
    sockets = open(retryAttempts);
    const changes: LiveChange<Json[]>[] = [];
    const query = subscribed(changes);
    const first = await next();
    assert.deepEqual(first.variables, { query: "[:find ?x]", args: [7], encoding: "PLAIN" });
    first.socket.terminate();
    const again = await next();
    assert.deepEqual(again.variables, first.variables);
    again.send(snapshot(1, [[1, "a"]])).send(delta(2, [[2, "b"]]));
    await until(query, ({ basisT }) => basisT === 2);
    again.socket.terminate();
    const second = await next();
    assert.equal(second.variables["resume"], "r2");
    second.send(delta(3, [[3, "c"]]));
    await until(query, ({ basisT }) => basisT === 3);
    second.socket.terminate();
    await until(query, ({ status }) => status === "stale");
    const third = await next();
    assert.equal(third.variables["resume"], "r3");
    await until(query, ({ status }) => status === "live");
    third.send(delta(4, [], [[1, "a"]]), progress(9));
    const state = await until(query, ({ basisT }) => basisT === 9);
    assert.deepEqual(state.rows, [[2, "b"], [3, "c"]]);
    assert.deepEqual(changes.map(({ basisT }) => basisT), [1, 2, 3, 4]);
  });
}

test("closing says complete", async () => {
  const query = subscribed();
  const subscription = (await next()).send(snapshot(1, []));
  await query.ready();
  const closed = new Promise((resolve) => subscription.socket.on("close", resolve));
  query.close();
  await closed;
  assert.deepEqual(completed, [subscription.message.id]);
});

test("errors that pass and errors that do not", async () => {
  const query = subscribed();
  (await next()).write("error", [{ message: "busy", extensions: { code: "RATE_LIMITED", retryable: true } }]);
  (await next()).write("complete");
  (await next()).send(snapshot(1, [])).write("error", [{ message: "no", extensions: { code: "LIMIT_EXCEEDED", retryable: false } }]);
  await assert.rejects(until(query, () => false), { code: "LIMIT_EXCEEDED" });
});

test("close codes that are final", async () => {
  for (const [number, code] of [[4400, "PROTOCOL"], [4403, "FORBIDDEN"], [4429, "PROTOCOL"]] as const) {
    const query = subscribed();
    (await next()).socket.close(number, "because");
    await assert.rejects(query.ready(), { code, message: `the WebSocket was closed: ${number} because` });
  }
});

test("close codes that are not", async () => {
  const query = subscribed();
  for (const number of [1001, 1011, 1012, 4401, 4408, 4500]) (await next()).socket.close(number);
  (await next()).send(snapshot(1, [[1, "a"]]));
  assert.equal((await query.ready()).rows.length, 1);
});
