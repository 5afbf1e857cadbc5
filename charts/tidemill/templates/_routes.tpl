{{/*
dict "of" (dict "root" $ "component" "receive") "service" .Values.receive.service "spec" (dict of the fields that no value sets).
What the values leave empty is not in the manifest, so that the cluster decides.
*/}}
{{- define "tidemill.service" -}}
{{- $spec := dict "selector" (include "tidemill.selectorLabels" .of | fromYaml) }}
{{- range $field := list "type" "externalTrafficPolicy" "loadBalancerClass" "loadBalancerSourceRanges" "ipFamilyPolicy" "ipFamilies" }}
{{- with get $.service $field }}{{ $_ := set $spec $field . }}{{ end }}
{{- end }}
apiVersion: v1
kind: Service
{{ include "tidemill.metadata" (merge (dict "annotations" .service.annotations "moreLabels" .service.labels) .of) }}
spec:
  {{- merge $spec .spec | toYaml | nindent 2 }}
{{- end }}

{{/* The one port of a Service of people's: .Values.receive.service. */}}
{{- define "tidemill.httpPort" -}}
name: http
port: {{ .port }}
targetPort: http
{{- with .nodePort }}
nodePort: {{ . }}
{{- end }}
{{- end }}

{{/* dict "of" (dict "root" $ "component" "receive") "ingress" .Values.receive.ingress "host" "…" "port" 80 */}}
{{- define "tidemill.ingress" -}}
{{- $name := printf "%s-%s" (include "tidemill.fullname" .of.root) .of.component }}
{{- if .ingress.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
{{ include "tidemill.metadata" (merge (dict "annotations" .ingress.annotations "moreLabels" .ingress.labels) .of) }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- $hosts := prepend .ingress.extraHosts .host }}
  {{- $tls := .ingress.extraTls }}
  {{- if .ingress.tls }}
  {{- $rest := $hosts }}
  {{- range .ingress.extraTls }}
  {{- range .hosts }}{{ $rest = without $rest . }}{{ end }}
  {{- end }}
  {{- $secret := .ingress.tlsSecretName | default (printf "%s-tls" $name) }}
  {{- $tls = $rest | empty | ternary $tls (prepend $tls (dict "hosts" $rest "secretName" $secret)) }}
  {{- end }}
  {{- with $tls }}
  tls:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- range $hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          - path: {{ $.ingress.path | quote }}
            pathType: {{ $.ingress.pathType }}
            backend:
              service:
                name: {{ $name }}
                port:
                  number: {{ $.port }}
    {{- end }}
{{- end }}
{{- end }}

{{/* dict "of" (dict "root" $ "component" "receive") "route" .Values.receive.httpRoute "hostnames" (list) "path" "/hooks" "port" 80 */}}
{{- define "tidemill.httpRoute" -}}
{{- if .route.enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
{{ include "tidemill.metadata" (merge (dict "annotations" .route.annotations "moreLabels" .route.labels) .of) }}
spec:
  parentRefs:
    {{- toYaml .route.parentRefs | nindent 4 }}
  {{- with .hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        - path:
            type: PathPrefix
            value: {{ .path }}
      backendRefs:
        - name: {{ include "tidemill.fullname" .of.root }}-{{ .of.component }}
          port: {{ .port }}
{{- end }}
{{- end }}
