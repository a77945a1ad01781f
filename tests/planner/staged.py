"""A query after each pass of the planner, in a form for people: what the fixtures hold.

`python -m tests.planner.staged` writes the fixtures anew; read the difference before it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from adalog.datalog.edn import read
from adalog.datalog.parsing.parser import parse_query
from adalog.datalog.values import Keyword
from adalog.planner.explain.rules import explain_program, plain_names, text_of_program
from adalog.planner.model.logical import AndNode, LevelPlan, describe
from adalog.planner.model.plan import Options, Plan
from adalog.planner.model.program import RulePredicate
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import check, context_of, order, scope, share_out, simplify, stratify
from adalog.planner.stages import CheckedQuery, ScopedQuery, SimplifiedQuery, StratifiedQuery
from adalog.store.database import Database

FIXTURES = Path(__file__).with_name("fixtures")

DATA = (
    """[{:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
        {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
        {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}
        {:db/ident :tag :db/valueType :db.type/keyword :db/cardinality :db.cardinality/many}
        {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""",
    " ".join(
        [
            "[",
            *(f"[:db/add {n} :size {n % 7}] [:db/add {n} :by {100 + n % 5}]" for n in range(1, 51)),
            *(
                f"[:db/add {n} :to {n + 1}] [:db/add {n} :to {n + 2}] [:db/add {n} :tag :t{n % 3}]"
                for n in range(1, 51)
            ),
            *(f'[:db/add {n} :name "n{n}"]' for n in range(100, 105)),
            "]",
        ]
    ),
)


def texts_of(path: Path) -> list[str]:
    """The query of a fixture, then the lines of each pass."""
    fixture = read(path.read_text(encoding="utf-8"))
    return [fixture[Keyword("query")], *("\n".join(each[1:]) for each in fixture[Keyword("passes")])]


def stages(query: str, database: Database) -> list[tuple[str, list[str]]]:
    """(the name of a pass, its outcome line by line), for every pass."""
    context = context_of(Statistics({"$": database.snapshot()}, {}), frozenset(), Options())
    scoped = scope(parse_query(query), context)
    checked = check(scoped, context)
    shared = share_out(checked, context)
    stratified = stratify(shared, context)
    simplified = simplify(stratified, context)
    outcomes = {
        "scope": scoped,
        "check": checked,
        "share": shared,
        "stratify": stratified,
        "simplify": simplified,
        "order": order(simplified, context),
    }
    return [(name, lines_of(outcome)) for name, outcome in outcomes.items()]


def lines_of(stage: object) -> list[str]:
    """One stage."""
    match stage:
        case ScopedQuery():
            return [*_body(stage.tree.body), *_rules(stage.tree.predicates)]
        case CheckedQuery():
            shown = [f"answer {' '.join(stage.answer)}", *_body(stage.tree.body), *_rules(stage.tree.predicates)]
            return shown if stage.sharing is None else [*shown, f"share of {stage.sharing.variable}"]
        case StratifiedQuery():
            return [*_body(stage.body), *map(plain_names, text_of_program(explain_program(stage.program)))]
        case SimplifiedQuery():
            rows = "distinct rows" if stage.distinct else "rows that do not repeat"
            counted = f", counting {' '.join(sorted(stage.counted))}" if stage.counted else ""
            return [*_body(stage.body), rows + counted]
        case Plan():
            return [f"given {' '.join(stage.given) or 'nothing'}", *map(_level, stage.levels)]
        case _:
            raise AssertionError(f"no stage: {stage}")


def _body(body: AndNode) -> list[str]:
    return [plain_names(describe(item)) for item in body.items]


def _rules(predicates: Iterable[RulePredicate]) -> list[str]:
    shown = []
    for each in predicates:
        for branch in each.branches:
            names = [f"[{name}]" if i in each.required else name for i, name in enumerate(branch.head)]
            body = " ".join(describe(item) for item in branch.body.items)
            shown.append(plain_names(f"({each.name} {' '.join(names)}) ← {body}"))
    return shown


def _level(level: LevelPlan) -> str:
    kept = "all" if level.keep is None else " ".join(sorted(level.keep)) or "nothing"
    notes = [note for note, holds in (("counted", level.counted), ("merges", level.merge)) if holds]
    return ", ".join([f"{level.variable} keeps {kept}", *notes])


def written(query: str, found: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A fixture's text."""
    passes = "\n".join(
        f"  [:{name}" + "".join(f"\n   {_quoted(line)}" for line in lines) + "]" for name, lines in found
    )
    return f"{{:query\n {_quoted(query)}\n :passes\n [\n{passes}]}}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def database() -> Database:
    """What the fixtures' queries are planned for."""
    made = Database.open(":memory:")
    for text in DATA:
        made.transact(text)
    return made


def main() -> None:
    with database() as made:
        for path in sorted(FIXTURES.glob("*.edn")):
            (query, *_) = texts_of(path)
            path.write_text(written(query, stages(query, made)), encoding="utf-8")


if __name__ == "__main__":
    main()
