"""Checks what a transaction says about how long the past of attributes is kept."""

from __future__ import annotations

from collections.abc import Sequence

from adalog.store.state.speculation import ChangedValues
from adalog.store.state.state import DatabaseState
from adalog.store.transact.operations import Paths, invalid
from adalog.store.values import bootstrap, layout
from adalog.store.values.attribute import FIRST_OWN_IDENT
from adalog.store.values.changes import Effect
from adalog.store.values.schema import attribute_from

# Some 270 years, and more transactions than there will be.
_MOST = {bootstrap.RETAIN_DAYS: 100_000, bootstrap.RETAIN_TRANSACTIONS: 1 << 40}
_WRITTEN = (
    "write {:db/ident :sensor/value :db/retainDays 30}, or {:db/ident :db/retention :db/retainDays 30} for all"
)


def check(effects: Sequence[Effect], paths: Paths, state: DatabaseState) -> None:
    """Raises TX_INVALID for what makes no sense. paths: where each datom was written."""
    said = [effect for effect in effects if effect.added and effect.a in bootstrap.RETAINING]
    if not said:
        return
    read, names = ChangedValues(effects, state), bootstrap.RETAINING
    for effect in said:
        path, limit = paths((effect.a, effect.e, effect.v)), names[effect.a]
        most = _MOST.get(effect.a)
        if most is None and effect.v == layout.FALSE:
            raise invalid(f"{limit} is true, or retracted", path)
        if most is not None and not 1 <= effect.v <= most:
            advice = "; :db/noHistory keeps none" if effect.v == 0 else ""
            raise invalid(
                f"{limit} is a number from 1 to {most:,}, not {state.codes.decode(effect.v)}{advice}", path
            )
        own = [name for a, name in names.items() if read(a, effect.e)]
        if len(own) > 1:
            raise invalid(f"{' and '.join(own)} are both given; retract one of them", path)
        ident = next(iter(read(bootstrap.IDENT, effect.e)), None)
        if ident == bootstrap.RETENTION:
            continue
        attribute = attribute_from(effect.e, read, state.codes)
        if attribute is None or effect.e < FIRST_OWN_IDENT:
            shown = "what this is said of" if ident is None else str(ident)
            raise invalid(f"{limit} is of an attribute of your own, and {shown} is none; {_WRITTEN}", path)
        if attribute.kind.no_history:
            raise invalid(f"{ident} has :db/noHistory, and so no past that {limit} could limit", path)
