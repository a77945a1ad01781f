#!/bin/bash
# What the image runs: `adalog` with the arguments; or, as `executor`, what Spark's driver asks of a pod that it made.
set -euo pipefail

[ "${1:-}" = executor ] || exec adalog "$@"

# As Spark's own image does: https://github.com/apache/spark/tree/master/resource-managers/kubernetes/docker
cd "$(mktemp -d)"
options=()
while IFS= read -r name; do
    options+=("${!name}")
done < <(compgen -e | grep '^SPARK_JAVA_OPT_' | sort --field-separator=_ --key=4 --numeric-sort)
classes="${SPARK_CLASSPATH:-}:${SPARK_HOME:?}/jars/*"
exec java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "${SPARK_CONF_DIR:-$SPARK_HOME/conf}:$classes" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
