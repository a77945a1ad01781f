/** What travels: the types of the GraphQL contract that this client reads and writes. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** A 64-bit integer: a number while it is exact in JavaScript, else its digits. */
export type Long = number | string;

/** How values are written: readable, lossless (`{"#kw": "open"}`), or a row as EDN text. */
export type Encoding = "PLAIN" | "TAGGED" | "EDN";

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface Warning {
  readonly code: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** Of a field that cannot carry warnings, `pull` for one. */
export interface FieldWarning extends Warning {
  /** Of the field, as in an error of GraphQL's. */
  readonly path: readonly (string | number)[];
}

/** The database value to read: at most one of `t` and `asOf`; without either, the latest. */
export interface Basis {
  readonly t?: Long;
  readonly asOf?: string;
  readonly since?: Long;
  readonly history?: boolean;
}

/** What the events of all live queries have. */
export interface Event {
  readonly kind: "SNAPSHOT" | "DELTA" | "PROGRESS" | "RESET";
  readonly basisT: Long;
  readonly resume: string;
  readonly columns?: readonly Column[] | null;
  readonly last?: boolean | null;
  readonly reason?: string | null;
  /** On the first event of a stream. */
  readonly warnings?: readonly Warning[] | null;
}

/** An event of the subscription `live`, as the server sends it. */
export interface LiveEvent extends Event {
  readonly rows?: readonly Json[] | null;
  readonly added?: readonly Json[] | null;
  readonly retracted?: readonly Json[] | null;
}

/** A GraphQL request. */
export interface Operation {
  readonly query: string;
  readonly variables: Record<string, unknown>;
  readonly extensions?: Record<string, unknown>;
}

/** A GraphQL answer, or one event of a subscription. */
export interface Answer<Data> {
  readonly data?: Data | null | undefined;
  readonly errors?: readonly WireError[] | undefined;
  readonly extensions?: { readonly warnings?: readonly FieldWarning[] } | undefined;
}

export interface WireError {
  readonly message: string;
  readonly extensions?: { readonly [key: string]: unknown } | undefined;
}

/** Whether the first long is greater; both may be digits. */
export function isAfter(one: Long, other: Long): boolean {
  return typeof one === "number" && typeof other === "number" ? one > other : BigInt(one) > BigInt(other);
}

/** The next transaction's number. */
export function after(t: Long): Long {
  return typeof t === "number" ? t + 1 : String(BigInt(t) + 1n);
}
