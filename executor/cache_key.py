"""From a request to the keys of its answer: what is asked, of what, and up to where that was touched."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from datalog import ast
from datalog.values import Keyword
from executor.cache_codec import KEY_BYTES, VERSION
from executor.cache_form import form_of, pattern_text
from executor.cache_reads import QueryReads, Reads, lookups_in, reads_of, token_of
from executor.compile import Compiler
from executor.inputs import matched, rules_text, settled
from executor.pull_find import pattern_of, window
from executor.result import Result
from planner.plan import Options
from store.database import Database
from store.layout import tags_of
from store.snapshot import Snapshot
from store.wire import pack_as_written

if TYPE_CHECKING:
    from executor.pool import Request

_KEPT: Final = 2048
_PLAIN: Final = Options()


@dataclass(frozen=True, slots=True)
class Key:
    """`newest`: the last transaction that it speaks of. What it names holds in every database that agrees on the
    transactions up to there."""

    name: bytes
    newest: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request whose answer may be kept. `query` has the rules given for `%`; `args` are settled."""

    request: Request
    query: ast.Query
    args: tuple[Any, ...]
    databases: Mapping[str, Snapshot]
    snapshot: Snapshot
    key: Key
    started: float
    deadline: float | None

    @property
    def pulls(self) -> list[int]:
        """The places of the find spec that pull."""
        elements = self.query.find.elements
        return [place for place, element in enumerate(elements) if isinstance(element, ast.FindPull)]


@dataclass(frozen=True, slots=True)
class _Shape:
    form: bytes
    reads: QueryReads


@dataclass
class Keys:
    """Makes keys; remembers the shapes of recent queries. Thread-safe."""

    database: Database
    compiler: Compiler
    _shapes: OrderedDict[tuple[str, str | None], _Shape] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def knows(self, request: Request) -> bool:
        """Whether the key is made in no time: the text was asked before, without `%` and with few arguments."""
        return (request.query, None) in self._shapes and _small(request.args)

    def asked(self, request: Request) -> Asked | None:
        """None where the answer cannot be kept. Raises what is wrong with the text or the arguments."""
        started = time.perf_counter()
        now = self.database.snapshot()
        snapshot = request.snapshot or now
        query = self.compiler.parsed(request.query)
        rules = rules_text(query, request.args)
        if rules is not None:
            query = self.compiler.parsed(request.query, rules)
        args = settled(query, request.args, snapshot)
        databases = {
            each.name: snapshot if value is None else value
            for place, (each, value) in enumerate(matched(query, args))
            if isinstance(each, ast.SourceInput) and (place == 0 or isinstance(value, Snapshot))
        }
        if (
            not request.cached
            or request.options != _PLAIN
            or not all(_committed(x, now) for x in databases.values())
        ):
            return None
        shape = self._shape(request.query, rules, query)
        if shape.reads.chance:
            return None
        key = self._key(request, shape, query, args, databases)
        if key is None:
            return None
        deadline = _deadline(request.timeout_ms, query.timeout_ms)
        return Asked(request, query, args, databases, snapshot, key, started, deadline)

    def _shape(self, text: str, rules: str | None, query: ast.Query) -> _Shape:
        with self._lock:
            shape = self._shapes.get((text, rules))
            if shape is not None:
                self._shapes.move_to_end((text, rules))
                return shape
        shape = _Shape(_digest(form_of(query)), reads_of(query))
        with self._lock:
            self._shapes[text, rules] = shape
            while len(self._shapes) > _KEPT:
                self._shapes.popitem(last=False)
        return shape

    def _key(
        self,
        request: Request,
        shape: _Shape,
        query: ast.Query,
        args: Sequence[Any],
        databases: Mapping[str, Snapshot],
    ) -> Key | None:
        given: list[bytes] = []
        named: set[Keyword] = set()
        try:
            for each, value in matched(query, args):
                if isinstance(each, ast.BindingInput) or (
                    isinstance(each, ast.SourceInput) and each.name not in databases
                ):
                    given.append(pack_as_written(value))
                    named.update(lookups_in(value))
        except (TypeError, ValueError, OverflowError):
            return None  # not a value of the language: whoever runs the query says so
        nothing = Reads()
        tokens = {
            name: token_of(snapshot, shape.reads.sources.get(name, nothing), named)
            for name, snapshot in databases.items()
        }
        said = (
            request.ordered,
            request.max_rows,
            request.engine,
            self.database.schema,
            sorted((name, token.text) for name, token in tokens.items()),
        )
        newest = max((token.newest for token in tokens.values()), default=0)
        return Key(_digest("rows", shape.form, repr(said), *given), newest)

    def pull_key(self, asked: Asked, result: Result, place: int) -> Key | None:
        """The key of what one pull shows: whatever query found the entities. None where it will be refused."""
        element = asked.query.find.elements[place]
        assert isinstance(element, ast.FindPull)
        source = asked.databases.get(element.source.name)
        if source is None:
            return None
        pattern = pattern_of(element, asked.query, asked.args)
        start, stop = window(asked.request.shown, len(result))
        codes = result.codes_of(place, start, stop)
        plain = not tags_of(codes).any()
        if plain:
            entities = np.ascontiguousarray(codes).tobytes()
        else:
            entities = pack_as_written(result.column(place, start, stop))
        token = token_of(source, Reads(pulls=[pattern], unique=not plain))
        said = (plain, self.database.schema, token.text)
        return Key(_digest("pull", pattern_text(pattern), repr(said), entities), token.newest)


def _committed(snapshot: Snapshot, now: Snapshot) -> bool:
    """Of this database, and no state that a transaction was only tried on or is not durable yet."""
    return snapshot.codes is now.codes and not snapshot.origin.applied and snapshot.origin.t <= now.t


def _deadline(*timeouts_ms: int | None) -> float | None:
    given = [each for each in timeouts_ms if each is not None]
    return time.monotonic() + min(given) / 1000 if given else None


def _small(args: Sequence[Any]) -> bool:
    return sum(len(each) if hasattr(each, "__len__") else 1 for each in args) < 2_000


def _digest(*parts: str | bytes) -> bytes:
    made = hashlib.blake2b(bytes((VERSION,)), digest_size=KEY_BYTES)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "big"))
        made.update(data)
    return made.digest()
