package serving

import "testing"

// The password of a database URL is never shown.
func TestDatabaseURLShown(t *testing.T) {
	for given, want := range map[string]string{
		"sqlite:plannerd.db":                         "sqlite:plannerd.db",
		"postgres://me:secret@db/plannerd":           "postgres://me:xxxxx@db/plannerd",
		"postgres://db/plannerd?password=secret&a=b": "postgres://db/plannerd?a=b&password=xxxxx",
		"postgres://me:sec%ret@db/plannerd":          "(not a URL)",
	} {
		if got := (&databaseURL{DatabaseURL: given}).shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
	}
}
