#!/usr/bin/env bash
# Writes requirements/*.lock anew: what pyproject.toml and constraints.txt pin, for every platform and Python from 3.11 on,
# with the hash of each file that there is of it. Run it after changing a version; it needs uv (https://docs.astral.sh/uv).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock() { # NAME, and what uv is to read
    local name=$1
    shift
    "${UV:-uv}" pip compile --quiet --universal --python-version 3.11 --generate-hashes --constraint constraints.txt \
        --no-config --no-emit-index-url --no-emit-find-links --no-annotate --no-header "$@" \
        --output-file "requirements/$name.lock.new" >/dev/null
    {
        echo "# Written by scripts/lock.sh."
        cat "requirements/$name.lock.new"
    } >"requirements/$name.lock"
    rm "requirements/$name.lock.new"
}

python3 -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"]))' |
    lock build -
python3 -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"]))' |
    lock docs -
# What `make` installs: the gateway with all that it can use.
everything=(--extra server --extra spark --extra redis --extra postgresql)
lock run pyproject.toml "${everything[@]}"
lock otel pyproject.toml "${everything[@]}" --extra otel
lock test pyproject.toml "${everything[@]}" --extra test
lock bench pyproject.toml "${everything[@]}" --extra bench
