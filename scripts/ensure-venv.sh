#!/usr/bin/env bash
# ensure-venv.sh PYTHON FOLDER: a virtual environment, also on Debian and Ubuntu where `venv` is a package of its own.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/package-manager.sh"
python=$1
folder=$2

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install "the virtual environment" python3-venv 2>/dev/null || true
fi
echo "making $folder with $("$python" --version)"
"$python" -m venv "$folder" || {
    rm -rf "$folder"
    echo "could not make $folder; on Debian and Ubuntu: sudo apt-get install python3-venv" >&2
    exit 1
}
