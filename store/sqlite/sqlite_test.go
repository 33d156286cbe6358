package sqlite_test

import (
	"path/filepath"
	"testing"

	"plannerd/store/sqlite"
	"plannerd/store/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, fresh) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, fresh) }

func fresh(t testing.TB) storetest.Open { return opener(filepath.Join(t.TempDir(), "plannerd.db")) }

func opener(path string) storetest.Open {
	return func(t testing.TB) storetest.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
