#!/usr/bin/env bash
# Makes sure of DataScript, which random queries and transactions are compared with: installs Node.js where that takes no
# password, and the package from npm, else says how in one line and succeeds: those tests are then skipped.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/package-manager.sh"

have_npm() {
    command -v node >/dev/null && command -v npm >/dev/null
}

if ! have_npm; then
    # npm comes with nodejs in some distributions' packages and is one of its own in Debian's.
    what="the comparison with DataScript"
    { apt_install "$what" nodejs && { have_npm || apt_install "$what" npm; }; } 2>/dev/null || true
fi
if have_npm && npm ci --prefix "$here/../tests/datascript" --silent --no-audit --no-fund --ignore-scripts; then
    exit 0
fi
echo "no DataScript: the comparison with it will be skipped; for it: sudo apt-get install nodejs npm, then make setup" >&2
