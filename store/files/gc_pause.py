"""A pause of Python's cycle collector, for work that makes a great many objects and no garbage.

The collector would look through all of them again and again while they are made; that is half the cost of a
large pull. Forms, datoms and rows have no cycles, and what is reference-counted is freed as ever.

The first collection after a pause would look through all that was made, and no other thread runs for that
half second. So very many objects are set aside, until few of them are left.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

# Characters of text, or forms, from which on a pause is worth it.
_LARGE: Final = 10_000

# Where such work never ceases, young objects are looked through once in so long: failures do leave garbage.
_LONGEST_SECONDS: Final = 1.0

# For how long very many objects are waited for to go by themselves.
_PATIENCE_SECONDS: Final = 5.0

# Young objects that a collection looks through in about 20 ms.
_MANY: Final = 200_000

# Python's generations of objects that survived one collection, and more.
_MIDDLE: Final = 1
_OLD: Final = 2
# Collections of the middle generation, each of which leaves at most some 15,000 objects on a server.
_FEW_COLLECTIONS: Final = 2

_lock = threading.Lock()
_inside = 0
_resume = False
_since = 0.0
# Whether objects are set aside, beside so many that were frozen before.
_aside = False
_frozen = 0
# Since when there are so many that nothing is collected.
_many_since: float | None = None


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses the collector until the last of those that asked for it is done; safe from several threads."""
    global _inside, _resume, _since
    with _lock:
        if _inside == 0:
            _resume = gc.isenabled()
            _since = time.monotonic()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            many = gc.get_count()[0] > _MANY
            if many:
                _set_aside()
            if _inside == 0 and _resume:
                gc.enable()
            now = time.monotonic()
            overdue = not many and _inside > 0 and _resume and now - _since > _LONGEST_SECONDS
            if overdue:
                _since = now
        if overdue:
            gc.collect(1)


def _set_aside() -> None:
    """Moves all young objects out of the collector's way, which takes no time; with the lock."""
    global _aside, _frozen
    if not _aside:
        _frozen = gc.get_freeze_count()
    gc.freeze()
    if _frozen:
        _aside = True
    else:
        # Nothing was frozen: they can wait among the old ones.
        gc.unfreeze()


def collect(*, whole: bool) -> bool:
    """Collects garbage among what was made since the last time, and of what was set aside. What stays is looked
    through again by a `whole` collection alone, which looks through everything while no other thread runs. So is
    what survived two collections of Python's own in between: where thousands begin to follow live queries, another
    look would hold all threads up for a tenth of a second, and find next to nothing.

    Returns False, and collects nothing, while there are very many objects that are young or set aside; but not for
    longer than some seconds, as they may be garbage that a failure left.
    """
    global _aside, _many_since
    with _lock:
        if gc.get_count()[0] > _MANY or (_aside and gc.get_freeze_count() > _frozen + _MANY):
            now = time.monotonic()
            _many_since = now if _many_since is None else _many_since
            if now - _many_since < _PATIENCE_SECONDS:
                return False
        _many_since = None
        again, _aside = _aside, False
        if again or whole:
            gc.unfreeze()
        gc.collect(_OLD if again or whole else _MIDDLE)
        gc.freeze()
    return True


def spare_old() -> None:
    """Has what survived two collections be looked through by a whole one alone, where that is much. Python would
    look through it as soon as it came to a quarter of what there was before."""
    with _lock:
        if not _aside and gc.get_count()[_OLD] > _FEW_COLLECTIONS:
            gc.collect(_MIDDLE)
            gc.freeze()


_NOTHING: Final = nullcontext()


def put_off(size: int) -> AbstractContextManager[None]:
    """Pauses the collector while something of this size is read, if it is large enough for that to pay."""
    return _NOTHING if size < _LARGE else uncollected()
