#!/usr/bin/env bash
# Makes sure of Java 17 or newer, which Spark needs: installs it where that takes no password, else says how in one
# line and succeeds, since everything but the Spark engine works without.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/package-manager.sh"
source "$here/java-home.sh"

find_java && exit 0

for package in openjdk-21-jre-headless openjdk-17-jre-headless openjdk-25-jre-headless default-jre-headless; do
    apt_install "Spark" "$package" 2>/dev/null && find_java && exit 0
done
if may_install && [ "$(uname)" = Darwin ] && command -v brew >/dev/null; then
    echo "installing Java, for Spark: brew install openjdk@21"
    brew install --quiet openjdk@21 && find_java && exit 0
fi
case "$(uname)" in
    Darwin) how="brew install openjdk@21" ;;
    *) how="sudo apt-get install openjdk-17-jre-headless" ;;
esac
echo "no Java 17 or newer: queries run on the local engine alone; for Spark: $how, then make setup" >&2
