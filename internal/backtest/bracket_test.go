package backtest

import (
	"context"
	"math"
	"slices"
	"testing"

	"plannerd/internal/drive"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/hindsight"
	"plannerd/planner/partitioner"
	"plannerd/planner/policy"
)

// What every policy moved is at least the bound under its own profile, and M is the same
// wherever it is counted.
func TestBracket(t *testing.T) {
	candidates := Candidates([]policy.Policy{{Forecast: forecast.Config{Method: forecast.EWMA, Alpha: 0.5}}})
	for _, stream := range streams.Own() {
		h := NewHistory(drive.DefaultWindow)
		intervals, err := stream.First(10)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range intervals {
			if err := h.Add(in.Number, in.Statistics); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range []Operator{operator(4, 0.05), limited(operator(4, 0.05), 20), ruled(t), limited(ruled(t), 200)} {
			report, err := Search(context.Background(), h, op, candidates, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range append(report.Results, report.Baseline) {
				b, moved := r.Hindsight, r.Judged.Moved
				if b == nil || b.Found == nil || b.Bound < 0 || b.Bound > moved || b.Bound > *b.Found ||
					*b.Found > moved*(1+1e-9) || b.Ratio != nil && (b.Bound < 0.01 || *b.Ratio < 1) {
					t.Errorf("%s, %s: %+v, moved %v", stream.Name, r.Strategy, b, moved)
				}
			}
			sameMoved(t, h, op, candidates[0])
		}
		op := operator(4, 0.05)
		op.Target.Resources = []planner.Resource{{Name: "keys", From: planner.FromCount, ThetaMax: 1}}
		report, err := Search(context.Background(), h, op, candidates, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b := report.Baseline.Hindsight; b == nil || b.Found != nil || b.Bound > report.Baseline.Judged.Moved {
			t.Errorf("%s with another resource: %+v", stream.Name, b)
		}
	}
}

func limited(op Operator, entries int64) Operator {
	op.Options.TableLimit = &entries
	return op
}

// ruled has rules that overlap, and an instance that takes nothing.
func ruled(t *testing.T) Operator {
	t.Helper()
	op := operator(5, 0.05)
	op.Target.Instances[4].Cordoned = true
	c := partitioner.Config{Function: partitioner.Modulo, Rules: []partitioner.Rule{
		{Name: "own", Prefix: "s", On: []int32{0, 1}, Exclusive: true}, {Name: "some", Prefix: "a", On: []int32{2, 3}},
		{Name: "asleep", Prefix: "b", Stay: true},
	}}
	over := []partitioner.Instance{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}}
	var err error
	if op.Target.Hash, err = partitioner.New(c, over); err != nil {
		t.Fatal(err)
	}
	if op.Target.Placement, err = partitioner.NewPlacement(c, over); err != nil {
		t.Fatal(err)
	}
	return op
}

// sameMoved holds what a run counted against what its tables tell.
func sameMoved(t *testing.T, h *History, op Operator, c Candidate) {
	t.Helper()
	track := run1(t, h, op, c)
	past := hindsight.NewHistory(op.Target)
	var stats []*planner.Statistics
	for _, in := range h.intervals {
		if err := past.Add(in.stats); err != nil {
			t.Fatal(err)
		}
		stats = append(stats, in.stats)
	}
	for i, moved := range movedBy(t, op, stats, track.tables) {
		if math.Abs(moved-track.Steps[i].Moved) > 1e-9 {
			t.Errorf("interval %d: moved %v, by the tables %v", i, track.Steps[i].Moved, moved)
		}
	}
	for i, theta := range past.Theta(track.tables, track.fair) {
		if math.Abs(theta-track.Steps[i].Theta) > 1e-9 {
			t.Errorf("interval %d: θ %v, by the tables %v", i, track.Steps[i].Theta, theta)
		}
	}
}

// movedBy is the share of all state that moves from each interval to the next, by their tables.
func movedBy(t *testing.T, op Operator, intervals []*planner.Statistics, tables hindsight.Tables) []float64 {
	t.Helper()
	at := func(s *planner.Statistics, row int, table *planner.RoutingTable) int32 {
		if e := table.Find(s.Keys.At(row), s.Keys.Hash(row)); e >= 0 {
			return table.At(e).Instance
		}
		id, err := op.Target.Hash.Instance(s.Keys.At(row), s.Keys.Hash(row))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	moved := make([]float64, len(intervals)-1)
	for i := range moved {
		s := intervals[i]
		for row := range s.Len() {
			if at(s, row, tables[i]) != at(s, row, tables[i+1]) {
				moved[i] += s.State[row] / drive.StateOf(s)
			}
		}
	}
	return moved
}

// What a strategy moves whose plans know nothing of absent keys is counted by the same state:
// theirs moves with their entries.
func TestMovedOfAbsentKeys(t *testing.T) {
	var intervals []*planner.Statistics
	for i, in := range noisy(7, 20, zipf, 120) {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for row := range in.Len() {
			if (row+i/3)%4 > 0 {
				s.Keys.Append(in.Keys.At(row))
				s.Cost = append(s.Cost, in.Cost[row])
			}
		}
		intervals = append(intervals, s)
	}
	op := operator(5, 0.02)
	for _, grace := range []int{0, 2} {
		d := drive.New(drive.Operator{Target: op.Target, Strategy: planner.Mixed, Options: op.Options, EntryGrace: grace})
		window := drive.NewWindow(drive.DefaultWindow)
		var whole []*planner.Statistics
		var summary drive.Summary
		var tables hindsight.Tables
		want, planned, dropped := 0.0, 0.0, 0
		for i, in := range intervals {
			tables = append(tables, d.Table())
			step, err := d.Step(context.Background(), int64(i), in)
			if err != nil {
				t.Fatal(err)
			}
			if step.Whole, err = window.Add(in); err != nil {
				t.Fatal(err)
			}
			whole = append(whole, step.Whole)
			summary.Add(step)
			planned += step.Plan.Migration.Fraction
			dropped += len(step.Dropped)
		}
		for _, moved := range movedBy(t, op, whole, tables) {
			want += moved
		}
		got := summary.Realised().Moved
		if math.Abs(got-want) > 1e-9 || math.Abs(got-planned) < 0.01 || dropped == 0 {
			t.Errorf("grace %d: moved %v, by the tables %v; by its plans %v, with %d keys dropped", grace, got, want, planned,
				dropped)
		}
	}
}

// Without judged intervals, or with one in which an instance told nothing, hindsight has
// no answer.
func TestNoBracket(t *testing.T) {
	var calm []*planner.Statistics // without keys of the first instance
	for _, in := range noisy(4, 6, zipf, 50) {
		s := &planner.Statistics{Keys: planner.NewKeys(0)}
		for i := range in.Len() {
			if in.Keys.Hash(i)%3 != 0 {
				s.Keys.Append(in.Keys.At(i))
				s.Cost = append(s.Cost, in.Cost[i])
			}
		}
		calm = append(calm, s)
	}
	silent := *calm[5]
	silent.Frozen = []int32{0}
	for name, c := range map[string]struct {
		intervals []*planner.Statistics
		known     bool
	}{"all": {calm, true}, "three": {calm[:3], false}, "silent": {append(slices.Clone(calm), &silent), false}} {
		report, err := Search(context.Background(), history(t, c.intervals...), operator(3, 10), nil, nil)
		if err != nil || (report.Baseline.Hindsight != nil) != c.known {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}
