"""The Host header on loopback, and the headers of every answer."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:9", "[::1]:80", "LOCALHOST"])
def test_this_machine_by_its_names(empty: Gateway, host: str) -> None:
    assert empty.http.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""],
)
@pytest.mark.parametrize("path", ["/graphql", "/healthz", "/metrics", "/explorer/index.html"])
def test_another_name_is_refused_so_that_no_rebound_page_reads_the_database(
    empty: Gateway, host: str, path: str
) -> None:
    response = empty.http.get(path, headers={"Host": host})
    assert response.status_code == 403
    assert response.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"


def test_further_names_can_be_allowed() -> None:
    with gateway(Settings(data=":memory:", allowed_hosts="db.example, other.example")) as opened:
        assert opened.http.get("/healthz", headers={"Host": "db.example:80"}).status_code == 200
        assert opened.http.get("/healthz", headers={"Host": "evil.example"}).status_code == 403


def test_on_other_interfaces_addresses_lead_here_whatever_names_are_allowed(tmp_path: Path) -> None:
    """Prometheus and the health checks of load balancers ask by address."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"app:read:{hashlib.sha256(b'x').hexdigest()}\n")
    given = checked(Settings(data=":memory:", host="0.0.0.0", auth=str(tokens), allowed_hosts="db.example"))
    with gateway(given) as opened:
        asked = {"Authorization": "Bearer x"}
        for host in ("10.1.2.3:8080", "10.1.2.3", "[fd00::1]:8080", "db.example", "localhost"):
            assert opened.http.get("/metrics", headers={"Host": host, **asked}).status_code == 200, host
        for host in ("evil.example", "10.1.2.3.evil.example", "10.1.2", "0x7f.1", "fd00::1", ""):
            assert opened.http.get("/metrics", headers={"Host": host, **asked}).status_code == 403, host


@pytest.mark.parametrize(
    "path", ["/graphql", "/healthz", "/readyz", "/metrics", "/", "/explorer/explorer.js", "/nope"]
)
def test_every_answer_has_the_security_headers(empty: Gateway, path: str) -> None:
    headers = empty.http.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
