"""Retention as operators use it: declared over GraphQL by admins, run by the command line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog
from tests.gateway.support import gateway
from tests.gateway.test_excision import POLICY, TRANSACT, TRANSACT_JSON, code

SCHEMA = "[{:db/ident :sensor/value :db/valueType :db.type/long}]"
DECLARED = "[{:db/ident :sensor/value :db/retainTransactions 1}]"
HISTORY = (
    '{ q(query: "[:find ?v ?t ?added :where [1 :sensor/value ?v ?t ?added]]", basis: {history: true}) { rows } }'
)


def test_admins_alone_declare_it_under_policies(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    named = ((each, hashlib.sha256(each.encode()).hexdigest()) for each in ("write", "admin"))
    path.write_text("".join(f"{role}-client:{role}:{digest}\n" for role, digest in named))
    with gateway(Settings(data=":memory:", auth=str(path)), SCHEMA, POLICY) as opened:
        for text in (DECLARED, "[{:db/ident :db/retention :db/retainDays 3}]"):
            assert code(opened.post(TRANSACT, {"Authorization": "Bearer write"}, tx=text)) in (
                "FORBIDDEN",
                "UNKNOWN_ATTRIBUTE",
            )
        assert "errors" not in opened.post(TRANSACT, {"Authorization": "Bearer admin"}, tx=DECLARED).json()
        assert opened.database.retention.is_in_background


def test_history_goes_over_http() -> None:
    with gateway(None, SCHEMA) as opened:
        for number in (1, 2, 3):
            opened.post(TRANSACT, tx=f"[[:db/add 1 :sensor/value {number}]]")
        assert len(opened.post(HISTORY).json()["data"]["q"]["rows"]) == 5
        form = {"db/ident": ":sensor/value", "db/retainTransactions": 1}
        assert "errors" not in opened.post(TRANSACT_JSON, tx=[form]).json()
        opened.database.retain()
        assert opened.post(HISTORY).json()["data"]["q"]["rows"] == [[3, 4398046511108, True]]


@pytest.mark.parametrize("is_declared", [True, False])
def test_the_command_folds_it_away_now(tmp_path: Path, is_declared: bool) -> None:
    data = str(tmp_path / "data")
    with Database.open(data) as database:
        database.transact(SCHEMA)
        for number in range(1, 5):
            database.transact(f"[[:db/add 1 :sensor/value {number}]]")
        if is_declared:
            database.transact(DECLARED)
    done = adalog("retain", "--data", data)
    assert done.exit_code == 0
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["datoms"], said["steps"]) == ((6, 1) if is_declared else (0, 0))
    assert ("nothing limits the past" in done.stderr) == (not is_declared)
    again = json.loads(adalog("retain", "--data", data).stdout.splitlines()[-1])
    assert (again["datoms"], again["steps"]) == (0, 0)
    with Database.open(data) as database:
        assert len(list(database.snapshot().history().datoms("EAVT"))) > 0
        assert database.snapshot().t == (7 if is_declared else 5)


def test_the_command_leaves_the_folder_of_a_server_alone(tmp_path: Path) -> None:
    """It has no --url that could be asked in its place."""
    data = str(tmp_path / "data")
    with Database.open(data):
        refused = adalog("retain", "--data", data)
    assert refused.exit_code == 3
    assert "in use by another adalog process; a server folds history away by itself" in refused.stderr
    assert "--url" not in refused.stderr


def test_without_a_database_the_command_makes_none(tmp_path: Path) -> None:
    assert adalog("retain", "--data", str(tmp_path / "none")).exit_code != 0
    assert not (tmp_path / "none").exists()


WARNED = "PAST_FORGOTTEN"
AS_OF = """query ($basis: BasisInput) {
    pull(pattern: "[:sensor/value]", eid: "1", basis: $basis)
    datoms(index: AEVT, components: [":sensor/value"], basis: $basis) { datoms { v } }
    q(query: "[:find ?v . :where [1 :sensor/value ?v]]", basis: $basis) {
        value warnings { code message line column } }
}"""


def test_views_of_the_past_that_may_lack_something_say_so() -> None:
    numbers = (f"[[:db/add 1 :sensor/value {number}]]" for number in (1, 2, 3))
    with gateway(None, SCHEMA, *numbers, DECLARED) as opened:
        opened.database.retain()
        answer = opened.post(AS_OF, basis={"t": 2}).json()
        (warning,) = answer["data"]["q"]["warnings"]
        assert (warning["code"], warning["line"], warning["column"]) == (WARNED, 1, 23)
        assert ":sensor/value that had ended before t = 5" in warning["message"]
        beside = [(each["path"], each["code"]) for each in answer["extensions"]["warnings"]]
        assert sorted(beside) == [(["datoms"], WARNED), (["pull"], WARNED)]
        answers = [opened.post(AS_OF, basis=basis).json() for basis in (None, {"t": 4}, {"since": 1})]
        assert all("extensions" not in each and each["data"]["q"]["warnings"] == [] for each in answers)
        answer = opened.post(AS_OF, basis={"history": True}).json()
        # A pull shows what holds.
        assert [each["path"] for each in answer["extensions"]["warnings"]] == [["datoms"]]
        assert len(answer["data"]["q"]["warnings"]) == 1
        for pattern in ("[*]", "[{:sensor/_other [:sensor/value]}]"):
            document = f'{{ pull(pattern: "{pattern}", eid: "1", basis: {{t: 2}}) }}'
            codes = [each["code"] for each in opened.post(document).json()["extensions"]["warnings"]]
            assert WARNED in codes


TYPED = """{
    sensors(basis: $basis) { value } all: sensors(basis: $basis) { value } pairs: sensors(basis: $basis) { id }
    page: sensorsConnection(basis: $basis, first: 1) { totalCount nodes { value } }
    sensor(id: "1", basis: $basis) { value }
}"""


@pytest.mark.parametrize("beside", ["", " __typename"])
def test_typed_fields_say_so_by_their_paths(beside: str) -> None:
    """A document of one field is answered without GraphQL's executor, and has the same warnings."""
    numbers = (f"[[:db/add 1 :sensor/value {number}]]" for number in (1, 2, 3))
    with gateway(None, SCHEMA, *numbers, DECLARED) as opened:
        before = opened.post("{ sensors(basis: {t: 2}) { value }" + beside + " }").json()
        opened.database.retain()
        document = "query ($basis: BasisInput) { sensors(basis: $basis) { value }" + beside + " }"
        # Twice: the second one finds its answer in the cache.
        answers = [opened.post(document, basis={"t": 2}).json() for _ in range(2)]
        for answer in answers:
            (warning,) = answer["extensions"]["warnings"]
            assert (warning["code"], warning["path"], warning["line"]) == (WARNED, ["sensors"], None)
            assert ":sensor/value that had ended before t = 5" in warning["message"]
        silent = [opened.post(document, basis=basis).json() for basis in (None, {"t": 4})]
        assert all("extensions" not in each for each in (before, *silent))


def test_each_typed_field_has_its_own_warning() -> None:
    numbers = (f"[[:db/add 1 :sensor/value {number}]]" for number in (1, 2, 3))
    with gateway(None, SCHEMA, *numbers, DECLARED) as opened:
        opened.database.retain()
        answer = opened.post("query ($basis: BasisInput) " + TYPED, basis={"t": 2}).json()
        paths = [each["path"] for each in answer["extensions"]["warnings"]]
        assert paths == [["sensors"], ["all"], ["pairs"], ["page"], ["sensor"]]
        early = opened.post("query ($basis: BasisInput) " + TYPED, basis={"asOf": "1970-01-01T00:00:00Z"}).json()
        assert {each["code"] for each in early["extensions"]["warnings"]} == {"BASIS_EMPTY"}


def test_attributes_show_how_long_their_past_is_kept(tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with Database.open(folder) as database:
        named = ("a/none", "a/own", "a/all", "a/other")
        database.transact(
            "[" + "".join(f"{{:db/ident :{each} :db/valueType :db.type/long}}" for each in named) + "]"
        )
        database.transact(
            "[{:db/ident :a/none :db/noHistory true} {:db/ident :a/own :db/retainTransactions 1}"
            " {:db/ident :a/all :db/retainAll true} {:db/ident :db/retention :db/retainDays 1200}]"
        )
    shown = json.loads(adalog("attributes", "--data", folder, "--all", "--format", "json").stdout)
    past = {each["ident"]: each["past"] for each in shown}
    assert [past[f":{each}"] for each in named] == ["none", "1 transaction", None, "1,200 days"]
    assert past[":db/ident"] is None
    assert ":a/own :long :one 0 1 transaction" in " ".join(adalog("attributes", "--data", folder).stdout.split())


def test_who_sees_a_part_is_told_of_what_is_visible(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"ada:read:{hashlib.sha256(b'ada').hexdigest()}\n")
    secret = "[{:db/ident :sensor/secret :db/valueType :db.type/long}]"
    numbers = (f"[[:db/add 1 :sensor/value {n}] [:db/add 1 :sensor/secret {n}]]" for n in (1, 2, 3))
    policy = """[{:policy/name "readers" :policy/roles [:read] :policy/on [:sensor/value] :policy/ops [:read]}
                 [:db/add :policy/enforcement :policy/enforced true]]"""
    every = "[{:db/ident :db/retention :db/retainTransactions 1}]"
    with gateway(Settings(data=":memory:", auth=str(path)), SCHEMA, secret, *numbers, every, policy) as opened:
        opened.database.retain()
        document = """query ($basis: BasisInput) {
            q(query: "[:find ?a ?v :where [1 ?a ?v]]", basis: $basis) { rows warnings { code message } } }"""
        answer = opened.post(document, {"Authorization": "Bearer ada"}, basis={"t": 3}).json()["data"]["q"]
        assert [each["code"] for each in answer["warnings"]] == [WARNED]
        assert ":sensor/value" in answer["warnings"][0]["message"]
        assert ":sensor/secret" not in answer["warnings"][0]["message"]
        now = opened.post(document, {"Authorization": "Bearer ada"}).json()["data"]["q"]
        assert now["warnings"] == []
