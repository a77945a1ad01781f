"""adalog: a Datalog database for programs, and the GraphQL gateway over it.

>>> import adalog
>>> with adalog.connect(":memory:") as db:
...     report = db.transact([{"person/name": "Ada", "person/born": 1815}])
...     db.q("[:find ?name ?born :where [?p :person/name ?name] [?p :person/born ?born]]").rows
[('Ada', 1815)]

The packages are links to the folders of the repository (ADR 28). Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from adalog import edn as edn
    from adalog import spark as spark
    from adalog import testing as testing
    from adalog.client.asynchronous import AsyncConnection as AsyncConnection
    from adalog.client.asynchronous import AsyncCurrentDatabase as AsyncCurrentDatabase
    from adalog.client.asynchronous import AsyncDatabase as AsyncDatabase
    from adalog.client.asynchronous import aconnect as aconnect
    from adalog.client.connecting import connect as connect
    from adalog.client.database import Connection as Connection
    from adalog.client.database import CurrentDatabase as CurrentDatabase
    from adalog.client.database import Database as Database
    from adalog.client.errors import Error as Error
    from adalog.client.result import Result as Result
    from adalog.client.values import Keyword as Keyword
    from adalog.client.values import Symbol as Symbol
    from adalog.client.warning import QueryWarning as QueryWarning
    from adalog.datalog.durations import Duration as Duration

_PLACES: Final = {
    "AsyncConnection": "client.asynchronous",
    "AsyncCurrentDatabase": "client.asynchronous",
    "AsyncDatabase": "client.asynchronous",
    "Connection": "client.database",
    "CurrentDatabase": "client.database",
    "Database": "client.database",
    "Duration": "datalog.durations",
    "Error": "client.errors",
    "Keyword": "client.values",
    "QueryWarning": "client.warning",
    "Result": "client.result",
    "Symbol": "client.values",
    "aconnect": "client.asynchronous",
    "connect": "client.connecting",
}
_MODULES: Final = ("edn", "spark", "testing")


if not TYPE_CHECKING:
    # Checkers know all names, and refuse others.
    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"adalog.{name}")
        if name not in _PLACES:
            raise AttributeError(f"module 'adalog' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"adalog.{_PLACES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *_MODULES})
