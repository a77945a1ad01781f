#!/usr/bin/env bash
# Makes sure of Chromium and its driver for the explorer's browser test: installs them where that takes no password,
# else says how in one line and succeeds: the browser test is then skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/package-manager.sh"

have_browser() {
    command -v chromedriver >/dev/null && { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
}

have_browser && exit 0

apt_install "the browser test" chromium chromium-driver 2>/dev/null && have_browser && exit 0
echo "no Chromium with chromedriver: the browser test will be skipped; for it: sudo apt-get install chromium chromium-driver" >&2
