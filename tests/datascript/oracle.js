// Answers each line of JSON with one, in order. What DataScript refuses is {"error": message}.
//   {"milliseconds": …, "schema": …, "datoms": [[e, a, v, tx], …], "queries": [{"text": …, "inputs": […]}, …], "pulls": [[pattern, e], …]}
//   {"milliseconds": …, "schema": …, "transactions": [[form, …], …]}
"use strict";
const datascript = require("datascript");
const readline = require("readline");
const vm = require("vm");

// The lines are ours alone; DataScript prints where it is surprised.
console.log = () => {};

// DataScript forgets what a recursive call found before, so that some take it years: a question is given up after
// the request's "milliseconds".
let milliseconds;
const bounded = vm.createContext({});
const call = new vm.Script("act()");

function attempt(act) {
  try {
    bounded.act = act;
    return { value: call.runInContext(bounded, { timeout: milliseconds }) ?? null };
  } catch (error) {
    return { error: String(error.message) };
  }
}

function facts(datoms) {
  return datoms.map((datom) => [datom.e, datom.a, datom.v]);
}

function asked(request) {
  const db = datascript.init_db(request.datoms, request.schema);
  return {
    queries: (request.queries ?? []).map(({ text, inputs }) => attempt(() => datascript.q(text, db, ...inputs))),
    pulls: (request.pulls ?? []).map(([pattern, e]) => attempt(() => datascript.pull(db, pattern, e))),
  };
}

// A datom's tx is negative where it retracts.
function transacted(request) {
  const connection = datascript.create_conn(request.schema);
  return request.transactions.map((forms) =>
    attempt(() => {
      const report = datascript.transact(connection, forms);
      return {
        added: facts(report.tx_data.filter((datom) => datom.tx > 0)),
        retracted: facts(report.tx_data.filter((datom) => datom.tx < 0)),
        tempids: report.tempids,
        after: facts(datascript.datoms(report.db_after, ":eavt")),
      };
    })
  );
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  milliseconds = request.milliseconds;
  process.stdout.write(JSON.stringify(request.transactions ? transacted(request) : asked(request)) + "\n");
});
