"""What a disk says that takes no more, as a refusal."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from adalog.datalog.errors import AdalogError, unavailable

_TAKES_NO_MORE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


def refused_by_disk(error: BaseException) -> AdalogError | None:
    """BACKEND_UNAVAILABLE where the error is a disk's that is full, read-only or broken; None for another error."""
    if isinstance(error, OSError) and error.errno in _TAKES_NO_MORE:
        return unavailable(f"a file could not be written: {error.strerror}")
    return None


@contextmanager
def disk_told() -> Iterator[None]:
    """Raises BACKEND_UNAVAILABLE for such errors."""
    try:
        yield
    except OSError as error:
        refusal = refused_by_disk(error)
        if refusal is None:
            raise
        raise refusal from error
