// Follows one query over a graph. Lines of JSON in: {"follow": name, "edges": [[from, to], …]}, then
// {"step": [[[from, to], +1 or -1], …]}; out: the rows that the query has, or the milliseconds that a step took.
import { createInterface } from "node:readline";
import {
  antiJoin,
  consolidate,
  count,
  D2,
  join,
  map,
  MultiSet,
  output,
} from "@electric-sql/d2ts";

const pair = (a, b) => `${a},${b}`;
const turned = map(([a, b]) => [b, a]);
const wedges = (edges) =>
  edges.pipe(
    turned,
    join(edges),
    map(([b, [a, c]]) => [pair(a, c), [a, b, c]]),
  );
const keys = map(([a, b]) => [pair(a, b), 0]);

const queries = {
  triangles: (edges) =>
    wedges(edges).pipe(
      join(edges.pipe(keys)),
      map(([key, [[, b]]]) => [0, pair(key, b)]),
      count(),
    ),
  open: (edges) =>
    wedges(edges).pipe(
      antiJoin(edges.pipe(keys)),
      map(([, [[a, b, c]]]) => [a, pair(b, c)]),
      count(),
    ),
};

let graph, edges, time;
const rows = new Map();

function step(changes) {
  edges.sendData(time, new MultiSet(changes));
  edges.sendFrontier(++time);
  graph.run();
}

function answer(request) {
  if (request.step) {
    const began = performance.now();
    step(request.step);
    return performance.now() - began;
  }
  if (request.follow) {
    graph = new D2({ initialFrontier: 0 });
    edges = graph.newInput();
    time = 0;
    rows.clear();
    queries[request.follow](edges).pipe(
      consolidate(),
      output((message) => {
        if (message.type !== 1) return;
        for (const [row, weight] of message.data.collection.getInner()) {
          const key = JSON.stringify(row);
          const now = (rows.get(key) ?? 0) + weight;
          if (now) rows.set(key, now);
          else rows.delete(key);
        }
      }),
    );
    graph.finalize();
    step(request.edges.map((edge) => [edge, 1]));
  }
  return [...rows.keys()].map((key) => JSON.parse(key));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
});
