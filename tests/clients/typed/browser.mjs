// A page that shows the issues as each of the recipes in its address does. `window.page` has what is shown, how many tokens were
// fetched, the documents that were sent, and warnings.

import { createElement } from "react";
import { createRoot } from "react-dom/client";
import * as apollo from "./built/apollo.js";
import * as list from "./built/list.js";
import { Page } from "./built/page.js";
import * as urqlStream from "./built/urql-stream.js";
import * as urql from "./built/urql.js";

const page = (window.page = { shown: {}, tokens: 0, asked: [], warnings: [] });
for (const level of ["warn", "error"]) console[level] = (...parts) => page.warnings.push(parts.map(String).join(" "));
for (const kind of ["error", "unhandledrejection"]) addEventListener(kind, ({ message, reason }) => page.warnings.push(String(reason ?? message)));
const { fetch } = window;
window.fetch = (input, init) => {
  if (input === "/session/token") page.tokens += 1;
  else page.asked.push(init.body);
  return fetch(input, init);
};

const recipes = { apollo, list, urql, "urql-stream": urqlStream };
for (const name of new URLSearchParams(location.search).get("recipes").split(",")) {
  if (name === "page") createRoot(document.body.appendChild(document.createElement("main"))).render(createElement(Page));
  else recipes[name].showIssues((shown) => (page.shown[name] = shown));
}
