{{/* Names and labels. A part (`gateway`, `postgresql`, …) is handed over as (list . "gateway"). */}}

{{- define "adalog.chartName" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "adalog.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- /* Room for the suffixes: names of Services have 63 characters at most. */ -}}
{{- default $full .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{- define "adalog.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: {{ include "adalog.chartName" $top }}
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "adalog.labels" -}}
{{- $top := index . 0 -}}
{{ include "adalog.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: adalog
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- with $top.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An object's name and labels: (list . "gateway" "-suffix of its name"). */}}
{{- define "adalog.metadata" -}}
{{- $top := index . 0 -}}
name: {{ include "adalog.name" $top }}{{ index . 2 }}
namespace: {{ $top.Release.Namespace }}
labels:
  {{- include "adalog.labels" (list $top (index . 1)) | nindent 2 }}
{{- end -}}

{{- define "adalog.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "adalog.serviceAccount" -}}
{{- default (.Values.serviceAccount.create | ternary (include "adalog.name" .) "default") .Values.serviceAccount.name -}}
{{- end -}}

{{- define "adalog.claim" -}}
{{- default (printf "%s-data" (include "adalog.name" .)) .Values.database.folder.existingClaim -}}
{{- end -}}

{{- define "adalog.tokensSecret" -}}
{{- default (printf "%s-tokens" (include "adalog.name" .)) .Values.auth.tokens.existingSecret -}}
{{- end -}}

{{/* "true" where there is a file of tokens. */}}
{{- define "adalog.hasTokens" -}}
{{- or .Values.auth.tokens.existingSecret .Values.auth.tokens.list | empty | not -}}
{{- end -}}

{{/* "true" where gateways share checkpoints. */}}
{{- define "adalog.hasSegments" -}}
{{- or .Values.segments.address .Values.segments.volume.enabled | empty | not -}}
{{- end -}}

{{/* The number of gateways. */}}
{{- define "adalog.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{- eq .Values.database.kind "folder" | ternary 1 2 -}}
{{- else -}}
{{- int64 .Values.replicas -}}
{{- end -}}
{{- end -}}

{{/* "true" where there may be several gateways. */}}
{{- define "adalog.several" -}}
{{- if .Values.autoscaling.enabled -}}
{{- gt (int64 .Values.autoscaling.maxReplicas) 1 -}}
{{- else -}}
{{- gt (int64 (include "adalog.replicas" .)) 1 -}}
{{- end -}}
{{- end -}}

{{/* A value as the text of a variable of the environment. Numbers of YAML arrive as floats, 1000000 as 1e+06. */}}
{{- define "adalog.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* A pod's common part: (list . "gateway"). */}}
{{- define "adalog.podCommon" -}}
{{- $top := index . 0 -}}
{{- with $top.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $top.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
