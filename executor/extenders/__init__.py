"""Parts of a query as extenders: data patterns, relations, functions, comparisons, a database at two moments.

The way of a new kind of atom, from the text to its extender. Where a step is missing, mypy names the `match`:

1. `planner/model/logical.py`: its class among the leaves, its variables, how they are renamed.
2. `planner/scope/scoping.py`: which clause becomes one.
3. `planner/order/ordering.py` and `planner/order/statistics.py`: what has to be bound before it gives values, and
   how many it gives; `planner/explain/nodes.py`: how a plan shows it.
4. A file here: its extender. `executor/join/protocol.py` is the protocol, `tests/engine/test_extender_laws.py` the
   laws. With sorted ranges it is a `RangeExtender`, as a filter a `Check`.
5. `executor/evaluation/bind.py`: one more case of `Binding.extender`.

A built-in predicate or function is no new kind: it is one line of `datalog/builtins.py`.
"""
