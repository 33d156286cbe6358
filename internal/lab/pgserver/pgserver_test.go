package pgserver

import (
	"errors"
	"testing"
)

func TestWithDatabase(t *testing.T) {
	for server, want := range map[string]string{
		"postgres://u:p@h:1/old?sslmode=disable": "postgres://u:p@h:1/new?sslmode=disable",
		"host=h dbname=old":                      "host=h dbname=old dbname=new",
	} {
		if got, err := WithDatabase(server, "new"); got != want || err != nil {
			t.Errorf("WithDatabase(%q) = %q, %v, want %q", server, got, err, want)
		}
	}
	if got, err := WithDatabase("postgres://u:secret@h:port/x", "new"); !errors.Is(err, errNoURL) {
		t.Errorf("%q, %v", got, err)
	}
}
