{{/* nats-server's configuration: what is the same everywhere (files/nats.conf), and this cluster's listeners and routes. */}}
{{- define "tidemill.natsConfig" -}}
{{- $nats := .Values.nats }}
{{- $name := printf "%s-nats" (include "tidemill.fullname" .) }}
{{- $host := ternary (printf "[%s]" .Values.listenHost) .Values.listenHost (contains ":" .Values.listenHost) -}}
# Written by the reloader.
include "../../run/nats/users.conf"
NATS_LISTEN: "{{ $host }}:4222"
NATS_MAX_FILE_STORE: {{ int64 $nats.maxFileStoreBytes }}
{{ include "tidemill.file" (dict "root" . "path" "files/nats.conf") }}
# For kubelet's probes, and the reloader.
http: "{{ $host }}:8222"
{{- if $nats.tls.enabled }}
tls {
  cert_file: /etc/nats-tls/tls.crt
  key_file: /etc/nats-tls/tls.key
}
{{- end }}
{{- if gt (int $nats.replicas) 1 }}
cluster {
  name: {{ $name }}
  listen: "{{ $host }}:6222"
  routes: [
    {{- range until (int $nats.replicas) }}
    "tls://{{ $name }}-{{ . }}.{{ $name }}-headless:6222"
    {{- end }}
  ]
  tls {
    cert_file: /etc/nats-tls/tls.crt
    key_file: /etc/nats-tls/tls.key
    ca_file: /etc/nats-tls/ca.crt
    # Only a server with a certificate of this authority joins.
    verify: true
  }
}
{{- end }}
{{- end }}

{{/* Metrics of the server beside it, as in https://github.com/nats-io/k8s; the alerts need -healthz, too. */}}
{{- define "tidemill.natsExporter" -}}
{{- $exporter := .Values.nats.exporter }}
- name: exporter
  image: {{ include "tidemill.image" (dict "root" . "image" $exporter.image) }}
  imagePullPolicy: {{ $exporter.image.pullPolicy }}
  {{- with $exporter.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  args: ["-port={{ $exporter.port }}", -varz, -connz, -healthz, -routez, -subz, -jsz=all, -prefix=nats, -use_internal_server_id, "http://localhost:8222/"]
  ports:
    - name: nats-metrics
      containerPort: {{ $exporter.port }}
  {{- with $exporter.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "tidemill.containerSecurity" . | nindent 4 }}
{{- end }}

{{/* The bytes of a quantity, such as 16Gi or 2e10; 0 if it isn't one. */}}
{{- define "tidemill.bytes" -}}
{{- $suffix := regexFind "([kMGTPE]|[KMGTPE]i)$" . }}
{{- $base := hasSuffix "i" $suffix | ternary 1024 1000 }}
{{- $bytes := trimSuffix $suffix . | float64 }}
{{- range until (index (dict "" 0 "k" 1 "K" 1 "M" 2 "G" 3 "T" 4 "P" 5 "E" 6) (trimSuffix "i" $suffix) | int) }}
{{- $bytes = mulf $bytes $base }}
{{- end }}
{{- printf "%f" $bytes }}
{{- end }}

{{/* A volume for each Pod of a StatefulSet: dict "of" (dict …) "storage" .Values.nats.storage. */}}
{{- define "tidemill.volumeClaim" -}}
persistentVolumeClaimRetentionPolicy:
  whenDeleted: {{ .storage.retentionPolicy.whenDeleted }}
  # A StatefulSet whose servers' number is fixed has no value for this.
  whenScaled: {{ .storage.retentionPolicy.whenScaled | default "Retain" }}
volumeClaimTemplates:
  - metadata:
      name: data
      labels:
        {{- include "tidemill.selectorLabels" .of | nindent 8 }}
    spec:
      accessModes: [ReadWriteOnce]
      {{- with .storage.storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources:
        requests:
          storage: {{ .storage.size | quote }}
{{- end }}
