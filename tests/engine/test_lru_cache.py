"""What is kept is bounded by bytes: plans, parsed texts, shapes and documents alike."""

from __future__ import annotations

from adalog.executor.bounds.lru_cache import ENTRY_BYTES, LruCache, weight_of_text
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.schema.documents.operations import Operations
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.store.database import Database


def test_the_least_recently_used_goes_first() -> None:
    recent: LruCache[str, int] = LruCache(3 * (ENTRY_BYTES + 100), ENTRY_BYTES + 100)
    for number, key in enumerate("abc"):
        assert recent.put(key, number, 100)
    assert recent.get("a") == 0
    recent.put("d", 3, 100)
    assert [recent.get(key) for key in "abcd"] == [0, None, 2, 3]
    assert recent.nbytes == recent.bound
    assert not recent.put("e", 4, 101)
    assert "e" not in recent
    recent.clear()
    assert (len(recent), recent.nbytes) == (0, 0)


def test_nothing_is_kept_where_there_is_no_room() -> None:
    assert not LruCache[str, int](0).put("a", 1, 0)


def test_a_long_literal_is_weighed() -> None:
    assert weight_of_text('[:find ?e :where [?e :a "' + "y" * 500_000 + '"]]') > 1_000_000
    assert weight_of_text("[:find ?e :where [?e :a ?v]]") < 10_000


def test_plans_and_questions_stay_within_their_bytes_under_many_texts() -> None:
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(plan_bytes=1 << 20))
        try:
            for number in range(200):
                pool.run(QueryRequest(f'[:find ?e :where [?e :db/doc "{number} {"y" * 2_000}"]]'))
            pool.run(QueryRequest('[:find ?e :where [?e :db/doc "' + "y" * 500_000 + '"]]'))
            kept = (pool.engine.compiler.plans, pool.questions._queries, pool.questions._outlines)
            for each in kept:
                assert 0 < len(each) < 200
                assert each.nbytes <= each.bound
            assert sum(each.bound for each in kept) <= 1 << 20
        finally:
            pool.close()
    assert isinstance(Compiler().plans, LruCache)
    assert Questions().nbytes == 16 << 20


def test_documents_stay_within_their_bytes() -> None:
    operations = Operations(build_schema(), RequestLimits(document_bytes=1 << 20))
    for number in range(500):
        assert not operations.prepare(f"{{ a{number}: database {{ basisT datomCount }} }}").refusal
    assert operations.prepare("{ " + " " * 400_000 + "nope }").refusal
    kept = operations.documents.kept
    assert 10 < len(kept) < 500
    assert kept.nbytes <= 1 << 20
    known = operations.prepare("{ database { basisT } }")
    assert operations.prepare("{ database { basisT } }") is known
