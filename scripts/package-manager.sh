# Sourced: as_root COMMAND… runs as root where that needs no password; apt_install PACKAGE… installs Debian packages.

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 1
    fi
}

# The lists are fetched only when a package is not known yet.
apt_install() {
    command -v apt-get >/dev/null && as_root true || return 1
    if ! apt-cache show "$@" >/dev/null 2>&1; then
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null || return 1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >/dev/null
}
