/** Which of two kinds of connection is made, by what happened to earlier ones. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { network } from "../dist/errors.js";
import { withFallback } from "../dist/fallback.js";
import type { Link, LinkFactory, LinkListener } from "../dist/multiplexer.js";

/** A connection that was made: its kind, what it was given, and what a test reports of it. */
interface Made {
  readonly kind: "first" | "second";
  readonly listener: LinkListener;
  readonly calls: unknown[];
}

function setting() {
  const made: Made[] = [];
  const warnings: string[] = [];
  const lost: string[] = [];
  const factory = (kind: Made["kind"]): LinkFactory => (headers, listener) => {
    const calls: unknown[] = [headers];
    made.push({ kind, listener, calls });
    return {
      add: (id) => void calls.push(`add ${id}`),
      remove: (id) => void calls.push(`remove ${id}`),
      renew: (fresh) => void calls.push(fresh),
      close: () => void calls.push("close"),
    };
  };
  const both = withFallback(factory("first"), factory("second"), (message) => warnings.push(message));
  const nothing = () => {};
  const listener: LinkListener = { opened: nothing, sent: nothing, interrupted: nothing, next: nothing, end: nothing, refused: nothing, lost: ({ message }) => lost.push(message) };
  const connect = (): Link => both({ name: "one" }, listener, () => assert.fail("nothing is sent"));
  const kinds = () => made.map(({ kind }) => kind);
  return { made, warnings, lost, connect, kinds };
}

test("where the first kind is not accepted, the second takes over its subscriptions, and says so once", () => {
  const { made, warnings, lost, connect, kinds } = setting();
  const link = connect();
  link.add("1");
  link.add("2");
  link.remove("1");
  link.renew({ name: "two" });
  made[0]!.listener.lost(network("a proxy"));
  assert.deepEqual(kinds(), ["first", "second"]);
  assert.deepEqual([lost, warnings], [[], []]);
  made[1]!.listener.opened();
  assert.match(warnings[0]!, /no WebSocket can be opened/);
  link.add("3");
  link.renew({ name: "three" });
  link.close();
  assert.deepEqual(made[1]!.calls, [{ name: "two" }, "add 2", "add 3", { name: "three" }, "close"]);

  // The next one is of the second kind at once, until that is not accepted either.
  connect();
  made[2]!.listener.opened();
  made[2]!.listener.lost(network("a restart"));
  connect();
  made[3]!.listener.lost(network("still starting"));
  connect();
  assert.deepEqual(kinds(), ["first", "second", "second", "second", "first"]);
  assert.equal(lost.length, 2);
  assert.equal(warnings.length, 1);
});

test("where the first kind has worked, the second is tried after three failures, and the first comes back", () => {
  const { made, warnings, lost, connect, kinds } = setting();
  connect();
  made[0]!.listener.opened();
  made[0]!.listener.lost(network("a restart"));
  for (const at of [1, 2, 3]) {
    connect();
    made[at]!.listener.lost(network("still starting"));
  }
  assert.deepEqual(kinds(), ["first", "first", "first", "first", "second"]);
  assert.equal(lost.length, 3);
  made[4]!.listener.opened();
  made[4]!.listener.lost(network("another restart"));
  connect();
  assert.deepEqual(kinds().at(-1), "first");
  assert.deepEqual(warnings, []);
});
