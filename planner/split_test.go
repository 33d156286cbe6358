package planner_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
)

// hotSnapshot has key 0 of most cost on the first of four instances, and others that are
// spread evenly.
func hotSnapshot(t *testing.T, hot float64, table *planner.RoutingTable) *planner.Snapshot {
	t.Helper()
	var instances []planner.Instance
	for d := range int32(4) {
		instances = append(instances, planner.Instance{ID: d, Capacity: 1})
	}
	stats := &planner.Statistics{Keys: planner.NewKeys(101)}
	for i := range 101 {
		stats.Keys.Append([]byte{'k', byte('0' + i/10), byte('0' + i%10)})
		cost := 1.0
		if i == 0 {
			cost = hot
		}
		stats.Cost = append(stats.Cost, cost)
		stats.State = append(stats.State, cost)
		stats.HashInstance = append(stats.HashInstance, int32(i%4))
	}
	stats.Keys.HashAppended()
	c := planner.Configuration{Instances: instances}
	s, err := planner.NewSnapshot(stats, c, planner.Base{Configuration: c, Table: table, IgnoreInstances: table != nil})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t *testing.T, strategy string, s *planner.Snapshot, o planner.Options) *planner.Plan {
	t.Helper()
	p, err := planner.Run(strategy, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSplitHotKey: a key that costs as much as two instances may carry is split where no
// whole one would do, by every strategy alike, into as few parts as can be; what comes then
// is answered by other weights, which moves nothing.
func TestSplitHotKey(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{}}
		p := planOf(t, strategy, hotSnapshot(t, 100, nil), o)
		if p.Merges() != 1 || !p.Balanced || len(p.HotKeys) > 0 || p.Splits[0].Cause != planner.CauseHotKey ||
			!p.Splits[0].Changed || p.TableBefore != 0 {
			t.Fatalf("%s: %v\n%s", strategy, p.Splits, p.Describe())
		}
		table, err := p.Table()
		if err != nil {
			t.Fatal(err)
		}
		again := planOf(t, strategy, hotSnapshot(t, 100, table), o)
		if !again.Empty() || again.Splits[0].Changed || !slices.Contains(again.Causes, planner.CauseBalanced) {
			t.Errorf("%s: the same again: %v\n%s", strategy, again.Causes, again.Describe())
		}
		other := planOf(t, strategy, hotSnapshot(t, 94, table), o)
		if len(other.Moves) > 0 || !other.Balanced || other.Merges() != 1 {
			t.Errorf("%s: a little less of it: %s", strategy, other.Describe())
		}
		o.Splitting = nil
		whole := planOf(t, strategy, hotSnapshot(t, 10, table), o)
		if len(whole.Splits) > 0 || whole.Migration.Keys == 0 {
			t.Errorf("%s: no key may be split any more: %s", strategy, whole.Describe())
		}
	}
}

// TestPartsLimit: a key that would need more parts than it may have is split as far as it
// may, and the plan says what θ that forces.
func TestPartsLimit(t *testing.T) {
	t.Parallel()
	o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{MaxParts: 2}}
	p := planOf(t, planner.Optimal, hotSnapshot(t, 180, nil), o) // fair is 70
	want := 180.0/2/70 - 1
	switch {
	case p.Merges() != 1 || p.Balanced || len(p.HotKeys) != 1:
		t.Fatal(p.Describe())
	case math.Abs(p.HotKeys[0].ForcedTheta-want) > 1e-9 || p.HotKeys[0].Pieces != 3:
		t.Errorf("%+v, want θ %v and 3 pieces", p.HotKeys[0], want)
	case !slices.Contains(p.Causes, planner.CausePartsLimit) || p.Theta.After > want+0.01:
		t.Errorf("causes %v, θ %v", p.Causes, p.Theta.After)
	}
}

// TestMergeCost: what merging costs is load beside the mean.
func TestMergeCost(t *testing.T) {
	t.Parallel()
	o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{MergeCost: 3}}
	p := planOf(t, planner.Mixed, hotSnapshot(t, 95, nil), o)
	sum := 0.0
	for _, x := range p.Instances {
		sum += x.After
	}
	if math.Abs(sum-(195+2*3)) > 1e-9 || math.Abs(p.Instances[0].Fair-195.0/4) > 1e-9 {
		t.Errorf("loads sum up to %v, fair is %v", sum, p.Instances[0].Fair)
	}
}

// TestCheaperSplit: with a price of parts below what would have to move, a key that fits
// whole is split instead of moving others, into parts that are worth having; above it,
// and with no price, the plan keeps keys whole.
func TestCheaperSplit(t *testing.T) {
	t.Parallel()
	s := hotSnapshot(t, 5, nil) // the first instance has 30, the others 25 each
	plan := func(price float64) *planner.Plan {
		return planOf(t, planner.Optimal, s, planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{Price: &price}})
	}
	whole := planOf(t, planner.Optimal, s, planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{}})
	if !whole.Balanced || whole.Merges() != 0 || whole.Migration.State == 0 {
		t.Fatal(whole.Describe())
	}
	for price, splits := range map[float64]bool{whole.Migration.State - 1: true, whole.Migration.State + 1: false} {
		p := plan(price)
		want := p.Migration.State + price*float64(p.Merges())
		switch {
		case !p.Balanced || math.Abs(p.Migration.Objective-want) > 1e-9 || p.Certificate.LowerBound > want:
			t.Errorf("price %v: objective %v, want %v; bound %v", price, p.Migration.Objective, want, p.Certificate.LowerBound)
		case splits != (p.Merges() > 0):
			t.Errorf("price %v: %d merges\n%s", price, p.Merges(), p.Describe())
		case !splits:
			continue
		}
		for _, x := range p.Splits {
			if x.Cause != planner.CauseCheaperSplit || !x.Changed {
				t.Errorf("%+v", x)
			}
			for _, part := range x.Parts {
				if part.Weight < planner.PartUnits/16 {
					t.Errorf("%+v has hardly anything of the key", part)
				}
			}
		}
		table, err := p.Table()
		if err != nil {
			t.Fatal(err)
		}
		o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{Price: &price}}
		if again := planOf(t, planner.Optimal, hotSnapshot(t, 5, table), o); !again.Empty() || again.Merges() != p.Merges() {
			t.Errorf("the same again: %s", again.Describe())
		}
	}
	for _, strategy := range names() { // others plan as ever
		price := 1.0
		o := planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{Price: &price}}
		if p := planOf(t, strategy, s, o); !p.Balanced || strategy != planner.Optimal && p.Merges() != 0 {
			t.Errorf("%s: %s", strategy, p.Describe())
		}
	}
}

// TestSplitEntries: parts are what the table counts and finds.
func TestSplitEntries(t *testing.T) {
	t.Parallel()
	parts := []planner.Part{{Instance: 1, Weight: 20000}, {Instance: 7, Weight: 45536}}
	table, err := planner.NewRoutingTable([]planner.Entry{
		{Key: []byte("a"), Instance: 3}, {Key: []byte("b"), Parts: parts},
	})
	if err != nil {
		t.Fatal(err)
	}
	i := table.Find([]byte("b"), planner.KeyHash([]byte("b")))
	if e := table.At(i); e.Instance != 7 || !slices.Equal(e.Parts, parts) || table.Size() != 3 || table.Len() != 2 {
		t.Errorf("%+v, %d entries of %d keys", e, table.Size(), table.Len())
	}
	for _, bad := range [][]planner.Part{
		{}, {{Instance: 1, Weight: planner.PartUnits}}, {{Instance: 1, Weight: 1}, {Instance: 2, Weight: 1}},
		{{Instance: 2, Weight: 1}, {Instance: 1, Weight: planner.PartUnits - 1}},
		{{Instance: 1, Weight: 0}, {Instance: 2, Weight: planner.PartUnits}},
	} {
		_, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("b"), Parts: bad}})
		if in := (*planner.InputError)(nil); !errors.As(err, &in) || in.Field != "Parts" || in.Row != 0 {
			t.Errorf("parts %v: %v", bad, err)
		}
	}
}

// TestFrozenPart: a key that has a part on an instance of which nothing is known stays as
// it is.
func TestFrozenPart(t *testing.T) {
	t.Parallel()
	parts := []planner.Part{{Instance: 1, Weight: 30000}, {Instance: 2, Weight: 35536}}
	table, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("k00"), Parts: parts}})
	if err != nil {
		t.Fatal(err)
	}
	s := hotSnapshot(t, 100, table)
	stats := &planner.Statistics{Keys: s.Keys, Cost: slices.Clone(s.Cost), Frozen: []int32{2}}
	for _, d := range s.Hash {
		if d == 2 {
			d = 0 // nobody can name a key that is there
		}
		stats.HashInstance = append(stats.HashInstance, s.Instances[d].ID)
	}
	c := planner.Configuration{Instances: s.Instances}
	if s, err = planner.NewSnapshot(stats, c, planner.Base{Configuration: c, Table: table}); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, planner.Mixed, s, planner.Options{ThetaMax: 0.05, Splitting: &planner.Splitting{}})
	if len(p.Splits) != 1 || p.Splits[0].Changed {
		t.Error(p.Describe())
	}
}

func TestSplittingIsValidated(t *testing.T) {
	t.Parallel()
	negative := -1.0
	for field, x := range map[string]planner.Splitting{
		"Splitting.MaxParts": {MaxParts: 1}, "Splitting.MergeCost": {MergeCost: -1}, "Splitting.Price": {Price: &negative},
	} {
		err := planner.Options{Splitting: &x}.Validate()
		if in := (*planner.InputError)(nil); !errors.As(err, &in) || in.Field != field {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// TestCompleteWithFewerSplits completes plans with some of their splits only, where keys
// would need more parts than they may have.
func TestCompleteWithFewerSplits(t *testing.T) {
	t.Parallel()
	crowded := 0
	for seed := range uint64(200) {
		c := newSplitCase(rand.New(rand.NewPCG(seed, 991)), false)
		c.options.Splitting.MaxParts = 2
		s := c.snapshot(t, nil)
		p, err := planner.Run(planner.Mixed, s, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(p.Causes, planner.CausePartsLimit) || len(p.Splits) < 2 {
			continue
		}
		crowded++
		for _, x := range p.Splits {
			q, err := planner.Complete("some", s, c.options, nil, []planner.Split{x.Split})
			if err != nil {
				t.Fatal(err)
			}
			if err := recountSplits(q); err != nil {
				t.Errorf("case %d: %v", seed, err)
			}
		}
	}
	if crowded == 0 {
		t.Error("no key was crowded")
	}
}
