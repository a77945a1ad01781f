"""What a policy allows to many viewers, found at once: claims are rows of one relation, numbered by viewer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.policy_rules import ALLOW, PolicyRules
from adalog.executor.bounds.running import RUNNING
from adalog.executor.join.batch import Column, Mask
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.evaluation import GuardCancel, GuardedWork, RuleRunner
from adalog.executor.permissions.policies import Policy
from adalog.executor.permissions.viewer_rules import VIEWER, NotRewritableError, of_viewers
from adalog.executor.question.arguments import GivenArgument, matched, settled
from adalog.planner.scope.outline import Outline, outline_of
from adalog.store.snapshot.snapshot import Snapshot

_SUBJECTS: Final = "$subjects"
_VIEWERS: Final = "$viewers"
_ENTITY: Final = ast.Var("?e")
_POLICY: Final = "policy"
# Pairs of a viewer and an entity that are asked about at once.
_PAIRS: Final = 1 << 16
_SECONDS: Final = 2.0


@dataclass(frozen=True)
class _SharedQuestion:
    """The rules of a policy as a query for pairs of a viewer and an entity."""

    rules: PolicyRules
    query: ast.Query
    outline: Outline

    @property
    def key(self) -> str:
        return "shared"

    @staticmethod
    def of(rules: PolicyRules) -> _SharedQuestion:
        """Raises NotRewritableError for rules that can fail."""
        names = [each.source for each in rules.claims]
        own = of_viewers(rules.rules, _POLICY, {name: name for name in names}, (VIEWER,))
        sources = [*names, _VIEWERS, _SUBJECTS]
        query = ast.Query(
            find=ast.Find((ast.FindVar(VIEWER), ast.FindVar(_ENTITY))),
            with_=(),
            inputs=(ast.SourceInput("$"), *map(ast.SourceInput, sources)),
            where=(
                ast.Pattern(ast.Source(_VIEWERS), (VIEWER,)),
                ast.Pattern(ast.Source(_SUBJECTS), (_ENTITY,)),
                ast.RuleCall(f"{_POLICY} {ALLOW}", (VIEWER, _ENTITY), ast.Source()),
            ),
            rules=own,
        )
        return _SharedQuestion(rules, query, outline_of(query, frozenset(sources)))

    def arguments(self, viewers: Sequence[Mapping[str, Any]], state: Snapshot) -> tuple[Any, ...]:
        """The values of the claims of viewers as their places want them, and nothing for the other sources."""
        given: list[Any] = [
            GivenArgument(
                tuple((n, *row) for n, claims in enumerate(viewers) for row in claim_rows(source, claims)),
                json=True,
            )
            for source in self.rules.claims
        ]
        return settled(self.outline, matched(self.query, (*given, (), ())), state).args


def allowed_together(
    runner: RuleRunner, policy: Policy, viewers: Sequence[Mapping[str, Any]], entities: Column, state: Snapshot
) -> Mask | None:
    """bool[viewers, entities]: what a policy with rules for entities allows to identities with these claims, at a
    raw plain state. `entities`: sorted and distinct. None where viewers are to be asked one by one: for many
    entities, for rules that can fail, and where it takes too long or too much memory."""
    rules = policy.rules
    assert rules is not None
    assert rules.places == 1
    at_once = _PAIRS // max(1, len(entities))
    if not at_once:
        return None
    running = RUNNING.get()
    work = GuardedWork(() if running is None else (running,))
    cancel = GuardCancel(time.monotonic() + _SECONDS, work)
    allowed = np.zeros((len(viewers), len(entities)), np.bool_)
    try:
        asked = runner.made((policy.key, "shared"), lambda: _SharedQuestion.of(rules))
        for start in range(0, len(viewers), at_once):
            some = viewers[start : start + at_once]
            given = {_SUBJECTS: [entities], _VIEWERS: [np.arange(len(some), dtype=np.int64)]}
            found = runner.rows(policy.key, asked, asked.arguments(some, state), given, state, cancel)
            places = entities.searchsorted(found.columns[_ENTITY.name])
            allowed[start + found.columns[VIEWER.name], places] = True
    except NotRewritableError:
        return None
    except AdalogError:
        work.check()
        return None
    return allowed
