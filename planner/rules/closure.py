"""Linear recursion seen for what it is: reachability from where it starts, along one step.

`from_seeds` turns a right-linear rule asked from few starting points around, so that it walks from each of them
instead of solving the problem for everything on the way. `closure_of` finds the recursions that are nothing but
steps along one relation, for which the executor has a kernel.

Source: Naughton, Ramakrishnan, Sagiv and Ullman, "Efficient evaluation of right-, left-, and
multi-linear rules", 1989.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adalog.planner.model.logical import AndNode, DatomAtom, Node, RelationAtom, everything, variables
from adalog.planner.model.names import unique_name
from adalog.planner.model.program import Branch, Closure, RuleRelation
from adalog.planner.rules.magic import AdornedProgram, magic_of

# So many starting points are few: beyond them the answers for points on the way are likely to be wanted too.
_FEW = 64.0


def from_seeds(
    relations: Mapping[str, RuleRelation],
    rules: Mapping[str, Sequence[Branch]],
    made: AdornedProgram,
    found: Sequence[tuple[str, ...]],
) -> tuple[dict[str, RuleRelation], dict[str, Sequence[Branch]]]:
    """The program with right-linear relations that few starting points ask for turned around.

    p(X, Y) ← m(X), A(X, Z), p(Z, Y) becomes r(S, Z) ← r(S, X), A(X, Z) with r(S, S) for the starting points S, and
    p(S, Y) ← r(S, X), exit(X, Y). Where the exit is the step itself, r is p: p(S, Z) ← p(S, X), A(X, Z).
    `found`: the components of the program.
    """
    new_relations, new_rules = dict(relations), dict(rules)
    alone = {each[0] for each in found if len(each) == 1}
    for name, relation in relations.items():
        if relation.magic or relation.aggregates or not relation.bound or not {name, magic_of(name)} <= alone:
            continue
        asked = made.magic[magic_of(name)]
        seeds = [each for each in asked if each.origin != name]
        linear = [branch for branch in rules[name] if _reads(branch.body, name)]
        if not linear or len(asked) - len(seeds) != len(linear):
            continue
        if not all(_right_linear(branch, name, relation.bound) for branch in linear):
            continue
        exits = [branch for branch in rules[name] if not _reads(branch.body, name)]
        walk = _Walk(name, relation)
        if len(exits) == len(linear) == 1 and walk.repeats(linear[0], exits[0]):
            new_rules[name] = [exits[0], walk.forward(linear[0])]
            new_rules[magic_of(name)] = [each.branch for each in seeds]
            continue
        if sum(each.size for each in seeds) > _FEW:
            continue
        new_relations[walk.name] = walk.derived
        new_rules[walk.name] = [
            *(replace(each.branch, head=(*each.branch.head, *each.branch.head)) for each in seeds),
            *(walk.step(branch) for branch in linear),
        ]
        new_rules[name] = [walk.exit(branch) for branch in exits]
        # What is asked for is what is reached.
        new_rules[magic_of(name)] = [walk.asked]
    return new_relations, new_rules


def _reads(body: Node, name: str) -> bool:
    return any(isinstance(leaf, RelationAtom) and leaf.relation == name for leaf in everything(body))


def _call(branch: Branch, name: str) -> RelationAtom | None:
    """The only occurrence of a relation in a body, where it is one of the body's own items."""
    calls = [item for item in branch.body.items if isinstance(item, RelationAtom) and item.relation == name]
    inside = sum(isinstance(leaf, RelationAtom) and leaf.relation == name for leaf in everything(branch.body))
    return calls[0] if len(calls) == 1 and inside == 1 else None


def _right_linear(branch: Branch, name: str, bound: frozenset[int]) -> bool:
    """Whether the free places of the head are those of the recursive call, and used nowhere else."""
    call = _call(branch, name)
    if call is None:
        return False
    free = [i for i in range(len(branch.head)) if i not in bound]
    passed = [branch.head[i] for i in free]
    kept = frozenset(passed)
    others = [item for item in branch.body.items if item is not call]
    moving = [call.terms[i] for i in bound]
    return (
        passed == [call.terms[i] for i in free]
        and len(kept) == len(free)
        and all(isinstance(term, str) and term not in kept for term in moving)
        and not any(kept & variables(item) for item in others)
        and not kept.intersection(branch.head[i] for i in bound)
    )


class _Walk:
    """The relation of (starting point, point reached) for one turned relation."""

    def __init__(self, turned: str, relation: RuleRelation) -> None:
        self.turned = turned
        self.bound = sorted(relation.bound)
        self.name = f"{turned} reached"
        width = len(self.bound)
        self.derived = RuleRelation(self.name, relation.rule, 2 * width, bound=frozenset(range(width)))
        self.starts = tuple(unique_name(unique_name("start", turned), i) for i in range(width))

    def _at(self, branch: Branch) -> RelationAtom:
        return RelationAtom(self.name, (*self.starts, *(branch.head[i] for i in self.bound)), derived=True)

    def _rest(self, branch: Branch) -> tuple[Node, ...]:
        """The body without its magic set and its recursive call."""
        dropped = (magic_of(self.turned), self.turned)
        return tuple(
            item for item in branch.body.items if not (isinstance(item, RelationAtom) and item.relation in dropped)
        )

    def repeats(self, linear: Branch, exit: Branch) -> bool:
        """Whether the exit of a binary relation is the same single step as that of its recursion."""
        call = _call(linear, self.turned)
        step, out = self._rest(linear), self._rest(exit)
        if call is None or len(linear.head) != 2 or len(self.bound) != 1 or len(step) != 1 or len(out) != 1:
            return False
        (place,) = self.bound
        here, there = linear.head[place], call.terms[place]
        one = _renamed(step[0], here, there)
        same = one is not None and one == _renamed(out[0], exit.head[place], exit.head[1 - place])
        return same and there not in linear.given

    def forward(self, linear: Branch) -> Branch:
        """The recursion from the starting point on: what was reached, and one step more."""
        call = _call(linear, self.turned)
        assert call is not None
        (place,) = self.bound
        (start,) = self.starts
        here, there = linear.head[place], str(call.terms[place])
        ends = (start, there) if place == 0 else (there, start)
        reached = RelationAtom(self.turned, tuple(here if i != place else start for i in range(2)), derived=True)
        seeds = RelationAtom(magic_of(self.turned), (start,), derived=True)
        return Branch(ends, AndNode((seeds, reached, *self._rest(linear))), linear.given)

    @property
    def asked(self) -> Branch:
        """The magic set: the points reached from any starting point."""
        points = tuple(unique_name(start, "reached") for start in self.starts)
        return Branch(points, AndNode((RelationAtom(self.name, (*self.starts, *points), derived=True),)))

    def step(self, branch: Branch) -> Branch:
        call = _call(branch, self.turned)
        assert call is not None
        head = (*self.starts, *(str(call.terms[i]) for i in self.bound))
        return Branch(head, AndNode((self._at(branch), *self._rest(branch))), branch.given)

    def exit(self, branch: Branch) -> Branch:
        starts = dict(zip(self.bound, self.starts, strict=True))
        head = tuple(starts.get(i, term) for i, term in enumerate(branch.head))
        return Branch(head, AndNode((self._at(branch), *self._rest(branch))), branch.given)


def _renamed(node: Node, start: str, end: object) -> Node | None:
    """A data pattern or relation with its two ends named alike wherever it stands; None for anything else."""
    names = {start: "start", end: "end"}
    if not isinstance(node, DatomAtom | RelationAtom) or variables(node) != names.keys():
        return None
    return node.with_terms(lambda term: names.get(term, term) if isinstance(term, str) else term)


def closure_of(relation: RuleRelation, recursive: Sequence[Branch]) -> Closure | None:
    """The closure that the recursive rules of a stratum with one relation are; None where they are more."""
    if relation.arity != 2 or relation.aggregates or len(recursive) != 1:
        return None
    (branch,) = recursive
    call = _call(branch, relation.name)
    if call is None:
        return None
    # What the magic set restricts does not move, and the rows that the recursion starts from are in it.
    magic = magic_of(relation.name)
    rest = [item for item in branch.body.items if item is not call]
    restricting = [item for item in rest if isinstance(item, RelationAtom) and item.relation == magic]
    if len(rest) - len(restricting) != 1:
        return None
    step = next(item for item in rest if item not in restricting)
    if not isinstance(step, DatomAtom | RelationAtom) or len(variables(step)) != 2:
        return None
    if isinstance(step, DatomAtom) and (step.terms[3:] != (None, None) or isinstance(step.attribute, str)):
        return None
    for fixed in (0, 1):
        moving = 1 - fixed
        start, end = call.terms[moving], branch.head[moving]
        kept = branch.head[fixed]
        if (
            kept == call.terms[fixed]
            and isinstance(start, str)
            and not {start, end}.intersection(branch.given)
            and {start, end} == variables(step)
            and kept not in (start, end)
            and all(variables(item) == {kept} for item in restricting)
        ):
            return Closure(relation.name, fixed, step, start, end)
    return None
