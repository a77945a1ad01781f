"""One worker: a whole gateway that is handed its connections, and ends with its supervisor."""

from __future__ import annotations

import pickle
import signal
import socket
import sys

from adalog.cluster.processes import end_with
from adalog.datalog.errors import AdalogError
from adalog.gateway.server import serve_as_worker
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.workers.board import Board
from adalog.gateway.workers.supervisor_link import SupervisorLink
from adalog.store.storage import ProcessGroup


def main(supervisor: int, number: int, alone: int, end: int, board: int, folder: int | None = None) -> None:
    """A process's whole life. alone: 1 for the first of all. Descriptors: the channel's end, the board, and the
    locked folder's if there is one."""
    end_with(supervisor)
    # What a terminal sends goes to the supervisor alone; a second one may be typed by mistake.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Written by our own supervisor.
    settings: Settings = pickle.load(sys.stdin.buffer)  # noqa: S301
    post = SupervisorLink(socket.socket(fileno=end), number, Board(settings.workers, board))
    code = 0
    try:
        page = post.board
        siblings = ProcessGroup(folder, bool(alone), lambda t: page.wrote(number, t), lambda: page.newest)
        serve_as_worker(settings, post, siblings)
    except AdalogError as error:
        post.say_failed(error.message, str(error.code), retryable=error.retryable)
        code = 1
    except SettingError as error:
        post.say_failed(str(error), None, retryable=False)
        code = 1
    sys.stdout.flush()
    sys.exit(code)
