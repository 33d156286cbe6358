package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"plannerd/store"
)

// What the store or a guard refuses is no failure of the store, or else alerts would
// wake somebody for a client's mistake.
func TestStoreResults(t *testing.T) {
	for want, errs := range map[string][]error{
		resultOK: {nil},
		resultRefused: {
			store.ErrNotFound, store.ErrFenced, store.ErrPlanPending, store.ErrPlanInFlight, store.ErrNotAwaited,
			store.ErrRollbackRequired, store.ErrIdempotencyRunning, store.ErrIdempotencyMismatch, store.ErrIdempotencyLost,
			&problem{status: http.StatusPreconditionFailed},
		},
		resultUnavailable: {store.ErrUnavailable},
		resultCanceled:    {context.Canceled, context.DeadlineExceeded},
		resultError:       {errors.New("disk full"), &problem{status: http.StatusInternalServerError}},
	} {
		for _, err := range errs {
			if err != nil {
				err = fmt.Errorf("committing: %w", err)
			}
			if got := storeResult(err); got != want {
				t.Errorf("%v is %s, want %s", err, got, want)
			}
		}
	}
}
