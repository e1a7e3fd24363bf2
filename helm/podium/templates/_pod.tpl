{{/*
A pod of Podium. (dict "root" $ "component" … "collection" (or nothing) "collections" [those it reads]
"config" name of the ConfigMap "image" … "main" name of the main container "args" […]
"options" values of the component "env" [more variables] "volumes" […] "mounts" […]
"probes" map of probes "restart" policy, of a Job or a test). It says nothing that is not so for all.
*/}}
{{- define "podium.pod" -}}
{{- $values := .root.Values -}}
{{- $secrets := include "podium.secrets" .root -}}
metadata:
  labels:
    {{- include "podium.selector" . | nindent 4 }}
    app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/settings: {{ include "podium.settings" .root | sha256sum }}
    {{- if .collections }}
    checksum/collections: {{ toYaml .collections | sha256sum }}
    {{- end }}
    {{- with mustMergeOverwrite (deepCopy $values.podAnnotations) (default dict .options.podAnnotations) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ default (include "podium.serviceAccount" .root) .serviceAccount }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .restart }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- with .options.terminationGracePeriodSeconds }}
  terminationGracePeriodSeconds: {{ int . }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if not .restart }}
  {{- with $values.topologySpread }}
  topologySpreadConstraints:
    {{- range . }}
    - {{ toYaml . | nindent 6 | trim }}
      labelSelector:
        matchLabels:
          {{- include "podium.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml $values.podSecurityContext | nindent 4 }}
  initContainers:
    # numba keeps compiled kernels only where it may write, and the image's root is read-only.
    - name: kernels
      image: {{ .image }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      command: [cp, -a, /opt/podium/kernels/., /var/cache/podium/]
      resources:
        requests: {cpu: 50m, memory: 32Mi, ephemeral-storage: 256Mi}
        limits: {memory: 64Mi, ephemeral-storage: 512Mi}
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
      volumeMounts:
        - name: kernels
          mountPath: /var/cache/podium
  containers:
    - name: {{ .main }}
      image: {{ .image }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      {{- with .command }}
      command:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      args:
        {{- toYaml .args | nindent 8 }}
      env:
        {{- include "podium.env" . | nindent 8 }}
      {{- with .probes }}
      ports:
        - name: http
          containerPort: {{ int $values.http.port }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      resources:
        {{- toYaml .options.resources | nindent 8 }}
      securityContext:
        {{- toYaml $values.securityContext | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/podium
          readOnly: true
        {{- if $secrets }}
        - name: secrets
          mountPath: /etc/podium-secrets
          readOnly: true
        {{- end }}
        - name: kernels
          mountPath: /var/cache/podium
        - name: tmp
          mountPath: /tmp
        {{- with concat (default list .mounts) $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- if not .restart }}
    {{- with $values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
  volumes:
    {{- include "podium.volume.config" (list .root .config .collections) | nindent 4 }}
    {{- with $secrets }}
    - name: secrets
      projected:
        defaultMode: 288  # 0440, for the group of the pod
        sources:
          {{- . | trim | nindent 10 }}
    {{- end }}
    - name: kernels
      emptyDir:
        sizeLimit: 512Mi
    - name: tmp
      emptyDir:
        sizeLimit: {{ default "512Mi" .tmpSize }}
    {{- with concat (default list .volumes) $values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/*
Variables of the main container, each once: those of the chart, of all pods, of the component. A
later one replaces an earlier one, since Helm 4 refuses a name that is there twice.
*/}}
{{- define "podium.env" -}}
{{- $values := .root.Values -}}
{{- $given := list (dict "name" "PODIUM_CONFIG" "value" "/etc/podium/podium.yaml") -}}
{{- if hasPrefix "sasl" $values.kafka.security -}}
  {{- $given = append $given (dict "name" "PODIUM_KAFKA__PASSWORD_FILE" "value" "/etc/podium-secrets/kafka/password") -}}
{{- end -}}
{{- if $values.redis.existingSecret -}}
  {{- $given = append $given (dict "name" "PODIUM_REDIS__URL_FILE" "value" "/etc/podium-secrets/redis-url") -}}
{{- end -}}
{{- if $values.spark.store.existingSecret -}}
  {{- $given = append $given (dict "name" "PODIUM_SPARK__BASES_FILE" "value" "/etc/podium-secrets/bases-url") -}}
{{- end -}}
{{- $given = concat $given (list (dict "name" "NUMBA_CACHE_DIR" "value" "/var/cache/podium") (dict "name" "HOME" "value" "/tmp")) (default list .env) -}}
{{- $given = concat $given $values.extraEnv (default list .options.extraEnv) -}}
{{- $last := dict -}}
{{- range $given }}{{ $_ := set $last .name . }}{{ end -}}
{{- $variables := list -}}
{{- range $given -}}
  {{- if hasKey $last .name -}}
    {{- $variables = append $variables (get $last .name) -}}
    {{- $_ := unset $last .name -}}
  {{- end -}}
{{- end -}}
{{- toYaml $variables -}}
{{- end }}
