"""Claims of an identity as the relation `(claim ?name ?value)`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adalog.datalog.parsing.policy_rules import ClaimSource
from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, Keyword


def claim_rows(source: ClaimSource, claims: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """The rows of a source: the values of its claim, or the names and values of all."""
    if source.claim is None:
        return tuple((Keyword(name), value) for name, value in flattened(claims))
    return tuple((value,) for name, value in flattened(claims) if name == source.claim)


def flattened(claims: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values: one for each item of a list, those of claims within claims by `a.b`; null is no value."""
    for name, value in claims.items():
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, Mapping):
                yield from flattened(each, f"{prefix}{name}.")
            elif isinstance(each, list | tuple):
                yield from flattened({name: each}, prefix)
            elif each is not None:
                yield f"{prefix}{name}", _number(each)


def _number(value: Any) -> Any:
    """A claim whose integer is beyond 64 bits, as the database has such."""
    return BigInt(value) if type(value) is int and not LONG_MIN <= value <= LONG_MAX else value
