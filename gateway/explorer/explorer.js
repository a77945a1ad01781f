/** GraphiQL over this server's /graphql. No inline script: the Content Security Policy allows none. */

import { examples } from "./examples.js";
import { fields, overlay, place, problems } from "./edn.js";
import { ask, endpoint, fetcher, token } from "./server.js";

const { createElement, useEffect, useState } = window.React;
const { useEditorContext, usePluginContext } = window.GraphiQL.React;
const EXAMPLES = "adalog:examples";
const DEFAULT_QUERY = "# Queries are EDN Datalog within GraphQL.\n";
const given = new URLSearchParams(window.location.search);

/** Is told of each run, when it begins and of each of its answers. */
let onOutcome = () => {};

function shown(request, document, answer) {
  const texts = new Map();
  for (const [key, field] of answer?.data ? fields(document, request.operationName) : []) {
    const text = field.name.value === "explain" && answer.data[key]?.text;
    if (typeof text === "string") texts.set(key, text);
  }
  onOutcome(request, answer, texts);
  if (texts.size === 0) return answer;
  const data = { ...answer.data };
  for (const key of texts.keys()) data[key] = { ...data[key], text: "… below, as text" };
  return { ...answer, data };
}

/** Below the answer: the text of `explain`. It also colours EDN and underlines what errors name, in GraphiQL's editors. */
function Outcome() {
  const { queryEditor, variableEditor, tabs: opened, activeTabIndex } = useEditorContext({ nonNull: true });
  const [texts, setTexts] = useState({});
  const tab = opened[activeTabIndex]?.id;

  useEffect(() => prepare(queryEditor), [queryEditor]);
  useEffect(() => prepare(variableEditor), [variableEditor]);

  useEffect(() => {
    onOutcome = (request, answer, now) => {
      setTexts((before) => ({ ...before, [tab]: now }));
      if (answer === undefined) [queryEditor, variableEditor].forEach(clear);
      else if (queryEditor.getValue() === request.query) {
        problems(answer).forEach((problem) => underline(problem, request, queryEditor, variableEditor));
      }
    };
  }, [queryEditor, variableEditor, tab]);

  return [...(texts[tab] ?? [])].map(([key, text]) =>
    createElement("pre", { key, className: "adalog-text", tabIndex: 0, "aria-label": key }, text),
  );
}

function prepare(editor) {
  editor?.addOverlay(overlay());
  // Not "change": GraphiQL signals that one, without a change, whenever it has read the query anew.
  editor?.on("changes", () => clear(editor));
}

function clear(editor) {
  for (const mark of editor?.getAllMarks() ?? []) if (mark.className?.startsWith("adalog-problem")) mark.clear();
}

function underline(problem, request, queryEditor, variableEditor) {
  const at = place(problem, request, variableEditor?.getValue() ?? "");
  if (at === undefined) return;
  const editor = at.isVariable ? variableEditor : queryEditor;
  const from = editor.posFromIndex(at.from);
  const className = `adalog-problem adalog-${problem.isWarning ? "warning" : "error"}`;
  editor.markText(from, editor.posFromIndex(at.to), { className, attributes: { title: problem.message } });
  editor.scrollIntoView(from, 40);
}

const tokenPlugin = {
  title: "Token",
  icon: () =>
    createElement(
      "svg",
      { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", strokeWidth: 1.8, strokeLinecap: "round" },
      createElement("circle", { cx: 8, cy: 15, r: 5 }),
      createElement("path", { d: "M12 11 L21 2 M17 6 L20 9" }),
    ),
  content: TokenForm,
};
let refusal;

function TokenForm() {
  const { setVisiblePlugin } = usePluginContext({ nonNull: true });
  const use = (text) => {
    token.set(text);
    setVisiblePlugin(null);
    window.location.reload();
  };
  const submit = (event) => {
    event.preventDefault();
    use(event.target.elements.token.value.trim());
  };
  return createElement(
    "form",
    { className: "adalog-token", onSubmit: submit },
    createElement("h2", null, "Token"),
    createElement("p", { role: "status" }, status()),
    createElement("label", { htmlFor: "adalog-token" }, "Bearer token"),
    createElement("input", { id: "adalog-token", name: "token", type: "password", autoComplete: "off", required: true }),
    createElement("button", { type: "submit", className: "graphiql-button" }, "Use this token"),
    token.get() && createElement("button", { type: "button", className: "graphiql-button", onClick: () => use("") }, "Forget it"),
    createElement("p", null, "It is kept in this tab until it is closed, and sent in the Authorization header."),
  );
}

function status() {
  if (needsToken() && !token.get()) return "This server requires a token.";
  if (refusal) return `The server refused the request: ${refusal.message}`;
  return token.get() ? "Requests are sent with a token." : "This server answers without a token.";
}

function needsToken() {
  return ["UNAUTHENTICATED", "FORBIDDEN"].includes(refusal?.code);
}

/** The tabs of the last visit without the examples that were not edited, and the examples of today. */
function tabs(texts, storage) {
  if (given.get("query")) return { query: given.get("query"), variables: given.get("variables") ?? undefined };
  const before = JSON.parse(storage.getItem(EXAMPLES) ?? "[]");
  storage.setItem(EXAMPLES, JSON.stringify(texts));
  const { tabs: last = [] } = JSON.parse(storage.getItem("graphiql:tabState") ?? "{}");
  if (last.length > 0 && before.join() === texts.join()) return {};
  for (const key of ["tabState", "query", "variables", "operationName"]) storage.removeItem(`graphiql:${key}`);
  const kept = last.filter(({ query }) => query?.trim() && query !== DEFAULT_QUERY && !before.includes(query));
  return { defaultTabs: [...kept.map(({ query, variables }) => ({ query, variables })), ...texts.map((query) => ({ query }))] };
}

async function start() {
  const texts = await examples(ask).catch((error) => {
    refusal = error;
    return [];
  });
  const storage = window.localStorage;
  const opened = refusal ? {} : tabs(texts, storage);
  if (needsToken()) {
    opened.visiblePlugin = tokenPlugin;
    // GraphiQL prefers what it remembers of its panels.
    for (const key of ["visiblePlugin", "docExplorerFlex"]) storage.removeItem(`graphiql:${key}`);
  }
  const explorer = createElement(
    window.GraphiQL,
    {
      fetcher: fetcher(shown),
      ...opened,
      plugins: [window.GraphiQLPluginExplorer.explorerPlugin(), tokenPlugin],
      shouldPersistHeaders: false,
      defaultQuery: DEFAULT_QUERY,
    },
    createElement(
      window.GraphiQL.Logo,
      null,
      createElement("a", { className: "adalog-logo", href: endpoint }, "adalog"),
      createElement("a", { className: "adalog-docs", href: "docs/" }, "Documentation"),
    ),
    createElement(window.GraphiQL.Footer, null, createElement(Outcome)),
  );
  window.ReactDOM.createRoot(document.getElementById("explorer")).render(explorer);
}

start();
