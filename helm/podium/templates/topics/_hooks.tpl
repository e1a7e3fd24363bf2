{{/*
What the Job needs is made before it: hooks run before the chart's own objects, and after them would
be too late, since workers wait for their topics and `helm install --wait` for the workers.
*/}}
{{- define "podium.topics.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation
{{- end }}
