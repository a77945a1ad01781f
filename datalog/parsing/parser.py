"""From EDN text to `ast.Query`: the two forms of a query, its sections, and what ties them together.

The grammar only: whether every variable can be bound is the planner's to say. Each refusal points at the form that
is wrong and says what would be right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adalog.datalog import ast
from adalog.datalog.aggregates import FIND_AGGREGATES
from adalog.datalog.edn import read_form, write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.names import names_in, targets
from adalog.datalog.parsing.calls import CallParser, log_variables
from adalog.datalog.parsing.clauses import ClauseParser, taken_names
from adalog.datalog.parsing.columns import (
    ColumnReader,
    is_aggregated,
    is_known_call,
    read_having,
    skipping_nil,
    with_columns,
)
from adalog.datalog.parsing.find import parse_find, with_pulls
from adalog.datalog.parsing.foreign_names import instead_of_section
from adalog.datalog.parsing.forms import Form, invalid, is_call, is_symbol, is_variable, shown, unquoted, variable
from adalog.datalog.parsing.inputs import GIVEN, parse_args, parse_inputs, written_inputs
from adalog.datalog.parsing.nested import Inner
from adalog.datalog.parsing.optionals import query_with_optionals
from adalog.datalog.parsing.rules import read_rules, rule_forms
from adalog.datalog.values import Keyword, is_long

_NAMING = ("keys", "strs", "syms")
_NUMBERS = ("limit", "offset", "timeout")
SECTIONS = ("find", *_NAMING, "with", "in", "args", "where", "rules", "having", "order-by", *_NUMBERS)


@dataclass(frozen=True, slots=True)
class _Section:
    """What follows one of the query's keywords."""

    key: Form
    forms: list[Form]


_Sections = Mapping[str, _Section]
RULES = "the rules given for %"
"""The origin of places in a rule set that is an argument."""


def parse_query(text: str, rules: str | None = None, *, given: bool = False) -> ast.Query:
    """The query of an EDN text, in map or list form. `rules`: the EDN text of the rule set given for `%`. `given`:
    an argument comes for `$`.

    Without it the rules of a query with `%` stay unknown and its calls are not checked. Raises EDN_SYNTAX or
    QUERY_INVALID with a position, and UNBOUND_VARIABLE for what :find or :with ask in vain.
    """
    given_rules = None if rules is None else rule_forms([read_form(rules, origin=RULES)])
    return _parse(unquoted(read_form(text)), given_rules, text, own=GIVEN if given else "$")


def _parse(
    form: Form,
    given_rules: list[Form] | None,
    text: str = "",
    outer_rules: frozenset[str] | None = frozenset(),
    own: str = "$",
) -> ast.Query:
    """`given_rules`: the rules given for `%`; None where they are unknown or none are asked for. `outer_rules`: the
    names of those of the query around this one. `own`: what `$` is called."""
    sections = _sections(form)
    if "find" not in sections:
        raise invalid(form, "a query needs :find, e.g. [:find ?e :where [?e :person/name]]")
    written = written_inputs(_forms(sections, "in"))
    named = frozenset(("$", *(each.name for each in written if isinstance(each, ast.SourceInput))))
    places = ClauseParser(named, default=own, own=own)
    reader = ColumnReader(CallParser(places.source, places.term, default=own), _single(written))
    logs = log_variables(_forms(sections, "where"))
    parts: list[ast.Function] = []
    inputs = parse_inputs(_forms(sections, "in"), logs, parts, given=own == GIVEN)
    sources = frozenset(each.name for each in inputs if isinstance(each, ast.SourceInput))
    given = any(isinstance(each, ast.RulesInput) for each in inputs)
    found = [*(given_rules or ()), *rule_forms(_forms(sections, "rules"))]
    complete = not given or given_rules is not None
    # The rules themselves are out of reach of a query within one of them: it would never end.
    of_rule = "a query within a rule cannot take % as well; call the rules in the rule's body, or give it :rules"
    rule_set = read_rules(found, sources, lambda form: parse_inner(form, None, of_rule), complete=complete)
    refusal = "" if given or found else "the outer query has no rules to give; add :rules to either"
    names = None if rule_set.arity is None else frozenset(rule_set.arity)

    def inner(form: Form) -> Inner:
        return parse_inner(form, found if complete else None, refusal, names)

    find = parse_find(sections["find"].forms, _keys(sections), reader, inner)
    using = ("where", "find", "in", "with", "having", "order-by")
    shown_forms = (each for name in using for each in _forms(sections, name))
    clauses = ClauseParser(
        sources,
        inner,
        rule_set.arity,
        outer_rules,
        taken_names(tuple(shown_forms), rule_set.arity or {}),
        logs,
        own,
        own,
    )
    with_ = tuple(_variable(each, ":with") for each in _forms(sections, "with"))
    written_args = parse_args(_forms(sections, "args"))
    if written_args is not None:
        inputs = (*inputs, written_args[0])
    where = [*(clauses.clause(each) for each in _forms(sections, "where")), *parts]
    bindings = [each.binding for each in inputs if isinstance(each, ast.BindingInput)]
    given_names = {each.name for binding in bindings for each in targets(binding) if isinstance(each, ast.Var)}
    reader.rows_apart(where, given_names)
    apart = tuple(each for name, each in reader.apart.items() if name not in {known.name for known in with_})
    having, early, find = read_having(_forms(sections, "having"), reader, find, (*with_, *apart))
    order_by, find = _order_by(sections, find, reader, (*with_, *apart))
    rule_set.check(where)
    calls: tuple[ast.Clause, ...] = (*reader.functions.values(), *early)
    asked = {*(each.var.name for each in find.columns), *(each.name for each in (*with_, *apart)), *names_in(calls)}
    asked.update(key.var.name for key in order_by)
    written_out, nils = query_with_optionals(where, given_names, asked)
    find = skipping_nil(find, given_names | nils)
    query = ast.Query(
        find=find,
        with_=(*with_, *apart),
        inputs=inputs,
        where=(*written_out, *calls),
        order_by=order_by,
        limit=_row_number(sections, "limit", inputs),
        offset=_row_number(sections, "offset", inputs) or 0,
        timeout_ms=_number(sections, "timeout"),
        rules=rule_set.rules,
        having=having,
        args=() if written_args is None else (written_args[1],),
        text=text,
    )
    _check_bound(query, where, reader)
    return replace(query, find=with_pulls(query.find, query.inputs))


def parse_inner(
    form: Form, rules: list[Form] | None, refusal: str, names: frozenset[str] | None = frozenset()
) -> Inner:
    """A query within a query that has these rules; None: it has rules that are not known yet. `refusal`: why it
    gets none, if it asks for them. `names`: of the rules, where they are known."""
    form = unquoted(form)
    sections = _sections(form)
    written = written_inputs(_forms(sections, "in"), log_variables(_forms(sections, "where")))
    asked = next((each for each in written if isinstance(each, ast.RulesInput)), None)
    if asked is not None and refusal:
        raise AdalogError(Code.QUERY_INVALID, refusal, asked.position)
    return Inner(_parse(form, None if asked is None else rules, outer_rules=names), written)


def _sections(form: Form) -> _Sections:
    """The sections by their names."""
    if form.kind == "map":
        sections = _sections_of_map(form)
    elif form.kind in ("vector", "list"):
        sections = _sections_of_list(form)
    else:
        wanted = "a map {:find … :where …} or a vector [:find … :where …]"
        quoted = type(form.value) is str and ":find" in form.value
        hint = "; leave the quotation marks around it out" if quoted else ""
        raise invalid(form, f"a query is {wanted}, not {shown(form)}{hint}")
    for name in ("find", *_NAMING, *_NUMBERS):
        if name in sections and not sections[name].forms:
            hint = "; it needs at least ?x" if name == "find" else ""
            raise invalid(sections[name].key, f":{name} is empty{hint}")
    return sections


def _sections_of_map(form: Form) -> _Sections:
    """In a map each section is one vector of what the list form has in a row."""
    sections: dict[str, _Section] = {}
    for key, value in zip(form.items[::2], form.items[1::2], strict=True):
        name = _section_name(key, sections)
        single = name in _NUMBERS or (name in ("find", "having") and is_known_call(value))
        several = value.kind in ("vector", "list") and not single
        sections[name] = _Section(key, list(value.items) if several else [value])
    return sections


def _sections_of_list(form: Form) -> _Sections:
    sections: dict[str, _Section] = {}
    section: _Section | None = None
    for item in form.items:
        if isinstance(item.value, Keyword) and not _names_element(item, section):
            name = _section_name(item, sections, section)
            section = sections[name] = _Section(item, [])
        elif section is None:
            hint = "; send the query alone, [:find …]" if is_symbol(item) and item.value.name.endswith("q") else ""
            if shown(form) == "[object Object]":
                hint = "; this is what JavaScript makes of an object: send the query as text"
            raise invalid(item, f"a query in list form begins with :find, not with {shown(item)}{hint}")
        else:
            section.forms.append(item)
    match sections.get("order-by"):
        case _Section(key, [given]) if given.kind in ("vector", "list") and not is_known_call(given):
            sections["order-by"] = _Section(key, list(given.items))
    return sections


def _names_element(item: Form, section: _Section | None) -> bool:
    """Whether a keyword is a name of `:keys`, `:keys :name :age`, and begins no section."""
    return section is not None and section.key.value.name in _NAMING and item.value.name not in SECTIONS


def _section_name(key: Form, known: _Sections, before: _Section | None = None) -> str:
    """The section that a keyword begins, which must be new. `before`: the section that it ends."""
    if not isinstance(key.value, Keyword):
        hint = ", as in {:find [?x] :where [[?x :person/name]]}" if type(key.value) is str else ""
        raise invalid(key, f"a section of a query is a keyword such as :find or :where, not {shown(key)}{hint}")
    name: str = key.value.name
    if name not in SECTIONS:
        raise invalid(key, f"a query has no section :{name}{_instead(name, before)}")
    if name in known:
        raise invalid(key, f":{name} is given twice")
    other = next((each for each in _NAMING if each in known), None)
    if name in _NAMING and other is not None:
        raise invalid(key, f"give :{other} or :{name}, not both")
    return name


def _instead(name: str, before: _Section | None) -> str:
    """What to write for a section that is not there."""
    section = "" if before is None else before.key.value.name
    if section == "order-by" and name in ("asc", "desc"):
        last = shown(before.forms[-1]) if before is not None and before.forms else "?x"
        return f"; the direction stands with its variable: :order-by [[{last} :{name}]]"
    hint = instead_of_section(name) or nearest(name, SECTIONS, prefix=":")
    if not hint and (section == "where" or "/" in name):
        return f"; an attribute stands in a pattern, in brackets: [?e :{name} ?value]"
    return hint or f"; there are {' '.join(f':{each}' for each in SECTIONS)}"


def _forms(sections: _Sections, name: str) -> list[Form]:
    return sections[name].forms if name in sections else []


def _keys(sections: _Sections) -> tuple[str, list[Form]] | None:
    return next(((name, sections[name].forms) for name in _NAMING if name in sections), None)


def _variable(form: Form, section: str) -> ast.Var:
    if not is_variable(form):
        raise invalid(form, f"{section} takes variables such as ?x, not {shown(form)}")
    return variable(form)


def _number(sections: _Sections, name: str) -> int | None:
    if name not in sections:
        return None
    first, *more = sections[name].forms
    least, wanted = (1, "positive") if name == "timeout" else (0, "non-negative")
    if more or not is_long(first.value) or first.value < least:
        given = " ".join(map(shown, sections[name].forms))
        raise invalid(first, f":{name} takes one {wanted} whole number, not {given}")
    return int(first.value)


def _single(inputs: Sequence[ast.Input]) -> frozenset[str]:
    """The variables to which :in gives one value."""
    given = (each.binding for each in inputs if isinstance(each, ast.BindingInput))
    single = (each.target for each in given if isinstance(each, ast.ScalarBinding))
    return frozenset(each.name for each in single if isinstance(each, ast.Var))


def _row_number(sections: _Sections, name: str, inputs: Sequence[ast.Input]) -> ast.RowNumber | None:
    """What :limit or :offset has: a number, or a variable that :in gives one value."""
    match _forms(sections, name):
        case [form] if is_variable(form):
            known = _single(inputs)
            if form.value.name not in known:
                hint = f"name it there by itself, as in :in $ {shown(form)}{nearest(form.value.name, known)}"
                raise invalid(form, f":{name} takes a whole number, or a variable of :in that has one; {hint}")
            return variable(form)
    return _number(sections, name)


def _order_by(
    sections: _Sections, find: ast.Find, reader: ColumnReader, with_: Sequence[ast.Var]
) -> tuple[tuple[ast.OrderKey, ...], ast.Find]:
    """A direction belongs to the term before it, or stands in a vector with it: `[?x ?y :desc [?z :asc]]`.

    Returns the find spec with the columns that terms are computed from."""
    reader.section = ":order-by"
    columns: dict[str, ast.FindColumn] = {}
    keys: list[ast.OrderKey] = []
    directed = True
    for form in _forms(sections, "order-by"):
        if isinstance(form.value, Keyword):
            if directed:
                raise invalid(form, f"{shown(form)} stands after the term that it orders by, once: [?x :desc ?y]")
            keys[-1] = replace(keys[-1], descending=_descends(form))
            directed = True
        elif form.kind == "vector" or _is_directed(form):
            if len(form.items) not in (1, 2):
                raise invalid(form, f"an :order-by entry is ?x or [?x :asc] or [?x :desc], not {shown(form)}")
            key = _order_key(form.items[0], find, reader, columns)
            keys.append(replace(key, descending=any(map(_descends, form.items[1:]))))
            directed = True
        else:
            keys.append(_order_key(form, find, reader, columns))
            directed = False
    return tuple(keys), with_columns(find, columns, with_, reader)


_DIRECTIONS = {Keyword("asc"): False, Keyword("desc"): True}
"""Whether each is descending."""
_DIRECTION_NAMES = frozenset(each.name for each in _DIRECTIONS)


def _descends(direction: Form) -> bool:
    if direction.value not in _DIRECTIONS:
        raise invalid(direction, f"a direction is :asc or :desc, not {shown(direction)}")
    return _DIRECTIONS[direction.value]


def _is_directed(form: Form) -> bool:
    """Whether a list is a term with its direction, `(?x :desc)`, rather than a call."""
    return form.kind == "list" and len(form.items) == 2 and form.items[1].value in _DIRECTIONS


def _order_key(
    form: Form, find: ast.Find, reader: ColumnReader, columns: dict[str, ast.FindColumn]
) -> ast.OrderKey:
    """`?x`, a call, or the number of a column. `columns`: takes those that it is computed from."""
    elements = find.elements
    if is_long(form.value):
        if not 1 <= form.value <= len(elements):
            count = f"{len(elements)} column{'' if len(elements) == 1 else 's'}"
            first = ", so the first is 1, not 0" if form.value == 0 else ""
            raise invalid(form, f":order-by {shown(form)}: :find has {count}, counted from 1{first}")
        return ast.OrderKey(ast.Var(elements[form.value - 1].label, position=form.position))
    pulled = (element.var.name for element in elements if isinstance(element, ast.FindPull))
    names = {*(element.label for element in elements), *pulled}
    if is_call(form):
        asked = ast.Var(write(form.value), position=form.position)
        if asked.name in names:
            return ast.OrderKey(asked)
        if not is_aggregated(form):
            return ast.OrderKey(reader.value(form), outside=True)
        if form.items[0].value.name in FIND_AGGREGATES:
            column = reader.aggregate(form, in_find=False)
            columns.setdefault(column.label, column)
            return ast.OrderKey(asked, by=asked)
        return ast.OrderKey(asked, by=reader.grouped(form, columns, find))
    if is_symbol(form) and form.value.name in _DIRECTION_NAMES:
        raise invalid(form, f"the direction stands after its variable, as in [[?x :{form.value.name}]]")
    asked = _variable(form, ":order-by")
    return ast.OrderKey(asked, outside=asked.name not in names)


_MISTAKEN: Mapping[str, str] = {
    "*": "; all attributes of an entity are (pull ?e [*])",
    "as": "; columns are named by :keys, as in :find ?n :keys name",
    "--": "; a comment begins with ;",
}
"""Symbols of other languages in :find, which are variables here."""


def _dotted(name: str, known: Collection[str]) -> str:
    """What to write for `?e.title`, or nothing."""
    entity, dot, attribute = name.partition(".")
    if not dot or entity not in known:
        return ""
    return f"; an attribute is bound in :where: [{entity} :…/{attribute} ?{attribute}]"


def _check_bound(query: ast.Query, where: Iterable[ast.Clause], reader: ColumnReader) -> None:
    """What :find, :with and :order-by ask for must occur in :where or :in. `where`: as it is written."""
    given = (targets(each.binding) for each in query.inputs if isinstance(each, ast.BindingInput))
    known = {each.name for bound in given for each in bound if isinstance(each, ast.Var)}
    known.update(names_in(where, inside_not=True))
    asking = list(reader.mentioned.values())
    known.update(reader.functions)
    asking += [(each.var, ":find") for each in query.find.columns] + [(each, ":with") for each in query.with_]
    asking += [(each.var, ":order-by") for each in query.order_by if each.outside]
    for asked, section in asking:
        if asked.name not in known:
            hint = _MISTAKEN.get(asked.name) or _dotted(asked.name, known) or nearest(asked.name, known)
            why = f"nothing in :where or :in binds it{hint}"
            raise AdalogError(Code.UNBOUND_VARIABLE, f"{asked.name} is in {section}, but {why}", asked.position)
