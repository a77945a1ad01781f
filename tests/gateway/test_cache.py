"""The cache as clients and operators see it: stats, validators of GET, metrics, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from adalog.executor.cache.settings import CacheSettings, RedisSettings
from adalog.executor.pool import Pool
from adalog.gateway.opening import cache_settings, start_pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.sources import settings_from
from adalog.store.database import Database
from tests.gateway.support import FAMILY, SCHEMA, Gateway

NAMES = '{ q(query: "[:find ?n :where [_ :person/name ?n]]", first: 10) { rows } }'
STATS = '{ q(query: "[:find ?n :where [_ :person/name ?n]]") { basisT stats { cache } } }'


@pytest.fixture
def cached() -> Iterator[Gateway]:
    with Database.open(":memory:") as database:
        pool = start_pool(database, Settings(data=":memory:"), spark=False)
        try:
            database.transact(SCHEMA)
            database.transact(FAMILY)
            opened = Gateway(database, pool)
            yield opened
            opened.http.close()
        finally:
            pool.close()


def get(gateway: Gateway, document: str, **headers: str) -> httpx.Response:
    return gateway.http.get("/graphql", params={"query": document}, headers=headers)


def test_stats_say_hit_and_the_basis_is_the_one_asked_for(cached: Gateway) -> None:
    assert cached.data(STATS)["q"] == {"basisT": 2, "stats": {"cache": "MISS"}}
    cached.database.transact("[[:db/add 900 :person/born 1900]]")
    assert cached.data(STATS)["q"] == {"basisT": 3, "stats": {"cache": "HIT"}}


def test_without_a_cache_it_is_a_bypass(family: Gateway) -> None:
    assert family.data(STATS)["q"]["stats"] == {"cache": "BYPASS"}


def test_pages_of_one_answer(cached: Gateway) -> None:
    document = """query ($after: String) {
      q(query: "[:find ?n :where [_ :person/name ?n]]", first: 2, after: $after) {
        rows stats { cache } pageInfo { endCursor hasNextPage } } }"""
    first = cached.data(document)["q"]
    second = cached.data(document, after=first["pageInfo"]["endCursor"])["q"]
    assert first["rows"] + second["rows"] == [["Ada"], ["Anne"], ["Byron"], ["Ralph"]]
    assert [first["stats"]["cache"], second["stats"]["cache"]] == ["MISS", "HIT"]


def test_a_get_that_has_not_changed(cached: Gateway) -> None:
    response = get(cached, NAMES)
    assert response.headers["cache-control"] == "private, no-cache"
    assert {"Accept", "Authorization"} <= set(response.headers["vary"].split(", "))
    etag = response.headers["etag"]
    assert etag.startswith('W/"')
    again = get(cached, NAMES, **{"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["cache-control"] == "private, no-cache"
    assert "content-type" not in again.headers


@pytest.mark.parametrize("sent", ['"nothing", {}', "W/{}", "*"])
def test_ways_to_name_it(cached: Gateway, sent: str) -> None:
    etag = get(cached, NAMES).headers["etag"].removeprefix("W/")
    assert get(cached, NAMES, **{"If-None-Match": sent.format(etag)}).status_code == 304


def test_others_writing_does_not_change_it_and_a_new_name_does(cached: Gateway) -> None:
    etag = get(cached, NAMES).headers["etag"]
    cached.database.transact("[[:db/add 900 :person/born 1900]]")
    assert get(cached, NAMES, **{"If-None-Match": etag}).status_code == 304
    cached.database.transact('[[:db/add 900 :person/name "Zoe"]]')
    response = get(cached, NAMES, **{"If-None-Match": etag})
    assert response.status_code == 200
    assert "Zoe" in response.text
    assert response.headers["etag"] != etag


def test_what_shapes_the_answer_is_part_of_it(cached: Gateway) -> None:
    documents = [NAMES, NAMES.replace("first: 10", "first: 2"), NAMES.replace("rows", "value"), STATS]
    tags = {get(cached, document).headers["etag"] for document in documents}
    tags.add(get(cached, NAMES, Accept="application/graphql-response+json").headers["etag"])
    assert len(tags) == len(documents) + 1


def test_the_basis_is_part_of_it_where_it_is_asked_for(cached: Gateway) -> None:
    document = NAMES.replace("rows", "rows basisT")
    etag = get(cached, document).headers["etag"]
    cached.database.transact("[[:db/add 900 :person/born 1900]]")
    assert get(cached, document, **{"If-None-Match": etag}).status_code == 200


def test_refusals_and_posts_have_none(cached: Gateway) -> None:
    for response in (get(cached, "{ nope }"), get(cached, '{ q(query: "[:find") { rows } }'), cached.post(NAMES)):
        assert "etag" not in response.headers
        assert response.headers["cache-control"] == "no-store"
    assert get(cached, "{ nope }", **{"If-None-Match": "*"}).status_code != 304


def figures(gateway: Gateway) -> Mapping[str, float]:
    lines = gateway.http.get("/metrics").text.splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines)
        if name.startswith("adalog_c")
    }


def test_metrics(cached: Gateway) -> None:
    for _ in range(3):
        cached.data(STATS)
    found = figures(cached)
    assert found['adalog_cache_total{layer="query",outcome="hit"}'] == 2
    assert found['adalog_cache_total{layer="query",outcome="miss"}'] == 1
    assert found['adalog_cache_total{layer="process",outcome="hit"}'] == 2
    assert found["adalog_cache_memory_entries"] == 1
    assert found["adalog_cache_memory_bytes"] > 0


def test_metrics_of_redis() -> None:
    with Database.open(":memory:") as database:
        settings = CacheSettings(redis=RedisSettings("unix:///nowhere/socket"))
        pool = Pool(database, cache=settings)
        opened = Gateway(database, pool)
        assert figures(opened)["adalog_cache_redis_up"] == 0
        opened.http.close()
        pool.close()


# Settings


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, CacheSettings(64 << 20, 16 << 20, None)),
        ({"ADALOG_CACHE_BYTES": "0"}, None),
        (
            {"ADALOG_CACHE_BYTES": "0", "ADALOG_REDIS_URL": "rediss://u:p@h:1/2", "ADALOG_REDIS_PREFIX": "x:"},
            CacheSettings(0, 16 << 20, RedisSettings("rediss://u:p@h:1/2", prefix="x:")),
        ),
    ],
)
def test_settings(environ: dict[str, str], expected: Any) -> None:
    assert cache_settings(checked(settings_from(environ))) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("ADALOG_REDIS_URL", "http://:secret@host"), ("ADALOG_CACHE_BYTES", "-1")]
)
def test_wrong_settings_are_named_and_no_password_is_said(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name) as caught:
        checked(settings_from({name: value}))
    assert "secret" not in str(caught.value)
