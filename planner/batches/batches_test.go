package batches_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/batches"
	"plannerd/planner/plannertest"
)

// state is what a recount keeps of an operator between batches.
type state struct {
	table map[string]string  // by key: where it goes
	loads []float64          // by instance
	at    map[string]float64 // state by key and instance
}

// spot names the state of an item on an instance.
func spot(item, d int32) string { return fmt.Sprint(item, "@", d) }

// entry is a line of the table, as text.
func entry(e planner.Entry) string {
	if e.Parts == nil {
		return fmt.Sprint(e.Instance)
	}
	return fmt.Sprint(e.Parts)
}

func start(p *planner.Plan) *state {
	s := p.Snapshot
	x := &state{table: map[string]string{}, at: map[string]float64{}}
	for e := range s.Table.Len() {
		x.table[string(s.Table.At(e).Key)] = entry(s.Table.At(e))
	}
	for i, d := range s.Current {
		if s.Table == nil && d != s.Hash[i] {
			x.table[string(s.Keys.At(i))] = fmt.Sprint(s.Instances[d].ID)
		}
		x.at[spot(int32(i), d)] += stateOf(s, int32(i))
	}
	for _, y := range s.Shares {
		x.at[spot(y.Row, y.Instance)] += y.State
	}
	for _, y := range p.Instances {
		x.loads = append(x.loads, y.Before)
	}
	return x
}

func stateOf(s *planner.Snapshot, item int32) float64 {
	if s.State == nil {
		return 1
	}
	return s.State[item]
}

// key is that of an entry that goes.
func (*state) key(p *planner.Plan, u planner.Removal) string {
	if u.Item >= 0 {
		return string(p.Snapshot.Keys.At(int(u.Item)))
	}
	return string(p.Snapshot.Table.At(int(u.Entry)).Key)
}

// apply carries out a batch.
func (x *state) apply(p *planner.Plan, b batches.Batch) {
	s := p.Snapshot
	key := func(item int32) string { return string(s.Keys.At(int(item))) }
	for _, u := range b.Unset {
		delete(x.table, x.key(p, u))
	}
	for _, y := range slices.Concat(b.Set, b.Pins) {
		x.table[key(y.Item)] = fmt.Sprint(s.Instances[y.To].ID)
	}
	for _, y := range b.Splits {
		x.table[key(y.Item)] = fmt.Sprint(y.OnIDs(s))
	}
	for _, m := range b.Moves {
		moved := s.StateOf(m) * float64(m.Count)
		x.at[spot(m.Item, m.From)] -= moved
		x.at[spot(m.Item, m.To)] += moved
		if m.Reason != planner.ReasonGather {
			x.loads[m.From] -= s.Cost[m.Item] * float64(m.Count)
			x.loads[m.To] += s.Cost[m.Item] * float64(m.Count)
		}
	}
}

// size is what counts against the limit of the table.
func (x *state) size() int64 { return int64(len(x.table)) }

// check recounts a schedule. Loads of split keys are recounted at the end alone.
func check(p *planner.Plan, bounds batches.Bounds, s *batches.Schedule) error {
	x, changed := start(p), map[int32]int{}
	most, sum, lower := make([]float64, len(p.Instances)), 0.0, 0.0
	for d, y := range p.Instances {
		most[d] = max(y.Bound, y.Before, y.After)
		lower = max(lower, y.StateIn, y.StateOut)
	}
	if bounds != (batches.Bounds{}) && bounds != s.Bounds && len(s.Batches) <= batches.Most/2 {
		return fmt.Errorf("bounds %+v became %+v, with %d batches", bounds, s.Bounds, len(s.Batches))
	}
	limit := max(p.TableBefore, p.TableAfter)
	if p.Options.TableLimit == nil {
		limit = math.MaxInt64
	} else {
		limit = max(limit, *p.Options.TableLimit)
	}
	for n, b := range s.Batches {
		if err := checkBounds(p, x, b, s.Bounds, most, limit); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		for _, u := range b.Unset {
			if _, has := x.table[x.key(p, u)]; !has {
				return fmt.Errorf("batch %d drops the entry of %q, which has none", n, x.key(p, u))
			}
		}
		x.apply(p, b)
		if n > 0 && b.Pins != nil {
			return fmt.Errorf("batch %d pins keys", n)
		}
		for item := range itemsOf(b) {
			if changed[item]++; item >= 0 && changed[item] > 1 {
				return fmt.Errorf("item %d is in two batches", item)
			}
		}
		if err := checkFigures(p, b); err != nil {
			return fmt.Errorf("batch %d: %w", n, err)
		}
		if len(p.Splits)+len(p.Snapshot.Splits) == 0 {
			for d, load := range x.loads {
				if load > most[d]+1e-6*(1+most[d]) {
					return fmt.Errorf("batch %d leaves instance %d with %v, above %v", n, d, load, most[d])
				}
			}
			if b.Table != x.size() && p.Snapshot.Table != nil {
				return fmt.Errorf("batch %d has a table of %d, recounted %d", n, b.Table, x.size())
			}
		}
		if b.Table > limit && !p.Snapshot.HashChanged {
			return fmt.Errorf("batch %d leaves a table of %d, above %d", n, b.Table, limit)
		}
		if b.Table > s.TablePeak {
			return fmt.Errorf("batch %d has a table of %d, above the peak of %d", n, b.Table, s.TablePeak)
		}
		sum += b.Busiest
	}
	if math.Abs(sum-s.Busiest) > 1e-9*sum || s.LowerBound > s.Busiest*(1+1e-9) ||
		math.Abs(s.LowerBound-lower) > 1e-9*lower {
		return fmt.Errorf("busiest %v, recounted %v; lower bound %v, recounted %v", s.Busiest, sum, s.LowerBound, lower)
	}
	if n := len(s.Batches); n > 0 && math.Abs(s.Batches[n-1].Theta-p.Theta.After) > 1e-6*(1+p.Theta.After) {
		return fmt.Errorf("θ ends at %v, not at %v", s.Batches[n-1].Theta, p.Theta.After)
	}
	return checkEnd(p, x)
}

// checkEnd holds the table and the state after the last batch against those of the plan.
func checkEnd(p *planner.Plan, x *state) error {
	if p.Snapshot.Table != nil || p.Snapshot.Count == nil {
		t, err := p.Table()
		if err != nil {
			return err
		}
		want := map[string]string{}
		for e := range t.Len() {
			want[string(t.At(e).Key)] = entry(t.At(e))
		}
		if p.Snapshot.Table != nil && !maps.Equal(want, x.table) {
			return fmt.Errorf("the table ends as %v, not as %v", x.table, want)
		}
	}
	whole := start(p)
	whole.apply(p, batches.Batch{Moves: p.Moves})
	for at, amount := range whole.at {
		if math.Abs(amount-x.at[at]) > 1e-9*math.Abs(amount)+1e-9 {
			return fmt.Errorf("state of %s ends as %v, not as %v", at, x.at[at], amount)
		}
	}
	return nil
}

func itemsOf(b batches.Batch) map[int32]bool {
	out := map[int32]bool{}
	for _, m := range b.Moves {
		out[m.Item] = true
	}
	for _, y := range b.Set {
		out[y.Item] = true
	}
	for _, y := range b.Splits {
		out[y.Item] = true
	}
	for _, y := range b.Unset {
		out[y.Item] = true
	}
	return out
}

// amounts are what a batch moves, and the most that an instance sends or receives.
func amounts(s *planner.Snapshot, moves []planner.Move) (moved, busiest float64) {
	in, out := make([]float64, len(s.Instances)), make([]float64, len(s.Instances))
	for _, m := range moves {
		amount := s.StateOf(m) * float64(m.Count)
		moved += amount
		in[m.To] += amount
		out[m.From] += amount
	}
	for d := range in {
		busiest = max(busiest, in[d], out[d])
	}
	return moved, busiest
}

// checkFigures recounts the figures of a batch.
func checkFigures(p *planner.Plan, b batches.Batch) error {
	moved, busiest := amounts(p.Snapshot, b.Moves)
	if math.Abs(moved-b.State) > 1e-9*moved+1e-9 || math.Abs(busiest-b.Busiest) > 1e-9*busiest+1e-9 {
		return fmt.Errorf("moves %v, the busiest %v; recounted %v and %v", b.State, b.Busiest, moved, busiest)
	}
	return nil
}

// without is a batch but for one item.
func without(b batches.Batch, item int32) batches.Batch {
	b.Moves = slices.DeleteFunc(slices.Clone(b.Moves), func(m planner.Move) bool { return m.Item == item })
	b.Set = slices.DeleteFunc(slices.Clone(b.Set), func(y planner.Setting) bool { return y.Item == item })
	b.Splits = slices.DeleteFunc(slices.Clone(b.Splits), func(y planner.PlannedSplit) bool { return y.Item == item })
	b.Unset = slices.DeleteFunc(slices.Clone(b.Unset), func(y planner.Removal) bool { return y.Item == item })
	b.Keys--
	return b
}

// checkBounds reports a batch that has more than its bounds without need: it may be one
// key too many or too large, if it began the batch, or keys of which none could go alone.
func checkBounds(p *planner.Plan, x *state, b batches.Batch, bounds batches.Bounds, most []float64, limit int64) error {
	largest := 0.0 // a key that takes longer than the bound has the others take as long
	for _, m := range b.Moves {
		largest = max(largest, p.Snapshot.StateOf(m)*float64(m.Count))
	}
	within := func(b batches.Batch) bool {
		moved, busiest := amounts(p.Snapshot, b.Moves)
		return (bounds.Keys == 0 || b.Keys <= bounds.Keys) &&
			(bounds.State == 0 || moved <= bounds.State*(1+1e-6)) &&
			(bounds.Busiest == 0 || busiest <= max(bounds.Busiest, largest)*(1+1e-6))
	}
	if len(p.Splits)+len(p.Snapshot.Splits) > 0 || p.Snapshot.Count != nil || p.Snapshot.HashChanged || within(b) {
		return nil // of the first batch across a change of the hash, what moves nothing does not count
	}
	items := itemsOf(b)
	for item := range items {
		alone := b
		for other := range items {
			if other != item {
				alone = without(alone, other)
			}
		}
		if within(without(b, item)) && !within(alone) {
			return nil
		}
		y := &state{table: maps.Clone(x.table), loads: slices.Clone(x.loads), at: maps.Clone(x.at)}
		y.apply(p, alone)
		fits := y.size() <= limit
		for d, load := range y.loads {
			fits = fits && load <= most[d]*(1+1e-12)
		}
		if fits {
			return fmt.Errorf("has more than %+v, and item %d could have gone alone", bounds, item)
		}
	}
	return nil
}

// plan makes a plan of a random case.
func plan(t *testing.T, c *plannertest.Case, r *rand.Rand) *planner.Plan {
	t.Helper()
	names := []string{"mixed", "llfd", "minmig", "mintable", "optimal"}
	p, err := planner.Run(names[r.IntN(len(names))], c.Snapshot(), c.Options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRandomPlans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	several, pinned := 0, 0
	for n := range 1000 {
		c := plannertest.Tiny(r)
		if n%4 == 0 {
			c = plannertest.Medium(r, 20+r.IntN(200), 2+r.IntN(6))
		}
		if n%3 == 0 && !c.Counted {
			c.Options.Splitting = &planner.Splitting{MergeCost: float64(r.IntN(2))}
		}
		p := plan(t, c, r)
		bounds := batches.Bounds{Keys: int64(r.IntN(4))}
		if r.IntN(2) == 0 {
			bounds.State = p.Migration.State * r.Float64()
		}
		if r.IntN(2) == 0 {
			bounds.Busiest = p.Migration.State * r.Float64() / 2
		}
		s, err := batches.Cut(p, bounds)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(p, bounds, s); err != nil {
			t.Fatalf("%d: %v\nbounds %+v\n%v\n%+v", n, err, bounds, c, s)
		}
		if len(s.Batches) > 1 {
			several++
		}
		if len(s.Batches) > 1 && s.Batches[0].Pins != nil {
			pinned++
		}
	}
	if several < 200 || pinned < 20 {
		t.Errorf("%d plans had several batches, %d pins: the cases try too little", several, pinned)
	}
}

// TestExchange cuts a plan by hand. Two full instances exchange keys, so that these go
// together whatever the bounds.
func TestExchange(t *testing.T) {
	c := plannertest.Case{
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}},
		Items: []plannertest.Item{
			{Key: "a", Cost: 6, State: 4, Count: 1, Current: 0, Hash: 0, Entry: -1},
			{Key: "b", Cost: 4, State: 1, Count: 1, Current: 0, Hash: 0, Entry: -1},
			{Key: "c", Cost: 5, State: 1, Count: 1, Current: 1, Hash: 1, Entry: -1},
			{Key: "d", Cost: 5, State: 1, Count: 1, Current: 1, Hash: 1, Entry: -1},
		},
		TableKnown: true,
		Options:    planner.Options{ThetaMax: 0},
	}
	s := c.Snapshot()
	p := &planner.Plan{Snapshot: s, Options: c.Options, TableAfter: 2,
		Moves: []planner.Move{{Item: 1, From: 0, To: 1, Count: 1}, {Item: 2, From: 1, To: 0, Count: 1}},
		Set:   []planner.Setting{{Item: 1, To: 1}, {Item: 2, To: 0}},
		Instances: []planner.Load{
			{Before: 10, After: 11, Fair: 10, Max: 10, Bound: 11, StateIn: 1, StateOut: 1},
			{Before: 10, After: 9, Fair: 10, Max: 10, Bound: 10, StateIn: 1, StateOut: 1},
		},
	}
	got, err := batches.Cut(p, batches.Bounds{Keys: 1})
	if err != nil {
		t.Fatal(err)
	}
	// Key b alone would leave instance 1 with 14, key c alone instance 0 with 15.
	if len(got.Batches) != 1 || got.Batches[0].Keys != 2 || math.Abs(got.Batches[0].Theta-0.1) > 1e-9 {
		t.Errorf("got %+v, want both keys in one batch", got)
	}
}
