{{/* Adds a refusal: dict "found" (all of them) "path" "shards" "text" "is 0. Use …". Of one value, only the first. */}}
{{- define "tidemill.refuse" -}}
{{- if not (hasKey .found.paths .path) }}
{{- $_ := set .found.paths .path true }}
{{- $_ = set .found "all" (append .found.all (printf "%s %s" .path .text)) }}
{{- end }}
{{- end }}

{{/* How a refusal shows a value: nothing that may be secret, and not too long. dict "value" (any) "schema" (dict) */}}
{{- define "tidemill.shown" -}}
{{- $text := kindIs "string" .value | ternary (printf "%q" .value) (toRawJson .value) }}
{{- if or .schema.writeOnly (regexMatch "://[^/ ]*@" $text) }}
{{- if .schema.writeOnly }}{{ get (dict "map" "an object" "slice" "a list" "string" "a text") (kindOf .value) | default "a number or the like" }}{{ else }}an address with a user or a password{{ end }}
{{- else }}
{{- $text | trunc 200 }}
{{- end }}
{{- end }}

{{/* The right form of a schema of files/rules.json. */}}
{{- define "tidemill.rightForm" -}}
{{- if .description }}
{{- .description }}
{{- else if .enum }}
{{- $shown := list }}
{{- range .enum }}{{ $shown = append $shown (toRawJson .) }}{{ end }}
{{- join " or " $shown }}
{{- else }}
{{- $words := dict "integer" "a whole number" "number" "a number" "string" "text" "boolean" "true or false" "array" "a list" "object" "an object" "null" "null" }}
{{- $all := list }}
{{- range kindIs "slice" .type | ternary .type (list .type) }}{{ $all = append $all (get $words .) }}{{ end }}
{{- join " or " $all }}
{{- with .minimum }} from {{ toRawJson . }}{{ end }}
{{- with .maximum }} to {{ toRawJson . }}{{ end }}
{{- end }}
{{- end }}

{{/* dict "found" "path" "value" "schema": adds what this schema of files/rules.json refuses in the value. */}}
{{- define "tidemill.check" -}}
{{- $dot := . }}
{{- $schema := .schema }}
{{- with get $schema "$ref" }}{{ $schema = get $dot.found.forms . }}{{ end }}
{{- $value := .value }}
{{- $kind := kindOf $value }}
{{- $type := get (dict "map" "object" "slice" "array" "bool" "boolean" "invalid" "null" "string" "string") $kind }}
{{- if not $type }}{{ $type = eq (float64 $value) (floor $value) | ternary "integer" "number" }}{{ end }}
{{- $types := kindIs "slice" $schema.type | ternary $schema.type (list $schema.type) | compact }}
{{- $isRight := or (not $types) (has $type $types) (and (eq $type "integer") (has "number" $types)) }}
{{- if $isRight }}
{{- if and $schema.enum (not (has (toRawJson $value) (regexSplit "\n" (include "tidemill.enum" $schema) -1))) }}{{ $isRight = false }}{{ end }}
{{- if and (eq $type "string") $schema.pattern }}{{ $isRight = regexMatch $schema.pattern $value }}{{ end }}
{{- if has $type (list "integer" "number") }}
{{- if and (hasKey $schema "minimum") (lt (float64 $value) (float64 $schema.minimum)) }}{{ $isRight = false }}{{ end }}
{{- if and (hasKey $schema "maximum") (gt (float64 $value) (float64 $schema.maximum)) }}{{ $isRight = false }}{{ end }}
{{- end }}
{{- end }}
{{- if not $isRight }}
{{- $text := printf "is %s. Use %s." (include "tidemill.shown" (dict "value" $value "schema" $schema)) (include "tidemill.rightForm" $schema) }}
{{- include "tidemill.refuse" (dict "found" .found "path" .path "text" $text) }}
{{- else if eq $type "object" }}
{{- $properties := $schema.properties | default dict }}
{{- range $key, $each := $value }}
{{- $path := regexMatch "[^A-Za-z0-9_]" $key | ternary (printf "%s[%s]" $dot.path $key) (printf "%s.%s" $dot.path $key) }}
{{- $unknown := "" }}
{{- with $schema.propertyNames }}
{{- if or (and .pattern (not (regexMatch .pattern $key))) (and .not (regexMatch .not.pattern $key)) }}{{ $unknown = .description }}{{ end }}
{{- end }}
{{- if and (hasKey $schema "additionalProperties") (not $schema.additionalProperties) (not (hasKey $properties $key)) }}
{{- $unknown = join " or " (keys $properties | sortAlpha) }}
{{- end }}
{{- if $unknown }}
{{- include "tidemill.refuse" (dict "found" $dot.found "path" (printf "%s has the key %q" $dot.path $key) "text" (printf "with the value %s. Use %s." (include "tidemill.shown" (dict "value" $each "schema" $schema)) $unknown)) }}
{{- else if not (kindIs "invalid" $each) }}
{{- $below := get $properties $key | default ($schema.additionalProperties | default dict) }}
{{- if kindIs "map" $below }}{{ include "tidemill.check" (dict "found" $dot.found "path" $path "value" $each "schema" $below) }}{{ end }}
{{- end }}
{{- end }}
{{- range $key := $schema.required }}
{{- if not (hasKey $value $key) }}
{{- include "tidemill.refuse" (dict "found" $dot.found "path" (printf "%s.%s" $dot.path $key) "text" "is missing. Set it.") }}
{{- end }}
{{- end }}
{{- else if eq $type "array" }}
{{- $seen := dict }}
{{- range $i, $each := $value }}
{{- include "tidemill.check" (dict "found" $dot.found "path" (printf "%s[%d]" $dot.path $i) "value" $each "schema" ($schema.items | default dict)) }}
{{- if $schema.uniqueItems }}
{{- $name := toString $each }}
{{- if and (kindIs "string" $schema.uniqueItems) (kindIs "map" $each) }}{{ $name = get $each $schema.uniqueItems | toString }}{{ end }}
{{- if hasKey $seen $name }}
{{- include "tidemill.refuse" (dict "found" $dot.found "path" $dot.path "text" (printf "has %q twice. Name each once." $name)) }}
{{- end }}
{{- $_ := set $seen $name true }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidemill.enum" -}}
{{- range .enum }}{{ toRawJson . }}
{{ end }}
{{- end }}

{{/*
The same for a group of values, with "prefix" in place of "path". What is refused becomes its default, so that rules of several
values find what they expect.
*/}}
{{- define "tidemill.checkGroup" -}}
{{- $dot := . }}
{{- $known := .schema.properties }}
{{- range $key, $schema := $known }}
{{- $path := printf "%s%s" $dot.prefix $key }}
{{- $value := get $dot.value $key }}
{{- if not (hasKey $dot.value $key) }}{{ $value = $dot.found.none }}{{ end }}
{{- if $schema.properties }}
{{- if kindIs "map" $value }}
{{- include "tidemill.checkGroup" (dict "found" $dot.found "prefix" (printf "%s." $path) "value" $value "schema" $schema) }}
{{- else }}
{{- include "tidemill.refuse" (dict "found" $dot.found "path" $path "text" (printf "is %s. Use an object with %s." (include "tidemill.shown" (dict "value" $value "schema" $schema)) (keys $schema.properties | sortAlpha | join ", "))) }}
{{- $_ := set $dot.found "isBroken" true }}
{{- end }}
{{- else if ne (toRawJson $value) (toRawJson $schema.default) }}
{{- $before := len $dot.found.all }}
{{- if not (and (kindIs "invalid" $value) (has $schema.type (list nil "string" "array" "object"))) }}
{{- include "tidemill.check" (dict "found" $dot.found "path" $path "value" $value "schema" $schema) }}
{{- end }}
{{- if gt (len $dot.found.all) $before }}{{ $_ := set $dot.value $key $schema.default }}{{ end }}
{{- end }}
{{- end }}
{{- if not .schema.additionalProperties }}
{{- range $key, $value := .value }}
{{- if not (hasKey $known $key) }}
{{- include "tidemill.refuse" (dict "found" $dot.found "path" (printf "%s%s" $dot.prefix $key) "text" (printf "is %s, but there is no such value. Use %s." (include "tidemill.shown" (dict "value" $value "schema" (dict "writeOnly" (or (kindIs "map" $value) (kindIs "slice" $value))))) (keys $known | sortAlpha | join ", "))) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A quantity of Kubernetes as a number. */}}
{{- define "tidemill.amount" -}}
{{- $text := kindIs "string" . | ternary . (toRawJson .) }}
{{- $small := get (dict "m" 0.001 "u" 0.000001 "n" 0.000000001) (regexFind "[mun]$" $text) }}
{{- if $small }}{{ mulf (regexReplaceAll "[mun]$" $text "" | float64) $small | printf "%f" }}{{ else }}{{ include "tidemill.bytes" $text }}{{ end }}
{{- end }}
