package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A backup has what was acknowledged before it, whole and in order, though the server goes
// on writing; a server that is started on what is restored goes on from there.
func TestBackupOfAServedDatabase(t *testing.T) {
	folder := t.TempDir()
	data, backup, restored := filepath.Join(folder, "data.db"), filepath.Join(folder, "backup.db"),
		filepath.Join(folder, "restored.db")
	s := serve(t, "--database-url", "sqlite:"+data)
	var acknowledged atomic.Int64
	enough, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		for n := 0; ; n++ {
			select {
			case <-enough:
				return
			default:
			}
			s.call(t, "PUT", fmt.Sprintf("/v1/operators/op-%06d", n), `{"instances": 2}`, http.StatusCreated)
			acknowledged.Store(int64(n) + 1)
		}
	}()
	eventually(t, "nothing is written", func() bool { return acknowledged.Load() > 10 })
	before := acknowledged.Load()
	succeed(t, "", "backup", backup, "--database-url", "sqlite:"+data)
	after := acknowledged.Load()
	eventually(t, "nothing is written any more", func() bool { return acknowledged.Load() > after+1 })
	close(enough)
	<-written
	http.DefaultClient.CloseIdleConnections()

	succeed(t, "", "restore", backup, "--database-url", "sqlite:"+restored)
	for _, path := range []string{backup, restored} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, error %v", path, info.Mode(), err)
		}
	}
	again := serve(t, "--database-url", "sqlite:"+restored)
	for n := range before {
		again.call(t, "GET", fmt.Sprintf("/v1/operators/op-%06d", n), "", http.StatusOK)
	}
	found := before
	for ; found < after+1; found++ { // what was written meanwhile is there up to some operator
		if code, _ := status(t, again.url+fmt.Sprintf("/v1/operators/op-%06d", found)); code != http.StatusOK {
			break
		}
	}
	again.call(t, "GET", fmt.Sprintf("/v1/operators/op-%06d", found), "", http.StatusNotFound)
	again.call(t, "PUT", "/v1/operators/later", `{"instances": 2}`, http.StatusCreated)
	http.DefaultClient.CloseIdleConnections()
	again.stop(t)
	s.stop(t)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 3 {
		t.Errorf("%d files are left, error %v", len(entries), err)
	}
}

// Neither command destroys anything, and no backup is trusted unseen.
func TestBackupRefuses(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	s := serve(t, "--database-url", "sqlite:"+in("data.db"))
	succeed(t, "", "backup", in("backup.db"), "--database-url", "sqlite:"+in("data.db"))
	if err := os.WriteFile(in("text"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(in("backup.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("cut.db"), whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"backup does not replace files":                   {"backup", in("backup.db"), in("data.db")},
		"backup does not replace files: " + in("data.db"): {"backup", in("data.db"), in("data.db")},
		"there is no database":                            {"backup", in("new.db"), in("none.db")},
		"not a database":                                  {"backup", in("new.db"), in("text")},
		"restore does not replace files":                  {"restore", in("backup.db"), in("data.db")},
		"no such file":                                    {"restore", in("none.db"), in("new.db")},
		"file is not a database":                          {"restore", in("text"), in("new.db")},
		"it is no database of plannerd":                   {"restore", in("empty"), in("new.db")},
		"malformed":                                       {"restore", in("cut.db"), in("new.db")},
	} {
		r := exec(t, nil, nil, args[0], args[1], "--database-url", "sqlite:"+args[2])
		if r.code != exitFailed || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: exit %d, %s; want %s", args, r.code, r.stderr, want)
		}
	}
	if err := os.Rename(in("data.db"), in("moved.db")); err != nil {
		t.Fatal(err)
	}
	r := exec(t, nil, nil, "restore", in("backup.db"), "--database-url", "sqlite:"+in("data.db"))
	if r.code != exitFailed || !strings.Contains(r.stderr, "have the database open") {
		t.Errorf("under a server: exit %d, %s", r.code, r.stderr)
	}
	if err := os.Rename(in("moved.db"), in("data.db")); err != nil {
		t.Fatal(err)
	}
	r = exec(t, nil, nil, "backup", in("new.db"), "--database-url", "postgres://db/plannerd")
	if r.code != exitUsage || !strings.Contains(r.stderr, "pg_dump") {
		t.Errorf("Postgres: exit %d, %s", r.code, r.stderr)
	}
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
	http.DefaultClient.CloseIdleConnections()
	s.stop(t)
	if _, err := os.Stat(in("new.db")); err == nil {
		t.Error("what was refused left a file")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 5 {
		t.Errorf("%v, error %v", entries, err)
	}
}
