# Sourced: npm_install WHAT FOLDER installs Node.js where that takes no password, and the packages that the folder's lock names,
# without running scripts of theirs. Source package-manager.sh before.
source "$(dirname "${BASH_SOURCE[0]}")/caches.sh"

have_npm() {
    command -v node >/dev/null && command -v npm >/dev/null
}

npm_install() {
    if ! have_npm; then
        # npm comes with nodejs in some distributions' packages and is one of its own in Debian's.
        { apt_install "$1" nodejs && { have_npm || apt_install "$1" npm; }; } 2>/dev/null || true
    fi
    have_npm && npm ci --prefix "$2" --silent --no-audit --no-fund --ignore-scripts
}
