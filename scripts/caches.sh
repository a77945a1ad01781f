# Sourced: where there is no home folder, or it cannot be written to, Go and npm keep their caches in build/.

if [ -z "${HOME:-}" ] || [ ! -w "$HOME" ]; then
    caches=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/caches
    mkdir -p "$caches"
    [ -w "${XDG_CACHE_HOME:-}" ] || export XDG_CACHE_HOME=$caches
    export npm_config_cache=${npm_config_cache:-$caches/npm}
fi
