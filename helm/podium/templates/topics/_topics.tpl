{{/*
Topics of a collection for Strimzi, as `podium topics create` would make them (topics/catalogue.py):
partitions, and the settings that must not be left to the broker.
*/}}
{{- define "podium.topics.of" -}}
{{- $kept := default dict .retention -}}
{{- $partitions := default dict .partitions -}}
{{- $shards := default 2 .shards | int -}}
{{- $zones := default 2 .zones | int -}}
{{- $record := "4194304" -}}{{- $frame := "16777216" -}}
{{- $compacted := dict "cleanup.policy" "compact" "max.message.bytes" $record
  "min.compaction.lag.ms" (include "podium.ms" (list (default 60 $kept.compaction_lag_minutes) 60000))
  "delete.retention.ms" (include "podium.ms" (list (default 7 $kept.unsubscriptions_days) 86400000)) -}}
{{- $short := dict "cleanup.policy" "delete" "max.message.bytes" $frame "segment.bytes" "134217728"
  "retention.ms" (include "podium.ms" (list (default 60 $kept.frames_minutes) 60000)) -}}
{{- $letters := dict "partitions" 1 "config" (dict "cleanup.policy" "delete" "max.message.bytes" "5242880"
  "retention.ms" (include "podium.ms" (list (default 14 $kept.dead_letters_days) 86400000))) -}}
{{- $latest := dict "cleanup.policy" "compact" "max.message.bytes" $record -}}
{{- $matches := dict "cleanup.policy" "delete" "max.message.bytes" $frame
  "retention.ms" (include "podium.ms" (list (default 24 $kept.matches_hours) 3600000)) -}}
{{- $topics := dict "subscriptions" (dict "partitions" $shards "config" $compacted) "subscriptions.dlq" $letters -}}
{{- if eq .kind "range_topk" -}}
  {{- $_ := set $matches "cleanup.policy" "compact,delete" -}}
  {{- $_ := set $topics "objects" (dict "partitions" 1 "config" $compacted) -}}
  {{- $_ := set $topics "messages" (dict "partitions" $zones "config" $short) -}}
  {{- $_ := set $topics "progress" (dict "partitions" $zones "config" $latest) -}}
  {{- $_ := set $topics "objects.dlq" $letters -}}
{{- else -}}
  {{- $events := dict "cleanup.policy" "delete" "max.message.bytes" $record
    "retention.ms" (include "podium.ms" (list (default 24 $kept.events_hours) 3600000)) -}}
  {{- $_ := set $topics "events" (dict "partitions" (default 4 $partitions.events | int) "config" $events) -}}
  {{- $_ := set $topics "bases" (dict "partitions" $shards "config" $latest) -}}
  {{- $_ := set $topics "events.dlq" $letters -}}
  {{- if ne (default "sharded" .layout) "replicated" -}}
    {{- $_ := set $topics "frames" (dict "partitions" $shards "config" $short) -}}
    {{- $_ := set $topics "partials" (dict "partitions" (default 2 $partitions.partials | int) "config" $short) -}}
    {{- $_ := set $topics "routes" (dict "partitions" $shards "config" (merge (dict "max.message.bytes" $frame) $latest)) -}}
  {{- end -}}
{{- end -}}
{{- $_ := set $topics "matches" (dict "partitions" (default 4 $partitions.matches | int) "config" $matches) -}}
{{- toJson $topics -}}
{{- end }}

{{/* (list amount milliseconds-each), whole. */}}
{{- define "podium.ms" -}}
{{ round (mulf (first .) (last .)) 0 | int64 }}
{{- end }}
