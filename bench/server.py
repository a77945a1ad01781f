"""Servers in processes of their own, and how load is put on them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any, Final

import httptools

from bench.load import HEAD, Report

Process = subprocess.Popen[bytes]

# Of a server that may have to compile its kernels first, on a machine that does other things.
_START_LIMIT_SECONDS: Final = 300.0
_RECEIVED: Final = 1 << 18
# For a gateway whose answers are to be computed, not remembered.
UNCACHED: Final = {"ADALOG_SPARK": "off", "ADALOG_CACHE_BYTES": "0"}
_ADALOG: Final = ("-c", "from adalog.gateway.cli import main; main()", "serve")


class RetryableError(RuntimeError):
    """The same request may be answered later, of a server that is starting, for one."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def serving(*command: str, log: int | IO[bytes] = subprocess.PIPE, **environment: str) -> Iterator[Process]:
    """A Python process with these arguments, ended at the end. `log`: where its errors go."""
    process = subprocess.Popen(
        [sys.executable, *command], env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=log
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def adalog(
    data: Path | None, port: int, log: int | IO[bytes] = subprocess.PIPE, **environment: str
) -> Iterator[Process]:
    """The gateway on a folder, or where the environment says."""
    place = () if data is None else ("--data", str(data))
    with serving(*_ADALOG, *place, "--port", str(port), log=log, **environment) as process:
        yield process


@contextmanager
def strawberry(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The empty resolver."""
    with serving("-m", "bench.peers.strawberry", str(port)) as process:
        yield process


def first_answer(process: subprocess.Popen[bytes], port: int, body: str) -> Any:
    """Asks until there is an answer; its data. Raises RuntimeError with what the process said when it ends."""
    deadline = time.perf_counter() + _START_LIMIT_SECONDS
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            said = process.stderr.read().decode() if process.stderr else ""
            raise RuntimeError(f"the server ended: {said[-600:]}")
        try:
            return ask(port, body)
        except (ConnectionError, HTTPException):
            time.sleep(0.01)
        except RetryableError:
            time.sleep(0.05)
    raise RuntimeError(f"no answer within {_START_LIMIT_SECONDS:.0f} s")


def until_ready(port: int) -> None:
    """Waits until the gateway says that first queries wait for nothing any more."""
    deadline = time.perf_counter() + _START_LIMIT_SECONDS
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        while time.perf_counter() < deadline:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                return
            time.sleep(0.05)
    finally:
        connection.close()
    raise RuntimeError(f"not ready within {_START_LIMIT_SECONDS:.0f} s")


def ask(port: int, body: str) -> Any:
    """One request; its data. Raises RuntimeError on errors."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        return answered(connection, body)
    finally:
        connection.close()


def answered(connection: HTTPConnection, body: str) -> Any:
    """One request over a kept connection; its data. Raises RuntimeError on errors."""
    answer = json.loads(said(connection, body))
    if "errors" in answer:
        retryable = all(error["extensions"].get("retryable") for error in answer["errors"])
        raise (RetryableError if retryable else RuntimeError)(f"refused: {answer['errors']}")
    return answer["data"]


def said(connection: HTTPConnection, body: str) -> bytes:
    """One request over a kept connection; its answer as it came."""
    connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
    return connection.getresponse().read()


class LeanConnection:
    """A kept connection that takes this process 50 µs for a request. `http.client` takes 200, half of the time of a
    light one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._body: list[bytes] = []
        self._is_complete = False

    def said(self, body: bytes) -> bytes:
        """As the function of this name."""
        self._socket.sendall(HEAD.format(self._port, len(body)).encode() + body)
        parser = httptools.HttpResponseParser(self)
        self._body, self._is_complete = [], False
        while not self._is_complete:
            data = self._socket.recv(_RECEIVED)
            if not data:
                raise ConnectionError("the server closed the connection")
            parser.feed_data(data)
        return b"".join(self._body)

    def close(self) -> None:
        self._socket.close()

    # The parser calls these.

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._is_complete = True


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """What the process has computed so far, whatever else the machine did; 0 where the system does not tell."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def load(port: int | Sequence[int], clients: int, bodies: Sequence[str], times: int = 1) -> Report:
    """All bodies, so many times over, from so many clients, which share out the ports if there are several."""
    ports = [port] if isinstance(port, int) else list(port)
    request = {"ports": ports, "clients": clients, "bodies": list(bodies), "times": times}
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the load generator failed: {done.stderr.strip().splitlines()[-1]}")
    return Report(**json.loads(done.stdout))


def q(query: str, *args: object, basis: object = None) -> str:
    """The body of a request for the rows of a query."""
    if basis is None:
        document = "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows basisT } }"
        return json.dumps({"query": document, "variables": {"query": query, "args": list(args)}})
    document = "query ($query: EDN!, $args: [JSON!], $basis: BasisInput) {"
    document += " q(query: $query, args: $args, basis: $basis) { rows basisT } }"
    return json.dumps({"query": document, "variables": {"query": query, "args": list(args), "basis": basis}})


def transact(tx: str) -> str:
    """The body of a request for a transaction."""
    return json.dumps({"query": "mutation ($tx: EDN!) { transact(tx: $tx) { t } }", "variables": {"tx": tx}})
