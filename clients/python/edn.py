"""EDN text and Python values.

>>> from adalog import Keyword
>>> read('{:person/name "Ada" :person/tags #{:a}}')
{Keyword(':person/name'): 'Ada', Keyword(':person/tags'): frozenset({Keyword(':a')})}
>>> write([Keyword("person/name"), 1, 2.5, "x", None])
'[:person/name 1 2.5 "x" nil]'
"""

from __future__ import annotations

from typing import Any

from adalog.client.errors import refusing
from adalog.client.given import text_given
from adalog.client.values import from_edn, to_edn
from adalog.datalog import edn


def read(text: str) -> Any:
    """The one value that the text holds: vectors are tuples, maps dicts, sets frozensets. Raises EDN_SYNTAX with
    the place of what is wrong.

    >>> read("[:a 1 2N #{1 2}]")[:2]
    (Keyword(':a'), 1)
    """
    with refusing():
        return from_edn(edn.read(text_given(text, "a value")))


def write(value: Any) -> str:
    """A Python value as EDN text; lists and tuples are vectors. Raises ARG_INVALID for what is no value."""
    with refusing():
        return edn.write(to_edn(value))
