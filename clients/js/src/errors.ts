import type { Long, WireError } from "./wire.js";

/**
 * Why something failed. `code` is one of the server's (`QUERY_INVALID`, `CAS_FAILED`, …), or one of this client's:
 * `NETWORK` where no server answered, `PROTOCOL` for an answer that is none of adalog's, `KEY_INVALID` and `KEY_NOT_UNIQUE` for
 * the key of a live query's rows.
 */
export class AdalogError extends Error {
  override readonly name = "AdalogError";
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Where in the query's or transaction's text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** The argument that line and column are of, as `argsEdn[0]`; undefined for the query or the transaction itself. */
  readonly origin: string | undefined;
  /** How long the server wants to be left alone, in milliseconds. */
  readonly retryAfter: number | undefined;
  /** The transaction that the client has seen and the server does not have (yet). */
  readonly minBasisT: Long | undefined;

  constructor(code: string, message: string, more: ErrorDetails = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.line = more.line;
    this.column = more.column;
    this.origin = more.origin;
    this.retryAfter = more.retryAfter;
    this.minBasisT = more.minBasisT;
  }
}

export interface ErrorDetails {
  readonly retryable?: boolean;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly origin?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly minBasisT?: Long | undefined;
  readonly cause?: unknown;
}

/** The first of the errors that a GraphQL answer carries. */
export function fromWire(errors: readonly WireError[], retryAfter?: number): AdalogError {
  const { message, extensions = {} } = errors[0] ?? { message: "the server says nothing of its error" };
  const { code, retryable, line, column, origin, retryAfter: seconds, minBasisT } = extensions;
  return new AdalogError(typeof code === "string" ? code : "GRAPHQL", message, {
    retryable: retryable === true,
    line: typeof line === "number" ? line : undefined,
    column: typeof column === "number" ? column : undefined,
    origin: typeof origin === "string" ? origin : undefined,
    retryAfter: typeof seconds === "number" ? seconds * 1000 : retryAfter,
    minBasisT: typeof minBasisT === "number" || typeof minBasisT === "string" ? minBasisT : undefined,
  });
}

export function network(cause: unknown): AdalogError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AdalogError("NETWORK", `no answer from the server: ${why}`, { retryable: true, cause });
}

/** What comes after back-off: the connection, or the server itself, was at fault and not the request. */
export function isTransient(error: AdalogError): boolean {
  return error.retryable && TRANSIENT.has(error.code);
}

const TRANSIENT = new Set(["NETWORK", "BACKEND_UNAVAILABLE", "RATE_LIMITED"]);
