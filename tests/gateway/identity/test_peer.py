"""Which user is at the other end of a loopback connection."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from adalog.gateway.identity.peer import is_own_user, user_of

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


@linux
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_our_own(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listener, socket.create_connection(listener.getsockname()[:2]) as client:
        served, _ = listener.accept()
        with served:
            ours, theirs = served.getsockname()[:2], client.getsockname()[:2]
            assert user_of(theirs, ours) == os.geteuid()
            assert user_of((theirs[0], 1), ours) is None
            scope = {"client": theirs, "server": ours, "headers": []}
            assert is_own_user(scope)
            assert not is_own_user({**scope, "headers": [(b"via", b"1.1 x")]})


@linux
def test_an_ipv6_socket_that_speaks_ipv4() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as client:
        try:
            client.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        except OSError:
            pytest.skip("this machine has no IPv6")
        served, theirs = listener.accept()
        with served:
            assert user_of(theirs, served.getsockname()) == os.geteuid()


def test_what_is_no_address() -> None:
    assert user_of(("testclient", 50000), ("127.0.0.1", 80)) is None
    assert not is_own_user({"headers": []})
    assert not is_own_user({"client": None, "server": ("127.0.0.1", 80), "headers": []})
