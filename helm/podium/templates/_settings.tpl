{{/* podium.yaml: what the chart knows, then `settings`. Secrets are files beside it. */}}
{{- define "podium.settings" -}}
{{- $kafka := dict "brokers" .Values.kafka.brokers "security" .Values.kafka.security "replication" (int .Values.kafka.replication) "most_unpacked_mib" (int .Values.kafka.mostUnpackedMib) -}}
{{- if hasPrefix "sasl" .Values.kafka.security -}}
  {{- $_ := set $kafka "sasl_mechanism" .Values.kafka.saslMechanism -}}
  {{- $_ := set $kafka "username" (required (printf "kafka.username: got nothing, expected the user of SASL, as kafka.security is %s" .Values.kafka.security) .Values.kafka.username) -}}
{{- end -}}
{{- if hasSuffix "ssl" .Values.kafka.security -}}
  {{- if .Values.kafka.ca.existingSecret -}}
    {{- $_ := set $kafka "ca_file" "/etc/podium-secrets/kafka/ca.crt" -}}
  {{- end -}}
  {{- if .Values.kafka.client.existingSecret -}}
    {{- $_ := set $kafka "cert_file" "/etc/podium-secrets/kafka/tls.crt" -}}
    {{- $_ := set $kafka "key_file" "/etc/podium-secrets/kafka/tls.key" -}}
  {{- end -}}
{{- end -}}
{{- $redis := dict "timeout_s" .Values.redis.timeoutSeconds -}}
{{- if not .Values.redis.existingSecret -}}
  {{- $_ := set $redis "url" (required "redis.url: got nothing, expected redis://host:port/database, or redis.existingSecret with a Secret that has it" .Values.redis.url) -}}
{{- end -}}
{{- $settings := dict "prefix" .Values.prefix "kafka" $kafka "redis" $redis "http" (dict "host" "0.0.0.0" "port" (int .Values.http.port)) "collections" "/etc/podium/collections" -}}
{{- mustMergeOverwrite $settings (deepCopy .Values.settings) | toYaml -}}
{{- end }}

{{/* Data of the ConfigMap: the settings, and a file for each collection. */}}
{{- define "podium.files" -}}
podium.yaml: |
  {{- include "podium.settings" . | nindent 2 }}
{{- range .Values.collections }}
{{ .name }}.yaml: |
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Volume with the settings and the files of some collections: (list $ config-map collections). */}}
{{- define "podium.volume.config" -}}
- name: config
  configMap:
    name: {{ index . 1 }}
    items:
      - key: podium.yaml
        path: podium.yaml
      {{- range index . 2 }}
      - key: {{ .name }}.yaml
        path: collections/{{ .name }}.yaml
      {{- end }}
{{- end }}

{{/* Secrets as files; nothing where none is used. */}}
{{- define "podium.secrets" -}}
{{- $kafka := .Values.kafka -}}
{{- if hasPrefix "sasl" $kafka.security }}
- secret:
    name: {{ required (printf "kafka.password.existingSecret: got nothing, expected a Secret with the password of SASL, as kafka.security is %s" $kafka.security) $kafka.password.existingSecret }}
    items:
      - key: {{ $kafka.password.key }}
        path: kafka/password
{{- end }}
{{- if hasSuffix "ssl" $kafka.security }}
{{- with $kafka.ca }}{{ if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: kafka/ca.crt
{{- end }}{{ end }}
{{- with $kafka.client }}{{ if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .cert }}
        path: kafka/tls.crt
      - key: {{ .key }}
        path: kafka/tls.key
{{- end }}{{ end }}
{{- end }}
{{- with .Values.redis }}{{ if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: redis-url
{{- end }}{{ end }}
{{- with .Values.spark.store }}{{ if .existingSecret }}
- secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: bases-url
{{- end }}{{ end }}
{{- end }}

{{/* Ports of Kafka and Redis, from their configured addresses. */}}
{{- define "podium.ports" -}}
{{- $ports := list -}}
{{- range regexFindAll ":[0-9]+(,|$)" (nospace .Values.kafka.brokers) -1 -}}
  {{- $ports = append $ports (regexFind "[0-9]+" . | int) -}}
{{- end -}}
{{- if .Values.redis.existingSecret -}}
  {{- $ports = append $ports (int .Values.redis.port) -}}
{{- else -}}
  {{- $ports = append $ports (regexFind "[0-9]+$" (regexFind ":[0-9]+$" (urlParse .Values.redis.url).host) | default "6379" | int) -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end }}
