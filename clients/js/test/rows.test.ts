import assert from "node:assert/strict";
import { test } from "node:test";

import { canonical, Inconsistent, RowSet } from "../dist/rows.js";
import { COLUMNS } from "./server.js";

type Row = (string | number | object)[];

function setOf(rows: Row[], key?: (string | number)[]): RowSet<Row> {
  const set = new RowSet<Row>(key, COLUMNS);
  set.apply(rows, []);
  return set;
}

test("rows that stay are the same objects, and keep their places", () => {
  const set = setOf([[1, "a"], [2, "b"], [3, "c"]]);
  const [one, two, three] = set.list();
  const change = set.apply([[4, "d"]], [[2, "b"]]);
  assert.deepEqual(change, { added: [[4, "d"]], retracted: [[2, "b"]] });
  assert.equal(change.retracted[0], two);
  assert.deepEqual(set.list(), [[1, "a"], [3, "c"], [4, "d"]]);
  assert.equal(set.list()[0], one);
  assert.equal(set.list()[1], three);
});

test("with a key, a row takes the place of the one that it replaces", () => {
  const set = setOf([[1, "a"], [2, "b"], [3, "c"]], ["?id"]);
  set.apply([[2, "B"]], [[2, "b"]]);
  assert.deepEqual(set.list(), [[1, "a"], [2, "B"], [3, "c"]]);
  set.apply([], [[2, "B"]]);
  assert.deepEqual(set.list(), [[1, "a"], [3, "c"]]);
  assert.throws(() => set.apply([[1, "other"]], []), { code: "KEY_NOT_UNIQUE" });
});

test("a key is of columns that there are", () => {
  assert.throws(() => new RowSet<Row>(["?nope"], COLUMNS), { code: "KEY_INVALID" });
  assert.throws(() => new RowSet<Row>([2], COLUMNS), { code: "KEY_INVALID" });
  new RowSet<Row>([1], COLUMNS);
});

test("a row that is not there cannot be retracted, and nothing is changed then", () => {
  for (const key of [undefined, [0]]) {
    const set = setOf([[1, "a"]], key);
    assert.throws(() => set.apply([[2, "b"]], [[1, "a"], [3, "c"]]), Inconsistent);
    assert.throws(() => set.apply([], [[1, "a"], [1, "a"]]), Inconsistent);
    assert.throws(() => set.apply([], [[1, "other"]]), Inconsistent);
    assert.deepEqual(set.list(), [[1, "a"]]);
  }
});

test("rows that look the same are counted", () => {
  const set = setOf([[":a"], [":a"]]);
  assert.equal(set.list().length, 2);
  set.apply([], [[":a"]]);
  assert.equal(set.list().length, 1);
  set.apply([[":a"]], [[":a"]]);
  assert.equal(set.list().length, 1);
});

test("maps are the same in any order of their keys", () => {
  assert.equal(canonical([{ b: [{ d: 1, c: 2 }], a: 1 }]), canonical([{ a: 1, b: [{ c: 2, d: 1 }] }]));
  assert.notEqual(canonical([["a", "b"]]), canonical([["b", "a"]]));
  const set = setOf([[{ a: 1, b: 2 }]]);
  set.apply([], [[{ b: 2, a: 1 }]]);
  assert.deepEqual(set.list(), []);
});

test("a whole new answer keeps the objects of what is the same", () => {
  for (const key of [undefined, [0]]) {
    const before = setOf([[1, "a"], [2, "b"], [3, "c"]], key);
    const after = setOf([[3, "c"], [2, "B"], [4, "d"]], key);
    const last = before.list()[2];
    assert.deepEqual(before.differenceTo(after), { added: [[2, "B"], [4, "d"]], retracted: [[1, "a"], [2, "b"]] });
    assert.equal(after.list()[0], last);
  }
});
