package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"plannerd/store"
)

// TestDiskFull: of all that a server can run short of, the disk is told apart.
func TestDiskFull(t *testing.T) {
	for code, full := range map[string]bool{"53100": true, "53200": false, "53300": false, "57P03": false} {
		err := explain(context.Background(), fmt.Errorf("committing: %w", &pgconn.PgError{Code: code}))
		if errors.Is(err, store.ErrFull) != full || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
