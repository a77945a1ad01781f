"""Whether the rules of a policy can be run: asked before the policy holds."""

from __future__ import annotations

from collections.abc import Callable

from adalog.datalog.diagnostics import Suspicion
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.policy_rules import PolicyRules
from adalog.datalog.values import Keyword
from adalog.datalog.watched import watching
from adalog.executor.permissions.evaluation import PolicyQuestion
from adalog.planner.model.plan import Options
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.suspicions import check_symbols, suspicions
from adalog.store.snapshot.snapshot import Snapshot


def check_rules(rules: PolicyRules, snapshot: Snapshot, check: Callable[[], None]) -> None:
    """Raises UNKNOWN_ATTRIBUTE for attributes that are not declared, and what a query with such rules is refused
    for. `check` is called between the steps."""
    # Of (allow ?e ?a ?v) some attribute is asked about, and any will do.
    asked, databases = PolicyQuestion.of(rules, Keyword("db/ident"), subjects=True), {"$": snapshot}
    check_symbols(asked.outline, databases)
    for each in suspicions(asked.outline, databases):
        if each.code is Suspicion.UNKNOWN_ATTRIBUTE:
            raise AdalogError(Code.UNKNOWN_ATTRIBUTE, each.message, each.position)
    sizes = dict.fromkeys(asked.outline.relations, 1)
    with watching(check):
        plan_query(asked.query, Statistics(databases, sizes, check=check), asked.outline.relations, Options())
