/** The messages between pages and the worker that holds their connection. */

import type { Backoff } from "./backoff.js";
import { claimsOf } from "./credentials.js";
import { AdalogError } from "./errors.js";
import type { Headers } from "./http.js";
import type { LinkOptions } from "./links.js";
import { canonical } from "./rows.js";
import type { ResumableOperation } from "./transport.js";
import type { Answer } from "./wire.js";

/** How to connect. Pages with other settings have another connection. */
export interface SharedSettings extends Pick<LinkOptions, "transport" | "silenceMs"> {
  readonly url: string;
  readonly backoff: Backoff;
}

export type PageMessage =
  /** `identity`: pages with the same one may share a connection. `lock`: a Web Lock that the page holds until it leaves or crashes. */
  | { readonly type: "join"; readonly settings: SharedSettings; readonly identity: string; readonly headers: Headers; readonly lock: string }
  | { readonly type: "add"; readonly id: string; readonly operation: ResumableOperation }
  | { readonly type: "remove"; readonly id: string }
  /** The page has a new token of the same identity. */
  | { readonly type: "renew"; readonly headers: Headers }
  /** The network is back, or the tab is in front. */
  | { readonly type: "wake" };

export type WorkerMessage =
  /** `lock`: a Web Lock that the worker holds as long as it runs. */
  | { readonly type: "welcome"; readonly lock: string }
  | { readonly type: "sent"; readonly id: string }
  | { readonly type: "next"; readonly id: string; readonly answers: readonly Answer<unknown>[] }
  | { readonly type: "end"; readonly id: string; readonly error: ErrorMessage | undefined }
  /** The connection is gone, and the worker makes a new one. */
  | { readonly type: "interrupted"; readonly id: string; readonly error: ErrorMessage | undefined }
  /** The server does not accept the page's token. The page leaves. */
  | { readonly type: "refused"; readonly error: ErrorMessage }
  | { readonly type: "warning"; readonly message: string };

/** An `AdalogError` without its class, which does not survive `postMessage`. */
export type ErrorMessage = Pick<AdalogError, "code" | "message" | "retryable" | "retryAfter" | "line" | "column" | "minBasisT">;

export function errorMessage<Given extends AdalogError | undefined>(error: Given): ErrorMessage | Extract<Given, undefined> {
  if (error === undefined) return undefined as Extract<Given, undefined>;
  const { code, message, retryable, retryAfter, line, column, minBasisT } = error;
  return { code, message, retryable, retryAfter, line, column, minBasisT };
}

export function errorOf<Given extends ErrorMessage | undefined>(error: Given): AdalogError | Extract<Given, undefined> {
  return error === undefined ? (undefined as Extract<Given, undefined>) : new AdalogError(error.code, error.message, error);
}

/**
 * What pages that share a connection have in common: the headers. Of a JSON Web Token it is all claims except those that change
 * with each token of a user; any other token is compared as a whole.
 */
export function identityOf(headers: Headers): string {
  const claims = claimsOf(headers);
  if (claims === undefined) return canonical(headers);
  const { exp, iat, nbf, jti, ...lasting } = claims;
  return canonical({ ...headers, authorization: lasting });
}
