"""The argument `as`: for whom an admin asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import strawberry

from adalog.datalog.errors import invalid_argument, quoted
from adalog.executor.permissions.grants import Viewer
from adalog.schema.writing.scalars import JSON

if TYPE_CHECKING:
    from adalog.schema.request.context import Context
    from adalog.schema.request.visible_database import VisibleDatabase


@strawberry.input
class AsInput:
    claims: JSON
    roles: list[str]


# GraphQL's `as`, which Python keeps for itself.
As = Annotated[AsInput | None, strawberry.argument(name="as")]
AsGiven = Annotated[AsInput, strawberry.argument(name="as")]


def visible_as(context: Context, given: AsInput | None) -> VisibleDatabase:
    """The database that a field reads. Raises FORBIDDEN for those who may not ask for others, and ARG_INVALID."""
    return context.visible_to(viewer_given(given))


def visible_as_named(context: Context, given: Mapping[str, Any] | None) -> VisibleDatabase:
    """The same for the argument of a typed field."""
    return context.visible_to(viewer_named(given))


def viewer_given(given: AsInput | None) -> Viewer | None:
    """The viewer of the argument, if it is given. Raises ARG_INVALID."""
    return None if given is None else _viewer(given.claims, given.roles)


def viewer_named(given: Mapping[str, Any] | None) -> Viewer | None:
    """The same where it is read as GraphQL has it."""
    return None if given is None else _viewer(given["claims"], given["roles"])


def _viewer(claims: Any, roles: list[str]) -> Viewer:
    if not isinstance(claims, Mapping):
        raise invalid_argument(f'as.claims is an object of claims, e.g. {{sub: "ada"}}, not {quoted(claims)}')
    return Viewer(frozenset(roles), claims)
