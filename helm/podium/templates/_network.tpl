{{/* What all pods may reach: DNS, and the configured ports of Kafka and Redis. */}}
{{- define "podium.egress" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
- ports:
    {{- range include "podium.ports" . | fromJsonArray }}
    - {port: {{ int . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.servicesAt }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
