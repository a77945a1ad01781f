"""Calls within calls, of one clause: one atom for the outermost call, with the tree of the calls within it.

Two kinds of calls within become clauses of their own, each with a variable that may be nil: arguments of a
comparison, whose values it looks up, and look-ups in a database that every row needs, which live queries follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.planner.model import logical
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.logical import Node, Term


@dataclass
class CallScoping:
    """`argument`: the term of an argument that is no call. `fresh`: a new variable, by a name to show. The clauses
    that they need beside their own go to `extra`."""

    argument: Callable[[ast.Term | ast.Source], Term | ast.Source]
    fresh: Callable[[str], str]
    extra: list[Node]
    _terms: list[Term | ast.Source] = field(default_factory=list)

    def arguments(
        self, call: ast.Predicate | ast.Function | ast.Expression
    ) -> tuple[tuple[Term | ast.Source, ...], CallTree | None]:
        """The arguments of the atom of a call, and the tree over them if it has calls within it."""
        nested = any(isinstance(each, ast.Expression) for each in call.args)
        if call.name in BUILTINS and (not nested or BUILTINS[call.name].needs_database):
            return self.flat(call.args), None
        if call.name not in CONDITIONALS and not nested:
            return self.flat(call.args), None
        self._terms = []
        tree = self._tree(ast.Expression(call.name, call.args, position=call.position), lazy=False)
        assert isinstance(tree, CallTree)
        return tuple(self._terms), tree

    def flat(self, args: Iterable[ast.Argument]) -> tuple[Term | ast.Source, ...]:
        """The arguments, with a variable in the place of each call."""
        return tuple(
            self._bound(each) if isinstance(each, ast.Expression) else self.argument(each) for each in args
        )

    def _bound(self, expression: ast.Expression) -> str:
        """The variable that has the value of a call, which may be nil."""
        args, tree = CallScoping(self.argument, self.fresh, self.extra).arguments(expression)
        out = self.fresh(expression.name)
        name = expression.name if tree is None else logical.TREE
        self.extra.append(logical.FunctionAtom(name, args, out, expression.position, tree=tree, keeps_nil=True))
        return out

    def _tree(self, argument: ast.Argument, *, lazy: bool) -> int | CallTree:
        """`lazy`: not every row needs it."""
        if not isinstance(argument, ast.Expression):
            return self._place(self.argument(argument))
        args = argument.args
        if argument.name in BUILTINS and BUILTINS[argument.name].needs_database:
            if not lazy:
                # By itself it is a clause that live queries follow.
                return self._place(self._bound(argument))
            if not any(isinstance(each, ast.Source) for each in args):
                args = (ast.Source(), *args)
        is_conditional = argument.name in CONDITIONALS and bool(args)
        trees = tuple(self._tree(each, lazy=lazy or (is_conditional and i > 0)) for i, each in enumerate(args))
        return CallTree(argument.name, trees, argument.position)

    def _place(self, term: Term | ast.Source) -> int:
        if term not in self._terms:
            self._terms.append(term)
        return self._terms.index(term)
