/** Requests to this server's /graphql, with the token of this tab. */

const { parse } = window.GraphiQL.GraphQL;

export const endpoint = new URL("graphql", document.baseURI).pathname;
const TOKEN = "adalog:token";

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (text) => (text ? sessionStorage.setItem(TOKEN, text) : sessionStorage.removeItem(TOKEN)),
};

export function send(request, { accept = "application/json", headers = {}, signal } = {}) {
  return fetch(endpoint, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: accept,
      ...(token.get() && { Authorization: `Bearer ${token.get()}` }),
      ...headers,
    },
    body: JSON.stringify(request),
    credentials: "same-origin",
    signal,
  });
}

/** The data of a query. Throws an error with the `code` and message of a refusal. */
export async function ask(query, variables) {
  const { data, errors } = await (await send({ query, variables })).json();
  if (errors) throw Object.assign(new Error(errors[0].message), { code: errors[0].extensions?.code });
  return data;
}

/** GraphiQL's fetcher: a subscription is answered with events, anything else with JSON. Each result goes through `shown`. */
export function fetcher(shown) {
  return async (asked, options = {}) => {
    // Introspection comes without the option. Its value is the document of 100 ms ago, and so may be the operation's name.
    const document = "documentAST" in options ? parsed(asked.query) : undefined;
    const request = { ...asked, operationName: named(document, asked.operationName) };
    const result = (answer) => (document ? shown(request, document, answer) : answer);
    if (document) shown(request, document);
    const abort = new AbortController();
    const streams = subscribes(document, request.operationName);
    const accept = streams ? "text/event-stream" : "application/graphql-response+json, application/json;q=0.9";
    const response = await send(request, { accept, headers: options.headers ?? {}, signal: abort.signal });
    const type = response.headers.get("Content-Type") || "";
    return type.startsWith("text/event-stream") ? results(response, abort, result) : result(await response.json());
  };
}

function parsed(text) {
  try {
    return parse(text);
  } catch {
    return undefined; // The server says where the syntax is wrong.
  }
}

function operations(document) {
  return (document?.definitions ?? []).filter((each) => each.kind === "OperationDefinition");
}

/** The name of the only operation, else the name that was chosen. */
function named(document, name) {
  const all = operations(document);
  return all.length === 1 ? all[0].name?.value : name;
}

function subscribes(document, name) {
  const all = operations(document);
  const chosen = name ? all.filter((each) => each.name?.value === name) : all;
  return chosen.length === 1 && chosen[0].operation === "subscription";
}

// The results in a stream of events (graphql-sse, distinct connections). A caller that stops waiting ends the request: a
// generator by itself would only hear of it after the next event.
function results(response, abort, result) {
  const events = read(response, abort.signal, result);
  return {
    next: () => events.next(),
    return: () => (abort.abort(), events.return()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* read(response, signal, result) {
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
      if (data) yield result(JSON.parse(data.slice(6)));
    }
  }
}
