package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"plannerd/store"
)

// TestFull: a file that cannot grow says so, keeps what it has, and takes more once
// there is room again.
func TestFull(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "plannerd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Migrator().Up(ctx); err != nil {
		t.Fatal(err)
	}
	put := func(i int) error {
		config := fmt.Appendf(nil, `{"of":%d,"long":"%01000d"}`, i, 0)
		_, _, err := s.PutOperator(ctx, fmt.Sprint("operator", i), config, time.Unix(0, 0))
		return err
	}
	if err := put(0); err != nil {
		t.Fatal(err)
	}
	pages := func(limit string) {
		t.Helper()
		if _, err := s.db.writer.ExecContext(ctx, "PRAGMA max_page_count = "+limit); err != nil {
			t.Fatal(err)
		}
	}
	pages("1") // no fewer than there are
	for i := 1; err == nil && i < 1000; i++ {
		err = put(i)
	}
	if !errors.Is(err, store.ErrFull) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing to a full file: %v", err)
	}
	if op, err := s.Operator(ctx, "operator0"); err != nil || op.Name != "operator0" {
		t.Errorf("reading a full file: %v, %v", op, err)
	}
	pages("1000000")
	if err := put(2000); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
