"""What explain says of a query's rules: the strata, what each derives, how, and from which magic sets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adalog.planner.model.logical import describe
from adalog.planner.model.names import shown_name
from adalog.planner.model.program import Program, RulePlan, RuleRelation, Stratum


def explain_program(program: Program) -> list[dict[str, Any]]:
    """The strata in the order in which they are evaluated."""
    return [_stratum(number, each, program.semi_naive) for number, each in enumerate(program.strata, 1)]


def _stratum(number: int, stratum: Stratum, semi_naive: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "stratum": number,
        "recursive": stratum.recursive,
        "relations": [_relation(each) for each in stratum.relations],
        "rules": [_rule(each, "once") for each in stratum.once],
    }
    if stratum.closure is not None:
        shown["closure"] = {
            "step": plain_names(describe(stratum.closure.step)),
            "from": shown_name(stratum.closure.start),
            "to": shown_name(stratum.closure.end),
        }
    else:
        shown["rules"] += [_rule(each, "round") for each in stratum.rounds]
        if stratum.recursive:
            shown["evaluation"] = "semi-naive" if semi_naive else "naive"
    return shown


def _relation(relation: RuleRelation) -> dict[str, Any]:
    return {
        "name": relation.name,
        "rule": relation.rule,
        "adornment": relation.adornment,
        "magic": relation.magic,
        "aggregates": [name for name in relation.aggregates if name],
    }


def _rule(rule: RulePlan, when: str) -> dict[str, Any]:
    body = " ".join(describe(item) for item in rule.body.items)
    text = plain_names(f"({rule.target} {' '.join(rule.head)}) ← {body} | {' '.join(rule.order)}")
    clause, order = text.rsplit(" | ", 1)
    return {
        "when": when,
        "clause": clause,
        "order": order.split(),
        "estimates": [round(level.estimate, 1) for level in rule.levels],
        "delta": rule.delta,
    }


_NAME = re.compile(r"[^\s()\[\]]+")


def plain_names(text: str) -> str:
    """The text with its variables as they were written, where that does not make two of them one."""
    names = set(_NAME.findall(text))
    by_written: dict[str, set[str]] = {}
    for name in names:
        by_written.setdefault(shown_name(name), set()).add(name)
    plain = {next(iter(each)): written for written, each in by_written.items() if len(each) == 1}
    return _NAME.sub(lambda found: plain.get(found[0], found[0]), text)


def text_of_program(strata: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same for people, a line each."""
    lines: list[str] = []
    for each in strata:
        names = ", ".join(_named(relation) for relation in each["relations"])
        recursion = f", {each['evaluation']} rounds" if "evaluation" in each else ""
        lines.append(f"stratum {each['stratum']}: {names}{recursion}")
        for rule in each["rules"]:
            order = " ".join(rule["order"]) or "nothing to bind"
            lines.append(f"     {rule['when']:6}{rule['clause']}   order {order}")
        if "closure" in each:
            closure = each["closure"]
            lines.append(f"     closure along {closure['step']} from {closure['from']} to {closure['to']}")
        actual = each.get("actual")
        if actual:
            counts = ", ".join(f"{name} {rows:,} rows" for name, rows in actual["rows"].items())
            how = f" ({actual['how']})" if actual["how"] else ""
            lines.append(f"     actual {counts} in {actual['ms']:.1f} ms{how}")
            lines.append(f"     rounds added {_listed(actual['rounds'])}")
    return lines


def _named(relation: Mapping[str, Any]) -> str:
    what = "magic set" if relation["magic"] else relation["adornment"]
    aggregates = f", aggregates {' '.join(relation['aggregates'])}" if relation["aggregates"] else ""
    return f"{relation['name']} [{what}{aggregates}]"


def _listed(rounds: Sequence[int]) -> str:
    if len(rounds) <= 12:
        return " ".join(f"{each:,}" for each in rounds)
    return f"{' '.join(f'{each:,}' for each in rounds[:6])} … {' '.join(f'{each:,}' for each in rounds[-5:])}"
