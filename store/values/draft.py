"""Codes of transactions that may still be refused: nothing of them is in the database's dictionaries until they are
durable.

The writer's alone. Its numbers go on where the dictionaries end, and no other code adds to those: what is settled
keeps its codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adalog.store.values import layout
from adalog.store.values.blocks.block import Block
from adalog.store.values.changes import Effect
from adalog.store.values.codes import Codes
from adalog.store.values.dictionary import ForkedDictionary

# How many keys of each tag were waiting at some moment.
Waiting = Mapping[int, int]


class Waitlist(ForkedDictionary):
    """The keys of a dictionary, and after them, with the numbers that they will have there, `waiting` ones."""

    def _restart(self) -> None:
        super()._restart()
        self.waiting = self._state.keys

    def add(self, key: bytes) -> int:
        number = self.find(key)
        if number is None:
            number = self._state.numbers[key] = self._length + len(self.waiting)
            self.waiting.append(key)
        return number

    def find(self, key: bytes) -> int | None:
        number = self._state.numbers.get(key)
        return self._base.find(key) if number is None else number

    def cut(self, length: int) -> list[bytes]:
        """Take back the keys that wait, but the first `length`."""
        gone = self.waiting[length:]
        for key in gone:
            del self._state.numbers[key]
        del self.waiting[length:]
        return gone

    def append(self, blocks: Sequence[Block]) -> None:
        assert not self.waiting, "keys wait for these numbers"
        self._base.append(blocks)
        self._restart()

    def settle(self) -> None:
        self._base.extend(self.waiting, self._state.numbers)
        self._restart()


class Draft(Codes):
    """The codes of the database, called `durable`, and of the transactions that are not in it yet."""

    def __init__(self, durable: Codes) -> None:
        self._durable = durable
        self._lists = {tag: Waitlist(dictionary) for tag, dictionary in durable.dictionaries().items()}
        super().__init__(self._lists)

    @property
    def durable(self) -> Codes:
        return self._durable

    def mark(self) -> Waiting:
        return {tag: len(own.waiting) for tag, own in self._lists.items() if own.waiting}

    def rolled_back(self, mark: Waiting) -> None:
        """Forget what was interned since."""
        for tag, own in self._lists.items():
            if own.waiting:
                own.cut(mark.get(tag, 0))

    def settle(self) -> None:
        """Have the database's dictionaries keep everything."""
        for own in self._lists.values():
            if own.waiting:
                own.settle()

    def append(self, blocks: Mapping[int, Sequence[Block]]) -> None:
        """Have the database's dictionaries take blocks of further keys, while none wait."""
        for tag, own in blocks.items():
            self._lists[tag].append(own)

    def trimmed(self, effects: Sequence[Effect], mark: Waiting) -> list[Effect]:
        """The effects with codes as if nothing but their values had been interned since the mark, one after the
        other; nothing else is. A replay of the log gives them the same codes.

        A value may be named only to be retracted, or compared, or sent to a function, and in any order.
        """
        renamed: dict[int, int] = {}
        for tag, own in self._lists.items():
            if not own.waiting:
                continue
            kept, length = mark.get(tag, 0), len(own.waiting)
            stop = layout.code_of(tag, len(own))
            first = stop - (length - kept)
            used = list(dict.fromkeys(effect.v for effect in effects if first <= effect.v < stop))
            if used != list(range(first, stop)):
                keys = own.cut(kept)
                renamed |= {code: layout.code_of(tag, own.add(keys[code - first])) for code in used}
        if not renamed:
            return list(effects)
        return [effect._replace(v=renamed.get(effect.v, effect.v)) for effect in effects]
