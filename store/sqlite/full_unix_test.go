//go:build unix

package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plannerd/store"
)

// TestOpenFull: what a process left that was killed is served from a disk without any room, on
// which not even the index of the log can be made. Writes are refused until there is room.
func TestOpenFull(t *testing.T) {
	ctx := t.Context()
	if left := os.Getenv("PLANNERD_OPEN_FULL"); left != "" {
		openFull(t, left)
		return
	}
	folder := t.TempDir()
	path, left := filepath.Join(folder, "plannerd.db"), filepath.Join(folder, "left.db")
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Migrator().Up(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PutOperator(ctx, "clicks", []byte(`{}`), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} { // as if it was killed now
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	again := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOpenFull$") // of which no other file grows
	again.Env = append(os.Environ(), "PLANNERD_OPEN_FULL="+left)
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// openFull opens a file in a process whose files cannot grow.
func openFull(t *testing.T, left string) {
	ctx := t.Context()
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0 // no file can grow
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		t.Fatal(err)
	}
	room := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	defer room()
	s, err := Open(ctx, left)
	if err != nil {
		t.Fatalf("opening what is left on a full disk: %v", err)
	}
	defer s.Close()
	if op, err := s.Operator(ctx, "clicks"); err != nil || op.ConfigVersion != 1 {
		t.Errorf("reading: %+v, error %v", op, err)
	}
	if err := s.Ready(ctx); err != nil {
		t.Errorf("it is not ready: %v", err)
	}
	if _, _, err := s.PutOperator(ctx, "more", []byte(`{}`), time.Unix(0, 0)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing: %v", err)
	}
	room()
	if _, _, err := s.PutOperator(ctx, "more", []byte(`{}`), time.Unix(0, 0)); err != nil {
		t.Errorf("writing when there is room again: %v", err)
	}
}
