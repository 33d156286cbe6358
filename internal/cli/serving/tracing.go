package serving

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"plannerd/internal/cli"
)

// tracesTime is how long the end of the program waits for the last traces to be
// taken.
const tracesTime = 5 * time.Second

// tracesURL is where traces go: "" is nowhere. The variables are those that the
// specification of OpenTelemetry names; headers, time limits and sampling are
// read from theirs by its library.
func (c *Serve) tracesURL(getenv func(string) string) string {
	base := c.OTLPEndpoint
	if base == "" {
		if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
			return ""
		}
		if exact := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); exact != "" {
			return exact
		}
		base = getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/v1/traces"
}

// startTracing sends traces, if there is anywhere to send them to; else the provider is nil. A
// collector that is away costs traces and never a request.
func (c *Serve) startTracing(env *cli.Environment, logger *slog.Logger) (to trace.TracerProvider, stop func(),
	err error) {
	endpoint := c.tracesURL(env.Getenv)
	if endpoint == "" {
		return nil, func() {}, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, cli.Usagef("--otlp-endpoint: write a URL, such as http://127.0.0.1:4318")
	}
	exporter, err := otlptracehttp.New(env.Ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, nil, err
	}
	what, err := resource.New(env.Ctx,
		resource.WithAttributes(semconv.ServiceName("plannerd"), semconv.ServiceVersion(version())),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		logger.Warn("OTEL_RESOURCE_ATTRIBUTES cannot be read whole", "error", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(what))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces were lost", "error", err) }))
	logger.Info("traces are sent")
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesTime)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("the last traces were lost", "error", err)
		}
	}, nil
}
