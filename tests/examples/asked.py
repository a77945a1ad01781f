"""The example queries as they lie in `examples/SET/queries`, for the tests that ask them.

`NAME.edn` is a query under a comment that is its title, `NAME.args.edn`, where there is one, its arguments,
`NAME.answer.edn` its answer: a set where the order says nothing, a vector where it does, or `{:error :CODE}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.edn import read, write
from adalog.datalog.values import Keyword
from tests.support import World

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Asked:
    """One example, all of it EDN text."""

    name: str
    query: str
    args: tuple[str, ...]
    answer: str

    def check(self, world: World) -> None:
        answer = read(self.answer)
        refusal = answer.get(Keyword("error")) if hasattr(answer, "get") else None
        if refusal is not None:
            world.refuses(refusal.name, self.query, *self.args)
        else:
            assert world.q(self.query, *self.args) == self.answer


def asked(folder: str) -> list[Any]:
    """The examples of one set, as the parameters of a test."""
    queries = sorted(EXAMPLES.joinpath(folder, "queries").glob("*.answer.edn"))
    return [pytest.param(_read(path), id=path.name.removesuffix(".answer.edn")) for path in queries]


def _read(path: Path) -> Asked:
    name = path.name.removesuffix(".answer.edn")
    args = path.with_name(f"{name}.args.edn")
    return Asked(
        name,
        path.with_name(f"{name}.edn").read_text(encoding="utf-8"),
        tuple(write(arg) for arg in read(args.read_text(encoding="utf-8"))) if args.exists() else (),
        path.read_text(encoding="utf-8"),
    )
