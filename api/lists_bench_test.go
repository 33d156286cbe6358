package api_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/store"
)

// benchMoves stores a plan of n migrations of keys in no order, and its changes of the
// table, and returns its path.
func benchMoves(e *env, n int) string {
	r := rand.New(rand.NewPCG(4, 2))
	rows, changes := make([]listed, n), make([]store.Change, n)
	for i := range rows {
		x := listed{key: fmt.Sprintf("user:%07d", i), from: r.Int32N(10), cost: float64(r.IntN(1e5)) / 100,
			state: float64(r.IntN(1 << 16))}
		x.to = (x.from + 1 + r.Int32N(9)) % 10
		x.reason = []string{"overload", "move_back", "exchange"}[r.IntN(3)]
		rows[i], changes[i] = x, store.Change{Key: []byte(x.key), Old: store.NoInstance, New: x.to}
	}
	r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return e.storeMoves(movesKinds["keys"], encodeKeys(rows), changes)
}

// BenchmarkPage asks for pages of 100 items of a plan of 100 000 migrations over a
// loopback connection, from SQLite: of a list that is kept and of one that is not, for
// want of memory.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		kept    string
		memory  int64
		targets []string
	}{
		{"true", 1 << 30, []string{
			"/migrations?sort=key", "/migrations?sort=key&skip=90000", "/migrations?sort=cost",
			"/migrations?sort=cost&skip=90000",
			"/migrations?sort=reason", "/migrations?sort=reason&skip=90000", "/migrations?sort=state&order=asc&instance=3",
			"/migrations?sort=cost&reason=overload&skip=30000", "/migrations?key_contains=777&min_cost=500", "/flows",
			"/routing-table", "/routing-table?skip=90000", "/routing-table?instance=3",
		}},
		{"false", 64 << 20, []string{"/migrations", "/migrations?sort=cost&skip=90000", "/migrations?sort=reason", "/flows"}},
	} {
		e := newEnv(b, func(config *api.Config) { config.Now, config.Limits.Memory = time.Now, c.memory })
		path := benchMoves(e, 100_000)
		server := httptest.NewServer(e.handler)
		b.Cleanup(server.Close)
		for _, target := range c.targets {
			b.Run("kept="+c.kept+target, func(b *testing.B) { benchGet(b, server.URL+path+target) })
		}
	}
}

func benchGet(b *testing.B, target string) {
	b.ReportAllocs()
	for b.Loop() {
		answer, err := http.Get(target)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatalf("%d %v %.500s", answer.StatusCode, err, text)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Millisecond)/float64(b.N), "ms/op")
}
