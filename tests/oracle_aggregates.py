"""The oracle's aggregates: of the values of a group, as the language defines them."""

from __future__ import annotations

import statistics
from decimal import Decimal, localcontext
from typing import Any

from adalog.datalog import ast
from adalog.datalog.aggregates import AGGREGATES
from adalog.datalog.builtins.arithmetic import quotient_of_decimals
from adalog.datalog.values import BigInt, EdnSet, identity, sort_key


def element_value(element: ast.FindElement, group: list[dict[str, Any]]) -> Any:
    values = [row[element.var.name] for row in group]
    if isinstance(element, ast.FindVar):
        return values[0]
    values = [value for value in values if value is not None]
    if not values:
        return AGGREGATES[element.name].of_nothing
    if element.args:
        ranked = sorted(values, key=sort_key, reverse=element.name == "max")
        return tuple(ranked[: element.args[0].value])
    return aggregate(element.name, values)


def aggregate(name: str, values: list[Any]) -> Any:
    match name:
        case "count":
            return len(values)
        case "count-distinct":
            return len(set(map(identity, values)))
        case "distinct":
            return EdnSet(values)
        case "min":
            return min(values, key=sort_key)
        case "max":
            return max(values, key=sort_key)
        case "sum":
            return total_of(values)
        case "sum'":
            total = sum(values)
            return BigInt(total) if type(total) is int and not -(2**63) <= total < 2**63 else total
        case "avg":
            total = total_of(values)
            number = len(values)
            return quotient_of_decimals(total, Decimal(number)) if type(total) is Decimal else float(total / number)
        case "median":
            middle = statistics.median(values)
            return middle if any(identity(middle) == identity(value) for value in values) else float(middle)
        case "variance":
            return float(statistics.pvariance(values))
        case "stddev":
            return float(statistics.pstdev(values))
        case "union":
            return EdnSet(item for value in values for item in value)
        case "and":
            return all(value not in (None, False) for value in values)
        case "or":
            return any(value not in (None, False) for value in values)
        case "choice":
            return min(values, key=sort_key)
    raise AssertionError(name)


def total_of(values: list[Any]) -> Any:
    """The sum, with all the digits of bigdecs."""
    with localcontext() as context:
        context.prec = 200
        return sum(values)
