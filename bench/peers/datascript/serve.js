// Answers lines of JSON: {"load": [[from, to], …]}, {"query": "…", "arguments": […]}, or
// {"transact": [form, …], "before": [form, …], "schema": {…}, "queries": ["…", …]} with [seconds, seconds of CPU, answers].
const datascript = require("datascript");
const readline = require("readline");

const schema = { to: { ":db/valueType": ":db.type/ref", ":db/cardinality": ":db.cardinality/many" } };
let database = datascript.empty_db(schema);

function answer(request) {
  if (request.load) {
    const datoms = request.load.map(([from, to]) => [from, "to", to]);
    database = datascript.init_db(datoms, schema);
    return datoms.length;
  }
  if (request.transact) {
    const connection = datascript.create_conn(request.schema);
    if (request.before.length) datascript.transact(connection, request.before);
    const start = performance.now();
    const before = process.cpuUsage();
    datascript.transact(connection, request.transact);
    const seconds = (performance.now() - start) / 1000;
    const used = process.cpuUsage(before);
    return [seconds, (used.user + used.system) / 1e6, request.queries.map((query) => datascript.q(query, datascript.db(connection)))];
  }
  return datascript.q(request.query, database, ...request.arguments) ?? null;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
});
