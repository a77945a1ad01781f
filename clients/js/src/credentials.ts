/** The headers and tokens of connections and requests: requested again before a token expires and after a refusal. */

import { AdalogError, network } from "./errors.js";
import type { Headers } from "./http.js";

/** A bearer token, or what gives the current one. `stale`: the one that expires soon or that the server has refused. */
export type Token = string | ((stale?: string) => string | undefined | Promise<string | undefined>);

/** The credentials of connections. */
export interface ConnectionCredentials {
  /** The headers of the next connection, with lower-case names. `stale`: those that expire soon. */
  headers(stale?: Headers): Promise<Headers>;
  /** Other headers than those that were refused. Rejects with an error that says why there are none. */
  after(refused: Headers, refusal: AdalogError): Promise<Headers>;
}

export interface Credentials extends ConnectionCredentials {
  /** Other headers than those that were refused; undefined where there are none. */
  other(refused: Headers): Promise<Headers | undefined>;
}

export interface CredentialSource {
  readonly headers: Headers | (() => Headers | Promise<Headers>);
  readonly token: Token | undefined;
}

export function credentialsOf({ headers, token }: CredentialSource): Credentials {
  async function current(stale?: Headers): Promise<Headers> {
    const given = typeof headers === "function" ? await headers() : headers;
    const text = typeof token === "function" ? await token(stale && bearerOf(stale)) : token;
    const all = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
    return text === undefined ? all : { ...all, authorization: `Bearer ${text}` };
  }

  return {
    headers: current,
    async other(refused) {
      if (typeof token !== "function" && typeof headers !== "function") return undefined;
      const fresh = await current(refused);
      return fresh["authorization"] === undefined || isSame(fresh, refused) ? undefined : fresh;
    },
    async after(refused, refusal) {
      const failed = (why: string, cause?: unknown) =>
        new AdalogError(refusal.code, `${refusal.message} (${why})`, cause === undefined ? {} : { cause });
      if (typeof token !== "function" && typeof headers !== "function") {
        throw failed(token === undefined ? "no `token` was given" : "the token is a text: give a function, which is asked for another one");
      }
      let fresh: Headers;
      try {
        fresh = await current(refused);
      } catch (cause) {
        // What `fetch` rejects with where there is no network.
        if (cause instanceof TypeError || (cause as { retryable?: boolean } | null)?.retryable === true) throw network(cause);
        throw failed(`a new token cannot be had: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
      }
      if (fresh["authorization"] === undefined) throw failed("there is no new token");
      if (isSame(fresh, refused)) throw failed("the token is still the one that was refused");
      return fresh;
    },
  };
}

export function isSame(one: Headers, other: Headers): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

export function bearerOf(headers: Headers): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers["authorization"] ?? "")?.[1];
}

/** The claims of the token, if it is a JSON Web Token. They are not verified: the server does that. */
export function claimsOf(headers: Headers): Readonly<Record<string, unknown>> | undefined {
  const [, payload, ...rest] = bearerOf(headers)?.split(".") ?? [];
  if (payload === undefined || rest.length !== 1) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the one expires later; or differs from the other, if either does not say when it expires. */
export function isNewer(one: Headers, other: Headers): boolean {
  const [exp, otherExp] = [claimsOf(one)?.["exp"], claimsOf(other)?.["exp"]];
  return typeof exp === "number" && typeof otherExp === "number" ? exp > otherExp : !isSame(one, other);
}

/** A token is renewed at most so long before it expires, and a fifth of its lifetime at most. */
const MOST_EARLY_MS = 30_000;

/** In how many milliseconds the token is to be renewed; undefined where that is not known, or too late. */
export function renewalDelay(headers: Headers): number | undefined {
  const { exp, iat } = claimsOf(headers) ?? {};
  if (typeof exp !== "number") return undefined;
  const left = exp * 1000 - Date.now();
  if (left <= 0) return undefined;
  const lifetime = typeof iat === "number" && iat < exp ? (exp - iat) * 1000 : left;
  return Math.max(left - Math.min(MOST_EARLY_MS, lifetime / 5), left / 2);
}
