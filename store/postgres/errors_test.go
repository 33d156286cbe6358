package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// TestStates says of each SQLSTATE of the classes that tell of the connection, the transaction or
// the server whether the database is unavailable (503), or whether the program made a mistake.
func TestStates(t *testing.T) {
	unavailable := `08000 08001 08003 08004 08006 08007 08P01 25006 25P03 25P04 40001 40003 40P01
		53000 53100 53200 53300 53400 55000 55006 55P03 57000 57014 57P01 57P02 57P03 57P04 57P05
		58000 58030 58P01 58P02 58P03 XX000 XX001 XX002`
	mistakes := `25000 25001 25002 25003 25004 25005 25007 25008 25P01 25P02 40000 40002 55P02 55P04`
	for codes, want := range map[string]bool{unavailable: true, mistakes: false} {
		for _, code := range strings.Fields(codes) {
			err := explain(context.Background(), fmt.Errorf("reading: %w", &pgconn.PgError{Code: code}))
			if errors.Is(err, store.ErrUnavailable) != want {
				t.Errorf("%s: %v", code, err)
			}
		}
	}
}
