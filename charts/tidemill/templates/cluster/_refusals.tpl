{{/*
Stops with a message. helm lint only notes what fail says (engine.go, LintMode) and goes on, so that a template which doesn't
exist has to stop it: lint prints its name, which is the message.
*/}}
{{- define "tidemill.refuse" -}}
{{- fail . }}
{{- include . . }}
{{- end }}

{{/* Refuses texts of another form: dict "path" "notify.allowedNetworks" "values" (list) "pattern" "^…$" "right" "…". */}}
{{- define "tidemill.refuseUnless" -}}
{{- $dot := . }}
{{- range .values }}
{{- if not (and (kindIs "string" .) (regexMatch $dot.pattern .)) }}
{{- include "tidemill.refuse" (printf "%s has %q. Use %s." $dot.path (toString .) $dot.right) }}
{{- end }}
{{- end }}
{{- end }}

{{/* dict "path" "receive.ingress.extraHosts" "values" (list) */}}
{{- define "tidemill.refuseTwice" -}}
{{- $seen := dict }}
{{- range .values }}
{{- if hasKey $seen (toString .) }}
{{- include "tidemill.refuse" (printf "%s has %q twice. Name each once." $.path (toString .)) }}
{{- end }}
{{- $_ := set $seen (toString .) true }}
{{- end }}
{{- end }}

{{/* dict "path" "operator.watchNamespaces" "values" (list) */}}
{{- define "tidemill.refuseUnlessLabels" -}}
{{- $right := "a DNS label: at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends, such as shop" }}
{{- include "tidemill.refuseUnless" (merge (dict "pattern" "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" "right" $right) .) }}
{{- end }}

{{/* dict "path" "notify.allowedNetworks" "values" (list) */}}
{{- define "tidemill.refuseUnlessNetworks" -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])" }}
{{- $ipv4 := printf "%s(\\.%s){3}/(3[0-2]|[12]?[0-9])" $octet $octet }}
{{- $ipv6 := "[0-9a-fA-F:]*:[0-9a-fA-F:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])" }}
{{- $right := "a network with its mask, such as 10.20.0.0/16 or fd00::/8" }}
{{- include "tidemill.refuseUnless" (merge (dict "pattern" (printf "^(%s|%s)$" $ipv4 $ipv6) "right" $right) .) }}
{{- end }}

{{/* dict "path" "nats.storage.size" "values" (list) */}}
{{- define "tidemill.refuseUnlessQuantities" -}}
{{- $texts := list }}
{{- range .values }}{{ $texts = append $texts (kindIs "float64" . | ternary (toJson .) (toString .)) }}{{ end }}
{{- $right := "a quantity of Kubernetes, such as 500m, 2, 512Mi or 16Gi" }}
{{- include "tidemill.refuseUnless" (dict "path" .path "values" $texts "pattern" "^[0-9]+(\\.[0-9]+)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$" "right" $right) }}
{{- end }}

{{/* dict "path" "receive.resources" "value" (dict) */}}
{{- define "tidemill.refuseResources" -}}
{{- range $key, $amounts := .value }}
{{- if not (has $key (list "requests" "limits" "claims")) }}
{{- include "tidemill.refuse" (printf "%s has the key %q, which is unknown. Use requests, limits or claims." $.path $key) }}
{{- end }}
{{- if and (ne $key "claims") $amounts }}
{{- if not (kindIs "map" $amounts) }}
{{- include "tidemill.refuse" (printf "%s.%s is %q. Use quantities by resource, such as memory: 512Mi." $.path $key (toString $amounts)) }}
{{- end }}
{{- range $resource, $amount := $amounts }}
{{- if not (or (contains "/" $resource) (hasPrefix "hugepages-" $resource) (has $resource (list "cpu" "memory" "ephemeral-storage"))) }}
{{- include "tidemill.refuse" (printf "%s.%s has the key %q, which is unknown. Use cpu, memory, ephemeral-storage or a device's name, such as nvidia.com/gpu." $.path $key $resource) }}
{{- end }}
{{- include "tidemill.refuseUnlessQuantities" (dict "path" (printf "%s.%s.%s" $.path $key $resource) "values" (list $amount)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* dict "path" "commonLabels" "value" (dict) */}}
{{- define "tidemill.refuseLabels" -}}
{{- range $key, $value := .value }}
{{- if or (hasPrefix "tidemill.dev/" $key) (has $key (list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/part-of" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart")) }}
{{- include "tidemill.refuse" (printf "%s has the key %q, which the chart sets and selects Pods by. Use a key of your own, such as example.com/team." $.path $key) }}
{{- end }}
{{- include "tidemill.refuseUnless" (dict "path" (printf "%s[%s]" $.path $key) "values" (list $value) "pattern" "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" "right" "text of at most 63 letters, digits, dashes, dots and underscores, in quotes if it looks like a number or true") }}
{{- end }}
{{- end }}
