"""How long a text a pattern may be tried on, from what a backtracking engine may have to do.

The pattern becomes an automaton whose states are its characters (Glushkov's). A state that can come back to itself
in two ways over one word means exponential time (Weber and Seidl 1991, "On the degree of ambiguity of finite
automata"); loops that one word can stay in and pass between mean polynomial time, of their number's degree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from datalog.builtins.components import strongly_connected

TEXT_BY_DEGREE = (1_000_000, 1_000_000, 20_000, 1_500, 250, 80, 40)
"""Characters that keep the worst case to a second or two, by the degree of the polynomial."""

_MANY_CHOICES = 10_000
_ASSERTION = 4
_MANY_EDGES = 200_000

_ASCII = 128
_OTHER = 1 << _ASCII
_ALL = (_OTHER << 1) - 1
"""Sets of characters are bits: one for each of ASCII, one for all the others together."""


class TooCostlyError(Exception):
    """The pattern may take exponential time, or too long to find out."""


@dataclass(frozen=True, slots=True)
class Longest:
    """The most characters of a text that a pattern may be searched in, and that it may be matched with whole."""

    searched: int
    matched: int


def longest_text(source: str, flags: int) -> Longest:
    """Raises `TooCostlyError` where not even few characters are safe."""
    parsed = parser.parse(source, flags)
    folds = bool(parsed.state.flags & op.SRE_FLAG_IGNORECASE) or "i:" in source or "i-" in source
    one_attempt, choices = _cost(parsed, folds, ends_anywhere=True)
    anchored = len(parsed) > 0 and parsed[0] in _BEGINNINGS and not parsed.state.flags & op.SRE_FLAG_MULTILINE
    whole, _ = _cost(parsed, folds, ends_anywhere=False)
    return Longest(_longest(one_attempt + (not anchored), choices), _longest(whole, choices))


_BEGINNINGS = ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))


def _longest(degree: int, choices: int) -> int:
    if degree >= len(TEXT_BY_DEGREE):
        raise TooCostlyError
    return int(TEXT_BY_DEGREE[degree] / choices ** (1 / max(degree, 1)))


def _cost(items: Any, folds: bool, *, ends_anywhere: bool) -> tuple[int, int]:
    """The degree of the time that one attempt takes, and a factor."""
    automaton = _Automaton(folds)
    whole = automaton.sequence(items)
    states = range(len(automaton.sets))
    components = strongly_connected(states, automaton.follow.__getitem__)
    loops = [set(c) for c in components if len(c) > 1 or c[0] in automaton.follow[c[0]]]
    for loop in loops:
        _refuse_exponential(automaton, loop)
    loop_of = {state: number for number, loop in enumerate(loops) for state in loop}
    choices = automaton.factor
    for onward in (whole.first, *(automaton.follow[state] for state in states if state not in loop_of)):
        choices *= _ways_on(automaton.sets, onward, loop_of)
        if choices > _MANY_CHOICES:
            raise TooCostlyError
    if ends_anywhere and not automaton.conditions:  # a loop that may end the match is never gone back into
        loops = [loop for loop in loops if loop.isdisjoint(whole.last)]
    return _longest_chain(automaton, loops) + automaton.asserted, choices


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the pattern: whether it can be empty, and where it can begin and end."""

    nullable: bool
    first: list[int]
    last: list[int]


_EMPTY = _Part(True, [], [])


@dataclass
class _Automaton:
    """`sets[state]`: what the state reads. `follow[state]`: what may be next, as often as there are ways to it."""

    folds: bool
    sets: list[int] = field(default_factory=list)
    follow: list[list[int]] = field(default_factory=list)
    edges: int = 0
    asserted: int = 0
    conditions: bool = False
    rounds: int = 0
    factor: int = 1

    def sequence(self, items: Any) -> _Part:
        done = _EMPTY
        for code, argument in items:
            part = self._part(code, argument)
            self._link(done.last, part.first)
            done = _Part(
                done.nullable and part.nullable,
                done.first + part.first if done.nullable else done.first,
                done.last + part.last if part.nullable else part.last,
            )
        return done

    def _link(self, lasts: list[int], firsts: list[int]) -> None:
        self.edges += len(lasts) * len(firsts)
        if self.edges > _MANY_EDGES:
            raise TooCostlyError
        for state in lasts:
            self.follow[state].extend(firsts)

    def _part(self, code: Any, argument: Any) -> _Part:
        if code is op.SUBPATTERN:
            return self.sequence(argument[3])
        if code is op.ATOMIC_GROUP:
            return self.sequence(argument)
        if code is op.BRANCH:
            return self._branches([self.sequence(branch) for branch in argument[1]])
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(*argument)
        if code is op.GROUPREF_EXISTS:
            return self._branches([self.sequence(argument[1]), self.sequence(argument[2] or ())])
        if code is op.GROUPREF:
            anything = self._state(_ALL)
            self._link(anything.last, anything.first)
            return _Part(True, anything.first, anything.last)
        if code in (op.ASSERT, op.ASSERT_NOT):  # one attempt, never gone back into
            self.conditions = True
            self.factor *= _ASSERTION
            self.asserted += _cost(argument[1], self.folds, ends_anywhere=True)[0]
            return _EMPTY
        if code is op.AT:
            self.conditions |= argument not in (op.AT_BEGINNING, op.AT_BEGINNING_STRING)
            return _EMPTY
        return self._state(self._characters(code, argument))

    def _branches(self, parts: list[_Part]) -> _Part:
        self._empty_in(sum(part.nullable for part in parts))
        return _Part(
            any(part.nullable for part in parts),
            [state for part in parts for state in part.first],
            [state for part in parts for state in part.last],
        )

    def _empty_in(self, ways: int) -> None:
        """Ways of matching nothing, which no state shows; repeated they multiply without end."""
        if ways > 1 and self.rounds:
            raise TooCostlyError
        self.factor *= max(ways, 1)

    def _repeat(self, low: int, high: int, items: Any) -> _Part:
        self.rounds += high > 1
        body = self.sequence(items)
        self.rounds -= high > 1
        if body.nullable:
            if high > 1 and (low > 1 or high is not op.MAXREPEAT):
                raise TooCostlyError  # which of the rounds were empty ones?
            self._empty_in(2)
        single = len(body.first) == 1 and body.first == body.last and not self.follow[body.first[0]]
        if high > 1 and not (single and low == high):
            self._link(body.last, body.first)
        return _Part(low == 0 or body.nullable, body.first, body.last)

    def _state(self, characters: int) -> _Part:
        self.sets.append(characters)
        self.follow.append([])
        state = len(self.sets) - 1
        return _Part(False, [state], [state])

    def _characters(self, code: Any, argument: Any) -> int:
        if code is op.LITERAL:
            return self._folded(_bit(argument))
        if code is op.NOT_LITERAL:
            return _ALL & ~_bit(argument) | _OTHER
        if code is op.RANGE:
            low, high = argument
            return self._folded(_bits(range(low, min(high, _ASCII) + 1)) | (_OTHER if high >= _ASCII else 0))
        if code is op.IN:
            negated = argument[0][0] is op.NEGATE
            members = 0
            for item in argument[negated:]:
                members |= self._characters(*item)
            return _ALL & ~members | _OTHER if negated else members
        if code is op.CATEGORY:
            return _CATEGORIES.get(argument, _ALL)
        return _ALL

    def _folded(self, characters: int) -> int:
        if not self.folds:
            return characters
        return characters | _bits(
            ord(chr(c).swapcase()) for c in range(_ASCII) if characters >> c & 1 and chr(c).isalpha()
        )


def _bit(character: int) -> int:
    return 1 << min(character, _ASCII)


def _bits(characters: Any) -> int:
    bits = 0
    for character in characters:
        bits |= _bit(character)
    return bits


_DIGIT = _bits(b"0123456789")
_SPACE = _bits(b" \t\n\r\f\v")
_WORD = _bits(c for c in range(_ASCII) if chr(c).isalnum() or chr(c) == "_")
_CATEGORIES = {
    op.CATEGORY_DIGIT: _DIGIT,
    op.CATEGORY_NOT_DIGIT: _ALL & ~_DIGIT,
    op.CATEGORY_SPACE: _SPACE,
    op.CATEGORY_NOT_SPACE: _ALL & ~_SPACE,
    op.CATEGORY_WORD: _WORD,
    op.CATEGORY_NOT_WORD: _ALL & ~_WORD,
}


def _ways_on(sets: list[int], states: list[int], loop_of: dict[int, int]) -> int:
    """The most ways on that one character leaves open, at least 1. Whether to enter a loop counts as the loop's."""
    most = 1
    for character in range(_ASCII + 1) if len(states) > 1 else ():
        open_states = [state for state in states if sets[state] >> character & 1]
        entered = {loop_of[state] for state in open_states if state in loop_of}
        most = max(most, len(entered), sum(state not in loop_of for state in open_states))
    return most


def _refuse_exponential(automaton: _Automaton, loop: set[int]) -> None:
    """Raises where two states of the loop, come from one by one word, come to one again by one word."""
    sets = automaton.sets
    onward = {state: [s for s in automaton.follow[state] if s in loop] for state in loop}
    if any(number > 1 for states in onward.values() for number in Counter(states).values()):
        raise TooCostlyError
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    waiting = [(state, state) for state in loop]
    edges = 0
    while waiting:
        pair = waiting.pop()
        if pair in pairs:
            continue
        edges += len(onward[pair[0]]) * len(onward[pair[1]])
        if edges > _MANY_EDGES:
            raise TooCostlyError
        pairs[pair] = [(a, b) for a, b in product(onward[pair[0]], onward[pair[1]]) if sets[a] & sets[b]]
        waiting.extend(pairs[pair])
    for component in strongly_connected(pairs, pairs.__getitem__):
        same = sum(a == b for a, b in component)
        if 0 < same < len(component):
            raise TooCostlyError


def _longest_chain(automaton: _Automaton, loops: list[set[int]]) -> int:
    """The most loops in a row that one word can stay in and pass between. `loops` are in reverse order."""
    sets = automaton.sets
    alphabets = [_union(sets, loop) for loop in loops]
    chains: list[int] = []
    for number, loop in enumerate(loops):
        seen = set(loop)
        waiting = list(loop)
        while waiting:
            for state in automaton.follow[waiting.pop()]:
                if state not in seen and sets[state] & alphabets[number]:
                    seen.add(state)
                    waiting.append(state)
        later = (chains[i] for i in range(number) if loops[i] & seen and alphabets[i] & alphabets[number])
        chains.append(1 + max(later, default=0))
    return max(chains, default=0)


def _union(sets: list[int], states: set[int]) -> int:
    union = 0
    for state in states:
        union |= sets[state]
    return union
