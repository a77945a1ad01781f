"""From EDN text to `ast.Query`: the two forms of a query, its sections, and what ties them together.

The grammar only: whether every variable can be bound is the planner's to say. Each refusal points at the form that
is wrong and says what would be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datalog import ast
from datalog.edn import read_form, write
from datalog.errors import AdalogError, Code
from datalog.forms import Form, invalid, is_symbol, shown
from datalog.hints import nearest
from datalog.parse_clauses import ClauseParser
from datalog.parse_find import parse_find
from datalog.parse_inputs import parse_inputs
from datalog.scope import occurring
from datalog.values import Keyword, Symbol

_NAMING = ("keys", "strs", "syms")
SECTIONS = (
    "find",
    "keys",
    "strs",
    "syms",
    "with",
    "in",
    "where",
    "rules",
    "order-by",
    "limit",
    "offset",
    "timeout",
)


def parse_query(text: str) -> ast.Query:
    """The query of an EDN text, in map or list form.

    Raises EDN_SYNTAX or QUERY_INVALID with a position.
    """
    form = _unquoted(read_form(text))
    sections = _sections(form)
    if "find" not in sections:
        raise invalid(form, "a query needs :find, e.g. [:find ?e :where [?e :person/name]]")
    find = parse_find(sections["find"], _keys(sections))
    inputs = parse_inputs(_items(sections, "in"))
    if "rules" in sections:
        raise invalid(sections["rules"][0] if sections["rules"] else form, "rules are not supported yet")
    sources = frozenset(each.name for each in inputs if isinstance(each, ast.SourceInput))
    clauses = ClauseParser(sources)
    where = tuple(clauses.clause(each) for each in _items(sections, "where"))
    with_ = tuple(_variable(each, ":with") for each in _items(sections, "with"))
    query = ast.Query(
        find=find,
        with_=with_,
        inputs=inputs,
        where=where,
        order_by=_order_by(sections, find),
        limit=_number(sections, "limit"),
        offset=_number(sections, "offset") or 0,
        timeout_ms=_number(sections, "timeout"),
        text=text,
    )
    _check_bound(query)
    return query


def _unquoted(form: Form) -> Form:
    """`(quote {…})`, as `'{…}` reads in Clojure, is `{…}`."""
    if form.kind == "list" and len(form.items) == 2 and form.items[0].value == Symbol("quote"):
        return form.items[1]
    return form


def _sections(form: Form) -> dict[str, Sequence[Form]]:
    """The forms under each section's keyword."""
    sections: dict[str, Sequence[Form]] = {}
    if form.kind == "map":
        for key, value in zip(form.items[::2], form.items[1::2], strict=True):
            name = _section_name(key, sections)
            # A find spec's own brackets belong to it only where they hold `...`, `.` or a tuple: see parse_find.
            spread = value.kind in ("vector", "list") and name not in ("limit", "offset", "timeout")
            sections[name] = value.items if spread else (value,)
        return sections
    if form.kind not in ("vector", "list"):
        raise invalid(
            form, f"a query is a map {{:find … :where …}} or a vector [:find … :where …], not {shown(form)}"
        )
    name = ""
    collected: list[Form] = []
    for item in form.items:
        if isinstance(item.value, Keyword) and item.kind == "atom":
            name = _section_name(item, sections)
            collected = []
            sections[name] = collected
        elif not name:
            raise invalid(item, f"a query in list form begins with :find, not with {shown(item)}")
        else:
            collected.append(item)
    for name in ("order-by", "limit", "offset", "timeout"):
        # In list form these take one form each; :order-by's own brackets are that form.
        given = sections.get(name)
        if given is not None and len(given) == 1 and name == "order-by" and given[0].kind in ("vector", "list"):
            sections[name] = given[0].items
    return sections


def _section_name(key: Form, known: Mapping[str, Sequence[Form]]) -> str:
    """The section that a keyword begins, which must be new."""
    if not isinstance(key.value, Keyword) or key.kind != "atom":
        raise invalid(key, f"a section of a query is a keyword such as :find or :where, not {shown(key)}")
    name = str(key.value.name)
    if name not in SECTIONS:
        raise invalid(key, f"a query has no section :{name}{nearest(name, SECTIONS, prefix=':')}")
    if name in known:
        raise invalid(key, f":{name} is given twice")
    other = next((each for each in _NAMING if each in known), None)
    if name in _NAMING and other is not None:
        raise invalid(key, f"give :{other} or :{name}, not both")
    return name


def _items(sections: Mapping[str, Sequence[Form]], name: str) -> Sequence[Form]:
    return sections.get(name, ())


def _keys(sections: Mapping[str, Sequence[Form]]) -> tuple[str, Sequence[Form]] | None:
    given = [name for name in sections if name in _NAMING]
    return (given[0], sections[given[0]]) if given else None


def _variable(form: Form, section: str) -> ast.Var:
    if not is_symbol(form) or form.value.name in ("_", "...", ".", "%") or form.value.name.startswith("$"):
        raise invalid(form, f"{section} takes variables such as ?x, not {shown(form)}")
    return ast.Var(form.value.name, position=form.position)


def _number(sections: Mapping[str, Sequence[Form]], name: str) -> int | None:
    given = sections.get(name)
    if given is None:
        return None
    if len(given) != 1 or type(given[0].value) is not int or given[0].value < (1 if name == "timeout" else 0):
        least = "positive" if name == "timeout" else "non-negative"
        what = shown(given[0]) if given else "nothing"
        raise _invalid_at(given, f":{name} takes one {least} whole number, not {what}")
    return int(given[0].value)


def _invalid_at(forms: Sequence[Form], message: str) -> AdalogError:
    """A refusal at the first of some forms, or without a place where there are none."""
    return AdalogError(Code.QUERY_INVALID, message, forms[0].position if forms else None)


def _order_by(sections: Mapping[str, Sequence[Form]], find: ast.Find) -> tuple[ast.OrderKey, ...]:
    keys: list[ast.OrderKey] = []
    given = list(_items(sections, "order-by"))
    if len(given) == 2 and is_symbol(given[0]) and given[1].value in (Keyword("asc"), Keyword("desc")):
        raise invalid(
            given[1], f"write the direction with its variable: [[{given[0].value.name} {shown(given[1])}]]"
        )
    names = {_find_name(element) for element in find.elements}
    for form in given:
        variable, descending = form, False
        if form.kind == "vector":
            if len(form.items) != 2:
                raise invalid(form, f"an :order-by entry is ?x or [?x :asc] or [?x :desc], not {shown(form)}")
            if form.items[1].value not in (Keyword("asc"), Keyword("desc")):
                raise invalid(form.items[1], f"a direction is :asc or :desc, not {shown(form.items[1])}")
            variable, descending = form.items[0], form.items[1].value == Keyword("desc")
        if variable.kind == "list":
            name = "(" + " ".join(shown(item) for item in variable.items) + ")"
            key = ast.Var(name, position=variable.position)
        else:
            key = _variable(variable, ":order-by")
        if key.name not in names:
            raise invalid(variable, f":order-by can only use what :find returns, and {key.name} is not there")
        keys.append(ast.OrderKey(key, descending))
    return tuple(keys)


def _find_name(element: ast.FindElement) -> str:
    if isinstance(element, ast.FindAggregate):
        return f"({' '.join([element.name, *(write(a.value) for a in element.args), element.var.name])})"
    return element.var.name


def _check_bound(query: ast.Query) -> None:
    """What :find and :with ask for must occur in :where or :in."""
    known = occurring(query)
    for asked, section in [(e.var, ":find") for e in query.find.elements] + [(v, ":with") for v in query.with_]:
        if asked.name not in known:
            raise AdalogError(
                Code.UNBOUND_VARIABLE,
                f"{asked.name} is in {section}, but nothing in :where or :in binds it{nearest(asked.name, known)}",
                asked.position,
            )
