{{/* Refuses values that contradict each other, and says what would be right. What one value may be is said by values.schema.json. */}}
{{- define "adalog.check" -}}
{{- $v := .Values -}}

{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" (include "adalog.name" .)) -}}
{{- fail (printf "objects would be called %q, and names of Services begin with a letter: set fullnameOverride to small letters, digits and hyphens" (include "adalog.name" .)) -}}
{{- end -}}

{{- if not (or $v.auth.tokens.existingSecret $v.auth.tokens.list $v.auth.jwt.algorithms) -}}
{{- fail "no authentication is set up, and the gateway listens for other machines. Set auth.tokens.existingSecret to a Secret with a file of bearer tokens (a line `name:role:sha256hex` each; the role is read, write or admin), or auth.tokens.list to such entries, or auth.jwt.algorithms and what verifies JSON Web Tokens" -}}
{{- end -}}
{{- with $v.auth.jwt -}}
{{- $ways := compact (list .keysUrl .keySecret .signingSecret) -}}
{{- if and .algorithms (ne (len $ways) 1) -}}
{{- fail (printf "auth.jwt.algorithms is set with %d of what verifies tokens; set one of auth.jwt.keysUrl, auth.jwt.keySecret and auth.jwt.signingSecret" (len $ways)) -}}
{{- end -}}
{{- if and $ways (not .algorithms) -}}
{{- fail "auth.jwt names keys, and no algorithm: set auth.jwt.algorithms, as [RS256]" -}}
{{- end -}}
{{- range .algorithms -}}
{{- if ne (hasPrefix "HS" .) (empty $v.auth.jwt.signingSecret | not) -}}
{{- fail (printf "auth.jwt.algorithms has %s: HS256, HS384 and HS512, and only these, go with auth.jwt.signingSecret, the others with public keys" .) -}}
{{- end -}}
{{- end -}}
{{- if and (or .keysUrl .keySecret) (not (and .issuer .audience)) -}}
{{- fail "auth.jwt.issuer and auth.jwt.audience are needed with public keys: who has them signs tokens for other services, too" -}}
{{- end -}}
{{- end -}}
{{- if and $v.auth.tokens.existingSecret $v.auth.tokens.list -}}
{{- fail "auth.tokens.existingSecret and auth.tokens.list are both set; one of them says who may ask" -}}
{{- end -}}

{{- $segments := eq (include "adalog.hasSegments" .) "true" -}}
{{- if and $v.segments.address $v.segments.volume.enabled -}}
{{- fail "segments.address and segments.volume.enabled are both set; gateways share one place" -}}
{{- end -}}

{{- if eq $v.database.kind "folder" -}}
{{- if $segments -}}
{{- fail "segments are shared by gateways on PostgreSQL: set database.kind to postgresql, or leave segments out" -}}
{{- end -}}
{{- if ne (include "adalog.replicas" .) "1" -}}
{{- fail (printf "replicas is %s, and a folder is served by one gateway: set database.kind to postgresql for several, or replicas to 1" (include "adalog.replicas" .)) -}}
{{- end -}}
{{- if $v.autoscaling.enabled -}}
{{- fail "autoscaling.enabled is set, and a folder is served by one gateway: set database.kind to postgresql" -}}
{{- end -}}
{{- if and (eq $v.spark.mode "kubernetes") (not (has "ReadWriteMany" $v.database.folder.accessModes)) -}}
{{- fail "spark.mode is kubernetes, and executors read the volume of the data folder: set database.folder.accessModes to [ReadWriteMany] and database.folder.storageClass to a class that has it, or spark.mode to local or none" -}}
{{- end -}}
{{- else -}}
{{- $ways := compact (list $v.database.postgresql.existingSecret $v.database.postgresql.host ($v.database.postgresql.bundled.enabled | ternary "bundled" "")) -}}
{{- if ne (len $ways) 1 -}}
{{- fail (printf "database.kind is postgresql, and %d of three ways to one are given. Set database.postgresql.existingSecret to a Secret with its address, or database.postgresql.host and passwordSecret, or, to try it out, database.postgresql.bundled.enabled" (len $ways)) -}}
{{- end -}}
{{- if and (eq $v.database.postgresql.sslMode "verify-ca") (not $v.database.postgresql.caSecret) $v.database.postgresql.host -}}
{{- fail "database.postgresql.sslMode is verify-ca, which needs the authority: set database.postgresql.caSecret, or sslMode to verify-full for the system's authorities" -}}
{{- end -}}
{{- end -}}

{{- if and $v.autoscaling.enabled (gt (int64 $v.autoscaling.minReplicas) (int64 $v.autoscaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, more than autoscaling.maxReplicas, %d" (int64 $v.autoscaling.minReplicas) (int64 $v.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (not $v.autoscaling.targetCPU) (not $v.autoscaling.targetMemory) -}}
{{- fail "autoscaling.enabled is set without autoscaling.targetCPU or autoscaling.targetMemory, so that nothing tells it when to scale" -}}
{{- end -}}
{{- range $resource, $value := dict "cpu" "targetCPU" "memory" "targetMemory" -}}
{{- if and $v.autoscaling.enabled (index $v.autoscaling $value) (not (dig "requests" $resource "" (default (dict) $v.resources))) -}}
{{- fail (printf "autoscaling.%s is a part of what a gateway requests, and resources.requests.%s is not set: set it, or autoscaling.%s to null" $value $resource $value) -}}
{{- end -}}
{{- end -}}

{{- if gt (len (compact (list $v.redis.url $v.redis.existingSecret ($v.redis.bundled.enabled | ternary "bundled" "")))) 1 -}}
{{- fail "more than one of redis.url, redis.existingSecret and redis.bundled.enabled is set; one of them names the Redis" -}}
{{- end -}}

{{- if $v.backup.enabled -}}
{{- if not $v.backup.tokenSecret -}}
{{- fail "backup.enabled is set, and a gateway writes backups for the role admin: set backup.tokenSecret to a Secret with such a token" -}}
{{- end -}}
{{- if and (eq (include "adalog.several" .) "true") (not $v.backup.address) (not (has "ReadWriteMany" $v.backup.volume.accessModes)) -}}
{{- fail "backup.enabled is set for several gateways, any of which may be asked: set backup.address to a place in an object store, or backup.volume.accessModes to [ReadWriteMany]" -}}
{{- end -}}
{{- end -}}

{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.enabled is set without ingress.hosts; name at least one host" -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled (not $v.metrics.serviceMonitor.tokenSecret) -}}
{{- fail "metrics.serviceMonitor.enabled is set, and /metrics asks for a token: set metrics.serviceMonitor.tokenSecret to a Secret with one that may read" -}}
{{- end -}}

{{- /* What the settings let a gateway hold, beside its data: some 280 MiB for each worker, and the bounds. */ -}}
{{- $limit := include "adalog.mebibytes" (dig "limits" "memory" "" (default (dict) $v.resources)) -}}
{{- if $limit -}}
{{- $s := default (dict) $v.settings -}}
{{- $bytes := add (int64 (default 1073741824 $s.memory_bytes)) (int64 (default 268435456 $s.live_bytes)) (int64 (dig "cache_bytes" 67108864 $s)) (mul 8 (int64 (default 8388608 $s.request_bytes))) (mul 4 (int64 (default 67108864 $s.result_bytes))) -}}
{{- $needed := add (div $bytes 1048576) (mul 280 (int64 (default 1 $s.workers))) -}}
{{- if lt (int64 $limit) $needed -}}
{{- fail (printf "resources.limits.memory is %v; the settings let a gateway hold %d MiB beside its data (memory_bytes, live_bytes, cache_bytes, 8 request_bytes, 4 result_bytes, 280 MiB for each of its workers): set it above %dMi, or lower the settings" $v.resources.limits.memory $needed $needed) -}}
{{- end -}}
{{- end -}}

{{- $least := add (int64 $v.drainSeconds) 10 -}}
{{- if lt (int64 $v.terminationGracePeriodSeconds) $least -}}
{{- fail (printf "terminationGracePeriodSeconds is %d; a gateway serves on for drainSeconds and then ends within five seconds: set it to %d at least" (int64 $v.terminationGracePeriodSeconds) $least) -}}
{{- end -}}

{{- $own := dict "data" "database" "host" "service.bind" "port" "service.port" "drain_seconds" "drainSeconds" "auth" "auth.tokens" "redis_url" "redis" "redis_secret" "redis.signingSecret" "spark" "spark.mode" "spark_master" "spark.mode and spark.master" "spark_conf" "spark.conf" "trusted_proxies" "ingress.trustedProxies" "jwt_algorithms" "auth.jwt" "jwt_keys_url" "auth.jwt" "jwt_key" "auth.jwt" "jwt_secret" "auth.jwt.signingSecret" "jwt_issuer" "auth.jwt" "jwt_audience" "auth.jwt" "jwt_roles_claim" "auth.jwt" "jwt_roles" "auth.jwt" "backup_folders" "backup" "segments" "segments" "segments_copy" "segments" -}}
{{- range $name, $_ := $v.settings -}}
{{- if hasKey $own $name -}}
{{- fail (printf "settings.%s is for the chart to set: use %s" $name (index $own $name)) -}}
{{- end -}}
{{- end -}}

{{- $seen := dict -}}
{{- range include "adalog.environment" . | fromYamlArray -}}
{{- if hasKey $seen .name -}}
{{- fail (printf "extraEnv has %s, which the chart sets, or settings, or extraEnv itself: leave one out" .name) -}}
{{- end -}}
{{- $_ := set $seen .name true -}}
{{- end -}}
{{- end -}}

{{- define "adalog.mebibytes" -}}
{{- /* A quantity of memory, as 6Gi; nothing for none, or for one that is written otherwise. */ -}}
{{- $factors := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $text := toString . -}}
{{- $factor := get $factors (regexReplaceAll "^[0-9.]+" $text "") -}}
{{- if and $factor (regexMatch "^[0-9]" $text) -}}
{{- divf (mulf (float64 (regexFind "^[0-9.]+" $text)) $factor) 1048576.0 | floor | int64 -}}
{{- end -}}
{{- end -}}
