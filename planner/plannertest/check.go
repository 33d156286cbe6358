package plannertest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"plannerd/planner"
)

// Check recounts a plan from its moves and returns everything that is wrong
// with it, joined, or nil. Counts must be exact; sums may differ by 1e-9 of
// themselves.
func Check(s *planner.Snapshot, o planner.Options, p *planner.Plan) error {
	c := &checker{model: newModel(s, o), p: p}
	c.header()
	if c.moves() { // else F' is not known
		c.table()
		c.instances()
		c.figures()
		c.resources()
		c.migration()
		c.hotKeys()
		c.reasons()
		c.causes()
	}
	return errors.Join(c.errs...)
}

type checker struct {
	*model
	p     *planner.Plan
	after Assignment
	errs  []error
}

func (c *checker) errorf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func equal[T comparable](c *checker, what string, got, want T) {
	if got != want {
		c.errorf("%s is %v, want %v", what, got, want)
	}
}

// near compares sums. scale is the size of what they are a part of or the
// difference of, whose last bits they may lack.
func (c *checker) near(what string, got, want, scale float64) {
	if got != want && !(math.Abs(got-want) <= 1e-9*math.Max(math.Abs(want), math.Abs(got))+1e-15*scale) {
		c.errorf("%s is %v, want %v", what, got, want)
	}
}

func (c *checker) header() {
	if c.p.Snapshot != c.s {
		c.errorf("the plan is of another snapshot")
	}
	equal(c, "options.theta_max", c.p.Options.ThetaMax, c.o.ThetaMax)
	equal(c, "options.key_overhead", c.p.Options.KeyOverhead, c.o.KeyOverhead)
	equal(c, "options.table_limit set", c.p.Options.TableLimit != nil, c.o.TableLimit != nil)
	switch c.p.EndReason {
	case planner.EndCompleted:
	case planner.EndWorkBudget:
		if c.o.WorkBudget == 0 {
			c.errorf("end reason %q without a budget", c.p.EndReason)
		}
	case planner.EndStopped:
		if c.o.Stop == nil {
			c.errorf("end reason %q without a stop function", c.p.EndReason)
		}
	default:
		c.errorf("unknown end reason %q", c.p.EndReason)
	}
	if c.p.Strategy == "" {
		c.errorf("no strategy name")
	}
	if c.p.WorkUnits < 0 {
		c.errorf("negative work units %d", c.p.WorkUnits)
	}
}

// moves applies the moves one by one to F and checks that what comes out is an
// assignment.
func (c *checker) moves() bool {
	before := len(c.errs)
	c.after = current(c.s)
	for n, m := range c.p.Moves {
		if m.Item < 0 || int(m.Item) >= c.s.Len() || m.To < 0 || int(m.To) >= len(c.s.Instances) {
			c.errorf("move %d: %+v names an unknown item or instance", n, m)
			return false
		}
		equal(c, fmt.Sprintf("move %d: source", n), m.From, c.s.Current[m.Item])
		if m.To == m.From || !c.may(int(m.Item), int(m.To)) || c.pinned(int(m.Item)) {
			c.errorf("move %d: bad destination %d", n, m.To)
		}
		if m.Count < 1 {
			c.errorf("move %d: count %d", n, m.Count)
		}
		c.after[m.Item][c.s.Current[m.Item]] -= m.Count
		c.after[m.Item][m.To] += m.Count
		if n > 0 {
			last := c.p.Moves[n-1]
			if r, l := c.rank[m.Item], c.rank[last.Item]; r < l || r == l && m.To <= last.To {
				c.errorf("moves %d and %d are out of order", n-1, n)
			}
		}
	}
	for i, units := range c.after {
		for d, n := range units {
			switch {
			case n < 0:
				c.errorf("item %d: %d units leave instance %d that were not there", i, -n, d)
			case n > 0 && !c.may(i, d):
				c.errorf("item %d: %d units end on instance %d, which is drained, frozen or closed to it", i, n, d)
			}
		}
	}
	return len(c.errs) == before
}

// table checks that the diff turns the committed table into exactly the keys
// away from their hash, and retained entries, and says nothing needless.
func (c *checker) table() {
	equal(c, "table size after", c.p.TableAfter, c.tableSize(c.after))
	if c.s.Table != nil {
		equal(c, "table size before", c.p.TableBefore, int64(c.s.Table.Len()))
	} else {
		equal(c, "table size before", c.p.TableBefore, c.tableSize(current(c.s)))
	}
	limited := c.o.TableLimit != nil
	equal(c, "table_within_limit", c.p.TableWithinLimit, !limited || c.tableSize(c.after) <= *c.o.TableLimit)
	if c.s.Count != nil {
		if len(c.p.Set) != 0 || len(c.p.Unset) != 0 {
			c.errorf("table diff of items with counts")
		}
		return
	}
	base, wanted := c.baseTable(), c.plannedTable()
	c.set(base)
	c.unset(base)
	for key, d := range base {
		if e, ok := wanted[key]; !ok || d != e {
			c.errorf("table + set − unset has %q → %d, want %d (%t)", key, d, e, ok)
		}
	}
	for key, d := range wanted {
		if _, ok := base[key]; !ok {
			c.errorf("table + set − unset lacks %q → %d", key, d)
		}
	}
}

func (c *checker) baseTable() map[string]int32 {
	t := map[string]int32{}
	for e := range c.s.Table.Len() {
		t[string(c.s.Table.At(e).Key)] = c.s.Table.At(e).Instance
	}
	if c.s.Table == nil {
		for i := range c.s.Len() {
			if c.s.Current[i] != c.s.Hash[i] {
				t[string(c.s.Keys.At(i))] = c.s.Instances[c.s.Current[i]].ID
			}
		}
	}
	return t
}

func (c *checker) plannedTable() map[string]int32 {
	t := map[string]int32{}
	for i, units := range c.after {
		for d, n := range units {
			if n > 0 && d != int(c.s.Hash[i]) {
				t[string(c.s.Keys.At(i))] = c.s.Instances[d].ID
			}
		}
	}
	for _, e := range c.absent {
		if at := c.s.Table.At(e); staysAbsent(c.s, at.Instance) {
			t[string(at.Key)] = at.Instance
		}
	}
	return t
}

func (c *checker) set(t map[string]int32) {
	for n, set := range c.p.Set {
		if set.Item < 0 || int(set.Item) >= c.s.Len() || set.To < 0 || int(set.To) >= len(c.s.Instances) {
			c.errorf("set %d: %+v names an unknown item or instance", n, set)
			continue
		}
		if n > 0 && c.rank[set.Item] <= c.rank[c.p.Set[n-1].Item] {
			c.errorf("set %d is out of order", n)
		}
		key, id := string(c.s.Keys.At(int(set.Item))), c.s.Instances[set.To].ID
		if d, ok := t[key]; ok && d == id {
			c.errorf("set %d: %q → %d stands in the table already", n, key, id)
		}
		t[key] = id
	}
}

func (c *checker) unset(t map[string]int32) {
	var last []byte
	for n, u := range c.p.Unset {
		switch {
		case (u.Entry >= 0) != (c.s.Table != nil) || int(u.Entry) >= c.s.Table.Len() || int(u.Item) >= c.s.Len(),
			u.Item < 0 && u.Entry < 0:
			c.errorf("unset %d: %+v names an unknown item or entry", n, u)
			continue
		case u.Item >= 0 && u.Entry >= 0:
			equal(c, fmt.Sprintf("unset %d: key of the item", n),
				string(c.s.Keys.At(int(u.Item))), string(c.s.Table.At(int(u.Entry)).Key))
		case u.Item < 0 && !slices.Contains(c.absent, int(u.Entry)):
			c.errorf("unset %d: its key is not absent", n)
		}
		key := c.p.UnsetKey(n)
		if last != nil && compareKeys(last, key) >= 0 {
			c.errorf("unset %d is out of order", n)
		}
		last = key
		if _, ok := t[string(key)]; !ok {
			c.errorf("unset %d: %q is not in the table", n, key)
		}
		delete(t, string(key))
	}
}

func (c *checker) instances() {
	if len(c.p.Instances) != len(c.s.Instances) {
		c.errorf("%d instances, want %d", len(c.p.Instances), len(c.s.Instances))
		return
	}
	f := current(c.s)
	before, after := c.loads(f), c.loads(c.after)
	allState := c.allState()
	for d, in := range c.s.Instances {
		got := c.p.Instances[d]
		keysBefore, keysAfter := in.ResidualKeys, in.ResidualKeys
		var stateIn, stateOut float64
		for i := range f {
			keysBefore += f[i][d]
			keysAfter += c.after[i][d]
			if by := c.after[i][d] - f[i][d]; by > 0 {
				stateIn += float64(by) * state(c.s, i)
			} else {
				stateOut -= float64(by) * state(c.s, i)
			}
		}
		what := fmt.Sprintf("instance %d: ", d)
		c.near(what+"fair load", got.Fair, c.fair[d], 0)
		if in.Live() {
			c.near(what+"L_max", got.Max, c.max[d], 0)
			c.near(what+"bound", got.Bound, c.bound[d], 0)
		}
		if c.least != nil {
			c.near(what+"least load", got.Least, c.least[d], c.total)
		}
		if in.Frozen {
			equal(c, what+"figures", got, planner.Load{})
		}
		c.near(what+"load before", got.Before, before[d], c.total)
		c.near(what+"load after", got.After, after[d], c.total)
		equal(c, what+"keys before", got.KeysBefore, keysBefore)
		equal(c, what+"keys after", got.KeysAfter, keysAfter)
		c.near(what+"state in", got.StateIn, stateIn, allState)
		c.near(what+"state out", got.StateOut, stateOut, allState)
	}
}

func (m *model) allState() float64 {
	var sum float64
	for i := range m.s.Len() {
		sum += state(m.s, i) * float64(count(m.s, i))
	}
	for _, in := range m.s.Instances {
		sum += in.ResidualState
	}
	return sum
}

func (c *checker) figures() {
	for _, x := range []struct {
		load                       []float64
		theta, underload, skewness float64
		when                       string
	}{
		{c.loads(current(c.s)), c.p.Theta.Before, c.p.Underload.Before, c.p.Skewness.Before, "before"},
		{c.loads(c.after), c.p.Theta.After, c.p.Underload.After, c.p.Skewness.After, "after"},
	} {
		var theta, underload, largest, sum float64
		for _, d := range c.live() {
			if c.fair[d] > 0 {
				theta = math.Max(theta, x.load[d]/c.fair[d]-1)
				underload = math.Max(underload, 1-x.load[d]/c.fair[d])
			}
			largest = math.Max(largest, x.load[d])
			sum += x.load[d]
		}
		skewness := 1.0
		if sum > 0 {
			skewness = largest / (sum / float64(c.liveCount))
		}
		c.near("theta "+x.when, x.theta, theta, 1e3)
		c.near("underload "+x.when, x.underload, underload, 1e3)
		c.near("skewness "+x.when, x.skewness, skewness, 0)
	}
	equal(c, "balanced", c.p.Balanced, c.within(c.after, (*dimension).maxima))
	c.unfilled()
	if c.idle() && len(c.unfilledBy(current(c.s))) == 0 && len(c.p.Moves) > 0 {
		c.errorf("%d moves though there was nothing to do", len(c.p.Moves))
	}
}

func (c *checker) migration() {
	var keys int64
	var moved, overhead float64
	for i, units := range c.after {
		n := count(c.s, i) - units[c.s.Current[i]]
		keys += n
		moved += float64(n) * state(c.s, i)
		overhead += float64(n) * c.o.KeyOverhead
	}
	all := c.allState()
	fraction := 0.0
	if all > 0 {
		fraction = moved / all
	}
	equal(c, "migrated keys", c.p.Migration.Keys, keys)
	c.near("migrated state", c.p.Migration.State, moved, all)
	c.near("migrated fraction", c.p.Migration.Fraction, fraction, 1)
	c.near("objective", c.p.Migration.Objective, moved+overhead, all)
}

func (c *checker) hotKeys() {
	if len(c.p.HotKeys) != len(c.hot) {
		c.errorf("%d hot keys, want %d", len(c.p.HotKeys), len(c.hot))
		return
	}
	for n, i := range c.hot {
		got, what := c.p.HotKeys[n], fmt.Sprintf("hot key %d: ", n)
		equal(c, what+"item", got.Item, int32(i))
		equal(c, what+"instance", got.Instance, int32(c.hotUnits[i][0]))
		x := c.named(got.Resource)
		if x == nil {
			c.errorf("%sunknown resource %q", what, got.Resource)
			continue
		}
		equal(c, what+"cost", got.Cost, x.amount[i])
		if c.scalar() {
			equal(c, what+"pieces", got.Pieces, c.pieces(i))
		}
		c.forced(what+"forced theta", x, i, got.ForcedTheta)
		want := make([]int64, len(c.s.Instances))
		for _, d := range c.hotUnits[i] {
			want[d]++
		}
		if !slices.Equal(c.after[i], want) {
			c.errorf("%sits units end as %v, want %v", what, c.after[i], want)
		}
	}
}

// pieces is the least number of rooms, largest first, that together hold an item.
func (c *checker) pieces(i int) int {
	var rooms []float64
	for _, d := range c.openTo(i) {
		rooms = append(rooms, c.max[d]-c.s.Instances[d].ResidualCost)
	}
	slices.SortFunc(rooms, descending)
	sum := 0.0
	for n, r := range rooms {
		if sum += r; fits(c.s.Cost[i], sum) {
			return n + 1
		}
	}
	return 0
}

func (c *checker) reasons() {
	f := current(c.s)
	overloaded := func(d int32) bool {
		return slices.ContainsFunc(c.dims, func(x *dimension) bool { return !fits(x.loads(f)[d], x.bound[d]) })
	}
	for n, m := range c.p.Moves {
		from, to, home := m.From, m.To, m.To == c.s.Hash[m.Item]
		entry := c.s.Table == nil // then all that is away from home has one
		if len(c.s.Entry) > 0 {
			entry = c.s.Entry[m.Item] >= 0
		}
		want := planner.ReasonExchange
		switch {
		case c.s.Instances[from].Drained:
			want = planner.ReasonDrain
		case c.leaves(int(m.Item)):
			want = planner.ReasonPlacement
		case !entry && home && c.s.HashChanged:
			want = planner.ReasonRehash
		case c.s.Instances[to].Added:
			want = planner.ReasonFill
		case home:
			want = planner.ReasonMoveBack
		case overloaded(from):
			want = planner.ReasonOverload
		}
		equal(c, fmt.Sprintf("move %d: reason", n), m.Reason, want)
	}
}

func (c *checker) causes() {
	stuck := !c.within(c.after, (*dimension).bounds)
	for _, x := range []struct {
		cause planner.Cause
		want  bool
	}{
		{planner.CauseBalanced, c.idle() && len(c.unfilledBy(current(c.s))) == 0},
		{planner.CauseHotKey, len(c.hot) > 0},
		{planner.CauseTableLimit, !c.p.TableWithinLimit},
		{planner.CauseNothingMovable, stuck},
		{planner.CauseFrozen, slices.ContainsFunc(c.s.Instances, func(in planner.Instance) bool { return in.Frozen })},
	} {
		if slices.Contains(c.p.Causes, x.cause) != x.want {
			c.errorf("cause %s: %t, want %t", x.cause, !x.want, x.want)
		}
	}
	for n, cause := range c.p.Causes {
		if slices.Contains(c.p.Causes[:n], cause) {
			c.errorf("cause %s twice", cause)
		}
	}
}
