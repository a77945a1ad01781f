// dist/edn.js
var Edn = class {
  text;
  tagged;
  constructor(text, tagged2) {
    this.text = text;
    this.tagged = tagged2;
  }
  toString() {
    return this.text;
  }
};
function edn(texts, ...values) {
  return new Edn(texts.reduce((before, text, i) => before + written(values[i - 1]) + text));
}
function keyword(name) {
  const bare = name.replace(/^:/, "");
  if (!NAME.test(bare))
    throw new TypeError(`${JSON.stringify(name)} is no keyword`);
  return new Edn(`:${bare}`, { "#kw": bare });
}
function symbol(name) {
  if (!NAME.test(name))
    throw new TypeError(`${JSON.stringify(name)} is no symbol`);
  return new Edn(name, { "#sym": name });
}
function uuid(text) {
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text))
    throw new TypeError(`${JSON.stringify(text)} is no uuid`);
  return new Edn(`#uuid "${text}"`, { "#uuid": text });
}
function decimal(text) {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text))
    throw new TypeError(`${JSON.stringify(text)} is no decimal`);
  return new Edn(`${text}M`, { "#dec": text });
}
function duration(text) {
  if (!DURATION.test(text))
    throw new TypeError(`${JSON.stringify(text)} is no duration`);
  return new Edn(`#duration "${text}"`, { "#duration": text });
}
var DURATION = /^[+-]?P(?=[\d+-]|T)([+-]?\d+Y)?([+-]?\d+M)?([+-]?\d+W)?([+-]?\d+D)?(T(?=[\d+-])([+-]?\d+H)?([+-]?\d+M)?([+-]?\d+([.,]\d{1,3}0*)?S)?)?$/;
var NAME = /^[A-Za-z*!_?$%&=<>][\w.*+!?$%&=<>-]*(\/[A-Za-z*!_?$%&=<>][\w.*+!?$%&=<>-]*)?$/;
function written(value) {
  if (value instanceof Edn)
    return value.text;
  if (typeof value === "string")
    return JSON.stringify(value);
  if (typeof value === "boolean")
    return String(value);
  if (typeof value === "bigint")
    return BigInt.asIntN(64, value) === value ? String(value) : `${value}N`;
  if (typeof value === "number" && Number.isFinite(value)) {
    if (Number.isInteger(value) && !Number.isSafeInteger(value))
      return value.toExponential().replace(/^(-?\d+)e/, "$1.0e");
    return String(value).replace(/^(-?\d+)e/, "$1.0e");
  }
  if (value instanceof Date)
    return `#inst "${value.toISOString()}"`;
  if (Array.isArray(value))
    return `[${value.map(written).join(" ")}]`;
  if (value instanceof Uint8Array)
    return `#bytes "${base64(value)}"`;
  if (value instanceof Set)
    return `#{${Array.from(value, written).join(" ")}}`;
  if (value instanceof Map)
    return `{${Array.from(value, (entry) => entry.map(written).join(" ")).join(" ")}}`;
  throw new TypeError(`${String(value)} cannot be written as EDN`);
}
function ednText(given, name) {
  if (typeof given === "string" || given instanceof Edn)
    return String(given);
  throw new TypeError(`${name} takes EDN text: edn\`[{:issue/title \${title}}]\``);
}
function queryText(given) {
  if (typeof given === "string")
    return given;
  throw new TypeError('the query is a string: "[:find ?e :where \u2026]"; its values are args');
}
function base64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

// dist/arguments.js
var DEEPEST = 64;
function jsonArguments(args) {
  if (!Array.isArray(args))
    throw new TypeError("args is a list, in the order of the query's :in: [value, \u2026]; options come after it");
  return args.map((value, i) => {
    if (value === null)
      throw new TypeError(`args[${i}] is null, which is no value: leave its clause out, or pass edn\`nil\``);
    return whole(value, `args[${i}]`);
  });
}
function namedArguments(args) {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new TypeError("args is an object of values by the names of variables: { title: value } for ?title");
  }
  return Object.fromEntries(Object.entries(args).map(([name, value]) => {
    const place = `args.${name}`;
    if (value === null)
      throw new TypeError(`${place} is null, which is no value: leave its attribute out`);
    return [name, whole(value, place)];
  }));
}
function whole(value, place) {
  return value instanceof Edn && value.tagged === void 0 ? { "#edn": value.text } : tagged(value, place, 0);
}
function tagged(value, place, depth) {
  if (depth > DEEPEST)
    throw new TypeError(`${place} is nested more than ${DEEPEST} deep, or contains itself`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : { "#double": String(value) };
    case "bigint":
      return { [BigInt.asIntN(64, value) === value ? "#long" : "#bigint"]: String(value) };
    case "object":
      return value === null ? null : taggedObject(value, place, depth + 1);
    default:
      throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
  }
}
function taggedObject(value, place, depth) {
  const items = (each) => Array.from(each, (item, i) => tagged(item, `${place}[${i}]`, depth));
  if (value instanceof Edn) {
    if (value.tagged !== void 0)
      return value.tagged;
    throw new TypeError(`${place} is EDN text within a list or map: it can only be a whole argument`);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime()))
      throw new TypeError(`${place} is an invalid Date`);
    return { "#inst": value.toISOString() };
  }
  if (Array.isArray(value))
    return items(value);
  if (value instanceof Set)
    return { "#set": items(value) };
  if (value instanceof Map)
    return { "#map": items(value) };
  if (value instanceof Uint8Array)
    return { "#bytes": base64(value) };
  if ("toJSON" in value && typeof value.toJSON === "function")
    return tagged(value.toJSON(), place, depth);
  const parent = Object.getPrototypeOf(value);
  if (parent !== null && Object.getPrototypeOf(parent) !== null) {
    throw new TypeError(`${place} is ${shown(value)}, which cannot be an argument`);
  }
  const entries = Object.entries(value).filter(([, item]) => item !== void 0);
  return Object.fromEntries(entries.map(([key, item]) => [key, tagged(item, `${place}.${key}`, depth)]));
}
function shown(value) {
  if (typeof value === "object" && value !== null)
    return `a ${value.constructor.name}`;
  return typeof value === "function" ? "a function" : String(value);
}

// dist/wake.js
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

// dist/backoff.js
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
async function sleep(ms, early, signal) {
  signal?.throwIfAborted();
  let stop = () => {
  };
  try {
    await new Promise((resolve, reject) => {
      const aborted = () => reject(signal?.reason);
      const stopWaiting = later(ms, early, resolve);
      signal?.addEventListener("abort", aborted);
      stop = () => {
        stopWaiting();
        signal?.removeEventListener("abort", aborted);
      };
    });
  } finally {
    stop();
  }
}

// dist/errors.js
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
function isTransient(error) {
  return error.retryable && TRANSIENT.has(error.code);
}
var TRANSIENT = /* @__PURE__ */ new Set(["NETWORK", "BACKEND_UNAVAILABLE", "RATE_LIMITED"]);

// dist/credentials.js
function credentialsOf({ headers, token }) {
  async function current(stale) {
    const given = typeof headers === "function" ? await headers() : headers;
    const text = typeof token === "function" ? await token(stale && bearerOf(stale)) : token;
    const all = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
    return text === void 0 ? all : { ...all, authorization: `Bearer ${text}` };
  }
  return {
    headers: current,
    async other(refused2) {
      if (typeof token !== "function" && typeof headers !== "function")
        return void 0;
      const fresh = await current(refused2);
      return fresh["authorization"] === void 0 || isSame(fresh, refused2) ? void 0 : fresh;
    },
    async after(refused2, refusal) {
      const failed = (why, cause) => new AdalogError(refusal.code, `${refusal.message} (${why})`, cause === void 0 ? {} : { cause });
      if (typeof token !== "function" && typeof headers !== "function") {
        throw failed(token === void 0 ? "no `token` was given" : "the token is a text: give a function, which is asked for another one");
      }
      let fresh;
      try {
        fresh = await current(refused2);
      } catch (cause) {
        if (cause instanceof TypeError || cause?.retryable === true)
          throw network(cause);
        throw failed(`a new token cannot be had: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
      }
      if (fresh["authorization"] === void 0)
        throw failed("there is no new token");
      if (isSame(fresh, refused2))
        throw failed("the token is still the one that was refused");
      return fresh;
    }
  };
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

// dist/http.js
async function post(endpoint, operation, accept, signal) {
  const body = JSON.stringify(operation);
  const credentials = credentialsOf(endpoint);
  const headers = await credentials.headers();
  const response = await send(endpoint, body, accept, headers, signal);
  if (response.status !== 401)
    return response;
  const fresh = await credentials.other(headers);
  if (fresh === void 0)
    return response;
  await response.body?.cancel();
  return send(endpoint, body, accept, fresh, signal);
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

// dist/connection.js
var GOOD_MS = 1e4;
var Connection = class {
  #transport;
  #backoff;
  #subscriber;
  #disconnect;
  #stopWaiting;
  #openedAt = Number.POSITIVE_INFINITY;
  #attempt = 0;
  constructor(transport, backoff, subscriber) {
    this.#transport = transport;
    this.#backoff = backoff;
    this.#subscriber = subscriber;
  }
  get isOpen() {
    return this.#disconnect !== void 0;
  }
  /** Connects, unless it is connected or waits for the next attempt. */
  open() {
    if (this.#disconnect !== void 0 || this.#stopWaiting !== void 0)
      return;
    let current = true;
    const ifCurrent = (act) => {
      if (current)
        act();
    };
    this.#openedAt = Number.POSITIVE_INFINITY;
    let stop;
    this.#disconnect = () => {
      current = false;
      stop?.();
    };
    stop = this.#transport(() => this.#subscriber.operation(), {
      open: () => ifCurrent(() => {
        this.#openedAt = Date.now();
        this.#subscriber.opened();
      }),
      interrupted: (error) => ifCurrent(() => this.#subscriber.interrupted(error)),
      next: (answers) => ifCurrent(() => this.#subscriber.received(answers)),
      end: (error) => ifCurrent(() => this.lost(error))
    });
    if (!current)
      stop();
  }
  /** Disconnects, until it is opened again. */
  close() {
    this.#stopWaiting?.();
    const disconnect = this.#disconnect;
    this.#disconnect = void 0;
    disconnect?.();
  }
  /**
   * Ends the connection in an error, or without one where the server said that it was complete, and makes another one
   * after a while, unless the error is final.
   */
  lost(error) {
    this.close();
    if (error !== void 0 && !error.retryable) {
      this.#subscriber.failed(error);
      return;
    }
    if (Date.now() - this.#openedAt > GOOD_MS)
      this.#attempt = 0;
    this.#openAfter(delay(this.#backoff, this.#attempt, error?.retryAfter), error?.retryAfter === void 0);
    this.#attempt += 1;
    this.#subscriber.interrupted(error);
  }
  /** `early`: at once when the network or the tab comes back. */
  #openAfter(ms, early) {
    const stop = later(ms, early, () => {
      this.#stopWaiting = void 0;
      this.open();
    });
    this.#stopWaiting = () => {
      this.#stopWaiting = void 0;
      stop();
    };
  }
};

// dist/rows.js
var Inconsistent = class extends Error {
};
var RowSet = class {
  #key;
  #entries = /* @__PURE__ */ new Map();
  constructor(key, columns) {
    this.#key = key === void 0 ? void 0 : keyOf(key, columns);
  }
  /** The rows in the order in which their keys came. */
  list() {
    const rows = [];
    for (const { row, count } of this.#entries.values()) {
      for (let i = 0; i < count; i += 1)
        rows.push(row);
    }
    return rows;
  }
  /** Takes out and puts in, together. Throws Inconsistent, and changes nothing, where a row to be taken out is not there. */
  apply(added, retracted) {
    const leaving = /* @__PURE__ */ new Map();
    const gone = [];
    for (const row of retracted) {
      const text = canonical(row);
      const key = this.#key?.(row) ?? text;
      const entry = this.#entries.get(key);
      const times = (leaving.get(key) ?? 0) + 1;
      if (entry === void 0 || entry.text !== text || entry.count < times) {
        throw new Inconsistent(`a row that is not there was retracted: ${text}`);
      }
      leaving.set(key, times);
      gone.push(entry.row);
    }
    const come = added.map((row) => {
      const text = canonical(row);
      return this.#put(row, text, leaving);
    });
    for (const [key, times] of leaving) {
      const entry = this.#entries.get(key);
      if (entry !== void 0 && (entry.count -= times) === 0)
        this.#entries.delete(key);
    }
    return { added: come, retracted: gone };
  }
  /** Puts a row in; one whose key is leaving takes its place. Returns the row as it is kept. */
  #put(row, text, leaving) {
    const key = this.#key?.(row) ?? text;
    const entry = this.#entries.get(key);
    if (entry === void 0) {
      this.#entries.set(key, { row, text, count: 1 });
      return row;
    }
    if (this.#key === void 0) {
      entry.count += 1;
      return entry.row;
    }
    if (!leaving.delete(key)) {
      throw new AdalogError("KEY_NOT_UNIQUE", `two rows have the key ${key}: ${entry.text} and ${text}`);
    }
    entry.row = row;
    entry.text = text;
    return row;
  }
  /** What differs in the rows that `next` has; it takes over the objects of those that are the same in both. */
  differenceTo(next) {
    const added = [];
    const retracted = [];
    for (const [key, entry] of next.#entries) {
      const before = this.#entries.get(key);
      const same = before?.text === entry.text;
      if (same)
        entry.row = before.row;
      for (let i = same ? before.count : 0; i < entry.count; i += 1)
        added.push(entry.row);
    }
    for (const [key, entry] of this.#entries) {
      const after2 = next.#entries.get(key);
      for (let i = after2?.text === entry.text ? after2.count : 0; i < entry.count; i += 1)
        retracted.push(entry.row);
    }
    return { added, retracted };
  }
};
function canonical(value) {
  const plain = typeof value !== "object" || Array.isArray(value) && !value.some(isObject);
  return (plain ? JSON.stringify(value) : JSON.stringify(value, sorted)) ?? "null";
}
function isObject(value) {
  return typeof value === "object" && value !== null;
}
function sorted(_, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1));
}
function keyOf(key, columns) {
  if (typeof key === "function")
    return (row) => canonical(key(row, columns));
  const positions = key.map((each) => {
    const position = typeof each === "number" ? each : columns.findIndex(({ name }) => name === each);
    if (position < 0 || position >= columns.length) {
      const known = columns.map(({ name }) => name).join(", ");
      throw new AdalogError("KEY_INVALID", `the key names the column ${each}; there are ${known}`);
    }
    return position;
  });
  return (row) => canonical(positions.map((position) => row[position]));
}

// dist/wire.js
function isAfter(one, other) {
  return typeof one === "number" && typeof other === "number" ? one > other : BigInt(one) > BigInt(other);
}
function after(t) {
  return typeof t === "number" ? t + 1 : String(BigInt(t) + 1n);
}

// dist/live.js
function documentOf(isAs) {
  const [declared, passed] = isAs ? [", $as: AsInput", ", as: $as"] : ["", ""];
  return `subscription Live($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $resume: String, $fromT: Long, $encoding: Encoding!${declared}) { live(query: $query, args: $args, argsEdn: $argsEdn, resume: $resume, fromT: $fromT, encoding: $encoding${passed}) { kind basisT resume columns { name type } rows added retracted last reason warnings { code message line column } } }`;
}
var RESUME = { field: "live", member: "resume", variable: "resume", instead: "fromT" };
function ednSource(query, args, options) {
  const { argsEdn, encoding = "PLAIN", fromT, key, as } = options;
  return {
    document: documentOf(as !== void 0),
    resume: RESUME,
    variables(token, isFirst) {
      const variables = { query, encoding };
      if (argsEdn !== void 0)
        variables["argsEdn"] = argsEdn;
      else if (args.length > 0)
        variables["args"] = args;
      if (token !== void 0)
        variables["resume"] = token;
      else if (fromT !== void 0 && isFirst)
        variables["fromT"] = fromT;
      if (as !== void 0)
        variables["as"] = as;
      return variables;
    },
    empty: (columns) => new EdnRows(key, columns)
  };
}
var EdnRows = class extends RowSet {
  differenceTo(next) {
    return super.differenceTo(next);
  }
  restore(rows) {
    this.apply(rows, []);
  }
  arrive({ rows }) {
    this.apply(rows ?? [], []);
  }
  change({ added, retracted }) {
    return this.apply(added ?? [], retracted ?? []);
  }
};
var MOST_PENDING = 1e3;
var LiveQuery = class {
  #source;
  #options;
  #connection;
  #listeners = /* @__PURE__ */ new Set();
  #iterations = /* @__PURE__ */ new Set();
  #set;
  #columns = [];
  #basisT;
  #resume;
  #status = "loading";
  #error;
  #warnings = [];
  /** The state that `getState` has returned; undefined after a change. */
  #state;
  #rows;
  /** The resume token of the last event, which may be in the middle of a snapshot. */
  #token;
  /** The snapshot that is arriving, in chunks. */
  #arriving;
  #reason;
  /** Starts at once. `client.live` is how to make one. */
  constructor(source, options, transport, backoff) {
    this.#source = source;
    this.#options = options;
    this.#connection = new Connection(transport, backoff, {
      operation: () => this.#operation(),
      opened: () => this.#opened(),
      received: (answers) => this.#received(answers),
      interrupted: (error) => this.#interrupted(error),
      failed: (error) => this.#failed(error)
    });
    const { since, signal } = options;
    if (since?.resume !== void 0) {
      this.#set = source.empty(since.columns);
      this.#set.restore(since.rows);
      this.#columns = since.columns;
      this.#basisT = since.basisT;
      this.#resume = this.#token = since.resume;
      this.#status = "stale";
    }
    if (signal?.aborted) {
      this.#status = "closed";
      return;
    }
    signal?.addEventListener("abort", this.close, { once: true });
    this.#connection.open();
  }
  get rows() {
    return this.#rows ??= this.#set?.list() ?? [];
  }
  get columns() {
    return this.#columns;
  }
  get basisT() {
    return this.#basisT;
  }
  get status() {
    return this.#status;
  }
  get error() {
    return this.#error;
  }
  get warnings() {
    return this.#warnings;
  }
  /** The state now; the same object until something changes. */
  getState = () => {
    return this.#state ??= {
      rows: this.rows,
      columns: this.#columns,
      basisT: this.#basisT,
      resume: this.#resume,
      status: this.#status,
      error: this.#error,
      warnings: this.#warnings
    };
  };
  /** Calls back after the state has changed, once for all that arrived together. Returns what ends that. */
  subscribe = (listener) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };
  /** The first state with all rows; rejects where there will be none. */
  ready() {
    return this.#until(() => this.#set !== void 0);
  }
  /** The first state with all that transaction `t` changed, and those before it; rejects likewise. */
  reached(t) {
    return this.#until(() => this.#basisT !== void 0 && !isAfter(t, this.#basisT));
  }
  #until(isSo) {
    return new Promise((resolve, reject) => {
      const settled = () => {
        if (this.#status === "failed")
          reject(this.#error);
        else if (this.#status === "closed")
          reject(this.#closedReason());
        else if (isSo())
          resolve(this.getState());
        else
          return false;
        return true;
      };
      if (settled())
        return;
      const stop = this.subscribe(() => {
        if (settled())
          stop();
      });
    });
  }
  /**
   * The changes from now on, each once and in order, after a first one with the present rows, if there are some. A slow loop delays
   * only this live query. Leaving the loop closes it.
   */
  async *[Symbol.asyncIterator]() {
    const iteration = new Iteration();
    if (this.#set !== void 0 && this.#resume !== void 0 && this.#basisT !== void 0) {
      iteration.pending.push(this.#change("snapshot", { added: this.rows, retracted: [] }, this.#basisT, this.#resume));
    }
    this.#iterations.add(iteration);
    try {
      for (; ; ) {
        const change = iteration.pending.shift();
        if (change !== void 0) {
          yield change;
          continue;
        }
        if (this.#status === "failed")
          throw this.#error;
        if (this.#status === "closed")
          return;
        const more = iteration.more();
        if ([...this.#iterations].every(({ pending }) => pending.length === 0))
          this.#connection.open();
        await more;
      }
    } finally {
      this.#iterations.delete(iteration);
      this.close();
    }
  }
  /** Opens a live query again that has failed, and goes on from its rows. */
  retry = () => {
    if (this.#status !== "failed")
      return;
    this.#become(this.#set === void 0 ? "loading" : "stale", void 0);
    this.#options.signal?.addEventListener("abort", this.close, { once: true });
    this.#connection.open();
    this.#notify();
  };
  /** Ends the subscription; the rows stay as they are. */
  close = () => {
    if (this.#isOver())
      return;
    this.#end("closed", void 0);
    this.#notify();
  };
  /** Whether the rows that are shown are to be replaced by a new snapshot. */
  #isStartingOver() {
    return this.#arriving !== void 0 || this.#reason !== void 0;
  }
  #isOver() {
    return this.#status === "failed" || this.#status === "closed";
  }
  #closedReason() {
    const { signal } = this.#options;
    return signal?.aborted ? signal.reason : new AdalogError("CANCELLED", "the live query was closed");
  }
  #end(status, error) {
    this.#become(status, error);
    this.#arriving = void 0;
    this.#options.signal?.removeEventListener("abort", this.close);
    this.#connection.close();
  }
  /** The subscription as it is sent: from the beginning, or from the last event. */
  #operation() {
    const { document, resume } = this.#source;
    return { query: document, variables: this.#source.variables(this.#token, this.#set === void 0), resume };
  }
  #opened() {
    if (this.#status === "stale" && this.#token === this.#resume)
      this.#become("live", void 0);
    this.#notify();
  }
  #received(answers) {
    for (const { data, errors } of answers) {
      if (!this.#connection.isOpen)
        break;
      if (errors?.length) {
        this.#connection.lost(fromWire(errors));
        break;
      }
      const event = data?.[this.#source.resume.field];
      if (!event)
        continue;
      this.#warn(event.warnings);
      try {
        this.#apply(event);
        this.#token = event.resume;
      } catch (error) {
        if (error instanceof Inconsistent)
          this.#startOver(error.message);
        else
          this.#end("failed", error instanceof AdalogError ? error : keyFailed(error));
      }
    }
    if (this.#connection.isOpen && [...this.#iterations].some(({ pending }) => pending.length >= MOST_PENDING)) {
      this.#connection.close();
      this.#become("stale", void 0);
    }
    this.#notify();
  }
  #interrupted(error) {
    this.#become(this.#set === void 0 ? "loading" : "stale", error);
    this.#notify();
  }
  #failed(error) {
    if (error.code === "BASIS_GONE" && this.#token !== void 0) {
      this.#startOver(error.message);
      return;
    }
    this.#end("failed", error);
    this.#notify();
  }
  #fresh(columns) {
    return { set: this.#source.empty(columns), columns };
  }
  /** Requests all rows again, if the stream cannot be resumed. */
  #startOver(reason) {
    this.#token = void 0;
    this.#arriving = void 0;
    this.#reason = reason;
    this.#connection.lost(new AdalogError("PROTOCOL", reason, { retryable: true }));
  }
  #apply(event) {
    switch (event.kind) {
      case "SNAPSHOT": {
        const arriving = this.#arriving ??= this.#fresh(event.columns ?? this.#columns);
        arriving.set.arrive(event);
        if (event.last !== true)
          return;
        const first = this.#set === void 0;
        const change = (this.#set ?? this.#source.empty(arriving.columns)).differenceTo(arriving.set);
        this.#set = arriving.set;
        this.#columns = arriving.columns;
        this.#arriving = void 0;
        this.#changed(first ? "snapshot" : "reset", change, event);
        this.#reason = void 0;
        return;
      }
      case "DELTA": {
        if (this.#set === void 0 || this.#isStartingOver())
          throw new Inconsistent("a change came before the rows");
        if (this.#basisT !== void 0 && !isAfter(event.basisT, this.#basisT))
          return;
        const change = this.#set.change(event);
        this.#changed("delta", change, event);
        return;
      }
      case "PROGRESS":
        if (this.#set === void 0 || this.#isStartingOver())
          return;
        this.#moved(event);
        return;
      case "RESET":
        this.#arriving = void 0;
        this.#reason = event.reason ?? "the server started over";
        this.#become(this.#set === void 0 ? "loading" : "stale", void 0);
        return;
    }
  }
  #changed(kind, difference, event) {
    const same = difference.added.length === 0 && difference.retracted.length === 0 && difference.isReordered !== true;
    if (!same)
      this.#rows = this.#state = void 0;
    this.#moved(event);
    if (same && kind !== "snapshot")
      return;
    const change = this.#change(kind, difference, event.basisT, event.resume);
    for (const iteration of this.#iterations)
      iteration.pending.push(change);
    const { onChange } = this.#options;
    if (onChange !== void 0)
      guarded(() => onChange(change));
  }
  #moved({ basisT, resume }) {
    if (basisT !== this.#basisT || resume !== this.#resume)
      this.#state = void 0;
    this.#basisT = basisT;
    this.#resume = resume;
    this.#become("live", void 0);
  }
  /** Keeps the array if the warnings are the same, also when the stream has started again. */
  #warn(warnings) {
    if (!warnings || JSON.stringify(warnings) === JSON.stringify(this.#warnings))
      return;
    this.#warnings = warnings;
    this.#state = void 0;
  }
  #change(kind, difference, basisT, resume) {
    return { kind, basisT, resume, columns: this.#columns, reason: this.#reason, ...difference };
  }
  #become(status, error) {
    if (status !== this.#status || error !== this.#error)
      this.#state = void 0;
    this.#status = status;
    this.#error = error;
  }
  #notify() {
    for (const iteration of this.#iterations)
      iteration.wake();
    if (this.#state !== void 0)
      return;
    const { onState } = this.#options;
    if (onState === void 0 && this.#listeners.size === 0)
      return;
    const state = this.getState();
    if (onState !== void 0)
      guarded(() => onState(state));
    for (const listener of [...this.#listeners])
      guarded(listener);
  }
};
var Iteration = class {
  pending = [];
  wake = () => {
  };
  more() {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
};
function keyFailed(cause) {
  return new AdalogError("KEY_INVALID", `the key of a row cannot be computed: ${String(cause)}`, { cause });
}
function guarded(call) {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

// dist/log.js
var DOCUMENT = "subscription Log($from: Long!, $encoding: Encoding!) { transactions(from: $from, encoding: $encoding) { t basisBefore txInstant datoms { e a v t added } } }";
var RESUME2 = { field: "transactions", member: "t", variable: "from", isNumberBefore: true };
var MOST_PENDING2 = 1e3;
async function* follow(from, { encoding = "PLAIN", signal }, transport, backoff) {
  const pending = [];
  let next = from;
  let failure;
  let wake = () => {
  };
  const connection = new Connection(transport, backoff, {
    operation: () => ({ query: DOCUMENT, variables: { from: next, encoding }, resume: RESUME2 }),
    opened() {
    },
    interrupted() {
    },
    failed(error) {
      failure = error;
      wake();
    },
    received(answers) {
      for (const { data, errors } of answers) {
        if (errors?.length) {
          connection.lost(fromWire(errors));
          break;
        }
        const entry = data?.transactions;
        if (!entry || isAfter(next, entry.t))
          continue;
        pending.push(entry);
        next = after(entry.t);
      }
      if (pending.length >= MOST_PENDING2)
        connection.close();
      wake();
    }
  });
  const aborted = () => wake();
  signal?.addEventListener("abort", aborted);
  try {
    for (; ; ) {
      signal?.throwIfAborted();
      const entry = pending.shift();
      if (entry !== void 0) {
        yield entry;
        continue;
      }
      if (failure !== void 0)
        throw failure;
      await new Promise((resolve) => {
        wake = resolve;
        connection.open();
      });
    }
  } finally {
    signal?.removeEventListener("abort", aborted);
    connection.close();
  }
}

// dist/event-stream.js
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

// dist/silence.js
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

// dist/event-streams.js
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

// dist/fallback.js
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

// dist/transport.js
function resumed(operation, { data }) {
  const { field, member, variable, isNumberBefore, instead = "" } = operation.resume;
  const value = data?.[field]?.[member];
  if (value === void 0 || value === null)
    return operation;
  const { [instead]: _, ...variables } = operation.variables;
  return { ...operation, variables: { ...variables, [variable]: isNumberBefore ? after(value) : value } };
}
function webSocket(client) {
  return (operation, receiver) => {
    let ended = false;
    const once2 = (act) => {
      if (!ended)
        act();
    };
    const unlisten = client.on?.("closed", () => once2(() => receiver.interrupted()));
    const end = (error) => once2(() => {
      ended = true;
      unlisten?.();
      receiver.end(error);
    });
    const variables = {
      toJSON() {
        const current = operation().variables;
        once2(() => receiver.open());
        return current;
      }
    };
    const { query, extensions = {} } = operation();
    const stop = client.subscribe({ query, variables, extensions }, {
      next: (answer) => once2(() => receiver.next([answer])),
      error: (error) => end(fromWebSocket(error)),
      complete: () => end()
    });
    return () => {
      ended = true;
      unlisten?.();
      stop();
    };
  };
}
function fromWebSocket(error) {
  if (Array.isArray(error))
    return fromWire(error);
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : void 0;
  if (typeof code !== "number")
    return network(error);
  const reason = error !== null && typeof error === "object" && "reason" in error ? String(error.reason) : "";
  return fromClose(code, reason);
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

// dist/web-socket.js
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

// dist/links.js
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

// dist/origins.js
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

// dist/seen-basis.js
var SeenBasis = class {
  #t;
  #patienceMs;
  /** Since when the server refuses requests because it does not have the transaction. */
  #missingSince;
  /** `patienceMs`: after so long a transaction that the server does not have is forgotten. */
  constructor(patienceMs) {
    this.#patienceMs = patienceMs;
  }
  get t() {
    return this.#t;
  }
  /** The operation with what has been seen. */
  onto(operation) {
    return this.#t === void 0 ? operation : { ...operation, extensions: { minBasisT: this.#t } };
  }
  /**
   * An answer is as of `t`. `least`: the `minBasisT` of its request. An older answer is from another database, a restored one
   * for example, whose transactions count from then on.
   */
  saw(t, least) {
    this.#missingSince = void 0;
    if (this.#t === void 0 || isAfter(t, this.#t) || least !== void 0 && isAfter(least, t))
      this.#t = t;
  }
  /** Learns from the root fields of an answer. */
  sawIn(data) {
    for (const [name, value] of Object.entries(data ?? {})) {
      const t = value?.basisT ?? (name === "transact" || name === "transactions" ? value?.t : void 0);
      if (typeof t === "number" || typeof t === "string")
        this.saw(t);
    }
  }
  /**
   * The server has refused a request. If it lacks the transaction for long, that belongs to another database, one before a restore
   * for example, and no longer counts.
   */
  refused({ minBasisT }) {
    if (minBasisT === void 0)
      return;
    this.#missingSince ??= Date.now();
    if (Date.now() - this.#missingSince >= this.#patienceMs)
      this.#t = this.#missingSince = void 0;
  }
  /** A transport whose subscriptions begin with what has been seen, and whose events are seen. */
  over(transport) {
    return (operation, receiver) => transport(() => this.onto(operation()), {
      ...receiver,
      next: (answers) => {
        for (const { data, errors } of answers) {
          if (errors?.length)
            this.refused(fromWire(errors));
          this.sawIn(data);
        }
        receiver.next(answers);
      },
      end: (error) => {
        if (error !== void 0)
          this.refused(error);
        receiver.end(error);
      }
    });
  }
};

// dist/multiplexer.js
var GOOD_MS2 = 1e4;
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
    if (Date.now() - this.#openedAt > GOOD_MS2)
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

// dist/shared-messages.js
function errorOf(error) {
  return error === void 0 ? void 0 : new AdalogError(error.code, error.message, error);
}
function identityOf(headers) {
  const claims = claimsOf(headers);
  if (claims === void 0)
    return canonical(headers);
  const { exp, iat, nbf, jti, ...lasting } = claims;
  return canonical({ ...headers, authorization: lasting });
}

// dist/shared-links.js
var START_MS = 5e3;
function canShare() {
  return typeof SharedWorker === "function" && globalThis.navigator?.locks !== void 0;
}
function sharedLinks(settings, script, own, warn) {
  let isUnavailable = false;
  return (headers, listener, operation) => {
    if (isUnavailable)
      return own(headers, listener, operation);
    const ids = /* @__PURE__ */ new Set();
    const identity = identityOf(headers);
    const leaving = new AbortController();
    const { signal } = leaving;
    let worker;
    let hasJoined = false;
    let isWelcome = false;
    let isOpen = false;
    let ownLink;
    const say = (message) => {
      if (hasJoined && !signal.aborted)
        worker?.port.postMessage(message);
    };
    const add = (id) => say({ type: "add", id, operation: operation(id) });
    const leave = () => {
      clearTimeout(starting);
      stopListening();
      removeEventListener("pagehide", hide);
      leaving.abort();
      worker?.port.close();
    };
    const lost = (error) => {
      if (signal.aborted)
        return;
      leave();
      listener.lost(error);
    };
    const unavailable = (why) => {
      if (signal.aborted || isWelcome)
        return;
      leave();
      isUnavailable = true;
      warn(`tabs do not share a connection, since the worker that holds it does not start: ${why}`);
      ownLink = own(headers, listener, operation);
      for (const id of ids)
        ownLink.add(id);
    };
    const hide = () => {
      leave();
      addEventListener("pageshow", () => listener.lost(network("the page was in the background")), { once: true });
    };
    const received = (message) => {
      if (signal.aborted)
        return;
      switch (message.type) {
        case "welcome":
          clearTimeout(starting);
          isWelcome = true;
          ids.forEach(add);
          navigator.locks.request(message.lock, { signal }, () => lost(network("the worker that tabs share has ended"))).catch(() => {
          });
          return;
        case "sent":
          if (!isOpen)
            listener.opened();
          isOpen = true;
          listener.sent(message.id);
          return;
        case "interrupted":
          isOpen = false;
          listener.interrupted(message.id, errorOf(message.error));
          return;
        case "next":
          listener.next(message.id, message.answers);
          return;
        case "end":
          listener.end(message.id, errorOf(message.error));
          return;
        case "refused":
          leave();
          listener.refused(errorOf(message.error));
          return;
        case "warning":
          warn(message.message);
          return;
      }
    };
    const starting = setTimeout(() => unavailable(`no answer within ${START_MS / 1e3} s`), START_MS);
    const stopListening = onWake(() => say({ type: "wake" }));
    addEventListener("pagehide", hide);
    try {
      worker = start(script);
      worker.onerror = () => unavailable("its script cannot be loaded");
      worker.port.onmessage = ({ data }) => received(data);
      const lock = `adalog page ${crypto.randomUUID()}`;
      void navigator.locks.request(lock, () => {
        hasJoined = true;
        say({ type: "join", settings, identity, headers, lock });
        return new Promise((release) => signal.aborted ? release() : signal.addEventListener("abort", () => release()));
      });
    } catch (error) {
      unavailable(String(error));
    }
    return {
      add(id) {
        ids.add(id);
        if (ownLink !== void 0)
          ownLink.add(id);
        else if (isWelcome)
          add(id);
      },
      remove(id) {
        ids.delete(id);
        if (ownLink !== void 0)
          ownLink.remove(id);
        else
          say({ type: "remove", id });
      },
      renew(fresh) {
        headers = fresh;
        if (ownLink !== void 0)
          ownLink.renew(fresh);
        else if (identityOf(fresh) === identity)
          say({ type: "renew", headers });
        else
          queueMicrotask(() => lost(new AdalogError("UNAUTHENTICATED", "the new token is of another user", { retryable: true })));
      },
      close() {
        leave();
        ownLink?.close();
      }
    };
  };
}
function start(script) {
  if (script !== void 0)
    return new SharedWorker(script, { type: "module", name: "adalog-1" });
  return new SharedWorker(new URL("./shared-worker.js", import.meta.url), { type: "module", name: "adalog-1" });
}

// dist/transports.js
function transportOf(options, endpoint, backoff) {
  if (options.webSocket !== void 0)
    return webSocket(options.webSocket);
  return new Multiplexer(sharedOrOwn(options, endpoint, backoff), credentialsOf(endpoint), backoff).transport;
}
function sharedOrOwn(options, endpoint, backoff) {
  const { sharedWorker = true, transport, silenceMs, fetch: fetch2, webSocketImpl } = options;
  const own = linksOf(options, endpoint);
  if (sharedWorker === false || fetch2 !== void 0 || webSocketImpl !== void 0 || !canShare())
    return own;
  const settings = { url: absolute(endpoint.url), transport, silenceMs, backoff };
  return sharedLinks(settings, sharedWorker === true ? void 0 : sharedWorker, own, warningsOf(options));
}

// dist/client.js
var QUERY = "query Q($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput, $with: EDN, $first: Int, $after: String, $encoding: Encoding!, $engine: Engine!, $timeoutMs: Int) { q(query: $query, args: $args, argsEdn: $argsEdn, basis: $basis, with: $with, first: $first, after: $after, encoding: $encoding, engine: $engine, timeoutMs: $timeoutMs) { rows columns { name type } value basisT pageInfo { hasNextPage endCursor } warnings { code message line column } } }";
var transaction = (type, argument) => `mutation Transact($tx: EDN!, ${type}$expectedBasisT: Long, $idempotencyKey: String, $encoding: Encoding!) { transact(tx: $tx, ${argument}expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: $encoding) { t basisBefore txInstant tempids warnings { code message line column } } }`;
var TRANSACT = transaction("", "");
var TRANSACT_WITH_ARGS = transaction("$args: JSON, ", "args: $args, ");
function createClient(options) {
  const onWarning = once(warningsOf(options));
  const given = {
    url: options.url,
    headers: options.headers ?? {},
    token: options.token,
    // Called as a plain function: a browser's own must not have another `this`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init))
  };
  const endpoint = explained(given, onWarning);
  const backoff = { minMs: 250, maxMs: 3e4, ...options.backoff };
  const queryRetryMs = options.queryRetryMs ?? 6e4;
  const silenceMs = options.silenceMs ?? SILENCE_MS;
  const seen = new SeenBasis(queryRetryMs / 2);
  const transport = seen.over(transportOf({ ...options, onWarning }, endpoint, backoff));
  async function attempted(operation, signal, mostMs) {
    const watch = silence(mostMs, signal);
    try {
      const response = await post(endpoint, operation, ACCEPT, watch.signal);
      watch.heard();
      return (await answerOf(response, watch.signal, watch.heard)).data;
    } finally {
      watch.stop();
    }
  }
  async function repeated(operation, { signal, onRetry = options.onRetry, timeoutMs = TIMEOUT_MS }, retryMs) {
    const end = Date.now() + retryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attempted(operation(), signal, timeoutMs + silenceMs);
      } catch (error) {
        if (!(error instanceof AdalogError) || !isTransient(error))
          throw error;
        seen.refused(error);
        const delayMs = delay(backoff, attempt - 1, error.retryAfter);
        if (Date.now() + delayMs > end)
          throw error;
        onRetry?.({ error, attempt, delayMs });
        await sleep(delayMs, error.retryAfter === void 0, signal);
      }
    }
  }
  return {
    async query(query, args = [], { signal, onRetry, ...more } = {}) {
      const json = jsonArguments(args);
      const variables = {
        query: queryText(query),
        encoding: "PLAIN",
        engine: "AUTO",
        ...more,
        ...more.with === void 0 ? {} : { with: ednText(more.with, "with") },
        ...more.argsEdn === void 0 && json.length > 0 ? { args: json } : {}
      };
      const { basis, after: after2, with: speculative } = more;
      const isNewest = basis?.t === void 0 && basis?.asOf === void 0 && after2 === void 0;
      const least = isNewest ? seen.t : void 0;
      const operation = { query: QUERY, variables };
      const current = () => isNewest ? seen.onto(operation) : operation;
      const { q } = await repeated(current, { signal, onRetry, ...timeout(more) }, queryRetryMs);
      if (speculative === void 0)
        seen.saw(q.basisT, least);
      return q;
    },
    async transact(tx, { signal, onRetry, args, ...more } = {}) {
      const given2 = args === void 0 ? {} : { args: namedArguments(args) };
      const variables = { tx: ednText(tx, "transact"), encoding: "PLAIN", ...more, ...given2, idempotencyKey: more.idempotencyKey ?? randomKey() };
      const query = args === void 0 ? TRANSACT : TRANSACT_WITH_ARGS;
      const least = more.idempotencyKey === void 0 ? seen.t : void 0;
      const { transact } = await repeated(() => ({ query, variables }), { signal, onRetry }, FOR_GOOD);
      seen.saw(transact.t, least);
      return transact;
    },
    live(query, args = [], live = {}) {
      return new LiveQuery(ednSource(queryText(query), jsonArguments(args), live), live, transport, backoff);
    },
    follow(source, options2 = {}) {
      return new LiveQuery(source, options2, transport, backoff);
    },
    async *transactions(options2 = {}) {
      const now = () => seen.onto({ query: "{ database { basisT } }", variables: {} });
      const from = options2.from ?? after((await repeated(now, options2, FOR_GOOD)).database.basisT);
      yield* follow(from, options2, transport, backoff);
    },
    async graphql(document, variables = {}, { signal, onWarnings } = {}) {
      const response = await post(endpoint, seen.onto({ query: document, variables }), ACCEPT, signal);
      const { data, warnings } = await answerOf(response, signal);
      if (!SPECULATIVE.test(document))
        seen.sawIn(data);
      if (warnings.length > 0)
        onWarnings?.(warnings);
      return data;
    }
  };
}
function once(warn) {
  const said = /* @__PURE__ */ new Set();
  return (message) => {
    if (said.has(message))
      return;
    said.add(message);
    warn(message);
  };
}
var TIMEOUT_MS = 3e4;
var SPECULATIVE = /\bwith\s*:/;
function timeout({ timeoutMs }) {
  return timeoutMs === void 0 ? {} : { timeoutMs };
}
var FOR_GOOD = Number.POSITIVE_INFINITY;
var ACCEPT = "application/graphql-response+json, application/json;q=0.9";
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(16).padStart(8, "0")).join("");
}

// dist/optimistic.js
var HOLD_MS = 1e3;
var OptimisticRows = class {
  #live;
  #initial;
  #listeners = /* @__PURE__ */ new Set();
  #changes = [];
  /** The live query's state, under the changes. */
  #base;
  #state;
  #held;
  constructor(live, initial) {
    this.#live = live;
    this.#initial = initial;
    this.#base = this.#current();
    live.subscribe(() => {
      const waits = this.#changes.some(({ t }) => t === void 0) && live.rows !== this.#base.rows;
      if (waits)
        this.#held ??= setTimeout(this.#show, HOLD_MS);
      else
        this.#show();
    });
  }
  /** The state now; the same object until something changes. */
  getState = () => {
    return this.#state ??= {
      ...this.#base,
      rows: this.#changes.reduce((rows, { change }) => change(rows), this.#base.rows),
      resume: this.#changes.length > 0 ? void 0 : this.#base.resume,
      pending: this.#changes.length
    };
  };
  /** Calls back after the state has changed. Returns what ends that. */
  subscribe = (listener) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };
  /**
   * Shows a change, and makes it: `commit` is the transaction, whose report is returned. If it is refused the change is
   * taken back, and the error thrown.
   */
  mutate = async (change, commit) => {
    const made = { change, t: void 0 };
    this.#changes = [...this.#changes, made];
    try {
      this.#changed();
      const report = await commit();
      made.t = report.t;
      return report;
    } catch (error) {
      this.#changes = this.#changes.filter((each) => each !== made);
      throw error;
    } finally {
      this.#show();
    }
  };
  /** Shows the live query as it is, with the changes that it has not come to. */
  #show = () => {
    clearTimeout(this.#held);
    this.#held = void 0;
    this.#base = this.#current();
    const { basisT } = this.#base;
    this.#changes = this.#changes.filter(({ t }) => t === void 0 || basisT === void 0 || isAfter(t, basisT));
    this.#changed();
  };
  #changed() {
    this.#state = void 0;
    this.getState();
    for (const listener of [...this.#listeners])
      listener();
  }
  #current() {
    const state = this.#live.getState();
    if (this.#initial === void 0 || state.basisT !== void 0)
      return state;
    const { rows, columns, basisT } = this.#initial;
    return { ...state, rows, columns, basisT, status: state.status === "loading" ? "stale" : state.status };
  }
};
export {
  AdalogError,
  Edn,
  OptimisticRows,
  createClient,
  decimal,
  duration,
  edn,
  keyword,
  symbol,
  uuid
};
