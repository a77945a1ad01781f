"""Traces: sent to a collector, below the span that a request names; a collector that is away harms nobody."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from websockets.sync.client import connect

from adalog.datalog import tracing
from adalog.gateway.observe.telemetry import traces
from adalog.gateway.settings.config import Settings
from tests.gateway.streams import LIVE
from tests.gateway.support import FAMILY, SCHEMA, gateway, served

pytest.importorskip("opentelemetry.sdk")
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-Id": "r1"}
QUERY = "query ($q: EDN!) { q(query: $q) { rows } }"
NAMES = "[:find ?n :where [_ :person/name ?n]]"
TRANSACT = 'mutation { transact(tx: "[{:person/name \\"Eve\\"}]") { t } }'


class Collector(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Received)
        self.spans: list[Any] = []
        self.services: set[str] = set()

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str, trace: str = TRACE) -> Any:
        (span,) = [span for span in self.named(name) if span.trace_id.hex() == trace]
        return span


class _Received(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            self.server.services |= {
                each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
            }
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with closing(server.socket):
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def traced(monkeypatch: pytest.MonkeyPatch, endpoint: str, **more: str) -> Iterator[None]:
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **more}.items():
        monkeypatch.setenv(name, value)
    with traces():
        yield
    assert not tracing.is_on()


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_a_request_is_followed_to_the_join_and_to_the_log(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        gateway(Settings(data=":memory:"), SCHEMA, FAMILY) as opened,
        traced(monkeypatch, f"http://127.0.0.1:{collector.server_port}", OTEL_SERVICE_NAME="db"),
    ):
        for body in ({"query": QUERY, "variables": {"q": NAMES}}, {"query": TRANSACT}):
            opened.http.post("/graphql", json=body, headers=TRACEPARENT)
        opened.http.get("/healthz", headers=TRACEPARENT)
        other = {"traceparent": "nonsense", "X-Request-Id": "r2"}
        opened.http.post("/graphql", json={"query": "{ nope }"}, headers=other)
    assert collector.services == {"db"}
    roots = [each for each in collector.named("POST /graphql") if each.trace_id.hex() == TRACE]
    assert [each.parent_span_id.hex() for each in roots] == [PARENT, PARENT]
    about = attributes(roots[0])
    assert about["http.response.status_code"] == 200
    assert about["adalog.request_id"] == "r1"
    executed = {
        attributes(each)["adalog.fields"]: each
        for each in collector.named("graphql.execute")
        if each.trace_id.hex() == TRACE
    }
    query, transact = executed["q"], executed["transact"]
    assert {query.parent_span_id, transact.parent_span_id} == {each.span_id for each in roots}
    for name in ("adalog.parse", "adalog.plan", "adalog.join"):
        span = collector.one(name)
        assert span.parent_span_id == query.span_id, name
        assert query.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
    writing = collector.one("adalog.transact")
    assert writing.parent_span_id == transact.span_id
    appended = collector.one("adalog.log.append")
    assert appended.parent_span_id == writing.span_id
    assert attributes(appended)["adalog.transactions"] == 1
    # A header that is none begins a trace, and nothing is made of a probe.
    alone = [each for each in collector.named("POST /graphql") if each.trace_id.hex() != TRACE]
    assert [(each.parent_span_id, attributes(each)["adalog.request_id"]) for each in alone] == [(b"", "r2")]
    assert not [each for each in collector.spans if "healthz" in attributes(each).get("url.path", "")]
    # No query, no argument, no name of anybody.
    assert "person" not in str(collector.spans)


def test_a_failure_is_marked_with_its_code_alone(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        gateway(Settings(data=":memory:"), SCHEMA, FAMILY) as opened,
        traced(monkeypatch, f"http://127.0.0.1:{collector.server_port}"),
    ):
        body = {"query": QUERY, "variables": {"q": '[:find ?x :where [?e "hunter2" ?x'}}
        opened.http.post("/graphql", json=body, headers=TRACEPARENT)
    span = collector.one("adalog.parse")
    assert attributes(span)["error.type"] == "EDN_SYNTAX"
    assert span.status.code == 2
    assert "hunter2" not in str(collector.spans)


def test_operations_of_a_websocket_are_below_its_handshake(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        gateway(Settings(data=":memory:", port=0), SCHEMA, FAMILY) as opened,
        served(opened.app) as address,
        traced(monkeypatch, f"http://127.0.0.1:{collector.server_port}"),
    ):
        url = address.replace("http", "ws", 1) + "/graphql"
        with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=TRACEPARENT) as client:  # type: ignore[list-item]
            client.send('{"type": "connection_init"}')
            client.recv(20)
            client.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": LIVE}}))
            assert "SNAPSHOT" in str(client.recv(20))
    span = collector.one("graphql.subscribe")
    assert span.parent_span_id.hex() == PARENT


def test_a_collector_that_is_away_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # It takes connections, and never answers.
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        more = {
            "OTEL_BSP_SCHEDULE_DELAY": "1",
            "OTEL_BSP_MAX_QUEUE_SIZE": "8",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4",
        }
        with gateway(Settings(data=":memory:"), SCHEMA, FAMILY) as opened:
            with traced(monkeypatch, endpoint, **more):
                for _ in range(50):
                    assert opened.q(NAMES)
            # The thread that still waits for the collector holds nobody up.
            assert [each for each in threading.enumerate() if each.name == "adalog-traces-end" and each.daemon]
            assert opened.q(NAMES)


def test_without_a_collector_nothing_is_imported_and_nothing_made() -> None:
    code = (
        "import sys\nfrom adalog.datalog import tracing\nfrom adalog.gateway.observe.telemetry import traces\n"
        "with traces({'OTEL_SDK_DISABLED': 'true', 'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://localhost:1'}): pass\n"
        "with traces({}):\n    assert not tracing.is_on()\n"
        "    assert tracing.span('a') is tracing.span('b')\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "sent as http/protobuf, not as grpc"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "begins with http://"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, ""),
    ],
)
def test_another_way_to_send_is_warned_of(
    environ: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", **environ}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with traces(given):
        pass
    assert says in caplog.text
    assert bool(caplog.text) == bool(says)


def test_where_it_is_not_installed_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    with traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}):
        assert not tracing.is_on()
    assert "pip install 'adalog[otel]'" in caplog.text
