"""A database as its naive model, and the comparison of the engine's answers with the oracle's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import currently_in_test_context, event, settings

from adalog.datalog import ast
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import TX_BASE
from tests.oracle import Facts, TooMuchError, UnboundError
from tests.oracle_rules import UnstratifiableError, answer
from tests.property.generated import PAST, SCHEMA, Asked, query

SWITCHES = (
    Options(),
    Options(reorder=False),
    Options(project=False),
    Options(budget=1),
    Options(cautious=True),
    Options(look_up=False),
    Options(reorder=False, project=False, budget=3),
)
REFUSED = (Code.QUERY_INVALID, Code.ARG_INVALID)


# The second transaction, the first with data: what a second source reads.
EARLY = 2


class View(Facts):
    """The facts of one view; `past` those of an early one."""

    past: View | None = None


class Log:
    """Every datom ever transacted, from the reports alone."""

    def __init__(self, bootstrap: Iterable[Any]) -> None:
        self.datoms = list(bootstrap)

    def facts(self, *, as_of: int | None = None, since: int = 0, history: bool = False) -> View:
        """The datoms of a view, found by replaying the log."""
        seen = [d for d in self.datoms if as_of is None or d.t <= as_of]
        names = Facts((d.e, d.a, d.v, 0, True) for d in seen)
        if not history:
            held: dict[Any, Any] = {}
            for d in seen:
                key = (d.e, d.a, identity(d.v))
                if d.added:
                    held[key] = d
                else:
                    held.pop(key, None)
            seen = list(held.values())
        facts = View((d.e, d.a, d.v, TX_BASE + d.t, d.added) for d in seen if not since or d.t > since)
        facts.idents, facts.types = names.idents, names.types
        facts.past = facts if (as_of, since, history) == (EARLY, 0, False) else self.facts(as_of=EARLY)
        return facts


@contextmanager
def opened(rng: Random, texts: Iterable[str], folded: float) -> Iterator[tuple[Database, Pool, Log]]:
    """A database after some transactions, each of which is folded with some probability."""
    with TemporaryDirectory() as folder, Database.open(folder) as database:
        log = Log(database.snapshot().datoms("EAVT"))
        for text in texts:
            log.datoms.extend(database.transact(text).datoms)
            if rng.random() < folded:
                database.compact()
        pool = Pool(database, PoolSettings(threads=1))
        try:
            yield database, pool, log
        finally:
            pool.close()


def filled(database: Database, texts: list[str]) -> Log:
    """Transacts the texts; the log as the reports told it."""
    log = Log(database.snapshot().datoms("EAVT"))
    for text in [SCHEMA, *texts]:
        log.datoms.extend(database.transact(text).datoms)
    return log


def examples(number: int) -> int:
    """A share of the profile's examples: `number` of every hundred."""
    return max(1, number * settings.default.max_examples // 100)


def check(
    pool: Pool,
    snapshot: Snapshot,
    facts: View,
    asked: Asked,
    switches: Sequence[Options] = SWITCHES,
    engine: str = "LOCAL",
) -> None:
    """The engine answers as the oracle does, whatever the switches; or both refuse. A failure is made smaller."""
    wrong = difference(pool, snapshot, facts, asked, switches, engine)
    smaller = wrong is not None
    while smaller:
        smaller = False
        for each in asked.smaller():
            found = difference(pool, snapshot, facts, each, switches, engine)
            if found is not None:
                asked, wrong, smaller = each, found, True
                break
    assert wrong is None, wrong


def difference(
    pool: Pool, snapshot: Snapshot, facts: View, asked: Asked, switches: Sequence[Options], engine: str
) -> str | None:
    """What is wrong, or None."""
    try:
        parsed = parsed_of(asked)
    except AdalogError:
        return None
    args = [pool.database.at(as_of=EARLY) if arg == PAST else read(arg) for arg in asked.args]
    if asked.given:
        args.append(asked.rules_text if len(asked.text) % 2 else read(asked.rules_text))
    expected = outcome(lambda: answer(parsed, facts, meant(asked, args, snapshot, facts)))
    if expected is None:
        return None
    if currently_in_test_context():
        event(expected if isinstance(expected, str) else f"{min(len(expected), 3)} or more rows")
    for options in switches:
        request = QueryRequest(asked.text, args, snapshot, engine=engine, options=options)
        got = answered(pool, request)
        if got is None:
            continue
        if asked.partial and any(isinstance(each, str) and each in REFUSED for each in (got, expected)):
            continue  # which rows a function sees before others drop them is not specified
        if expected == Code.UNBOUND_VARIABLE and "(or-join [[" in asked.text:
            continue  # the engine binds variable by variable, so it finds an order more often
        if expected == Code.UNBOUND_VARIABLE and asked.rules and not isinstance(got, str):
            continue  # likewise: it looks into rules that are written into the place of their call
        if got == Code.UNBOUND_VARIABLE and asked.repeats:
            continue  # the engine asks for the first place of a head's variable, the oracle for any
        wrong = compare(parsed, expected, got)
        if wrong:
            given = " ".join([*asked.args, asked.rules_text if asked.given else ""])
            return f"{wrong}\n{asked.text} {given}\n{options}\nexpected {expected}\ngot {got}"
    return None


def meant(asked: Asked, args: list[Any], snapshot: Snapshot, facts: View) -> list[Any]:
    """The arguments as the schema has them read, which the oracle knows nothing of: for it values are what they
    are."""
    given = args[: len(asked.args)]
    with suppress(AdalogError):  # the oracle is to say what is wrong
        given = list(
            Questions().of(QueryRequest(asked.text, args, snapshot), snapshot, Cancel()).args[: len(given)]
        )
    return [facts.past if isinstance(arg, Snapshot) else arg for arg in given]


def parsed_of(asked: Asked) -> ast.Query:
    return parse_query(asked.text, asked.rules_text if asked.given else None)


def asked_of(facts: View, rng: Random, make: Callable[[Random], Asked] = query) -> Asked:
    """A random query; one that finds nothing is often given up for another."""
    for _ in range(4):
        asked = make(rng)
        try:
            parsed = parsed_of(asked)
        except AdalogError:
            continue
        args = [facts.past if arg == PAST else read(arg) for arg in asked.args]
        found = outcome(lambda parsed=parsed, args=args: answer(parsed, facts, args))
        if found and not isinstance(found, str):
            return asked
    return asked


def answered(pool: Pool, request: QueryRequest) -> Any:
    """Rows, or the code of the refusal; whatever else is raised is a bug, to be made smaller as others are.

    None where the oracle can do more: ask a denied rule for one argument after the other that a recursion finds.
    """
    try:
        return pool.run(request).rows()
    except AdalogError as error:
        return None if "needs an argument that the recursion itself binds" in error.message else error.code
    except Exception as error:
        return repr(error)


def outcome(act: Any) -> Any:
    """The oracle's rows, or the code of its refusal; None where it would take too long."""
    try:
        return act()
    except UnboundError:
        return Code.UNBOUND_VARIABLE
    except UnstratifiableError:
        return Code.UNSTRATIFIABLE
    except TooMuchError:
        return None
    except AdalogError as error:
        return error.code
    except (TypeError, AttributeError):
        return Code.QUERY_INVALID


def compare(query: ast.Query, expected: Any, got: Any) -> str | None:
    if isinstance(expected, str) or isinstance(got, str):
        return None if got == expected else "one refuses"
    mine, theirs = [key(row) for row in got], {key(row): row for row in expected}
    if len(set(mine)) != len(mine):
        return "a row twice"
    if not set(mine) <= theirs.keys():
        return "a row too much"
    size = max(0, len(expected) - query.offset)
    if query.limit is not None:
        size = min(size, query.limit)
    if len(got) != size:
        return f"should have {size} rows"
    wanted = [row.ranks for row in expected[query.offset : query.offset + size]]
    return "another order" if [theirs[each].ranks for each in mine] != wanted else None


def key(row: Sequence[Any]) -> Any:
    """A row's identity, doubles rounded: a sum may be taken in any order."""
    return tuple(identity(round(value, 9) if type(value) is float else value) for value in row)
