"""`:person/friend+` and `:person/friend*` in the place of an attribute: transitive closures of refs."""

from __future__ import annotations

from dataclasses import dataclass

from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PathName:
    """`step`: the attribute that a path repeats. `reflexive`: a path of no step is one, too."""

    step: Keyword
    reflexive: bool

    @staticmethod
    def of(attribute: object) -> PathName | None:
        """What a name is as a path; None for any other. An attribute that is really named so wins."""
        if not isinstance(attribute, Keyword) or attribute.name[-1] not in "+*" or len(attribute.local) < 2:
            return None
        return PathName(Keyword(attribute.name[:-1]), attribute.name[-1] == "*")


def path_in(database: Snapshot, attribute: object) -> PathName | None:
    """What a name is as a path over refs of a database; None also where an attribute is really named so."""
    path = PathName.of(attribute)
    if path is None or not isinstance(attribute, Keyword) or database.attribute(attribute):
        return None
    step = database.attribute(path.step)
    return path if step is not None and step.is_ref else None
