"""Random typed mutations against `transact` on a twin database: the same datoms or the same refusal."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import TxReport
from tests.typed.mutating import mutate
from tests.typed.tracker import Tracker, tracker_texts

UNIQUE = {
    each: Keyword(each)
    for each in ("user/id", "issue/id", "comment/id", "label/name", "project/key", "issue/number")
}
LABELS = ("bug", "idea", "docs", "new", "newer")


def _issue(number: int) -> UUID:
    return UUID(f"00000000-0000-4000-8000-0000000001{number:02}")


def _user(number: int) -> UUID:
    return UUID(f"00000000-0000-4000-8000-00000000000{number}")


def _text(value: Any) -> str:
    match value:
        case UUID():
            return f'#uuid "{value}"'
        case str():
            return f'"{value}"'
    return str(value)


class Twin:
    """Says in EDN what a typed mutation should do. It asks the database with lookup refs alone."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.created: list[tuple[str, Any]] = []
        self.forms: list[str] = []
        self.announced: set[tuple[str, Any]] = set()

    def announce(self, attribute: str, given: Any) -> None:
        """Notes what an input creates, which may be connected anywhere in it."""
        if isinstance(given, dict):
            for name, each in given.items():
                inner = {
                    "labels": "label/name",
                    "comments": "comment/id",
                    "assignee": "user/id",
                    "author": "user/id",
                }
                self.announce(inner.get(name, attribute), each)
                if name == "create":
                    for one in each if isinstance(each, list) else [each]:
                        self.announced.add((attribute, one["name" if attribute == "label/name" else "key"]))
        elif isinstance(given, list):
            for each in given:
                self.announce(attribute, each)

    def entity(self, attribute: str, value: Any) -> Any:
        if (attribute, value) in self.announced:
            return f'"{attribute} {value}"'
        found = self.database.snapshot().entid((Keyword(attribute), value))
        if found is None:
            raise AdalogError(Code.TX_INVALID, "not there")
        return found

    def new(self, attribute: str, value: Any) -> str:
        if (attribute, value) in self.created or self.database.snapshot().entid((Keyword(attribute), value)):
            raise AdalogError(Code.UNIQUE_CONFLICT, "there already")
        self.created.append((attribute, value))
        return f'"{attribute} {value}"'

    def add(self, e: Any, attribute: str, v: Any) -> None:
        self.forms.append(f"[:db/add {e} :{attribute} {v}]")

    def retract(self, e: Any, attribute: str, v: Any = "") -> None:
        self.forms.append(f"[:db/retract {e} :{attribute} {v}]")

    def labels(self, e: Any, given: dict[str, Any] | None) -> None:
        if (given is None or "set" in given) and isinstance(e, int):
            self.retract(e, "issue/labels")
        for each in (given or {}).get("set", ()):
            self.add(e, "issue/labels", self.entity("label/name", each["name"]))
        for each in (given or {}).get("disconnect", ()):
            other = self.entity("label/name", each["name"])
            if isinstance(e, int) and isinstance(other, int):
                self.retract(e, "issue/labels", other)
        for each in (given or {}).get("connect", ()):
            self.add(e, "issue/labels", self.entity("label/name", each["name"]))
        for each in (given or {}).get("create", ()):
            other = self.new("label/name", each["name"])
            self.add(other, "label/name", _text(each["name"]))
            self.add(e, "issue/labels", other)

    def comments(self, e: Any, given: dict[str, Any]) -> None:
        if "set" in given and isinstance(e, int):
            snapshot = self.database.snapshot()
            attribute = snapshot.attribute(Keyword("comment/issue"))
            assert attribute is not None
            for other in snapshot.ve(attribute).row(e).tolist():
                self.retract(other, "comment/issue", e)
        for each in given.get("create", ()):
            other = self.new("comment/id", each["key"])
            self.add(other, "comment/id", _text(each["key"]))
            self.add(other, "comment/body", _text(each["body"]))
            self.person(other, "comment/author", each["author"])
            self.add(other, "comment/issue", e)

    def person(self, e: Any, attribute: str, given: dict[str, Any] | None) -> None:
        if given is None or given.get("disconnect"):
            if isinstance(e, int):
                self.retract(e, attribute)
        elif "connect" in given:
            self.add(e, attribute, self.entity("user/id", given["connect"]["key"]))
        elif "create" in given:
            other = self.new("user/id", given["create"]["key"])
            self.add(other, "user/id", _text(given["create"]["key"]))
            for name in given["create"]["nickname"]:
                self.add(other, "user/nickname", _text(name))
            self.add(e, attribute, other)

    def issue(self, e: Any, given: dict[str, Any]) -> None:
        for name, value in given.items():
            if name == "labels":
                self.labels(e, value)
            elif name == "comments":
                self.comments(e, value)
            elif name == "assignee":
                self.person(e, "issue/assignee", value)
            elif name == "status":
                self.add(e, "issue/status", f":status/{value.lower()}")
            elif value is not None:
                self.add(e, f"issue/{'id' if name == 'key' else name}", _text(value))
            elif isinstance(e, int):
                self.retract(e, f"issue/{name}")

    def apply(self, root: str, given: dict[str, Any]) -> TxReport:
        self.created, self.forms, self.announced = [], [], set()
        self.announce("", given)
        if root in ("create", "upsert"):
            key = given["input"]["key"]
            known = self.database.snapshot().entid((UNIQUE["issue/id"], key)) if root == "upsert" else None
            self.issue(self.new("issue/id", key) if known is None else known, given["input"])
        elif root in ("update", "delete"):
            ((name, value),) = given["by"].items()
            e = self.entity("issue/id" if name == "key" else "issue/number", value)
            if root == "delete":
                self.forms.append(f"[:db/retractEntity {e}]")
            else:
                self.issue(e, given["set"])
        else:
            snapshot = self.database.snapshot()
            attribute = snapshot.attribute(Keyword("issue/points"))
            assert attribute is not None
            code = snapshot.value_code(attribute, given["where"]["points"]["eq"])
            found = [] if code is None else snapshot.ve(attribute).row(code).tolist()
            if len(found) != given["expected"]:
                raise AdalogError(Code.TX_INVALID, "as many")
            for e in found:
                if root == "delete_many":
                    self.forms.append(f"[:db/retractEntity {e}]")
                else:
                    self.issue(e, given["set"])
        return self.database.transact(f"[{' '.join(self.forms)}]")


class Inputs:
    """Random arguments."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.comment = 300

    def some(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def likely(self, chance: float = 0.4) -> bool:
        return self.random.random() < chance

    def labels(self, *, there: bool) -> dict[str, Any]:
        names = [{"name": each} for each in LABELS]
        found: dict[str, Any] = {}
        for verb in ("set", "disconnect", "connect", "create") if there else ("connect", "create"):
            if self.likely(0.3):
                found[verb] = [self.some(names) for _ in range(self.random.randint(0, 2))]
        return found

    def person(self, *, there: bool) -> dict[str, Any]:
        key = _user(self.random.randint(1, 6))
        if there and self.likely(0.2):
            return {"disconnect": True}
        if self.likely(0.6):
            return {"connect": {"key": key}}
        return {"create": {"key": key, "nickname": self.some([[], ["x"], ["x", "y"]])}}

    def issue(self, *, there: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.likely():
            found["title"] = self.some([None, "a", "b", ""])
        if self.likely():
            found["points"] = self.some([None, 1, 3, 5])
        if self.likely():
            found["status"] = self.some(["OPEN", "DONE"])
        if self.likely():
            found["labels"] = self.labels(there=there)
        if self.likely():
            found["assignee"] = None if there and self.likely(0.2) else self.person(there=there)
        if self.likely(0.3):
            self.comment += 1
            key = UUID(int=self.comment if self.likely(0.9) else 1)
            found["comments"] = {"create": [{"key": key, "body": "b", "author": self.person(there=False)}]}
            if there and self.likely():
                found["comments"]["set"] = []
        return found

    def mutation(self) -> tuple[Any, dict[str, Any]]:
        root = self.some(("create", "upsert", "update", "update", "delete", "update_many", "delete_many"))
        key = _issue(self.random.randint(1, 12))
        if root in ("create", "upsert"):
            return root, {"input": {"key": key, **self.issue(there=root == "upsert")}}
        if root in ("update", "delete"):
            by = {"key": key} if self.likely(0.7) else {"number": self.random.randint(1, 7)}
            return root, {"by": by} | ({"set": self.issue(there=True)} if root == "update" else {})
        where = {"points": {"eq": self.some([1, 3, 5])}}
        given: dict[str, Any] = {"where": where, "expected": self.random.randint(0, 3)}
        if root == "update_many":
            given["set"] = {name: each for name, each in self.issue(there=True).items() if name != "comments"}
        return root, given


def _named(snapshot: Snapshot) -> dict[int, tuple[str, Any]]:
    """Entities by what is unique of them."""
    found: dict[int, tuple[str, Any]] = {}
    for name, ident in UNIQUE.items():
        attribute = snapshot.attribute(ident)
        assert attribute is not None
        rows = snapshot.columns(attribute)
        values = snapshot.codes.decode_many(rows.v)
        found = {e: (name, value) for e, value in zip(rows.e.tolist(), values, strict=True)} | found
    return found


def _datoms(database: Database, report: TxReport) -> set[tuple[Any, ...]]:
    named = _named(database.at(t=report.basis_before)) | _named(database.snapshot())
    refs = {each.ident for each in database.snapshot().attributes() if each.is_ref}
    return {
        (named.get(d.e, d.e), d.a, named.get(d.v, d.v) if d.a in refs else repr(d.v), d.added)
        for d in report.datoms[1:]
    }


def _outcome(apply: Callable[..., TxReport], *given: Any, **named: Any) -> TxReport | Code:
    try:
        report = apply(*given, **named)
    except AdalogError as error:
        return error.code
    return report


@pytest.mark.parametrize("seed", range(2))
def test_a_typed_mutation_does_what_transact_does(seed: int) -> None:
    inputs, refused = Inputs(seed), 0
    with Tracker.opened(*tracker_texts()) as typed, Tracker.opened(*tracker_texts()) as plain:
        twin = Twin(plain.database)
        for _ in range(120):
            root, given = inputs.mutation()
            made = _outcome(mutate, typed, root, "Issue", **given)
            wanted = _outcome(twin.apply, root, given)
            if isinstance(made, Code) or isinstance(wanted, Code):
                # Of several mistakes either may be told first.
                either = {made, wanted} == {Code.TX_INVALID, Code.UNIQUE_CONFLICT}
                assert made == wanted or either, (root, given)
                refused += 1
            else:
                assert _datoms(typed.database, made) == _datoms(plain.database, wanted), (root, given)
                assert made.t == wanted.t
    assert 20 < refused < 100
