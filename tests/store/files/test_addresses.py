"""What is said of addresses: nothing that opens what is there. And which paths and addresses there are."""

from __future__ import annotations

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.addresses import check_name, local_path, shown, without_secrets
from adalog.store.files.place import place_of

KEPT = [
    "s3://bucket/backups",
    "s3://bucket/backups?region=eu-central-1&endpoint_override=localhost:9000&scheme=http",
    "hdfs://name:9000/in/user@example",
    "https://issuer.example/keys",
    "http://localhost:8080/graphql",
    "spark://master:7077",
    "postgresql://db.example:5432/x, http://[::1]:8080/graphql (http://localhost:8080).",
    "a text with ada@example.org, a:b and x = 1 in it",
    "/mnt/backups,s3://bucket/in",
    "[:find ?p :where [?p :user/password ?w]]",
]
HIDDEN = [
    ("s3://KEY:SECRET@bucket/in", "s3://***@bucket/in"),
    ("s3://KEY:SEC/RET+x=@bucket/in", "s3://***@bucket/in"),
    (
        "s3://bucket/in?region=eu&access_key=KEY&secret_key=SECRET",
        "s3://bucket/in?region=eu&access_key=***&secret_key=***",
    ),
    ("abfss://box@account.example/in?sig=SECRET;sv=KEY", "abfss://***@account.example/in?sig=***;sv=***"),
    ("redis://:SECRET@redis:6379/0", "redis://***@redis:6379/0"),
    ("redis://:SEC#RET?KEY@redis/0", "redis://***@redis/0"),
    ("postgresql://ada:SEC@RET@db/x?password=KEY", "postgresql://***@db/x?password=***"),
    ("/a, s3://KEY:SECRET@b/in,s3a://KEY:SECRET@c/in?token=KEY,/d", "/a, s3://***@b/in,s3a://***@c/in?token=***"),
    ("cannot open 's3://KEY:SECRET@b/in': gone", "cannot open 's3://***@b/in': gone"),
    ("'s3://key:SECRE… is none", "'s3://*** is none"),
    ("host=db user=ada password=SECRET dbname=x", "host=db user=ada password=*** dbname=x"),
    ("password = 'SEC RET' host=db", "password = *** host=db"),
    ("spark.hadoop.fs.s3a.secret.key=SECRET,spark.x=1", "spark.hadoop.fs.s3a.secret.key=***,spark.x=1"),
    (
        "fs.azure.account.key=SECRET spark.authenticate.secret=SECRET",
        "fs.azure.account.key=*** spark.authenticate.secret=***",
    ),
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(("text", "said"), HIDDEN)
def test_what_may_be_one_does_not(text: str, said: str) -> None:
    found = without_secrets(text)
    assert found.startswith(said)
    assert "SECRE" not in found
    assert "KEY" not in found
    assert without_secrets(found) == found


def test_a_long_text_is_read_once() -> None:
    """Not once more for each of its letters."""
    for text in ("://" * 30_000, "a://" * 30_000, "a://b:" + "c/" * 50_000, "x=" * 50_000, "a" * 100_000):
        assert "SECRET" not in without_secrets(text)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://KEY:SECRET@bucket/in?region=eu", "s3://bucket/in"),
        ("s3://KEY:SEC/RET@bucket/in", "s3://bucket/in"),
        ("hdfs://name:9000/in", "hdfs://name:9000/in"),
        ("/in", "/in"),
    ],
)
def test_an_address_as_it_is_shown(address: str, said: str) -> None:
    assert shown(address) == said


def test_files() -> None:
    assert local_path("file:///a%20b") == "/a b"
    assert local_path("file://localhost/a") == "/a"
    assert local_path("file://elsewhere/a") is None


@pytest.mark.parametrize(
    "name", ["/a\0b", "a/\ud800", "file:///a%00b", "s3://b/a\0b", "file://[::1/a", "s3://KEY:SECRET@[b/\0"]
)
def test_what_is_no_place(name: str) -> None:
    with pytest.raises(AdalogError) as refused:
        place_of(name)
    assert refused.value.code is Code.ARG_INVALID
    assert "SECRET" not in refused.value.message


def test_names() -> None:
    check_name("/ä/日本/😀")
