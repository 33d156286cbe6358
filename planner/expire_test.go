package planner_test

import (
	"slices"
	"testing"

	"plannerd/planner"
)

// leftSnapshot has key a whole on instance 0, as the table says, with state on instance 1
// that costs nothing there, and key b on instance 1. Of key c only such state is told, on
// instance 0, and the hash has it on 1.
// They are keys that are named beside a class of two that cost nothing, if so said.
func leftSnapshot(t *testing.T, expire, named bool) *planner.Snapshot {
	t.Helper()
	c := planner.Configuration{Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}}}
	table, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("a"), Instance: 0}})
	if err != nil {
		t.Fatal(err)
	}
	stats := &planner.Statistics{
		Keys: planner.KeysOf("a", "b", "c"), Cost: []float64{10, 9, 0}, State: []float64{7, 3, 2},
		Instance: []int32{0, 1, 0}, HashInstance: []int32{1, 1, 1},
		Shares: []planner.Share{{Row: 0, Instance: 0, State: 5}, {Row: 0, Instance: 1, State: 2, Idle: true}},
	}
	if named {
		stats.Keys = planner.KeysOf("class", "a", "b", "c")
		stats.Cost, stats.State = append([]float64{0}, stats.Cost...), append([]float64{1}, stats.State...)
		stats.Instance, stats.HashInstance = append([]int32{0}, stats.Instance...), append([]int32{0}, stats.HashInstance...)
		stats.Count, stats.Named = []int64{2, 1, 1, 1}, 3
		for i := range stats.Shares {
			stats.Shares[i].Row++
		}
	}
	s, err := planner.NewSnapshot(stats, c, planner.Base{Configuration: c, Table: table, PartsExpire: expire})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartsThatRunOut: state without cost where the table sends no messages runs out where
// parts expire, so that it is no drift and moves nowhere; what it emits is load. Where they
// migrate it is brought to its key.
func TestPartsThatRunOut(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		for _, named := range []bool{false, true} {
			o := planner.Options{ThetaMax: 0.2, Splitting: &planner.Splitting{MergeCost: 0.5, Expire: true}}
			s := leftSnapshot(t, true, named)
			p := planOf(t, strategy, s, o)
			if len(p.Moves) > 0 || s.Drifted != 0 || !slices.Contains(p.Causes, planner.CauseBalanced) ||
				p.Instances[0].After != 10.5 || p.Instances[1].After != 9.5 {
				t.Errorf("%s: drifted %d, causes %v, %+v\n%s", strategy, s.Drifted, p.Causes, p.Instances, p.Describe())
			}
			o.Splitting.Expire = false
			s = leftSnapshot(t, false, named)
			p = planOf(t, strategy, s, o)
			if len(p.Moves) == 0 || p.Moves[0].Reason != planner.ReasonGather || s.Drifted != 1 {
				t.Errorf("%s: where parts migrate: drifted %d\n%s", strategy, s.Drifted, p.Describe())
			}
		}
	}
}

// TestDrainedPartsMigrate: what is on an instance that goes cannot run out there.
func TestDrainedPartsMigrate(t *testing.T) {
	t.Parallel()
	o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{Expire: true}}
	p := planOf(t, planner.Optimal, hotSnapshot(t, 100, nil), o)
	table, err := p.Table()
	if err != nil {
		t.Fatal(err)
	}
	s := hotSnapshot(t, 10, table)
	whole := planOf(t, planner.Optimal, s, o)
	for _, m := range whole.Moves {
		if m.Item == 0 {
			t.Errorf("a part moves from %d to %d", m.From, m.To)
		}
	}
	gone := s.Splits[0].Parts[1].Instance
	s.Instances[gone].Drained = true
	for i, d := range s.Hash {
		if d == gone {
			s.Hash[i] = (d + 1) % 4
		}
	}
	p = planOf(t, planner.Optimal, s, o)
	if !slices.ContainsFunc(p.Moves, func(m planner.Move) bool { return m.Item == 0 && m.From == gone }) {
		t.Errorf("the part on %d does not move\n%s", gone, p.Describe())
	}
}
