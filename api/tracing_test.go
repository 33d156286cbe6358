package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"plannerd/api"
	"plannerd/store"
)

// traced starts a server whose spans are recorded.
func traced(t *testing.T, options ...func(*api.Config)) (*env, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return newEnv(t, append(options, func(c *api.Config) { c.Tracing = provider })...), recorder
}

// A request continues the trace that its client names; decoding, planning and the
// store are parts of it, and no span has what is secret.
func TestTracing(t *testing.T) {
	var log strings.Builder
	e, recorder := traced(t, func(c *api.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	e.do("PUT", "/v1/operators/clicks", `{"instances": 2, "hash": {"function": "modulo"}}`).want(http.StatusCreated)
	e.do("GET", "/readyz", "").want(http.StatusOK)
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	from := len(recorder.Ended())
	e.do("POST", "/v1/operators/clicks/plans", `{"interval": 1, "keys": [{"key": "canary", "cost": 5}]}`,
		"Traceparent: 00-"+trace+"-"+parent+"-01").want(http.StatusCreated)
	spans := recorder.Ended()[from:]
	request := spans[len(spans)-1]
	if request.Name() != "POST /v1/operators/{operator}/plans" || request.Parent().SpanID().String() != parent {
		t.Errorf("%s in %s", request.Name(), request.Parent().SpanID())
	}
	var found []string
	for _, span := range spans {
		found = append(found, span.Name())
		if span.SpanContext().TraceID().String() != trace {
			t.Errorf("%s is in another trace", span.Name())
		}
		if span != request && span.Parent().SpanID() != request.SpanContext().SpanID() {
			t.Errorf("%s is no part of the request", span.Name())
		}
	}
	for _, want := range []string{"decode", "plan", "store.operator", "store.create_plan"} {
		if !slices.Contains(found, want) {
			t.Errorf("no span %s in %v", want, found)
		}
	}
	if !strings.Contains(log.String(), `"trace_id":"`+trace+`"`) {
		t.Errorf("the log does not tell the trace:\n%s", &log)
	}
	e.do("GET", "/v1/operators/clicks/route?key=canary", "").want(http.StatusOK)
	for _, span := range recorder.Ended() {
		for _, a := range span.Attributes() {
			if strings.Contains(a.Value.String(), "canary") {
				t.Errorf("%s tells %s = %s", span.Name(), a.Key, a.Value)
			}
		}
		if strings.Contains(span.Name(), "ready") {
			t.Errorf("a probe is traced: %s", span.Name())
		}
	}
}

// lostStore cannot be reached.
type lostStore struct{ store.Store }

func (lostStore) Operator(context.Context, string) (store.Operator, error) {
	return store.Operator{}, store.ErrUnavailable
}

// What fails is marked, what is only refused is not.
func TestTracingFailures(t *testing.T) {
	for name, want := range map[string]codes.Code{"found": codes.Unset, "lost": codes.Error} {
		e, recorder := traced(t, func(c *api.Config) {
			if name == "lost" {
				c.Store = lostStore{c.Store}
			}
		})
		e.do("GET", "/v1/operators/clicks", "")
		for _, span := range recorder.Ended() {
			if got := span.Status().Code; got != want {
				t.Errorf("%s: %s is %v", name, span.Name(), got)
			}
		}
		if len(recorder.Ended()) != 2 {
			t.Errorf("%s: %d spans", name, len(recorder.Ended()))
		}
	}
}
