"""The line between the driver and the tasks: whoever ends a job, or ends, ends it for all."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.cluster.cancellation import CancellationChannel, CancellationServer

JOB, OTHER = "a" * 32, "b" * 32


@pytest.fixture(params=["path", "port"])
def board(request: pytest.FixtureRequest) -> Iterator[CancellationServer]:
    with tempfile.TemporaryDirectory(prefix="adalog-") as folder:
        path = str(Path(folder) / "lines")
        opened = (
            CancellationServer.at_path(path)
            if request.param == "path"
            else CancellationServer.on_port("127.0.0.1", None, 0)
        )
        try:
            yield opened
        finally:
            opened.stop()


def until_over(line: CancellationChannel) -> None:
    over = threading.Event()
    until = 200
    while not line.is_over():
        assert (until := until - 1), "the line is still open"
        over.wait(0.05)


def test_a_job_that_is_closed_is_over_for_its_tasks_alone(board: CancellationServer) -> None:
    for job in (JOB, OTHER):
        board.open(job)
    lines = [CancellationChannel(board.address, job) for job in (JOB, JOB, OTHER)]
    assert all(line.connected for line in lines)
    assert not any(line.is_over() for line in lines)
    board.close(JOB)
    for line in lines[:2]:
        until_over(line)
    assert not lines[2].is_over()
    for line in lines:
        line.close()


def test_one_task_ends_the_job_for_all(board: CancellationServer) -> None:
    board.open(JOB)
    lines = [CancellationChannel(board.address, JOB) for _ in range(3)]
    lines[0].end_for_all()
    for line in lines:
        until_over(line)
    # One that begins later is told so, too.
    late = CancellationChannel(board.address, JOB)
    until_over(late)
    for line in (*lines, late):
        line.close()


def test_a_task_that_dies_ends_nothing(board: CancellationServer) -> None:
    board.open(JOB)
    dying, other = CancellationChannel(board.address, JOB), CancellationChannel(board.address, JOB)
    dying.close()
    late = CancellationChannel(board.address, JOB)
    assert late.connected
    assert not other.is_over()
    other.end_for_all()
    until_over(late)
    for line in (other, late):
        line.close()


def test_the_end_of_the_driver_ends_every_job(board: CancellationServer) -> None:
    board.open(JOB)
    line = CancellationChannel(board.address, JOB)
    board.stop()
    until_over(line)
    line.close()


def test_who_does_not_know_the_job_is_hung_up_on(board: CancellationServer) -> None:
    board.open(JOB)
    until_over(stranger := CancellationChannel(board.address, OTHER))
    stranger.close()
    family = socket.AF_UNIX if isinstance(board.address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as silent:
        silent.settimeout(30)
        silent.connect(board.address)
        silent.sendall(b"GET / HTTP/1.1\r\n")
        # It never says a whole key.
        assert silent.recv(10) == b""
    line = CancellationChannel(board.address, JOB)
    assert not line.is_over()
    line.close()


def test_a_driver_on_this_machine_that_is_gone_needs_nothing_more() -> None:
    assert CancellationChannel("/nowhere/lines", JOB).is_over()


def test_a_port_that_cannot_be_reached_is_none_of_the_jobs_business() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = ("127.0.0.1", closed.getsockname()[1])
    line = CancellationChannel(address, JOB)
    assert not line.connected
    assert not line.is_over()
