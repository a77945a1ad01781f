// The package's own types are not exported by its package.json.
declare module "@nextjournal/lezer-clojure" {
  import type { LRParser } from "@lezer/lr";
  export const parser: LRParser;
}
