"""Two gateways whose databases differ in what their clients may not see: they answer alike, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.permissions.writes.tracker import Tracker, tracker

# Of the moment, and not of the answer.
_REQUEST_ID = "x-request-id"
_INSTANT = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]{8,12}Z")
_Q = "query($q: EDN!, $basis: BasisInput) { q(query: $q, basis: $basis) { value rows warnings { code message } } }"


class Twins:
    def __init__(self, one: Tracker, other: Tracker) -> None:
        self.both = one, other

    def said(self, who: str, document: str, **variables: Any) -> list[httpx.Response]:
        headers = {"authorization": f"Bearer {who}"}
        return [each.server.post(document, headers, **variables) for each in self.both]

    def answer(self, who: str, document: str, **variables: Any) -> Any:
        """What both answer to one who may not see what differs."""
        one, other = self.said(who, document, **variables)
        assert _bytes(one) == _bytes(other), f"{document} {variables}"
        return json.loads(one.content)

    def hidden(self, document: str, **variables: Any) -> Any:
        """What both answer to ada; it is not what they answer to an admin, whom they answer differently."""
        assert len({each.content for each in self.said("root", document, **variables)}) == 2, (
            f"{document} {variables}"
        )
        self.answer("eve", document, **variables)
        return self.answer("ada", document, **variables)

    def query(self, query: str, **variables: Any) -> Any:
        """The value of a query for ada, or the code of its error."""
        found = self.hidden(_Q, q=query, **variables)
        return found["data"]["q"]["value"] if "errors" not in found else found["errors"][0]["extensions"]["code"]

    def transact(self, who: str, tx: str, **more: Any) -> Any:
        """(code, message) of what both refuse, or the report of both."""
        document = "mutation($tx: EDN!, $key: String) { transact(tx: $tx, idempotencyKey: $key) "
        found = self.answer(who, document + "{ tempids datoms { e a v added } } }", tx=tx, **more)
        if "errors" in found:
            return found["errors"][0]["extensions"]["code"], found["errors"][0]["message"]
        return found["data"]["transact"]


def _bytes(answer: httpx.Response) -> tuple[Any, ...]:
    headers = {name: value for name, value in answer.headers.items() if name != _REQUEST_ID}
    return answer.status_code, headers, _INSTANT.sub(b"", answer.content)


@contextmanager
def twins(folder: Path, one: list[str], other: list[str]) -> Iterator[Twins]:
    """The tracker twice, each with transactions of its own."""
    assert len(one) == len(other), "both have the same times"
    with ExitStack() as stack:
        both = []
        for number, texts in enumerate((one, other)):
            (own := folder / str(number)).mkdir()
            both.append(stack.enter_context(tracker(own, *texts)))
        yield Twins(*both)
