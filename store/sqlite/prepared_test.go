package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"plannerd/store/internal/statements"
)

// TestPrepared: statements are kept up to a number, and run the same whether they are or not,
// in transactions and outside.
func TestPrepared(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plannerd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(q statements.Statements) error {
		for n := range mostPrepared + 10 {
			var got int
			err := q.QueryRow(t.Context(), fmt.Sprintf("SELECT $1 + %d", n), 1).Scan(&got)
			if err != nil || got != n+1 {
				return fmt.Errorf("%d + 1 is %d, %w", n, got, err)
			}
		}
		return nil
	}
	for range 3 {
		for name, run := range map[string]error{
			"Read": s.db.Read(t.Context(), ask), "Snapshot": s.db.Snapshot(t.Context(), ask),
			"Update": s.db.Update(t.Context(), ask),
		} {
			if run != nil {
				t.Errorf("%s: %v", name, run)
			}
		}
	}
	if a, b := len(s.db.reads.all), len(s.db.changes.all); a != mostPrepared || b != mostPrepared {
		t.Errorf("%d and %d are kept", a, b)
	}
}
