"""Which places of a rule only its caller can bind, and whether everything can be bound.

`[(older ?p ?than) [?p :age ?a] [(> ?a ?than)]]` binds ?p itself and needs ?than from the caller: a place is
required where some branch cannot bind it, besides those that the head requires in so many words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adalog.datalog.errors import AdalogError, Code, Position
from adalog.datalog.parsing.optionals import misplaced
from adalog.datalog.watched import look
from adalog.planner.model import logical
from adalog.planner.model.logical import AndNode, Leaf, Node, disjunctions, in_body, leaves, variables
from adalog.planner.model.program import RulePredicate
from adalog.planner.order.joins import negations
from adalog.planner.order.ordering import can_bind
from adalog.planner.scope.tree import Tree


def settled(tree: Tree) -> Tree:
    """The tree with every rule call knowing what it requires. Raises UNBOUND_VARIABLE for what is never bound."""
    predicates = {each.name: each for each in tree.predicates}
    while True:
        required = {name: each.required for name, each in predicates.items()}
        predicates = {name: _requiring(each, required) for name, each in predicates.items()}
        if all(each.required == required[name] for name, each in predicates.items()):
            break
    for predicate in predicates.values():
        for branch in predicate.branches:
            given = frozenset(branch.given).union(branch.head[i] for i in predicate.required)
            check_safe(branch.body, given, frozenset(branch.head), tree)
    return replace(tree, body=_annotated(tree.body, required), predicates=tuple(predicates.values()))


def _annotated(body: AndNode, required: Mapping[str, frozenset[int]]) -> AndNode:
    def change(leaf: Leaf) -> Node:
        return replace(leaf, required=required[leaf.rule]) if isinstance(leaf, logical.RuleAtom) else leaf

    return in_body(body, change)


def _requiring(predicate: RulePredicate, required: Mapping[str, frozenset[int]]) -> RulePredicate:
    look()
    branches = tuple(replace(each, body=_annotated(each.body, required)) for each in predicate.branches)
    places = set(predicate.required)
    for branch in branches:
        names = branch.head
        given = frozenset(branch.given).union(names[i] for i in places)
        plain = [i for i in range(len(names)) if predicate.aggregates[i] is None]
        # A variable that stands in several places is bound by the first of them.
        first = {names[i]: i for i in reversed(plain)}
        places.update(first[name] for name in _asked(branch.body, names, given) - given if name in first)
    return replace(predicate, branches=branches, required=frozenset(places))


def _asked(body: AndNode, head: Sequence[str], given: frozenset[str]) -> frozenset[str]:
    """The variables of a head that the body cannot bind, and as few as it takes for it to bind the others."""
    while missing := [name for name in head if name not in bindable(body, given)]:
        all_others = given.union(head)
        never = [name for name in missing if name not in bindable(body, all_others - {name})]
        given = given.union(never or missing[:1])
    return given


def bindable(body: AndNode, given: frozenset[str]) -> frozenset[str]:
    """What a body can bind, in any order, beginning with `given`."""
    wanted = variables(body)
    bound = given
    while grown := {name for name in wanted - bound if can_bind(body, name, bound)}:
        bound |= grown
    return bound


def check_safe(body: AndNode, given: frozenset[str], needed: frozenset[str], tree: Tree) -> None:
    """Every variable must be bound by something that can propose it."""
    look()
    bound = bindable(body, given)
    if loose := (variables(body) | needed) - bound:
        raise _unbound(body, loose, bound, tree)
    for node in negations(body):
        check_safe(AndNode(node.items), frozenset(node.shared), frozenset(), tree)
    for leaf in leaves(body):
        if isinstance(leaf, logical.RuleAtom) and any(leaf.terms[i] is None for i in leaf.required):
            raise _not_given("that place", leaf.rule, leaf.position)


def _not_given(name: str, rule: str, position: Position | None) -> AdalogError:
    requires = f"the rule {rule.split('@')[0]} requires {name} to be bound at the call"
    hint = "and no other clause binds it: add a data pattern, a function or an :in that does"
    return AdalogError(Code.UNBOUND_VARIABLE, f"{requires}, {hint}", position)


def _unbound(body: AndNode, loose: frozenset[str], bound: frozenset[str], tree: Tree) -> AdalogError:
    """What to say of the first variable that nothing binds, rather of one that others wait for."""
    waiting = {name for leaf in leaves(body) if leaf.needs & loose for name in frozenset(leaf.gives) - leaf.needs}
    first = loose - waiting or loose
    passed = [name for name in tree.callers if name in first]
    if passed:
        rule, position = tree.callers[passed[0]]
        if any(node.optional and passed[0] in node.required for node in disjunctions(body)):
            raise misplaced(tree.written(passed[0]), f"the call of the rule {rule}, which needs it", position)
        return _not_given(tree.written(passed[0]), rule, position)
    name = min(first, key=lambda n: (tree.places.get(n) is None, n))
    written = tree.written(name)
    reason = _reason(body, name, bound, tree)
    if name not in bound and written in tree.inputs and name not in tree.inputs:
        reason = f"a rule has its own variables, and sees none of :in; give it {written} as an argument"
    message = f"nothing binds {written}: {reason}"
    return AdalogError(Code.UNBOUND_VARIABLE, message, tree.places.get(name))


def _reason(body: AndNode, name: str, bound: frozenset[str], tree: Tree) -> str:
    for leaf in leaves(body):
        if isinstance(leaf, logical.FunctionAtom) and leaf.out == name:
            missing = ", ".join(sorted(map(tree.written, variables(leaf) - {name} - bound)))
            if missing:
                return f"({leaf.called} …) computes it from {missing}, which nothing binds first"
    for leaf in leaves(body):
        if isinstance(leaf, logical.PredicateAtom | logical.FunctionAtom) and name in variables(leaf):
            return f"it is an argument of ({leaf.called} …); add a data pattern, a function or an :in that binds it"
    if any(isinstance(item, logical.OrNode) and name in variables(item) for item in body.items):
        return "every branch of the or must bind it, or a clause outside must"
    if any(name in variables(node) for node in negations(body)):
        return "a not only filters; bind it in a clause outside the not"
    return "add a data pattern, a function or an :in that binds it"
