/** Tokens that expire and are refused, over both transports: `token` is asked for another one, and the live query goes on. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { afterEach, beforeEach, test } from "node:test";
import type { AddressInfo } from "node:net";

import { WebSocket, WebSocketServer } from "ws";

import { createClient, type ClientOptions, type Json, type LiveQuery } from "@adalog/client";
import { delta, FakeServer, snapshot, until } from "./server.js";

let events: FakeServer;
let sockets: WebSocketServer;
let live: LiveQuery<Json[]> | undefined;

beforeEach(async () => {
  events = await FakeServer.start();
  sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(sockets, "listening");
});

afterEach(async () => {
  live?.close();
  for (const socket of sockets.clients) socket.terminate();
  await new Promise((resolve) => sockets.close(resolve));
  await events.stop();
});

interface Message {
  readonly id: string;
  readonly type: string;
  readonly payload?: { readonly authorization?: string; readonly variables: Record<string, unknown> };
}

/** One connection of the client, with the messages that it sends, one by one. */
class Peer {
  readonly #messages: AsyncIterator<[Buffer]>;
  constructor(readonly socket: WebSocket) {
    this.#messages = on(socket);
  }

  async next(): Promise<Message> {
    return JSON.parse(String((await this.#messages.next()).value[0])) as Message;
  }

  say(message: object): void {
    this.socket.send(JSON.stringify(message));
  }
}

async function* on(socket: WebSocket): AsyncGenerator<[Buffer]> {
  const waiting: [Buffer][] = [];
  let wake = () => {};
  socket.on("message", (data: Buffer) => {
    waiting.push([data]);
    wake();
  });
  for (;;) {
    const first = waiting.shift();
    if (first !== undefined) yield first;
    else await new Promise<void>((resolve) => (wake = resolve));
  }
}

async function connection(): Promise<Peer> {
  const [socket] = (await once(sockets, "connection")) as [WebSocket];
  return new Peer(socket);
}

function subscribed(options: Partial<ClientOptions>): LiveQuery<Json[]> {
  const url = options.webSocketImpl ? `http://127.0.0.1:${(sockets.address() as AddressInfo).port}` : events.url;
  const client = createClient({ url, backoff: { minMs: 1, maxMs: 2 }, ...options });
  return (live = client.live<Json[]>("[:find ?id ?name]"));
}

const OVER_SOCKETS = { webSocketImpl: WebSocket as unknown as NonNullable<ClientOptions["webSocketImpl"]> };

/** What each call gives, one after the other; the last one again and again. */
function given(...tokens: (string | undefined | Error)[]): { asked: (string | undefined)[]; token: (stale?: string) => string | undefined } {
  const asked: (string | undefined)[] = [];
  return {
    asked,
    token(stale) {
      const token = tokens[Math.min(asked.length, tokens.length - 1)];
      asked.push(stale);
      if (token instanceof Error) throw token;
      return token;
    },
  };
}

let signatures = 0;

/** A JSON Web Token of a user, which expires in so many seconds. */
function signed(name: string, seconds: number): string {
  const now = Date.now() / 1000;
  const claims = { sub: name, iat: now, exp: now + seconds };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${(signatures += 1)}`;
}

const REFUSAL = { errors: [{ message: "this token is not known here", extensions: { code: "UNAUTHENTICATED", retryable: false } }] };

test("events: a token that is refused is replaced, in the middle of the first answer too", async () => {
  const { asked, token } = given("one", "two", "three");
  const query = subscribed({ token });
  const statuses: unknown[] = [];
  query.subscribe(() => statuses.push(query.error?.code));
  (await events.next()).answer(REFUSAL, 401);
  const second = await events.next();
  assert.equal(second.headers.authorization, "Bearer two");
  second.send(snapshot(5, [[1, "a"]], false)).errors("UNAUTHENTICATED");
  const third = await events.next();
  assert.equal(third.headers.authorization, "Bearer three");
  assert.equal(third.variables["resume"], "r5+1");
  third.send(snapshot(5, [[2, "b"]]));
  assert.deepEqual((await query.ready()).rows, [[1, "a"], [2, "b"]]);
  assert.deepEqual(asked, [undefined, "one", "two"]);
  assert.deepEqual(new Set(statuses), new Set([undefined]));
});

test("events: a token is renewed before it expires, and the stream before is closed", async () => {
  const tokens = [signed("ada", 1), signed("ada", 100)];
  const { asked, token } = given(...tokens);
  const query = subscribed({ token });
  const first = (await events.next()).send(snapshot(5, [[1, "a"]]));
  await query.ready();
  const statuses: string[] = [];
  query.subscribe(() => statuses.push(query.status));
  const second = await events.next();
  assert.deepEqual(asked, [undefined, tokens[0]]);
  assert.equal(second.headers.authorization, `Bearer ${tokens[1]}`);
  assert.equal(second.variables["resume"], "r5");
  // What comes by the first one now comes by the second one too.
  first.send(delta(6, [[2, "b"]]));
  second.send(delta(6, [[2, "b"]]));
  await first.closed;
  await until(query, ({ basisT }) => basisT === 6);
  assert.deepEqual(query.rows, [[1, "a"], [2, "b"]]);
  assert.deepEqual(new Set(statuses), new Set(["live"]));
});

const HOPELESS: [string, ReturnType<typeof given>["token"] | string | undefined, RegExp][] = [
  ["the same token", () => "one", /not known here \(the token is still the one that was refused\)/],
  ["no token", given("one", undefined).token, /there is no new token/],
  ["an error", given("one", new Error("signed out")).token, /a new token cannot be had: signed out/],
  ["a text", "one", /the token is a text: give a function/],
  ["nothing", undefined, /no `token` was given/],
];

for (const [what, token, message] of HOPELESS) {
  test(`events: refused, and the token is ${what}`, async () => {
    const query = subscribed({ ...(token === undefined ? {} : { token }) });
    (await events.next()).answer(REFUSAL, 401);
    await assert.rejects(query.ready(), { code: "UNAUTHENTICATED", message });
  });

  test(`sockets: refused, and the token is ${what}`, async () => {
    const query = subscribed({ ...OVER_SOCKETS, ...(token === undefined ? {} : { token: typeof token === "string" ? token : given("one", ...(what === "no token" ? [undefined] : what === "an error" ? [new Error("signed out")] : [])).token }) });
    const peer = await connection();
    assert.equal((await peer.next()).type, "connection_init");
    peer.socket.close(4403, "Forbidden: this token is not known here");
    await assert.rejects(query.ready(), { code: "FORBIDDEN", message });
  });
}

test("events: where the token cannot be fetched for want of a network, it is tried again", async () => {
  let calls = 0;
  const query = subscribed({
    token() {
      calls += 1;
      if (calls === 2) throw new TypeError("Failed to fetch");
      return `token ${calls}`;
    },
  });
  (await events.next()).answer(REFUSAL, 401);
  const again = await events.next();
  assert.equal(again.headers.authorization, "Bearer token 3");
  again.send(snapshot(1, []));
  await query.ready();
});

test("headers: a function is asked again, too", async () => {
  const names = ["one", "two"];
  const query = subscribed({ headers: () => ({ "X-Key": names[0]!, Authorization: `Bearer ${names.shift()}` }) });
  (await events.next()).answer(REFUSAL, 401);
  const again = (await events.next()).send(snapshot(1, []));
  assert.deepEqual([again.headers["x-key"], again.headers.authorization], ["two", "Bearer two"]);
  await query.ready();
});

test("sockets: tokens that are refused at first and later", async () => {
  const { asked, token } = given("one", "two", "three");
  const query = subscribed({ ...OVER_SOCKETS, token });
  const first = await connection();
  assert.deepEqual((await first.next()).payload, { authorization: "Bearer one" });
  first.socket.close(4403, "Forbidden");
  const second = await connection();
  assert.deepEqual((await second.next()).payload, { authorization: "Bearer two" });
  second.say({ type: "connection_ack" });
  const { id } = await second.next();
  second.say({ id, type: "next", payload: { data: { live: snapshot(5, [[1, "a"]], false) } } });
  second.socket.close(4401, "Unauthorized: the token has expired");
  const third = await connection();
  assert.deepEqual((await third.next()).payload, { authorization: "Bearer three" });
  third.say({ type: "connection_ack" });
  const again = await third.next();
  assert.equal(again.payload?.variables["resume"], "r5+1");
  third.say({ id: again.id, type: "next", payload: { data: { live: snapshot(5, [[2, "b"]]) } } });
  assert.deepEqual((await query.ready()).rows, [[1, "a"], [2, "b"]]);
  assert.deepEqual(asked, [undefined, "one", "two"]);
});

test("sockets: a token is renewed by a ping; one of another principal gets a connection of its own", async () => {
  const tokens = [signed("ada", 1), signed("ada", 1), signed("bob", 100)];
  const { token } = given(...tokens);
  const query = subscribed({ ...OVER_SOCKETS, token });
  const peer = await connection();
  await peer.next();
  peer.say({ type: "connection_ack" });
  const { id } = await peer.next();
  peer.say({ id, type: "next", payload: { data: { live: snapshot(5, [[1, "a"]]) } } });
  await query.ready();
  const renewal = await peer.next();
  assert.deepEqual(renewal, { type: "ping", payload: { authorization: `Bearer ${tokens[1]}` } });
  peer.say({ type: "pong", payload: { expires: 1 } });
  peer.say({ id, type: "next", payload: { data: { live: delta(6, [[2, "b"]]) } } });
  await until(query, ({ basisT }) => basisT === 6);
  assert.equal((await peer.next()).payload?.authorization, `Bearer ${tokens[2]}`);
  peer.say({ type: "pong", payload: { errors: [{ message: "the token is bob's", extensions: { code: "FORBIDDEN" } }] } });
  const other = await connection();
  assert.equal((await other.next()).payload?.authorization, `Bearer ${tokens[2]}`);
});
