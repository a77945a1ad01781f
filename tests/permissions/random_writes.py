"""Random writes to the databases of `random_worlds`, of every form, and policies that grant some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from adalog.datalog.values import Keyword
from tests.permissions.conditions import Has, Is, Lacks, RandomPolicy
from tests.permissions.random_worlds import CODES, ENTITIES, STATES, USERS, VALUES

_OPS: Final = (
    *[(":read", ":create", ":update", ":delete")] * 3,
    *((":read",), (":read", ":update"), (":read", ":create"), (":update", ":delete"), (":create", ":update")),
)
_NAMES: Final = (
    *[str(each) for each in (*ENTITIES, *ENTITIES, *USERS)],
    *(
        '"new"',
        '"new"',
        '"other"',
        "-1",
        "31",
        "5000",
        '"datomic.tx"',
        ":state/open",
        ":doc/title",
        ":policy/enforcement",
    ),
    *('[:doc/code "c1"]', '[:doc/code "c2"]', '[:doc/code "c3"]', '[:user/id "u1"]', "[:user/mark 121]"),
)
_WRITTEN: Final = (
    ":doc/title",
    ":doc/code",
    ":num/n",
    ":loose",
    ":tag",
    ":doc/part",
    ":doc/owner",
    ":group/members",
)
_STRANGE: Final = (":nowhere/x", ":policy/name", ":db/doc", ":doc/key", ":tx/why", ":db/ident")
_REFS: Final = (":doc/parent", ":doc/part", ":doc/owner", ":tag/on", ":group/members", ":group/parent")
_COUNTED: Final = (":doc/rank", ":num/n", ":loose", ":user/mark")


def writable(rng: Random, policies: Sequence[RandomPolicy]) -> list[RandomPolicy]:
    """The policies, some of which grant writes as well, or alone, and mostly one of what much can be written by."""
    made = [replace(each, ops=rng.choice(_OPS), required=each.required and rng.random() < 0.3) for each in policies]
    if rng.random() < 0.8:
        condition = rng.choice((None, [Has(":doc/title")], [Lacks(Is(":doc/kind", Keyword("open")))]))
        made.append(RandomPolicy("writers", (":*",), _WRITTEN, condition, required=False, ops=_OPS[0]))
    return made


class Writer:
    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def one(self, *options: str) -> str:
        return self.rng.choice(options)

    def transaction(self) -> str:
        return f"[{' '.join(self.form() for _ in range(self.rng.choice((1, 1, 1, 1, 2, 3))))}]"

    def form(self) -> str:
        e, (a, v) = self.one(*_NAMES), self.datom()
        draw = self.rng.random()
        if draw < 0.3:
            return f"[:db/add {e} {a} {v}]"
        if draw < 0.4:
            return f"[:db/retract {e} {a} {v}]"
        if draw < 0.45:
            return f"[:db/retract {e} {a}]"
        if draw < 0.52:
            return f"[:db/retractEntity {e}]"
        if draw < 0.6:
            return f"[:db/cas {e} {a} {self.one('nil', v, self.value(a))} {self.value(a)}]"
        if draw < 0.66:
            return self.call(e)
        return self.map(e)

    def call(self, e: str) -> str:
        a = self.one(*_COUNTED)
        ref = self.one(*_REFS)
        return self.one(
            f"[:db.fn/inc {e} {a}]",
            f"[:db.fn/inc {e} {a} -1]",
            f"[:db.fn/default {e} {a} 2]",
            f"[:db.fn/default {e} {ref} {self.one(*_NAMES)}]",
            f"[:db.fn/retractAttribute {e} {ref}]",
        )

    def map(self, e: str) -> str:
        """A map: an upsert, a nested map, a reverse reference, or a plain one."""
        (a, v), (b, w) = self.datom(), self.datom()
        parts = {a: v, b: w}
        draw = self.rng.random()
        if draw < 0.35:
            parts[self.one(":doc/code", ":doc/code", ":user/id")] = self.one(*CODES.values(), '"u1"', '"u7"')
        elif draw < 0.55:
            parts[":doc/part"] = f"[{{:doc/title {self.value(':doc/title')} {a} {v}}}]"
        elif draw < 0.7:
            parts[self.one(":tag/_on", ":doc/_part", ":group/_members")] = self.one(*_NAMES)
        if draw > 0.2:
            parts[":db/id"] = e
        return f"{{{' '.join(f'{name} {value}' for name, value in parts.items())}}}"

    def datom(self) -> tuple[str, str]:
        draw = self.rng.random()
        if draw < 0.04:
            return self.one(*_STRANGE), self.one("1", '"x"', ":y")
        if draw < 0.1:
            return ":doc/code", self.one(*CODES.values())
        if draw < 0.12:
            return ":user/mark", self.one("121", "122", "7")
        a = self.one(*VALUES, *(each for each in _WRITTEN * 2 if each in VALUES))
        return a, self.value(a)

    def value(self, a: str) -> str:
        if a in _REFS and self.rng.random() < 0.4:
            return self.one(*_NAMES)
        if a == ":doc/code":
            return self.one(*CODES.values())
        return self.one(*VALUES.get(a, ("1", '"x"', *STATES)))
