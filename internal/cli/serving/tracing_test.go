package serving

import "testing"

func TestTracesURL(t *testing.T) {
	for _, c := range []struct {
		flag string
		vars map[string]string
		want string
	}{
		{"", nil, ""},
		{"http://a:4318", map[string]string{"OTEL_SDK_DISABLED": "true"}, "http://a:4318/v1/traces"},
		{"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b/base/"}, "http://b/base/v1/traces"},
		{"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/exact"}, "http://c/exact"},
		{"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b", "OTEL_SDK_DISABLED": "true"}, ""},
	} {
		got := (&Serve{OTLPEndpoint: c.flag}).tracesURL(func(name string) string { return c.vars[name] })
		if got != c.want {
			t.Errorf("%q %v: %q, want %q", c.flag, c.vars, got, c.want)
		}
	}
}
