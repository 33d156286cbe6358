// Package observe turns what package planning tells into metrics and spans.
package observe

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Observer implements [service.Observer].
type Observer struct {
	*Metrics
	tracer trace.Tracer // nil: there are no spans
	failed func(error) (code string, failed bool)
}

// New returns an observer. Provider takes the spans; nil: there are none. failed tells
// whether an error is a failure and no refusal, and what kind of failure.
func New(m *Metrics, provider trace.TracerProvider, failed func(error) (code string, failed bool)) *Observer {
	o := &Observer{Metrics: m, failed: failed}
	if provider != nil {
		o.tracer = provider.Tracer("plannerd/api")
	}
	return o
}

// Start begins a span with one attribute, unless that has no name, within that of a
// request. No span has keys of data or a query in it.
func (o *Observer) Start(ctx context.Context, name, attributeName, value string) (context.Context, func(error)) {
	if o.tracer == nil || !trace.SpanContextFromContext(ctx).IsValid() { // of a probe
		return ctx, func(error) {}
	}
	ctx, span := o.tracer.Start(ctx, name)
	if attributeName != "" {
		span.SetAttributes(attribute.String(attributeName, value))
	}
	return ctx, func(err error) {
		// Neither a refusal nor that nobody waits any more is a failure.
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			if code, failed := o.failed(err); failed {
				span.SetStatus(codes.Error, code)
			}
		}
		span.End()
	}
}
