"""The GraphQL documents that the library sends."""

from __future__ import annotations

from typing import Final

_WARNINGS: Final = "warnings { code message line column }"
_READ: Final = "$basis: BasisInput, $with: EDN, $withArgs: JSON, $timeoutMs: Int"
_READING: Final = "basis: $basis, with: $with, withArgs: $withArgs, timeoutMs: $timeoutMs"
Q: Final = f"""query ($query: EDN!, $args: [JSON!], {_READ}, $as: AsInput) {{
  q(query: $query, args: $args, {_READING}, as: $as) {{ arrow basisT {_WARNINGS} }}
}}"""
EXPLAIN: Final = f"""query ($query: EDN!, $args: [JSON!], {_READ}, $as: AsInput, $analyze: Boolean) {{
  explain(query: $query, args: $args, {_READING}, as: $as, analyze: $analyze) {{ text plan {_WARNINGS} }}
}}"""
WHY: Final = f"""query ($query: EDN!, $args: [JSON!], $row: [JSON]!, {_READ}, $as: AsInput) {{
  why(query: $query, args: $args, row: $row, {_READING}, as: $as)
}}"""
PULL: Final = f"""query ($pattern: EDN!, $eid: EDN!, {_READ}, $as: AsInput) {{
  pull(pattern: $pattern, eid: $eid, {_READING}, as: $as, encoding: TAGGED)
}}"""
PULL_MANY: Final = f"""query ($pattern: EDN!, $eids: [EDN!]!, {_READ}, $as: AsInput) {{
  pullMany(pattern: $pattern, eids: $eids, {_READING}, as: $as, encoding: TAGGED)
}}"""
DATOMS: Final = f"""query ($index: Index!, $components: [EDN!], $first: Int, $after: String, {_READ},
    $as: AsInput) {{
  datoms(index: $index, components: $components, first: $first, after: $after, {_READING}, as: $as,
      encoding: TAGGED) {{
    datoms {{ e a v t added }} pageInfo {{ hasNextPage endCursor }}
  }}
}}"""
ATTRIBUTES: Final = """query ($as: AsInput) {
  attributes(as: $as) { ident valueType cardinality unique isComponent doc datomCount }
}"""
NEWEST: Final = "{ database { basisT } }"
_REPORT: Final = f"t basisBefore txInstant tempids datoms {{ e a v t added }} {_WARNINGS}"
_CONDITIONS: Final = "expectedBasisT: $expectedBasisT, idempotencyKey: $idempotencyKey, encoding: TAGGED"
# Without `as` a server has a shorter way for it.
TRANSACT: Final = f"""mutation ($tx: EDN!, $args: JSON, $expectedBasisT: Long, $idempotencyKey: String) {{
  transact(tx: $tx, args: $args, {_CONDITIONS}) {{ {_REPORT} }}
}}"""
TRANSACT_AS: Final = f"""mutation ($tx: EDN!, $args: JSON, $expectedBasisT: Long, $idempotencyKey: String,
    $as: AsInput) {{
  transact(tx: $tx, args: $args, {_CONDITIONS}, as: $as) {{ {_REPORT} }}
}}"""
TRANSACT_JSON: Final = f"""mutation ($tx: [JSON!]!, $expectedBasisT: Long, $idempotencyKey: String,
    $as: AsInput) {{
  transactJson(tx: $tx, {_CONDITIONS}, as: $as) {{ {_REPORT} }}
}}"""
REVERT: Final = f"""mutation ($t: Long!, $expectedBasisT: Long, $idempotencyKey: String, $as: AsInput) {{
  revert(t: $t, {_CONDITIONS}, as: $as) {{ {_REPORT} }}
}}"""
LIVE: Final = """subscription ($query: EDN!, $args: [JSON!], $resume: String, $fromT: Long, $as: AsInput) {
  live(query: $query, args: $args, resume: $resume, fromT: $fromT, encoding: TAGGED, as: $as) {
    kind basisT resume columns { name type } rows added retracted last reason
  }
}"""
