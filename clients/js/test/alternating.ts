/**
 * Behind a balancer that hands each request to the other of two gateways: `node alternating.js ADDRESS ADDRESS`. Each answer has
 * what the client has written or seen before. Ends with 0 when that is so.
 */

import assert from "node:assert/strict";

import { createClient, edn, type Json } from "@adalog/client";

const addresses = process.argv.slice(2);
let requests = 0;
const client = createClient({
  url: "unused",
  // One more for every third: else all transactions are at one gateway, and all queries at the other.
  fetch: (_, init) => fetch(`${addresses[(requests += requests % 3 === 0 ? 2 : 1) % 2]}/graphql`, init),
});
const NUMBERS = "[:find [?n ...] :in $ :where [_ :alternating/n ?n]]";

await client.transact("[{:db/ident :alternating/n :db/valueType :db.type/long :db/cardinality :db.cardinality/many}]");
const { tempids } = await client.transact('[{:db/id "it" :alternating/n 0}]');
const it = tempids["it"] as number;
for (let n = 1; n <= 200; n += 1) {
  const { t } = await client.transact(edn`[[:db/add ${it} :alternating/n ${n}]]`);
  const { rows, basisT } = await client.query(NUMBERS);
  assert.equal(rows.length, n + 1, `of ${n + 1} numbers, as of ${basisT} after ${t}`);
  const { pull } = await client.graphql<{ pull: Json }>(`{ pull(pattern: "[:alternating/n]", eid: "${it}") }`);
  assert.equal((pull as { [key: string]: Json[] })[":alternating/n"]?.length, n + 1);
  if (n % 20 !== 0) continue;
  const live = client.live(NUMBERS);
  assert.equal((await live.ready()).rows.length, n + 1, "of a live query that begins");
  live.close();
}
