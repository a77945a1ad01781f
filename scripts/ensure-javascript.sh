#!/usr/bin/env bash
# Makes sure of what the JavaScript client is built and tested with: installs Node.js where that takes no password, and the
# packages from npm, else says how in one line and succeeds: its tests are then skipped.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/package-manager.sh"
source "$here/node.sh"

npm_install "the JavaScript client's tests" "$here/../clients/js" && exit 0
echo "no Node.js: the JavaScript client's tests will be skipped; for them: sudo apt-get install nodejs npm, then make setup" >&2
