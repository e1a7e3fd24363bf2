{{/* The worker of a component for a collection: a StatefulSet where pods keep their name. */}}
{{- define "podium.worker" -}}
{{- $facts := include "podium.facts" . | fromYaml -}}
{{- $options := include "podium.options" . | fromJson -}}
{{- $env := list -}}
{{- if $facts.keeps -}}
  {{- $env = list (dict "name" "PODIUM_MATCHER__INSTANCE_ID" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.name"))) -}}
{{- end -}}
{{- $probes := dict
  "livenessProbe" (dict "httpGet" (dict "path" "/livez" "port" "http") "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 6)
  "readinessProbe" (dict "httpGet" (dict "path" "/readyz" "port" "http") "periodSeconds" 5 "timeoutSeconds" 5 "failureThreshold" 2)
  "startupProbe" (dict "httpGet" (dict "path" "/livez" "port" "http") "periodSeconds" 2 "failureThreshold" 90) -}}
{{- $pod := dict "root" .root "component" .component "collection" .collection "collections" (list .collection)
  "config" (include "podium.shared" (list .root "config")) "main" .component "options" $options "env" $env "probes" $probes
  "image" (include "podium.image" (list .root .root.Values.image ""))
  "args" (list "worker" $facts.role "--collection" .collection.name) -}}
apiVersion: apps/v1
kind: {{ if $facts.keeps }}StatefulSet{{ else }}Deployment{{ end }}
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  {{- if eq (default "none" (default dict $options.autoscaling).kind) "none" }}
  replicas: {{ int $options.replicas }}
  {{- end }}
  {{- if $facts.keeps }}
  serviceName: {{ include "podium.workload" . }}
  podManagementPolicy: Parallel
  updateStrategy:
    type: RollingUpdate
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  {{- end }}
  selector:
    matchLabels:
      {{- include "podium.selector" . | nindent 6 }}
  template:
    {{- include "podium.pod" $pod | nindent 4 }}
{{- end }}

{{/* Names of the component's pods, and where their metrics are. */}}
{{- define "podium.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "podium.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ int .root.Values.http.port }}
      targetPort: http
{{- end }}

{{- define "podium.budget" -}}
{{- $options := include "podium.options" . | fromJson -}}
{{- if $options.podDisruptionBudget.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ $options.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "podium.selector" . | nindent 6 }}
{{- end -}}
{{- end }}

{{/* More pods than partitions would stand idle, so these are the most. */}}
{{- define "podium.scaler" -}}
{{- $facts := include "podium.facts" . | fromYaml -}}
{{- $options := include "podium.options" . | fromJson -}}
{{- $scaling := default (dict "kind" "none") $options.autoscaling -}}
{{- $target := dict "apiVersion" "apps/v1" "kind" (ternary "StatefulSet" "Deployment" (default false $facts.keeps)) "name" (include "podium.workload" .) -}}
{{- $most := min $scaling.maxReplicas $facts.partitions | int -}}
{{- $least := min $scaling.minReplicas $most | int -}}
{{- if eq $scaling.kind "hpa" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    {{- toYaml $target | nindent 4 }}
  minReplicas: {{ $least }}
  maxReplicas: {{ $most }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ int $scaling.cpuPercent }}
{{- else if eq $scaling.kind "keda" -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    {{- toYaml $target | nindent 4 }}
  minReplicaCount: {{ $least }}
  maxReplicaCount: {{ $most }}
  triggers:
    - type: kafka
      metadata:
        bootstrapServers: {{ .root.Values.kafka.brokers | quote }}
        consumerGroup: {{ .root.Values.prefix }}.{{ .collection.name }}.{{ $facts.group }}
        topic: {{ .root.Values.prefix }}.{{ .collection.name }}.{{ $facts.topic }}
        lagThreshold: {{ int $scaling.lag | quote }}
      {{- with $scaling.authenticationRef }}
      authenticationRef:
        name: {{ . }}
      {{- end }}
{{- end -}}
{{- end }}

{{/* A document for each collection that has the component: (list $ component template). */}}
{{- define "podium.each" -}}
{{- $root := index . 0 -}}{{- $component := index . 1 -}}{{- $template := index . 2 -}}
{{- $names := include "podium.of" (list $root $component) | fromJsonArray -}}
{{- range $root.Values.collections -}}
{{- if has .name $names -}}
{{- with include $template (dict "root" $root "collection" . "component" $component) }}
---
{{ . }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
