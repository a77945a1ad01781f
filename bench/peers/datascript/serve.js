// Answers lines of JSON: {"load": [[from, to], …]} or {"query": "…", "arguments": […]}.
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
  return datascript.q(request.query, database, ...request.arguments) ?? null;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
});
