#!/usr/bin/env bash
# Makes sure of PostgreSQL's JDBC driver for the tests of SQL sources: installs it where that takes no password, else says
# how in one line and succeeds: these tests are then skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/package-manager.sh"

have_driver() {
    [ -e /usr/share/java/postgresql.jar ]
}

have_driver && exit 0
apt_install "the tests of SQL sources" libpostgresql-jdbc-java 2>/dev/null && have_driver && exit 0
echo "no JDBC driver of PostgreSQL: the tests of SQL sources will be skipped; for them: sudo apt-get install libpostgresql-jdbc-java" >&2
