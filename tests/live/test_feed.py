"""What of a feed's recent events somebody gets who joins at a moment of its own."""

from __future__ import annotations

from executor.live.event import Event, Kind, Position
from executor.live.feed import Feed


def test_an_event_of_several_transactions_is_nothing_for_who_knows_some_of_them() -> None:
    feed = Feed(1, "key", None, None, covered=2, ready=True)
    steps = [(2, 3), (3, 7), (7, 8)]
    feed.recent.extend(Event(Kind.DELTA, Position(to), since=since) for since, to in steps)

    def known(t: int) -> list[int] | None:
        events = feed.since(t)
        return None if events is None else [event.t for event in events]

    assert [known(t) for t in range(1, 10)] == [None, [3, 7, 8], [7, 8], None, None, None, [8], [], []]
