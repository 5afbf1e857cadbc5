{{/* The first part of all names. */}}
{{- define "tidemill.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains "tidemill" .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-tidemill" .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/*
A file of the chart: dict "root" $ "path" "files/nats.conf". Fails if it isn't there: Flux, for one, leaves out symbolic links, and
the release would lose a kind or its roles without a word.
*/}}
{{- define "tidemill.file" -}}
{{- required (printf "this copy of the chart lacks %s. Get the chart again, whole: from its registry, or from Git with all of its files." .path) (.root.Files.Get .path) }}
{{- end }}

{{/* Labels that never change, of one component: dict "root" $ "component" "receive". */}}
{{- define "tidemill.selectorLabels" -}}
app.kubernetes.io/name: tidemill
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object: dict "root" $ "component" "receive", and "moreLabels", which win over commonLabels. */}}
{{- define "tidemill.labels" -}}
app.kubernetes.io/name: tidemill
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/part-of: tidemill
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with merge (deepCopy (.moreLabels | default dict)) .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An image's full name: dict "root" $ "image" .Values.image "tag" "used if empty". */}}
{{- define "tidemill.image" -}}
{{- $name := .image.repository }}
{{- with .root.Values.global.imageRegistry | default .image.registry }}{{ $name = printf "%s/%s" . $name }}{{ end }}
{{- if .image.digest }}
{{- printf "%s@%s" $name .image.digest }}
{{- else }}
{{- printf "%s:%s" $name (.image.tag | default .tag) }}
{{- end }}
{{- end }}

{{- define "tidemill.ownImage" -}}
{{- include "tidemill.image" (dict "root" . "image" .Values.image "tag" .Chart.AppVersion) }}
{{- end }}

{{/* dict "root" $ "component" "receive" "values" .Values.receive */}}
{{- define "tidemill.serviceAccountName" -}}
{{- .values.serviceAccount.name | default (printf "%s-%s" (include "tidemill.fullname" .root) .component) }}
{{- end }}

{{- define "tidemill.natsPasswords" -}}
{{- .Values.nats.existingSecret | default (printf "%s-nats-passwords" (include "tidemill.fullname" .)) }}
{{- end }}

{{/* The Secret with NATS's authority, and the bundled NATS's certificate; empty if NATS has no certificate of ours. */}}
{{- define "tidemill.natsTls" -}}
{{- if .Values.nats.tls.existingSecret }}
{{- .Values.nats.tls.existingSecret }}
{{- else if and .Values.nats.enabled .Values.nats.tls.enabled }}
{{- printf "%s-nats-tls" (include "tidemill.fullname" .) }}
{{- end }}
{{- end }}

{{- define "tidemill.sealKey" -}}
{{- .Values.sealKey.existingSecret | default (printf "%s-seal-key" (include "tidemill.fullname" .)) }}
{{- end }}

{{/* The Secret that seals the console's sessions; empty if there is none, and then no console is served. */}}
{{- define "tidemill.consoleKey" -}}
{{- $console := .Values.api.console }}
{{- if and $console.enabled (gt (int .Values.api.replicas) 0) (or $console.existingSecret .Values.setup.enabled) }}
{{- $console.existingSecret | default (printf "%s-console-key" (include "tidemill.fullname" .)) }}
{{- end }}
{{- end }}

{{/* The Secret with the store's keys; empty if archive has a role. */}}
{{- define "tidemill.s3Keys" -}}
{{- if .Values.s3.enabled }}
{{- .Values.s3.existingSecret | default (printf "%s-s3" (include "tidemill.fullname" .)) }}
{{- else }}
{{- .Values.objectStore.existingSecret }}
{{- end }}
{{- end }}

{{- define "tidemill.bucket" -}}
{{- .Values.objectStore.bucket | default (ternary "tidemill" "" .Values.s3.enabled) }}
{{- end }}

{{/* What no other installation may have: a NATS and a bucket that the release doesn't bring along. */}}
{{- define "tidemill.exclusiveStores" -}}
{{- $stores := list }}
{{- if not .Values.nats.enabled }}
{{- range splitList "," .Values.nats.url }}
{{- $stores = append $stores (printf "nats://%s" (splitList "://" . | last)) }}
{{- end }}
{{- end }}
{{- if not .Values.s3.enabled }}
{{- $store := .Values.objectStore }}
{{- $host := $store.endpoint | default (printf "s3.%s.amazonaws.com" $store.region) }}
{{- $stores = append $stores (printf "s3://%s/%s/%s" (splitList "://" $host | last | trimSuffix "/") $store.bucket $store.prefix) }}
{{- end }}
{{- join "," $stores }}
{{- end }}

{{/* Copies of each stream. */}}
{{- define "tidemill.streamReplicas" -}}
{{- if .Values.nats.streamReplicas }}
{{- .Values.nats.streamReplicas | int }}
{{- else }}
{{- ternary 3 1 (and .Values.nats.enabled (ge (int .Values.nats.replicas) 3)) }}
{{- end }}
{{- end }}

{{/* The names under which clients and other servers reach the bundled NATS. */}}
{{- define "tidemill.natsHosts" -}}
{{- $hosts := list }}
{{- $name := printf "%s-nats" (include "tidemill.fullname" .) }}
{{- $namespace := .Release.Namespace }}
{{- range $prefix := list $name (printf "*.%s-headless" $name) }}
{{- range $suffix := list "" (printf ".%s" $namespace) (printf ".%s.svc" $namespace) (printf ".%s.svc.cluster.local" $namespace) }}
{{- $hosts = append $hosts (printf "%s%s" $prefix $suffix) }}
{{- end }}
{{- end }}
{{- join "," $hosts }}
{{- end }}

{{/* The first part of a name that the whole cluster shares: another release may have the same name in another namespace. RBAC's names may have colons. */}}
{{- define "tidemill.clusterwide" -}}
{{ .Release.Namespace }}:{{ include "tidemill.fullname" . }}
{{- end }}

{{/* Of the operator's bindings. */}}
{{- define "tidemill.operatorSubject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "tidemill.serviceAccountName" (dict "root" . "component" "operator" "values" .Values.operator) }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{/*
Before each installation and upgrade. Argo CD honours these, too. Helm removes no hook on uninstall, so a failed one goes at once: its
Pod's events stay for "tidemill doctor", and its log is in Helm's output.
*/}}
{{- define "tidemill.setupHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
helm.sh/hook-output-log-policy: hook-failed
{{- end }}

{{/* The components that have metrics. */}}
{{- define "tidemill.scrapedComponents" -}}
{{- $all := list "receive" "archive" "operator" "api" "notify" }}
{{- if and .Values.nats.enabled .Values.nats.exporter.enabled }}
{{- $all = append $all "nats" }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/* The Pods that have metrics. */}}
{{- define "tidemill.scrapedPods" -}}
matchLabels:
  app.kubernetes.io/name: tidemill
  app.kubernetes.io/instance: {{ .Release.Name }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values:
      {{- include "tidemill.scrapedComponents" . | nindent 6 }}
{{- end }}
