package metered

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"plannerd/store"
)

// errGuard is what a guard of these tests refuses with.
var errGuard = errors.New("the guard refuses")

// failing is a store whose operator cannot be read for a reason.
type failing struct {
	store.Store
	reason error
}

func (f *failing) Operator(context.Context, string) (store.Operator, error) {
	return store.Operator{Name: "clicks"}, f.reason
}

// TestResults: what the store or a guard refuses is no failure of the store, or else
// alerts would wake somebody for a client's mistake.
func TestResults(t *testing.T) {
	s := New(nil, Options{
		Registry: prometheus.NewRegistry(), Refuses: func(err error) bool { return errors.Is(err, errGuard) },
	})
	for want, errs := range map[string][]error{
		resultOK: {nil},
		resultRefused: {
			store.ErrNotFound, store.ErrFenced, store.ErrPlanPending, store.ErrPlanInFlight, store.ErrNotAwaited,
			store.ErrAcksMissing, store.ErrIdempotencyRunning, store.ErrIdempotencyMismatch, store.ErrIdempotencyLost,
			errGuard,
		},
		resultUnavailable: {store.ErrUnavailable},
		resultFull:        {store.ErrFull},
		resultCanceled:    {context.Canceled, context.DeadlineExceeded},
		resultError:       {errors.New("damaged file")},
	} {
		for _, err := range errs {
			if err != nil {
				err = fmt.Errorf("committing: %w", err)
			}
			if got := s.result(err); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
}

// TestMeasured: each operation is counted and traced by how it ended, and gives back
// what the store gave.
func TestMeasured(t *testing.T) {
	next, registry, recorder := &failing{}, prometheus.NewRegistry(), tracetest.NewSpanRecorder()
	tracing := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	s := New(next, Options{Registry: registry, Log: slog.New(slog.DiscardHandler), Tracing: tracing})
	ctx, request := tracing.Tracer("test").Start(t.Context(), "request")
	for _, next.reason = range []error{nil, store.ErrNotFound, store.ErrUnavailable, errors.New("disk full")} {
		if op, err := s.Operator(ctx, "clicks"); op.Name != "clicks" || !errors.Is(err, next.reason) {
			t.Errorf("%v, %v", op, err)
		}
	}
	if _, err := s.Operator(t.Context(), "of a probe"); err == nil {
		t.Error("no error")
	}
	var got []codes.Code
	for _, span := range recorder.Ended() {
		if span.Name() != "store.operator" || span.Parent().SpanID() != request.SpanContext().SpanID() {
			t.Errorf("%s is no part of the request", span.Name())
		}
		got = append(got, span.Status().Code)
	}
	if want := []codes.Code{codes.Unset, codes.Unset, codes.Error, codes.Error}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("spans are %v, want %v", got, want)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].Metric) != 4 ||
		families[0].GetName() != "plannerd_store_duration_seconds" {
		t.Errorf("%v, %v", families, err)
	}
}

// TestAvailability: that the store goes away and that it is back is logged once each,
// however many operations notice.
func TestAvailability(t *testing.T) {
	var log bytes.Buffer
	next := &failing{}
	s := New(next, Options{Registry: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	away, broken := store.ErrUnavailable, errors.New("damaged file")
	for _, next.reason = range []error{nil, away, away, context.Canceled, broken, store.ErrFull,
		away, store.ErrNotFound, nil, away} {
		_, _ = s.Operator(t.Context(), "clicks")
	}
	gone, back := strings.Count(log.String(), "cannot be reached"), strings.Count(log.String(), "the store is back")
	if gone != 2 || back != 1 || strings.Count(log.String(), "\n") != 3 {
		t.Errorf("%s", &log)
	}
}

// TestTooLate: a store that does not answer whoever asks whether it is there, is not there.
func TestTooLate(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := New(&failing{reason: context.DeadlineExceeded}, Options{Registry: registry, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, store.ErrUnavailable)
	defer cancel()
	_, _ = s.Operator(ctx, "clicks")
	families, err := registry.Gather()
	if err != nil || !strings.Contains(families[0].String(), resultUnavailable) {
		t.Errorf("%v, %v", families, err)
	}
}
