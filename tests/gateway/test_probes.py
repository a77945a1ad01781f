"""Health, readiness and metrics."""

from __future__ import annotations

import threading

from gateway.app import create_app
from gateway.config import Settings
from gateway.rehearsal import Rehearsal, rehearse
from tests.gateway.support import Gateway, InProcess


def test_health(empty: Gateway) -> None:
    assert empty.http.get("/healthz").json() == {"status": "alive"}


def test_readiness(family: Gateway) -> None:
    answer = family.http.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert answer.json()["basisT"] == 2


def test_not_ready_before_the_first_query_is_fast(family: Gateway) -> None:
    over = threading.Event()
    app = create_app(family.database, family.pool, family.settings, over.is_set)
    http = InProcess(app)
    answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not ready"
    assert "starting" in answer.json()["why"]
    over.set()
    assert http.get("/readyz").status_code == 200
    http.close()


def test_a_server_is_ready_when_its_rehearsal_is_over(family: Gateway) -> None:
    rehearsal = Rehearsal(family.settings)
    assert not rehearsal.over
    rehearsal.on(family.database)
    assert rehearsal.wait(60)
    assert rehearsal.over


def test_every_request_of_the_rehearsal_is_answered() -> None:
    rehearse(Settings())


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
