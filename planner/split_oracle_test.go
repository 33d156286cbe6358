package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"plannerd/planner"
)

// TestSplitOracle holds plans that split keys against a recount that knows nothing of how
// they are made, and their certificates against exhaustive search: over two plans each, the
// second on the table of the first with other costs.
func TestSplitOracle(t *testing.T) {
	t.Parallel()
	checkSplits(t, oracleCases(t, 3000), false)
}

// TestExpiringPartsOracle is TestSplitOracle where parts that are taken away run out.
func TestExpiringPartsOracle(t *testing.T) {
	t.Parallel()
	checkSplits(t, oracleCases(t, 1500), true)
}

func checkSplits(t *testing.T, n int, expire bool) {
	t.Helper()
	splits, cheaper, optimal, infeasible, refuted := 0, 0, 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		c := newSplitCase(r, expire)
		strategy := names()[r.IntN(len(names()))]
		var table *planner.RoutingTable
		for round := range 2 {
			s := c.snapshot(t, table)
			p, err := planner.Run(strategy, s, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := recountSplits(p); err != nil {
				t.Fatalf("case %d, plan %d of %s: %v\n%s", seed, round, strategy, err, p.Describe())
			}
			best := c.leastMoved(s)
			if u, ok := thetaUnmet(p); ok {
				if refuted++; !c.none(s, u) {
					t.Fatalf("case %d, plan %d of %s: θ %v is not the least\n%s", seed, round, strategy, u, p.Describe())
				}
			}
			switch x := p.Certificate; {
			case x == nil:
			case x.Infeasible && !math.IsInf(best, 1):
				t.Fatalf("case %d, plan %d of %s: not infeasible, %v is enough\n%s", seed, round, strategy, best, p.Describe())
			case x.LowerBound > best*(1+1e-9):
				t.Fatalf("case %d, plan %d of %s: bound %v above %v\n%s", seed, round, strategy, x.LowerBound, best,
					p.Describe())
			case p.Migration.Objective <= best*(1+1e-9) && p.Balanced && p.TableWithinLimit:
				optimal++
			case x.Infeasible:
				infeasible++
			}
			splits += len(p.Splits)
			for _, x := range p.Splits {
				if x.Cause == planner.CauseCheaperSplit {
					cheaper++
				}
			}
			if table, err = p.Table(); err != nil {
				t.Fatal(err)
			}
			if table.Size() != p.TableAfter {
				t.Fatalf("case %d: table of %d, said to be %d", seed, table.Size(), p.TableAfter)
			}
			c.change(r)
		}
	}
	t.Logf("%d cases: %d split keys, %d of them cheaper so, %d plans as good as any, %d proven infeasible, "+
		"%d with a least θ", n, splits, cheaper, optimal, infeasible, refuted)
	if splits < n/2 || cheaper < n/300 {
		t.Errorf("only %d keys were split in %d cases, %d for the price", splits, n, cheaper)
	}
}

// splitCase is a tiny operator.
type splitCase struct {
	instances   []planner.Instance
	cost, state []float64
	home        []int32
	residual    []planner.Residual
	options     planner.Options
	drains      int32 // the instance that goes before the second plan, or −1
}

func newSplitCase(r *rand.Rand, expire bool) *splitCase {
	c := &splitCase{drains: -1, options: planner.Options{
		ThetaMax: float64(r.IntN(4)) / 10, Splitting: &planner.Splitting{}, Effort: planner.EffortFast,
	}}
	for d := range 2 + r.IntN(2) {
		c.instances = append(c.instances, planner.Instance{ID: int32(2 * d), Capacity: 1 + float64(r.IntN(3)/2)})
	}
	if r.IntN(3) == 0 {
		c.options.Splitting.MaxParts = 2
	}
	if r.IntN(3) == 0 {
		c.options.Splitting.MergeCost = r.Float64()
	}
	c.options.Splitting.Expire = expire
	if r.IntN(3) == 0 {
		price := float64(r.IntN(6))
		c.options.Splitting.Price = &price
	}
	if r.IntN(2) == 0 {
		limit := int64(r.IntN(7))
		c.options.TableLimit = &limit
	}
	if r.IntN(4) == 0 {
		c.options.KeyOverhead = r.Float64()
	}
	for range 1 + r.IntN(4) {
		c.cost, c.state = append(c.cost, 0), append(c.state, float64(r.IntN(9)))
		c.home = append(c.home, int32(r.IntN(len(c.instances))))
	}
	c.change(r)
	if r.IntN(4) == 0 {
		d := c.instances[r.IntN(len(c.instances))]
		c.residual = []planner.Residual{{Instance: d.ID, Cost: float64(r.IntN(8)), State: 1, Keys: 1}}
	}
	if r.IntN(4) == 0 && c.residual == nil && len(c.instances) > 2 {
		c.drains = int32(r.IntN(len(c.instances)))
	}
	return c
}

// change draws other costs.
func (c *splitCase) change(r *rand.Rand) {
	for i := range c.cost {
		c.cost[i] = float64(r.IntN(10))
		if r.IntN(3) == 0 {
			c.cost[i] *= 5
		}
	}
}

// snapshot is the operator under a table; nil before the first plan. An instance may go
// with the second.
func (c *splitCase) snapshot(t *testing.T, table *planner.RoutingTable) *planner.Snapshot {
	t.Helper()
	keys := planner.NewKeys(len(c.cost))
	homes := make([]int32, len(c.home))
	target := slices.Clone(c.instances)
	if table != nil && c.drains >= 0 {
		target = slices.Delete(target, int(c.drains), int(c.drains)+1)
	}
	for i := range c.cost {
		keys.Append([]byte("k" + strconv.Itoa(i)))
		homes[i] = c.instances[c.home[i]].ID
		if len(target) < len(c.instances) && c.home[i] == c.drains {
			homes[i] = target[i%len(target)].ID
		}
	}
	keys.HashAppended()
	stats := &planner.Statistics{Keys: keys, Cost: slices.Clone(c.cost), State: slices.Clone(c.state), HashInstance: homes}
	stats.Residual, stats.Partial = c.residual, c.residual != nil
	base := planner.Base{Configuration: planner.Configuration{Instances: c.instances}, Table: table}
	if len(target) < len(c.instances) {
		base.HashChanged = true
		base.Configuration.Hash = fixedHash(c.homeIDs())
	}
	s, err := planner.NewSnapshot(stats, planner.Configuration{Instances: target}, base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *splitCase) homeIDs() []int32 {
	ids := make([]int32, len(c.home))
	for i, d := range c.home {
		ids[i] = c.instances[d].ID
	}
	return ids
}

// fixedHash places key k1 on the second of its instances, and so on.
type fixedHash []int32

func (h fixedHash) Instance(key []byte, _ uint64) (int32, error) {
	i, err := strconv.Atoi(string(key[1:]))
	if err != nil {
		return 0, err
	}
	return h[i], nil
}

// routes are by item the instances to which a plan sends its key, with weights of which a
// whole key has all.
func routes(p *planner.Plan) [][]planner.Part {
	s := p.Snapshot
	out := make([][]planner.Part, s.Len())
	table, err := p.Table()
	for i := range out {
		out[i] = []planner.Part{{Instance: s.Hash[i], Weight: planner.PartUnits}}
		e := table.Find(s.Keys.At(i), s.Keys.Hash(i))
		if err != nil || e < 0 {
			continue
		}
		at := table.At(e)
		if at.Parts == nil {
			at.Parts = []planner.Part{{Instance: at.Instance, Weight: planner.PartUnits}}
		}
		out[i] = nil
		for _, x := range at.Parts {
			d := slices.IndexFunc(s.Instances, func(d planner.Instance) bool { return d.ID == x.Instance })
			out[i] = append(out[i], planner.Part{Instance: int32(d), Weight: x.Weight})
		}
	}
	return out
}

// recountSplits recounts a plan from the table that it leaves and from its moves.
func recountSplits(p *planner.Plan) error {
	s, o, at := p.Snapshot, p.Options, routes(p)
	load, total, most := make([]float64, len(s.Instances)), 0.0, o.Splitting.MaxParts
	if most == 0 {
		most = len(s.Instances)
	}
	for i, parts := range at {
		total += s.Cost[i]
		if len(parts) > most {
			return fmt.Errorf("item %d has %d parts", i, len(parts))
		}
		for _, x := range parts {
			if !s.Instances[x.Instance].Live() {
				return fmt.Errorf("item %d goes to instance %d, which is none", i, x.Instance)
			}
			load[x.Instance] += s.Cost[i] * float64(x.Weight) / planner.PartUnits
			if len(parts) > 1 {
				load[x.Instance] += o.Splitting.MergeCost
			}
		}
	}
	for i, parts := range at {
		for _, d := range left(p, i, parts) {
			load[d] += o.Splitting.MergeCost
		}
	}
	capacity := 0.0
	for _, d := range s.Instances {
		if d.Live() {
			capacity += d.Capacity
		}
	}
	theta, balanced := 0.0, true
	for d, x := range s.Instances {
		load[d] += x.ResidualCost
		total += x.ResidualCost
	}
	for d, x := range s.Instances {
		if near := math.Abs(load[d]-p.Instances[d].After) <= 1e-9*(1+load[d]); !near {
			return fmt.Errorf("instance %d carries %v, said to be %v", d, load[d], p.Instances[d].After)
		}
		fair := total * x.Capacity / capacity
		if x.Live() && fair > 0 {
			theta = max(theta, load[d]/fair-1)
		}
		balanced = balanced && (!x.Live() || load[d] <= (1+o.ThetaMax)*fair*(1+1e-9))
	}
	switch {
	case math.Abs(theta-p.Theta.After) > 1e-9*(1+theta):
		return fmt.Errorf("θ is %v, said to be %v", theta, p.Theta.After)
	case balanced != p.Balanced:
		return fmt.Errorf("balanced is %t", p.Balanced)
	}
	for _, x := range p.Splits {
		for _, part := range x.Parts {
			if x.Cause == planner.CauseCheaperSplit && part.Weight < planner.PartUnits/16 {
				return fmt.Errorf("item %d has a part of %d, which is hardly any", x.Item, part.Weight)
			}
		}
	}
	return recountState(p, at)
}

// left are the instances on which parts of an item run out once its key goes to these.
func left(p *planner.Plan, item int, parts []planner.Part) []int32 {
	return leftOf(p.Snapshot, p.Options, item, len(parts), func(d int32) bool {
		return slices.ContainsFunc(parts, func(x planner.Part) bool { return x.Instance == d })
	})
}

func leftOf(s *planner.Snapshot, o planner.Options, item, parts int, on func(int32) bool) (at []int32) {
	if o.Splitting == nil || !o.Splitting.Expire {
		return nil
	}
	for _, old := range s.Splits {
		for _, x := range old.Parts {
			if int(old.Item) == item && s.Instances[x.Instance].Live() && (parts == 1 || !on(x.Instance)) {
				at = append(at, x.Instance)
			}
		}
	}
	return at
}

// recountState carries all state where the moves say, and looks whether it ends where its
// key goes.
func recountState(p *planner.Plan, at [][]planner.Part) error {
	s := p.Snapshot
	held := make([]map[int32]float64, s.Len())
	for i := range held {
		held[i] = map[int32]float64{s.Current[i]: s.State[i]}
	}
	for _, x := range s.Shares {
		held[x.Row][x.Instance] += x.State
	}
	moved, keys := 0.0, int64(0)
	in := make([]float64, len(s.Instances))
	for n, m := range p.Moves {
		state, there := held[m.Item][m.From]
		if !there {
			return fmt.Errorf("move %d: nothing of item %d is on instance %d", n, m.Item, m.From)
		}
		delete(held[m.Item], m.From)
		held[m.Item][m.To] += state
		in[m.To] += state
		moved, keys = moved+state, keys+1
		if slices.Contains(left(p, int(m.Item), at[m.Item]), m.From) {
			return fmt.Errorf("move %d: a part of item %d that runs out moves", n, m.Item)
		}
	}
	for i, by := range held {
		for d := range by {
			if !slices.ContainsFunc(at[i], func(x planner.Part) bool { return x.Instance == d }) &&
				!slices.Contains(left(p, i, at[i]), d) {
				return fmt.Errorf("state of item %d stays on instance %d, to which nothing goes", i, d)
			}
		}
	}
	for d := range in {
		if math.Abs(in[d]-p.Instances[d].StateIn) > 1e-9*(1+in[d]) {
			return fmt.Errorf("instance %d takes %v, said to be %v", d, in[d], p.Instances[d].StateIn)
		}
	}
	if price := p.Options.Splitting.Price; price != nil {
		objective := moved + p.Options.KeyOverhead*float64(keys) + *price*float64(p.Merges())
		if math.Abs(objective-p.Migration.Objective) > 1e-9*(1+objective) {
			return fmt.Errorf("the objective is %v, said to be %v", objective, p.Migration.Objective)
		}
	}
	if keys != p.Migration.Keys || math.Abs(moved-p.Migration.State) > 1e-9*(1+moved) {
		return fmt.Errorf("%d keys and %v move, said to be %d and %v", keys, moved, p.Migration.Keys, p.Migration.State)
	}
	return nil
}

// leastMoved is the least objective of all plans that meet all limits and split hot keys
// alone, or any keys where parts have a price; +∞ if there is none. It tries all places of
// all keys, and all sets of instances for the parts of those.
func (c *splitCase) leastMoved(s *planner.Snapshot) float64 {
	x := newSplitSearch(s, c.options)
	x.place(0, 0, 0)
	return x.best
}

// thetaUnmet is what θ comes to at least, as a plan has it proven.
func thetaUnmet(p *planner.Plan) (float64, bool) {
	if p.Certificate == nil {
		return 0, false
	}
	i := slices.IndexFunc(p.Certificate.Unmet, func(u planner.Unmet) bool {
		return u.Constraint == planner.ConstraintTheta
	})
	if i < 0 {
		return 0, false
	}
	return p.Certificate.Unmet[i].AtLeast, true
}

// none reports whether no plan has a θ below the given one that splits no other keys than
// those that are hot under θ_max, and keeps to the table limit.
func (c *splitCase) none(s *planner.Snapshot, theta float64) bool {
	o, hotAbove := c.options, newSplitSearch(s, c.options).hotAbove
	o.ThetaMax = theta - 1e-6*(1+theta)
	x := newSplitSearch(s, o)
	x.hotAbove = hotAbove
	x.place(0, 0, 0)
	return math.IsInf(x.best, 1)
}

func newSplitSearch(s *planner.Snapshot, o planner.Options) *splitSearch {
	x := &splitSearch{s: s, o: o, best: math.Inf(1), room: make([]float64, len(s.Instances))}
	total, capacity := 0.0, 0.0
	for _, d := range s.Instances {
		if d.Live() {
			capacity += d.Capacity
		}
	}
	for _, v := range s.Cost {
		total += v
	}
	for _, d := range s.Instances {
		total += d.ResidualCost
	}
	for d, y := range s.Instances {
		if y.Live() {
			x.room[d] = (1+o.ThetaMax)*total*y.Capacity/capacity*(1+1e-9) - y.ResidualCost
			x.live = append(x.live, int32(d))
			x.hotAbove = max(x.hotAbove, x.room[d])
		}
	}
	return x
}

type splitSearch struct {
	s        *planner.Snapshot
	o        planner.Options
	live     []int32
	room     []float64 // of each instance, below its bound
	hotAbove float64   // the greatest cost of a whole key
	divided  []division
	best     float64
}

type division struct {
	cost float64
	at   []int32
}

// place tries everything for the items from i on.
func (x *splitSearch) place(i int, moved float64, entries int64) {
	if i == x.s.Len() {
		if limit := x.o.TableLimit; (limit == nil || entries <= *limit) && moved < x.best && x.fits() {
			x.best = moved
		}
		return
	}
	cost, most := x.s.Cost[i], x.o.Splitting.MaxParts
	splittable := cost > x.hotAbove || x.o.Splitting.Price != nil
	for set := 1; set < 1<<len(x.live); set++ {
		var at []int32
		for b, d := range x.live {
			if set>>b&1 == 1 {
				at = append(at, d)
			}
		}
		runsOut := leftOf(x.s, x.o, i, len(at), func(d int32) bool { return slices.Contains(at, d) })
		for _, d := range runsOut {
			x.room[d] -= x.o.Splitting.MergeCost
		}
		switch n := len(at); {
		case n > 1 && (!splittable || most > 0 && n > most):
		case n > 1:
			for _, d := range at {
				x.room[d] -= x.o.Splitting.MergeCost
			}
			x.divided = append(x.divided, division{cost, at})
			x.place(i+1, moved+x.leaves(i, at, true)+x.price(n), entries+int64(n))
			x.divided = x.divided[:len(x.divided)-1]
			for _, d := range at {
				x.room[d] += x.o.Splitting.MergeCost
			}
		default:
			x.room[at[0]] -= cost
			entry := int64(0)
			if at[0] != x.s.Hash[i] {
				entry = 1
			}
			x.place(i+1, moved+x.leaves(i, at, false), entries+entry)
			x.room[at[0]] += cost
		}
		for _, d := range runsOut {
			x.room[d] += x.o.Splitting.MergeCost
		}
	}
}

// price is that of a key's parts.
func (x *splitSearch) price(parts int) float64 {
	if x.o.Splitting.Price == nil {
		return 0
	}
	return *x.o.Splitting.Price * float64(parts-1)
}

// leaves is what the objective counts of an item's state that is not where its key goes. The
// shares of a whole key come together whatever the plan, and do not count unless parts have
// a price.
func (x *splitSearch) leaves(i int, at []int32, divided bool) float64 {
	sum := 0.0
	runsOut := leftOf(x.s, x.o, i, len(at), func(d int32) bool { return slices.Contains(at, d) })
	if d := x.s.Current[i]; !slices.Contains(at, d) && !slices.Contains(runsOut, d) {
		sum += x.s.State[i] + x.o.KeyOverhead
	}
	for _, y := range x.s.Shares {
		if (divided || x.o.Splitting.Price != nil) && int(y.Row) == i && !slices.Contains(at, y.Instance) &&
			!slices.Contains(runsOut, y.Instance) {
			sum += y.State + x.o.KeyOverhead
		}
	}
	return sum
}

// fits reports whether the parts of divided keys fit into the rooms that are left: by the
// theorem of Gale, iff every set of keys does into the rooms of their instances.
func (x *splitSearch) fits() bool {
	for _, room := range x.room {
		if room < -1e-9 {
			return false
		}
	}
	for set := 1; set < 1<<len(x.divided); set++ {
		need, seen, room := 0.0, map[int32]bool{}, 0.0
		for b, y := range x.divided {
			if set>>b&1 == 0 {
				continue
			}
			need += y.cost
			for _, d := range y.at {
				if !seen[d] {
					seen[d], room = true, room+x.room[d]
				}
			}
		}
		if need > room*(1+1e-9) {
			return false
		}
	}
	return true
}
