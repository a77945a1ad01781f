"""What the field `whyVisible` says: what policies show of one entity to others, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adalog.datalog.errors import invalid_argument, shown
from adalog.executor.permissions.reasons import reasons
from adalog.schema.arguments.entities import entity_of

if TYPE_CHECKING:
    from adalog.executor.bounds.cancel import Cancel
    from adalog.executor.pool import Pool
    from adalog.schema.request.visible_database import VisibleDatabase


def why_visible(pool: Pool, visible: VisibleDatabase, text: str, cancel: Cancel) -> dict[str, Any]:
    """`visible`: the database as the viewer sees it whom an admin asks for. Raises what is wrong with the text of
    the entity."""
    now = visible.raw.snapshot()
    entity = now.entid(entity_of(text, "entity", now))
    if entity is None:
        raise invalid_argument(f"entity: there is no {shown(text)}")
    guard = visible.guard
    if guard is None:
        return {"entity": entity, "everything": "no policy is enforced, or the roles have admin among them"}
    return reasons(guard, entity, pool.memory, cancel)
