/** GraphQL over HTTP: requests, and the errors that they end in. */

import { AdalogError, fromWire, network } from "./errors.js";
import type { Answer, FieldWarning, Operation } from "./wire.js";

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
export type Headers = Readonly<Record<string, string>>;
/** A bearer token, or what gives the current one; `refused` is one that the server does not take any more. */
export type Token = string | ((refused?: string) => string | undefined | Promise<string | undefined>);

export interface Endpoint {
  readonly url: string;
  readonly fetch: Fetch;
  /** Asked for each request, so that it may change. */
  readonly headers: Headers | (() => Headers | Promise<Headers>);
  readonly token: Token | undefined;
}

/** The token for the next connection or request. */
export async function currentToken(token: Token | undefined): Promise<string | undefined> {
  return typeof token === "function" ? token() : token;
}

/** Another token in place of one that was refused; undefined where there is no other. */
export async function renewedToken(token: Token | undefined, refused: string | undefined): Promise<string | undefined> {
  const fresh = typeof token === "function" ? await token(refused) : undefined;
  return fresh === refused ? undefined : fresh;
}

/** Sends an operation and returns the response, whatever its status. A token that is refused is renewed, once. */
export async function post(
  endpoint: Endpoint,
  operation: Operation,
  accept: string,
  signal: AbortSignal | undefined,
): Promise<Response> {
  // What cannot be JSON is the caller's mistake, and not the network's.
  const body = JSON.stringify(operation);
  const headers = typeof endpoint.headers === "function" ? await endpoint.headers() : endpoint.headers;
  const token = await currentToken(endpoint.token);
  const request = { method: "POST", headers: { ...headers, accept, "content-type": "application/json" }, body, cache: "no-store" } as const;
  const response = await send(endpoint, request, token, signal);
  if (response.status !== 401) return response;
  const fresh = await renewedToken(endpoint.token, token);
  if (fresh === undefined) return response;
  await response.body?.cancel();
  return send(endpoint, request, fresh, signal);
}

async function send(
  { url, fetch }: Endpoint,
  request: RequestInit & { readonly headers: Headers },
  token: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  signal?.throwIfAborted();
  try {
    return await fetch(url, { ...request, headers: { ...request.headers, ...authorization }, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw network(error);
  }
}

/** An answer that came whole, with data. */
export async function answerOf<Data>(
  response: Response,
  signal: AbortSignal | undefined,
): Promise<{ data: Data; warnings: readonly FieldWarning[] }> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw network(error);
  }
  let answer: Answer<Data> | undefined;
  try {
    answer = JSON.parse(text) as Answer<Data>;
  } catch {
    throw refused(response, text);
  }
  if (answer?.errors?.length) throw fromWire(answer.errors, retryAfter(response));
  if (!response.ok || answer?.data === undefined || answer.data === null) throw refused(response, text);
  return { data: answer.data, warnings: answer.extensions?.warnings ?? [] };
}

/** A response in another form than GraphQL's: a proxy's, most likely. */
function refused(response: Response, text: string): AdalogError {
  const said = text.trim().slice(0, 200);
  const message = `the server answered ${response.status}${said === "" ? "" : `: ${said}`}`;
  if (response.status === 429) return new AdalogError("RATE_LIMITED", message, transient(response));
  if (response.status === 408 || response.status >= 500) {
    return new AdalogError("BACKEND_UNAVAILABLE", message, transient(response));
  }
  if (response.status === 401) return new AdalogError("UNAUTHENTICATED", message);
  return new AdalogError(response.status === 403 ? "FORBIDDEN" : "PROTOCOL", message);
}

function transient(response: Response) {
  return { retryable: true, retryAfter: retryAfter(response) };
}

function retryAfter(response: Response): number | undefined {
  const header = response.headers.get("retry-after");
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
