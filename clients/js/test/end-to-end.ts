/**
 * Against a server of adalog: `node end-to-end.js TRANSPORT ADDRESS`. It says `restart` and then reads the new address, where
 * somebody else has transacted in between. Ends with 0 when all is as it should be.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { createClient as createWebSocketClient } from "graphql-ws";
import { WebSocket } from "ws";

import { createClient, decimal, duration, edn, keyword, OptimisticRows, uuid, type Argument, type Client, type Json, type LiveChange, type LiveQuery, type Long } from "@adalog/client";
import { until } from "./server.js";

const [, , transport, first] = process.argv;
let address = first ?? "";

const sockets = createWebSocketClient({
  url: () => `${address.replace("http", "ws")}/graphql`,
  webSocketImpl: WebSocket,
  retryAttempts: 0,
});
/** A WebSocket to the address that there is now. */
class Own extends WebSocket {
  constructor(_: string, protocol: string) {
    super(`${address.replace("http", "ws")}/graphql`, protocol);
  }
}
const connected = createClient({
  url: "http://unused/",
  fetch: (_, init) => fetch(`${address}/graphql`, init),
  backoff: { minMs: 20, maxMs: 200 },
  onWarning: (message) => assert.fail(message),
  ...(transport === "graphql-ws" ? { webSocket: sockets } : {}),
  ...(transport === "ws" ? { transport: "websocket", webSocketImpl: Own } : {}),
});
/** The client, with attributes of its own: another transport's test asks the same server. */
const own = (text: unknown) => String(text).replace(/:(item|node)\//g, `:${transport!.replace("-", "")}.$1/`);
const client: Pick<Client, "query" | "transact" | "live"> = {
  query: (query, args, options) => connected.query(own(query), args, options),
  transact: (tx, options) => connected.transact(own(tx), options),
  live: (query, args, options) => connected.live(own(query), args, options),
};
const lines = createInterface({ input: process.stdin });

const REACHES = `[:find ?from ?to :in $ ?from
                  :where (reaches ?from ?to)
                  :rules [[(reaches ?a ?b) [?a :node/to ?b]] [(reaches ?a ?b) [?a :node/to ?c] (reaches ?c ?b)]]]`;
const ITEMS = "[:find ?i ?name ?big :where [?i :item/name ?name] [?i :item/big ?big]]";

/** What the changes that were told add up to. */
function sum(changes: readonly LiveChange<Json[]>[]): string[] {
  const rows = new Set<string>();
  for (const { added, retracted } of changes) {
    for (const row of retracted) assert.ok(rows.delete(JSON.stringify(row)), `${JSON.stringify(row)} is retracted, and is not there`);
    for (const row of added) {
      assert.ok(!rows.has(JSON.stringify(row)), `${JSON.stringify(row)} is added, and is there`);
      rows.add(JSON.stringify(row));
    }
  }
  return [...rows].sort();
}

function sorted(rows: readonly Json[][]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

function ascending(changes: readonly LiveChange<Json[]>[]): void {
  changes.reduce((before, { basisT }) => {
    assert.ok(Number(basisT) > before, `t ${basisT} after t ${before}`);
    return Number(basisT);
  }, -1);
}

/** Waits until the live query has come to a transaction that is known to change it. */
async function reached(live: LiveQuery<Json[]>, t: Long): Promise<void> {
  await until(live, ({ basisT, status }) => status === "live" && Number(basisT ?? 0) >= Number(t));
}

const declared = await client.transact(`[
  {:db/ident :item/name :db/valueType :db.type/string :db/unique :db.unique/identity}
  {:db/ident :item/big :db/valueType :db.type/long}
  {:db/ident :node/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]`);

/** The log as it is told meanwhile, up to a transaction that says so. */
async function logged(): Promise<Long[]> {
  const seen: Long[] = [];
  for await (const { t, datoms } of connected.transactions({ from: declared.t })) {
    seen.push(t);
    if (datoms.some(({ a, v }) => a === own(":item/name") && v === "the end")) break;
  }
  return seen;
}
const log = logged();

// Queries and transactions.
const { tempids, t: begun } = await client.transact(edn`[
  {:db/id "a" :item/name ${'"a"\n'} :item/big ${2n ** 60n} :item/price ${decimal("9.90")} :item/status ${keyword(":open")}}
  {:db/id "b" :node/to "a"} {:db/id "c" :node/to "b"}]`);
const [a, b, c] = ["a", "b", "c"].map((name) => Number(tempids[name])) as [number, number, number];
const asked = await client.query("[:find ?name ?big ?price :in $ ?status :where [?i :item/status ?status] [?i :item/name ?name] [?i :item/big ?big] [?i :item/price ?price]]", [":open"]);
assert.deepEqual(asked.rows, [['"a"\n', "1152921504606846976", "9.9"]]);
assert.deepEqual(asked.columns.map(({ name }) => name), ["?name", "?big", "?price"]);
assert.equal((await client.query("[:find ?i :where [?i :item/name]]", [], { basis: { t: declared.t } })).rows.length, 0);

// Arguments of every type, as they are and in lists: each finds the entity that has the value.
const id = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21";
const values: [name: string, type: string, value: Argument][] = [
  ["keyword", "keyword", keyword(`:${transport}/open`)],
  ["symbol", "symbol", edn`open`],
  ["uuid", "uuid", uuid(id)],
  ["bigdec", "bigdec", decimal("9.90")],
  ["duration", "duration", duration("P1M2DT3H")],
  ["instant", "instant", new Date("2024-05-01T12:00:00Z")],
  ["long", "long", 2n ** 62n],
  ["small", "long", 5n],
  ["bigint", "bigint", 2n ** 70n],
  ["double", "double", 2n],
  ["bytes", "bytes", new Uint8Array([1, 2, 255])],
];
await client.transact(`[${values.map(([name, type]) => `{:db/ident :item/${name} :db/valueType :db.type/${type}}`).join("")}]`);
const { tempids: typed } = await client.transact(
  edn`[${values.map(([name, , value]) => new Map<Argument, Argument>([[keyword(":db/id"), "typed"], [keyword(own(`:item/${name}`)), value]]))}]`.text.slice(1, -1),
);
for (const [name, , value] of values) {
  const found = [[typed["typed"]]];
  const one = `[:find ?i :in $ ?v :where [?i :item/${name} ?v]]`;
  assert.deepEqual((await client.query(one, [value])).rows, found, name);
  const live = client.live<Json[]>(one, [value]);
  assert.deepEqual((await live.ready()).rows, found, name);
  live.close();
  if (name === "symbol") continue;
  assert.deepEqual((await client.query(`[:find ?i :in $ [?v ...] :where [?i :item/${name} ?v]]`, [[value]])).rows, found, name);
  assert.deepEqual((await client.query(`[:find ?i :in $ [[?a ?v]] :where [?i ?a ?v]]`, [[[keyword(own(`:item/${name}`)), value]]])).rows, found, name);
}
// A place that wants no type, and values that no attribute has.
assert.deepEqual((await client.query("[:find ?x . :in $ ?x :where [(ground 1)]]", [keyword("a/b")], { encoding: "TAGGED" })).value, { "#kw": "a/b" });

const key = { idempotencyKey: `key-${transport}` };
const once1 = await client.transact('[{:item/name "twice"}]', key);
assert.equal((await client.transact('[{:item/name "twice"}]', key)).t, once1.t);
await assert.rejects(client.query("[:find ?x :where [?x"), { code: "EDN_SYNTAX", line: 1 });
await assert.rejects(client.transact('[[:db/add 1 :item/big "text"]]'), { code: "TX_INVALID" });

// Live queries.
const items: LiveChange<Json[]>[] = [];
const reaching: LiveChange<Json[]>[] = [];
const liveItems = client.live<Json[]>(ITEMS, [], { onChange: (change) => items.push(change) });
const liveReaching = client.live<Json[]>(REACHES, [c], { onChange: (change) => reaching.push(change) });
await Promise.all([liveItems.ready(), liveReaching.ready()]);
assert.deepEqual(sorted(liveReaching.rows), sorted([[c, a], [c, b]]));

const [kept] = liveItems.rows;
let t: Long = 0;
const committed: Long[] = [];
for (let i = 0; i < 20; i += 1) {
  const name = `item ${i % 5}`;
  ({ t } = await client.transact(edn`[{:item/name ${name} :item/big ${i}} [:db/add ${b} :node/to [:item/name ${'"a"\n'}]]]`));
  committed.push(t);
}
await reached(liveItems, t);
assert.equal(liveItems.rows.find(([, name]) => name === '"a"\n'), kept);
assert.deepEqual(sorted(liveItems.rows), sorted((await client.query(ITEMS)).rows));
assert.deepEqual(sum(items), sorted(liveItems.rows));
ascending(items);

// What is deleted goes, through the rule too.
({ t } = await client.transact(edn`[[:db/retract ${b} :node/to ${a}]]`));
await reached(liveReaching, t);
assert.deepEqual(liveReaching.rows, [[c, b]]);
assert.deepEqual(reaching.map(({ added, retracted }) => [added.length, retracted.length]), [[2, 0], [0, 1]]);

// Left joins and conditions on groups: what is missing is null until it is there, and groups come and go.
const joined = client.live<Json[]>("[:find ?x ?name :where [?x :node/to] (optional [?x :item/name ?name])]");
const grouped = client.live<Json[]>("[:find ?to (count ?x) :where [?x :node/to ?to] :having [(> (count ?x) 1)]]");
await Promise.all([joined.ready(), grouped.ready()]);
assert.deepEqual([joined.rows, grouped.rows], [[[c, null]], []]);
({ t } = await client.transact(edn`[[:db/add ${c} :item/name "c"] [:db/add ${a} :node/to ${b}]]`));
await Promise.all([reached(joined, t), reached(grouped, t)]);
assert.deepEqual(sorted(joined.rows), sorted([[a, '"a"\n'], [c, "c"]]));
assert.deepEqual(grouped.rows, [[b, 2]]);
({ t } = await client.transact(edn`[[:db/retract ${c} :item/name "c"] [:db/retract ${a} :node/to ${b}]]`));
await Promise.all([reached(joined, t), reached(grouped, t)]);
assert.deepEqual([joined.rows, grouped.rows], [[[c, null]], []]);
joined.close();
grouped.close();

// A change that is shown before the server has it, and never twice.
const optimistic = new OptimisticRows(liveItems);
const shown: number[] = [];
optimistic.subscribe(() => shown.push(optimistic.getState().rows.filter(([, name]) => name === "shown").length));
({ t } = await optimistic.mutate((rows) => [...rows, [0, "shown", 1]], () => client.transact('[{:item/name "shown" :item/big 1}]')));
await liveItems.reached(t);
assert.ok(shown.length > 0 && shown.every((times) => times === 1), shown.join());
assert.equal(optimistic.getState().pending, 0);

// A loop.
const loop = client.live<Json[]>(ITEMS);
let seen = 0;
for await (const { kind, added } of loop) {
  if (kind === "snapshot") ({ t } = await client.transact('[{:item/name "loop" :item/big 1}]'));
  else assert.deepEqual(added.map(([, name]) => name), ["loop"]);
  if ((seen += 1) === 2) break;
}
await reached(liveItems, t);

// The server is killed, and comes back with more.
const before = items.length;
const moved = once(lines, "line");
console.log("restart");
void moved.then(([line]) => (address = line as string));
// One of these begins before the server is killed, or while it is away, and ends when it is back.
for (let repeated = 0; repeated === 0; ) {
  await client.transact(edn`[{:item/name "meanwhile" :item/big ${1}}]`, { onRetry: () => (repeated += 1) });
}
({ t } = await client.transact(edn`[{:item/name "after" :item/big 7} [:db/add ${b} :node/to ${a}]]`));
await Promise.all([reached(liveItems, t), reached(liveReaching, t)]);
assert.deepEqual(sorted(liveItems.rows), sorted((await client.query(ITEMS)).rows));
assert.ok(liveItems.rows.some(([, name]) => name === "in between"));
assert.equal(liveItems.rows.find(([, name]) => name === '"a"\n'), kept);
assert.deepEqual(sum(items), sorted(liveItems.rows));
assert.deepEqual(sum(reaching), sorted([[c, a], [c, b]]));
assert.ok(items.length > before);
assert.ok(items.every(({ kind }, i) => kind === (i === 0 ? "snapshot" : "delta")), "it goes on, and does not start over");
ascending(items);
ascending(reaching);

// All of it once more, from the past.
const replayed: LiveChange<Json[]>[] = [];
const replay = client.live<Json[]>(ITEMS, [], { fromT: begun, onChange: (change) => replayed.push(change) });
await reached(replay, t);
assert.equal(replayed[0]?.basisT, begun);
assert.deepEqual(replayed.map(({ basisT }) => basisT).slice(1, 21), committed);
assert.deepEqual(sum(replayed), sorted(liveItems.rows));

// A state that was kept, in another client.
const state = JSON.parse(JSON.stringify(liveItems.getState()));
liveItems.close();
({ t } = await client.transact('[{:item/name "later" :item/big 9}]'));
const later: LiveChange<Json[]>[] = [];
const continued = client.live<Json[]>(ITEMS, [], { since: state, onChange: (change) => later.push(change) });
await reached(continued, t);
assert.deepEqual(later.map(({ kind, added }) => [kind, added.length]), [["delta", 1]]);
await assert.rejects(client.live("[:find ?x :where [?x").ready(), { code: "EDN_SYNTAX" });

// The log has all of it, once.
({ t } = await client.transact('[{:item/name "the end"}]'));
const whole = (await log).map(Number);
assert.deepEqual(whole, Array.from({ length: Number(t) - Number(declared.t) + 1 }, (_, i) => Number(declared.t) + i));

for (const live of [liveReaching, replay, continued]) live.close();
await sockets.dispose();
lines.close();
