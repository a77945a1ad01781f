"""Whether a history is one of a single database that takes one transaction after the other: strict serializability.

The log says in which order: `t`. A model of a few lines takes the log's transactions in that order; every write
that was answered has to be there once, with the effect that it has in the model, after all that were answered
before it was asked for; every read has to be the model's state at its basis, a stream the differences of states.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.several.history import History, Read, Told, Write

NAME, BALANCE, TAG, OPERATION = ":account/name", ":account/balance", ":account/tag", ":operation/name"
SCHEMA: Final = f"""
[{{:db/ident {NAME} :db/valueType :db.type/string :db/cardinality :db.cardinality/one
   :db/unique :db.unique/identity}}
 {{:db/ident {BALANCE} :db/valueType :db.type/long :db/cardinality :db.cardinality/one}}
 {{:db/ident {TAG} :db/valueType :db.type/string :db/cardinality :db.cardinality/one :db/unique :db.unique/value}}
 {{:db/ident {OPERATION} :db/valueType :db.type/string :db/cardinality :db.cardinality/one}}]
"""
QUERY: Final = f'[:find ?n ?b ?t :where [?a {NAME} ?n] [?a {BALANCE} ?b] [(get-else $ ?a {TAG} "") ?t]]'

State = Mapping[str, tuple[int, str]]
"""Of each account its balance and tag, an empty one where it has none."""
Datom = tuple[int, str, Any, bool]


@dataclass(frozen=True)
class Logged:
    """A transaction of the log: its number and datoms (e, a, v, added)."""

    t: int
    datoms: Sequence[Datom]


class Broken(AssertionError):
    """The history is none of one database."""


def check(history: History, log: Sequence[Logged], *, fresh: bool) -> Counter[str]:
    """Raises Broken; how much was looked at. fresh: reads of the newest database see all that was answered
    before."""
    states, places = replayed(log)
    _check_writes(history.writes, states, places)
    _check_order(history.writes)
    _check_reads(history.reads, history.writes, states, fresh=fresh)
    for stream in history.streams:
        _check_stream(stream, states)
    seen = Counter(write.outcome if write.code is None else write.code for write in history.writes)
    seen.update(reads=len(history.reads), log=len(log), events=sum(map(len, history.streams)))
    return seen


def replayed(log: Sequence[Logged]) -> tuple[list[State], dict[str, list[int]]]:
    """The state after each transaction, from that before the first; and of each operation the transactions that say
    they are it."""
    names: dict[int, str] = {}
    entities: dict[str, int] = {}
    held: dict[int, dict[str, Any]] = {}
    states: list[State] = [{}]
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(log, 1):
        if entry.t != place:
            raise Broken(f"the log has a gap: transaction {place} is missing before {entry.t}")
        # What a transaction takes away of a value goes before what it says anew.
        for e, a, v, added in sorted(entry.datoms, key=lambda datom: datom[3]):
            if a == OPERATION and added:
                places.setdefault(v, []).append(entry.t)
            elif a == NAME and added:
                if entities.setdefault(v, e) != e:
                    raise Broken(f"t = {entry.t}: the account {v!r} is {e}, and was {entities[v]} before")
                names[e] = v
            elif a in (BALANCE, TAG):
                own = held.setdefault(e, {})
                if added and a in own:
                    raise Broken(f"t = {entry.t}: {a} of {e} has two values")
                if not added and own.pop(a, None) != v:
                    raise Broken(f"t = {entry.t}: {v!r}, which goes from {a} of {e}, was not there")
                if added:
                    own[a] = v
        states.append(
            {names[e]: (own[BALANCE], own.get(TAG, "")) for e, own in held.items() if BALANCE in own and e in names}
        )
    return states, places


def applied(state: State, what: tuple[Any, ...]) -> State | None:
    """What an operation makes of a state; None where it is refused."""
    kind, name, *rest = what
    balance, tag = state.get(name, (0, ""))
    if kind == "put":
        return {**state, name: (rest[0], tag)}
    if kind == "cas":
        old, new = rest
        return {**state, name: (new, tag)} if name in state and balance == old else None
    assert kind == "tag"
    if name not in state or any(own == rest[0] for other, (_, own) in state.items() if other != name):
        return None
    return {**state, name: (balance, rest[0])}


def _check_writes(writes: Sequence[Write], states: Sequence[State], places: Mapping[str, list[int]]) -> None:
    for write in writes:
        found = places.get(write.name, [])
        if len(found) > 1:
            raise Broken(f"{write} was applied {len(found)} times, as {found}")
        if write.outcome == "done" and (not found or set(write.answers) != set(found)):
            raise Broken(f"{write} was answered {write.answers}, and the log has it at {found}")
        if write.outcome == "refused" and found:
            raise Broken(f"{write} was refused, and applied at {found}")
        for t in found:
            after = applied(states[t - 1], write.what)
            if after != states[t]:
                raise Broken(f"{write} at t = {t} makes {after} of {states[t - 1]}, and the log says {states[t]}")
            if write.expected is not None and t != write.expected + 1:
                raise Broken(f"{write} was applied at t = {t}, not right after the basis that it expected")
    unasked = set(places) - {write.name for write in writes}
    if unasked:
        raise Broken(f"nobody asked for {sorted(unasked)}")
    _check_refusals(writes, states)


def _check_refusals(writes: Sequence[Write], states: Sequence[State]) -> None:
    """A refusal for what the database holds: at some moment between question and answer it was so."""
    bounds = _Bounds(writes)
    for write in writes:
        if write.code in ("CAS_FAILED", "UNIQUE_CONFLICT"):
            low, high = bounds.of(write.began, write.ended, len(states) - 1)
            if all(applied(states[t], write.what) is not None for t in range(low, high + 1)):
                raise Broken(f"{write} was refused, and was right at all of t = {low} to {high}")
        if write.code == "BASIS_CONFLICT":
            low, high = bounds.of(write.began, write.ended, len(states) - 1)
            if low == high == write.expected:
                raise Broken(f"{write} was refused, and t = {low} was the newest all the while")


def _check_order(writes: Sequence[Write]) -> None:
    """What was asked for after something else was answered comes after it."""
    done = sorted((write for write in writes if write.answers), key=lambda write: write.began)
    ends = sorted((write.ended, write.answers[0]) for write in done)
    newest, place = 0, 0
    for write in done:
        while place < len(ends) and ends[place][0] < write.began:
            newest = max(newest, ends[place][1])
            place += 1
        if write.answers[0] <= newest:
            raise Broken(
                f"{write} has t = {write.answers[0]}, and t = {newest} was answered before it was asked for"
            )


class _Bounds:
    """Of which transactions the newest one may have been at some time."""

    def __init__(self, writes: Sequence[Write]) -> None:
        done = [write for write in writes if write.answers]
        ended = sorted((write.ended, write.answers[0]) for write in done)
        self._ended = [moment for moment, _ in ended]
        self._least = _running((t for _, t in ended), max)
        began = sorted(((write.began, write.answers[0]) for write in done), reverse=True)
        self._began = [-moment for moment, _ in began]
        self._most = _running((t for _, t in began), min)

    def of(self, began: float, ended: float, last: int) -> tuple[int, int]:
        """(the newest that was answered before, the newest before all that were asked for after)."""
        low = bisect_right(self._ended, began)
        high = bisect_right(self._began, -ended)
        return self._least[low - 1] if low else 0, self._most[high - 1] - 1 if high else last


def _running(numbers: Any, choose: Any) -> list[int]:
    found: list[int] = []
    for number in numbers:
        found.append(number if not found else choose(found[-1], number))
    return found


def rows_of(state: State) -> frozenset[tuple[Any, ...]]:
    """What the query says of a state."""
    return frozenset((name, balance, tag) for name, (balance, tag) in state.items())


def _check_reads(reads: Sequence[Read], writes: Sequence[Write], states: Sequence[State], *, fresh: bool) -> None:
    bounds = _Bounds(writes)
    for read in reads:
        if not 0 <= read.t < len(states):
            raise Broken(f"{read} is of a transaction that the log does not have")
        if read.rows != rows_of(states[read.t]):
            raise Broken(f"{read} is not what t = {read.t} is: {rows_of(states[read.t])}")
        low, high = bounds.of(read.began, read.ended, len(states) - 1)
        if read.asked is not None and read.t != read.asked:
            raise Broken(f"{read} is of another basis than it asked for")
        if read.t > high:
            raise Broken(f"{read} is newer than what was asked for after it was answered, t = {high + 1}")
        if fresh and read.asked is None and read.t < low:
            raise Broken(f"{read} is older than t = {low}, which was answered before it was asked for")
    if fresh:
        newest = sorted((read for read in reads if read.asked is None), key=lambda read: read.began)
        ends = sorted((read.ended, read.t) for read in newest)
        seen, place = 0, 0
        for read in newest:
            while place < len(ends) and ends[place][0] < read.began:
                seen = max(seen, ends[place][1])
                place += 1
            if read.t < seen:
                raise Broken(f"{read} is older than t = {seen}, which somebody had read before")


def _check_stream(events: Sequence[Told], states: Sequence[State]) -> None:
    held: frozenset[tuple[Any, ...]] | None = None
    at = 0
    for event in events:
        if event.kind == "RESET":
            # Every gateway takes the others' tokens, and the gaps are short.
            raise Broken(f"a stream started over: {event}")
        if event.t < at:
            raise Broken(f"{event} comes after t = {at}")
        if event.kind == "SNAPSHOT":
            held = event.rows
        elif held is None:
            raise Broken(f"{event} comes before any snapshot")
        else:
            if event.rows & held or event.gone - held:
                raise Broken(f"{event} adds what was there, or takes what was not: {held}")
            # Where a server is slow a change may be that of several transactions (docs/reference/live.md).
            held = (held - event.gone) | event.rows
        at = event.t
        if held != rows_of(states[at]):
            raise Broken(f"after {event} a subscriber has {held}, and t = {at} is {rows_of(states[at])}")
    if held is not None and held != rows_of(states[-1]):
        raise Broken(f"a stream ended at t = {at} with {held}, and the database with {rows_of(states[-1])}")
