"""JSON whose objects have each name once and whose texts are Unicode: for tokens, keys and requests that are rare.

https://www.rfc-editor.org/rfc/rfc8259#section-4 leaves open what a repeated name means, so that of two programs
that read the same text one may take the first and the other the last; of claims
https://www.rfc-editor.org/rfc/rfc7519#section-4 has a reader refuse them or take the last.
Half of a surrogate pair is no text that can be stored or answered: https://www.rfc-editor.org/rfc/rfc7493#section-2.1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from adalog.datalog.errors import shown


class RepeatedNameError(ValueError):
    """An object that has a name twice."""


def loaded(text: str | bytes) -> Any:
    """The value of a short text. Raises RepeatedNameError, and ValueError or RecursionError for what is no JSON."""
    found = json.loads(text, object_pairs_hook=unique)
    # Raises UnicodeEncodeError, a ValueError, for half of a surrogate pair.
    json.dumps(found, ensure_ascii=False).encode()
    return found


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of these members. Raises RepeatedNameError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise RepeatedNameError(f'"{shown(twice)}" stands twice in one object')
    return found
