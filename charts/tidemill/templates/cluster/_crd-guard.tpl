{{/* A mark for each field of a schema. Definitions change by additions only, so later ones have no fewer. */}}
{{- define "tidemill.fields" -}}
{{- range .properties }}x{{ include "tidemill.fields" . }}{{ end }}
{{- with .items }}{{ include "tidemill.fields" . }}{{ end }}
{{- if kindIs "map" .additionalProperties }}{{ include "tidemill.fields" .additionalProperties }}{{ end }}
{{- end }}

{{/*
Definitions with fewer fields would take the others from each stored resource at its next write. The apiserver keeps the newer
definitions instead, and a rollback of all else goes on.
*/}}
{{- define "tidemill.crdGuard" -}}
{{- if semverCompare ">=1.36-0" .Capabilities.KubeVersion.Version -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: tidemill-crds
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  {{- include "tidemill.fewerFields" . | nindent 2 }}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          [JSONPatch{op: 'replace', path: '/spec', value: oldObject.spec}] +
          (has(object.metadata.annotations) ? [] : [JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}]) +
          [JSONPatch{op: 'add', path: '/metadata/annotations/tidemill.dev~1fields', value: oldObject.metadata.annotations['tidemill.dev/fields']}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: tidemill-crds
spec:
  policyName: tidemill-crds
---
{{ end -}}
# Before Kubernetes 1.36 no policy changes what it admits, so there this one refuses the same.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: tidemill-crds
spec:
  failurePolicy: Fail
  {{- include "tidemill.fewerFields" . | nindent 2 }}
  validations:
    - expression: "false"
      messageExpression: >-
        object.metadata.name + ' has fields in the cluster that are missing here, and stored resources would lose what they have in them. ' +
        {{- if not .Values.crds.keep }}
        'First upgrade the installed version with --set crds.keep=true, since Helm deletes definitions that are left out otherwise, and all resources with them. ' +
        {{- end }}
        'Keep the newer definitions: run helm upgrade to the earlier version with --set crds.enabled=false.'
      reason: Invalid
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: tidemill-crds
spec:
  policyName: tidemill-crds
  validationActions: [Deny]
{{- end }}

{{/* A chart from before this guard counts none. */}}
{{- define "tidemill.fewerFields" -}}
matchConstraints:
  resourceRules:
    - apiGroups: [apiextensions.k8s.io]
      apiVersions: [v1]
      operations: [UPDATE]
      resources: [customresourcedefinitions]
      resourceNames:
        - destinations.tidemill.dev
        - operations.tidemill.dev
        - pipelines.tidemill.dev
        - runs.tidemill.dev
        - sources.tidemill.dev
        - trackingplans.tidemill.dev
matchConditions:
  - name: has-fewer-fields
    expression: >-
      int(object.metadata.?annotations[?'tidemill.dev/fields'].orValue('0')) <
      int(oldObject.metadata.?annotations[?'tidemill.dev/fields'].orValue('0'))
{{- end }}
