package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// What was acknowledged survives a loss of power only with these settings, and
// SQLite ignores those that it does not know.
func TestSettings(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plannerd.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const full = "2"
	for name, db := range map[string]*sql.DB{"writer": s.db.writer, "readers": s.db.readers} {
		want := map[string]string{
			"journal_mode": "wal", "synchronous": full, "foreign_keys": "1", "busy_timeout": "10000", "query_only": "0",
			"cache_size": "-8000", "journal_size_limit": "67108864",
		}
		if name == "readers" {
			want["query_only"], want["cache_size"] = "1", "-2000"
		}
		for pragma, value := range want {
			var got string
			if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != value {
				t.Errorf("%s of the %s is %s, want %s", pragma, name, got, value)
			}
		}
	}
}
