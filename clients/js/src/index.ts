export { createClient } from "./client.js";
export type { Client, ClientOptions, GraphqlOptions, QueryOptions, QueryResult, TransactOptions, TxReport } from "./client.js";
export { decimal, Edn, edn, keyword, symbol, uuid } from "./edn.js";
export { AdalogError } from "./errors.js";
export type { LiveChange, LiveOptions, LiveQuery, LiveState, LiveStatus } from "./live.js";
export type { Datom, LogEntry, LogOptions } from "./log.js";
export type { RowKey } from "./rows.js";
export type { WebSocketClient } from "./transport.js";
export type { Basis, Column, Encoding, FieldWarning, Json, Long, Warning } from "./wire.js";
