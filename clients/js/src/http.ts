/** GraphQL over HTTP: requests, and the errors that they end in. */

import { credentialsOf, type CredentialSource } from "./credentials.js";
import { AdalogError, fromWire, network } from "./errors.js";
import type { Answer, FieldWarning } from "./wire.js";

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;
export type Headers = Readonly<Record<string, string>>;

/** Functions for headers or a token are asked for each request. */
export interface Endpoint extends CredentialSource {
  readonly url: string;
  readonly fetch: Fetch;
}

/** Sends an operation, or several, and returns the response, whatever its status. */
export async function post(
  endpoint: Endpoint,
  body: unknown,
  accept: string,
  signal: AbortSignal | undefined,
  given?: Headers,
): Promise<Response> {
  const headers = given ?? (await credentialsOf(endpoint).headers());
  signal?.throwIfAborted();
  try {
    return await endpoint.fetch(endpoint.url, {
      method: "POST",
      headers: { ...headers, accept, "content-type": "application/json" },
      body: JSON.stringify(body),
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
