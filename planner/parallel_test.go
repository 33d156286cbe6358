package planner_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
)

// The tests of this file have so many keys that the planner starts goroutines
// (assign.PartItems). The race detector runs them, but few others of this package.

// shuffled is the snapshot with its rows in another order.
func shuffled(s *planner.Snapshot, seed uint64) *planner.Snapshot {
	t := *s
	n := s.Len()
	t.Keys, t.Cost, t.State = planner.NewKeys(n), make([]float64, n), make([]float64, n)
	t.Current, t.Hash = make([]int32, n), make([]int32, n)
	for i, j := range rand.New(rand.NewPCG(seed, 1)).Perm(n) {
		t.Keys.Append(s.Keys.At(j))
		t.Cost[i], t.State[i], t.Current[i], t.Hash[i] = s.Cost[j], s.State[j], s.Current[j], s.Hash[j]
	}
	return &t
}

// TestPartsMakeNoDifference plans with one processor and with several, and with
// the rows in another order.
func TestPartsMakeNoDifference(t *testing.T) {
	s := zipfSnapshot(140_000, 15)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range s.State {
		s.State[i] *= 0.5 + r.Float64()
		if r.IntN(200) == 0 {
			s.Current[i] = int32(r.IntN(len(s.Instances)))
		}
	}
	limit := int64(900)
	o := planner.Options{ThetaMax: 0.05, TableLimit: &limit}
	if !deep.On() || testing.Short() {
		o.Effort = planner.EffortFast
	}
	for _, name := range []string{planner.Mixed, planner.Optimal} {
		plan := func(s *planner.Snapshot, processors int, o planner.Options) *planner.Plan {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
			p, err := planner.Run(name, s, o)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		alone := plan(s, 1, o)
		stoppable := o
		stoppable.Stop = func() bool { return false }
		budgeted := o
		budgeted.WorkBudget = alone.WorkUnits
		for what, other := range map[string]*planner.Plan{
			"several processors": plan(s, 4, o),
			"other rows":         plan(shuffled(s, 1), 3, o),
			"a Stop":             plan(s, 4, stoppable),
			"its own budget":     plan(s, 4, budgeted),
		} {
			if other.Migration != alone.Migration || other.WorkUnits != alone.WorkUnits ||
				other.TableAfter != alone.TableAfter ||
				!reflect.DeepEqual(other.Certificate, alone.Certificate) || !reflect.DeepEqual(other.Instances, alone.Instances) {
				t.Errorf("%s, %s: %+v, %+v, %d units; alone %+v, %+v, %d units", name, what,
					other.Migration, other.Certificate, other.WorkUnits, alone.Migration, alone.Certificate, alone.WorkUnits)
			}
		}
	}
}

// TestNewSnapshotStops: it asks more than once where there are many rows.
func TestNewSnapshotStops(t *testing.T) {
	keys, n := planner.NewKeys(0), 1<<17
	for i := range n {
		keys.Append([]byte{byte(i >> 16), byte(i >> 8), byte(i)})
	}
	stats := &planner.Statistics{Keys: keys, Cost: make([]float64, n), HashInstance: make([]int32, n)}
	var asked atomic.Int64 // by several goroutines
	_, err := planner.NewSnapshot(stats, planner.Configuration{Instances: instances(0)}, planner.Base{Stop: func() bool {
		return asked.Add(1) == 2
	}})
	if !errors.Is(err, planner.ErrStopped) || asked.Load() < 2 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}
