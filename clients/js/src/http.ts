/** GraphQL over HTTP: requests, and the errors that they end in. */

import { credentialsOf, type CredentialSource } from "./credentials.js";
import { AdalogError, fromWire, network } from "./errors.js";
import type { Answer, FieldWarning, Operation } from "./wire.js";

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
export type Headers = Readonly<Record<string, string>>;

/** Where requests go, and by what. */
export interface Address {
  readonly url: string;
  readonly fetch: Fetch;
  /** Called when the server has accepted a connection that is not made by `fetch`. */
  readonly answered?: (() => void) | undefined;
}

/** Functions for headers or a token are called for each request. */
export interface Endpoint extends Address, CredentialSource {}

/** Sends an operation and returns the response, whatever its status. A token that is refused is renewed, once. */
export async function post(
  endpoint: Endpoint,
  operation: Operation,
  accept: string,
  signal: AbortSignal | undefined,
): Promise<Response> {
  // What cannot be JSON is the caller's mistake, and not the network's.
  const body = JSON.stringify(operation);
  const credentials = credentialsOf(endpoint);
  const headers = await credentials.headers();
  const response = await send(endpoint, body, accept, headers, signal);
  if (response.status !== 401) return response;
  const fresh = await credentials.other(headers);
  if (fresh === undefined) return response;
  await response.body?.cancel();
  return send(endpoint, body, accept, fresh, signal);
}

/** Sends a request once. */
export async function send(
  { url, fetch }: Address,
  body: string,
  accept: string,
  headers: Headers,
  signal: AbortSignal | undefined,
): Promise<Response> {
  signal?.throwIfAborted();
  try {
    return await fetch(url, {
      method: "POST",
      headers: { ...headers, accept, "content-type": "application/json" },
      body,
      cache: "no-store",
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw network(error);
  }
}

/** An answer that came whole, with data. `heard`: called when a piece of it has come. */
export async function answerOf<Data>(
  response: Response,
  signal: AbortSignal | undefined,
  heard?: () => void,
): Promise<{ data: Data; warnings: readonly FieldWarning[] }> {
  let text: string;
  try {
    text = await textOf(response, heard);
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

async function textOf(response: Response, heard: (() => void) | undefined): Promise<string> {
  // Not every `fetch` has streams.
  if (heard === undefined || !response.body) return response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    heard();
    text += decoder.decode(value, { stream: true });
  }
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
