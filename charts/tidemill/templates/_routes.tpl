{{/* dict "of" (dict "root" $ "component" "receive") "ingress" .Values.receive.ingress "host" "…" "path" "/hooks" "port" 80 */}}
{{- define "tidemill.ingress" -}}
{{- $name := printf "%s-%s" (include "tidemill.fullname" .of.root) .of.component }}
{{- if .ingress.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
{{ include "tidemill.metadata" (merge (dict "annotations" .ingress.annotations) .of) }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  tls:
    - hosts: [{{ .host | quote }}]
      secretName: {{ .ingress.tlsSecretName | default (printf "%s-tls" $name) }}
  rules:
    - host: {{ .host | quote }}
      http:
        paths:
          - path: {{ .path }}
            pathType: Prefix
            backend:
              service:
                name: {{ $name }}
                port:
                  number: {{ .port }}
{{- end }}
{{- end }}

{{/* dict "of" (dict "root" $ "component" "receive") "route" .Values.receive.httpRoute "hostnames" (list) "path" "/hooks" "port" 80 */}}
{{- define "tidemill.httpRoute" -}}
{{- if .route.enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
{{ include "tidemill.metadata" (merge (dict "annotations" .route.annotations) .of) }}
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
