"""A refused response leaves nothing: what its other fields came to is not kept until the next great collection."""

from __future__ import annotations

import gc
from typing import Any

from adalog.gateway.settings.config import Settings
from adalog.schema.request.budget import JsonChunks
from tests.gateway.support import gateway

NUMBERS = "[" + " ".join(f"[:db/add {i} :n/value {i}]" for i in range(1, 3001)) + "]"
FIELDS = " ".join(f'f{n}: q(query: "[:find ?e ?v :where [?e :n/value ?v]]") {{ rows }}' for n in range(10))


def alive() -> list[Any]:
    return [each for each in gc.get_objects() if type(each) is JsonChunks]


def test_a_response_that_passes_its_budget_leaves_nothing() -> None:
    settings = Settings(data=":memory:", result_bytes=200_000)
    with gateway(settings, NUMBERS) as small:
        assert small.post("{" + FIELDS + "}").json()["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                small.post("{" + FIELDS + "}")
            # What other threads still write ends meanwhile.
            for _ in range(1_000):
                small.post("{ database { basisT } }")
                if not alive():
                    break
            assert not alive()
        finally:
            gc.enable()
