/** GraphQL over HTTP: requests, and the errors that they end in. */

import { AdalogError, fromWire, network } from "./errors.js";
import type { Answer, FieldWarning, Operation } from "./wire.js";

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
export type Headers = Readonly<Record<string, string>>;
type Provided<T> = T | (() => T | Promise<T>);

export interface Endpoint {
  readonly url: string;
  readonly fetch: Fetch;
  /** Asked for each request, so that it may change. */
  readonly headers: Provided<Headers>;
  /** A bearer token, asked for likewise. */
  readonly token: Provided<string | undefined>;
}

/** Sends an operation and returns the response, whatever its status. */
export async function post(
  endpoint: Endpoint,
  operation: Operation,
  accept: string,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const headers = { ...(await provided(endpoint.headers)) };
  const token = await provided(endpoint.token);
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  signal?.throwIfAborted();
  try {
    return await endpoint.fetch(endpoint.url, {
      method: "POST",
      headers: { ...headers, accept, "content-type": "application/json" },
      body: JSON.stringify(operation),
      cache: "no-store",
      ...(signal === undefined ? {} : { signal }),
    });
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
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  return seconds >= 0 ? seconds * 1000 : undefined;
}

async function provided<T>(value: Provided<T>): Promise<T> {
  return typeof value === "function" ? (value as () => T | Promise<T>)() : value;
}
