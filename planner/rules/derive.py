"""From the rules that became relations to a program: magic sets, strata, and a plan for every rule of every round.

In a stratum the rules that read none of its relations run once; the others run in rounds, each from the rows that
the last round added to one of the relations they read (semi-naive evaluation).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adalog.datalog.aggregates import IDEMPOTENT
from adalog.datalog.errors import AdalogError, Code
from adalog.planner.delta.bodies import before_change, delta_bodies, reads_delta
from adalog.planner.delta.versions import LATTICE_ROUND, ROUND, Split
from adalog.planner.model.logical import (
    AndNode,
    DatomAtom,
    Leaf,
    Node,
    NotNode,
    RelationAtom,
    leaves,
    variables,
    without_single_branches,
)
from adalog.planner.model.plan import Options
from adalog.planner.model.program import Branch, Program, RulePlan, RuleRelation, Stratum
from adalog.planner.order.duplicates import multiplicity, summed_places
from adalog.planner.order.joins import plan_join, unmerged
from adalog.planner.order.projection import blank_singletons
from adalog.planner.order.statistics import Statistics
from adalog.planner.rules.closure import closure_of, from_seeds
from adalog.planner.rules.magic import AdornedProgram, MagicSets
from adalog.planner.scope.strata import RuleDependency, components, forbidden_cycle
from adalog.planner.scope.tree import Tree

# What a relation is taken to hold while its own rules are planned: those rows of a magic set or restricted by one,
# or all; and what a recursion is taken to make of the rows it begins with.
_RESTRICTED, _WHOLE, _GROWTH = 1_000, 100_000, 8

MOST_ESTIMATED = 1 << 40

Rules = Mapping[str, Sequence[Branch]]


def plan_rules(tree: Tree, statistics: Statistics, options: Options) -> tuple[AndNode, Program, dict[str, int]]:
    """(the query's body over derived relations, the program for them, the sizes they are taken to have)."""
    if not tree.predicates:
        return without_single_branches(tree.body), Program(), {}
    made, found = _adorned(tree, statistics, options)
    rules: dict[str, Sequence[Branch]] = {**dict.fromkeys(made.relations, ()), **made.all_rules}
    relations = made.relations
    if options.magic and options.turn:
        relations, rules = from_seeds(relations, rules, made, found)
    rules = {name: list(map(_without_single_branches, branches)) for name, branches in rules.items()}
    body = without_single_branches(made.body)
    reached = _reached(body, rules)
    order = components(reached, list(_dependencies(relations, {name: rules[name] for name in reached})))
    sizes = {name: _RESTRICTED if each.magic or each.bound else _WHOLE for name, each in relations.items()}
    statistics = replace(statistics, relation_domains=_domains(relations, rules, statistics))
    strata: list[Stratum] = []
    cost = 0.0
    for names in order:
        sized = replace(statistics, relation_rows={**statistics.relation_rows, **sizes})
        stratum, rows, spent = _stratum(names, relations, rules, sized, options)
        strata.append(stratum)
        sizes |= rows
        cost += spent
    return body, Program(tuple(strata), options.semi_naive, cost), sizes


def check_stratified(tree: Tree, statistics: Statistics, options: Options) -> None:
    """Raises UNSTRATIFIABLE for rules that go in circles."""
    if tree.predicates:
        _adorned(tree, statistics, options)


def _without_single_branches(rule: Branch) -> Branch:
    return replace(rule, body=without_single_branches(rule.body))


def _adorned(tree: Tree, statistics: Statistics, options: Options) -> tuple[AdornedProgram, list[tuple[str, ...]]]:
    """The program after magic sets, as far as they leave it stratified, and its components."""
    attempts = [(False, False, False), (False, False, True)]
    if options.magic:
        attempts = [(True, True, False), (False, True, False), attempts[0], (False, True, True), attempts[1]]
    while True:
        through, use, apart = attempts.pop(0)
        magic = MagicSets(
            tree.predicates, statistics, through=through, use=use, apart=apart, turn=options.magic and options.turn
        )
        made = magic.of_query(tree.body, tree.given)
        dependencies = list(_dependencies(made.relations, made.all_rules))
        found = components(made.relations, dependencies)
        cycle = forbidden_cycle(found, dependencies)
        if cycle is None:
            return made, found
        if not attempts:
            break
    rule = made.relations[cycle[0].reader].rule
    raise AdalogError(
        Code.UNSTRATIFIABLE,
        f"the rule {rule} needs an argument that the recursion itself binds through {cycle[0].barrier}: "
        f"{' → '.join([cycle[0].reader, *(each.read for each in cycle)])}; bind it by a data pattern",
    )


def _dependencies(relations: Mapping[str, RuleRelation], rules: Rules) -> Iterator[RuleDependency]:
    for name, branches in rules.items():
        aggregate = next((a for a in relations[name].aggregates if a and a not in IDEMPOTENT), None)
        barrier = f"({aggregate} …)" if aggregate else ""
        for branch in branches:
            yield from (RuleDependency(name, read, why or barrier) for read, why in _reads(branch.body, ""))


def _reads(node: Node, barrier: str) -> Iterator[tuple[str, str]]:
    for leaf in leaves(node):
        if isinstance(leaf, RelationAtom):
            yield leaf.relation, barrier
        elif isinstance(leaf, NotNode):
            for item in leaf.items:
                yield from _reads(item, "not")


def _reached(body: AndNode, rules: Rules) -> list[str]:
    """The relations that the query's answer depends on, in a deterministic order."""
    waiting = [name for name, _ in _reads(body, "") if name in rules]
    found: dict[str, None] = {}
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = None
            waiting.extend(read for b in rules[name] for read, _ in _reads(b.body, "") if read in rules)
    return list(found)


def _domains(
    relations: Mapping[str, RuleRelation], rules: Rules, statistics: Statistics
) -> dict[str, tuple[float, ...]]:
    """About how many values each place of a relation may have, where data patterns of its rules tell."""
    found: dict[str, tuple[float, ...]] = {}
    for name, relation in relations.items():
        if relation.magic or relation.bound:
            continue
        places = tuple(
            max((_domain(branch.body, branch.head[i], statistics) for branch in rules[name]), default=0.0)
            for i in range(relation.arity)
        )
        if all(places):
            found[name] = places
    return found


def _domain(body: AndNode, variable: str, statistics: Statistics) -> float:
    """The fewest values that a data pattern of the body knows of the variable; 0 where there is none."""
    patterns = (item for item in body.items if isinstance(item, DatomAtom) and variable in variables(item))
    return min((statistics.domain(item, variable) for item in patterns), default=0.0)


def _stratum(
    names: Sequence[str],
    relations: Mapping[str, RuleRelation],
    rules: Rules,
    statistics: Statistics,
    options: Options,
) -> tuple[Stratum, dict[str, int], float]:
    """(the stratum, the rows its relations are estimated to come to, the estimated cost)."""
    inside = frozenset(names)
    lattices = frozenset(name for name in names if relations[name].aggregates)
    once: list[RulePlan] = []
    rounds: list[RulePlan] = []
    recursive: list[Branch] = []
    rows = dict.fromkeys(names, 0.0)
    cost = 0.0

    def planned(name: str, branch: Branch, body: AndNode, delta: str | None) -> RulePlan:
        nonlocal cost
        plan, estimate, spent = _planned(relations[name], branch, body, delta, statistics, options)
        rows[name] += estimate * (_GROWTH if recurs else 1)
        cost += spent * (_GROWTH if recurs else 1)
        return plan

    def growing(leaf: Leaf) -> Split | None:
        if not isinstance(leaf, RelationAtom) or leaf.relation not in inside:
            return None
        return LATTICE_ROUND if leaf.relation in lattices else ROUND

    recurs = any(reads_delta(branch.body, growing) for name in names for branch in rules[name])
    for name in names:
        for branch in rules[name]:
            start = before_change(branch.body, lambda atom: growing(atom) is not None)
            if start is not None:
                once.append(planned(name, branch, start, None))
            if not reads_delta(branch.body, growing):
                continue
            if not options.semi_naive:
                rounds.append(planned(name, branch, branch.body, None))
                continue
            recursive.append(branch)
            for each in delta_bodies(branch.body, growing):
                assert isinstance(each.atom, RelationAtom), "no relation reads itself through a not"
                rounds.append(planned(name, branch, each.body, each.atom.relation))
    closure = closure_of(relations[names[0]], recursive) if len(names) == 1 and options.semi_naive else None
    kept = tuple((name, branch) for name in names for branch in rules[name])
    stratum = Stratum(tuple(relations[name] for name in names), tuple(once), tuple(rounds), closure, kept)
    return stratum, {name: min(int(size) + 1, MOST_ESTIMATED) for name, size in rows.items()}, cost


def _planned(
    target: RuleRelation, branch: Branch, body: AndNode, delta: str | None, statistics: Statistics, options: Options
) -> tuple[RulePlan, float, float]:
    """(the plan, its estimated rows, its estimated cost)."""
    needed, whole = frozenset(branch.head), body
    if options.project:
        body = blank_singletons(body, needed.union(branch.given))
    plan = plan_join(body, branch.given, needed, statistics, options)
    # The relation that takes the rows knows which of them are new.
    levels = unmerged(plan.levels)
    summed = frozenset(branch.head[place] for place in summed_places(target.aggregates))
    counted = multiplicity(whole, plan.body, needed, summed, branch.given, levels, statistics)
    made = RulePlan(target.name, branch.head, plan.body, branch.given, levels, delta, counted)
    return made, plan.rows, plan.cost
