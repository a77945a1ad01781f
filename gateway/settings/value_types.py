"""Which values of a setting are right, as types: bounds, and the readers of texts that hold more than a word.

A reader's ValueError says what is wrong with a text and what would be right; the setting's name is put before it.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import urlsplit

from annotated_types import Ge, Gt, Le
from pydantic import AfterValidator, BeforeValidator, SecretStr

from adalog.cluster.addresses import check_address
from adalog.cluster.properties import parsed
from adalog.datalog.errors import AdalogError, quoted
from adalog.datalog.values import LONG_MAX
from adalog.gateway.settings.backup_places import BackupPlaces
from adalog.pipeline.importing.read.import_folders import ImportFolders
from adalog.store.files.addresses import check_name, shown, without_secrets
from adalog.store.files.folder import check_is_folder, is_address

T = TypeVar("T")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

ROLES: Final = ("read", "write", "admin")
ALGORITHMS: Final = (
    *("HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_LEAST_MEMORY = 16 * 1024 * 1024
# What everything takes that counts in 64 bits; and some thirty years, for which every timer can be set.
_LONGEST: Final = 10**9
_HOST: Final = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.IGNORECASE
)
_MASTER: Final = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|(spark|k8s)://.+|yarn")
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
_SECRET_LETTERS = 32


def _wrong_as_value(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader whose refusals are ValueErrors."""

    def reading(text: str) -> T:
        try:
            return read(text)
        except AdalogError as error:
            raise ValueError(error.message) from None

    return reading


def networks(text: str) -> list[Network]:
    """Addresses and networks separated by commas. Raises ValueError for anything else."""
    return [ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip()]


def _origins(text: str) -> object:
    # Starlette is slow to import, and a command line needs none of it.
    from adalog.gateway.settings.origins import Origins

    return Origins.of(text) if text else None


@_wrong_as_value
def _data_place(text: str) -> None:
    check_name(text)
    if is_address(text):
        # So is SQLAlchemy.
        from adalog.store.log.driver import require_driver

        require_driver()
        from adalog.store.log.server import check_address

        check_address(text)
    else:
        check_is_folder(text)


def _spark_master(text: str) -> None:
    said = quoted(without_secrets(text))
    if text.startswith("sc://"):
        raise ValueError(f"{said} is an address of Spark Connect, which cannot be used; name the cluster")
    if not _MASTER.fullmatch(text):
        raise ValueError(f"{said} is none; it is as local[*], spark://host:7077, k8s://https://host, or yarn")


def host_names(text: str) -> frozenset[str]:
    """Names and addresses of hosts separated by commas. Raises ValueError for anything else."""
    names = frozenset(part.strip().lower().strip("[]") for part in text.split(",") if part.strip())
    for name in names:
        if not _HOST.fullmatch(name) and not is_address_of_host(name):
            raise ValueError(f"{quoted(name)} is no name of a host, which has neither a scheme nor a port")
    return names


def is_address_of_host(text: str) -> bool:
    """Whether it is an address of IPv4 or IPv6, not a name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _segments_place(text: str) -> None:
    # What it is stays unsaid: there may be a password in it.
    from adalog.store.files.place import place_of

    try:
        place_of(text)
    except AdalogError:
        raise ValueError(
            "name a folder that all gateways see, or an address that PyArrow reads, as s3://bucket/adalog"
        ) from None


def _redis_address(text: str) -> None:
    # What it is stays unsaid: there may be a password in it.
    if not text.startswith(_REDIS_SCHEMES):
        raise ValueError(f"the address begins with one of {' '.join(_REDIS_SCHEMES)}")


def _keys_address(text: str) -> None:
    found = urlsplit(text)
    if found.username is not None or found.password is not None:
        raise ValueError("the address names a user or a password, which stand in no address here")
    on_loopback = found.scheme == "http" and is_loopback(found.hostname or "")
    if not found.hostname or not (found.scheme == "https" or on_loopback):
        raise ValueError(
            f"{quoted(shown(text))} is no address of keys; it begins with https://, or on this machine with http://localhost"
        )


def jwt_algorithms(text: str) -> tuple[str, ...]:
    """Names of algorithms separated by commas. Raises ValueError for others than adalog takes."""
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in named:
        if name not in ALGORITHMS:
            raise ValueError(f"{quoted(name)} is no algorithm of tokens here; there are {', '.join(ALGORITHMS)}")
    return named


def jwt_roles(text: str) -> dict[str, str]:
    """`claim=role` separated by commas. Raises ValueError for anything else."""
    roles: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        claim, equals, role = part.rpartition("=")
        if not equals or not claim:
            raise ValueError(f"{quoted(part)} is not `claim=role`")
        if role not in ROLES:
            raise ValueError(f"the role {quoted(role)} of {quoted(claim)} is not read, write or admin")
        roles[claim] = role
    if not roles:
        raise ValueError("it names no role: write `claim=role`, separated by commas")
    return roles


@lru_cache(256)
def is_loopback(host: str) -> bool:
    """Whether `host` can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _signing_secret(text: str) -> None:
    if len(text) < _SECRET_LETTERS:
        raise ValueError(
            f"the secret is shorter than {_SECRET_LETTERS} characters; make one with `openssl rand -hex 32`"
        )


def _read_by(read: Callable[[T], object]) -> AfterValidator:
    """Keeps a value as it is if `read` takes it."""

    def check(value: T) -> T:
        read(value)
        return value

    return AfterValidator(check)


def _secret_read_by(read: Callable[[str], object]) -> AfterValidator:
    def opened(secret: SecretStr) -> object:
        return read(secret.get_secret_value())

    return _read_by(opened)


def _joined(value: object) -> object:
    """A list in a file is separated by commas elsewhere."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    return value


def _properties(value: object) -> object:
    """A table in a file is a JSON object elsewhere."""
    return json.dumps(value) if isinstance(value, dict) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


_Listed = BeforeValidator(_joined)

Positive = Annotated[int, Ge(1), Le(LONG_MAX)]
Threads = Annotated[int, Ge(1), Le(256)]
Seconds = Annotated[float, Gt(0), Le(_LONGEST)]
Span = Annotated[float, Ge(0), Le(_LONGEST)]
Units = Annotated[float, Ge(0)]
Port = Annotated[int, Ge(0), Le(65535)]
Workers = Annotated[int, Ge(1), Le(256)]
QueryMemory = Annotated[int, Ge(_LEAST_MEMORY), Le(LONG_MAX)]
DataPlace = Annotated[str, _read_by(_data_place)]
NameList = Annotated[str, _Listed]
HostList = Annotated[str, _Listed, _read_by(host_names)]
OriginList = Annotated[str, _Listed, _read_by(_origins)]
NetworkList = Annotated[str, _Listed, _read_by(networks)]
PlaceList = Annotated[str, _Listed, _read_by(_wrong_as_value(ImportFolders.of))]
BackupList = Annotated[str, _Listed, _read_by(_wrong_as_value(BackupPlaces.of))]
SparkMaster = Annotated[str, _read_by(_spark_master)]
SparkConf = Annotated[SecretStr, BeforeValidator(_properties), _secret_read_by(parsed)]
SegmentsPlace = Annotated[SecretStr, _secret_read_by(_segments_place)]
SparkSegmentsPlace = Annotated[SecretStr, _secret_read_by(check_address)]
RedisAddress = Annotated[SecretStr, _secret_read_by(_redis_address)]
SigningSecret = Annotated[SecretStr, _secret_read_by(_signing_secret)]
AlgorithmList = Annotated[str, _Listed, _read_by(jwt_algorithms)]
RoleList = Annotated[str, _Listed, _read_by(jwt_roles)]
KeysAddress = Annotated[str, _read_by(_keys_address)]
LogLevel = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lower)]
