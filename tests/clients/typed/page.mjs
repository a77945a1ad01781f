// `node page.mjs RECIPE`: shows the issues as the recipe does. Lines of JSON say what is shown (`shown`, or `texts` of a rendered
// page), which requests are sent (`asked`), that a token was fetched (`renewed`), and warnings (`warned`). Ends with its input.

import { WebSocket } from "ws";

const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

globalThis.WebSocket ??= WebSocket;
for (const level of ["warn", "error"]) console[level] = (...parts) => tell({ warned: parts.join(" ") });
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  if (input === "/session/token") {
    tell({ renewed: true });
    return fetch(process.env.PAGES + input);
  }
  tell({ asked: init.body });
  return fetch(input, init);
};

const recipe = process.argv[2];
const [kind, transport] = /^(changes)-(.*)$/.exec(recipe)?.slice(1) ?? [recipe];
if (kind === "page") await render();
else if (kind === "relay") await turnPage();
else if (kind === "changes") await accumulate();
else (await import(`./built/${recipe}.js`)).showIssues((shown) => tell({ shown }));
process.stdin.on("end", () => process.exit(0)).resume();

async function render() {
  const { Window } = await import("happy-dom");
  const window = new Window();
  Object.assign(globalThis, { window, document: window.document });
  globalThis.navigator ??= window.navigator;
  // React DOM looks at the globals as it is loaded.
  const [{ createElement }, { createRoot }, { Page }] = await Promise.all([import("react"), import("react-dom/client"), import("./built/page.js")]);
  const container = window.document.createElement("div");
  new window.MutationObserver(() => tell({ texts: [...container.querySelectorAll("li")].map(({ textContent }) => textContent) })).observe(container, {
    childList: true,
    subtree: true,
    characterData: true,
  });
  createRoot(container).render(createElement(Page));
}

/** Two pages of a connection: the second one is fetched as soon as the first is full. */
async function turnPage() {
  const { showIssues, loadNext } = await import("./built/relay.js");
  let pages = 1;
  showIssues((shown) => {
    tell({ shown });
    if (shown.length < 10 || pages === 2) return;
    pages = 2;
    loadNext();
  });
}

/** The list over a transport, and whether its changes are those between its states: none is lost, and none comes twice. */
async function accumulate() {
  const { createClient } = await import("@adalog/client");
  const { liveList } = await import("@adalog/client/typed");
  const { token } = await import("./built/token.js");
  const { IssuesLiveDocument } = await import("./built/documents.js");
  const client = createClient({ url: process.env.URL, token, transport, onWarning: (message) => console.warn(message) });
  const known = new Map();
  let t = 0;
  const live = liveList(client, IssuesLiveDocument, { first: 20 }, {
    onChange({ kind, basisT, added, retracted }) {
      if (kind === "reset" || basisT <= t) console.warn(`${kind} ${basisT} after ${t}`);
      t = basisT;
      for (const row of retracted) if (!known.delete(row)) console.warn(`${row.id} went, and was not there`);
      for (const row of added) known.set(row, known.has(row) ? console.warn(`${row.id} came twice`) : true);
      const ids = [...known.keys()].map(({ id }) => id);
      if (new Set(ids).size !== ids.length) console.warn(`one entity several times: ${ids}`);
    },
  });
  live.subscribe(() => {
    if (live.rows.length !== known.size || !live.rows.every((row) => known.has(row))) console.warn("the changes are not those of the rows");
    tell({ shown: live.rows });
  });
}
