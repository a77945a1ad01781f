// dist/shared-worker.js
var AdalogError = class extends Error {
  name = "AdalogError";
  code;
  /** Whether the same request may succeed later. */
  retryable;
  /** Where in the query's or transaction's text. */
  line;
  column;
  /** The argument that line and column are of, as `argsEdn[0]`; undefined for the query or the transaction itself. */
  origin;
  /** How long the server wants to be left alone, in milliseconds. */
  retryAfter;
  /** The transaction that the client has seen and the server does not have (yet). */
  minBasisT;
  constructor(code, message, more = {}) {
    super(message, more.cause === void 0 ? void 0 : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.line = more.line;
    this.column = more.column;
    this.origin = more.origin;
    this.retryAfter = more.retryAfter;
    this.minBasisT = more.minBasisT;
  }
};
function fromWire(errors, retryAfter2) {
  const { message, extensions = {} } = errors[0] ?? { message: "the server says nothing of its error" };
  const { code, retryable: retryable2, line, column, origin, retryAfter: seconds, minBasisT } = extensions;
  return new AdalogError(typeof code === "string" ? code : "GRAPHQL", message, {
    retryable: retryable2 === true,
    line: typeof line === "number" ? line : void 0,
    column: typeof column === "number" ? column : void 0,
    origin: typeof origin === "string" ? origin : void 0,
    retryAfter: typeof seconds === "number" ? seconds * 1e3 : retryAfter2,
    minBasisT: typeof minBasisT === "number" || typeof minBasisT === "string" ? minBasisT : void 0
  });
}
function network(cause) {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AdalogError("NETWORK", `no answer from the server: ${why}`, { retryable: true, cause });
}
function isSame(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
function bearerOf(headers) {
  return /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1];
}
function claimsOf(headers) {
  const [, payload, ...rest] = bearerOf(headers)?.split(".") ?? [];
  if (payload === void 0 || rest.length !== 1)
    return void 0;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? claims : void 0;
  } catch {
    return void 0;
  }
}
function isNewer(one, other) {
  const [exp, otherExp] = [claimsOf(one)?.["exp"], claimsOf(other)?.["exp"]];
  return typeof exp === "number" && typeof otherExp === "number" ? exp > otherExp : !isSame(one, other);
}
var MOST_EARLY_MS = 3e4;
function renewalDelay(headers) {
  const { exp, iat } = claimsOf(headers) ?? {};
  if (typeof exp !== "number")
    return void 0;
  const left = exp * 1e3 - Date.now();
  if (left <= 0)
    return void 0;
  const lifetime = typeof iat === "number" && iat < exp ? (exp - iat) * 1e3 : left;
  return Math.max(left - Math.min(MOST_EARLY_MS, lifetime / 5), left / 2);
}
function eventStream() {
  let rest = "";
  let carriage = false;
  let begun = false;
  let name = "";
  let data = [];
  return (piece) => {
    if (piece === "")
      return [];
    const text = begun || !piece.startsWith("\uFEFF") ? piece : piece.slice(1);
    begun = true;
    if (!carriage && !/[\r\n]/.test(text)) {
      rest += text;
      return [];
    }
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    carriage = rest.endsWith("\r");
    const events = [];
    for (const line of lines) {
      if (line === "") {
        if (name !== "" || data.length > 0)
          events.push({ name: name || "message", data: data.join("\n") });
        name = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (field === "event")
        name = value;
      else if (field === "data")
        data.push(value);
    }
    return events;
  };
}
async function send({ url, fetch: fetch2 }, body, accept, headers, signal) {
  signal?.throwIfAborted();
  try {
    return await fetch2(url, {
      method: "POST",
      headers: { ...headers, accept, "content-type": "application/json" },
      body,
      cache: "no-store",
      ...signal === void 0 ? {} : { signal }
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw network(error);
  }
}
async function answerOf(response, signal, heard) {
  let text;
  try {
    text = await textOf(response, heard);
  } catch (error) {
    signal?.throwIfAborted();
    throw network(error);
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw refused(response, text);
  }
  if (answer?.errors?.length)
    throw fromWire(answer.errors, retryAfter(response));
  if (!response.ok || answer?.data === void 0 || answer.data === null)
    throw refused(response, text);
  return { data: answer.data, warnings: answer.extensions?.warnings ?? [] };
}
async function textOf(response, heard) {
  if (heard === void 0 || !response.body)
    return response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (; ; ) {
    const { done, value } = await reader.read();
    if (done)
      return text + decoder.decode();
    heard();
    text += decoder.decode(value, { stream: true });
  }
}
function refused(response, text) {
  const said = text.trim().slice(0, 200);
  const message = `the server answered ${response.status}${said === "" ? "" : `: ${said}`}`;
  if (response.status === 429)
    return new AdalogError("RATE_LIMITED", message, transient(response));
  if (response.status === 408 || response.status >= 500) {
    return new AdalogError("BACKEND_UNAVAILABLE", message, transient(response));
  }
  if (response.status === 401)
    return new AdalogError("UNAUTHENTICATED", message);
  return new AdalogError(response.status === 403 ? "FORBIDDEN" : "PROTOCOL", message);
}
function transient(response) {
  return { retryable: true, retryAfter: retryAfter(response) };
}
function retryAfter(response) {
  const header = response.headers.get("retry-after");
  if (header === null)
    return void 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1e3 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? void 0 : Math.max(0, ms);
}
function silence(mostMs, stopped) {
  const connection = new AbortController();
  let last = Date.now();
  const lasts = () => Date.now() - last;
  const lost = () => connection.abort(network(`silence for ${lasts() / 1e3} s`));
  const abort = () => connection.abort(stopped?.reason);
  let timer = setTimeout(lost, mostMs);
  stopped?.addEventListener("abort", abort, { once: true });
  if (stopped?.aborted)
    abort();
  return {
    signal: connection.signal,
    lasts,
    lost,
    heard() {
      last = Date.now();
      clearTimeout(timer);
      timer = setTimeout(lost, mostMs);
    },
    stop() {
      clearTimeout(timer);
      stopped?.removeEventListener("abort", abort);
      connection.abort();
    }
  };
}
function onWake(listener) {
  const visible = () => {
    if (globalThis.document.visibilityState === "visible")
      listener();
  };
  globalThis.addEventListener?.("online", listener);
  globalThis.document?.addEventListener("visibilitychange", visible);
  return () => {
    globalThis.removeEventListener?.("online", listener);
    globalThis.document?.removeEventListener("visibilitychange", visible);
  };
}
var MOST_OPERATIONS = 256;
var OVERLAP_MS = 1e3;
var PATIENCE_MS = 3e3;
function eventStreamLinks(address, silenceMs) {
  return (headers, listener, operation) => {
    const ids = /* @__PURE__ */ new Set();
    const sent = /* @__PURE__ */ new Set();
    const open = /* @__PURE__ */ new Set();
    let current;
    let isChanging = false;
    let isClosed = false;
    const closeAll = () => {
      isClosed = true;
      for (const stream of open)
        stream.stop();
      current = void 0;
    };
    const change = () => {
      if (isChanging)
        return;
      isChanging = true;
      queueMicrotask(() => {
        isChanging = false;
        const isCarried = current !== void 0 && ids.size === current.ids.size && [...ids].every((id) => current.ids.has(id));
        if (ids.size > 0 && !isCarried && !isClosed)
          begin();
      });
    };
    const begin = () => {
      const before = [...open];
      const stopBefore = (which = () => true) => {
        for (const stream2 of before.filter(which)) {
          stream2.stop();
          open.delete(stream2);
        }
      };
      const last = before.filter(({ isOpen }) => isOpen).at(-1);
      stopBefore((stream2) => stream2 !== last);
      let patience = setTimeout(() => stopBefore(), PATIENCE_MS);
      const stopping = new AbortController();
      const stream = {
        ids: new Set(ids),
        isOpen: false,
        stop() {
          clearTimeout(patience);
          stopping.abort();
        }
      };
      current = stream;
      open.add(stream);
      const ifCurrent = (act) => {
        if (current === stream)
          act();
      };
      const operations = [...ids].map((id) => {
        const { query, variables, extensions } = operation(id);
        return { query, variables, extensions: { ...extensions, operationId: id } };
      });
      const receive = (events) => {
        const answers = /* @__PURE__ */ new Map();
        const completed = [];
        let refusal;
        for (const { name, data } of events) {
          const { id, payload } = JSON.parse(data);
          if (payload === void 0) {
            if (name === "complete")
              completed.push(id);
            continue;
          }
          refusal = payload.errors?.find(isRefusal);
          if (refusal !== void 0)
            break;
          if (payload.errors?.length)
            stream.ids.delete(id);
          const those = answers.get(id);
          if (those === void 0)
            answers.set(id, [payload]);
          else
            those.push(payload);
        }
        for (const [id, those] of answers)
          if (current === stream && ids.has(id))
            listener.next(id, those);
        for (const id of completed) {
          if (current !== stream || !ids.delete(id))
            continue;
          stream.ids.delete(id);
          listener.end(id);
        }
        if (current === stream && refusal !== void 0)
          end(new AdalogError("UNAUTHENTICATED", refusal.message));
      };
      receiveEvents(address, headers, operations, silenceMs, stopping.signal, (events) => ifCurrent(() => receive(events)), () => ifCurrent(() => {
        clearTimeout(patience);
        stream.isOpen = true;
        patience = setTimeout(() => stopBefore(), OVERLAP_MS);
        listener.opened();
        for (const id of stream.ids) {
          if (!ids.has(id) || sent.has(id))
            continue;
          sent.add(id);
          listener.sent(id);
        }
      })).then(() => ifCurrent(() => end(network("the event stream has ended"))), (error) => ifCurrent(() => end(error instanceof AdalogError ? error : network(error))));
    };
    const end = (error) => {
      if (ids.size === 0)
        return;
      closeAll();
      if (error.code === "UNAUTHENTICATED")
        listener.refused(error);
      else
        listener.lost(error);
    };
    return {
      add(id) {
        if (ids.size >= MOST_OPERATIONS) {
          const most = `there are ${MOST_OPERATIONS} live queries on this connection already`;
          queueMicrotask(() => listener.end(id, new AdalogError("RATE_LIMITED", most, { retryable: true, retryAfter: 1e3 })));
          return;
        }
        ids.add(id);
        change();
      },
      remove(id) {
        if (ids.delete(id))
          change();
        sent.delete(id);
      },
      renew(fresh) {
        headers = fresh;
        if (ids.size > 0)
          begin();
      },
      close: closeAll
    };
  };
}
function isRefusal({ extensions }) {
  return extensions?.["code"] === "UNAUTHENTICATED";
}
async function receiveEvents(address, headers, operations, silenceMs, stopped, receive, opened) {
  const watch = silence(silenceMs, stopped);
  const { signal } = watch;
  const stopListening = onWake(() => watch.lasts() > silenceMs / 2 && watch.lost());
  const aborted = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const read = async () => {
    const response = await send(address, JSON.stringify(operations), "text/event-stream", headers, signal);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      await answerOf(response, signal);
      throw new AdalogError("PROTOCOL", "the server answered subscriptions with one answer, not with events");
    }
    if (response.body === null)
      return;
    opened();
    const reader = response.body.getReader();
    const text = new TextDecoder();
    const parse = eventStream();
    for (; ; ) {
      const { done, value } = await reader.read();
      watch.heard();
      if (done || stopped.aborted)
        return;
      receive(parse(text.decode(value, { stream: true })));
    }
  };
  try {
    await Promise.race([read(), aborted]);
  } catch (error) {
    if (signal.aborted)
      throw signal.reason;
    throw error instanceof SyntaxError ? new AdalogError("PROTOCOL", `an event is no JSON: ${error.message}`) : error;
  } finally {
    stopListening();
    watch.stop();
  }
}
var MOST_FAILURES = 3;
function withFallback(first, second, warn) {
  let hasWorked = false;
  let hasWarned = false;
  let failures = 0;
  let prefersSecond = false;
  return (headers, listener, operation) => {
    const ids = /* @__PURE__ */ new Set();
    const openSecond = () => {
      let isOpen = false;
      return second(headers, {
        ...listener,
        opened() {
          isOpen = prefersSecond = true;
          if (!hasWarned && !hasWorked)
            warn("no WebSocket can be opened to the server; live queries use event streams instead");
          hasWarned = true;
          listener.opened();
        },
        lost(error) {
          prefersSecond &&= isOpen && !hasWorked;
          listener.lost(error);
        }
      }, operation);
    };
    const openFirst = () => {
      let isOpen = false;
      return first(headers, {
        ...listener,
        opened() {
          isOpen = hasWorked = true;
          failures = 0;
          listener.opened();
        },
        lost(error) {
          if (!isOpen)
            failures += 1;
          if (isOpen || failures < (hasWorked ? MOST_FAILURES : 1)) {
            listener.lost(error);
            return;
          }
          link = openSecond();
          for (const id of ids)
            link.add(id);
        }
      }, operation);
    };
    let link = prefersSecond ? openSecond() : openFirst();
    return {
      add(id) {
        ids.add(id);
        link.add(id);
      },
      remove(id) {
        ids.delete(id);
        link.remove(id);
      },
      renew: (fresh) => link.renew(headers = fresh),
      close: () => link.close()
    };
  };
}
function after(t) {
  return typeof t === "number" ? t + 1 : String(BigInt(t) + 1n);
}
function resumed(operation, { data }) {
  const { field, member, variable, isNumberBefore, instead = "" } = operation.resume;
  const value = data?.[field]?.[member];
  if (value === void 0 || value === null)
    return operation;
  const { [instead]: _, ...variables } = operation.variables;
  return { ...operation, variables: { ...variables, [variable]: isNumberBefore ? after(value) : value } };
}
function fromClose(code, reason) {
  const message = `the WebSocket was closed: ${code}${reason === "" ? "" : ` ${reason}`}`;
  const final = FINAL_CLOSE_CODES[code];
  if (final !== void 0)
    return new AdalogError(final, message);
  return code === UNAUTHORIZED ? new AdalogError("UNAUTHENTICATED", message, { retryable: true }) : network(message);
}
var UNAUTHORIZED = 4401;
var FORBIDDEN = 4403;
var FINAL_CLOSE_CODES = {
  4400: "PROTOCOL",
  [FORBIDDEN]: "FORBIDDEN",
  4406: "PROTOCOL",
  4409: "PROTOCOL",
  4429: "PROTOCOL"
};
var OPENING_MS = 1e4;
var NORMAL = 1e3;
function webSocketLinks(url, Implementation, silenceMs) {
  return (headers, listener, operation) => {
    let socket;
    try {
      socket = new Implementation(url.replace(/^http/, "ws"), "graphql-transport-ws");
    } catch (error) {
      queueMicrotask(() => listener.lost(network(error)));
      return { add() {
      }, remove() {
      }, renew() {
      }, close() {
      } };
    }
    const waiting = /* @__PURE__ */ new Set();
    let isAccepted = false;
    let heard = Date.now();
    let pinged = false;
    const say = (message) => socket.send(JSON.stringify(message));
    const subscribe = (id) => {
      const { query, variables, extensions } = operation(id);
      say({ id, type: "subscribe", payload: { query, variables, extensions } });
      listener.sent(id);
    };
    const ended = () => {
      clearTimeout(opening);
      clearInterval(watching);
      stopListening();
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.onerror = () => {
      };
    };
    const lost = (error) => {
      ended();
      socket.close(NORMAL);
      listener.lost(error);
    };
    const silent = () => lost(network(`silence for ${(Date.now() - heard) / 1e3} s`));
    const opening = setTimeout(() => lost(network(`the WebSocket was not accepted within ${OPENING_MS / 1e3} s`)), OPENING_MS);
    const watching = setInterval(() => {
      if (!isAccepted)
        return;
      if (pinged)
        silent();
      else if (Date.now() - heard >= silenceMs / 3) {
        pinged = true;
        say({ type: "ping" });
      }
    }, silenceMs / 3);
    const stopListening = onWake(() => isAccepted && Date.now() - heard > silenceMs / 2 && silent());
    const received = ({ type, id = "", payload }) => {
      switch (type) {
        case "connection_ack":
          clearTimeout(opening);
          isAccepted = true;
          listener.opened();
          for (const each of waiting)
            subscribe(each);
          waiting.clear();
          return;
        case "next":
          listener.next(id, [payload]);
          return;
        case "error": {
          const error = fromWire(payload);
          if (error.code === "UNAUTHENTICATED")
            refused2(error);
          else
            listener.end(id, error);
          return;
        }
        case "complete":
          listener.end(id);
          return;
        case "ping":
          say({ type: "pong" });
          return;
        case "pong": {
          const { errors } = payload ?? {};
          if (errors !== void 0)
            lost(retryable(fromWire(errors)));
          return;
        }
      }
    };
    const refused2 = (error) => {
      ended();
      socket.close(NORMAL);
      listener.refused(error);
    };
    socket.onopen = () => say({ type: "connection_init", payload: authorization(headers) });
    socket.onmessage = ({ data }) => {
      heard = Date.now();
      pinged = false;
      let message;
      try {
        message = JSON.parse(String(data));
      } catch {
        lost(new AdalogError("PROTOCOL", "a message of the WebSocket is no JSON"));
        return;
      }
      received(message);
    };
    socket.onerror = () => {
    };
    socket.onclose = ({ code, reason }) => {
      ended();
      const error = fromClose(code, reason);
      if (code === UNAUTHORIZED || code === FORBIDDEN)
        listener.refused(error);
      else
        listener.lost(error);
    };
    return {
      add(id) {
        if (isAccepted)
          subscribe(id);
        else
          waiting.add(id);
      },
      remove(id) {
        if (isAccepted)
          say({ id, type: "complete" });
        else
          waiting.delete(id);
      },
      renew(fresh) {
        if (isAccepted)
          say({ type: "ping", payload: authorization(fresh) });
      },
      close() {
        ended();
        socket.close(NORMAL);
      }
    };
  };
}
function authorization(headers) {
  const { authorization: authorization2 } = headers;
  return authorization2 === void 0 ? {} : { authorization: authorization2 };
}
function retryable({ code, message }) {
  return new AdalogError(code, message, { retryable: true });
}
var SILENCE_MS = 6e4;
function linksOf(options, address) {
  const { silenceMs = SILENCE_MS } = options;
  const Implementation = options.webSocketImpl ?? globalThis.WebSocket;
  const events = eventStreamLinks(address, silenceMs);
  const wanted = options.transport ?? (options.fetch === void 0 ? "websocket" : "event-stream");
  if (wanted === "event-stream" || Implementation === void 0)
    return events;
  const sockets = webSocketLinks(absolute(address.url), Implementation, silenceMs);
  const first = (headers, listener, operation) => {
    const opened = () => {
      address.answered?.();
      listener.opened();
    };
    return sockets(headers, { ...listener, opened }, operation);
  };
  const both = withFallback(first, events, warningsOf(options));
  if (options.transport !== void 0)
    return both;
  return (headers, ...rest) => (Object.keys(headers).some((name) => name !== "authorization") ? events : both)(headers, ...rest);
}
function warningsOf({ onWarning = (message) => console.warn(`adalog: ${message}`) }) {
  return onWarning;
}
function absolute(url) {
  return new URL(url, globalThis.location?.href).href;
}
function delay(backoff, attempt, retryAfter2 = 0) {
  const most = Math.min(backoff.maxMs, backoff.minMs * 2 ** Math.min(attempt, 30));
  return Math.max(Math.random() * most, retryAfter2);
}
function later(ms, early, act) {
  const stop = () => {
    clearTimeout(timer);
    stopListening?.();
  };
  const now = () => {
    stop();
    act();
  };
  const timer = setTimeout(now, ms);
  const stopListening = early ? onWake(now) : void 0;
  return stop;
}
var GOOD_MS = 1e4;
var LEAST_RENEWAL_MS = 1e3;
var Multiplexer = class {
  #factory;
  #credentials;
  #backoff;
  #subscriptions = /* @__PURE__ */ new Map();
  #count = 0;
  #link;
  #headers = {};
  #openedAt = Number.POSITIVE_INFINITY;
  #attempt = 0;
  /** How often the token was refused since the server last accepted a connection. */
  #refusals = 0;
  /** The number of the connection or attempt; events of earlier ones are ignored. */
  #turn = 0;
  #isConnecting = false;
  #stopWaiting;
  #renewal;
  constructor(factory, credentials, backoff) {
    this.#factory = factory;
    this.#credentials = credentials;
    this.#backoff = backoff;
  }
  transport = (operation, receiver) => {
    this.#count += 1;
    const id = String(this.#count);
    this.#subscriptions.set(id, { operation: operation(), receiver });
    if (this.#link !== void 0)
      this.#link.add(id);
    else if (!this.#isConnecting && this.#stopWaiting === void 0)
      this.#connect();
    return () => {
      if (!this.#subscriptions.delete(id))
        return;
      this.#link?.remove(id);
      this.#closeIfUnused();
    };
  };
  /** Closes the connection if no subscription is left; one that starts in the same task still uses it. */
  #closeIfUnused() {
    queueMicrotask(() => {
      if (this.#subscriptions.size === 0)
        this.#disconnect();
    });
  }
  #disconnect() {
    this.#turn += 1;
    this.#isConnecting = false;
    this.#stopWaiting?.();
    this.#stopWaiting = void 0;
    clearTimeout(this.#renewal);
    const link = this.#link;
    this.#link = void 0;
    link?.close();
  }
  #connect() {
    const turn = this.#turn += 1;
    this.#isConnecting = true;
    this.#credentials.headers().then((headers) => turn === this.#turn && this.#open(headers), (error) => turn === this.#turn && this.#lost(error instanceof AdalogError ? error : network(error)));
  }
  #open(headers) {
    const turn = this.#turn += 1;
    this.#isConnecting = false;
    this.#headers = headers;
    this.#openedAt = Number.POSITIVE_INFINITY;
    const current = (act) => {
      return (...given) => {
        if (turn === this.#turn)
          act(...given);
      };
    };
    const listener = {
      opened: current(() => {
        this.#openedAt = Date.now();
        this.#refusals = 0;
      }),
      sent: current((id) => this.#subscriptions.get(id)?.receiver.open()),
      interrupted: current((id, error) => this.#subscriptions.get(id)?.receiver.interrupted(error)),
      next: current((id, answers) => this.#next(id, answers)),
      end: current((id, error) => this.#end(id, error)),
      refused: current((error) => void this.#refused(error)),
      lost: current((error) => this.#lost(error))
    };
    const link = this.#factory(headers, listener, (id) => this.#subscriptions.get(id).operation);
    this.#link = link;
    for (const id of this.#subscriptions.keys())
      link.add(id);
    this.#renewAfter(renewalDelay(headers));
  }
  #next(id, answers) {
    const subscription = this.#subscriptions.get(id);
    if (subscription === void 0)
      return;
    subscription.operation = answers.reduce(resumed, subscription.operation);
    subscription.receiver.next(answers);
  }
  #end(id, error) {
    const subscription = this.#subscriptions.get(id);
    this.#subscriptions.delete(id);
    this.#closeIfUnused();
    subscription?.receiver.end(error);
  }
  #endAll(error) {
    this.#disconnect();
    this.#attempt = this.#refusals = 0;
    for (const id of [...this.#subscriptions.keys()])
      this.#end(id, error);
  }
  #interrupted(error) {
    for (const { receiver } of [...this.#subscriptions.values()])
      receiver.interrupted(error);
  }
  #lost(error) {
    this.#disconnect();
    if (!error.retryable) {
      this.#endAll(error);
      return;
    }
    if (Date.now() - this.#openedAt > GOOD_MS)
      this.#attempt = 0;
    this.#connectAfter(delay(this.#backoff, this.#attempt, error.retryAfter), error.retryAfter === void 0);
    this.#attempt += 1;
    this.#interrupted(error);
  }
  /** Connects with another token, if there is one: at once after the first refusal, then with back-off. */
  async #refused(error) {
    const refused2 = this.#headers;
    this.#disconnect();
    const turn = this.#turn;
    this.#isConnecting = true;
    this.#interrupted(void 0);
    this.#refusals += 1;
    try {
      const fresh = await this.#credentials.after(refused2, error);
      if (turn !== this.#turn)
        return;
      if (this.#refusals === 1)
        this.#open(fresh);
      else
        this.#lost(new AdalogError(error.code, error.message, { retryable: true, cause: error }));
    } catch (failure) {
      if (turn === this.#turn)
        this.#lost(failure instanceof AdalogError ? failure : network(failure));
    }
  }
  /** `early`: at once when the network or the tab comes back. */
  #connectAfter(ms, early) {
    this.#stopWaiting = later(ms, early, () => {
      this.#stopWaiting = void 0;
      this.#connect();
    });
  }
  #renewAfter(ms) {
    clearTimeout(this.#renewal);
    if (ms !== void 0)
      this.#renewal = setTimeout(() => void this.#renew(), Math.min(ms, 2 ** 31 - 1));
  }
  async #renew() {
    const turn = this.#turn;
    let headers = this.#headers;
    try {
      headers = await this.#credentials.headers(this.#headers);
    } catch {
    }
    if (turn !== this.#turn)
      return;
    const wait = renewalDelay(headers);
    if (isSame(headers, this.#headers)) {
      this.#renewAfter(wait && Math.max(wait, LEAST_RENEWAL_MS));
      return;
    }
    this.#headers = headers;
    this.#link?.renew(headers);
    this.#renewAfter(wait);
  }
};
function explained(address, warn) {
  let hasAnswered = false;
  return {
    ...address,
    answered() {
      hasAnswered = true;
    },
    async fetch(input, init) {
      try {
        const response = await address.fetch(input, init);
        hasAnswered = true;
        return response;
      } catch (error) {
        const hint = hasAnswered || init.signal?.aborted ? void 0 : originHint(address.url);
        if (hint === void 0)
          throw error;
        warn(`no answer from ${address.url}; ${hint}`);
        throw new TypeError(`${error instanceof Error ? error.message : String(error)}; ${hint}`, { cause: error });
      }
    }
  };
}
function originHint(url) {
  const origin = globalThis.location?.origin;
  if (origin === void 0 || origin === new URL(absolute(url)).origin)
    return void 0;
  if (origin === "null")
    return "this page has no origin, as files and sandboxed frames, and is refused: a web server has to deliver it";
  return `if this page's origin ${origin} is not in the server's ADALOG_ALLOWED_ORIGINS, list it`;
}
function errorMessage(error) {
  if (error === void 0)
    return void 0;
  const { code, message, retryable: retryable2, retryAfter: retryAfter2, line, column, minBasisT } = error;
  return { code, message, retryable: retryable2, retryAfter: retryAfter2, line, column, minBasisT };
}
var Group = class {
  pages = /* @__PURE__ */ new Set();
  multiplexer;
  /** What waits for a page's token. */
  #waiting = /* @__PURE__ */ new Set();
  constructor(settings) {
    const onWarning = (message) => this.pages.forEach((page) => page.say({ type: "warning", message }));
    const address = explained({ url: settings.url, fetch: (input, init) => fetch(input, init) }, onWarning);
    this.multiplexer = new Multiplexer(linksOf({ ...settings, onWarning }, address), this.#credentials(), settings.backoff);
  }
  #credentials() {
    return {
      headers: (stale) => this.#newest((headers) => stale === void 0 || isNewer(headers, stale)),
      after: (refused2, refusal) => {
        for (const page of this.pages)
          page.refuse(refused2, refusal);
        return this.#newest(() => true);
      }
    };
  }
  /** A page has a new token, or has come. */
  changed() {
    for (const look of [...this.#waiting])
      look();
  }
  /** The newest headers of a page that are suitable, once there are some. */
  #newest(isSuitable) {
    return new Promise((resolve) => {
      const look = () => {
        const all = [...this.pages].flatMap(({ headers }) => headers !== void 0 && isSuitable(headers) ? [headers] : []);
        if (all.length === 0)
          return;
        this.#waiting.delete(look);
        resolve(all.reduce((best, each) => isNewer(each, best) ? each : best));
      };
      this.#waiting.add(look);
      look();
    });
  }
};
var groups = /* @__PURE__ */ new Map();
var Page = class {
  /** Undefined after the server has refused them. */
  headers;
  #port;
  #stops = /* @__PURE__ */ new Map();
  #group;
  constructor(port) {
    this.#port = port;
  }
  say(message) {
    this.#port.postMessage(message);
  }
  received(message) {
    switch (message.type) {
      case "join":
        this.#join(message);
        return;
      case "add":
        this.#add(message.id, message.operation);
        return;
      case "remove":
        this.#stops.get(message.id)?.();
        this.#stops.delete(message.id);
        return;
      case "renew":
        this.headers = message.headers;
        this.#group?.changed();
        return;
      case "wake":
        globalThis.dispatchEvent(new Event("online"));
        return;
    }
  }
  /** Tells the page that its token was refused, unless it is newer than the one that was. */
  refuse(refused2, refusal) {
    if (this.headers === void 0 || isNewer(this.headers, refused2))
      return;
    this.headers = void 0;
    this.say({ type: "refused", error: errorMessage(refusal) });
  }
  #join({ settings, identity, headers, lock }) {
    const key = JSON.stringify([settings, identity]);
    const group = groups.get(key) ?? new Group(settings);
    groups.set(key, group);
    this.headers = headers;
    this.#group = group;
    group.pages.add(this);
    group.changed();
    void navigator.locks.request(lock, () => {
      for (const stop of this.#stops.values())
        stop();
      group.pages.delete(this);
      if (group.pages.size === 0)
        groups.delete(key);
      this.#port.close();
    });
    void ownLock.then((name) => this.say({ type: "welcome", lock: name }));
  }
  #add(id, operation) {
    const stop = this.#group?.multiplexer.transport(() => operation, {
      open: () => this.say({ type: "sent", id }),
      interrupted: (error) => this.say({ type: "interrupted", id, error: errorMessage(error) }),
      next: (answers) => this.say({ type: "next", id, answers }),
      end: (error) => {
        this.#stops.delete(id);
        this.say({ type: "end", id, error: errorMessage(error) });
      }
    });
    if (stop !== void 0)
      this.#stops.set(id, stop);
  }
};
var ownLock = new Promise((resolve) => {
  const name = `adalog worker ${crypto.randomUUID()}`;
  void navigator.locks.request(name, () => {
    resolve(name);
    return new Promise(() => {
    });
  });
});
globalThis.addEventListener("connect", (event) => {
  const [port] = event.ports;
  if (port === void 0)
    return;
  const page = new Page(port);
  port.onmessage = ({ data }) => page.received(data);
});
