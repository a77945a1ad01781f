#!/usr/bin/env bash
# Makes sure of what the JavaScript client and the console are built and tested with, and of the clients that the gateway's protocols are
# tested with: installs Node.js where that takes no password, and the packages from npm, else says how in one line and
# succeeds: their tests are then skipped.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/package-manager.sh"
source "$here/node.sh"

what="the tests of JavaScript clients"
npm_install "$what" "$here/../clients/js" && npm_install "$what" "$here/../clients/console" \
    && npm_install "$what" "$here/../tests/protocols" && exit 0
echo "no Node.js: $what will be skipped; for them: sudo apt-get install nodejs npm, then make setup" >&2
