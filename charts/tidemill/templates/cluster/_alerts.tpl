{{/* Labels of Pods that Prometheus gives to what it scrapes there: whose release a figure is of, and which process told it. */}}
{{- define "tidemill.podTargetLabels" -}}
podTargetLabels: [app.kubernetes.io/instance, app.kubernetes.io/component, tidemill.dev/shards]
{{- end }}

{{/* files/alerts.yaml for this release: the groups whose exporter is on, and the rules of components that the release has. */}}
{{- define "tidemill.alerts" -}}
{{- $on := .Values.metrics.prometheusRule.exporters }}
{{- $exporters := dict
  "tidemill" $on.tidemill
  "kube-state-metrics" $on.kubeStateMetrics
  "kubelet" (and $on.kubelet (or (and .Values.nats.enabled .Values.nats.storage.enabled) (and .Values.s3.enabled .Values.s3.storage.enabled)))
  "prometheus-nats-exporter" (and .Values.nats.enabled (kindIs "invalid" $on.nats | ternary .Values.nats.exporter.enabled $on.nats)) }}
{{- $without := dict
  "api" (eq (int .Values.api.replicas) 0)
  "notify" (eq (int .Values.notify.replicas) 0)
  "nats" (not .Values.nats.enabled)
  "s3" (not .Values.s3.enabled) }}
{{- $archives := divf .Values.shards .Values.archive.shardsPerProcess | ceil | int }}
{{- $text := include "tidemill.file" (dict "root" . "path" "files/alerts.yaml")
  | replace "$(release)" (printf "namespace=%q,app_kubernetes_io_instance=%q" .Release.Namespace .Release.Name)
  | replace "$(installation)" (printf "%s/%s" .Release.Namespace .Release.Name)
  | replace "$(namespace)" .Release.Namespace
  | replace "$(fullname)" (include "tidemill.fullname" .)
  | replace "$(archives)" (toString $archives)
  | replace "$(natsReplicas)" (toString .Values.nats.replicas) }}
{{- $groups := list }}
{{- range $group := (fromYaml $text).groups }}
{{- if get $exporters $group.labels.exporter }}
{{- $rules := list }}
{{- range $rule := $group.rules }}
{{- if not (get $without (get $rule.labels "component" | default "")) }}
{{- /* On each rule: only Prometheus 3 knows labels of groups. */}}
{{- $_ := set $rule "labels" (merge (dict "namespace" $.Release.Namespace "release" $.Release.Name) $rule.labels $group.labels) }}
{{- $rules = append $rules $rule }}
{{- end }}
{{- end }}
{{- $groups = append $groups (dict "name" $group.name "rules" $rules) }}
{{- end }}
{{- end }}
groups:
  {{- toYaml $groups | nindent 2 }}
{{- end }}
