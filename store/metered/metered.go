// Package metered measures each operation of a store: a metric tells how long it
// took and how it ended, a span makes it part of the trace of its request, and the
// log tells when the store cannot be reached and when it can again.
package metered

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"plannerd/store"
)

//go:generate go run generate.go

// Store is a store whose operations are measured. It does not embed the store that
// it measures, so that the compiler finds a method that was forgotten.
type Store struct {
	next    store.Store
	options Options
	latency *prometheus.HistogramVec

	mu   sync.Mutex
	gone time.Time // when the store could not be reached first; zero: it can
}

// Options say where the measurements go.
type Options struct {
	Registry prometheus.Registerer
	Log      *slog.Logger
	// Tracing takes the spans. Nil: there are none.
	Tracing trace.TracerProvider
	// Refuses reports whether an error of a guard, which the store returns as it is,
	// refuses a request and is no failure. Nil: all of them fail.
	Refuses func(error) bool
}

// New returns the store, measured.
func New(next store.Store, o Options) *Store {
	s := &Store{next: next, options: o, latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "plannerd_store_duration_seconds",
		Help: "Time that the store took for an operation: one that went well (ok), that it refused for what it " +
			"holds (refused), that nobody waited for any more (canceled), that it was not there for (unavailable), " +
			"that it had no room for (full), or that failed (error).",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
	}, []string{"operation", "result"})}
	o.Registry.MustRegister(s.latency)
	return s
}

// timed starts the clock of an operation; the function that it returns stops it.
func (s *Store) timed(ctx context.Context, operation string) func(*error) {
	begin := time.Now()
	var span trace.Span
	if s.options.Tracing != nil && trace.SpanContextFromContext(ctx).IsValid() { // probes have none
		_, span = s.options.Tracing.Tracer("plannerd/store").Start(ctx, "store."+operation)
	}
	return func(err *error) {
		result := s.result(*err)
		if result == resultCanceled && errors.Is(context.Cause(ctx), store.ErrUnavailable) {
			result = resultUnavailable // who asked gave it only so much time to say that it is there
		}
		s.latency.WithLabelValues(operation, result).Observe(time.Since(begin).Seconds())
		if span != nil {
			if result == resultUnavailable || result == resultFull || result == resultError {
				span.SetStatus(codes.Error, result)
			}
			span.End()
		}
		s.logAvailability(ctx, result, *err)
	}
}

// The results of an operation.
const (
	resultOK          = "ok"
	resultRefused     = "refused"
	resultCanceled    = "canceled"
	resultUnavailable = "unavailable"
	resultFull        = "full"
	resultError       = "error"
)

func (s *Store) result(err error) string {
	switch is := func(target error) bool { return errors.Is(err, target) }; {
	case err == nil:
		return resultOK
	case slices.ContainsFunc(refusals, is):
		return resultRefused
	case is(store.ErrFull):
		return resultFull
	case is(store.ErrDamaged):
		return resultError
	case is(store.ErrUnavailable):
		return resultUnavailable
	case is(context.Canceled), is(context.DeadlineExceeded):
		return resultCanceled
	case s.options.Refuses != nil && s.options.Refuses(err):
		return resultRefused
	}
	return resultError
}

// logAvailability tells the log when the store goes away and when it is back, once
// each.
func (s *Store) logAvailability(ctx context.Context, result string, err error) {
	if result == resultCanceled || result == resultFull || result == resultError {
		return // which say nothing about it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch away := !s.gone.IsZero(); {
	case result == resultUnavailable && !away:
		s.gone = time.Now()
		s.options.Log.WarnContext(ctx, "the store cannot be reached", "error", err)
	case result != resultUnavailable && away:
		s.options.Log.InfoContext(ctx, "the store is back", "after", time.Since(s.gone).Round(time.Millisecond).String())
		s.gone = time.Time{}
	}
}
