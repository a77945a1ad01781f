"""Pull patterns, in all forms of Datomic's grammar, the older `(limit …)` and `(default …)` among them, and the
queries in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adalog.datalog import ast
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.hints import nearest
from adalog.datalog.names import targets
from adalog.datalog.parsing.forms import Form, constant, invalid, is_call, is_symbol, shown, unquoted
from adalog.datalog.parsing.nested import NAMES, ParseInner, inner_query, input_name
from adalog.datalog.pull import DB_ID, PullAttribute, PullPattern, PullQuery, QueryInPattern, Recursion, Xform
from adalog.datalog.values import Keyword, is_long

_OPTIONS = ("as", "limit", "default", "xform")
_ENDLESS = "..."

XFORMS = frozenset(
    name
    for name, known in BUILTINS.items()
    if known.min_args <= 1 and (known.max_args is None or known.max_args >= 1) and not known.needs_database
)
"""The built-ins that `:xform` can name: those that one argument is enough for."""


def parse_pull(form: Form, parse: ParseInner) -> PullPattern:
    """The pattern of a form; `parse` reads its queries. Raises QUERY_INVALID, at the form's place if it has one."""
    form = unquoted(form)
    if form.kind not in ("vector", "set"):
        written = f"[{shown(form)}]" if isinstance(form.value, Keyword) else "[:person/name] or [*]"
        raise invalid(form, f"a pull pattern is a vector such as {written}, not {shown(form)}")
    wildcard, attributes, queries = False, list[PullAttribute](), list[PullQuery]()
    for item in form.items:
        if _is_wildcard(item) or (item.kind == "vector" and len(item.items) == 1 and _is_wildcard(item.items[0])):
            wildcard = True
        elif item.kind == "map":
            attributes += _nested(item, parse)
        elif is_call(item) and item.items[0].value.name in NAMES:
            queries.append(_query(item, parse))
        else:
            attributes.append(_attribute(item))
    if not wildcard and not attributes and not queries:
        raise invalid(form, "a pull pattern needs an attribute or *, e.g. [*]")
    keys = [*(each.key.key for each in attributes), *(each.key.key for each in queries)]
    for query in queries:
        if keys.count(query.key.key) > 1:
            message = f"{write(query.key.value)} is the key of something else in this pattern, too"
            raise AdalogError(Code.QUERY_INVALID, message, query.key.position)
    return PullPattern(wildcard, tuple(attributes), tuple(queries), position=form.position)


_EXAMPLE = '(q "comments" [:find [?c ...] :in $ ?issue :where [?c :comment/issue ?issue]])'


def _query(form: Form, parse: ParseInner) -> PullQuery:
    """`(q "comments" [:find … :in $ ?issue …])`"""
    if len(form.items) != 3:
        raise invalid(form, f"({shown(form.items[0])} …) in a pull pattern takes a key and a query: {_EXAMPLE}")
    _, key, query = form.items
    if key.kind != "atom" or not isinstance(key.value, str | Keyword):
        raise invalid(key, f"the key of a query in a pull pattern is a string or a keyword, not {shown(key)}")
    inner = inner_query(query, parse)
    entity = next((each for each in inner.written if isinstance(each, ast.BindingInput)), None)
    if entity is None:
        raise invalid(query, f"a query in a pull pattern takes the entity that the map shows: {_EXAMPLE}")
    if not isinstance(entity.binding, ast.ScalarBinding) or not isinstance(entity.binding.target, ast.Var):
        message = f"a query in a pull pattern takes the entity that the map shows first, not {input_name(entity)}"
        raise AdalogError(Code.QUERY_INVALID, message, entity.position)
    return PullQuery(constant(key), inner.query, position=form.position)


def with_inputs(pattern: PullPattern, inputs: Sequence[ast.Input]) -> PullPattern:
    """The pattern with the inputs of its queries as the query around it has them: `?x` stands for `[?x ...]`, too.
    Raises QUERY_INVALID for what is not among these `inputs`."""
    if not any(pattern.all_queries()):
        return pattern
    attributes = (
        replace(each, sub=with_inputs(each.sub, inputs)) if isinstance(each.sub, PullPattern) else each
        for each in pattern.attributes
    )
    queries = (replace(each, query=_with_inputs(each.query, inputs)) for each in pattern.queries)
    return replace(pattern, attributes=tuple(attributes), queries=tuple(queries))


def _with_inputs(query: QueryInPattern, around: Sequence[ast.Input]) -> ast.Query:
    assert isinstance(query, ast.Query)
    made: dict[ast.Input, None] = {}
    takes_entity = False
    for each in query.inputs:
        if isinstance(each, ast.BindingInput) and takes_entity:
            made[_same(each, around)] = None
            continue
        takes_entity = takes_entity or isinstance(each, ast.BindingInput)
        if isinstance(each, ast.SourceInput) and each.name != "$" and each not in around:
            known = " ".join(other.name for other in around if isinstance(other, ast.SourceInput))
            message = f"{each.name} is no source of the query around; there are {known}"
            raise AdalogError(Code.QUERY_INVALID, message, each.position)
        made[each] = None
    inputs = tuple(made)
    if inputs == query.inputs:
        return query
    elements = (
        replace(each, pattern=with_inputs(each.pattern, inputs))
        if isinstance(each, ast.FindPull) and isinstance(each.pattern, PullPattern)
        else each
        for each in query.find.elements
    )
    return replace(query, inputs=inputs, find=replace(query.find, elements=tuple(elements)))


def _same(each: ast.BindingInput, around: Sequence[ast.Input]) -> ast.Input:
    """The input of the query around that a query in a pattern takes."""
    if each in around:
        return each
    name = each.binding.target if isinstance(each.binding, ast.ScalarBinding) else None
    bound = {
        target.name: other
        for other in around
        if isinstance(other, ast.BindingInput)
        for target in targets(other.binding)
        if isinstance(target, ast.Var)
    }
    if isinstance(name, ast.Var) and name.name in bound:
        return bound[name.name]
    hint = nearest(name.name, bound) if isinstance(name, ast.Var) else ""
    message = (
        f"{input_name(each)} is not in the :in of the query around the pull pattern; after the entity come inputs "
        f"of that{hint}"
    )
    raise AdalogError(Code.QUERY_INVALID, message, each.position)


def _is_wildcard(form: Form) -> bool:
    return (is_symbol(form) and form.value.name == "*") or (type(form.value) is str and form.value == "*")


def _nested(form: Form, parse: ParseInner) -> list[PullAttribute]:
    """`{:person/friend [:person/name], :person/parent 3, [:person/child :limit 2] ...}`"""
    if not form.items:
        raise invalid(form, "a map in a pull pattern nests one: {:person/friend [:person/name]}")
    made = []
    for key, value in zip(form.items[::2], form.items[1::2], strict=True):
        attribute = _attribute(key)
        if attribute.attribute == DB_ID:
            raise invalid(key, ":db/id refers to no other entity, so it takes no pattern; write it by itself")
        made.append(replace(attribute, sub=_sub(value, parse)))
    return made


def _sub(form: Form, parse: ParseInner) -> PullPattern | Recursion:
    if form.kind == "atom":
        if is_long(form.value) and form.value > 0:
            return Recursion(form.value)
        name = form.value.name if is_symbol(form) else form.value
        if type(name) is str and name == _ENDLESS:
            return Recursion(None)
        hint = f"; write [{shown(form)}]" if isinstance(form.value, Keyword) or name == "*" else ""
        raise invalid(
            form, f"after an attribute comes a pattern, a depth from 1 on, or ..., not {shown(form)}{hint}"
        )
    return parse_pull(form, parse)


def _attribute(form: Form) -> PullAttribute:
    """`:person/name`, `[:person/name :as "name"]`, `(limit :person/alias 3)`"""
    if form.kind in ("vector", "list"):
        return _expression(form)
    if not isinstance(form.value, Keyword):
        named = form.value.name if is_symbol(form) else form.value
        if type(named) is str and "/" in named.strip(":/"):
            raise invalid(form, f"an attribute is a keyword: write :{named.removeprefix(':')}, not {shown(form)}")
        raise invalid(
            form,
            "a pull pattern takes attributes such as :person/name, with options [:person/name :as :name], maps "
            f"{{:person/friend [:person/name]}} and *, not {shown(form)}",
        )
    written: Keyword = form.value
    reverse = written.local.startswith("_")
    name = written
    if reverse:
        forward = written.local[1:]
        if not forward:
            raise invalid(form, f"{shown(form)} names no attribute; :person/_friend is :person/friend backwards")
        name = Keyword(forward if written.namespace is None else f"{written.namespace}/{forward}")
    if reverse and name == DB_ID:
        raise invalid(form, ":db/id is no attribute, so there is nothing to follow backwards")
    return PullAttribute(name, reverse, constant(form), position=form.position)


def _expression(form: Form) -> PullAttribute:
    items = form.items
    older = _older_name(items)
    if older is not None:
        if len(items) != 3:
            raise invalid(form, f"({older} …) takes an attribute and a value: ({older} :person/alias 10)")
        return _with_option(_plain(items[1]), items[0], older, items[2])
    if not items:
        raise invalid(form, "an attribute with options begins with the attribute: [:person/name :as :name]")
    attribute, options = _plain(items[0]), items[1:]
    if len(options) == 1 and options[0].kind == "map" and options[0].items:
        # XTDB's `(:person/alias {:limit 5})`, in which :into says what the values are shown as.
        pairs = zip(options[0].items[::2], options[0].items[1::2], strict=True)
        options = tuple(each for key, value in pairs if key.value != _INTO for each in (key, value))
        if not options:
            return attribute
    if not options:
        name = shown(items[0])
        raise invalid(form, f"{name} has no options here; write it by itself, or [{name} :limit 5]")
    if len(options) % 2:
        if options[0].kind == "vector" and isinstance(items[0].value, Keyword):
            name, inner = shown(items[0]), shown(options[0])
            raise invalid(options[0], f"{inner} cannot follow {name} here; write {{{name} {inner}}}")
        raise invalid(options[-1], f"options come in pairs, and {shown(options[-1])} has no value")
    given: set[str] = set()
    for option, value in zip(options[::2], options[1::2], strict=True):
        name = option.value.name if isinstance(option.value, Keyword) else ""
        if name not in _OPTIONS:
            known = nearest(name, _OPTIONS, prefix=":") if name else ""
            raise invalid(option, f"an option is :as, :limit, :default or :xform, not {shown(option)}{known}")
        if name in given:
            raise invalid(option, f":{name} is there twice")
        given.add(name)
        attribute = _with_option(attribute, option, name, value)
    return attribute


_INTO = Keyword("into")


def _older_name(items: Sequence[Form]) -> str | None:
    """`limit` or `default` where a form begins with one as a symbol or a string."""
    if not items:
        return None
    head = items[0].value.name if is_symbol(items[0]) else items[0].value
    return head if type(head) is str and head in ("limit", "default") else None


def _plain(form: Form) -> PullAttribute:
    if not isinstance(form.value, Keyword):
        raise invalid(form, f"options follow an attribute, as in [:person/name :as :name], not {shown(form)}")
    return _attribute(form)


def _with_option(attribute: PullAttribute, option: Form, name: str, value: Form) -> PullAttribute:
    match name:
        case "as":
            return replace(attribute, key=constant(value))
        case "default":
            return replace(attribute, default=constant(value))
        case "limit":
            if value.value is not None and (not is_long(value.value) or value.value < 1):
                raise invalid(value, f"a limit is a whole number from 1 on, or nil for none, not {shown(value)}")
            return replace(attribute, limit=value.value)
        case _:
            return replace(attribute, xform=_xform(value))


def _xform(form: Form) -> Xform:
    if not is_symbol(form):
        raise invalid(form, f":xform takes the name of a function such as upper-case, not {shown(form)}")
    name: str = form.value.name
    if name in XFORMS:
        return Xform(name, position=form.position)
    if name in BUILTINS:
        raise invalid(form, f":xform calls a function with one argument, which {name} cannot be")
    hint = nearest(name.rpartition("/")[2] or name, XFORMS) or "; built-ins of one argument are, such as upper-case"
    raise invalid(form, f"there is no function {name} for :xform{hint}")
