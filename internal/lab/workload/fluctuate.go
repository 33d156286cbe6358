package workload

import (
	"cmp"
	"slices"
	"strconv"

	"plannerd/planner"
)

// drawsPerKey bounds the random draws of pairs, per key. They nearly always end
// long before; beyond it the frequencies are exchanged in order.
const drawsPerKey = 4

// A swap is a pair of keys that exchange their frequencies.
type swap struct{ a, b int32 }

// A trend is an instance whose load is going to change, and the direction.
type trend struct {
	instance int32
	sign     int64 // +1: its load rises, −1: it falls
}

// A change is the fluctuation between two intervals, in the making.
type change struct {
	*Generator
	current      []int32
	count        []int   // keys on each instance
	before, load []int64 // of each instance, in tuples
	required     float64 // f·L̄, in tuples
}

// fluctuate swaps frequencies between keys on different instances until the
// load of some instance has changed by f·L̄ since the interval before.
//
// The paper swaps any two keys. Blind swaps mostly cancel out, though, so that
// with many keys a large f would not be reached in any time. So an instance and
// a direction are drawn first, of all that can go that far, and then pairs of
// one key on that instance and one elsewhere; they swap if that goes in the
// direction drawn.
func (g *Generator) fluctuate(current []int32) error {
	c, err := g.newChange(current)
	if err != nil {
		return err
	}
	possible := c.possible()
	if len(possible) == 0 {
		return ErrUnreachable
	}
	t := possible[g.rng.IntN(len(possible))]
	on, elsewhere := c.split(t.instance)
	for range drawsPerKey * len(current) {
		a, b := on[g.rng.IntN(len(on))], elsewhere[g.rng.IntN(len(elsewhere))]
		if t.sign*c.gain(a, b) > 0 && c.swap(a, b) {
			return nil
		}
	}
	c.swapInOrder(t, on, elsewhere)
	return nil
}

func (g *Generator) newChange(current []int32) (*change, error) {
	if len(current) != g.config.Keys {
		return nil, planner.Invalid("current", "must name an instance for each of the "+
			strconv.Itoa(g.config.Keys)+" keys")
	}
	n := g.config.Instances
	c := &change{
		Generator: g,
		current:   current,
		count:     make([]int, n),
		load:      make([]int64, n),
		required:  g.config.Fluctuation * float64(g.config.Tuples) / float64(n),
	}
	for k, d := range current {
		if d < 0 || int(d) >= n {
			return nil, planner.InvalidRow(k, "current", "must be from 0 to "+strconv.Itoa(n-1))
		}
		c.count[d]++
		c.load[d] += int64(g.frequency[k])
	}
	c.before = slices.Clone(c.load)
	return c, nil
}

// possible returns every trend that can go far enough. With n keys an instance
// can at most have the n largest frequencies, and must at least have the n
// smallest, and there are swaps that lead to either.
func (c *change) possible() []trend {
	var out []trend
	keys := len(c.current)
	for d, n := range c.count {
		most, least := c.lowest[keys]-c.lowest[keys-n], c.lowest[n]
		if c.enough(most - c.before[d]) {
			out = append(out, trend{int32(d), +1})
		}
		if c.enough(c.before[d] - least) {
			out = append(out, trend{int32(d), -1})
		}
	}
	return out
}

func (c *change) enough(difference int64) bool { return float64(difference) >= c.required }

// split returns the keys on d and those elsewhere.
func (c *change) split(d int32) (on, elsewhere []int32) {
	on = make([]int32, 0, c.count[d])
	elsewhere = make([]int32, 0, len(c.current)-c.count[d])
	for k, at := range c.current {
		if at == d {
			on = append(on, int32(k))
		} else {
			elsewhere = append(elsewhere, int32(k))
		}
	}
	return on, elsewhere
}

// gain is what a's instance gains when a and b swap.
func (c *change) gain(a, b int32) int64 { return int64(c.frequency[b]) - int64(c.frequency[a]) }

// swap exchanges the frequencies of two keys on different instances and reports
// whether the load of either has now changed enough.
func (c *change) swap(a, b int32) bool {
	gain, da, db := c.gain(a, b), c.current[a], c.current[b]
	c.frequency[a], c.frequency[b] = c.frequency[b], c.frequency[a]
	c.load[da] += gain
	c.load[db] -= gain
	c.swaps = append(c.swaps, swap{a, b})
	return c.changed(da) || c.changed(db)
}

// changed reports whether the load of d has changed enough.
func (c *change) changed(d int32) bool {
	return c.enough(max(c.load[d]-c.before[d], c.before[d]-c.load[d]))
}

// swapInOrder swaps the pair that brings t farthest, then the next, and so on.
// It ends because t is possible: after all useful pairs the instance has the
// largest, or the smallest, frequencies of all.
func (c *change) swapInOrder(t trend, on, elsewhere []int32) {
	order := func(sign int64) func(x, y int32) int {
		return func(x, y int32) int {
			return cmp.Or(cmp.Compare(sign*int64(c.frequency[x]), sign*int64(c.frequency[y])), cmp.Compare(x, y))
		}
	}
	slices.SortFunc(on, order(t.sign))
	slices.SortFunc(elsewhere, order(-t.sign))
	for i := 0; !c.swap(on[i], elsewhere[i]); i++ {
	}
}
