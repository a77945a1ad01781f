// GraphiQL over this server's /graphql, opening with the example queries. No inline script: the CSP allows none.
"use strict";

(function () {
  const { createElement } = window.React;
  const endpoint = new URL("graphql", document.baseURI).pathname;
  const given = new URLSearchParams(window.location.search);

  async function fetcher(request, options) {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/graphql-response+json, application/json;q=0.9",
        ...((options && options.headers) || {}),
      },
      body: JSON.stringify(request),
      credentials: "same-origin",
    });
    return response.json();
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
