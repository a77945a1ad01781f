"""Bearer tokens: who may read, who may write, and what a server on the network asks for."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.executor.bounds.client import Identity
from adalog.gateway.identity.auth import Tokens
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from tests.gateway.support import Gateway, gateway

READ = "{ database { basisT } }"
WRITE = 'mutation { transact(tx: "[[:db/add 1 :a/b 1]]") { t } }'


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text(f"# who may come in\nann:read:{digest('red')}\n\nbob:write:{digest('blue')}\n")
    return path


@pytest.fixture
def guarded(tokens: Path) -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:", auth=str(tokens))) as opened:
        yield opened


@pytest.mark.parametrize(
    "authorization",
    [None, "", "red", "Basic red", "Bearer", "Bearer ", "Bearer green", "Bearer rëd", "Bearer red blue"],
)
def test_without_a_known_token_nobody_comes_in(guarded: Gateway, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode("utf-8")}
    response = guarded.http.post("/graphql", json={"query": READ}, headers=headers)  # type: ignore[arg-type]
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_readers_read_and_writers_write(guarded: Gateway) -> None:
    red, blue = {"Authorization": "Bearer red"}, {"Authorization": "bearer blue"}
    assert guarded.post(READ, red).status_code == 200
    refused = guarded.post(WRITE, red)
    assert refused.status_code == 403
    assert refused.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert guarded.database.snapshot().t == 0
    assert guarded.post(READ, blue).status_code == 200
    assert guarded.post(WRITE, blue).json() == {"data": {"transact": {"t": 1}}}


WHOAMI = "{ whoami { principal roles expires } }"


def test_a_client_learns_who_it_is(guarded: Gateway) -> None:
    answer = guarded.post(WHOAMI, {"Authorization": "Bearer red"}).json()
    assert answer == {"data": {"whoami": {"principal": "ann", "roles": ["read"], "expires": None}}}
    with gateway() as opened:
        assert opened.data(WHOAMI) == {"whoami": {"principal": None, "roles": ["admin"], "expires": None}}


def test_a_token_of_the_file_has_roles_for_policies(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"ann:member,read:{digest('red')}\nbob:read,guest,write:{digest('blue')}\n")
    tokens = Tokens.load(str(path))
    ann, bob = (asyncio.run(tokens.principal(f"Bearer {each}")) for each in ("red", "blue"))
    assert (ann.role, bob.role) == ("read", "write")
    assert ann.identity == Identity("ann", ("member", "read"), None, {"sub": "ann", "roles": ["member", "read"]})
    with gateway(Settings(data=":memory:", auth=str(path))) as opened:
        answer = opened.post(WHOAMI, {"Authorization": "Bearer red"}).json()
        assert answer["data"]["whoami"]["roles"] == ["member", "read"]
        assert opened.post(WRITE, {"Authorization": "Bearer red"}).status_code == 403
        assert opened.post(WRITE, {"Authorization": "Bearer blue"}).status_code == 200


def test_a_transaction_has_its_principal(guarded: Gateway) -> None:
    blue = {"Authorization": "Bearer blue"}
    assert guarded.post(WRITE, blue).json() == {"data": {"transact": {"t": 1}}}
    # Beside another field it is run in another way.
    two = 'mutation { __typename transact(tx: "[[:db/add 2 :a/b 2]]") { t } }'
    assert guarded.post(two, blue).json()["data"]["transact"] == {"t": 2}
    guarded.database.transact("[[:db/add 3 :a/b 3]]")
    who = '{ q(query: "[:find ?v ?who :where [_ :a/b ?v ?tx] [?tx :db/principal ?who]]") { rows } }'
    assert guarded.post(who, blue).json()["data"]["q"]["rows"] == [[1, "bob"], [2, "bob"]]
    forged = 'mutation { transact(tx: "[[:db/add \\"datomic.tx\\" :db/principal \\"eve\\"]]") { t } }'
    (error,) = guarded.post(forged, blue).json()["errors"]
    assert error["extensions"]["code"] == "TX_INVALID"
    assert "writes it" in error["message"]


def test_without_authentication_a_transaction_has_none() -> None:
    with gateway() as opened:
        opened.data(WRITE)
        assert not opened.q("[:find ?who :where [_ :db/ident ?who] [(= ?who :db/principal)]]")


@pytest.mark.parametrize("token", ["red", "blue", "green"])
def test_every_token_is_compared_whichever_is_right(
    guarded: Gateway, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In constant time each, and all of them: how long it takes tells nothing of which one it is."""
    compared: list[bytes] = []

    def comparing(a: bytes, b: bytes) -> bool:
        compared.append(b)
        return compare(a, b)

    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", comparing)
    guarded.post(READ, {"Authorization": f"Bearer {token}"})
    assert compared == [bytes.fromhex(digest(each)) for each in ("red", "blue")]


def test_what_probes_tell_strangers(guarded: Gateway) -> None:
    """All that SECURITY.md says that they do."""
    guarded.database.transact('[[:db/add 1 :secret/name "x"]]')
    assert guarded.http.get("/healthz").json() == {"status": "alive"}
    assert guarded.http.get("/readyz").json() == {"status": "ready", "basisT": 1, "spark": "off"}


def test_metrics_need_a_token_and_probes_do_not(guarded: Gateway) -> None:
    assert guarded.http.get("/metrics").status_code == 401
    assert guarded.http.get("/metrics", headers={"Authorization": "Bearer red"}).status_code == 200
    assert guarded.http.get("/healthz").status_code == 200
    assert guarded.http.get("/readyz").status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_hosts_need_tokens(host: str, tokens: Path) -> None:
    with pytest.raises(SettingError, match="ADALOG_AUTH"):
        checked(Settings(host=host))
    checked(Settings(host=host, auth=str(tokens)))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.5"])
def test_loopback_needs_none(host: str) -> None:
    checked(Settings(host=host))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no token"),
        ("ann:read", "line 1"),
        (f"ann:owner:{digest('x')}", "the role .owner. of .ann. is not read, write or admin"),
        (f"ann:owner,member:{digest('x')}", "none of the roles .owner,member. of .ann. is read, write or admin"),
        (f"ann:read,,member:{digest('x')}", "the roles .read,,member. of .ann. are no names separated by commas"),
        (f"ann:read,a b:{digest('x')}", "the roles .read,a b. of .ann. are no names separated by commas"),
        ("ann:read:abc", "64 hexadecimal"),
        (f"ann:read:{digest('x')}:y", "line 1"),
        (f":read:{digest('x')}", "line 1"),
        (f"ann:read:{digest('x')}\nbob:admin:{digest('x')}", "line 2: the token of 'bob' stands there twice"),
        (f"ann:read:{digest('')}", "line 1: the last part for 'ann' is the SHA-256 of the empty text"),
    ],
)
def test_a_file_of_tokens_is_checked(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(SettingError, match=says):
        Tokens.load(str(path))


def test_a_missing_file_of_tokens(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no file"):
        checked(Settings(auth=str(tmp_path / "none")))
