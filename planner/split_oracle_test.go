package planner_test

import (
	"errors"
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
	checkSplits(t, oracleCases(t, 3000), func(r *rand.Rand) *splitCase { return newSplitCase(r, false) })
}

// TestExpiringPartsOracle is TestSplitOracle where parts that are taken away run out.
func TestExpiringPartsOracle(t *testing.T) {
	t.Parallel()
	checkSplits(t, oracleCases(t, 1500), func(r *rand.Rand) *splitCase { return newSplitCase(r, true) })
}

// TestSplitResourcesOracle is TestSplitOracle with one to three resources beside cost.
func TestSplitResourcesOracle(t *testing.T) {
	t.Parallel()
	checkSplits(t, oracleCases(t, 3000), newEquippedCase)
}

func checkSplits(t *testing.T, n int, draw func(*rand.Rand) *splitCase) {
	t.Helper()
	splits, cheaper, optimal, infeasible, refuted, feasible, met := 0, 0, 0, 0, 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 77))
		c := draw(r)
		strategy := names()[r.IntN(len(names()))]
		var table *planner.RoutingTable
		for round := range 2 {
			s := c.snapshot(t, table)
			p, err := planner.Run(strategy, s, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(recountSplits(p), recountResources(p)); err != nil {
				t.Fatalf("case %d, plan %d of %s: %v\n%s", seed, round, strategy, err, p.Describe())
			}
			best := c.leastMoved(s)
			if strategy == planner.Optimal && !math.IsInf(best, 1) {
				if feasible++; p.Balanced && p.TableWithinLimit {
					met++
				}
			}
			for _, k := range p.HotKeys {
				limit := c.limitIn(k.Resource)
				u := planner.Unmet{Resource: k.Resource, AtLeast: k.ForcedTheta}
				if len(c.resources) > 0 && (k.Cost == 0 || k.ForcedTheta > limit+1e-8*(1+limit) && !c.none(s, u)) {
					t.Fatalf("case %d, plan %d of %s: %+v is not forced\n%s", seed, round, strategy, k, p.Describe())
				}
			}
			for _, u := range unmetOf(p) {
				if refuted++; !c.none(s, u) {
					t.Fatalf("case %d, plan %d of %s: %+v is not the least\n%s", seed, round, strategy, u, p.Describe())
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
		"%d limits with what is the least; strategy optimal meets all limits in %d of %d cases where some plan does", n,
		splits, cheaper, optimal, infeasible, refuted, met, feasible)
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
	resources   []planner.Resource
	amounts     [][]float64 // by resource and row, as state and counts are too
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

// newEquippedCase makes a case of several resources.
func newEquippedCase(r *rand.Rand) *splitCase {
	c := newSplitCase(r, false)
	for n := range 1 + r.IntN(3) {
		of := planner.Resource{Name: fmt.Sprintf("r%d", n+1), Limited: r.IntN(2) == 0}
		of.From = []planner.AmountSource{"", "", planner.FromState, planner.FromCount}[r.IntN(4)]
		if !of.Limited {
			of.ThetaMax = float64(r.IntN(6)) / 5
		}
		c.resources, c.amounts = append(c.resources, of), append(c.amounts, make([]float64, len(c.cost)))
	}
	c.options.Splitting.Expire = r.IntN(4) == 0 && !slices.ContainsFunc(c.resources, func(x planner.Resource) bool {
		return x.From != ""
	})
	c.change(r)
	for d := range c.instances {
		for n, of := range c.resources {
			capacity := c.instances[d].Capacity
			if of.Limited {
				total := 0.0
				for _, v := range c.amounts[n] {
					total += v
				}
				capacity = math.Round(total * (0.2 + 1.2*r.Float64()))
			}
			c.instances[d].Capacities = append(c.instances[d].Capacities, capacity)
		}
	}
	return c
}

// change draws other costs, and other amounts.
func (c *splitCase) change(r *rand.Rand) {
	draw := func(list []float64) {
		for i := range list {
			list[i] = float64(r.IntN(10))
			if r.IntN(3) == 0 {
				list[i] *= 5
			}
		}
	}
	draw(c.cost)
	for n, of := range c.resources {
		switch of.From {
		case planner.FromState:
			copy(c.amounts[n], c.state)
		case planner.FromCount:
			copy(c.amounts[n], slices.Repeat([]float64{1}, len(c.cost)))
		default:
			draw(c.amounts[n])
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
	for n, of := range c.resources {
		if of.From == "" {
			x := planner.Amounts{Name: of.Name, Rows: slices.Clone(c.amounts[n])}
			for i := range c.residual {
				x.Residual = append(x.Residual, float64(i+2))
			}
			stats.Costs = append(stats.Costs, x)
		}
	}
	of := planner.Configuration{Instances: c.instances, Resources: c.resources}
	base := planner.Base{Configuration: of, Table: table}
	if len(target) < len(c.instances) {
		base.HashChanged = true
		base.Configuration.Hash = fixedHash(c.homeIDs())
	}
	s, err := planner.NewSnapshot(stats, planner.Configuration{Instances: target, Resources: c.resources}, base)
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
	case balanced != p.Balanced && len(s.Resources) == 0 || p.Balanced && !balanced:
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

// recountResources recounts what a plan says of the resources beside cost: a part of a key takes its share, or all
// that the key takes of state and of counts.
func recountResources(p *planner.Plan) error {
	s, all := p.Snapshot, true
	for n, of := range s.Resources {
		got, load, total, capacity := p.Resources[n], make([]float64, len(s.Instances)), 0.0, 0.0
		for i, parts := range routes(p) {
			total += s.Amounts[n][i]
			for _, x := range parts {
				share := float64(x.Weight) / planner.PartUnits
				if of.From != "" {
					share = 1
				}
				load[x.Instance] += s.Amounts[n][i] * share
			}
		}
		for d, x := range s.Instances {
			load[d], total = load[d]+x.ResidualAmounts[n], total+x.ResidualAmounts[n]
			if x.Live() {
				capacity += x.Capacities[n]
			}
		}
		level, balanced := 0.0, true
		for d, x := range s.Instances {
			y := got.Instances[d]
			if math.Abs(load[d]-y.After) > 1e-9*(1+load[d]) {
				return fmt.Errorf("instance %d takes %v of %s, said to be %v", d, load[d], of.Name, y.After)
			}
			if !x.Live() {
				continue
			}
			most, part := x.Capacities[n], 0.0
			if !of.Limited {
				most = (1 + of.ThetaMax) * total * x.Capacities[n] / capacity
			}
			switch {
			case of.Limited && load[d] > 0:
				part = load[d] / most
			case !of.Limited && most > 0:
				part = load[d]/(most/(1+of.ThetaMax)) - 1
			}
			level, balanced = max(level, part), balanced && load[d] <= most*(1+1e-9)
			if math.Abs(most-y.Max) > 1e-9*(1+most) {
				return fmt.Errorf("instance %d may take %v of %s, said to be %v", d, most, of.Name, y.Max)
			}
		}
		all = all && balanced
		if balanced != got.Balanced || level != got.Level.After && math.Abs(level-got.Level.After) > 1e-9*(1+level) {
			return fmt.Errorf("%s is balanced: %t, at %v, said to be %t, %v", of.Name, balanced, level, got.Balanced,
				got.Level.After)
		}
	}
	if err := neverRises(p); err != nil {
		return err
	}
	if p.Balanced && !all {
		return errors.New("balanced, but not in all resources")
	}
	return nil
}

// neverRises reports the greatest part of a bound that is taken if a plan raises it, though no key has to leave.
func neverRises(p *planner.Plan) error {
	if len(p.HotKeys) > 0 || len(p.Snapshot.Resources) == 0 ||
		slices.ContainsFunc(p.Snapshot.Instances, func(d planner.Instance) bool { return !d.Live() }) {
		return nil
	}
	before, after := 1.0, 0.0
	for d, x := range p.Instances {
		before, after = max(before, x.Before/x.Max), max(after, x.After/x.Max)
		for _, y := range p.Resources {
			before = max(before, y.Instances[d].Before/max(y.Instances[d].Max, 1e-300))
			after = max(after, y.Instances[d].After/max(y.Instances[d].Max, 1e-300))
		}
	}
	if after > before*(1+2e-9) {
		return fmt.Errorf("the greatest part of a bound rises from %v to %v", before, after)
	}
	return nil
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
	x := newSplitSearch(s, c.options, nil)
	x.place(0, 0, 0)
	return x.best
}

// unmetOf are bounds of loads that a plan says cannot be met. Of cost alone there is one, and what it says of the table
// is about all plans of the least θ.
func unmetOf(p *planner.Plan) (list []planner.Unmet) {
	if p.Certificate == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Certificate.Unmet), func(u planner.Unmet) bool {
		return u.Constraint == planner.ConstraintTable && len(p.Snapshot.Resources) == 0
	})
}

// limitIn is the bound of a resource as certificates tell it.
func (c *splitCase) limitIn(resource string) float64 {
	i := slices.IndexFunc(c.resources, func(x planner.Resource) bool { return x.Name == resource })
	switch {
	case i < 0:
		return c.options.ThetaMax
	case c.resources[i].Limited:
		return 1
	}
	return c.resources[i].ThetaMax
}

// none reports whether no plan comes below what is said to be the least of a bound that splits no other keys than
// those that are hot, and keeps to all others.
func (c *splitCase) none(s *planner.Snapshot, u planner.Unmet) bool {
	o, limits, least := c.options, slices.Clone(s.Resources), 1e9 // for what is +∞, of a capacity of 0
	if !math.IsInf(u.AtLeast, 1) {
		least = u.AtLeast - 1e-6*(1+u.AtLeast)
	}
	x := newSplitSearch(s, o, nil)
	for n := range limits {
		if limits[n].Name == u.Resource {
			limits[n].ThetaMax = least
		}
	}
	switch {
	case u.Constraint == planner.ConstraintTable:
		limit := int64(math.Ceil(u.AtLeast)) - 1
		o.TableLimit = &limit
	case u.Resource == "":
		o.ThetaMax = least
	}
	y := newSplitSearch(s, o, limits)
	y.hot = x.hot
	y.place(0, 0, 0)
	return math.IsInf(y.best, 1)
}

// newSplitSearch searches under other bounds of resources; nil: those of the snapshot. Where one is limited, its θ_max
// is then the part of its capacities that may be taken.
func newSplitSearch(s *planner.Snapshot, o planner.Options, limits []planner.Resource) *splitSearch {
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
		}
	}
	for n, of := range s.Resources {
		x.more = append(x.more, further{s.Amounts[n], of.From != "", x.roomsIn(n, of, limits)})
	}
	for i, cost := range s.Cost {
		x.hot = append(x.hot, !slices.ContainsFunc(x.live, func(d int32) bool {
			return cost <= max(0, x.room[d]) && !slices.ContainsFunc(x.more, func(y further) bool {
				return y.amount[i] > max(0, y.room[d])
			})
		}))
	}
	return x
}

// further is a resource beside cost.
type further struct {
	amount []float64
	entire bool // each part takes all
	room   []float64
}

// roomsIn are what keys may take of a resource on each instance.
func (x *splitSearch) roomsIn(n int, of planner.Resource, limits []planner.Resource) (room []float64) {
	total, capacity := 0.0, 0.0
	for _, v := range x.s.Amounts[n] {
		total += v
	}
	for _, d := range x.s.Instances {
		if total += d.ResidualAmounts[n]; d.Live() {
			capacity += d.Capacities[n]
		}
	}
	for _, d := range x.s.Instances {
		if !d.Live() {
			room = append(room, 0)
			continue
		}
		most := d.Capacities[n]
		switch {
		case !of.Limited && limits != nil:
			most = (1 + limits[n].ThetaMax) * total * most / capacity
		case !of.Limited:
			most = (1 + of.ThetaMax) * total * most / capacity
		case limits != nil && limits[n].ThetaMax != 0:
			most *= limits[n].ThetaMax
		}
		room = append(room, most*(1+1e-9)-d.ResidualAmounts[n])
	}
	return room
}

type splitSearch struct {
	s       *planner.Snapshot
	o       planner.Options
	live    []int32
	room    []float64 // of each instance, below its bound
	more    []further
	hot     []bool // by item: no instance can carry it
	divided []division
	best    float64
}

type division struct {
	item int
	cost float64
	at   []int32
}

// take takes what an item does off the rooms for what is there as a whole, or gives it back.
func (x *splitSearch) take(i int, at []int32, sign float64) {
	for _, y := range x.more {
		for _, d := range at {
			if len(at) == 1 || y.entire {
				y.room[d] -= sign * y.amount[i]
			}
		}
	}
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
	splittable := x.hot[i] || x.o.Splitting.Price != nil
	for set := 1; set < 1<<len(x.live); set++ {
		var at []int32
		for b, d := range x.live {
			if set>>b&1 == 1 {
				at = append(at, d)
			}
		}
		runsOut := leftOf(x.s, x.o, i, len(at), func(d int32) bool { return slices.Contains(at, d) })
		x.take(i, at, 1)
		for _, d := range runsOut {
			x.room[d] -= x.o.Splitting.MergeCost
		}
		switch n := len(at); {
		case n > 1 && (!splittable || most > 0 && n > most):
		case n > 1:
			for _, d := range at {
				x.room[d] -= x.o.Splitting.MergeCost
			}
			x.divided = append(x.divided, division{i, cost, at})
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
		x.take(i, at, -1)
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
	for _, y := range x.more {
		for _, d := range x.live {
			if y.room[d] < -1e-9 {
				return false
			}
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
	return len(x.more) == 0 || x.fitAll()
}

// fitAll reports whether the parts of divided keys fit in all resources together, by a linear program: as much as can
// be of each key goes to its instances.
func (x *splitSearch) fitAll() bool {
	var rows [][]float64 // coefficients, then the bound
	columns := 0
	for _, y := range x.divided {
		columns += len(y.at)
	}
	constrain := func(bound float64, of func(y division, d int32) float64) {
		row := make([]float64, 0, columns+1)
		for _, y := range x.divided {
			for _, d := range y.at {
				row = append(row, of(y, d))
			}
		}
		rows = append(rows, append(row, bound))
	}
	for _, y := range x.divided {
		constrain(1, func(z division, _ int32) float64 {
			if z.item == y.item {
				return 1
			}
			return 0
		})
	}
	for _, d := range x.live {
		on := func(amount []float64) func(division, int32) float64 {
			return func(y division, e int32) float64 {
				if d == e {
					return amount[y.item]
				}
				return 0
			}
		}
		constrain(max(0, x.room[d]), on(x.s.Cost))
		for _, y := range x.more {
			if !y.entire {
				constrain(max(0, y.room[d]), on(y.amount))
			}
		}
	}
	return mostOf(rows) >= float64(len(x.divided))-1e-7
}

// mostOf is the greatest sum of variables ≥ 0 under rows that each have coefficients and a bound ≥ 0, by the simplex
// method with Bland's rule.
func mostOf(rows [][]float64) float64 {
	n := len(rows[0]) - 1
	objective := append(slices.Repeat([]float64{-1}, n), 0)
	basis := make([]int, len(rows)) // the variable of a row; from n on it is slack
	names := make([]int, n)         // that of a column
	for j := range names {
		names[j] = j
	}
	for i := range basis {
		basis[i] = n + i
	}
	for {
		column := -1
		for j := range n {
			if objective[j] < -1e-12 && (column < 0 || names[j] < names[column]) {
				column = j
			}
		}
		if column < 0 {
			return objective[n]
		}
		row, least := -1, math.Inf(1)
		for i, y := range rows {
			ratio := y[n] / y[column]
			if y[column] > 1e-12 && (ratio < least || ratio == least && basis[i] < basis[row]) {
				row, least = i, ratio
			}
		}
		pivot := rows[row][column] // some row bounds each variable
		for j := range rows[row] {
			rows[row][j] /= pivot
		}
		rows[row][column] = 1 / pivot
		for _, y := range append(slices.Delete(slices.Clone(rows), row, row+1), objective) {
			factor := y[column]
			y[column] = 0
			for j := range y {
				y[j] -= factor * rows[row][j]
			}
		}
		basis[row], names[column] = names[column], basis[row]
	}
}
