package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUndo: the command says what an undo would move, has the plan made, and passes on what a server
// refuses.
func TestUndo(t *testing.T) {
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances":2,"theta_max":0.08}`, 201)
	for interval, costs := range [][]any{{12, 9, 3, 5, 6}, {3, 9, 12, 5, 6}} {
		rows := fmt.Sprintf(`{"key":"user:1","cost":%d,"state":2048},{"key":"user:2","cost":%d,"state":512},
			{"key":"user:3","cost":%d,"state":64},{"key":"user:4","cost":%d,"state":900},
			{"key":"user:5","cost":%d,"state":300}`, costs...)
		p := s.call(t, "POST", "/v1/operators/clicks/plans", fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, rows), 201)
		s.call(t, "POST", fmt.Sprintf("/v1/plans/%s/commit", p["id"]), `{"stopped":true}`, 200)
	}
	undo := []string{"undo", "clicks", "--server", s.url}
	out := succeed(t, "", append(undo, "--dry-run")...)
	if !strings.Contains(out, "clicks would go back to version 1.") || !strings.Contains(out, "It moves 1 key with ") {
		t.Error(out)
	}
	if out := succeed(t, "", append(undo, "--dry-run", "--output", "json")...); !strings.Contains(out, `"to_version": 1`) {
		t.Error(out)
	}
	out = succeed(t, "", append(undo, "--reason", "as it was")...)
	if !strings.Contains(out, "goes back to version 1. It is ") {
		t.Error(out)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("not-a-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ more, want string }{
		{"--to-version 9", "to_version"},
		{"--to-version=-1", "to_version"},
		{"--server http://me:secret@127.0.0.1:1", "must not have a user or a password"},
		{"--token-file " + token + "x", "no such file"},
	} {
		r := exec(t, strings.NewReader(""), nil, append(undo, strings.Fields(c.more)...)...)
		if r.code == exitOK || !strings.Contains(r.stderr, c.want) || strings.Contains(r.stderr, "secret@") {
			t.Errorf("%s: exit %d, %s", c.more, r.code, r.stderr)
		}
	}
	s.stop(t)
}
