// `node page.mjs RECIPE`: shows the issues as the recipe does. Lines of JSON say what is shown (`shown`, or `texts` of a rendered
// page), which requests are sent (`asked`), and warnings (`warned`). Ends with its input.

import { WebSocket } from "ws";

const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

globalThis.WebSocket ??= WebSocket;
for (const level of ["warn", "error"]) console[level] = (...parts) => tell({ warned: parts.join(" ") });
const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  tell({ asked: JSON.parse(init.body).query ?? "" });
  return fetch(input, init);
};

const recipe = process.argv[2];
if (recipe === "page") await render();
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
