"""Settings from the command line, the environment, secrets and a file: which counts, what a wrong one says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adalog.gateway.cli import main
from adalog.gateway.settings import documents
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings, help_text, names
from adalog.gateway.settings.retired import RETIRED
from adalog.gateway.settings.sources import SettingsRead, read, secret_names

SECRET = "an uncommonly long secret of forty-two chars"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "adalog.toml"
    path.write_text('port = 9001\nrows = 5_000\nlog_level = "DEBUG"\nspark = false\n')
    return path


def read_file(path: Path, environ: dict[str, str] | None = None, **given: Any) -> SettingsRead:
    return read({**(environ or {}), "ADALOG_CONFIG": str(path)}, given)


def test_the_command_line_goes_before_the_environment_before_the_file(file: Path) -> None:
    found = read_file(file, {"ADALOG_PORT": "9002", "ADALOG_ROWS": "6000"}, port="9003")
    settings = found.settings
    assert (settings.port, settings.rows, settings.log_level, settings.spark) == (9003, 6000, "debug", False)
    assert settings.host == "127.0.0.1"
    assert found.origins == {
        "config": "ADALOG_CONFIG",
        "port": "--port",
        "rows": "ADALOG_ROWS",
        "log_level": f"log_level in {file}",
        "spark": f"spark in {file}",
    }


def test_lists_and_tables_of_a_file(file: Path) -> None:
    file.write_text(
        'allowed_origins = ["https://app.example.org", "http://localhost:3000"]\n'
        '[spark_conf]\n"spark.executor.memory" = "8g"\n'
    )
    settings = read_file(file).settings
    assert settings.allowed_origins == "https://app.example.org,http://localhost:3000"
    assert settings.spark_properties == {"spark.executor.memory": "8g"}


def test_the_file_that_the_docs_show(tmp_path: Path, file: Path) -> None:
    page = documents.TABLE.read_text(encoding="utf-8")
    shown = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (sample,) = [text for text in shown if "adalog serve --config" in text]
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    file.write_text(sample.replace("/run/secrets/adalog", str(secrets)))
    ended = ran("settings", "--format", "json", "--config", str(file))
    assert (ended.exit_code, ended.stderr) == (0, "")


def test_secrets_from_a_mounted_folder(tmp_path: Path, file: Path) -> None:
    # As Kubernetes mounts them: a link to a folder that is exchanged whole.
    data = tmp_path / "secrets" / "..2026"
    data.mkdir(parents=True)
    (data / "ADALOG_REDIS_SECRET").write_text(SECRET + "\n")
    (tmp_path / "secrets" / "..data").symlink_to("..2026")
    (tmp_path / "secrets" / "ADALOG_REDIS_SECRET").symlink_to("..data/ADALOG_REDIS_SECRET")
    file.write_text(
        f'secrets_dir = "{tmp_path / "secrets"}"\nredis_secret = "of the file, and so long that it passes"'
    )
    found = read_file(file)
    assert found.settings.redis_secret is not None
    assert found.settings.redis_secret.get_secret_value() == SECRET
    assert found.origins["redis_secret"].startswith("the file ")
    assert SECRET not in repr(found)
    environment = read_file(file, {"ADALOG_REDIS_SECRET": SECRET.upper()}).settings.redis_secret
    assert environment is not None
    assert environment.get_secret_value() == SECRET.upper()
    (data / "ADALOG_REDIS_SECRET").write_text("short and secret")
    with pytest.raises(
        SettingError, match=r"secrets/adalog_redis_secret: the secret is shorter than 32"
    ) as refused:
        read_file(file)
    assert "short and secret" not in str(refused.value)
    with pytest.raises(SettingError, match="ADALOG_SECRETS_DIR names '/nowhere', which is no folder"):
        read({"ADALOG_SECRETS_DIR": "/nowhere"}, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "prot in FILE is no setting; did you mean port?"),
        ("ADALOG_PORT = 1", "ADALOG_PORT in FILE is no setting; did you mean port?"),
        ('port = "x"', "port in FILE is 'x'; it must be a whole number"),
        ("port = 70_000", "port in FILE is 70000; it is at most 65,535"),
        ("idle_seconds = nan", "idle_seconds in FILE is nan; it must be a number"),
        ("idle_seconds = 0", "idle_seconds in FILE is 0; it is more than 0 seconds"),
        ("rows = -1", "rows in FILE is -1; it must not be negative"),
        ("redis_prefix = 1", "redis_prefix in FILE is 1; it must be text"),
        ("spark = 'perhaps'", "spark in FILE is 'perhaps'; it is on or off"),
        ("schema = 'loose'", "schema in FILE is 'loose'; it is open or strict"),
        ("trusted_proxies = ['10.0.0.1/8']", "trusted_proxies in FILE: 10.0.0.1/8 has host bits set"),
        ("redis_url = 'http://:hunter2@host'", "redis_url in FILE: the address begins with one of redis://"),
        ("redis_secret = 12345", "redis_secret in FILE is not right; it must be text"),
        (
            "prot = 1\nport = 'x'",
            "prot in FILE is no setting; did you mean port?\nport in FILE is 'x'; it must be a whole",
        ),
        ("config = 'other.toml'", "config in FILE: a file of settings names no other"),
        ("port =", "the file of settings FILE is not TOML: Invalid value (at "),
    ],
)
def test_what_is_wrong_in_a_file(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingError) as refused:
        read_file(file)
    assert str(refused.value).startswith(says.replace("FILE", str(file)))
    assert not re.search("hunter2|12345", str(refused.value))


def test_all_that_is_wrong_is_said_at_once(file: Path) -> None:
    file.write_text("rows = 1.5")
    with pytest.raises(SettingError) as refused:
        read_file(file, {"ADALOG_THREADS": "few"}, idle_seconds="0")
    assert set(str(refused.value).splitlines()) == {
        f"rows in {file} is 1.5; it must be a whole number",
        "ADALOG_THREADS is 'few'; it must be a whole number",
        "--idle-seconds is 0; it is more than 0 seconds",
    }


def test_a_link_of_kubernetes_is_told_from_a_port() -> None:
    with pytest.raises(SettingError, match="enableServiceLinks: false"):
        read({"ADALOG_PORT": "tcp://10.0.0.1:80"}, {})
    links = {"ADALOG_SERVICE_HOST": "10.0.0.1", "ADALOG_PORT_80_TCP": "tcp://10.0.0.1:80"}
    assert read(links, {}).unknown == ()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("TIMEOUT_MS", "9" * 30, "it is at most 9,223,372,036,854,775,807"),
        ("MEMORY_BYTES", "9" * 30, "it is at most 9,223,372,036,854,775,807"),
        ("IDLE_SECONDS", "1e300", "it is at most 1,000,000,000 seconds"),
        ("THREADS", "0", "it is at least 1"),
        ("QUERIES_AT_ONCE", "0", "it is at least 1"),
        ("ALLOWED_HOSTS", "db.example.org:443", "'db.example.org:443' is no name of a host"),
        ("ALLOWED_HOSTS", "https://db.example.org", "is no name of a host"),
        ("SPARK_MASTER", "cluster", "'cluster' is none; it is as local[*], spark://host:7077"),
        ("SPARK_SEGMENTS", "s4://key:hunter2@bucket/x", "name an address that PyArrow reads and writes"),
        ("AUTH", "a" * 5_000, "which is no file of bearer tokens"),
        ("SECRETS_DIR", "a" * 5_000, "which is no folder"),
        ("JWT_ALGORITHMS", "a" * 5_000, "is no algorithm of tokens here"),
        ("ALLOWED_ORIGINS", "a" * 5_000, "ALLOWED_ORIGINS: "),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(name: str, text: str, says: str) -> None:
    with pytest.raises(SettingError) as refused:
        checked(read({f"ADALOG_{name}": text}, {}).settings)
    assert says in str(refused.value)
    assert str(refused.value).startswith(f"ADALOG_{name}")
    assert len(str(refused.value)) < 1_100
    assert "hunter2" not in str(refused.value)


def test_settings_made_in_code_are_checked_likewise() -> None:
    with pytest.raises(SettingError, match="ADALOG_CONNECTIONS is 0; it is at least 1"):
        checked(Settings(connections=0))
    with pytest.raises(
        SettingError, match="ADALOG_LOG_LEVEL is 'loud'; it is debug, info, warning, error or critical"
    ):
        checked(Settings(log_level="loud"))  # type: ignore[arg-type]


# The command line.


def ran(*args: str, **environ: str) -> Result:
    return CliRunner().invoke(main, list(args), env=environ)


def listed(*args: str, **environ: str) -> dict[str, tuple[Any, str]]:
    ended = ran("settings", "--format", "json", *args, **environ)
    assert ended.exit_code == 0, ended.output
    return {each["name"]: (each["value"], each["from"]) for each in json.loads(ended.stdout)}


def test_settings_are_listed_with_their_origin_and_without_secrets(file: Path) -> None:
    found = listed("--config", str(file), "--timeout-ms", "20", ADALOG_REDIS_SECRET=SECRET)
    assert set(found) == names()
    assert found["timeout_ms"] == (20, "--timeout-ms")
    assert found["port"] == (9001, f"port in {file}")
    assert found["config"] == (str(file), "--config")
    assert found["redis_secret"] == ("**********", "ADALOG_REDIS_SECRET")
    assert found["redis_url"] == (None, "default")


TYPED = {
    "auth": __file__,
    "import_folders": "/srv/in",
    "backup_folders": "/srv/out",
    "data": ":memory:",
    "jwt_algorithms": "RS256",
    "jwt_key": __file__,
    "jwt_audience": "adalog",
    "jwt_issuer": "issuer",
    "segments_copy": "/var/cache/adalog",
    "jwt_keys_url": "https://issuer.example/keys",
}


DEFAULTS = asdict(Settings())


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


@pytest.mark.parametrize("name", sorted(names() - secret_names() - {"config", "secrets_dir"}))
def test_every_setting_can_be_typed(name: str) -> None:
    typed = TYPED.get(name, DEFAULTS[name])
    if typed is None:
        typed = "/srv/any"
    # Those of signed tokens go together, and have keys from one place.
    needed = {"jwt_algorithms", "jwt_audience", "jwt_issuer", "jwt_key"} if name.startswith("jwt_") else set()
    given = {each: TYPED[each] for each in needed - ({"jwt_key"} if name == "jwt_keys_url" else set())}
    if name == "segments_copy":
        given["data"] = "postgresql://ada@db.example/adalog"
    found = listed(*(part for each, value in {**given, name: typed}.items() for part in (option(each), str(value))))
    assert found[name] == (typed, option(name)) or typed == ""


@pytest.mark.parametrize("name", sorted(secret_names()))
def test_no_secret_can_be_typed(name: str) -> None:
    ended = ran("serve", option(name), SECRET)
    assert ended.exit_code == 2
    assert f"set ADALOG_{name.upper()}" in ended.stderr
    assert SECRET not in ended.output


KEY = "AnUncommonlyLongKeyOfFortyCharacters1234"
ADDRESSES = {
    "import_folders": f"/in,s3a://key:{KEY}@bucket/in,s3://other/in?secret_key={KEY}&region=eu",
    "backup_folders": f"s3://key:{KEY[:5]}/{KEY[5:]}@bucket/out",
    "spark_master": f"spark://ada:{KEY}@master:7077",
    "jwt_keys_url": f"https://issuer.example/keys?key={KEY}",
    "data": f"postgresql://ada:{KEY}@db.example/adalog",
}


@pytest.mark.parametrize("form", ["table", "json"])
def test_keys_within_addresses_are_not_shown(form: str) -> None:
    given = {f"ADALOG_{name.upper()}": text for name, text in ADDRESSES.items()}
    more = {"ADALOG_JWT_ALGORITHMS": "RS256", "ADALOG_JWT_AUDIENCE": "a", "ADALOG_JWT_ISSUER": "i"}
    ended = ran("settings", "--format", form, **given, **more)
    assert ended.exit_code == 0, ended.output
    assert KEY not in ended.output
    assert KEY[5:] not in ended.output
    if form == "json":
        found = {each["name"]: each["value"] for each in json.loads(ended.stdout)}
        assert found["import_folders"] == "/in,s3a://***@bucket/in,s3://other/in?secret_key=***&region=eu"
        assert found["backup_folders"] == "s3://***@bucket/out"
    assert KEY not in repr(read(given | more, {}).settings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BACKUP_FOLDERS", f"file://[key:{KEY}@bucket/x"),
        ("SPARK_MASTER", f"yarn://ada:{KEY}@master"),
        ("SPARK_MASTER", f"sc://ada:{KEY}@master"),
        ("JWT_KEYS_URL", f"http://issuer.example/keys?key={KEY}"),
        ("DATA", f"mysql://ada:{KEY}@db/x"),
        ("SEGMENTS", f"s5://key:{KEY}@bucket"),
    ],
)
def test_wrong_addresses_are_not_shown_with_keys(name: str, text: str) -> None:
    ended = ran("settings", **{f"ADALOG_{name}": text})
    assert ended.exit_code == 2
    assert name in ended.stderr
    assert KEY not in ended.output


def test_a_wrong_setting_ends_every_command(file: Path) -> None:
    file.write_text("prot = 1")
    for command in (["serve"], ["sample", "--data", ":memory:"], ["query", "--data", ":memory:", "[:find ?e]"]):
        ended = ran(*command, "--config", str(file))
        assert ended.exit_code == 2
        assert "did you mean port?" in ended.stderr
        assert ran(*command, ADALOG_CONFIG=str(file)).exit_code == 2
    ended = ran("serve", "--config", str(file.with_name("none.toml")))
    assert (ended.exit_code, "No such file or directory" in ended.stderr) == (2, True)


def test_an_unknown_variable_is_warned_of() -> None:
    ended = ran("settings", ADALOG_PROT="1", ADALOG_NO_SYSTEM_PACKAGES="1", ADALOG_TOKEN="x")
    assert ended.exit_code == 0
    assert ended.stderr == "adalog: ADALOG_PROT is no setting; did you mean ADALOG_PORT?\n"


def test_former_settings_are_named_in_one_warning_and_ignored(file: Path) -> None:
    file.write_text("port = 9001\nquery_depth = 'deep'\n")
    given = {"ADALOG_PING_SECONDS": "few", "ADALOG_QUERY_DEPTH": "0"}
    ended = ran("settings", "--format", "json", "--config", str(file), "--init-seconds", "soon", **given)
    assert ended.exit_code == 0, ended.output
    assert ended.stderr == (
        f"adalog: --init-seconds, ADALOG_PING_SECONDS, ADALOG_QUERY_DEPTH, query_depth in {file} are no longer "
        "settings and have no effect\n"
    )
    one = ran("settings", ADALOG_QUERY_DEPTH="0")
    assert one.stderr == "adalog: ADALOG_QUERY_DEPTH is no longer a setting and has no effect\n"
    assert {each["name"] for each in json.loads(ended.stdout)} == names()
    assert not RETIRED & names()


def test_there_are_no_more_settings_than_an_operator_turns() -> None:
    assert len(names()) <= 55


@pytest.mark.parametrize("path", [documents.TABLE, documents.CHART], ids=lambda path: path.name)
def test_documents_are_those_that_the_definitions_make(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    made = documents.table() if path == documents.TABLE else documents.chart(text)
    assert text == made, "run python -m adalog.gateway.settings.documents"


def test_every_setting_has_a_definition() -> None:
    for each in fields(Settings):
        assert each.metadata["meaning"].endswith("."), each.name
        assert help_text(each.name)


def test_options_of_commands_may_stand_in_the_file(file: Path) -> None:
    """A format that only other commands have counts for those alone."""
    query = ["query", "--data", ":memory:", "[:find ?i . :where [?e :db/ident ?i] [(= ?i :db/ident)]]"]
    file.write_text('format = "edn"\n')
    assert ran(*query, "--config", str(file)).stdout == ":db/ident\n"
    assert ran(*query, "--config", str(file), "--format", "json").stdout == '":db/ident"\n'
    assert ran(*query, ADALOG_CONFIG=str(file), ADALOG_FORMAT="json").stdout == '":db/ident"\n'
    assert ran("settings", "--config", str(file)).exit_code == 0
    file.write_text("timeout = 0.000_1\n")
    assert "'0.0001' is not between 1ms and" in ran(*query, "--config", str(file)).stderr


def test_help_reads_no_settings_and_imports_little() -> None:
    code = "import sys, adalog.gateway.cli as c; c.main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"pydantic", "starlette", "numpy", "numba", "uvicorn", "adalog.gateway.settings.config"} & loaded
