{{- define "plannerd.name" -}}
{{- if contains "plannerd" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-plannerd{{ end }}
{{- end }}

{{- define "plannerd.selector" -}}
app.kubernetes.io/name: plannerd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "plannerd.labels" -}}
{{ include "plannerd.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "plannerd.scheme" -}}
{{ if .Values.tls.existingSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- define "plannerd.replicas" -}}
{{ if .Values.sqlite.enabled }}1{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- /* What values.schema.json cannot say in words that help. */ -}}
{{- define "plannerd.check" -}}
{{- if not .Values.tokens.existingSecret }}
{{- fail "tokens.existingSecret is needed: plannerd token new --name root --role admin > tokens; kubectl create secret generic plannerd-tokens --from-file=tokens" }}
{{- end }}
{{- if eq (not .Values.database.existingSecret) (not .Values.sqlite.enabled) }}
{{- fail "say where the data is kept: either database.existingSecret, a Secret with the URL of Postgres, or sqlite.enabled=true" }}
{{- end }}
{{- if eq (not .Values.tls.existingSecret) (not .Values.insecureHTTP) }}
{{- fail "say how callers are answered: either tls.existingSecret, or insecureHTTP=true where the network or a proxy encrypts" }}
{{- end }}
{{- end }}
