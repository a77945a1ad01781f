"""Pieces of a response, and the budget that its fields share."""

from __future__ import annotations

import orjson
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.schema.request.budget import JsonChunks, Prepaid, RepeatedWork, ResponseBudget, Responses, assembled


def test_fields_draw_from_one_budget() -> None:
    budget = ResponseBudget(100)
    budget.take(60)
    budget.take(40)
    with pytest.raises(AdalogError) as refused:
        budget.take(1)
    assert refused.value.code is Code.LIMIT_EXCEEDED
    assert "ADALOG_RESULT_BYTES" in refused.value.message


def test_what_is_held_until_it_is_written_counts_once() -> None:
    budget = ResponseBudget(100)
    prepaid = Prepaid(budget)
    prepaid.add(60)
    prepaid.take(50)
    prepaid.take(50)
    with pytest.raises(AdalogError):
        budget.take(1)
    with pytest.raises(AdalogError):
        Prepaid(ResponseBudget(100)).add(101)


@pytest.mark.parametrize("parts", [[], [b"1"], [b"1,2", b"", b"3"], [b"", b"1"], [b"1," * 35_000 + b"1"] * 3])
def test_a_list_of_parts(parts: list[bytes]) -> None:
    written = JsonChunks.list_of(parts)
    text = b"".join(written.chunks)
    assert orjson.loads(text) == orjson.loads(b"[" + b",".join(part for part in parts if part) + b"]")
    assert written.nbytes == len(text)
    assert len(written.chunks) <= 2 + max(1, len(parts))


def test_pieces_stand_where_they_belong() -> None:
    rows = JsonChunks((b"[1", b",2]"))
    value = {"data": {"a": rows, "b": [{"c": JsonChunks((b'"\\u0000"',))}, "\x00"], "d": rows}, "errors": []}
    chunks = assembled(value)
    assert b"[1" in chunks
    assert orjson.loads(b"".join(chunks)) == {
        "data": {"a": [1, 2], "b": [{"c": "\x00"}, "\x00"], "d": [1, 2]},
        "errors": [],
    }
    assert assembled({"a": 1}) == [b'{"a":1}']
    with pytest.raises(TypeError):
        assembled({"a": object()})


def test_work_that_is_begun_again_pays_once() -> None:
    budget = ResponseBudget(100)
    held = RepeatedWork(budget.take)
    for taken in (30, 60, 10, 90):
        held.begin()
        for _ in range(taken // 10):
            held.take(10)
    budget.take(10)
    with pytest.raises(AdalogError):
        held.take(1)


MIB = 1 << 20


def test_large_responses_draw_on_what_the_process_has_for_them() -> None:
    responses = Responses(32 * MIB)
    one, other = (ResponseBudget(64 * MIB, responses, name) for name in ("ann", "ben"))
    one.take(100_000)
    assert responses.held == 0, "a small one is sent whatever others hold"
    one.take(15 * MIB)
    assert responses.held >= 15 * MIB - 256 * 1024
    with pytest.raises(AdalogError) as refused:
        one.take(2 * MIB)
    assert (refused.value.code, refused.value.retryable) == (Code.RATE_LIMITED, True)
    other.take(15 * MIB)
    ResponseBudget(64 * MIB, responses, "ann").take(200_000)
    with pytest.raises(AdalogError):
        ResponseBudget(64 * MIB, responses, "cid").take(4 * MIB)
    for each in (one, other):
        each.close()
        each.close()
    assert responses.held == 0
    one.take(MIB)
    assert responses.held == 0, "nobody will send it any more"
