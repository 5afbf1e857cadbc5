{{/* What every Pod has: dict "root" $ "component" "receive" "values" .Values.receive. */}}
{{- define "tidemill.podBasics" -}}
{{- with concat .root.Values.global.imagePullSecrets .root.Values.imagePullSecrets | uniq }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
# Variables of other Services could have the names of settings.
enableServiceLinks: false
securityContext:
  {{- with .root.Values.podSecurityContext }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
nodeSelector:
  {{- merge (deepCopy .values.nodeSelector) (dict "kubernetes.io/os" "linux") | toYaml | nindent 2 }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $field := list "priorityClassName" "runtimeClassName" "hostAliases" "dnsPolicy" "dnsConfig" }}
{{- with get $.values $field }}
{{ dict $field . | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemill.revisionHistoryLimit" -}}
{{- if ne (toString .Values.revisionHistoryLimit) "<nil>" -}}
revisionHistoryLimit: {{ .Values.revisionHistoryLimit }}
{{- end }}
{{- end }}

{{/* Over nodes and zones, unless the values say otherwise. The same dict, with "revision", the label of one revision's Pods. */}}
{{- define "tidemill.spread" -}}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- $dot := . }}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tidemill.selectorLabels" $dot | nindent 8 }}
    matchLabelKeys: [{{ $dot.revision | default "pod-template-hash" }}]
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemill.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/*
Variables of a container, each name once: dict "first" (list of variables to which others refer) "env" (dict by name) "values"
.Values.receive, whose env and extraEnv win. An empty value counts as unset.
*/}}
{{- define "tidemill.env" -}}
{{- $own := dict }}
{{- range .values.extraEnv }}
{{- $_ := set $own .name true }}
{{- end }}
{{- $all := deepCopy .env }}
{{- range $name, $value := .values.env }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- range .first }}
{{- if not (or (hasKey $own .name) (hasKey $all .name)) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- range $name, $value := $all }}
{{- if and (ne (toString $value) "") (not (hasKey $own $name)) }}
- name: {{ $name }}
{{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
{{- else }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* More containers of one's own beside ours: the values of a component. What their securityContext leaves open is as in ours. */}}
{{- define "tidemill.extraContainers" -}}
{{- range .extraContainers }}
{{- $security := include "tidemill.containerSecurity" $ | fromYaml }}
{{- /* Not merge, for which false is no value. */}}
{{- range $key, $value := .securityContext }}
{{- if kindIs "map" $value }}
{{- $value = merge (deepCopy $value) (get $security $key | default dict) }}
{{- end }}
{{- $_ := set $security $key $value }}
{{- end }}
- {{ set (deepCopy .) "securityContext" $security | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}

{{/* A process of Tidemill with its probes: dict "root" $ "role" "receive" "values" .Values.receive "env" (dict) "ports" (dict) "mounts" (list). */}}
{{- define "tidemill.container" -}}
{{- $root := .root }}
{{- $nats := $root.Values.nats }}
{{- $env := dict "HEALTH_HOST" $root.Values.listenHost "HEALTH_PORT" "8081" }}
{{- if include "tidemill.natsTls" $root }}
{{- $_ := set $env "NATS_CA_FILE" "/etc/tidemill/nats/ca.crt" }}
{{- end }}
{{- $url := $nats.url }}
{{- if $nats.enabled }}
{{- $url = printf "%s://%s-nats:4222" (ternary "tls" "nats" $nats.tls.enabled) (include "tidemill.fullname" $root) }}
{{- end }}
{{- if and $root.Values.tracing.endpoint (has .role (list "receive" "archive" "operator")) }}
{{- $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" $root.Values.tracing.endpoint }}
{{- $_ := set $env "OTEL_TRACES_SAMPLER" $root.Values.tracing.sampler }}
{{- $_ := set $env "OTEL_TRACES_SAMPLER_ARG" (toString $root.Values.tracing.ratio) }}
{{- end }}
{{- range $name, $value := .env }}
{{- $_ := set $env $name $value }}
{{- end }}
{{- range $name, $value := (get (include "tidemill.file" (dict "root" $root "path" "files/environment.yaml") | fromYaml) .role | default dict) }}
{{- $_ := set $env $name $value }}
{{- end }}
- name: {{ .role }}
  image: {{ include "tidemill.ownImage" $root }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: [{{ .role }}]
  env:
    {{- $_ := set $env "NATS_URL" $url }}
    {{- $_ := set $env "NATS_USERS_DIR" "/etc/tidemill/nats-users" }}
    {{- include "tidemill.env" (dict "env" $env "values" .values) | trim | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - name: {{ $name }}
      containerPort: {{ $port }}
    {{- end }}
    - name: health
      containerPort: 8081
  readinessProbe:
    httpGet:
      path: /readyz
      port: health
    {{- toYaml $root.Values.probes.readiness | nindent 4 }}
  livenessProbe:
    httpGet:
      path: /healthz
      port: health
    {{- toYaml $root.Values.probes.liveness | nindent 4 }}
  {{- with .values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "tidemill.containerSecurity" . | nindent 4 }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    # Not by subPath, here and below: kubelet would never write a changed Secret into it.
    - name: nats-users
      mountPath: /etc/tidemill/nats-users
      readOnly: true
    {{- if include "tidemill.natsTls" $root }}
    - name: nats-authority
      mountPath: /etc/tidemill/nats
      readOnly: true
    {{- end }}
    {{- with concat .mounts .values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- include "tidemill.extraContainers" .values }}
{{- end }}

{{/* The volumes that every process of Tidemill has, and those of the values: the same dict as podBasics. */}}
{{- define "tidemill.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with .values.extraVolumes }}
{{ toYaml . }}
{{- end }}
- name: nats-users
  secret:
    secretName: {{ include "tidemill.natsPasswords" .root }}
    # What is missing, the process says on /readyz. A Secret of one's own may have no second user.
    optional: true
    items:
      - key: {{ .component }}
        path: {{ .component }}
      - key: {{ .component }}-b
        path: {{ .component }}-b
{{- with include "tidemill.natsTls" .root }}
- name: nats-authority
  secret:
    secretName: {{ . }}
    # Never the key.
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end }}

{{- define "tidemill.sealKeyVolume" -}}
{{- include "tidemill.keyVolume" (include "tidemill.sealKey" .) }}
{{- end }}

{{/* A Secret's key that seals, and those beside it. */}}
{{- define "tidemill.keyVolume" -}}
- name: seal-key
  secret:
    secretName: {{ . }}
    # The second and the third are there while one key replaces another.
    optional: true
    items:
      - key: seal-key
        path: seal-key
      - key: seal-key-next
        path: seal-key-next
      - key: seal-key-former
        path: seal-key-former
{{- end }}

{{/* A Deployment's Pod template up to its spec: the same dict as podBasics. */}}
{{- define "tidemill.podMetadata" -}}
metadata:
  labels:
    {{- include "tidemill.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/part-of: tidemill
    {{- if has .component (include "tidemill.scrapedComponents" .root | fromYamlArray) }}
    tidemill.dev/metrics: "true"
    {{- end }}
    {{- with merge (deepCopy .values.podLabels) .root.Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- $annotations := dict "kubectl.kubernetes.io/default-container" (.container | default .component) }}
    {{- with .checksum }}
    {{- $_ := set $annotations "checksum/config" . }}
    {{- end }}
    {{- merge (deepCopy .values.podAnnotations) $annotations .root.Values.commonAnnotations | toYaml | nindent 4 }}
{{- end }}

{{/*
metadata of an object: dict "root" $ "component" "receive"; "name" if it isn't the component's; "namespace" if it isn't the
release's, "" for an object of the whole cluster; and "annotations" and "moreLabels", which win over those of all objects.
*/}}
{{- define "tidemill.metadata" -}}
metadata:
  name: {{ .name | default (printf "%s-%s" (include "tidemill.fullname" .root) .component) }}
  {{- with hasKey . "namespace" | ternary .namespace .root.Release.Namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "tidemill.labels" . | nindent 4 }}
  {{- with merge (deepCopy (.annotations | default dict)) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* An object of files/: dict "root" $ "object" (dict) "isKept" (whether it stays when the release goes). */}}
{{- define "tidemill.fileObject" -}}
{{- $metadata := .object.metadata }}
{{- $labels := include "tidemill.labels" (dict "root" .root) | fromYaml }}
{{- $_ := set $metadata "labels" (merge $labels ($metadata.labels | default dict)) }}
{{- $annotations := merge ($metadata.annotations | default dict) .root.Values.commonAnnotations }}
{{- if .isKept }}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
{{- if $annotations }}
{{- $_ := set $metadata "annotations" $annotations }}
{{- end }}
---
{{ toYaml .object }}
{{- end }}

{{/* dict "root" $ "component" "receive" "values" .Values.receive, and "annotations" that win over those of the values. */}}
{{- define "tidemill.serviceAccount" -}}
{{- $account := .values.serviceAccount }}
{{- if $account.create }}
{{- $more := dict "annotations" (merge (.annotations | default dict) $account.annotations) "moreLabels" $account.labels }}
apiVersion: v1
kind: ServiceAccount
{{ include "tidemill.metadata" (merge (dict "name" (include "tidemill.serviceAccountName" .)) $more .) }}
# Only Pods that say so mount a token.
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* dict "root" $ "component" "receive" "values" .Values.receive */}}
{{- define "tidemill.podDisruptionBudget" -}}
{{- $pdb := .values.pdb }}
{{- if $pdb.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
{{ include "tidemill.metadata" . }}
spec:
  {{- if ne (toString $pdb.minAvailable) "" }}
  minAvailable: {{ $pdb.minAvailable }}
  {{- else }}
  maxUnavailable: {{ ne (toString $pdb.maxUnavailable) "" | ternary $pdb.maxUnavailable 1 }}
  {{- end }}
  unhealthyPodEvictionPolicy: {{ $pdb.unhealthyPodEvictionPolicy }}
  selector:
    matchLabels:
      {{- include "tidemill.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}
