package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"plannerd/internal/lab/pgtest"
	"plannerd/store"
	"plannerd/store/postgres"
)

// TestPooler: through a connection pooler in either mode a store migrates, answers many at once,
// and learns what others have committed; by a URL past the pooler, as soon as the server tells.
func TestPooler(t *testing.T) {
	for _, c := range []struct {
		mode string
		past bool // the pooler, to listen
		most time.Duration
	}{{"session", false, time.Second}, {"transaction", false, 5 * time.Second}, {"transaction", true, time.Second}} {
		t.Run(fmt.Sprintf("%s, past %t", c.mode, c.past), func(t *testing.T) {
			t.Parallel()
			direct := pgtest.NewDatabase(t)
			var options []store.Option
			if c.past {
				options = append(options, store.WithListenURL(direct))
			}
			through := pgtest.Pooler(t, c.mode, direct)
			s, other := opener(through)(t, options...), opener(through)(t)
			defer s.Close()
			defer other.Close()
			if !s.Pooled() || opener(direct)(t).Pooled() {
				t.Error("the pooler is not noticed, or one that is not there")
			}
			migrateTogether(t, s, other)
			writeTogether(t, s, other)
			watched(t, s, direct, c.most)
		})
	}
}

func writeTogether(t *testing.T, stores ...*postgres.Store) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 16 {
		s, name := stores[i%len(stores)], fmt.Sprint("operator-", i)
		all.Go(func() {
			for version := range int64(20) {
				config := fmt.Appendf(nil, `{"version":%d}`, version)
				_, _, err := s.PutOperator(t.Context(), name, config, time.Unix(version, 0))
				op, e := s.Operator(t.Context(), name)
				if err = errors.Join(err, e); err != nil || op.ConfigVersion != version+1 {
					t.Errorf("%s: version %d, error %v", name, op.ConfigVersion, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// watched waits until s has heard of what another process commits in a database.
func watched(t *testing.T, s *postgres.Store, database string, most time.Duration) {
	t.Helper()
	events, err := s.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // by then it is known whether the server tells
	for drained := false; !drained; {
		select {
		case <-events:
		case <-time.After(time.Second / 2):
			drained = true
		}
	}
	execute(t, connect(t, database), `NOTIFY plannerd_tables, 'clicks'`)
	select {
	case <-events:
	case <-time.After(most):
		t.Errorf("nothing was heard for %v", most)
	}
}
