"""Traces for a collector of OpenTelemetry's, which its standard variables name, as OTEL_EXPORTER_OTLP_ENDPOINT.

Spans are sent by a thread in batches; without a collector they are dropped, and nothing else happens. Without
such a variable nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError

_LOGGER: Final = logging.getLogger("adalog.traces")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_SPOKEN: Final = "http/protobuf"
# How long the end of the process waits for the last spans to be sent.
_LAST_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 60.0
_NOISY: Final = ("opentelemetry", "urllib3")


@contextmanager
def traces(environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Spans are made and sent for the time of the block, if the environment names a collector."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    if off or not any(environ.get(name) for name in _ENDPOINTS):
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _LOGGER.warning("no traces are sent: OpenTelemetry is not installed here (pip install 'adalog[otel]')")
        yield
        return
    _warn_of_other_ways(environ)
    seldom = _Seldom()
    for handler in logging.getLogger().handlers:
        handler.addFilter(seldom)
    resource = Resource.create({"service.name": environ.get("OTEL_SERVICE_NAME") or "adalog"})
    # Its own way to end waits for a collector that is away, and is run by the interpreter's end.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracing.install(_OpenTelemetry(provider.get_tracer("adalog")))
    try:
        yield
    finally:
        tracing.install(None)
        ending = threading.Thread(target=provider.shutdown, name="adalog-traces-end", daemon=True)
        ending.start()
        ending.join(_LAST_SECONDS)


def _warn_of_other_ways(environ: Mapping[str, str]) -> None:
    """Says what of the environment asks for something else than OTLP over HTTP."""
    protocol = next((environ[name] for name in _PROTOCOLS if environ.get(name)), _SPOKEN)
    if protocol != _SPOKEN:
        _LOGGER.warning(
            "traces are sent as %s, not as %s: name the collector's port for HTTP, 4318 mostly", _SPOKEN, protocol
        )
    endpoint = next(environ[name] for name in _ENDPOINTS if environ.get(name))
    if not endpoint.lower().startswith(("http://", "https://")):
        _LOGGER.warning("no traces can be sent: the collector's address begins with http:// or https://")


class _Seldom(logging.Filter):
    """Lets one line a minute through of the exporter: a collector that is away is no news each time."""

    def __init__(self) -> None:
        super().__init__()
        self._last = float("-inf")

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.name.startswith(_NOISY):
            return True
        if record.created - self._last < _QUIET_SECONDS:
            return False
        self._last = record.created
        return True


class _OpenTelemetry:
    """What `datalog.tracing` wants, by OpenTelemetry's API."""

    def __init__(self, tracer: Any) -> None:
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._tracer = tracer
        self._context = context
        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self, name: str, attributes: tracing.Attributes, parent: Any, linked: Sequence[Any], server: bool
    ) -> Iterator[tracing.Span]:
        trace = self._trace
        links = [trace.Link(trace.get_current_span(each).get_span_context()) for each in linked]
        with self._tracer.start_as_current_span(
            name,
            parent,
            kind=trace.SpanKind.SERVER if server else trace.SpanKind.INTERNAL,
            attributes=dict(attributes),
            links=links,
            record_exception=False,
            set_status_on_exception=False,
        ) as made:
            try:
                yield _Span(made)
            except Exception as error:
                # A message may quote values of the request; the code says enough.
                code = error.code.value if isinstance(error, AdalogError) else type(error).__name__
                made.set_attribute("error.type", code)
                made.set_status(trace.Status(trace.StatusCode.ERROR, code))
                raise

    def current(self) -> Any:
        return self._context.get_current()

    @contextmanager
    def attached(self, context: Any) -> Iterator[tracing.Span]:
        token = self._context.attach(context)
        try:
            yield tracing.SILENT
        finally:
            self._context.detach(token)

    def remote(self, headers: Mapping[str, str]) -> Any:
        return self._propagator.extract(dict(headers), self._context.Context())

    def headers(self) -> Mapping[str, str]:
        named: dict[str, str] = {}
        self._propagator.inject(named)
        return named

    def ids(self) -> tuple[str, str] | None:
        found = self._trace.get_current_span().get_span_context()
        return (f"{found.trace_id:032x}", f"{found.span_id:016x}") if found.is_valid else None


class _Span:
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, name: str, value: str | float) -> None:
        self._span.set_attribute(name, value)
