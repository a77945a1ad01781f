"""How a question is kept up to date: the view that suits it, and which questions share one."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Final

from adalog.datalog import ast
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.engine import QueryEngine
from adalog.executor.follow.guarded_view import (
    GUARD_FEED,
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
from adalog.executor.permissions.claims import claim_rows
from adalog.executor.permissions.evaluation import PolicyQuestion
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.arguments import BasisArgument, GivenArgument, matched
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.planner.maintenance import Maintenance
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
    return GuardedView(engine, visible, make, view, allowed, decided_by(visible, _raw(question.snapshot)))


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
    views = _views_of_guards(made.snapshot, engine, visible, cancel) if pulls else []
    return _maintained(made, engine, chosen), AllowedChanges(views)


def _views_of_guards(
    at: Snapshot, engine: QueryEngine, visible: VisibleMoments, cancel: Cancel
) -> list[LiveView] | None:
    """Views of all that each policy of a viewer allows; None where one cannot be followed."""
    guard = visible.guard(at)
    views: list[LiveView] = []
    for policy in () if guard is None else guard.reading:
        rules = policy.rules
        if rules is None:
            continue
        if not rules.enumerable or rules.places != 1:
            return None
        args = tuple(GivenArgument(claim_rows(each, visible.viewer.claims), json=True) for each in rules.claims)
        outline = PolicyQuestion.of(rules, None, subjects=False).outline
        undated = UndatedQuestion(QueryRequest(f"policy {policy.key}", args), None, outline, 0.0)
        question = undated.at(at, cancel.check)
        chosen = chosen_for(question)
        if isinstance(chosen, str):
            return None
        view = MaintainedView(question, engine, chosen, moving_source(question))
        view.add(GUARD_FEED, undated, at, cancel)
        views.append(view)
    return views


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
