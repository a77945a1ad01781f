export { createClient } from "./client.js";
export { decimal, duration, Edn, edn, keyword, symbol, uuid } from "./edn.js";
export { AdalogError } from "./errors.js";
export { OptimisticRows } from "./optimistic.js";
