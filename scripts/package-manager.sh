# Sourced: as_root COMMAND… runs as root where that needs no password; apt_install WHAT PACKAGE… installs Debian packages,
# and says so before. With ADALOG_NO_SYSTEM_PACKAGES=1 nothing is installed but into .venv and the project's own folders.

may_install() {
    case "${ADALOG_NO_SYSTEM_PACKAGES:-}" in
        "" | 0 | false | no | off) return 0 ;;
        *) return 1 ;;
    esac
}

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
    local what=$1
    shift
    may_install && command -v apt-get >/dev/null && as_root true || return 1
    if ! apt-cache show "$@" >/dev/null 2>&1; then
        echo "as root: apt-get update (ADALOG_NO_SYSTEM_PACKAGES=1 does without)"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null || return 1
    fi
    echo "as root, for $what: apt-get install $* (ADALOG_NO_SYSTEM_PACKAGES=1 does without)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >/dev/null
}
