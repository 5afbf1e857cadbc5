{{/* What every Pod has: dict "root" $ "component" "receive" "values" .Values.receive. */}}
{{- define "tidemill.podBasics" -}}
{{- with .root.Values.imagePullSecrets }}
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
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
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

{{/* Variables by name: dict "env" (dict) "own" .Values.receive.env, which wins. An empty value counts as unset. */}}
{{- define "tidemill.env" -}}
{{- $all := deepCopy .env }}
{{- range $name, $value := .own }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- range $name, $value := $all }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
{{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
{{- else }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
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
{{- range $name, $value := (get ($root.Files.Get "files/environment.yaml" | fromYaml) .role | default dict) }}
{{- $_ := set $env $name $value }}
{{- end }}
- name: {{ .role }}
  image: {{ include "tidemill.ownImage" $root }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: [{{ .role }}]
  env:
    - name: NATS_URL
      value: {{ $url | quote }}
    - name: NATS_USERS_DIR
      value: /etc/tidemill/nats-users
    {{- include "tidemill.env" (dict "env" $env "own" .values.env) | trim | nindent 4 }}
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
    periodSeconds: 3
    timeoutSeconds: 3
  livenessProbe:
    httpGet:
      path: /healthz
      port: health
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
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
    {{- with .mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* The volumes that every process of Tidemill has: dict "root" $ "role" "receive". */}}
{{- define "tidemill.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
- name: nats-users
  secret:
    secretName: {{ include "tidemill.natsPasswords" .root }}
    # What is missing, the process says on /readyz. A Secret of one's own may have no second user.
    optional: true
    items:
      - key: {{ .role }}
        path: {{ .role }}
      - key: {{ .role }}-b
        path: {{ .role }}-b
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
- name: seal-key
  secret:
    secretName: {{ include "tidemill.sealKey" . }}
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
    {{- if has .component (list "receive" "archive" "operator" "api" "notify") }}
    tidemill.dev/metrics: "true"
    {{- end }}
    {{- with .root.Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .container | default .component }}
    {{- with .checksum }}
    checksum/config: {{ . }}
    {{- end }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* metadata of an object: dict "root" $ "component" "receive", and "name" if it isn't the component's. */}}
{{- define "tidemill.metadata" -}}
metadata:
  name: {{ .name | default (printf "%s-%s" (include "tidemill.fullname" .root) .component) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "tidemill.labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* dict "root" $ "component" "receive" "values" .Values.receive */}}
{{- define "tidemill.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
{{ include "tidemill.metadata" (merge (dict "annotations" .values.serviceAccount.annotations) .) }}
# Only Pods that say so mount a token.
automountServiceAccountToken: false
{{- end }}

{{/* dict "root" $ "component" "receive" */}}
{{- define "tidemill.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
{{ include "tidemill.metadata" . }}
spec:
  maxUnavailable: 1
  # A Pod that isn't ready serves nobody, so it holds up no drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "tidemill.selectorLabels" . | nindent 6 }}
{{- end }}
