/** The page: what is vulnerable, what that affects, now or at an earlier moment. */

import { createClient, edn } from "./adalog-client.js";

const RULES = `:rules [[(affected ?p (min ?steps)) [?p :package/vulnerable true] [(ground 0) ?steps]]
                        [(affected ?p (min ?steps)) [?p :package/depends ?d] (affected ?d ?n) [(inc ?n) ?steps]]]`;
const AFFECTED = `[:find ?name ?steps ?section
                   :where (affected ?p ?steps)
                          [?p :package/name ?name]
                          [?p :package/section ?s]
                          [?s :section/name ?section]
                   ${RULES}]`;
const VULNERABLE = `[:find ?name :where [?p :package/vulnerable true] [?p :package/name ?name]]`;
const HISTORY = `[:find ?tx ?when ?name ?added
                  :where [?p :package/vulnerable true ?tx ?added]
                         [?tx :db/txInstant ?when]
                         [?p :package/name ?name]
                  :order-by [?tx ?added ?name]]`;
const NAMES = `[:find ?name :in $ ?begin :where [_ :package/name ?name] [(starts-with? ?name ?begin)]
                :order-by [?name] :limit 12]`;
const DECLARED = "[:find ?a . :where [?a :db/ident :package/vulnerable]]";
// What the page needs of a database: its attributes, and any packages.
const ATTRIBUTES = {
  ":section/name": { valueType: "string", unique: "identity" },
  ":package/name": { valueType: "string", unique: "identity" },
  ":package/section": { valueType: "ref" },
  ":package/depends": { valueType: "ref", cardinality: "many" },
  ":package/vulnerable": { valueType: "boolean" },
};
const PACKAGES = `{:db/id "libs" :section/name "libs"} {:db/id "java" :section/name "java"} {:db/id "apps" :section/name "graphics"}
 {:db/id "c" :package/name "libc6" :package/section "libs"}
 {:db/id "z" :package/name "zlib1g" :package/section "libs" :package/depends ["c"]}
 {:db/id "lzma" :package/name "liblzma5" :package/section "libs" :package/depends ["c"]}
 {:db/id "webp" :package/name "libwebp7" :package/section "libs" :package/depends ["c"]}
 {:db/id "png" :package/name "libpng16-16" :package/section "libs" :package/depends ["c" "z"]}
 {:db/id "xml" :package/name "libxml2" :package/section "libs" :package/depends ["c" "z" "lzma"]}
 {:db/id "tiff" :package/name "libtiff6" :package/section "libs" :package/depends ["c" "z" "lzma" "webp"]}
 {:db/id "log4j" :package/name "liblog4j2-java" :package/section "java"}
 {:db/id "spring" :package/name "libspring-core-java" :package/section "java" :package/depends ["log4j"]}
 {:package/name "libspring-web-java" :package/section "java" :package/depends ["spring"]}
 {:package/name "gimp" :package/section "apps" :package/depends ["png" "tiff" "webp"]}
 {:package/name "inkscape" :package/section "apps" :package/depends ["png" "xml"]}`;

const MOST_ROWS = 300;
const REPLAY_MS = 900;

// The explorer keeps its token in the same place.
const TOKEN = "adalog:token";
const token = sessionStorage.getItem(TOKEN);
const client = createClient({ url: new URL("../../graphql", location.href).href, ...(token && { token }) });

const $ = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat();
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Each moment at which something was marked or unmarked: `{ t, when, marked, unmarked }`, oldest first. */
let history = [];
/** What the table shows: the live rows, or those of an earlier moment. */
let shown = { rows: [], fresh: new Set() };
let live;
let reading; // what aborts reading the history
let looking; // what aborts reading an earlier moment, or a replay

/* ---- what the page shows ---- */

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function showRows() {
  const wanted = $("filter").value.trim().toLowerCase();
  const { rows, fresh } = shown;
  const found = wanted === "" ? [...rows] : rows.filter(([name, , section]) => name.includes(wanted) || section.includes(wanted));
  found.sort((one, other) => one[1] - other[1] || (one[0] < other[0] ? -1 : 1));
  $("rows").replaceChildren(
    ...found.slice(0, MOST_ROWS).map((row) => {
      const [name, steps, section] = row;
      const tr = element("tr", { className: fresh.has(row) ? "fresh" : "" },
        element("td", {}, name), element("td", { className: "number" }, String(steps)), element("td", {}, section));
      tr.dataset.steps = steps;
      return tr;
    }),
  );
  $("empty").hidden = found.length > 0;
  $("empty").textContent = rows.length === 0 ? "Nothing is affected." : "None of them.";
  $("shown").textContent = found.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${numbers.format(found.length)}` : "";
  fresh.clear();
}

function showSteps(rows) {
  const counts = [];
  for (const [, steps] of rows) counts[steps] = (counts[steps] ?? 0) + 1;
  const most = Math.max(1, ...counts.map((count) => count ?? 0));
  $("steps").replaceChildren(
    ...Array.from(counts, (count = 0, steps) => {
      const bar = element("span", { className: "bar" });
      bar.style.setProperty("--share", count / most);
      const label = steps === 0 ? "marked" : steps === 1 ? "1 step" : `${steps}`;
      return element("li", {}, element("span", {}, numbers.format(count)), bar, element("span", {}, label));
    }),
  );
}

/** `t`: of an earlier moment. */
function show(rows, { added = [], t } = {}) {
  shown = { rows, fresh: new Set(added) };
  $("total").textContent = numbers.format(rows.length);
  $("unit").textContent = t === undefined ? "packages" : `packages at t ${t}`;
  showSteps(rows);
  showRows();
}

function showChange({ added, retracted }) {
  const said = [added.length && `+${numbers.format(added.length)}`, retracted.length && `−${numbers.format(retracted.length)}`];
  $("change").textContent = said.filter(Boolean).join("  ");
}

function showMarked(rows) {
  const names = rows.map(([name]) => name).sort();
  $("marked").replaceChildren(
    ...names.map((name) => {
      const button = element("button", { type: "button", title: `${name} is fixed` }, "✕");
      button.setAttribute("aria-label", `${name} is fixed`);
      button.addEventListener("click", () => unmark(name));
      return element("li", {}, name, button);
    }),
  );
  if (names.length === 0) $("marked").append(element("li", { className: "none" }, "nothing is marked"));
}

function showProblem(error) {
  $("problem").hidden = error === undefined;
  $("problem").textContent = error === undefined ? "" : problem(error);
  if (["UNAUTHENTICATED", "FORBIDDEN"].includes(error?.code)) $("token-form").hidden = false;
}

function problem({ code, message }) {
  if (code === "UNAUTHENTICATED" && token === null) return "This server requires a token.";
  if (code === "FORBIDDEN") return `This token is not permitted to change the database. (${message})`;
  if (code === "READ_ONLY") return `This server cannot be written to at the moment. (${message})`;
  return message;
}

function showStatus({ status, basisT, error }) {
  const said = { loading: "connecting", live: `live · t ${basisT}`, stale: "connecting again", failed: "failed", closed: "closed" };
  $("status").dataset.status = status;
  $("status").textContent = said[status];
  if (status === "failed") showProblem(error);
}

/* ---- what is marked ---- */

async function mark(name) {
  const { rows } = await client.query("[:find ?p :in $ ?name :where [?p :package/name ?name]]", [name]);
  if (rows.length === 0) throw new Error(`There is no package ${name}.`);
  await client.transact(edn`[[:db/add [:package/name ${name}] :package/vulnerable true]]`);
}

function unmark(name) {
  return attempted(() => client.transact(edn`[[:db/retract [:package/name ${name}] :package/vulnerable true]]`));
}

async function attempted(act) {
  showProblem(undefined);
  try {
    return await act();
  } catch (error) {
    if (error.name !== "AbortError") showProblem(error);
  }
}

async function suggest(begin) {
  if (begin.length < 2) return;
  try {
    const { rows } = await client.query(NAMES, [begin]);
    $("packages").replaceChildren(...rows.map(([name]) => element("option", { value: name })));
  } catch {
    // Without suggestions a name can be typed, too.
  }
}

/* ---- time ---- */

async function readHistory() {
  reading?.abort();
  reading = new AbortController();
  const { signal } = reading;
  const { rows } = await client.query(HISTORY, [], { basis: { history: true }, signal });
  // Transactions are entities too; how far their ids are from their numbers is the same for all of them.
  const offset = rows.length === 0 ? 0 : rows[0][0] - (await client.query(DECLARED, [], { basis: { t: rows[0][0] }, signal })).basisT;
  const moments = new Map();
  for (const [tx, when, name, added] of rows) {
    const moment = moments.get(tx) ?? { t: tx - offset, when, marked: [], unmarked: [] };
    moments.set(tx, moment);
    (added ? moment.marked : moment.unmarked).push(name);
  }
  history = [...moments.values()];
  // Stop 0 is before the first of them.
  $("moment").max = history.length;
  if (looking === undefined) $("moment").value = history.length;
  showWhen();
}

function showWhen() {
  const stop = Number($("moment").value);
  const moment = history[stop - 1];
  let said = "Before anything was marked.";
  if (moment !== undefined) {
    const what = [
      moment.marked.length > 0 ? `${moment.marked.join(", ")} marked as vulnerable` : "",
      moment.unmarked.length > 0 ? `${moment.unmarked.join(", ")} fixed` : "",
    ].filter(Boolean);
    said = `${times.format(new Date(moment.when))}: ${what.join(", ")}.`;
  }
  $("when").textContent = history.length === 0 ? "Nothing was marked yet." : said;
  $("moment").setAttribute("aria-valuetext", $("when").textContent);
}

/** The transaction of a stop; of stop 0 the one before the first. */
function momentOf(stop) {
  return stop > 0 ? history[stop - 1].t : history[0].t - 1;
}

function setLive(isLive) {
  looking?.abort();
  looking = isLive ? undefined : new AbortController();
  $("now").setAttribute("aria-pressed", String(isLive));
  $("replay").textContent = "Replay";
  return looking;
}

function goLive() {
  setLive(true);
  $("moment").value = history.length;
  $("change").textContent = "";
  showWhen();
  show([...live.rows]);
}

async function lookBack() {
  const stop = Number($("moment").value);
  if (history.length === 0) return;
  const { signal } = setLive(false);
  showWhen();
  const { rows, basisT } = await client.query(AFFECTED, [], { basis: { t: momentOf(stop) }, signal });
  $("change").textContent = "";
  show(rows, { t: basisT });
}

/** The same subscription as the live one, from the first moment on: its changes, with a pause after each. */
async function replay() {
  if (history.length === 0) return;
  const { signal } = setLive(false);
  $("replay").textContent = "Stop";
  const past = client.live(AFFECTED, [], { fromT: momentOf(0), signal });
  for await (const change of past) {
    const stop = history.findLastIndex(({ t }) => t <= change.basisT) + 1;
    $("moment").value = stop;
    showWhen();
    showChange(change);
    show([...past.rows], { added: change.added, t: change.basisT });
    if (stop >= history.length) break;
    await new Promise((resolve) => setTimeout(resolve, REPLAY_MS));
    signal.throwIfAborted();
  }
  if (!signal.aborted) goLive();
}

/* ---- begin ---- */

/** What the database lacks, as transaction data; undefined if nothing. Throws if it uses a name for something else. */
async function addition() {
  const { attributes } = await client.graphql("{ attributes { ident valueType cardinality unique } }");
  const there = new Map(attributes.map((attribute) => [attribute.ident, attribute]));
  const declarations = [];
  for (const [ident, { valueType, cardinality = "one", unique = null }] of Object.entries(ATTRIBUTES)) {
    const found = there.get(ident);
    if (found === undefined) {
      const uniqueness = unique === null ? "" : ` :db/unique :db.unique/${unique}`;
      declarations.push(`{:db/ident ${ident} :db/valueType :db.type/${valueType} :db/cardinality :db.cardinality/${cardinality}${uniqueness}}`);
    } else if (found.valueType !== valueType || found.cardinality !== cardinality || found.unique !== unique) {
      throw new Error(`This database has another ${ident} than the example needs. Serve another one, e.g. with the sample data.`);
    }
  }
  const isEmpty = !there.has(":package/name") || (await client.query("[:find ?p :where [?p :package/name] :limit 1]")).rows.length === 0;
  if (declarations.length === 0 && !isEmpty) return undefined;
  return `[${[...declarations, ...(isEmpty ? [PACKAGES] : [])].join("\n ")}]`;
}

function offer(text) {
  const idempotencyKey = `examples/live ${Date.now()} ${Math.random()}`;
  const counted = text.split("\n").filter((line) => line.includes(":package/name \"")).length;
  const rows = counted > 0 ? ` and ${counted} packages` : "";
  $("setup-reason").textContent =
    `The example needs some attributes${rows} that this database lacks. The button adds exactly what follows, in one transaction.`;
  $("addition").textContent = text;
  $("setup").hidden = false;
  $("status").hidden = true;
  $("add").addEventListener("click", () =>
    attempted(async () => {
      await client.transact(text, { idempotencyKey });
      $("setup").hidden = true;
      $("status").hidden = false;
      start();
    }),
  );
}

async function begin() {
  const text = await addition();
  if (text === undefined) start();
  else offer(text);
}

function start() {
  $("page").hidden = false;
  client.live(VULNERABLE, [], {
    onState: ({ rows }) => showMarked(rows),
    onChange: () => attempted(readHistory),
  });
  live = client.live(AFFECTED, [], {
    onState: showStatus,
    onChange(change) {
      if (looking !== undefined) return;
      showChange(change.kind === "snapshot" ? { added: [], retracted: [] } : change);
      show([...live.rows], { added: change.kind === "snapshot" ? [] : change.added });
    },
  });
}

$("mark").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = $("package");
  attempted(async () => {
    await mark(input.value.trim());
    input.value = "";
  });
});
for (const button of document.querySelectorAll("[data-package]")) {
  button.addEventListener("click", () => attempted(() => mark(button.dataset.package)));
}
let suggesting;
$("package").addEventListener("input", ({ target }) => {
  // A name that is still being typed is not looked up.
  clearTimeout(suggesting);
  suggesting = setTimeout(() => suggest(target.value.trim()), 150);
});
$("filter").addEventListener("input", showRows);
$("moment").addEventListener("input", () => attempted(lookBack));
$("now").addEventListener("click", goLive);
$("replay").addEventListener("click", () => (looking !== undefined && $("replay").textContent === "Stop" ? goLive() : attempted(replay)));

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, $("token").value.trim());
  location.reload();
});

begin().catch((error) => showStatus({ status: "failed", error }));
