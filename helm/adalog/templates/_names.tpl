{{/* Names and labels. A part (`gateway`, `postgresql`, …) is handed over as (list . "gateway"). */}}

{{- define "adalog.chartName" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "adalog.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- /* Room for suffixes: names of CronJobs have 52 characters at most, those of Services 63. */ -}}
{{- default $full .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "adalog.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: {{ include "adalog.chartName" $top | quote }}
app.kubernetes.io/instance: {{ $top.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 | quote }}
{{- end -}}

{{/* Labels: (list . "gateway"), and more of them: (list . "gateway" .Values.podLabels). A label stands once, whoever else names it. */}}
{{- define "adalog.labels" -}}
{{- $top := index . 0 -}}
{{- $more := dict -}}
{{- if gt (len .) 2 -}}
{{- $more = index . 2 -}}
{{- end -}}
{{- $own := include "adalog.selector" . | fromYaml -}}
{{- $about := dict "app.kubernetes.io/version" $top.Chart.AppVersion "app.kubernetes.io/part-of" "adalog" "app.kubernetes.io/managed-by" $top.Release.Service "helm.sh/chart" (printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_") -}}
{{ toYaml (mergeOverwrite (dict) $top.Values.commonLabels $more $about $own) }}
{{- end -}}

{{/* An object's name and labels: (list . "gateway" "-suffix of its name"), and more labels as a fourth. */}}
{{- define "adalog.metadata" -}}
{{- $top := index . 0 -}}
{{- $more := dict -}}
{{- if gt (len .) 3 -}}
{{- $more = index . 3 -}}
{{- end -}}
name: {{ printf "%s%s" (include "adalog.name" $top) (index . 2) | quote }}
namespace: {{ $top.Release.Namespace | quote }}
labels:
  {{- include "adalog.labels" (list $top (index . 1) $more) | nindent 2 }}
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

{{- define "adalog.segmentsClaim" -}}
{{- default (printf "%s-segments" (include "adalog.name" .)) .Values.segments.volume.existingClaim -}}
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

{{/* The place at which gateways share checkpoints. */}}
{{- define "adalog.segmentsPlace" -}}
{{- default "/segments/adalog" .Values.segments.address -}}
{{- end -}}

{{/* Within it, where executors of Spark on Kubernetes find what they read. An address may end with options. */}}
{{- define "adalog.sparkSegments" -}}
{{- $place := ternary .Values.segments.address "file:///segments/adalog" (empty .Values.segments.address | not) -}}
{{- regexReplaceAll "^([^?]*[^?/])/*([?].*)?$" $place "${1}/spark${2}" -}}
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
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
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
