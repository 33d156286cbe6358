package postgres_test

import (
	"os"
	"testing"

	"plannerd/internal/pgtest"
	"plannerd/store/postgres"
	"plannerd/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestStore(t *testing.T) { storetest.Run(t, fresh) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, fresh) }

func fresh(t testing.TB) storetest.Open { return opener(pgtest.NewDatabase(t)) }

func opener(url string) storetest.Open {
	return func(t testing.TB) storetest.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
