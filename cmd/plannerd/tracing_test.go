package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector of traces.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []string // service name and span
	problems []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var got collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil || request.URL.Path != "/v1/traces" {
			r.problems = append(r.problems, request.URL.Path)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, resource := range got.GetResourceSpans() {
			service := ""
			for _, a := range resource.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service = a.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					r.spans = append(r.spans, service+" "+span.GetName())
				}
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// Traces go to the collector that a flag or OpenTelemetry's own variable names,
// all of them before the program ends.
func TestServeTraces(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, url string, args ...string) *server{
		"flag": func(t *testing.T, url string, args ...string) *server {
			return serve(t, append(args, "--otlp-endpoint", url)...)
		},
		"variable": func(t *testing.T, url string, args ...string) *server {
			return serveWith(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": url + "/"}, args...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			s := start(t, r.URL, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
			s.call(t, "GET", "/v1/operators", "", http.StatusOK)
			http.DefaultClient.CloseIdleConnections()
			s.stop(t)
			r.mu.Lock()
			defer r.mu.Unlock()
			got := strings.Join(r.spans, "\n")
			if len(r.problems) > 0 || got != "plannerd store.operators\nplannerd GET /v1/operators" {
				t.Errorf("%v\n%s", r.problems, got)
			}
		})
	}
	if r := exec(t, nil, nil, "serve", "--otlp-endpoint", "127.0.0.1:4318"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}
