import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { createClient, decimal, duration, edn, keyword, symbol, uuid, type Argument, type Client } from "@adalog/client";
import { FakeServer } from "./server.js";

let server: FakeServer;
let client: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  client = createClient({ url: server.url });
});

afterEach(() => server.stop());

const ID = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21";

/** What is sent, by a query and by a live query. */
async function sent(...args: Argument[]): Promise<unknown[]> {
  const asked = assert.rejects(client.query("[]", args));
  const request = await server.next();
  request.answer({ errors: [{ message: "no" }] });
  await asked;
  const live = client.live("[]", args);
  const subscribed = await server.next();
  live.close();
  assert.deepEqual(subscribed.variables["args"], request.variables["args"]);
  return request.variables["args"] as unknown[];
}

test("values that JSON has no type for keep theirs", async () => {
  const values = [keyword(":a/b"), keyword("c"), symbol("?x"), uuid(ID), decimal("9.90"), duration("P1M2DT3H"), new Date(0), 5n, -(2n ** 63n), 2n ** 63n, Number.NaN, -Infinity];
  const written = [
    { "#kw": "a/b" }, { "#kw": "c" }, { "#sym": "?x" }, { "#uuid": ID }, { "#dec": "9.90" }, { "#duration": "P1M2DT3H" }, { "#inst": "1970-01-01T00:00:00.000Z" },
    { "#long": "5" }, { "#long": "-9223372036854775808" }, { "#bigint": "9223372036854775808" }, { "#double": "NaN" }, { "#double": "-Infinity" },
  ];
  assert.deepEqual(await sent(...values), written);
  assert.deepEqual(await sent(values, { within: values }, new Set(values.slice(0, 9)), new Uint8Array([1, 2, 255])), [
    written, { within: written }, { "#set": written.slice(0, 9) }, { "#bytes": "AQL/" },
  ]);
  assert.deepEqual(await sent(new Map<Argument, Argument>([[keyword("a"), 1n], ["b", [2]]])), [
    { "#map": [[{ "#kw": "a" }, { "#long": "1" }], ["b", [2]]] },
  ]);
});

test("JSON stays as it is", async () => {
  const json = [":open", 1.5, true, ["x", null], { a: 1, b: { c: [false] } }, { basis: { asOf: 5 } }, { "#kw": "open" }];
  assert.deepEqual(await sent(...json), json);
  assert.deepEqual(await sent({ basis: { t: undefined, history: true } }), [{ basis: { history: true } }]);
});

test("text of edn is a whole argument", async () => {
  assert.deepEqual(await sent(edn`[${1} :open]`, edn`nil`), [{ "#edn": "[1 :open]" }, { "#edn": "nil" }]);
  assert.throws(() => client.live("[]", [[edn`nil`]]), /args\[0\]\[0\] is EDN text/);
});

test("what is no EDN text, no query and no list of arguments is a TypeError", async () => {
  const wrong = client as unknown as Record<"query" | "transact" | "live", (...given: unknown[]) => Promise<unknown>>;
  for (const tx of [[{ ":issue/title": "x" }], { ":issue/title": "x" }, undefined, null, 7]) {
    await assert.rejects(wrong.transact(tx), (error) => error instanceof TypeError && /transact takes EDN text: edn`/.test(error.message));
  }
  for (const query of [undefined, ["[:find ?e]"], { find: ["?e"] }, edn`[:find ?e]`]) {
    await assert.rejects(wrong.query(query), (error) => error instanceof TypeError && /the query is a string/.test(error.message));
    assert.throws(() => wrong.live(query), /the query is a string/);
  }
  for (const args of [{ x: 1 }, "x", null]) {
    await assert.rejects(wrong.query("[]", args), (error) => error instanceof TypeError && /args is a list/.test(error.message));
    assert.throws(() => wrong.live("[]", args), /args is a list/);
  }
  await assert.rejects(wrong.query("[]", [], { with: [{}] }), /with takes EDN text/);
});

test("what is no value says where it stands", async () => {
  class Person {}
  const circle: { in?: unknown } = {};
  circle.in = circle;
  for (const [value, message] of [
    [undefined, /args\[0\] is undefined/],
    [null, /args\[0\] is null.*edn`nil`/],
    [() => 1, /args\[0\] is a function/],
    [Symbol("x"), /args\[0\] is Symbol\(x\)/],
    [{ a: [1, new Person()] }, /args\[0\]\.a\[1\] is a Person/],
    [Promise.resolve(1), /args\[0\] is a Promise/],
    [/x/, /args\[0\] is a RegExp/],
    [new Date("x"), /args\[0\] is an invalid Date/],
    [[1, , 2], /args\[0\]\[1\] is undefined/],
    [circle, /contains itself/],
  ] as const) {
    assert.throws(() => client.live("[]", [value] as never), (error) => error instanceof TypeError && message.test(error.message));
    await assert.rejects(client.query("[]", [value] as never), TypeError);
  }
});
