"""`connect`: from a place to a connection."""

from __future__ import annotations

import os

from adalog.client.database import Connection
from adalog.client.errors import refusing
from adalog.datalog.errors import invalid_argument


def connect(place: str | os.PathLike[str], *, token: str | None = None) -> Connection:
    """A connection to a database. `place`: a folder, made if need be; `:memory:`; `postgresql://…`, a log that
    several processes share; `http://…` or `https://…`, a served adalog, with its token.

    One connection serves all threads. After a fork the child connects anew.

    >>> import adalog
    >>> with adalog.connect(":memory:") as db:
    ...     db.q("[:find ?x . :in $ ?x]", 7).value
    7
    """
    with refusing():
        name = os.fspath(place)
        if not name:
            raise invalid_argument("an empty text is no place of a database; name a folder, :memory: or an address")
        if name.startswith(("http://", "https://")):
            from adalog.client.http.remote import RemoteBackend

            return Connection(RemoteBackend(name, token))
        if token is not None:
            raise invalid_argument(f"a token is for http:// and https://, and {name!r} is opened in this process")
        from adalog.client.local import LocalBackend

        return Connection(LocalBackend(name))
