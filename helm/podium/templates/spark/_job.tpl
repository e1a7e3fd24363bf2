{{/* (dict "root" $ "collection" … "job" "sopt-bases" or "paint-batch"). */}}
{{- define "podium.spark.job" -}}
{{- if eq .root.Values.spark.mode "application" -}}
{{ include "podium.spark.application" . }}
{{- else -}}
{{ include "podium.spark.driver" . }}
{{- end -}}
{{- end }}

{{/* Whether progress is kept on a volume of ours, and not at a URI that settings name. */}}
{{- define "podium.spark.volume" -}}
{{- if not (default dict .root.Values.settings.spark).checkpoints }}yes{{ end -}}
{{- end }}

{{- define "podium.spark.driver" -}}
{{- $options := include "podium.options" (dict "root" .root "collection" .collection "component" "spark") | fromJson -}}
{{- $name := include "podium.workload" . -}}
{{- $own := include "podium.spark.volume" . -}}
{{- $probes := dict
  "startupProbe" (dict "tcpSocket" (dict "port" "http") "periodSeconds" 5 "failureThreshold" 60)
  "livenessProbe" (dict "tcpSocket" (dict "port" "http") "periodSeconds" 20 "failureThreshold" 3)
  "readinessProbe" (dict "httpGet" (dict "path" "/metrics" "port" "http") "periodSeconds" 10 "timeoutSeconds" 5) -}}
{{- $pod := dict "root" .root "component" .component "collection" .collection "collections" (list .collection)
  "config" (include "podium.shared" (list .root "config")) "main" "spark" "options" $options "probes" $probes
  "image" (include "podium.image" (list .root .root.Values.spark.image "-spark")) "tmpSize" "4Gi"
  "args" (list "spark" .job "--collection" .collection.name) -}}
{{- if $own -}}
  {{- $_ := set $pod "env" (list (dict "name" "PODIUM_SPARK__CHECKPOINTS" "value" "/var/lib/podium")) -}}
  {{- $_ := set $pod "mounts" (list (dict "name" "checkpoints" "mountPath" "/var/lib/podium")) -}}
  {{- $_ := set $pod "volumes" (list (dict "name" "checkpoints" "persistentVolumeClaim" (dict "claimName" $name))) -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  replicas: 1
  strategy:
    type: Recreate  # two drivers of one checkpoint would take each other's batches
  selector:
    matchLabels:
      {{- include "podium.selector" . | nindent 6 }}
  template:
    {{- include "podium.pod" $pod | nindent 4 }}
{{- if $own }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ $name }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  accessModes: [ReadWriteOnce]
  {{- with $options.checkpoints.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ $options.checkpoints.size }}
{{- end }}
{{- end }}

{{- define "podium.spark.application" -}}
{{- $values := .root.Values -}}
{{- $options := include "podium.options" (dict "root" .root "collection" .collection "component" "spark") | fromJson -}}
{{- $secrets := include "podium.secrets" .root -}}
{{- if include "podium.spark.volume" . -}}
  {{- fail "settings.spark.checkpoints: got nothing, expected a URI that every machine of the cluster reaches, as spark.mode is application" -}}
{{- end -}}
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  name: {{ include "podium.workload" . }}
  labels:
    {{- include "podium.labels" . | nindent 4 }}
spec:
  type: Python
  pythonVersion: "3"
  mode: cluster
  sparkVersion: 4.0.4
  image: {{ include "podium.image" (list .root $values.spark.image "-spark") }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - {{ .name }}
    {{- end }}
  {{- end }}
  mainApplicationFile: local:///opt/podium/jobs.py
  arguments: [{{ .job }}, --collection, {{ .collection.name }}]
  restartPolicy:
    type: Always
  sparkConf:
    spark.driver.extraClassPath: /opt/podium/jars/*
    spark.executor.extraClassPath: /opt/podium/jars/*
  volumes:
    {{- include "podium.volume.config" (list .root (include "podium.shared" (list .root "config")) (list .collection)) | nindent 4 }}
    {{- with $secrets }}
    - name: secrets
      projected:
        defaultMode: 288  # 0440, for the group of the pod
        sources:
          {{- . | trim | nindent 10 }}
    {{- end }}
    - name: tmp
      emptyDir:
        sizeLimit: 4Gi
  driver:
    cores: 1
    memory: {{ $options.executors.driverMemory }}
    {{- include "podium.spark.member" (dict "of" . "options" $options "secrets" $secrets) | nindent 4 }}
  executor:
    instances: {{ int $options.executors.instances }}
    cores: {{ int $options.executors.cores }}
    memory: {{ $options.executors.memory }}
    {{- include "podium.spark.member" (dict "of" . "options" $options "secrets" $secrets) | nindent 4 }}
{{- end }}

{{/* What a driver and an executor have in common. */}}
{{- define "podium.spark.member" -}}
{{- $values := .of.root.Values -}}
serviceAccount: {{ required "spark.executors.serviceAccount: got nothing, expected an account that may make pods, as spark.mode is application" .options.executors.serviceAccount }}
labels:
  {{- include "podium.labels" .of | nindent 2 }}
env:
  {{- include "podium.env" (dict "root" .of.root "options" .options "env" (list (dict "name" "NUMBA_CACHE_DIR" "value" "/tmp/kernels"))) | nindent 2 }}
podSecurityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
securityContext:
  {{- toYaml $values.securityContext | nindent 2 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/podium
    readOnly: true
  {{- if .secrets }}
  - name: secrets
    mountPath: /etc/podium-secrets
    readOnly: true
  {{- end }}
  - name: tmp
    mountPath: /tmp
{{- end }}
