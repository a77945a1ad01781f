import assert from "node:assert/strict";
import { test } from "node:test";

import { eventStream } from "../dist/event-stream.js";

const STREAM = "\uFEFF: hello\r\nevent: next\r\ndata: {\r\ndata:}\r\n\r\nid: 7\nevent:next\ndata:  b\n\n\revent: complete\r\rdata: x\n\ndata: cut";
const EVENTS = [
  { name: "next", data: "{\n}" },
  { name: "next", data: " b" },
  { name: "complete", data: "" },
  { name: "message", data: "x" },
];

test("a stream is the same in whatever pieces it comes", () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const parse = eventStream();
    const events = [];
    for (let i = 0; i < STREAM.length; i += size) events.push(...parse(STREAM.slice(i, i + size)));
    assert.deepEqual(events, EVENTS, `in pieces of ${size}`);
  }
});
