package api

import (
	"context"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// tracing makes spans: of a request, of reading its statistics, of planning on
// them and of each operation of the store. Nil makes none, and costs nothing. No
// span has keys of data or a query in it.
type tracing struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
}

func newTracing(provider trace.TracerProvider) *tracing {
	if provider == nil {
		return nil
	}
	return &tracing{provider, provider.Tracer("plannerd/api")}
}

// requests makes the spans of requests, as parts of what the W3C headers of the
// clients name. Those that only look after the process have none.
func (t *tracing) requests(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, "HTTP",
		otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), // /metrics has them
		otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
		otelhttp.WithFilter(func(r *http.Request) bool {
			switch r.URL.Path {
			case "/healthz", "/readyz", "/metrics":
				return false
			}
			return true
		}),
		otelhttp.WithSpanNameFormatter(func(operation string, r *http.Request) string {
			if r.Pattern == "" {
				return operation // not routed yet, or to nothing
			}
			return r.Method + " " + r.Pattern
		}))
}

// routed names the span of a request by its route.
func (t *tracing) routed(ctx context.Context, method, path string) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	span.SetName(method + " " + path)
	span.SetAttributes(semconv.HTTPRoute(path))
}

// start begins a span with one attribute, unless that has no name. The function
// it returns ends it with the error that there was.
func (t *tracing) start(ctx context.Context, name, attributeName, value string) (context.Context, func(error)) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsValid() { // of a probe
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name)
	if attributeName != "" {
		span.SetAttributes(attribute.String(attributeName, value))
	}
	return ctx, func(err error) {
		// Refusals are no failures, nor is what nobody waits for any more.
		switch result := storeResult(err); {
		case result == resultOK, result == resultRefused, result == resultCanceled:
		case problemOf(err).status >= http.StatusInternalServerError:
			span.SetStatus(codes.Error, string(problemOf(err).code))
		}
		span.End()
	}
}
