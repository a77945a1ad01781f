"""How a question is kept up to date: the view that suits it, and which questions share one."""

from __future__ import annotations

from executor.engine import Engine
from executor.maintain.asked import feed_key, view_key
from executor.maintain.compared import Compared
from executor.maintain.view import View
from executor.question.question import Question

__all__ = ["feed_key", "view_key", "view_of"]


def view_of(question: Question, engine: Engine) -> View:
    """The view for a question and all that have its key; nobody follows it yet."""
    return Compared(question, engine, "nothing is maintained yet")
