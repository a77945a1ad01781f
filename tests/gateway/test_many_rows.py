"""Answers of some hundred rows and more, which are made and written where the request was read, are those of the
usual way, byte for byte; longer ones are handed on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

from adalog.datalog import edn
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.kernels.loading import SMALL_JOIN
from adalog.gateway.settings.config import Settings
from adalog.schema.writing import code_texts
from adalog.schema.writing.code_texts import CodeTexts
from adalog.schema.writing.encoding import Encoding, encode
from adalog.store.database import Database
from tests.gateway.support import Gateway, gateway
from tests.gateway.test_plain_questions import ROWS, SHOWN, at_once, both

DECLARED = """
[{:db/ident :x/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity}
 {:db/ident :x/of :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}
 {:db/ident :x/group :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :x/long :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :x/double :db/valueType :db.type/double :db/cardinality :db.cardinality/many}]
"""
NAMES = "[:find ?m :in $ ?n :where [?e :x/name ?n] [?e :x/of ?d] [?d :x/name ?m]]"
GROUPS = "[:find ?g :in $ ?n :where [?e :x/name ?n] [?e :x/of ?d] [?d :x/group ?g]]"
WIDE = "[:find ?m ?d ?g :in $ ?n :where [?e :x/name ?n] [?e :x/of ?d] [?d :x/name ?m] [?d :x/group ?g]]"
SORTED = f"{NAMES[:-1]} :order-by ?m :limit 300]"
PULLED = "[:find (pull ?d [:x/name]) :in $ ?n :where [?e :x/name ?n] [?e :x/of ?d]]"
REACHED = """[:find ?m :in $ ?n :where [?e :x/name ?n] (reached ?e ?d) [?d :x/name ?m]
              :rules [[(reached ?a ?b) [?a :x/of ?b]] [(reached ?a ?c) (reached ?a ?b) [?b :x/of ?c]]]]"""
OF_LONGS = "[:find ?v :in $ ?n :where [?e :x/name ?n] [?e :x/long ?v]]"
OF_DOUBLES = "[:find ?v ?n :in $ ?n :where [?e :x/name ?n] [?e :x/double ?v]]"
TEXTS = (NAMES, GROUPS, WIDE, SORTED, PULLED, REACHED, OF_LONGS, OF_DOUBLES)
SIZES = {"few": 3, "some": 255, "hundreds": 257, "many": 1_200, "most": 2_047, "more": 2_100}
LONGS = [0, -1, 2**53, -(2**53), 2**53 - 1, 2**60, -(2**63), 2**63 - 1, *range(1_000, 1_300)]
DOUBLES = [0.5, 1e300, float("inf"), -0.25, *(i / 8 for i in range(400))]


def data(most: int = 2_100) -> str:
    forms = [f'{{:db/id "d{i}" :x/name "item {i} é" :x/group {i % 7}}}' for i in range(most)]
    for name, size in SIZES.items():
        refs = " ".join(f'"d{i}"' for i in range(min(size, most)))
        forms.append(f'{{:x/name "{name}" :x/of [{refs}]}}')
    # So that the planner expects few rows.
    forms += [f'{{:x/name "small {i}" :x/of ["d0"]}}' for i in range(6_000)]
    longs, doubles = (" ".join(map(edn.write, values)) for values in (LONGS, DOUBLES))
    forms.append(f'{{:x/name "values" :x/long [{longs}] :x/double [{doubles}]}}')
    return f"[{' '.join(forms)}]"


@pytest.fixture(scope="module")
def open_gateway() -> Iterator[Gateway]:
    SMALL_JOIN.load()
    # Two threads give the rows of a long answer in another order each time.
    with gateway(None, DECLARED, data(), threads=1) as opened:
        for _ in range(3):
            for text in TEXTS:
                for name in ("few", "some", "values"):
                    opened.post(ROWS, q=text, a=[name])
        yield opened


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", [*SIZES, "values", "unknown"])
def test_answers_are_those_of_the_usual_way(open_gateway: Gateway, text: str, name: str) -> None:
    for document in (ROWS, SHOWN, ROWS):
        kept, usual = map(orjson.loads, both(open_gateway, document, q=text, a=[name]))
        if text is REACHED:
            # Its rows have no order.
            for answer in (kept, usual):
                for found in answer["data"].values():
                    for field in found.keys() & {"rows", "more", "v"}:
                        found[field].sort()
        assert kept == usual


@pytest.mark.parametrize("text", [NAMES, GROUPS, WIDE, REACHED])
def test_what_is_not_long_is_run_where_it_was_read(text: str) -> None:
    with gateway(None, DECLARED, data()) as opened:
        for _ in range(3):
            opened.post(ROWS, q=text, a=["few"])
        for name in ("few", "some", "hundreds", "many"):
            expected = opened.post(ROWS, q=text, a=[name]).content
            answers = [at_once(opened, ROWS, q=text, a=[name]) for _ in range(5)]
            assert {answer for answer, _ in answers} == {expected}
            # That would be too many candidates for one call.
            assert answers[-1][1] == (text is not WIDE or name != "many")
        for _ in range(9):
            answer, ran = at_once(opened, ROWS, q=text, a=["more"])
            assert len(orjson.loads(answer)["data"]["q"]["rows"]) == (7 if text is GROUPS else 2_100)
        # What came to nothing is not tried again and again.
        assert ran == 0


def test_limits_hold_for_many_rows() -> None:
    for limit in ({"rows": 1_000}, {"result_bytes": 15_000}):
        with gateway(Settings(data=":memory:", **limit), DECLARED, data()) as opened:
            for _ in range(4):
                assert len(opened.q(NAMES, "some")) == 255
            kept, usual = both(opened, ROWS, q=NAMES, a=["many"])
            assert kept == usual
            assert b"LIMIT_EXCEEDED" in kept


def test_many_rows_are_kept_by_the_cache() -> None:
    with gateway(None, DECLARED, data(), cache=CacheSettings()) as opened:
        for _ in range(3):
            opened.post(ROWS, q=NAMES, a=["few"])
        opened.pool.cache.memory.clear()
        for _ in range(2):
            for name in ("many", "hundreds"):
                kept, usual = both(opened, ROWS, q=NAMES, a=[name])
                assert kept == usual


@pytest.mark.parametrize("seed", range(4))
def test_columns_of_any_values_are_written_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    monkeypatch.setattr(code_texts, "_MOST", 150)
    with Database.open(":memory:") as database:
        codes = database.snapshot().codes
        values: list[Any] = [
            *(0, 5, -5, 2**53 - 1, 2**53, -(2**53), 2**60, -(2**63), 0.5, float("inf"), 1e300),
            *(True, False, "", "a", "\u0001", 'quote " é 日', "s" * 499, "s" * 500),
            *(edn.read(text) for text in ('#inst "2024-05-01T12:00:00.123Z"', ":k/v", "1.50M")),
            *(f"text {i}" for i in range(700)),
            *range(100),
        ]
        coded = [codes.intern(value) for value in values]
        # A bigdec has no zeros at its end.
        values = [codes.decode(code) for code in coded]
        texts = CodeTexts(codes)
        for size in (1, 2, 15, 16, 17, 255, 256, 257, 900):
            for _ in range(8):
                own = rng.sample(range(len(values)), rng.choice((1, 20, len(values))))
                rows = [[rng.choice(own) for _ in range(size)] for _ in range(rng.choice((1, 2)))]
                written = texts.rows([np.array([coded[at] for at in column]) for column in rows])
                cells = [[encode(values[at], Encoding.PLAIN) for at in column] for column in rows]
                assert written == orjson.dumps(list(zip(*cells, strict=True)))
        assert texts.rows([np.empty(0, np.int64)]) == b"[]"
        for odd in ("s" * 501, edn.read("[1 2]"), edn.read("{:a 1}")):
            assert texts.rows([np.array([coded[-1], codes.intern(odd), coded[20]])]) is None


def test_very_many_new_values_are_learned_bit_by_bit() -> None:
    with Database.open(":memory:") as database:
        codes = database.snapshot().codes
        column = np.array([codes.intern(f"value {i}") for i in range(1_500)])
        texts = CodeTexts(codes)
        answers = [texts.rows([column]) for _ in range(3)]
        assert answers[0] is None
        assert answers[-1] == orjson.dumps([[f"value {i}"] for i in range(1_500)])
