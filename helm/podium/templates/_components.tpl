{{/*
Which components a collection has: the pipeline of its kind (workers/kinds.py), less what its
settings leave out. Nothing else in this chart looks at a kind.
*/}}
{{- define "podium.components" -}}
{{- if eq .kind "range_topk" -}}
  {{- if ne (default "live" .painter) "batch" }}painter {{ end -}}
  {{- if ne (default "lists" .deliver) "messages" }}zones {{ end -}}
{{- else if eq (default "sharded" .layout) "replicated" -}}
  node
{{- else -}}
  router matcher merger
{{- end -}}
{{- end }}

{{/* Contexts of a component, one for each collection that has it, as JSON: (list $ component). */}}
{{- define "podium.of" -}}
{{- $root := index . 0 -}}{{- $component := index . 1 -}}
{{- $names := list -}}
{{- range $root.Values.collections -}}
  {{- if has $component (splitList " " (include "podium.components" .)) -}}
    {{- $names = append $names .name -}}
  {{- end -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{/*
What a component reads from, and how many can share it. `role` is the name of `podium worker`;
`keeps` says whether pods keep their name and with it their partitions.
*/}}
{{- define "podium.facts" -}}
{{- $partitions := default dict .collection.partitions -}}
{{- if eq .component "node" -}}
role: node
group: router
topic: events
partitions: {{ default 4 $partitions.events | int }}
{{- else if eq .component "router" -}}
role: router
group: router
topic: events
partitions: {{ default 4 $partitions.events | int }}
{{- else if eq .component "matcher" -}}
role: matcher
group: matcher
topic: frames
partitions: {{ default 2 .collection.shards | int }}
keeps: true
{{- else if eq .component "merger" -}}
role: merger
group: merger
topic: partials
partitions: {{ default 2 $partitions.partials | int }}
{{- else if eq .component "painter" -}}
role: painter
group: painter
topic: objects
partitions: 1
{{- else if eq .component "zones" -}}
role: zone
group: zone
topic: messages
partitions: {{ default 2 .collection.zones | int }}
keeps: true
{{- end -}}
{{- end }}

{{/* Values of the component, with what `overrides` says of this collection. */}}
{{- define "podium.options" -}}
{{- $own := index .root.Values .component -}}
{{- $of := index (default dict $own.overrides) .collection.name | default dict -}}
{{- mustMergeOverwrite (omit (deepCopy $own) "overrides") (deepCopy $of) | toJson -}}
{{- end }}

{{/* Mistakes that a schema cannot find. */}}
{{- define "podium.check" -}}
{{- $names := list -}}
{{- range .Values.collections -}}
  {{- if has .name $names -}}
    {{- fail (printf "collections: %q is there twice, expected each name once" .name) -}}
  {{- end -}}
  {{- $names = append $names .name -}}
{{- end -}}
{{- range $component := list "node" "router" "matcher" "merger" "painter" "zones" "spark" -}}
  {{- range $name := keys (default dict (index $.Values $component).overrides) | sortAlpha -}}
    {{- if not (has $name $names) -}}
      {{- fail (printf "%s.overrides: got %q, expected one of the collections: %s" $component $name (join ", " $names)) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $name := .Values.spark.bases -}}
  {{- if not (has $name $names) -}}
    {{- fail (printf "spark.bases: got %q, expected one of the collections: %s" $name (join ", " $names)) -}}
  {{- end -}}
{{- end -}}
{{- if and .Values.topics.job.enabled .Values.topics.strimzi.enabled -}}
  {{- fail "topics: got both job.enabled and strimzi.enabled, expected one that owns the topics; set topics.job.enabled=false" -}}
{{- end -}}
{{- end }}
