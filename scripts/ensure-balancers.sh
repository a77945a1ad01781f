#!/usr/bin/env bash
# Makes sure of nginx and HAProxy for the test of examples/balancer: installs them where that takes no password and starts
# no service, else says how in one line and succeeds: the test is then skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/package-manager.sh"

# Debian has them where only root looks.
PATH=$PATH:/usr/sbin:/sbin

have_balancers() {
    command -v nginx >/dev/null && command -v haproxy >/dev/null
}

have_balancers && exit 0

# Under systemd a package starts its service, on port 80.
if [ ! -d /run/systemd/system ]; then
    apt_install "the test of balancers" nginx-light haproxy 2>/dev/null && have_balancers && exit 0
fi
echo "no nginx and HAProxy: the test of balancers will be skipped; for it: sudo apt-get install nginx-light haproxy" >&2
