#!/usr/bin/env bash
# Makes sure of what renders the Helm chart in its tests: installs Debian's Go with the libraries that Helm renders with where
# that takes no password, and builds helm/tests/render into build/, else says how in one line and succeeds: the tests that
# render are then skipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/package-manager.sh"
source "$root/scripts/caches.sh"

packages=(golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev)
sources=${GO_SOURCES:-/usr/share/gocode/src}

have_go() {
    command -v go >/dev/null && [ -d "$sources/github.com/Masterminds/sprig" ] && [ -d "$sources/sigs.k8s.io/yaml" ]
}

# Without modules, so that nothing is downloaded. Sprig stands with or without its v3 in the path, as the release has it.
build() {
    local paths="$root/build/gopath" sprig="$sources/github.com/Masterminds/sprig"
    [ ! -d "$sprig/v3" ] || sprig=$sprig/v3
    mkdir -p "$paths/src/github.com/Masterminds/sprig"
    ln -sfn "$sprig" "$paths/src/github.com/Masterminds/sprig/v3"
    (cd "$root/helm/tests/render" &&
        GO111MODULE=off GOFLAGS=-trimpath GOPATH="$paths:${sources%/src}" go build -o "$root/build/render.$$" .) &&
        mv "$root/build/render.$$" "$root/build/render"
}

have_go || apt_install "the tests of the Helm chart" "${packages[@]}" 2>/dev/null || true
have_go && build && exit 0
echo "no Go with Sprig: the tests of the Helm chart will be skipped; for them: sudo apt-get install ${packages[*]}, then make setup" >&2
