// The real clients, told by lines of JSON what to do; what happens to them comes back as lines of JSON.
"use strict";

const { createHash } = require("node:crypto");
const readline = require("node:readline");
const apollo = require("@apollo/client");
const { PersistedQueryLink } = require("@apollo/client/link/persisted-queries");
const urql = require("@urql/core");
const { persistedExchange } = require("@urql/exchange-persisted");
const socket = require("graphql-ws");
const sse = require("graphql-sse");
const WebSocket = require("ws");

const clients = new Map();
const subscriptions = new Map();

function tell(event) {
  process.stdout.write(JSON.stringify(event) + "\n");
}

// Clients that do what the real one never would.
const FAULTS = {
  4400: (open) => open.send("no message"),
  4401: (open) => open.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query: "{ __typename }" } })),
  4429: (open) => open.send(JSON.stringify({ type: "connection_init" })),
  binary: (open) => open.send(Buffer.from("{}")),
  large: (open) => open.send(JSON.stringify({ type: "ping", payload: { x: "x".repeat(100_000) } })),
  fragments: (open) => {
    open.send('{"type":"pi', { fin: false });
    open.send('ng","payload":', { fin: false });
    open.send('{"parts":3}}', { fin: true });
  },
};

const open = {
  ws({ client, url, options = {}, headers, subprotocol, fault, slow }) {
    class Socket extends WebSocket {
      constructor(address, protocol) {
        super(address, subprotocol ?? protocol, { headers });
        this.on("ping", () => tell({ client, event: "frame ping" }));
        if (fault) this.on("open", () => setImmediate(FAULTS[fault], this));
      }
    }
    const on = Object.fromEntries(
      ["connecting", "connected", "error", "ping", "pong"].map((event) => [
        event,
        (...values) => tell({ client, event, value: values[0]?.message ?? (event === "ping" ? values[0] : null) }),
      ]),
    );
    on.closed = ({ code, reason }) => tell({ client, event: "closed", code, reason });
    on.message = (message) => message.type === "pong" && tell({ client, event: "pong message", value: message.payload });
    if (slow) options.connectionParams = () => new Promise(() => {});
    // Node's socket reports a refused connection as an error, where a browser's is closed: both are worth a retry.
    return socket.createClient({ url, webSocketImpl: Socket, on, retryWait: pause, shouldRetry: () => true, ...options });
  },
  sse({ client, url, headers, options = {} }) {
    // As the network tab of a browser shows it: the client itself reports no more than the status.
    const fetchFn = async (...request) => {
      const response = await fetch(...request);
      if (!response.ok) tell({ client, event: "refused", text: await response.clone().text() });
      return response;
    };
    return sse.createClient({ url, headers, retry: pause, fetchFn, ...options });
  },
  apollo({ client, url, persisted }) {
    const link = new apollo.HttpLink({ uri: url, fetch: recording(client) });
    const hashed = new PersistedQueryLink({
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
      useGETForHashedQueries: persisted === "GET",
    });
    const made = new apollo.ApolloClient({
      link: persisted ? hashed.concat(link) : link,
      cache: new apollo.InMemoryCache(),
    });
    return {
      subscribe({ query, variables }, sink) {
        const document = apollo.gql(query);
        const { operation } = document.definitions[0];
        const given = { [operation === "mutation" ? operation : "query"]: document, variables, fetchPolicy: "no-cache" };
        const told = ({ data, error }) => (error ? sink.error(described(error)) : sink.next({ data }));
        if (operation === "subscription") {
          const running = made.subscribe(given).subscribe({ ...sink, next: told });
          return () => running.unsubscribe();
        }
        made[operation === "query" ? "query" : "mutate"](given).then(told, told).then(sink.complete);
      },
    };
  },
  urql({ client, url, persisted }) {
    const made = new urql.Client({
      url,
      fetch: recording(client),
      fetchSubscriptions: true,
      preferGetMethod: false,
      requestPolicy: "network-only",
      exchanges: [
        ...(persisted ? [persistedExchange({ preferGetForPersistedQueries: persisted === "GET" })] : []),
        urql.fetchExchange,
      ],
    });
    return {
      subscribe({ query, variables }, sink) {
        const document = urql.gql(query);
        const running = made[document.definitions[0].operation](document, variables).subscribe(
          ({ data, error, hasNext }) => {
            if (error) sink.error(described(error));
            else sink.next({ data });
            if (!hasNext) sink.complete();
          },
        );
        return () => running.unsubscribe();
      },
    };
  },
};

// `fetch`, which tells whether a request has its query, and a hash, and when a heartbeat comes.
function recording(client) {
  return async (url, request) => {
    const sent = decodeURIComponent(url) + (request.body ?? "");
    const query = /"query":|[?&]query=/.test(sent);
    tell({ client, event: "request", query, hash: sent.includes("sha256Hash"), method: request.method });
    const response = await fetch(url, request);
    const watched = new TransformStream({
      transform(chunk, passing) {
        if (Buffer.from(chunk).includes("\r\n{}\r\n")) tell({ client, event: "heartbeat" });
        passing.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(watched), response);
  };
}

// The errors of GraphQL in one of a client.
function described(error) {
  const errors = error.graphQLErrors ?? error.errors;
  return Object.assign(new Error(error.message), { kind: error.name, errors });
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

const commands = {
  open(command) {
    clients.set(command.client, { kind: command.kind, made: open[command.kind](command) });
  },
  // `resuming`: after a connection was lost, the client asks for what follows the last event that it has.
  subscribe({ client, name, payload, resuming }) {
    const dispose = clients.get(client).made.subscribe(payload, {
      next(value) {
        const resume = value.data?.live?.resume;
        if (resuming && resume) payload.variables = { ...payload.variables, resume };
        tell({ name, event: "next", value });
      },
      error(error) {
        const value = Array.isArray(error) ? error : (error.message ?? String(error));
        const { code, kind, errors, response } = error;
        tell({ name, event: "error", value, code, kind, errors, status: response?.status });
      },
      complete: () => tell({ name, event: "complete" }),
    });
    subscriptions.set(name, dispose);
  },
  unsubscribe({ name }) {
    subscriptions.get(name)();
  },
  dispose({ client }) {
    clients.get(client).made.dispose();
  },
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line);
  commands[command.do](command);
});
process.stdin.on("end", () => process.exit(0));
