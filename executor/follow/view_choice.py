"""How a question is kept up to date: the view that suits it, and which questions share one."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Final

from adalog.datalog import ast
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.follow.guarded_view import (
    AllowedByPolicy,
    AllowedChanges,
    GuardedView,
    decided_by,
    followed_with_guards,
)
from adalog.executor.follow.maintained_view import MaintainedView, maintenance_at, moving_source
from adalog.executor.follow.presentation.kept_rows_view import KeptRowsView, all_rows_of
from adalog.executor.follow.recomputed import RECOMPUTED, RecomputedView
from adalog.executor.follow.undated import UndatedQuestion, argument_key, question_of_rows
from adalog.executor.follow.view import LiveView
from adalog.executor.permissions.policies import Policy
from adalog.executor.permissions.rewriting import allowed_by
from adalog.executor.permissions.viewer_rules import NotRewritableError
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.arguments import BasisArgument, matched
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.planner.maintenance import Maintenance
from adalog.planner.scope.outline import outline_of
from adalog.planner.windows import keeps_rows, refusal_of_window, rows_key
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot

MAINTAINED: Final = "maintained"
GUARDED: Final = "policies say what is visible of it"
# A part takes up to a millisecond to be planned: two seconds or so for a query, once.
_MOST_LEAVES: Final = 4_000


def view_key(question: Question) -> Hashable:
    """Equal for questions that one view can keep up to date: all but the values given for variables, and of those
    that show the same rows what they pull of them."""
    request = question.request
    rows = rows_key(question.outline) if keeps_rows(question.query) else None
    # A text and a key of rows are never equal.
    shows = question.text if rows is None else rows
    inputs = matched(question.query, (*request.args, *question.query.args))
    given = (
        argument_key(value) for each, value in inputs if isinstance(each, ast.SourceInput) and value is not None
    )
    options = request.options, request.engine, request.max_rows, request.shown
    ordered = request.ordered or question.query.is_limited
    at = question.snapshot.since_t, question.snapshot.is_history
    return (shows, question.rules, question.relations, *options, ordered, *at, *given)


def feed_key(question: Question, shared: Hashable) -> Hashable:
    """Equal for questions with the same answer at every moment, so with equal values. `shared`: the view's key."""
    return (shared, question.text, *map(argument_key, question.request.args))


def view_of(question: Question, engine: QueryEngine, visible: VisibleMoments | None = None) -> LiveView:
    """The view for all questions with this one's key, without feeds; `visible`: as of its `UndatedQuestion`. Raises
    what planning the question raises."""
    if visible is None:
        chosen = chosen_for(question)
        if isinstance(chosen, str):
            return RecomputedView(UndatedQuestion.of(question), engine)
        return _maintained(question, engine, chosen)
    make = partial(_view_as_seen, engine)
    view, allowed = make(question, visible, Cancel())
    decided = decided_by(visible, followed_with_guards(question), _raw(question.snapshot))
    return GuardedView(engine, visible, make, view, allowed, decided)


def _maintained(question: Question, engine: QueryEngine, chosen: Maintenance) -> LiveView:
    kind = KeptRowsView if keeps_rows(question.query) else MaintainedView
    return kind(question, engine, chosen, moving_source(question))


def _view_as_seen(
    engine: QueryEngine, question: Question, visible: VisibleMoments, cancel: Cancel
) -> tuple[LiveView, AllowedChanges | None]:
    """A view of what a viewer sees; if guards are among its clauses, with what follows these for its pulls."""
    if not isinstance(question.snapshot, GuardedSnapshot):
        return view_of(question, engine), None
    made = followed_with_guards(question)
    chosen = GUARDED if made is None else chosen_for(made)
    if made is None or isinstance(chosen, str):
        return RecomputedView(UndatedQuestion.of(question, visible), engine), None
    pulls = any(isinstance(each, ast.FindPull) for each in question.query.find.elements)
    allowed = _allowed_by_policies(question.snapshot, engine, visible) if pulls else []
    return _maintained(made, engine, chosen), AllowedChanges(allowed)


def _allowed_by_policies(
    view: GuardedSnapshot, engine: QueryEngine, visible: VisibleMoments
) -> list[AllowedByPolicy] | None:
    """What follows all that each policy allows; None where one cannot be followed."""
    guard = visible.guard(view.raw)
    followed: list[AllowedByPolicy] = []
    for policy in () if guard is None else guard.reading:
        rules = policy.rules
        if rules is None:
            continue
        if not rules.enumerable or rules.places != 1:
            return None
        try:
            undated = _asked_of_policy(policy, visible, 0, view.raw)
        except NotRewritableError:
            return None
        question = undated.at(view.raw, lambda: None)
        chosen = chosen_for(question)
        if isinstance(chosen, str):
            return None
        read = partial(visible.permissions.read, policy)
        made = MaintainedView(question, engine, chosen, moving_source(question))
        followed.append(AllowedByPolicy(made, partial(_asked_of_policy, policy), read, bool(rules.claims)))
    return followed


def _asked_of_policy(policy: Policy, visible: VisibleMoments, viewer: int, at: Snapshot) -> UndatedQuestion:
    """Which entities a policy allows to a viewer."""
    view = visible.of(at)
    assert isinstance(view, GuardedSnapshot)
    query, given, lists = allowed_by(policy, view, viewer)
    return UndatedQuestion(QueryRequest(f"policy {policy.key}", given), None, outline_of(query, lists), 0.0)


def _raw(snapshot: Snapshot) -> Snapshot:
    return snapshot.raw if isinstance(snapshot, GuardedSnapshot) else snapshot


def live_of(question: Question) -> dict[str, str | None]:
    """How the changes of an answer are found, for explain: `how`, and the `reason` where it is asked again."""
    if isinstance(question.snapshot, GuardedSnapshot):
        made = followed_with_guards(question)
        chosen = GUARDED if made is None else chosen_for(made)
    else:
        chosen = chosen_for(question)
    if isinstance(chosen, str):
        return {"how": RECOMPUTED, "reason": chosen}
    return {"how": MAINTAINED, "reason": None}


def chosen_for(question: Question) -> Maintenance | str:
    """How a question is maintained, or half a sentence that says why it is not."""
    if not question.snapshot.is_plain:
        return "it is asked of a history, or of what came after some moment"
    for each, given in matched(question.query, (*question.request.args, *question.query.args))[1:]:
        if isinstance(each, ast.SourceInput) and isinstance(given, BasisArgument):
            opened = question.databases[each.name]
            if opened.t >= question.snapshot.t or opened.origin.forgetful:
                return f"{each.name} moves, too"
    if keeps_rows(question.query):
        why = refusal_of_window(question.query) if question.query.is_limited else None
        if why is not None:
            return why
        question = all_rows_of(question_of_rows(question))
    made = maintenance_at(question, moving_source(question))
    if not isinstance(made, Maintenance):
        return made.why
    weight = made.weight
    if weight > _MOST_LEAVES:
        return f"the joins that a change may begin have {weight:,} parts, and at most {_MOST_LEAVES:,} are planned"
    return made
