package planner_test

import (
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/quality/cases"
	"plannerd/planner"
)

// finished is a plan of strategy optimal, to be changed by a key or two.
type finished struct {
	*planner.Snapshot
	o           planner.Options
	at          []int32
	load, limit []float64
	table       int64
}

func newFinished(s *planner.Snapshot, o planner.Options, p *planner.Plan) *finished {
	x := &finished{Snapshot: s, o: o, at: append([]int32(nil), s.Current...)}
	x.load, x.limit = make([]float64, len(s.Instances)), make([]float64, len(s.Instances))
	for _, m := range p.Moves {
		x.at[m.Item] = m.To
	}
	total, capacity := 0.0, 0.0
	for i, d := range x.at {
		x.load[d] += s.Cost[i]
		total += s.Cost[i]
		if d != s.Hash[i] {
			x.table++
		}
	}
	for _, d := range s.Instances {
		capacity += d.Capacity
	}
	for d := range s.Instances {
		x.limit[d] = (1 + o.ThetaMax) * s.Instances[d].Capacity / capacity * total * (1 - 1e-9)
	}
	return x
}

// put puts a key somewhere and returns what that adds to the moved state.
func (x *finished) put(i int, to int32) (more float64) {
	at := x.at[i]
	x.load[at] -= x.Cost[i]
	x.load[to] += x.Cost[i]
	if at != x.Hash[i] {
		x.table--
	}
	if to != x.Hash[i] {
		x.table++
	}
	if at != x.Current[i] {
		more -= x.State[i]
	}
	if to != x.Current[i] {
		more += x.State[i]
	}
	x.at[i] = to
	return more
}

// kept reports whether two instances, and the table, keep to their limits.
func (x *finished) kept(d, e int32) bool {
	return x.load[d] <= x.limit[d] && x.load[e] <= x.limit[e] && (x.o.TableLimit == nil || x.table <= *x.o.TableLimit)
}

// improvable looks for a key to put elsewhere and for two to exchange, so that less state moves.
func (x *finished) improvable(gain float64) bool {
	for i := range x.at {
		at := x.at[i]
		for to := range int32(len(x.load)) {
			more := x.put(i, to)
			better := more < -gain && x.kept(at, to)
			x.put(i, at)
			if better {
				return true
			}
		}
		for j := range i {
			other := x.at[j]
			if other == at || at == x.Current[i] && other == x.Current[j] {
				continue // both would only move
			}
			more := x.put(i, other)
			more += x.put(j, at)
			better := more < -gain && x.kept(at, other)
			x.put(j, other)
			x.put(i, at)
			if better {
				return true
			}
		}
	}
	return false
}

// No plan that keeps to all limits becomes better by one key that is put elsewhere, or by two
// that are exchanged.
func TestFinishedPlans(t *testing.T) {
	checked := 0
	seeds := deep.Count(3, 20)
	for seed := range uint64(seeds) {
		for _, family := range cases.Families {
			c, err := cases.Draw(family, 900+seed, 3000)
			if err != nil {
				t.Fatal(err)
			}
			c.Options.Effort, c.Options.Certificate = planner.EffortFast, planner.CertificateOff
			p := optimalOf(t, c.Snapshot, c.Options)
			x := newFinished(c.Snapshot, c.Options, p)
			if !p.Balanced || !p.TableWithinLimit || len(p.HotKeys) > 0 || p.Migration.Keys == 0 {
				continue
			}
			checked++
			if x.improvable(1e-6 * p.Migration.Objective) {
				t.Errorf("%s, seed %d: a key put elsewhere, or two exchanged, make the plan better", family, 900+seed)
			}
		}
	}
	if checked < 2*seeds {
		t.Errorf("only %d plans were looked at", checked)
	}
}
