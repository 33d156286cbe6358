package compact_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

func TestMerge(t *testing.T) {
	records := []compact.Record{
		{Planned: 2, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 1},
		{Planned: 1, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 5},
		{Planned: planner.NoInstance, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 3},
		{Planned: 2, Current: 2, Hash: 2, Cost: 8, State: 8, Count: 1},
		{Planned: 2, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 1},
		{Planned: planner.NoInstance, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 4},
		{Planned: 2, Current: 2, Hash: 1, Cost: 4, State: 2, Count: 9},
		{Planned: 2, Current: 2, Hash: 1, Cost: 2, State: 4, Count: 9},
		{Planned: 1, Current: 1, Hash: 2, Cost: 9, State: 9, Count: 9},
	}
	given := slices.Clone(records)
	want := []compact.Record{
		{Planned: 1, Current: 1, Hash: 2, Cost: 9, State: 9, Count: 9},
		{Planned: 2, Current: 2, Hash: 1, Cost: 2, State: 4, Count: 9},
		{Planned: 2, Current: 2, Hash: 1, Cost: 4, State: 2, Count: 9},
		{Planned: planner.NoInstance, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 7},
		{Planned: 1, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 5},
		{Planned: 2, Current: 2, Hash: 1, Cost: 4, State: 4, Count: 2},
		{Planned: 2, Current: 2, Hash: 2, Cost: 8, State: 8, Count: 1},
	}
	if got := compact.Merge(records); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Equal(records, given) {
		t.Error("the argument has changed")
	}
	if got := compact.Merge(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// target is a configuration of instances with those ids.
func target(ids ...int32) planner.Configuration {
	var c planner.Configuration
	for _, id := range ids {
		c.Instances = append(c.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	return c
}

// The paper's record: two keys of cost and state 4 on d2, whose hash instance is
// d1, go back there: (d1, d2, d1, 4, 4, 2).
func TestPapersRecord(t *testing.T) {
	const d1, d2 = 1, 2
	st := &compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1}, Records: []compact.Record{
		{Planned: planner.NoInstance, Current: d2, Hash: d1, Cost: 4, State: 4, Count: 1},
		{Planned: d2, Current: d2, Hash: d2, Cost: 8, State: 8, Count: 1},
		{Planned: d1, Current: d2, Hash: d1, Cost: 4, State: 4, Count: 1},
	}}
	c, err := compact.NewClasses(st, target(d1, d2), planner.Base{})
	if err != nil {
		t.Fatal(err)
	}
	want := []compact.Record{
		{Planned: d2, Current: d2, Hash: d1, Cost: 4, State: 4, Count: 2},
		{Planned: d2, Current: d2, Hash: d2, Cost: 8, State: 8, Count: 1},
	}
	if !slices.Equal(c.Records, want) {
		t.Fatalf("records %v, want %v", c.Records, want)
	}
	if got := loads(c.Items); !slices.Equal(got, []float64{0, 16}) {
		t.Errorf("loads %v, want 0 and 16", got)
	}
	for _, strategy := range []string{planner.MinTable, planner.Mixed, planner.Optimal} {
		p, err := planner.Run(strategy, c.Items, planner.Options{TableLimit: new(int64(0))})
		if err != nil {
			t.Fatal(err)
		}
		moves := []compact.Record{{Planned: d1, Current: d2, Hash: d1, Cost: 4, State: 4, Count: 2}}
		if got := c.Moves(p); !slices.Equal(got, moves) {
			t.Errorf("%s: moves %v, want %v", strategy, got, moves)
		}
		if p.TableBefore != 2 || p.TableAfter != 0 || !p.Balanced {
			t.Errorf("%s: table %d → %d, balanced %t", strategy, p.TableBefore, p.TableAfter, p.Balanced)
		}
	}
}

// explode makes single keys of the units of items.
func explode(s *planner.Snapshot) (keys *planner.Snapshot, itemOf []int) {
	t := *s
	t.Keys, t.Cost, t.State, t.Count, t.Current, t.Hash = &planner.Keys{}, nil, nil, nil, nil, nil
	for i := range s.Len() {
		for n := range s.Count[i] {
			t.Keys.Append(fmt.Appendf(nil, "%d of %d", n, i))
			t.Cost, t.State = append(t.Cost, s.Cost[i]), append(t.State, stateOf(s, i))
			t.Current, t.Hash = append(t.Current, s.Current[i]), append(t.Hash, s.Hash[i])
			itemOf = append(itemOf, i)
		}
	}
	return &t, itemOf
}

// posted makes records of classes at random, some of which are equal, or no two of
// the same cost or state, and what they mean.
func posted(r *rand.Rand, distinct bool) (*compact.Statistics, planner.Configuration, planner.Base) {
	ids := []int32{0, 3, 4, 7, 12}[:1+r.IntN(5)]
	conf, old := target(ids...), target(append(slices.Clone(ids), 20)...)
	for d := range conf.Instances {
		conf.Instances[d].Capacity = []float64{1, 1, 1, 2, 0.5}[r.IntN(5)]
	}
	st := &compact.Statistics{Scales: compact.Scales{Cost: math.Ldexp(1, r.IntN(7)-3), State: math.Ldexp(1, r.IntN(7)-3)},
		Partial: r.IntN(4) == 0}
	base := planner.Base{Configuration: conf}
	drain := r.IntN(3) == 0
	if drain {
		base = planner.Base{Configuration: old, HashChanged: true}
	}
	costs, states := r.Perm(40), r.Perm(40)
	for n := range r.IntN(40) {
		rec := compact.Record{Planned: planner.NoInstance, Hash: ids[r.IntN(len(ids))], Current: ids[r.IntN(len(ids))],
			Cost: float64(r.IntN(6)), State: float64(r.IntN(6)), Count: 1 + r.Int64N(9)}
		if distinct {
			rec.Cost, rec.State = float64(1+costs[n]), float64(1+states[n])
		}
		if drain && r.IntN(4) == 0 {
			rec.Current = 20
		}
		st.Records = append(st.Records, rec)
	}
	if st.Partial {
		st.Residual = []planner.Residual{{Instance: ids[0], Cost: float64(r.IntN(20)), State: 5, Keys: 6}}
		base.Retained = r.Int64N(5)
	}
	return st, conf, base
}

// Plans of posted records are plans of the keys that they count, whichever keys
// of a class move.
func TestPlansOfPostedRecords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 20))
	for n := range deep.Cases(800) {
		distinct := r.IntN(2) == 0
		st, conf, base := posted(r, distinct)
		c, err := compact.NewClasses(st, conf, base)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(plannertest.CheckSnapshot(c.Items), checkPosted(c, st, base)); err != nil {
			t.Fatalf("case %d: %v\n%+v", n, err, st)
		}
		strategy := names()[n%len(names())]
		o := planner.Options{ThetaMax: []float64{0, 0.02, 0.08, 0.3}[r.IntN(4)], KeyOverhead: float64(r.IntN(2))}
		if r.IntN(2) == 0 {
			o.TableLimit = new(r.Int64N(60))
		}
		p, err := planner.Run(strategy, c.Items, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(checkClassPlan(o, p), checkMoves(c, p), checkExploded(r, c, o, p),
			checkOneByOne(c, strategy, o, p, distinct)); err != nil {
			t.Fatalf("case %d, %s: %v\n%+v", n, strategy, err, st)
		}
	}
}

// checkPosted checks that the records are those given, merged, and the items
// what they say.
func checkPosted(c *compact.Classes, st *compact.Statistics, base planner.Base) error {
	units := map[compact.Record]int64{}
	for _, r := range st.Records {
		n := r.Count
		r.Planned, r.Count = r.Current, 0
		units[r] += n
	}
	cost, state := make([]float64, len(c.Records)), make([]float64, len(c.Records))
	for n, r := range c.Records {
		cost[n], state[n] = r.Cost*st.Scales.Cost, r.State*st.Scales.State
		if n > 0 && compareRecords(c.Records[n-1], r) >= 0 {
			return fmt.Errorf("%+v comes after %+v", r, c.Records[n-1])
		}
		count := r.Count
		r.Count = 0
		if units[r] != count {
			return fmt.Errorf("%d keys in %+v, want %d", count, r, units[r])
		}
		delete(units, r)
	}
	if len(units) > 0 {
		return fmt.Errorf("no records of %v", units)
	}
	if c.Scales != st.Scales || c.Items.Partial != st.Partial || c.Items.Retained != base.Retained ||
		c.Items.HashChanged != base.HashChanged {
		return fmt.Errorf("scales %v, partial %t, retained %d", c.Scales, c.Items.Partial, c.Items.Retained)
	}
	for _, x := range st.Residual {
		at := slices.IndexFunc(c.Items.Instances, func(d planner.Instance) bool { return d.ID == x.Instance })
		if in := c.Items.Instances[at]; in.ResidualCost != x.Cost || in.ResidualState != x.State ||
			in.ResidualKeys != x.Keys {
			return fmt.Errorf("residual of %+v, want %+v", in, x)
		}
	}
	return checkItemsOf(c, cost, state)
}

// checkClassPlan recounts a plan of items. The checker knows of retained entries
// only by their table, so they are left out.
func checkClassPlan(o planner.Options, p *planner.Plan) error {
	s, q := *p.Snapshot, *p
	n := s.Retained
	s.Retained = 0
	q.Snapshot, q.TableBefore, q.TableAfter = &s, p.TableBefore-n, p.TableAfter-n
	if o.TableLimit != nil {
		o.TableLimit = new(*o.TableLimit - n)
	}
	return plannertest.Check(&s, o, &q)
}

// checkMoves checks that the class moves are those of the plan, in order.
func checkMoves(c *compact.Classes, p *planner.Plan) error {
	moves := c.Moves(p)
	left := map[compact.Record]int64{}
	for _, m := range p.Moves {
		r := c.Records[m.Item]
		r.Planned, r.Count = c.Items.Instances[m.To].ID, 0
		left[r] += m.Count
	}
	for n, m := range moves {
		if n > 0 && compareRecords(moves[n-1], m) >= 0 || m.Planned == m.Current {
			return fmt.Errorf("move %+v after %v", m, moves[:n])
		}
		count := m.Count
		m.Count = 0
		if left[m] != count {
			return fmt.Errorf("%d keys move as %+v, want %d", count, m, left[m])
		}
		delete(left, m)
	}
	if len(left) > 0 {
		return fmt.Errorf("%v do not move", left)
	}
	return nil
}

// checkExploded carries out a plan of items with any keys of theirs, and recounts.
func checkExploded(r *rand.Rand, c *compact.Classes, o planner.Options, p *planner.Plan) error {
	keys, itemOf := explode(c.Items)
	a := plannertest.CurrentAssignment(keys)
	free := r.Perm(keys.Len())
	for _, m := range p.Moves {
		for n := m.Count; n > 0; n-- {
			at := slices.IndexFunc(free, func(k int) bool { return itemOf[k] == int(m.Item) })
			if at < 0 {
				return fmt.Errorf("move %+v has no keys left", m)
			}
			a[free[at]][m.From], a[free[at]][m.To] = 0, 1
			free = slices.Delete(free, at, at+1)
		}
	}
	score := plannertest.ScoreOf(keys, o, a)
	table := score.Table + c.Items.Retained
	if table != p.TableAfter || score.Moves != p.Migration.Keys ||
		!near(score.Objective, p.Migration.Objective, score.Objective) {
		return fmt.Errorf("exploded: a table of %d, %d moves, objective %v; the plan says %d, %+v", table, score.Moves,
			score.Objective, p.TableAfter, p.Migration)
	}
	load := make([]float64, len(keys.Instances))
	for d, in := range keys.Instances {
		load[d] = in.ResidualCost
		for k := range a {
			load[d] += float64(a[k][d]) * keys.Cost[k]
		}
		if !near(load[d], p.Instances[d].After, load[d]) {
			return fmt.Errorf("exploded: load %v on instance %d, the plan says %v", load[d], d, p.Instances[d].After)
		}
	}
	if !near(score.Theta, p.Theta.After, 1+score.Theta) {
		return fmt.Errorf("exploded: θ = %v, the plan says %v", score.Theta, p.Theta.After)
	}
	return nil
}

// checkOneByOne compares a plan of items with the strategy carried out key by key
// in the same order, and with its plan of the exploded keys, whose ties are in
// another order where classes are not distinct.
func checkOneByOne(c *compact.Classes, strategy string, o planner.Options, p *planner.Plan, distinct bool) error {
	if strategy == planner.Optimal || strategy == planner.Readj {
		return nil // which may take other ways to where it gets, where steps look alike
	}
	if c.Items.Retained == 0 { // which the oracle knows nothing of
		a, err := plannertest.Literal(strategy, c.Items, o)
		if err != nil {
			return err
		}
		if got := plannertest.AssignmentOf(p); !got.Equal(a) {
			return fmt.Errorf("the plan comes to %v, key by key to %v", got, a)
		}
	}
	keys, _ := explode(c.Items)
	q, err := planner.Run(strategy, keys, o)
	if err != nil {
		return err
	}
	if q.Balanced != p.Balanced {
		return fmt.Errorf("the plan is balanced: %t; that of its keys: %t", p.Balanced, q.Balanced)
	}
	if distinct && (q.TableAfter != p.TableAfter || q.Migration != p.Migration) {
		return fmt.Errorf("a table of %d and %+v, of the keys %d and %+v", p.TableAfter, p.Migration,
			q.TableAfter, q.Migration)
	}
	return nil
}

func TestNewClassesErrors(t *testing.T) {
	good := compact.Record{Current: 1, Hash: 2, Cost: 3, State: 4, Count: 5}
	for _, x := range []struct {
		field  string
		change func(*compact.Record)
	}{
		{"Instance", func(r *compact.Record) { r.Current = 9 }},
		{"Instance", func(r *compact.Record) { r.Current = planner.NoInstance }},
		{"HashInstance", func(r *compact.Record) { r.Hash = 9 }},
		{"HashInstance", func(r *compact.Record) { r.Hash = planner.NoInstance }},
		{"Cost", func(r *compact.Record) { r.Cost = -1 }},
		{"Cost", func(r *compact.Record) { r.Cost = math.NaN() }},
		{"Cost", func(r *compact.Record) { r.Cost = math.Inf(1) }},
		{"Cost", func(r *compact.Record) { r.Cost = 1e290 }}, // times the scale
		{"State", func(r *compact.Record) { r.State = -1 }},
		{"State", func(r *compact.Record) { r.State = 1e290 }},
		{"Count", func(r *compact.Record) { r.Count = 0 }},
		{"Count", func(r *compact.Record) { r.Count = -1 }},
		{"Count", func(r *compact.Record) { r.Count = planner.MaxCount }},
		{"Count", func(r *compact.Record) { r.Count = math.MaxInt64 }},
	} {
		for row := range 3 {
			st := &compact.Statistics{Scales: compact.Scales{Cost: 10, State: 10}, Records: []compact.Record{good, good, good}}
			x.change(&st.Records[row])
			want := row
			if n := st.Records[row].Count; n == planner.MaxCount {
				want = max(1, row) // where the sum becomes too great
			}
			_, err := compact.NewClasses(st, target(1, 2), planner.Base{})
			wantInputError(t, fmt.Sprintf("%+v in row %d", st.Records[row], row), err, want, x.field)
		}
	}
	for _, scales := range []compact.Scales{{Cost: 0, State: 1}, {Cost: 1, State: math.NaN()},
		{Cost: math.Inf(1), State: 1}, {Cost: -1, State: 1}} {
		var in *planner.InputError
		st := &compact.Statistics{Scales: scales, Records: []compact.Record{good}}
		if _, err := compact.NewClasses(st, target(1, 2), planner.Base{}); !errors.As(err, &in) || in.Row != -1 {
			t.Errorf("scales %v: %v", scales, err)
		}
	}
	// A record on an instance that was removed is fine, a hash instance is not.
	old := planner.Base{Configuration: target(1, 2, 3), HashChanged: true}
	_, err := compact.NewClasses(&compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1},
		Records: []compact.Record{{Current: 3, Hash: 1, Count: 1}}}, target(1, 2), old)
	if err != nil {
		t.Errorf("a drained instance: %v", err)
	}
	_, err = compact.NewClasses(&compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1},
		Records: []compact.Record{{Current: 1, Hash: 3, Count: 1}}}, target(1, 2), old)
	wantInputError(t, "a drained hash instance", err, 0, "HashInstance")
}

// At most MaxCount keys may be counted, also by records that become one.
func TestNewClassesOfManyKeys(t *testing.T) {
	st := &compact.Statistics{Scales: compact.Scales{Cost: 1, State: 1}, Records: []compact.Record{
		{Current: 1, Hash: 2, Cost: 1, State: 1, Count: planner.MaxCount - 1},
		{Current: 1, Hash: 2, Cost: 1, State: 1, Count: 1},
	}}
	c, err := compact.NewClasses(st, target(1, 2), planner.Base{})
	if err != nil || len(c.Records) != 1 || c.Records[0].Count != planner.MaxCount {
		t.Fatalf("%v, %+v", err, c)
	}
	st.Records[1].Count = 2
	_, err = compact.NewClasses(st, target(1, 2), planner.Base{})
	wantInputError(t, "one key too many", err, 1, "Count")
}
