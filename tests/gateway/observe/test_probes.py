"""Health, readiness and metrics."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.settings.config import Settings
from adalog.gateway.warm_up import WarmUp, rehearse
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.creation import take
from adalog.store.database import Database
from adalog.store.files.formats import RELEASE
from adalog.store.files.place import LocalPlace
from adalog.store.log.file_appends import FileAppends
from adalog.store.log.log import Log
from adalog.store.sources import source_of
from adalog.store.writer import in_doubt
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
    rehearsal = WarmUp(family.settings)
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


def test_a_failing_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def fail_again(*_: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        raise sa.exc.OperationalError("COMMIT", None, error) from error

    transact = 'mutation { transact(tx: "[[:db/add 1 :n 2]]") { t } }'
    with Database.open(str(tmp_path)) as database:
        pool = Pool(database)
        broken = Gateway(database, pool)
        monkeypatch.setattr(in_doubt, "_REST", 3600.0)
        with monkeypatch.context() as disk:
            disk.setattr(FileAppends, "commit", fail)
            # As the log is read again.
            disk.setattr(Log, "_rewrite", fail_again)
            error = broken.error(transact)
            assert error["extensions"] == {"code": "BACKEND_UNAVAILABLE", "retryable": False}
            assert "unknown" in error["message"]
            error = broken.error(transact)
            assert error["extensions"] == {"code": "READ_ONLY", "retryable": True}
        answer = broken.http.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["status"] == "not ready"
        assert "disk I/O error" in answer.json()["why"]
        assert broken.http.get("/healthz").status_code == 200
        assert broken.data("{ database { basisT } }") == {"database": {"basisT": 0}}
        text = broken.http.get("/metrics").text
        assert 'adalog_log_failures_total{outcome="unknown"} 1.0' in text
        assert 'adalog_log_failures_total{outcome="not_applied"} 0.0' in text
        assert "adalog_read_only 1.0" in text
        database.writer._doubt.again = 0.0
        while database.writer.doubt is not None:
            database._on_writer(lambda: None)
        assert broken.data(transact) == {"transact": {"t": 1}}
        assert broken.http.get("/readyz").status_code == 200
        assert "adalog_read_only 0.0" in broken.http.get("/metrics").text
        broken.http.close()
        pool.close()


def test_two_gateways_do_not_share_metrics(family: Gateway, empty: Gateway) -> None:
    family.data("{ database { basisT } }")
    assert 'field="database"' not in empty.http.get("/metrics").text


def test_metrics_of_the_process_the_build_and_the_disk(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with Database.open(data) as database:
        database.transact("[[:db/add 1 :n 1]]")
        pool = Pool(database)
        opened = Gateway(database, pool, Settings(data=data, spark=False))
        with opened.app.state.hub:
            text = opened.http.get("/metrics").text
            before = re.search(r"^adalog_last_backup_timestamp_seconds ", text, re.MULTILINE)
            # As a command does, beside the server.
            place = LocalPlace(tmp_path / "backups")
            with source_of(data) as source:
                take(source, place)
            made = catalogue(place).backups[0].made
            after = opened.http.get("/metrics").text
        opened.http.close()
        pool.close()
    assert re.search(r"^process_start_time_seconds \S+$", text, re.MULTILINE)
    assert re.search(r"^process_resident_memory_bytes \S+$", text, re.MULTILINE)
    assert f'version="{RELEASE}"' in re.search(r"^adalog_build_info.* 1.0$", text, re.MULTILINE)[0]  # type: ignore[index]
    assert re.search(r'^adalog_disk_free_bytes{place="data"} [1-9]', text, re.MULTILINE)
    assert before is None
    (found,) = re.findall(r"^adalog_last_backup_timestamp_seconds (\S+)$", after, re.MULTILINE)
    assert float(found) == pytest.approx(made / 1000)
