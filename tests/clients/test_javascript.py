"""clients/js: built, type-checked, tested with the packages that it is for, packed, and run against a server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.npm import CLIENT, ROOT, needs_node, run
from tests.gateway.process.test_shutdown import serving
from tests.postgres_servers import PostgresServer

PACKAGE: dict[str, Any] = json.loads((CLIENT / "package.json").read_text("utf-8"))
LOCK: dict[str, Any] = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
EXAMPLE = ROOT / "examples" / "live"


@needs_node
@pytest.mark.usefixtures("built")
def test_its_own_tests() -> None:
    tests = sorted(str(path.relative_to(CLIENT)) for path in (CLIENT / "build").glob("*.test.js"))
    assert len(tests) == len(list((CLIENT / "test").glob("*.test.ts")))
    run("node", "--test", *tests)


@needs_node
@pytest.mark.usefixtures("built")
def test_what_is_packed() -> None:
    [packed] = json.loads(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts"))
    files = {file["path"] for file in packed["files"]}
    modules = {path.stem for path in (CLIENT / "src").glob("*.ts")}
    compiled = {f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")}
    assert files == compiled | {"dist/adalog.min.js", "package.json", "README.md", "LICENSE"}
    for export in PACKAGE["exports"].values():
        for path in [export] if isinstance(export, str) else export.values():
            assert path.removeprefix("./") in files


# Of a project that has the package installed: what it imports, with the types that it finds.
_PROJECT = {
    "package.json": '{"name": "project", "type": "module", "private": true}',
    "page.ts": """
import { createClient, type Client } from "@adalog/client";
import { useLive, type UseLiveState } from "@adalog/client/react";
import { liveCollectionOptions } from "@adalog/client/tanstack-db";
import { liveList, resubscribing, socketTokens, updateConnection, type EntityOf } from "@adalog/client/typed";
import { useLiveQuery } from "@adalog/client/typed/react";
export const client: Client = createClient({ url: "/graphql" });
export const all = [useLive, useLiveQuery, liveCollectionOptions, resubscribing, socketTokens, updateConnection];
const untyped = liveList(client, "subscription { issuesLive { added { title } } }");
export const titles: string[] = untyped.rows.map(({ id, title }) => `${id.length} ${title}`);
export const title: EntityOf<{ issuesLive: { added: { id: string; title: string }[] } }>["title"] = "typed";
export type State = UseLiveState<[id: number]>;
// @ts-expect-error: the types are there, and no `any`.
client.query(1);
""",
    "module.mjs": 'import { createClient } from "@adalog/client"; createClient({ url: "x" });',
    "script.cjs": 'const { createClient, edn } = require("@adalog/client"); createClient({ url: "x" });',
}
_RESOLUTIONS = (("esnext", "bundler"), ("nodenext", "nodenext"), ("node16", "node16"))


@needs_node
@pytest.mark.usefixtures("built")
def test_in_a_project_of_its_own(tmp_path: Path) -> None:
    """Installed from the packed file: by import, by require, and with its types in each way to find them."""
    for name, text in _PROJECT.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    packed = run("npm", "pack", "--silent", "--ignore-scripts", f"--pack-destination={tmp_path}").strip()
    run("npm", "install", "--offline", "--no-audit", "--no-fund", f"--prefix={tmp_path}", str(tmp_path / packed))
    for name in ("module.mjs", *(["script.cjs"] if requires_modules() else [])):
        run("node", str(tmp_path / name))
    # Types of packages beside it, which it names in its own.
    for name in ("@types", "@tanstack", "@standard-schema", "csstype", "graphql"):
        path = tmp_path / "node_modules" / name
        path.symlink_to(CLIENT / "node_modules" / name)
    for module, resolution in _RESOLUTIONS:
        options = (
            "--module",
            module,
            "--moduleResolution",
            resolution,
            "--target",
            "es2022",
            "--lib",
            "es2022,dom",
        )
        types = ("--strict", "--skipLibCheck", "--noEmit", "--ignoreConfig")
        run("node", "node_modules/typescript/bin/tsc", *options, *types, str(tmp_path / "page.ts"))
    single = tmp_path / "node_modules" / "@adalog" / "client" / "dist" / "adalog.min.js"
    (tmp_path / "page.mjs").write_text(
        f"import {{ createClient }} from {json.dumps(str(single))}; createClient({{ url: 'x' }});"
    )
    run("node", str(tmp_path / "page.mjs"))


def requires_modules() -> bool:
    """Whether this Node.js loads ES modules with `require`."""
    version = tuple(map(int, run("node", "--version").strip().removeprefix("v").split(".")))
    return version >= (22, 12) or (20, 19) <= version < (21, 0)


@needs_node
@pytest.mark.usefixtures("built")
def test_the_code_in_the_documents_is_well_typed() -> None:
    folder = CLIENT / "build" / "documents"
    folder.mkdir(parents=True)
    for document in (CLIENT / "README.md", ROOT / "docs" / "how-to" / "javascript.md"):
        # Those with a name are files of the project that test_typed_documents.py compiles.
        blocks = re.findall(r"```(tsx?|js)\n(?!// \S+\n)(.*?)```", document.read_text("utf-8"), re.DOTALL)
        assert blocks
        for number, (kind, block) in enumerate(blocks):
            suffix = "tsx" if kind == "tsx" else "ts"
            (folder / f"{document.stem}-{number}.{suffix}").write_text(f"{block}\nexport {{}};\n", encoding="utf-8")
    settings = {"extends": "../../tsconfig.json", "include": ["."]}
    options = {"rootDir": ".", "noEmit": True, "jsx": "react-jsx", "noUnusedLocals": False}
    (folder / "tsconfig.json").write_text(json.dumps({**settings, "compilerOptions": options}), encoding="utf-8")
    run("node", "node_modules/typescript/bin/tsc", "-p", "build/documents")


@needs_node
@pytest.mark.usefixtures("built")
def test_the_example_has_the_client_as_it_is(tmp_path: Path) -> None:
    run("npm", "run", "--silent", "bundle", "--", f"--outdir={tmp_path}")
    for name in ("adalog-client.js", "shared-worker.js"):
        kept = (EXAMPLE / name).read_text("utf-8")
        assert (tmp_path / name).read_text("utf-8") == kept, "run in clients/js: npm run build && npm run bundle"


@needs_node
@pytest.mark.usefixtures("built")
def test_against_a_server_that_is_killed_in_between(tmp_path: Path) -> None:
    """Over every transport: the server is killed when each has seen some, and comes back with more."""
    transports = ("sse", "ws", "graphql-ws")
    names = [name.replace("-", "") for name in transports]
    between = " ".join(f'{{:{name}.item/name \\"in between\\" :{name}.item/big 1}}' for name in names)
    folder = tmp_path / "data"
    clients: list[subprocess.Popen[str]] = []
    try:
        with serving(folder) as first:
            clients = [script("build/end-to-end.js", name, first.address) for name in transports]
            said = [read_line(client) for client in clients]
        if said == ["restart\n"] * 3:
            with serving(folder) as second:
                answer = second.post(f'mutation {{ transact(tx: "[{between}]") {{ t }} }}')
                assert "errors" not in answer.json()
                for client in clients:
                    print(second.address, file=client.stdin, flush=True)
                errors = [client.communicate(timeout=200)[1] for client in clients]
        else:
            # Those that got so far would wait for the second server.
            for client, line in zip(clients, said, strict=True):
                if line:
                    client.kill()
            errors = [client.communicate(timeout=200)[1] for client in clients]
    finally:
        for client in clients:
            client.kill()
            client.communicate()
    assert [client.returncode for client in clients] == [0, 0, 0], "\n".join(errors)


@needs_node
@pytest.mark.usefixtures("built")
def test_a_client_reads_its_own_writes_on_each_of_two_gateways(postgres: PostgresServer) -> None:
    database = postgres.new_database()
    with serving(database) as one, serving(database) as other:
        run("node", "build/alternating.js", one.address, other.address)


def script(*command: str) -> subprocess.Popen[str]:
    node = shutil.which("node")
    assert node is not None
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([node, *command], cwd=CLIENT, encoding="utf-8", **pipes)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


PEERS = {
    **dict.fromkeys(("hooks", "react", "typed-react"), frozenset({"react"})),
    "tanstack-db": frozenset({"@tanstack/db"}),
    "typed": frozenset({"graphql"}),
}


def test_it_needs_nothing_at_run_time_and_is_not_published() -> None:
    assert "dependencies" not in PACKAGE
    assert PACKAGE["private"] is True
    assert set(PACKAGE["peerDependencies"]) == set(PACKAGE["peerDependenciesMeta"])
    for path in (CLIENT / "src").glob("*.ts"):
        imported = set(re.findall(r' from "([^"]+)"', path.read_text("utf-8")))
        outside = {name for name in imported if not name.startswith("./")}
        assert outside <= PEERS.get(path.stem, set()), path.name


def test_versions_are_exact_and_the_lock_names_no_address() -> None:
    for name, version in PACKAGE["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert LOCK["packages"][f"node_modules/{name}"]["version"] == version
    for name, locked in LOCK["packages"].items():
        assert "resolved" not in locked
        assert not name or "integrity" in locked, name


def test_the_licence_is_the_project_s() -> None:
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert PACKAGE["license"] == "Apache-2.0"
