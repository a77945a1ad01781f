// GraphiQL over this server's /graphql, opening with the example queries. No inline script: the CSP allows none.
"use strict";

(function () {
  const { createElement } = window.React;
  const endpoint = new URL("graphql", document.baseURI).pathname;
  const given = new URLSearchParams(window.location.search);

  // A subscription is answered with events, whatever else with JSON. GraphiQL takes either from one function.
  async function fetcher(request, options) {
    const streams = subscribes(options && options.documentAST, request.operationName);
    const abort = new AbortController();
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: streams ? "text/event-stream" : "application/graphql-response+json, application/json;q=0.9",
        ...((options && options.headers) || {}),
      },
      body: JSON.stringify(request),
      credentials: "same-origin",
      signal: abort.signal,
    });
    const type = response.headers.get("Content-Type") || "";
    return type.startsWith("text/event-stream") ? results(response, abort) : response.json();
  }

  function subscribes(document, name) {
    const operations = ((document && document.definitions) || []).filter((each) => each.kind === "OperationDefinition");
    const chosen = name ? operations.filter((each) => each.name && each.name.value === name) : operations;
    return chosen.length === 1 && chosen[0].operation === "subscription";
  }

  // The results in a stream of events (graphql-sse, distinct connections). Who stops waiting ends the request: a
  // generator by itself would only hear of it after the next event.
  function results(response, abort) {
    const events = read(response, abort.signal);
    return {
      next: () => events.next(),
      return: () => (abort.abort(), events.return()),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async function* read(response, signal) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        if (signal.aborted) return { done: true };
        throw error;
      });
      if (signal.aborted) return;
      if (done) throw new Error("The server ended the stream. Run the subscription again.");
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const lines = block.split("\n");
        if (lines.includes("event: complete")) return;
        const data = lines.find((line) => line.startsWith("data: "));
        if (data) yield JSON.parse(data.slice(6));
      }
    }
  }

  function tabs() {
    if (given.get("query")) {
      return [{ query: given.get("query"), variables: given.get("variables") || "" }];
    }
    return window.ADALOG_EXAMPLES.map((query) => ({ query }));
  }

  const logo = createElement("a", { className: "adalog-logo", href: endpoint }, "adalog");
  const explorer = createElement(
    window.GraphiQL,
    {
      fetcher,
      defaultTabs: tabs(),
      plugins: [window.GraphiQLPluginExplorer.explorerPlugin()],
      variables: given.get("variables") || undefined,
      shouldPersistHeaders: false,
      defaultQuery: "# Ask with EDN Datalog: see the other tabs for examples.\n",
    },
    createElement(window.GraphiQL.Logo, null, logo),
  );
  window.ReactDOM.createRoot(document.getElementById("explorer")).render(explorer);
})();
