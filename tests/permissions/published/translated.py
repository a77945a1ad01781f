"""Models of relations as policies: for each relation a rule that holds for the objects to which the identity
has it.

A fact is a reference from the object to the subject, or to what the subject's relation is of; each kind of
subject has an attribute. A fact under a condition refers to an entity that has the subject and the values
given. The claims of the identity are its name, and its type, which public access asks for. Each relation that
is asked for decides on an attribute of its own, which all objects of the type have: the identities that may
read it have the relation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from adalog.executor.permissions.claims import flattened
from tests.permissions.published.cases import Case, Expected, Expression, Fact, Model, Name, type_of

NOBODY = '[(= "nobody" "somebody")]'
_COMPARISON = re.compile(r"(?P<left>[\w.]+) (?P<op>==|<=?|>=?) (?P<right>\S+|'[^']*')")


class Untranslatable(Exception):
    """A condition is not one of comparisons."""


def attribute_of(relation: Name, subjects: str) -> str:
    """Of facts of a relation whose subjects are `user`, `user:*`, `group#member`, or one of these `?condition`."""
    ending = subjects.replace(":*", ".all").replace("#", ".").replace("?", ".if.")
    return f":{relation[0]}.{relation[1]}/{ending}"


def asked_attribute(relation: Name) -> str:
    return f":asked/{relation[0]}.{relation[1]}"


def rule_of(relation: Name) -> str:
    return f"{relation[0]}.{relation[1]}"


# Rules


@dataclass
class Rules:
    """Rules of the relations of a model, made as they are called."""

    model: Model
    heads: dict[str, list[str]] = field(default_factory=dict)

    def call(self, relation: Name, object: str) -> str:
        """A call of the relation's rule."""
        name = rule_of(relation)
        if name not in self.heads:
            self.heads[name] = []
            # Of a subject like group:a#member, which has the relation to its own object.
            own = f'(claim :subject.relation "{relation[0]}#{relation[1]}") (claim :subject.of ?id)'
            self.heads[name] = [
                f"{own} [?o :object/id ?id]",
                *self.bodies(relation, self.model.relations[relation]),
            ]
        return f"({name} {object})"

    def bodies(self, relation: Name, of: Expression) -> Iterator[str]:
        """Clauses that bind ?o; those of one body hold."""
        if isinstance(of, list):
            for subjects in of:
                yield self.direct(relation, subjects)
        elif isinstance(of, str):
            yield NOBODY + " [?o :object/id]" if of == "nil" else self.call((relation[0], of), "?o")
        elif of[0] == "or":
            for each in of[1:]:
                yield from self.bodies(relation, each)
        elif of[0] == "and":
            yield " ".join(self.part(relation, each) for each in of[1:])
        elif of[0] == "minus":
            yield " ".join((self.part(relation, of[1]), *(f"(not {self.part(relation, each)})" for each in of[2:])))
        elif of[0] == "from":
            for fact, holds, via in self.parents(relation[0], of):
                yield f"{fact} {holds} {self.call(via, '?p')}"
        else:
            assert of[0] == "all"
            found = list(self.parents(relation[0], of))
            # A fact whose condition does not hold is one of all.
            every = [f"(not-join [?o] {fact} (not {holds} {self.call(via, '?p')}))" for fact, holds, via in found]
            for fact, holds, _ in found:
                yield f"{fact} {holds} {' '.join(every)}"

    def part(self, relation: Name, of: Expression) -> str:
        """A call of a rule for a part of an expression."""
        if isinstance(of, str) and of != "nil":
            return self.call((relation[0], of), "?o")
        name = f"{rule_of(relation)}.{sum(each.startswith(rule_of(relation)) for each in self.heads)}"
        self.heads[name] = []
        self.heads[name] = list(self.bodies(relation, of)) or [f"{NOBODY} [?o :object/id]"]
        return f"({name} ?o)"

    def parents(self, type: str, of: Sequence[Any]) -> Iterator[tuple[str, str, Name]]:
        """What a relation is taken from: clauses that bind ?p to it, its condition, and the relation there."""
        _, parent, relation = of
        for subjects in self.subjects((type, parent)):
            above = re.split("[#?]", subjects)[0]
            if (above, relation) in self.model.relations:
                yield *self.fact((type, parent), subjects, "?p"), (above, relation)

    def subjects(self, relation: Name) -> list[str]:
        found = self.model.relations[relation]
        return found if isinstance(found, list) else []

    def direct(self, relation: Name, subjects: str) -> str:
        fact, holds = self.fact(relation, subjects, "?s")
        return f"{fact} {holds} {self.identity('?s', subjects.partition('?')[0])}"

    def fact(self, relation: Name, subjects: str, name: str) -> tuple[str, str]:
        """Clauses for a fact's subject, and its condition."""
        condition = subjects.partition("?")[2]
        if not condition:
            return f"[?o {attribute_of(relation, subjects)} {name}]", ""
        if (rule := f"if.{condition}") not in self.heads:
            every = self.model.conditions[condition].split(" || ")
            self.heads[rule] = [" ".join(_clauses(each)) for each in every]
        return f"[?o {attribute_of(relation, subjects)} ?g] [?g :given/to {name}]", f"({rule} ?g)"

    def identity(self, name: str, subjects: str) -> str:
        """Clauses that say that an entity is the identity, or has it as a member, or stands for all of its type."""
        if subjects.endswith(":*"):
            return f"[{name} :object/all ?type] (claim :type ?type)"
        group, _, relation = subjects.partition("#")
        if relation:
            return self.call((group, relation), name)
        return f"[{name} :object/id ?id] (claim :sub ?id)"

    def text(self, relation: Name) -> str:
        """The rules of a policy for the relation."""
        allow = self.call(relation, "?o")
        rules = [f"[(allow ?o) {allow}]"]
        for name, bodies in self.heads.items():
            place = "?g" if name.startswith("if.") else "?o"
            rules += [f"[({name} {place}) {each}]" for each in bodies]
        return f"[{' '.join(rules)}]"


def comparisons(condition: str) -> Iterator[tuple[str, str, str]]:
    """The sides, and what stands between them."""
    for each in re.split(r" && | \|\| ", condition):
        found = _COMPARISON.fullmatch(each)
        if found is None and not re.fullmatch(r"\w+", each):
            raise Untranslatable(condition)
        yield (found["left"], found["op"], _literal(found["right"])) if found else (each, "==", "true")


def _literal(text: str) -> str:
    """A literal of EDN, or the name of a value."""
    text = text.replace("'", '"')
    found = re.fullmatch(r'timestamp\((".*")\)', text)
    return f"#inst {found[1]}" if found else text


def _is_name(side: str) -> bool:
    return side not in ("true", "false") and re.match(r"[a-z]", side) is not None


def _clauses(text: str) -> Iterator[str]:
    for number, (left, op, right) in enumerate(comparisons(text)):
        yield _value(left, f"?l{number}")
        if _is_name(right):
            yield _value(right, f"?r{number}")
            right = f"?r{number}"
        yield f"[({op if right != 'true' else '='} ?l{number} {right})]"


def _value(name: str, variable: str) -> str:
    """Of what the fact gives, else of what the identity is told to have."""
    return (
        f"(or-join [[?g] {variable}] [?g :given/{name} {variable}] "
        f"(and (not [?g :given/{name}]) [?g :given/to] (claim :told.{name} {variable})))"
    )


# Facts


def declarations(model: Model, asked: Iterable[Name], given: Mapping[str, Any]) -> str:
    forms = [
        "{:db/ident :object/id :db/valueType :db.type/string :db/unique :db.unique/identity}",
        "{:db/ident :object/all :db/valueType :db.type/string :db/unique :db.unique/identity}",
        "{:db/ident :given/to :db/valueType :db.type/ref}",
    ]
    kinds = dict.fromkeys(given, "long")
    for condition in model.conditions.values():
        with suppress(Untranslatable):
            for left, _, right in comparisons(condition):
                kinds[left] = kinds.get(left, "long")
                if _is_name(right):
                    kinds[right] = kinds.get(right, "long")
                else:
                    kinds[left] = _type_of_literal(right)
    kinds.update((name, "string") for name, value in given.items() if isinstance(value, str))
    forms += [f"{{:db/ident :given/{name} :db/valueType :db.type/{kind}}}" for name, kind in kinds.items()]
    for relation, of in model.relations.items():
        for subjects in sorted(set(_direct(of))):
            a = attribute_of(relation, subjects)
            forms.append(f"{{:db/ident {a} :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}}")
    forms += [f"{{:db/ident {asked_attribute(each)} :db/valueType :db.type/string}}" for each in asked]
    return f"[{' '.join(forms)}]"


def _type_of_literal(text: str) -> str:
    starts = {"#": "instant", '"': "string", "t": "boolean", "f": "boolean"}
    return starts.get(text[0], "double" if "." in text else "long")


def _direct(of: Expression) -> Iterator[str]:
    if isinstance(of, list):
        yield from of
    elif isinstance(of, tuple) and of[0] not in ("from", "all"):
        for each in of[1:]:
            yield from _direct(each)


def facts(case: Case, prefix: str) -> str:
    """The case's facts. `prefix`: before all names, so that cases of one model share a database."""
    forms: dict[str, str] = {}
    asked = {each.relation for each in case.expected}

    def entity(name: str) -> str:
        key = f"{prefix}{name}"
        place = "all" if name.endswith(":*") else "id"
        parts = [f':db/id "{key}" :object/{place} "{key}"']
        parts += [f'{asked_attribute(each)} "{key}"' for each in sorted(asked) if each[0] == type_of(name)]
        forms[key] = "{" + " ".join(parts) + "}"
        return f'"{key}"'

    for number, fact in enumerate(case.facts):
        attribute = _attribute(fact, case.model)
        if attribute is None:
            continue
        subject = entity(fact.subject.partition("#")[0])
        if fact.condition is not None:
            given = " ".join(f":given/{name} {json.dumps(value)}" for name, value in flattened(fact.given))
            forms[f"fact {number}"] = f'{{:db/id "fact {prefix}{number}" :given/to {subject} {given}}}'
            subject = f'"fact {prefix}{number}"'
        forms[f"[{number}"] = f"[:db/add {entity(fact.object)} {attribute} {subject}]"
    for each in case.expected:
        for name in (each.object, *(each.objects or ())):
            if name:
                entity(name)
    return f"[{' '.join(forms.values())}]"


def _attribute(fact: Fact, model: Model) -> str | None:
    """None: of a fact that the model, a later one than the fact, does not know."""
    relation = type_of(fact.object), fact.relation
    name, _, of = fact.subject.partition("#")
    kind = fact.subject if name.endswith(":*") else type_of(name) + (f"#{of}" if of else "")
    kind += f"?{fact.condition}" if fact.condition else ""
    known = kind in _direct(model.relations.get(relation, []))
    return attribute_of(relation, kind) if known else None


def claims(expected: Expected, prefix: str) -> dict[str, Any]:
    name, _, relation = expected.subject.partition("#")
    told = {"told": json.loads(expected.told or "{}")}
    if relation:
        return {"subject": {"of": f"{prefix}{name}", "relation": f"{type_of(name)}#{relation}"}, **told}
    return {"sub": f"{prefix}{name}", "type": f"{prefix}{type_of(name)}:*", **told}


def policy(model: Model, relation: Name) -> str:
    text = json.dumps(Rules(model).text(relation))
    return (
        f'{{:policy/name "{rule_of(relation)}" :policy/roles [:*] :policy/ops [:read] '
        f":policy/on [{asked_attribute(relation)}] :policy/rules {text}}}"
    )
