package e2e

import (
	"fmt"
	"math"
	"slices"

	"plannerd/sdk/go/wire"
)

type plan = wire.Plan

// key is a row of an interval, with where it is and where the hash puts it.
type key struct {
	cost, state float64
	at, hash    int32
}

// situation is all that a plan was made from.
type situation struct {
	keys       map[string]key
	table      map[string]int32
	kept       map[string]bool   // absent keys whose entries stay in any plan
	capacity   map[int32]float64 // live instances
	thetaMax   float64
	tableLimit int64 // −1: none
}

// checker recomputes a plan's figures from scratch, with maps and float sums.
type checker struct {
	s      situation
	p      *plan
	after  map[string]int32 // F'
	errors []error
}

// check returns everything that is wrong with p, and the table that it leads to.
func check(s situation, p *plan) (map[string]int32, []error) {
	c := &checker{s: s, p: p, after: make(map[string]int32, len(s.keys))}
	c.migrations()
	table := c.table()
	c.loads()
	return table, c.errors
}

func (c *checker) fail(format string, args ...any) {
	c.errors = append(c.errors, fmt.Errorf(format, args...))
}

func (c *checker) near(what string, got, want float64) {
	if math.Abs(got-want) > 1e-9*max(math.Abs(got), math.Abs(want), 1e-6) {
		c.fail("%s is %v, recounted %v", what, got, want)
	}
}

// migrations applies Δ and recounts what it costs.
func (c *checker) migrations() {
	total, moved := 0.0, 0.0
	for name, k := range c.s.keys {
		c.after[name] = k.at
		total += k.state
	}
	in, out := map[int32]float64{}, map[int32]float64{}
	for _, m := range c.p.Migrations {
		k, ok := c.s.keys[m.Key]
		switch {
		case !ok:
			c.fail("migration of %q, which nobody reported", m.Key)
		case c.after[m.Key] != m.From || m.From == m.To:
			c.fail("migration of %q from %d to %d, it is on %d", m.Key, m.From, m.To, c.after[m.Key])
		case k.cost != m.Cost || k.state != m.State:
			c.fail("migration of %q says cost %v and state %v, not %v and %v", m.Key, m.Cost, m.State, k.cost, k.state)
		}
		if _, live := c.s.capacity[m.To]; !live {
			c.fail("migration of %q to %d, which is not live", m.Key, m.To)
		}
		c.after[m.Key] = m.To
		moved += k.state
		in[m.To] += k.state
		out[m.From] += k.state
		c.reason(m.Key, k, m.From, m.To, m.Reason)
	}
	if int64(len(c.p.Migrations)) != c.p.Migration.Keys {
		c.fail("migration.keys is %d, there are %d", c.p.Migration.Keys, len(c.p.Migrations))
	}
	c.near("migration.state", c.p.Migration.State, moved)
	c.near("migration.objective", c.p.Migration.Objective, moved)
	if total > 0 {
		c.near("migration.fraction", c.p.Migration.Fraction, moved/total)
	}
	for _, x := range c.p.Instances {
		c.near(fmt.Sprintf("state_in of %d", x.Id), x.StateIn, in[x.Id])
		c.near(fmt.Sprintf("state_out of %d", x.Id), x.StateOut, out[x.Id])
	}
	for name, d := range c.after {
		if _, live := c.s.capacity[d]; !live {
			c.fail("%q stays on %d, which is not live", name, d)
		}
	}
}

func (c *checker) reason(name string, k key, from, to int32, reason wire.MigrationReason) {
	_, entered := c.s.table[name]
	_, live := c.s.capacity[from]
	ok := true
	switch reason {
	case "drain":
		ok = !live
	case "rehash":
		ok = !entered && to == k.hash
	case "move_back":
		ok = entered && to == k.hash
	case "fill", "overload", "exchange":
	default:
		ok = false
	}
	if !ok || !live && reason != "drain" {
		c.fail("reason %q of %q from %d to %d", reason, name, from, to)
	}
}

// table applies the diff and compares the result with what F' needs.
func (c *checker) table() map[string]int32 {
	table := make(map[string]int32, len(c.s.table))
	for name, d := range c.s.table {
		table[name] = d
	}
	for _, name := range c.p.RoutingTable.Unset {
		if _, ok := table[name]; !ok {
			c.fail("unset of %q, which has no entry", name)
		}
		delete(table, name)
	}
	for _, e := range c.p.RoutingTable.Set {
		if d, ok := table[e.Key]; ok && d == e.Instance {
			c.fail("set of %q to %d, where it is already", e.Key, d)
		}
		table[e.Key] = e.Instance
	}
	needed := 0
	for name, d := range c.after {
		if d != c.s.keys[name].hash {
			needed++
			if got, ok := table[name]; !ok || got != d {
				c.fail("the table puts %q on %d (%v), it is on %d", name, got, ok, d)
			}
		}
	}
	for name := range c.s.table {
		if _, named := c.s.keys[name]; named {
			continue
		}
		if _, stays := table[name]; stays != (c.p.Status == "no_action" || c.s.kept[name]) {
			c.fail("the entry of the absent key %q stays: %v", name, stays)
		} else if stays {
			needed++
		}
	}
	if needed != len(table) {
		c.fail("the table has %d entries, %d are needed", len(table), needed)
	}
	if c.p.RoutingTable.SizeBefore != int64(len(c.s.table)) || c.p.RoutingTable.SizeAfter != int64(len(table)) {
		c.fail("table sizes %d → %d, recounted %d → %d", c.p.RoutingTable.SizeBefore, c.p.RoutingTable.SizeAfter,
			len(c.s.table), len(table))
	}
	if within := c.s.tableLimit < 0 || int64(len(table)) <= c.s.tableLimit; within != c.p.TableWithinLimit {
		c.fail("table_within_limit is %v", c.p.TableWithinLimit)
	}
	return table
}

// loads recounts loads, keys and what follows from them.
func (c *checker) loads() {
	before, after := map[int32]float64{}, map[int32]float64{}
	keysBefore, keysAfter := map[int32]int64{}, map[int32]int64{}
	total, capacities := 0.0, 0.0
	for name, k := range c.s.keys {
		before[k.at] += k.cost
		after[c.after[name]] += k.cost
		keysBefore[k.at]++
		keysAfter[c.after[name]]++
		total += k.cost
	}
	for _, kappa := range c.s.capacity {
		capacities += kappa
	}
	seen := map[int32]bool{}
	for _, x := range c.p.Instances {
		seen[x.Id] = true
		c.near(fmt.Sprintf("load_before of %d", x.Id), x.LoadBefore, before[x.Id])
		c.near(fmt.Sprintf("load_after of %d", x.Id), x.LoadAfter, after[x.Id])
		if x.KeysBefore != keysBefore[x.Id] || x.KeysAfter != keysAfter[x.Id] {
			c.fail("keys of %d: %d → %d, recounted %d → %d", x.Id, x.KeysBefore, x.KeysAfter, keysBefore[x.Id], keysAfter[x.Id])
		}
	}
	for d := range before {
		if !seen[d] {
			c.fail("instance %d holds keys and is not listed", d)
		}
	}
	var want plan
	want.Theta.Before, want.Underload.Before, want.Skewness.Before = c.imbalance(before, total, capacities)
	want.Theta.After, want.Underload.After, want.Skewness.After = c.imbalance(after, total, capacities)
	c.near("theta.before", c.p.Theta.Before, want.Theta.Before)
	c.near("theta.after", c.p.Theta.After, want.Theta.After)
	c.near("underload.before", c.p.Underload.Before, want.Underload.Before)
	c.near("underload.after", c.p.Underload.After, want.Underload.After)
	c.near("skewness.before", c.p.Skewness.Before, want.Skewness.Before)
	c.near("skewness.after", c.p.Skewness.After, want.Skewness.After)
	if balanced := want.Theta.After <= c.s.thetaMax*(1+1e-8)+1e-8; c.p.Balanced == nil || balanced != *c.p.Balanced {
		c.fail("balanced is %v at θ = %v", c.p.Balanced, want.Theta.After)
	}
	c.hotKeys(total, capacities)
}

func (c *checker) imbalance(load map[int32]float64, total, capacities float64) (theta, underload, skewness float64) {
	if total == 0 {
		return 0, 0, 1
	}
	sum, greatest := 0.0, 0.0
	for d, kappa := range c.s.capacity {
		fair := kappa / capacities * total
		theta, underload = max(theta, load[d]/fair-1), max(underload, 1-load[d]/fair)
		sum += load[d]
		greatest = max(greatest, load[d])
	}
	if sum == 0 {
		return theta, underload, 1
	}
	return theta, underload, greatest / (sum / float64(len(c.s.capacity)))
}

func (c *checker) hotKeys(total, capacities float64) {
	most := 0.0
	for _, kappa := range c.s.capacity {
		most = max(most, (1+c.s.thetaMax)*kappa/capacities*total)
	}
	var want, got []string
	for name, k := range c.s.keys {
		if k.cost > most*(1+1e-9) {
			want = append(want, name)
		}
	}
	for _, h := range c.p.HotKeys {
		name := *h.Key
		got = append(got, name)
		if c.after[name] != h.Instance || c.s.keys[name].cost != h.Cost {
			c.fail("hot key %q is on %d", name, c.after[name])
		}
	}
	if slices.Contains(c.p.Causes, "balanced") {
		return
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		c.fail("hot keys %q, recounted %q", got, want)
	}
}
