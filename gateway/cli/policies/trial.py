"""What `adalog policies` asks of a backend: the policies, and what identities see before and after a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.values import EdnMap, Keyword
from adalog.gateway.cli.backend import Backend
from adalog.gateway.cli.output.formats import ResultTable
from adalog.gateway.identity.json_texts import RepeatedNameError, loaded

_COLUMNS = ("name", "roles", "ops", "on", "effect", "rules")
_LISTED = "query ($query: EDN!) { q(query: $query, encoding: PLAIN) { rows } }"
_POLICIES = """[:find (pull ?p [:policy/name :policy/roles :policy/ops :policy/on :policy/effect :policy/rules])
                :where [?p :policy/name]]"""
_TRIED = """query ($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $with: EDN!, $as: AsInput!) {
  before: q(query: $query, args: $args, argsEdn: $argsEdn, as: $as, encoding: EDN) { rows }
  after: q(query: $query, args: $args, argsEdn: $argsEdn, as: $as, with: $with, encoding: EDN) { rows }
}"""


@dataclass(frozen=True, slots=True)
class TriedIdentity:
    """For whom a change is tried. `name`: what it is called in what is printed."""

    name: str
    roles: Sequence[str]
    claims: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TriedChange:
    """What an identity gains and loses, as EDN, and how many rows stay."""

    identity: TriedIdentity
    gained: Sequence[str]
    lost: Sequence[str]
    kept: int

    def lines(self) -> Iterator[str]:
        yield f"{self.identity.name}: {self.kept} stay, {len(self.gained)} gained, {len(self.lost)} lost"
        for sign, rows in (("+", self.gained), ("-", self.lost)):
            yield from (f"{sign} {row}" for row in rows)


def policies_of(backend: Backend) -> ResultTable:
    """All policies that the client may see."""
    maps = [row[0] for row in backend.execute(_LISTED, {"query": _POLICIES})["data"]["q"]["rows"]]
    maps.sort(key=lambda each: str(each[":policy/name"]))
    rows = [[_shown(each.get(f":policy/{name}")) for name in _COLUMNS] for each in maps]
    keys = [Keyword(name) for name in _COLUMNS]
    return ResultTable(
        names=list(_COLUMNS),
        types=["string"] * len(_COLUMNS),
        rows=rows,
        value=tuple(EdnMap(zip(keys, row, strict=True)) for row in rows),
        summary="1 policy" if len(rows) == 1 else f"{len(rows):,} policies",
    )


def as_json(relation: ResultTable) -> list[dict[str, Any]]:
    return [dict(zip(_COLUMNS, row, strict=True)) for row in relation.rows]


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def identities(text: str, name: str) -> list[TriedIdentity]:
    """The identities of a JSON text: the claims of one, or a list of such. name: of the file, for messages."""
    try:
        found = loaded(text)
    except (RepeatedNameError, ValueError, RecursionError) as error:
        raise invalid_argument(f"--as {name} is no JSON of claims: {error}") from None
    several = found if isinstance(found, list) else [found]
    return [_identity(each, name) for each in several]


def _identity(claims: Any, name: str) -> TriedIdentity:
    roles = claims.get("roles", []) if isinstance(claims, dict) else None
    roles = roles.split() if isinstance(roles, str) else roles
    if not isinstance(roles, list) or not all(isinstance(each, str) for each in roles):
        raise invalid_argument(
            f'--as {name} has to hold the claims of an identity, such as {{"sub": "ada", "roles": ["member"]}}, or '
            "a list of them"
        )
    return TriedIdentity(str(claims.get("sub", name)), roles, claims)


def tried(backend: Backend, asked: Mapping[str, Any], tx: str, identity: TriedIdentity) -> TriedChange:
    """What a change of policies does to the answer that an identity gets; nothing is committed."""
    viewer = {"roles": list(identity.roles), "claims": dict(identity.claims)}
    try:
        found = backend.execute(_TRIED, {**asked, "with": tx, "as": viewer})["data"]
    except AdalogError as error:
        raise AdalogError(error.code, f"as {identity.name}: {error.message}", error.position) from None
    before, after = (_rows(found[name]["rows"]) for name in ("before", "after"))
    gained = [row for row in after if row not in before]
    return TriedChange(identity, gained, [row for row in before if row not in after], len(after) - len(gained))


def _rows(rows: Sequence[Any]) -> dict[str, None]:
    """Rows as EDN, in their order."""
    return dict.fromkeys(row if isinstance(row, str) else edn.write(row) for row in rows)
