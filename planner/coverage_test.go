package planner_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// littleKnown is an operator of which instance 2 is frozen and 1 partial.
func littleKnown(t *testing.T) (*planner.Statistics, planner.Configuration, planner.Base) {
	config := planner.Configuration{Instances: instances(0, 1, 2), Hash: lookup{"a": 0, "b": 2, "c": 1}}
	return &planner.Statistics{
			Keys: planner.KeysOf("a", "b", "c"), Cost: []float64{6, 4, 2}, State: []float64{9, 1, 1},
			Instance: []int32{0, 0, 1}, PartialOn: []int32{1}, Frozen: []int32{2},
		}, config, planner.Base{Configuration: config, Table: table(t,
			planner.Entry{Key: []byte("b"), Instance: 0}, planner.Entry{Key: []byte("on 0"), Instance: 0},
			planner.Entry{Key: []byte("on 1"), Instance: 1}, planner.Entry{Key: []byte("on 2"), Instance: 2})}
}

func TestNewSnapshotMarksCoverage(t *testing.T) {
	stats, config, base := littleKnown(t)
	s, err := planner.NewSnapshot(stats, config, base)
	if err != nil {
		t.Fatal(err)
	}
	want := []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1, Partial: true},
		{ID: 2, Capacity: 1, Partial: true, Frozen: true}}
	if d := cmp.Diff(want, s.Instances); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{0, 2, 1}, s.Hash); d != "" {
		t.Errorf("h: %s", d)
	}
	if n := s.RetainedEntries(); n != 2 {
		t.Errorf("%d entries stay, want 2: those on the instances that say little", n)
	}
	if err := plannertest.CheckSnapshot(s); err != nil {
		t.Error(err)
	}
	stats.Partial = true
	if s, err = planner.NewSnapshot(stats, config, base); err != nil || s.RetainedEntries() != 3 {
		t.Errorf("%v, %d entries stay, want all 3", err, s.RetainedEntries())
	}
}

func TestNewSnapshotRefusesCoverage(t *testing.T) {
	for name, tt := range map[string]struct {
		edit  func(*planner.Statistics, *planner.Configuration, *planner.Base)
		row   int
		field string
	}{
		"partial on nobody": {func(s *planner.Statistics, _ *planner.Configuration,
			_ *planner.Base) {
			s.PartialOn = []int32{1, 7}
		}, -1, "PartialOn"},
		"partial out of order": {func(s *planner.Statistics, _ *planner.Configuration,
			_ *planner.Base) {
			s.PartialOn = []int32{1, 0}
		}, -1, "PartialOn"},
		"partial twice": {func(s *planner.Statistics, _ *planner.Configuration,
			_ *planner.Base) {
			s.PartialOn = []int32{1, 1}
		}, -1, "PartialOn"},
		"nobody frozen": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) { s.Frozen = []int32{-1} },
			-1, "Frozen"},
		"frozen out of order": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) {
			s.PartialOn, s.Frozen = nil, []int32{2, 1}
		}, -1, "Frozen"},
		"frozen twice": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) { s.Frozen = []int32{2, 2} },
			-1, "Frozen"},
		"in both": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) { s.PartialOn = []int32{1, 2} },
			-1, "Frozen"},
		"all frozen": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) {
			s.PartialOn, s.Frozen = nil, []int32{0, 1, 2}
		}, -1, "Frozen"},
		"all live ones frozen": {func(s *planner.Statistics, c *planner.Configuration, _ *planner.Base) {
			c.Instances = instances(1, 2)
			s.PartialOn, s.Frozen = nil, []int32{1, 2}
		}, -1, "Frozen"},
		"another hash": {func(_ *planner.Statistics, _ *planner.Configuration, b *planner.Base) { b.HashChanged = true },
			-1, "Frozen"},
		"Residual": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) {
			s.Residual = []planner.Residual{{Instance: 2}}
		}, -1, "Residual[0].Instance"},
		"reported": {func(s *planner.Statistics, _ *planner.Configuration, _ *planner.Base) { s.Instance[2] = 2 },
			2, "Instance"},
		"by hash": {func(s *planner.Statistics, _ *planner.Configuration, b *planner.Base) {
			s.Instance, b.Table = nil, nil
		}, 1, "Instance"},
		"by entry": {func(s *planner.Statistics, _ *planner.Configuration, b *planner.Base) {
			s.Instance, b.Table = nil, table(t, planner.Entry{Key: []byte("b")}, planner.Entry{Key: []byte("c"), Instance: 2})
		}, 2, "Instance"},
	} {
		t.Run(name, func(t *testing.T) {
			stats, config, base := littleKnown(t)
			tt.edit(stats, &config, &base)
			_, err := planner.NewSnapshot(stats, config, base)
			var input *planner.InputError
			if !errors.As(err, &input) || input.Row != tt.row || input.Field != tt.field {
				t.Errorf("got %v, want an error at row %d, field %s", err, tt.row, tt.field)
			}
		})
	}
}

func TestSnapshotsWithFrozenAreChecked(t *testing.T) {
	for what, edit := range map[string]func(*planner.Snapshot){
		"partial":   func(s *planner.Snapshot) { s.Instances[2].Partial = false },
		"residual":  func(s *planner.Snapshot) { s.Instances[2].ResidualKeys = 1 },
		"none live": func(s *planner.Snapshot) { s.Instances[0].Drained, s.Instances[1].Drained = true, true },
		"on it":     func(s *planner.Snapshot) { s.Current[1] = 2 },
		"no hash":   func(s *planner.Snapshot) { s.Instances[2].Drained = true }, // goes to what was removed
	} {
		stats, config, base := littleKnown(t)
		s, err := planner.NewSnapshot(stats, config, base)
		if err != nil {
			t.Fatal(err)
		}
		if edit(s); plannertest.CheckSnapshot(s) == nil {
			t.Errorf("%s: unnoticed", what)
		}
	}
}

func TestFingerprintOfCoverage(t *testing.T) {
	seen := map[[16]byte]string{}
	for _, x := range []struct{ partialOn, frozen []int32 }{
		{nil, nil}, {[]int32{1}, nil}, {nil, []int32{1}}, {[]int32{2}, nil}, {[]int32{1}, []int32{2}},
		{[]int32{2}, []int32{1}}, {[]int32{1, 2}, nil},
	} {
		s := planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}, PartialOn: x.partialOn, Frozen: x.frozen}
		f, what := s.Fingerprint(), fmt.Sprint(x)
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have the same fingerprint", what, other)
		}
		seen[f] = what
	}
	plain := planner.Statistics{Keys: planner.KeysOf("a"), Cost: []float64{1}}
	empty := plain
	empty.PartialOn, empty.Frozen = []int32{}, []int32{}
	if plain.Fingerprint() != empty.Fingerprint() {
		t.Error("empty lists change the fingerprint")
	}
}

// Of d0 = {a 6, b 4}, d1 = {c 2} and d2, frozen, d0 has 4 too much: fair is 6. b is
// at home on d2, where it may not go, so it has an entry whatever becomes of it;
// those of absent keys on d1 and d2 stay.
func TestFrozenExample(t *testing.T) {
	for _, tt := range []struct {
		strategy string
		moved    map[string]int32
		state    float64
		table    int64
	}{
		{planner.Optimal, map[string]int32{"b": 1}, 1, 3},
		{planner.Mixed, map[string]int32{"b": 1}, 1, 3},
		{planner.MixedBruteForce, map[string]int32{"b": 1}, 1, 3},
		{planner.MinMig, map[string]int32{"b": 1}, 1, 3},
		{planner.MinTable, map[string]int32{"a": 1, "c": 0}, 10, 5}, // b is not moved back first
		{planner.LLFD, map[string]int32{"a": 1, "c": 0}, 10, 5},
	} {
		stats, config, base := littleKnown(t)
		s, err := planner.NewSnapshot(stats, config, base)
		if err != nil {
			t.Fatal(err)
		}
		p := run(t, tt.strategy, s, planner.Options{})
		if err := plannertest.Check(s, planner.Options{}, p); err != nil {
			t.Errorf("%s: %v", tt.strategy, err)
		}
		moved := map[string]int32{}
		for _, m := range p.Moves {
			moved[string(s.Keys.At(int(m.Item)))] = s.Instances[m.To].ID
		}
		if d := cmp.Diff(tt.moved, moved); d != "" {
			t.Errorf("%s: %s", tt.strategy, d)
		}
		if p.Migration.State != tt.state || p.TableAfter != tt.table || p.TableBefore != 4 {
			t.Errorf("%s: state %v, a table of %d after %d", tt.strategy, p.Migration.State, p.TableAfter, p.TableBefore)
		}
		if math.Abs(p.Theta.Before-10.0/6+1) > 1e-12 || p.Theta.After != 0 || p.Skewness.After != 1 || !p.Balanced {
			t.Errorf("%s: θ %v, skewness %v", tt.strategy, p.Theta, p.Skewness)
		}
		if len(p.Unset) != 1 || string(p.UnsetKey(0)) != "on 0" {
			t.Errorf("%s: drops %v, want the entry on the instance that says all", tt.strategy, p.Unset)
		}
		if p.Instances[2] != (planner.Load{}) || !slices.Equal(p.Causes, []planner.Cause{planner.CauseFrozen}) {
			t.Errorf("%s: %+v, causes %v", tt.strategy, p.Instances[2], p.Causes)
		}
		if p.Certificate.LowerBound != 1 {
			t.Errorf("%s: lower bound %v, want 1: b has to go", tt.strategy, p.Certificate.LowerBound)
		}
	}
}

// Three entries are forced: that of b, wherever it goes, and the two that stay.
func TestFrozenForcesEntries(t *testing.T) {
	stats, config, base := littleKnown(t)
	s, err := planner.NewSnapshot(stats, config, base)
	if err != nil {
		t.Fatal(err)
	}
	for limit := range int64(4) {
		p := run(t, planner.Optimal, s, planner.Options{TableLimit: &limit})
		c := p.Certificate
		if p.TableWithinLimit != (limit == 3) || c.Infeasible != (limit < 3) {
			t.Errorf("limit %d: within it %t, infeasible %t", limit, p.TableWithinLimit, c.Infeasible)
		}
		at := slices.IndexFunc(c.Unmet, func(u planner.Unmet) bool { return u.Constraint == planner.ConstraintTable })
		if limit < 3 && (at < 0 || c.Unmet[at].AtLeast != 3) {
			t.Errorf("limit %d: unmet %+v, want a table of 3", limit, c.Unmet)
		}
	}
}

// A removed instance of which nothing is known keeps its keys, and nobody may take
// that for the end of the matter.
func TestFrozenAndDrained(t *testing.T) {
	hash := lookup{"a": 0, "b": 1}
	now, old := planner.Configuration{Instances: instances(0, 1), Hash: hash},
		planner.Configuration{Instances: instances(0, 1, 2), Hash: hash}
	stats := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 1}, Frozen: []int32{2}}
	s, err := planner.NewSnapshot(stats, now, planner.Base{Configuration: old,
		Table: table(t, planner.Entry{Key: []byte("there"), Instance: 2})})
	if err != nil {
		t.Fatal(err)
	}
	if x := s.Instances[2]; !x.Drained || !x.Frozen || plannertest.CheckSnapshot(s) != nil {
		t.Fatalf("%+v, %v", x, plannertest.CheckSnapshot(s))
	}
	for _, strategy := range names() {
		p := run(t, strategy, s, planner.Options{})
		if !p.Empty() || p.TableAfter != 1 || !slices.Equal(p.Causes,
			[]planner.Cause{planner.CauseBalanced, planner.CauseFrozen}) {
			t.Errorf("%s: %v %v %v, a table of %d, causes %v", strategy, p.Moves, p.Set, p.Unset, p.TableAfter, p.Causes)
		}
	}
}

// The checker must notice what may not happen around a frozen instance.
func TestCheckNoticesFrozen(t *testing.T) {
	stats, config, base := littleKnown(t)
	s, err := planner.NewSnapshot(stats, config, base)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(p *planner.Plan){
		"cause lost":     func(p *planner.Plan) { p.Causes = nil },
		"sent there":     func(p *planner.Plan) { p.Moves[0].To = 2 },
		"entry dropped":  func(p *planner.Plan) { p.Unset = append(p.Unset, planner.Removal{Item: -1, Entry: 3}) },
		"entry of b":     func(p *planner.Plan) { p.Set = nil },
		"share of load":  func(p *planner.Plan) { p.Instances[2].Fair = 1 },
		"entry retained": func(p *planner.Plan) { p.Unset = nil },
		"table":          func(p *planner.Plan) { p.TableAfter-- },
	} {
		p := run(t, planner.Mixed, s, planner.Options{})
		if change(p); plannertest.Check(s, planner.Options{}, p) == nil {
			t.Errorf("%s: unnoticed", what)
		}
	}
}

// withFrozen adds a frozen instance that has no keys and is no one's home, and
// returns its index.
func withFrozen(r *rand.Rand, c *plannertest.Case) (*plannertest.Case, int32) {
	d, at := c.Clone(), int32(r.IntN(len(c.Instances)+1))
	id := int32(0)
	if at > 0 {
		id = c.Instances[at-1].ID + 1
	}
	d.Instances = slices.Insert(d.Instances, int(at),
		planner.Instance{ID: id, Capacity: 1 + r.Float64(), Partial: true, Frozen: true, Drained: r.IntN(3) == 0})
	for i := range d.Items {
		for _, index := range []*int32{&d.Items[i].Current, &d.Items[i].Hash} {
			if *index >= at {
				*index++
			}
		}
	}
	return d, at
}

// spread makes room for another id after each.
func spread(c *plannertest.Case) {
	for d := range c.Instances {
		c.Instances[d].ID = 2*c.Instances[d].ID + 1
	}
	for i := range c.Items {
		if e := &c.Items[i].Entry; *e != planner.NoInstance {
			*e = 2**e + 1
		}
	}
	for i := range c.Absent {
		c.Absent[i].Instance = 2*c.Absent[i].Instance + 1
	}
}

// hardToProve is a case whose proof uses up its work.
func hardToProve() *plannertest.Case {
	item := func(key string, cost, state float64, current, hash int32) plannertest.Item {
		return plannertest.Item{Key: key, Cost: cost, State: state, Count: 1, Current: current, Hash: hash,
			Entry: planner.NoInstance}
	}
	return &plannertest.Case{
		Options: planner.Options{KeyOverhead: 2.5, Beta: new(float64)},
		Instances: []planner.Instance{
			{ID: 0, Capacity: 3}, {ID: 2, Capacity: 2},
			{ID: 5, Capacity: 1.5, Drained: true, Partial: true, Frozen: true},
			{ID: 8, Capacity: 0.5, Drained: true}, {ID: 9, Capacity: 1},
		},
		Items: []plannertest.Item{
			item("k0", 9, 5, 4, 4), item("k1", 7, 2, 0, 0), item("k2", 9, 3, 1, 1), item("k3", 9, 5, 4, 4),
			item("k4", 3, 0, 1, 4), item("k5", 7, 7, 1, 1), item("k6", 7, 1, 1, 1),
		},
	}
}

// The work of a proof is that of the live instances.
func TestFrozenTakesNoWorkFromTheProof(t *testing.T) {
	c := hardToProve()
	spread(c)
	r := rand.New(rand.NewPCG(49, 49))
	want := run(t, planner.Mixed, c.Snapshot(), c.Options).Certificate
	for range 20 {
		d, _ := withFrozen(r, c)
		if diff := cmp.Diff(want, run(t, planner.Mixed, d.Snapshot(), d.Options).Certificate); diff != "" {
			t.Fatalf("certificate: %s%s", diff, d)
		}
	}
}

// A frozen instance that nothing has to do with makes no difference.
func TestFrozenForNothing(t *testing.T) {
	eachCase(t, 48, 600, func(t *testing.T, r *rand.Rand, strategy string, c *plannertest.Case) {
		c = c.Clone()
		spread(c)
		d, at := withFrozen(r, c)
		want, got := run(t, strategy, c.Snapshot(), c.Options), run(t, strategy, d.Snapshot(), d.Options)
		if err := plannertest.Check(got.Snapshot, d.Options, got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want.Certificate, got.Certificate); diff != "" {
			t.Errorf("certificate: %s", diff)
		}
		got.Instances = slices.Delete(got.Instances, int(at), int(at)+1)
		if got.Causes = slices.DeleteFunc(got.Causes,
			func(c planner.Cause) bool { return c == planner.CauseFrozen }); slices.Contains(want.Causes, planner.CauseFrozen) {
			got.Causes = append(got.Causes, planner.CauseFrozen)
		}
		if a, b := byKey(got), byKey(want); !slices.Equal(a, b) {
			t.Errorf("%q\nwant %q", a, b)
		}
	})
}

// Hash alone sends nothing to a frozen instance: what is at home there stays away.
func TestRehashAroundFrozen(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(49, 49))
	homeless := 0
	for range 600 {
		c := plannertest.Tiny(r)
		c.Options = planner.Options{ThetaMax: math.MaxFloat64 / 1e6} // none is hot
		s := c.Snapshot()
		p, err := planner.Rehash(s, c.Options, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Strategy = "hash"
		if p.Options.Certificate = ""; !slices.Contains(p.Causes, planner.CauseBalanced) {
			if err := plannertest.Check(s, c.Options, p); err != nil {
				t.Fatalf("%v\n%s", err, c)
			}
		}
		a := plannertest.AssignmentOf(p)
		for i, h := range s.Hash {
			want := h
			if s.Instances[h].Frozen {
				homeless++
				if want = s.Current[i]; s.Instances[want].Drained {
					continue // anywhere: Check sees to it that it is live
				}
			}
			if a[i][want] != c.Items[i].Count {
				t.Fatalf("item %d ends as %v, want it on %d\n%s", i, a[i], want, c)
			}
		}
	}
	if homeless < 50 {
		t.Errorf("only %d items had a frozen home", homeless)
	}
}
