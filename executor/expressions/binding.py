"""Binds a tree of calls: from names to built-ins, from constants to codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from adalog.datalog.ast import Const, LookupRef, Source
from adalog.datalog.builtins import BUILTINS, DatabaseAccess
from adalog.datalog.builtins.conditionals import CONDITIONALS
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import EdnList
from adalog.executor.expressions.calls import Call, Operand, Results, Running
from adalog.executor.expressions.conditionals import Cases, Conditions, ShortCircuit
from adalog.executor.join.batch import Column
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.leaf import Term
from adalog.store.values.layout import NIL


@dataclass(frozen=True)
class CallBinding:
    """`args`: what the places of a tree mean. `code`: of a constant. `access`: to a database by its name."""

    args: Sequence[Term | Source]
    code: Callable[[Const | LookupRef], int]
    access: Callable[[str], DatabaseAccess]
    running: Running

    def results(self, tree: CallTree) -> Results:
        if tree.name == "case":
            return self._case(tree)
        # With arguments that are all at hand they are built-ins.
        if tree.name in CONDITIONALS and (tree.name not in BUILTINS or tree.is_nested):
            operands = [self.operand(each) for each in tree.args]
            if tree.name not in ("if", "cond"):
                return ShortCircuit(tree.name, operands)
            default = operands.pop() if len(operands) % 2 else NIL
            return Conditions(list(zip(operands[::2], operands[1::2], strict=True)), default)
        return self._built_in(tree)

    def operand(self, part: int | CallTree) -> Operand:
        if isinstance(part, CallTree):
            return self.results(part)
        term = self.args[part]
        if isinstance(term, str):
            return term
        assert isinstance(term, Const | LookupRef)
        return self.code(term)

    def _built_in(self, tree: CallTree) -> Call:
        terms = (self.args[each] for each in tree.args if isinstance(each, int))
        source = next((term.name for term in terms if isinstance(term, Source)), "$")
        operands = tuple(self.operand(each) for each in tree.args if not self._is_source(each))
        if tree.name == "%nth":
            return Call(tree.name, operands, _nth, self.running, tree.position)
        built_in = BUILTINS[tree.name]
        apply = partial(built_in.call, self.access(source)) if built_in.needs_database else built_in.call
        return Call(tree.name, operands, apply, self.running, tree.position, built_in.nil_gives_nil)

    def _is_source(self, part: int | CallTree) -> bool:
        return isinstance(part, int) and isinstance(self.args[part], Source)

    def _case(self, tree: CallTree) -> Cases:
        subject, *rest = tree.args
        default = self.operand(rest.pop()) if len(rest) % 2 else NIL
        pairs = zip(rest[::2], rest[1::2], strict=True)
        cases = [(self._codes(test), self.operand(value)) for test, value in pairs if isinstance(test, int)]
        return Cases(self.operand(subject), cases, default)

    def _codes(self, place: int) -> Column:
        """The codes of the constant of a case, which may be a list of several."""
        term = self.args[place]
        assert isinstance(term, Const)
        values = term.value if isinstance(term.value, EdnList) else (term.value,)
        return np.array([self.code(Const(value, None)) for value in values], np.int64)


def _nth(value: Any, index: int) -> Any:
    if not isinstance(value, tuple):
        raise AdalogError(Code.QUERY_INVALID, f"a tuple binding takes apart a vector or a list, not {write(value)}")
    if index >= len(value):
        raise AdalogError(
            Code.QUERY_INVALID, f"the binding has more places than the {len(value)} elements of {write(value)}"
        )
    return value[index]
