"""Parts of a query as extenders: data patterns, relations, functions, comparisons, a database at two moments.

The way of a new kind of atom, from the text to its extender, in five files. `tests/planner/test_new_leaf.py` has a
complete one, and `FunctionAtom` is the example to copy for one that computes values from others:

1. A table in `datalog/builtins/`: the name and arguments of its call, `[(name ?x) ?y]`, and the function that
   computes it for one row, with which tests compare the extender. Instead, a syntax of its own is read
   in `datalog/parsing/clauses.py`, as an `ast.Predicate` or `ast.Function` whose name is no built-in's.
2. `planner/model/logical.py`: its class, and its place in `Leaf`. `planner/model/leaf.py` says what it declares:
   its variables, those that it gives and those that it needs, the databases that it reads, how a plan shows it.
3. `planner/scope/scoping.py`: which call becomes one.
4. A file here: its extender. `executor/join/protocol.py` is the protocol, `tests/engine/test_extender_laws.py` the
   laws. With sorted ranges it is a `RangeExtender`, as a filter a `Check`.
5. `executor/evaluation/bind.py`: one more case of `Binding.extender`. mypy asks for it. It sets `lasting` to false
   where the extender depends on anything but databases, relations and constants.

That is enough for order, magic sets, projection, rules, explain, caching and Spark. A live query with it is asked
again where a database that it reads changes, and a recursion does not take it for monotone. What else is known of
it may be added: its cost (`planner/order/statistics.py`), what it determines (`planner/order/dependencies.py`).

A built-in predicate or function is no new kind: it is one line of `datalog/builtins/`.
"""
