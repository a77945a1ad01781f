{{/* The gateway's settings as variables of the environment. */}}

{{- define "adalog.fromSecret" -}}
{{- /* (list NAME SECRET KEY) */ -}}
- name: {{ index . 0 | quote }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 | quote }}
      key: {{ index . 2 | quote }}
{{- end -}}

{{- define "adalog.environment" -}}
- name: ADALOG_HOST
  value: {{ .Values.service.bind | quote }}
- name: ADALOG_PORT
  value: "8080"
- name: ADALOG_DRAIN_SECONDS
  value: {{ int64 .Values.drainSeconds | quote }}
{{ include "adalog.databaseEnvironment" . }}
{{- include "adalog.authEnvironment" . }}
{{- include "adalog.segmentsEnvironment" . }}
{{- if .Values.backup.enabled }}
- name: ADALOG_BACKUP_FOLDERS
  value: {{ include "adalog.backupPlace" . | quote }}
{{- end }}
{{- include "adalog.redisEnvironment" . }}
{{- with .Values.ingress.trustedProxies }}
- name: ADALOG_TRUSTED_PROXIES
  value: {{ . | quote }}
{{- end }}
{{ include "adalog.sparkEnvironment" . }}
{{- with .Values.telemetry }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_SERVICE_NAME
  value: {{ include "adalog.name" $ | quote }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }}
{{- if .headersSecret }}
{{ include "adalog.fromSecret" (list "OTEL_EXPORTER_OTLP_HEADERS" .headersSecret .headersSecretKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: ADALOG_{{ upper $name }}
  value: {{ include "adalog.text" $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "adalog.authEnvironment" -}}
{{- with .Values.auth }}
{{- if eq (include "adalog.hasTokens" $) "true" }}
- name: ADALOG_AUTH
  value: /etc/adalog/tokens/{{ default "tokens" (and .tokens.existingSecret .tokens.existingSecretKey) }}
{{- end }}
{{- with .jwt }}
{{- if .algorithms }}
- name: ADALOG_JWT_ALGORITHMS
  value: {{ join "," .algorithms | quote }}
{{- with .keysUrl }}
- name: ADALOG_JWT_KEYS_URL
  value: {{ . | quote }}
{{- end }}
{{- if .keySecret }}
- name: ADALOG_JWT_KEY
  value: /etc/adalog/jwt/{{ .keySecretKey }}
{{- end }}
{{- if .signingSecret }}
{{ include "adalog.fromSecret" (list "ADALOG_JWT_SECRET" .signingSecret .signingSecretKey) }}
{{- end }}
{{- with .issuer }}
- name: ADALOG_JWT_ISSUER
  value: {{ . | quote }}
{{- end }}
{{- with .audience }}
- name: ADALOG_JWT_AUDIENCE
  value: {{ . | quote }}
{{- end }}
{{- with .rolesClaim }}
- name: ADALOG_JWT_ROLES_CLAIM
  value: {{ . | quote }}
{{- end }}
{{- with .roles }}
- name: ADALOG_JWT_ROLES
  {{- $roles := list }}
  {{- range $claimed, $role := . }}
  {{- $roles = append $roles (printf "%s=%s" $claimed $role) }}
  {{- end }}
  value: {{ join "," $roles | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where backups go, and what gateways may write to. */}}
{{- define "adalog.backupPlace" -}}
{{- default (printf "/backups/%s" (include "adalog.name" .)) .Values.backup.address -}}
{{- end -}}

{{- define "adalog.segmentsEnvironment" -}}
{{- if eq (include "adalog.hasSegments" .) "true" }}
- name: ADALOG_SEGMENTS
  value: {{ include "adalog.segmentsPlace" . | quote }}
- name: ADALOG_SEGMENTS_COPY
  value: /copy/adalog
{{- if eq .Values.spark.mode "kubernetes" }}
- name: ADALOG_SPARK_SEGMENTS
  value: {{ include "adalog.sparkSegments" . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A password is libpq's to read, so that it needs no quoting in an address. */}}
{{- define "adalog.databaseEnvironment" -}}
{{- $v := .Values.database.postgresql -}}
{{- if eq .Values.database.kind "folder" -}}
- name: ADALOG_DATA
  value: /data/adalog
{{- else if $v.existingSecret -}}
{{ include "adalog.fromSecret" (list "ADALOG_DATA" $v.existingSecret $v.existingSecretKey) }}
{{- else if $v.host -}}
- name: ADALOG_DATA
  value: {{ printf "postgresql://%s@%s:%d/%s?sslmode=%s" $v.user $v.host (int64 $v.port) $v.name $v.sslMode | quote }}
{{- with $v.passwordSecret }}
{{ include "adalog.fromSecret" (list "PGPASSWORD" . $v.passwordSecretKey) }}
{{- end }}
{{- else -}}
- name: ADALOG_DATA
  value: {{ printf "postgresql://%s@%s-postgresql:5432/%s?sslmode=disable" $v.user (include "adalog.name" .) $v.name | quote }}
{{ include "adalog.fromSecret" (list "PGPASSWORD" (printf "%s-postgresql" (include "adalog.name" .)) "password") }}
{{- end }}
{{- if and (eq .Values.database.kind "postgresql") $v.caSecret }}
- name: PGSSLROOTCERT
  value: /etc/adalog/postgresql/{{ $v.caSecretKey }}
{{- else if and (eq .Values.database.kind "postgresql") $v.host (eq $v.sslMode "verify-full") }}
- name: PGSSLROOTCERT
  value: system
{{- end }}
{{- end -}}

{{- define "adalog.redisEnvironment" -}}
{{- with .Values.redis }}
{{- if .existingSecret }}
{{ include "adalog.fromSecret" (list "ADALOG_REDIS_URL" .existingSecret .existingSecretKey) }}
{{- else if .url }}
- name: ADALOG_REDIS_URL
  value: {{ .url | quote }}
{{- else if .bundled.enabled }}
{{- $secret := printf "%s-redis" (include "adalog.name" $) }}
{{ include "adalog.fromSecret" (list "REDIS_PASSWORD" $secret "password") }}
- name: ADALOG_REDIS_URL
  value: redis://:$(REDIS_PASSWORD)@{{ $secret }}:6379/0
{{- end }}
{{- if .signingSecret }}
{{ include "adalog.fromSecret" (list "ADALOG_REDIS_SECRET" .signingSecret .signingSecretKey) }}
{{- else if .bundled.enabled }}
{{ include "adalog.fromSecret" (list "ADALOG_REDIS_SECRET" (printf "%s-redis" (include "adalog.name" $)) "signing") }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "adalog.sparkEnvironment" -}}
{{- $spark := .Values.spark -}}
- name: ADALOG_SPARK
  value: {{ eq $spark.mode "none" | ternary "off" "on" | quote }}
{{- if eq $spark.mode "kubernetes" }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: ADALOG_SPARK_MASTER
  value: {{ $spark.master | quote }}
{{- end }}
{{- $conf := dict -}}
{{- if eq $spark.mode "kubernetes" -}}
{{- $conf = include "adalog.sparkOnKubernetes" . | fromYaml -}}
{{- end -}}
{{- range $name, $value := $spark.conf -}}
{{- $_ := set $conf $name (include "adalog.text" $value) -}}
{{- end -}}
{{- if and $conf (ne $spark.mode "none") }}
- name: ADALOG_SPARK_CONF
  value: {{ toJson $conf | quote }}
{{- end }}
{{- end -}}

{{/*
Each gateway is a driver of its own, in client mode. Executors find it by its pod's address: a name of a headless Service would
stand for all gateways. Spark makes the secret of their connections for each session and hands it to the executors.
*/}}
{{- define "adalog.sparkOnKubernetes" -}}
spark.kubernetes.namespace: {{ .Release.Namespace | quote }}
spark.kubernetes.container.image: {{ include "adalog.image" . | quote }}
spark.kubernetes.container.image.pullPolicy: {{ .Values.image.pullPolicy | quote }}
{{- with .Values.imagePullSecrets }}
spark.kubernetes.container.image.pullSecrets: {{ range $n, $each := . }}{{ if $n }},{{ end }}{{ $each.name }}{{ end }}
{{- end }}
spark.kubernetes.driver.pod.name: $(POD_NAME)
spark.kubernetes.driver.service.deleteOnTermination: "false"
spark.kubernetes.executor.podTemplateFile: /etc/adalog/spark/executor.yaml
spark.kubernetes.executor.podTemplateContainerName: executor
spark.driver.host: $(POD_IP)
spark.driver.bindAddress: {{ .Values.service.bind | quote }}
spark.driver.port: "7078"
spark.driver.blockManager.port: "7079"
spark.adalog.port: "7080"
spark.executor.instances: {{ int64 .Values.spark.executors.instances | quote }}
spark.executor.cores: {{ int64 .Values.spark.executors.cores | quote }}
spark.executor.memory: {{ .Values.spark.executors.memory | quote }}
spark.executor.memoryOverhead: {{ .Values.spark.executors.memoryOverhead | quote }}
spark.authenticate: "true"
spark.network.crypto.enabled: "true"
{{- end -}}
