"""The checker says of a right history that it is, and of each way to spoil one what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.several.checker import BALANCE, NAME, OPERATION, TAG, Broken, Datom, Logged, check, rows_of
from tests.several.history import History, Read, Told, Write

ADA, ALAN = "account-1", "account-2"


def right() -> tuple[History, list[Logged]]:
    """Five transactions of two clients, reads between them, and two who follow."""

    def logged(t: int, *datoms: Datom) -> Logged:
        return Logged(t, [(900 + t, OPERATION, f"op-{t}", True), *datoms])

    log = [
        Logged(1, [(901, ":db/txInstant", "…", True)]),
        logged(2, (1, NAME, ADA, True), (1, BALANCE, 10, True)),
        logged(3, (1, BALANCE, 20, True), (1, BALANCE, 10, False)),
        logged(4, (2, NAME, ALAN, True), (2, BALANCE, 5, True)),
        logged(5, (2, TAG, "x", True)),
    ]
    history = History()
    history.writes = [
        Write("op-2", ("put", ADA, 10), None, None, 1.0, 2.0, "done", answers=[2]),
        Write("op-3", ("cas", ADA, 10, 20), "key", 2, 3.0, 6.0, "done", answers=[3, 3]),
        Write("op-4", ("put", ALAN, 5), None, None, 5.0, 7.0, "done", answers=[4]),
        Write("op-5", ("tag", ALAN, "x"), None, None, 8.0),
        Write("op-x", ("cas", ADA, 10, 30), None, None, 7.5, 9.0, "refused", "CAS_FAILED"),
        Write("op-y", ("put", ADA, 1), None, 3, 7.5, 9.0, "refused", "BASIS_CONFLICT"),
    ]
    states = [
        {},
        {},
        {ADA: (10, "")},
        {ADA: (20, "")},
        {ADA: (20, ""), ALAN: (5, "")},
        {ADA: (20, ""), ALAN: (5, "x")},
    ]
    rows = [rows_of(state) for state in states]
    history.reads = [
        Read(None, 2.5, 2.6, 2, rows[2]),
        Read(3, 7.1, 7.2, 3, rows[3]),
        Read(None, 9.0, 9.1, 5, rows[5]),
    ]
    history.streams = [
        [
            Told("SNAPSHOT", 2, rows[2]),
            Told("DELTA", 3, rows[3] - rows[2], rows[2] - rows[3]),
            Told("DELTA", 4, rows[4] - rows[3]),
            Told("PROGRESS", 4),
            Told("DELTA", 5, rows[5] - rows[4], rows[4] - rows[5]),
        ],
        [Told("SNAPSHOT", 3, rows[3]), Told("PROGRESS", 3), Told("SNAPSHOT", 5, rows[5])],
    ]
    return history, log


def test_a_right_history_is_right() -> None:
    history, log = right()
    seen = check(history, log, fresh=True)
    assert (seen["done"], seen["unknown"], seen["CAS_FAILED"], seen["events"]) == (3, 1, 1, 8)


Spoil = Callable[[History, list[Logged]], object]


def _lost(history: History, log: list[Logged]) -> None:
    # The log was cut off behind an answer.
    del log[3:]
    history.reads.pop()
    history.streams.clear()


def _at(thing: Write | Read, began: float, ended: float) -> None:
    thing.began, thing.ended = began, ended


def _late_conflict(history: History, _: list[Logged]) -> None:
    tag, conflict = history.writes[3], history.writes[5]
    tag.ended, tag.outcome, tag.answers, conflict.expected = 9.2, "done", [5], 5
    _at(conflict, 9.5, 9.6)


def _event_lost(history: History, _: list[Logged]) -> None:
    del history.streams[0][2:4]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda history, log: log.pop(2), "the log has a gap: transaction 3"),
        (_lost, "answered [4], and the log has it at []"),
        (lambda _, log: log.append(Logged(6, [(906, OPERATION, "op-5", True)])), "was applied 2 times"),
        (
            lambda _, log: log.__setitem__(
                2, Logged(3, [(903, OPERATION, "op-3", True), (1, BALANCE, 21, True), (1, BALANCE, 10, False)])
            ),
            "makes {'account-1': (20, '')}",
        ),
        (lambda _, log: log.append(Logged(6, [(7, NAME, ADA, True), (7, BALANCE, 1, True)])), "and was 1 before"),
        (lambda history, _: history.writes.pop(0), "nobody asked for ['op-2']"),
        (lambda history, _: history.writes[1].answers.append(4), "was answered [3, 3, 4]"),
        (lambda history, _: setattr(history.writes[1], "expected", 1), "not right after the basis"),
        (lambda history, _: setattr(history.writes[3], "outcome", "refused"), "was refused, and applied"),
        (lambda history, _: _at(history.writes[1], 7.05, 7.06), "was answered before it was asked for"),
        (lambda history, _: setattr(history.writes[4], "what", ("cas", ADA, 20, 30)), "was right at all of t = 4"),
        (_late_conflict, "the newest all the while"),
        (lambda history, _: setattr(history.reads[1], "t", 4), "is not what t = 4 is"),
        (lambda history, _: _at(history.reads[2], 0.5, 0.6), "is newer than"),
        (lambda history, _: _at(history.reads[0], 7.05, 7.06), "is older than"),
        (_event_lost, "takes what was not"),
        (lambda history, _: history.streams[0].pop(), "a stream ended at t = 4"),
        (lambda history, _: history.streams[0].insert(2, history.streams[0][1]), "adds what was there"),
        (lambda history, _: history.streams[1].insert(1, Told("RESET", 4, reason="why")), "started over: "),
    ],
)
def test_what_is_wrong_is_found(spoil: Spoil, said: str) -> None:
    history, log = right()
    spoil(history, log)
    with pytest.raises(Broken) as broken:
        check(history, log, fresh=True)
    assert said in str(broken.value)
