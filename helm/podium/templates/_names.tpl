{{/* Names and labels. `ctx` is (dict "root" $ "collection" … "component" …). */}}

{{- define "podium.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "podium.fullname" -}}
{{- $name := include "podium.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name }}
{{- else -}}
{{ .Release.Name }}-{{ $name }}
{{- end -}}
{{- end }}

{{/* Up to 48 characters, so that what Kubernetes appends still fits a label. */}}
{{- define "podium.short" -}}
{{- if gt (len .) 48 -}}
{{ trunc 39 . | trimSuffix "-" }}-{{ sha256sum . | trunc 8 }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end }}

{{/* Of what belongs to the whole release: (list $ "topics"). */}}
{{- define "podium.shared" -}}
{{ include "podium.short" (printf "%s-%s" (include "podium.fullname" (first .)) (last .)) }}
{{- end }}

{{/* Of a component of a collection. */}}
{{- define "podium.workload" -}}
{{ include "podium.short" (printf "%s-%s-%s" (include "podium.fullname" .root) .collection.name .component) }}
{{- end }}

{{- define "podium.release.selector" -}}
app.kubernetes.io/name: {{ include "podium.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "podium.release.labels" -}}
{{ include "podium.release.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "podium.selector" -}}
{{ include "podium.release.selector" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .collection }}
podium/collection: {{ .name }}
{{- end }}
{{- end }}

{{- define "podium.labels" -}}
{{ include "podium.release.labels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- with .collection }}
podium/collection: {{ .name }}
{{- end }}
{{- end }}

{{- define "podium.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "podium.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{/* (list $ image suffix): a digest wins over a tag. */}}
{{- define "podium.image" -}}
{{- $root := index . 0 -}}{{- $image := index . 1 -}}
{{- $repository := default $root.Values.image.repository $image.repository -}}
{{- $tag := default (printf "%s%s" (default $root.Chart.AppVersion $root.Values.image.tag) (index . 2)) $image.tag -}}
{{ $repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}
