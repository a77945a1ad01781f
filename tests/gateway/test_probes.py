"""Health, readiness and metrics."""

from __future__ import annotations

from tests.gateway.support import Gateway


def test_health(empty: Gateway) -> None:
    assert empty.http.get("/healthz").json() == {"status": "alive"}


def test_readiness(family: Gateway) -> None:
    answer = family.http.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert answer.json()["basisT"] == 2


def test_metrics_count_fields_by_code(family: Gateway) -> None:
    family.q("[:find ?e :where [?e :person/name]]")
    family.code('query { q(query: "[") { rows } }')
    family.code("{ nope }")
    text = family.http.get("/metrics").text
    assert 'adalog_requests_total{code="OK",field="q"} 1.0' in text
    assert 'adalog_requests_total{code="EDN_SYNTAX",field="q"} 1.0' in text
    assert 'adalog_requests_total{code="QUERY_INVALID",field="request"} 1.0' in text
    assert 'adalog_request_seconds_count{field="q"} 2.0' in text
    assert "adalog_query_rows_sum 4.0" in text
    assert "adalog_basis_t 2.0" in text
    assert "adalog_queue_length 0.0" in text
    assert "adalog_store_memory_bytes" in text


def test_two_gateways_do_not_share_metrics(family: Gateway, empty: Gateway) -> None:
    family.data("{ database { basisT } }")
    assert 'field="database"' not in empty.http.get("/metrics").text
