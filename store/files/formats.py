"""The formats of everything that is kept: which of them this version of adalog reads, and which it writes.

A number rises only where an earlier version would misread or spoil what is written from then on; what is merely
added keeps it. Older formats are read as they are, and those of a log are brought up to date when it is opened to
be written to. Newer ones are refused in the one way below, before anything is changed. `docs/how-to/upgrading.md`
says so to users, and `tests/store/log/folders/` has data of earlier versions.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from adalog.datalog.errors import AdalogError, Code

RELEASE: Final = "0.3.0"
"""This version of adalog, as `pyproject.toml` says it; processes elsewhere have this code and no package."""
_RELEASE: Final = re.compile(r"[0-9A-Za-z.+-]{1,40}")


class Format(NamedTuple):
    """The numbers of one format: the oldest that is read, and the newest, which is written."""

    oldest: int
    newest: int


# The log's tables, in SQLite (`PRAGMA user_version`, where 1 is not written yet) and in PostgreSQL; both say in the
# table `schema_version` which release made them so. 2: earlier versions are kept from writing to it, or to a server
# look at the number in each turn. 3: entries with seals, which earlier versions take for damaged.
LOG: Final = Format(1, 3)
# One transaction in the log: the first byte of its payload. 1: compressed. 2: compressed, the first one that needs
# a type which format 1 does not have, or that declares policies, which a reader of format 1 would not enforce.
# 3: an excision, or what one has left of a transaction.
PAYLOAD: Final = Format(0, 3)
# `checkpoint.json`, and those that gateways share. 3: free ids. 4: several files for each attribute.
# 5: written only where the database has such a type, or policies. 6: only after an excision.
CHECKPOINT: Final = Format(2, 6)
# Every file of arrays: relations, runs, dictionaries, young events, and what imports write. The last byte of its
# magic number. 2: written only where a column has fewer bytes for each number than eight. 3: written only where a
# dictionary lacks the placeholders of excised values, which earlier versions would misnumber.
SEGMENT: Final = Format(1, 3)
# `adalog-backups.json` and the file of each backup, which names all other files. 2: entries with seals.
BACKUPS: Final = Format(1, 2)
# `manifest.json` of an export.
EXPORT: Final = Format(1, 1)


class NewerFormat(AdalogError):
    """Something that a later version of adalog wrote; nothing was changed."""


def check_format(form: Format, found: int, what: str, release: Any = None, code: Code = Code.INTERNAL) -> None:
    """Raises NewerFormat for a format that this version does not know. what: where it was found. release: of adalog
    that wrote it, if that is said."""
    if found <= form.newest:
        return
    # Between two releases a format may rise without a number to name.
    known = isinstance(release, str) and release != RELEASE and _RELEASE.fullmatch(release)
    named = release if known else None
    made, needed = ("a later version of adalog", "that version") if named is None else (f"adalog {named}",) * 2
    raise NewerFormat(
        code,
        f"{what} is of format {found}, made by {made}; this is adalog {RELEASE}, which knows formats up to "
        f"{form.newest}. Nothing was changed. Use {needed} or a later one; "
        "docs/how-to/upgrading.md says how to go back",
    )


def check_not_outgrown(found: int, release: Any) -> None:
    """Raises READ_ONLY for a shared log that another process has brought up to a later format."""
    try:
        check_format(LOG, found, "the log", release)
    except NewerFormat as error:
        raise AdalogError(
            Code.READ_ONLY,
            f"nothing was applied: {error.message.partition('. Nothing')[0]}. This process only reads from now on, "
            "as of the last transaction before; replace it by one of that version",
            retryable=True,
        ) from None
