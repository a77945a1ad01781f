"""Random databases with policies: declarations, and transactions with retractions and replacements."""

from __future__ import annotations

from random import Random

from tests.permissions.conditions import RandomPolicy, policies

DECLARED = (
    "{:db/ident :doc/parent :db/valueType :db.type/ref}",
    "{:db/ident :doc/part :db/valueType :db.type/ref :db/isComponent true :db/cardinality :db.cardinality/many}",
    '{:db/ident :doc/title :db/valueType :db.type/string :db/doc "what it is called"}',
    "{:db/ident :doc/rank :db/valueType :db.type/long}",
    "{:db/ident :doc/key :db/valueType :db.type/tuple :db/tupleAttrs [:doc/title :doc/rank]}",
    "{:db/ident :doc/state :db/valueType :db.type/ref :graphql/enum :state}",
    "{:db/ident :doc/kind :db/valueType :db.type/keyword}",
    "{:db/ident :doc/owner :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}",
    "{:db/ident :doc/code :db/valueType :db.type/string :db/unique :db.unique/identity}",
    "{:db/ident :user/id :db/valueType :db.type/string :db/unique :db.unique/identity}",
    "{:db/ident :user/mark :db/valueType :db.type/long :db/unique :db.unique/value}",
    "{:db/ident :tag/name :db/valueType :db.type/string :db/cardinality :db.cardinality/many}",
    "{:db/ident :tag/on :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}",
    "{:db/ident :group/members :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}",
    "{:db/ident :group/parent :db/valueType :db.type/ref}",
    "{:db/ident :num/n :db/valueType :db.type/long}",
    "{:db/ident :num/ns :db/valueType :db.type/long :db/cardinality :db.cardinality/many}",
    "{:db/ident :num/brief :db/valueType :db.type/long :db/noHistory true}",
    "{:db/ident :tx/why :db/valueType :db.type/string}",
)
ENTITIES = tuple(range(1, 13))
USERS = (21, 22, 23)
STATES = (":state/open", ":state/done")
VALUES = {
    ":doc/parent": tuple(map(str, ENTITIES)),
    ":doc/part": tuple(map(str, ENTITIES)),
    ":doc/title": ('"a"', '"b"', '"c"'),
    ":doc/rank": ("1", "2", "3"),
    ":doc/state": STATES,
    ":doc/kind": (":open", ":shut"),
    ":doc/owner": ("21", "22", "23", "11", "12"),
    ":tag/name": ('"red"', '"blue"', '"green"'),
    ":tag/on": tuple(map(str, ENTITIES)),
    ":group/members": ("21", "22", "23", "11"),
    ":group/parent": ("10", "11", "12"),
    ":num/n": ("0", "1", "2", "3", "4"),
    ":num/ns": ("1", "2", "3"),
    ":num/brief": ("1", "2"),
    ":loose": ("1", "2", "3"),
}
MANY = (":doc/part", ":doc/owner", ":tag/name", ":tag/on", ":group/members", ":num/ns")
CODES = {str(e): f'"c{e}"' for e in ENTITIES}


def transaction(rng: Random, least: int = 6) -> str:
    """Text without a conflict in itself: it says one thing of an entity's attribute."""
    forms: dict[object, str] = {}
    for _ in range(rng.randint(least, least + 24)):
        e, a = str(rng.choice((*ENTITIES, *ENTITIES, *USERS))), rng.choice(tuple(VALUES))
        v = rng.choice(VALUES[a])
        key = (e, a, v) if a in MANY else (e, a)
        kind = rng.choice(("add", "add", "add", "add", "retract"))
        forms[key] = f"[:db/{kind} {e} {a} {v}]"
    for e in rng.sample(ENTITIES, rng.randint(0, 3)):
        forms["code", e] = f"[:db/add {e} :doc/code {CODES[str(e)]}]"
    if rng.random() < 0.3:
        e = rng.choice(USERS)
        forms["mark", e] = f"[:db/add {e} :user/mark {100 + e}]"
    if rng.random() < 0.3:
        forms["why"] = '[:db/add "datomic.tx" :tx/why "because"]'
    return f"[{' '.join(forms.values())}]"


def removal(rng: Random) -> str:
    return f"[[:db/retractEntity {rng.choice(ENTITIES)}]]"


def declarations() -> list[str]:
    """Transactions that make the schema, users and idents."""
    users = " ".join(f'{{:db/id {e} :user/id "u{e - 20}"}}' for e in USERS)
    plain = '{:db/id 31 :db/ident :state/open} {:db/id 32 :db/ident :state/done :db/doc "over"} {:db/ident :other}'
    # Policies name it, so it is there before its first use.
    plain += " {:db/ident :loose :db/cardinality :db.cardinality/one}"
    return [f"[{' '.join(DECLARED)}]", f"[{users} {plain}]"]


def typed(rng: Random) -> str:
    """Declarations of types, of which some are left out."""
    forms = (
        *(f"[:db/add {a} :graphql/type :doc]" for a in (":doc/parent", ":doc/part", ":tag/on")),
        *("[:db/add :doc/owner :graphql/type :user]", "[:db/add :group/members :graphql/type :user]"),
        *("[:db/add :group/parent :graphql/type :group]", '[:db/add :doc/rank :graphql/name "order"]'),
    )
    return f"[{' '.join(each for each in forms if rng.random() < 0.8)}]"


def history(rng: Random, changes: int = 4) -> tuple[list[str], list[RandomPolicy]]:
    """Texts of transactions, the policies' among them, and these policies."""
    made = declarations()
    own = policies(rng)
    texts = [transaction(rng) for _ in range(changes)]
    if rng.random() < 0.6:
        texts.insert(rng.randrange(1, len(texts) + 1), removal(rng))
    at = rng.randrange(len(texts) + 1)
    texts.insert(at, f"[{' '.join(each.form for each in own)}]")
    return [*made, *texts], own
