# Sourced: finds a Java 17 or newer and exports JAVA_HOME for it, where the `java` on the path is not one already.

java_major() { # PATH-TO-JAVA -> 17
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

java_is_new() {
    [ -x "$1" ] && [ "$(java_major "$1")" -ge 17 ] 2>/dev/null
}

find_java() {
    local candidate
    if [ -n "${JAVA_HOME:-}" ] && java_is_new "$JAVA_HOME/bin/java"; then
        return 0
    fi
    if candidate=$(command -v java) && java_is_new "$candidate"; then
        unset JAVA_HOME
        return 0
    fi
    for candidate in /usr/lib/jvm/*/bin/java /opt/homebrew/opt/openjdk*/bin/java /usr/local/opt/openjdk*/bin/java \
        /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        if java_is_new "$candidate"; then
            export JAVA_HOME="${candidate%/bin/java}"
            return 0
        fi
    done
    return 1
}

find_java || true
