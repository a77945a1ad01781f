"""The keys of an answer: the question, its databases, and the last transactions that touched what it reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import ref

import numpy as np

from adalog.datalog import ast
from adalog.datalog.values import Keyword
from adalog.executor.answer.result import Result
from adalog.executor.bounds.lru_cache import LruCache, weight_of_text
from adalog.executor.cache.canonical_form import form_of, pattern_text
from adalog.executor.cache.codec import KEY_BYTES, VERSION
from adalog.executor.cache.reads import QueryReads, Reads, lookups_in, reads_of, reads_of_pull, token_of
from adalog.executor.pull.find import given_patterns, pattern_of, window
from adalog.executor.question.arguments import matched
from adalog.executor.question.cost import VALUE_COST
from adalog.executor.question.question import Question
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from adalog.store.files.formats import RELEASE
from adalog.store.files.packing import pack_as_written
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.layout import tags_of

_PLAIN: Final = Options()
# Values whose key is made in no time.
_FEW: Final = 2_000


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The name of an answer. `newest`: the last transaction that the answer depends on. Databases with the same
    transactions up to that one have the same answer."""

    name: bytes
    newest: int


@dataclass(frozen=True, slots=True)
class KeyedQuestion:
    """A question whose answer may be kept."""

    question: Question
    key: CacheKey

    @property
    def pulls(self) -> list[int]:
        elements = self.question.query.find.elements
        return [place for place, element in enumerate(elements) if isinstance(element, ast.FindPull)]


@dataclass(slots=True)
class _Shape:
    """What a text asks and reads. `begun`: the part of its last key that no argument has to do with."""

    form: bytes
    reads: QueryReads
    begun: _Begun | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """The beginning of the keys of one shape on the same snapshots, which it does not keep alive."""

    said: tuple[bool, int | None, str]
    databases: Mapping[str, ref[Snapshot]]
    digest: _Digest
    newest: int

    def holds(self, said: tuple[bool, int | None, str], databases: Mapping[str, Snapshot]) -> bool:
        return self.said == said and all(self.databases[name]() is each for name, each in databases.items())


@dataclass
class CacheKeys:
    """Makes keys, and remembers the shapes of recent queries. Thread-safe."""

    database: Database
    _shapes: LruCache[tuple[str, str | None], _Shape]

    def knows(self, question: Question) -> bool:
        """Whether a key costs little to make: the shape of the text is known, and there are few arguments."""
        return (question.text, question.rules) in self._shapes and question.arguments_cost <= _FEW * VALUE_COST

    def asked(self, question: Question) -> KeyedQuestion | None:
        """The question with its key; None if its answer must not be kept."""
        request, now = question.request, self.database.snapshot()
        if not request.cached or request.options != _PLAIN:
            return None
        if not is_committed(question.databases.values(), now):
            return None
        shape = self._shape(question.text, question.rules, question.query)
        if shape.reads.chance or chance_in_patterns(question):
            return None
        key = self._key(question, shape)
        return None if key is None else KeyedQuestion(question, key)

    def again(self, text: str, args: Sequence[Any], source: str, snapshot: Snapshot, most: int) -> CacheKey | None:
        """The key of a query that was asked on the same snapshot, of single values that name no attributes; None
        if the whole question has to be read. `source`: the name of `$`; `most`: the limit of its rows."""
        shape = self._shapes.get((text, None))
        begun = None if shape is None else shape.begun
        if begun is None or not begun.holds((False, most, "AUTO"), {source: snapshot}):
            return None
        made = begun.digest.copy()
        made.add(*map(pack_as_written, args))
        return CacheKey(made.name, begun.newest)

    def _shape(self, text: str, rules: str | None, query: ast.Query) -> _Shape:
        shape = self._shapes.get((text, rules))
        if shape is None:
            shape = _Shape(_Digest(form_of(query)).name, reads_of(query))
            self._shapes.put((text, rules), shape, weight_of_text(text) + len(rules or ""))
        return shape

    def _key(self, question: Question, shape: _Shape) -> CacheKey | None:
        try:
            given, named = _given(question)
        except (TypeError, ValueError, OverflowError):
            return None  # not a value of the language: the engine raises the error
        begun = self._begun(question, shape, named)
        made = begun.digest.copy()
        made.add(*given)
        return CacheKey(made.name, begun.newest)

    def _begun(self, question: Question, shape: _Shape, named: set[Keyword]) -> _Begun:
        """The key of a question up to its arguments. `named`: attributes that these name."""
        request, databases = question.request, question.databases
        said = (request.ordered, request.max_rows, request.engine)
        last = shape.begun
        if last is not None and not named and last.holds(said, databases):
            return last
        sources, nothing = shape.reads.sources, Reads()
        tokens = {name: token_of(each, sources.get(name, nothing), named) for name, each in databases.items()}
        texts = sorted((name, token.text) for name, token in tokens.items())
        digest = _Digest("rows", shape.form, repr((*said, self.database.schema, texts)))
        newest = max((token.newest for token in tokens.values()), default=0)
        begun = _Begun(said, {name: ref(each) for name, each in databases.items()}, digest, newest)
        if not named:
            shape.begun = begun
        return begun

    def pull_key(self, asked: KeyedQuestion, result: Result, place: int) -> CacheKey | None:
        """The key of what one pull shows, whatever query found the entities. None if the pull will be refused."""
        question = asked.question
        element = question.query.find.elements[place]
        assert isinstance(element, ast.FindPull)
        source = question.databases.get(element.source.name)
        if source is None:
            return None
        pattern = pattern_of(element, question.query, question.args)
        start, stop = window(question.request.shown, len(result))
        codes = result.codes_of(place, start, stop)
        plain = not tags_of(codes).any()
        if plain:
            entities = np.ascontiguousarray(codes).tobytes()
        else:
            entities = pack_as_written(result.column(place, start, stop))
        reads = reads_of_pull(pattern, element.source.name).sources
        reads[element.source.name].unique |= not plain
        given, named = _given(question) if any(pattern.all_queries()) else ([], set[Keyword]())
        databases = sorted((name, question.databases[name]) for name in reads if name in question.databases)
        tokens = [token_of(each, reads[name], named) for name, each in databases]
        said = (plain, self.database.schema, [token.text for token in tokens])
        digest = _Digest("pull", pattern_text(pattern, question.query), repr(said), entities, *given)
        return CacheKey(digest.name, max(token.newest for token in tokens))


def _given(question: Question) -> tuple[list[bytes], set[Keyword]]:
    """The arguments that are values, packed, and the attributes that they name. Raises for what is no value."""
    given: list[bytes] = []
    named: set[Keyword] = set()
    for each, value in matched(question.query, question.args):
        is_relation = isinstance(each, ast.SourceInput) and each.name not in question.databases
        if is_relation or isinstance(each, ast.BindingInput):
            given.append(pack_as_written(value))
            named.update(lookups_in(value))
    return given, named


def chance_in_patterns(question: Question) -> bool:
    """Whether a pattern that is an argument does not always show the same."""
    return any(reads_of_pull(pattern, "$").chance for _, pattern, _ in given_patterns(question))


def is_committed(databases: Iterable[Snapshot], now: Snapshot) -> bool:
    """Whether the databases of a question are states of this one, from which nothing was excised since."""
    return all(_committed(each, now) for each in databases)


def _committed(snapshot: Snapshot, now: Snapshot) -> bool:
    """Whether a snapshot is of this database and holds nothing but durable transactions."""
    return snapshot.codes is now.codes and not snapshot.origin.applied and snapshot.origin.t <= now.t


class _Digest:
    """The digest of a list of parts, which can be continued."""

    __slots__ = ("_made",)

    def __init__(self, *parts: str | bytes) -> None:
        self._made = hashlib.blake2b(bytes((VERSION,)), digest_size=KEY_BYTES)
        # Another release may answer the same question otherwise, since a fault was mended, or in another order.
        self.add(RELEASE, *parts)

    def copy(self) -> _Digest:
        other = _Digest.__new__(_Digest)
        other._made = self._made.copy()
        return other

    def add(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            self._made.update(len(data).to_bytes(8, "big"))
            self._made.update(data)

    @property
    def name(self) -> bytes:
        return self._made.digest()
