#!/usr/bin/env bash
# Makes sure of DataScript, which random queries and transactions are compared with: installs Node.js where that takes no
# password, and the package from npm, else says how in one line and succeeds: those tests are then skipped.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/package-manager.sh"
source "$here/node.sh"

npm_install "the comparison with DataScript" "$here/../tests/datascript" && exit 0
echo "no DataScript: the comparison with it will be skipped; for it: sudo apt-get install nodejs npm, then make setup" >&2
