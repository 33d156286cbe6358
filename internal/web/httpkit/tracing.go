package httpkit

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// TraceRequests is middleware that makes a span of each request, as part of the
// trace that the W3C headers of its client name. Requests to the paths of probes
// have none.
func TraceRequests(provider trace.TracerProvider, probes ...string) func(http.Handler) http.Handler {
	return otelhttp.NewMiddleware("HTTP",
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithMeterProvider(noop.NewMeterProvider()), // see Metrics
		otelhttp.WithPropagators(
			propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})),
		otelhttp.WithFilter(func(r *http.Request) bool { return !slices.Contains(probes, r.URL.Path) }),
		otelhttp.WithSpanNameFormatter(func(operation string, r *http.Request) string {
			if r.Pattern == "" {
				return operation // not routed yet, or to nothing
			}
			return r.Method + " " + r.Pattern
		}))
}

// NameSpan names the span of a request by its route.
func NameSpan(ctx context.Context, method, route string) {
	span := trace.SpanFromContext(ctx)
	span.SetName(method + " " + route)
	span.SetAttributes(semconv.HTTPRoute(route))
}
