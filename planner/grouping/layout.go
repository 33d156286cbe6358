package grouping

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// Layout says which workers are the candidates of each key, numbers 0, 1, …, d−1 of it,
// seed by seed from 0 on and moved apart as [Options.Distinct] says. Routers send each
// message to the candidate that is least loaded for its capacity.
type Layout struct {
	Workers int
	// Choices is d of the keys outside of the head. More than Workers are as many as these.
	Choices int
	// Head has the keys with another number of candidates, ascending, each once; Workers:
	// a message may go anywhere.
	Head []HeadKey
}

// HeadKey is a key of the head with its number of candidates.
type HeadKey struct {
	Key     []byte
	Choices int
}

// Candidates lists the candidates of keys. One is for one goroutine.
type Candidates struct {
	hasher  *hasher
	choices int
	head    map[string]int
}

// Candidates are those of the layout.
func (l Layout) Candidates() *Candidates {
	c := &Candidates{
		hasher:  newHasher(&Options{Workers: l.Workers, Distinct: true}),
		choices: min(l.Choices, l.Workers), head: make(map[string]int, len(l.Head)),
	}
	for _, k := range l.Head {
		c.head[string(k.Key)] = min(k.Choices, l.Workers)
	}
	return c
}

// Append appends the candidates of a key in the order of their numbers.
func (c *Candidates) Append(row []int32, key []byte) []int32 {
	return c.hasher.append(row, key, c.Choices(key))
}

// Choices is the number of candidates of a key.
func (c *Candidates) Choices(key []byte) int {
	if d, in := c.head[string(key)]; in {
		return d
	}
	return c.choices
}

// Expected are the loads that a layout leads to, if routers keep them as level as the
// candidates of the keys let them.
type Expected struct {
	Loads []float64 // of each worker, in units of cost
	// Keys is how many keys each worker is a candidate of: the state that it may hold.
	// Merges is how many of them have another first candidate: partial results of it that
	// are to be merged with those of others. Both count at most what there is.
	Keys, Merges []int64
	// MostRate is the greatest load over capacity. However routers send, some worker has
	// at least BoundRate.
	MostRate, BoundRate float64
}

// Theta is how far the busiest worker is above its share; 0 without any cost.
func (e *Expected) Theta(capacity []float64) float64 {
	total, room := 0.0, 0.0
	for w, c := range capacity {
		total, room = total+e.Loads[w], room+c
	}
	if total == 0 {
		return 0
	}
	return max(0, float64(e.MostRate*(room/total))-1)
}

// Expect works out the loads of an interval for workers with capacities > 0. The error
// is planner.ErrStopped.
func (l Layout) Expect(s *planner.Statistics, capacity []float64, stop func() bool) (*Expected, error) {
	d := division{Layout: l, s: s, stop: stop}
	pools, err := d.pools(nil)
	if err != nil {
		return nil, err
	}
	out := &Expected{Keys: d.keys, Merges: d.merges}
	level := newLeveller(capacity, pools)
	out.MostRate, out.BoundRate, _ = level.level(0, d.stopped)
	out.Loads = level.loads
	return out, d.err()
}

// LayoutOptions say what is asked of [Layout.Replan].
type LayoutOptions struct {
	// Scheme is PKG, DChoices or WChoices.
	Scheme Scheme
	// ThetaMax is how far a load may be above its share.
	ThetaMax float64
	// Stop is asked now and then; true ends planning with planner.ErrStopped. Nil: never.
	Stop func() bool
}

// Replan decides on the head. A head under which the expected loads are within
// (1+ThetaMax) times their shares stays as it is. Otherwise keys leave it that have no
// more than 1/(5W) of all cost, the threshold of D-Choices; then, as long as some
// workers have to carry too much, the heaviest key above the threshold that cannot leave
// them gets more candidates: under DChoices until one is elsewhere, and at first as
// many as it takes to carry it, under WChoices all workers. Under PKG there is no head.
// Where that does not do, the layout comes as near as it can. The error is
// planner.ErrStopped.
func (l Layout) Replan(s *planner.Statistics, capacity []float64, o LayoutOptions) (Layout, error) {
	if o.Scheme == PKG {
		l.Head = nil
		return l, nil
	}
	d := division{Layout: l, s: s, stop: o.Stop}
	total, room := d.total(), 0.0
	for _, c := range capacity {
		room += c
	}
	limit := float64(min(1+o.ThetaMax, planner.MaxAmount)*(1+exact.Tolerance)) * (total / room)
	if total == 0 {
		return l, nil
	}
	pools, err := d.pools(nil)
	if err != nil {
		return l, err
	}
	if most, _, _ := newLeveller(capacity, pools).level(limit, d.stopped); most <= limit || d.halted {
		return l, d.err()
	}
	heavy := d.heavy(total)
	d.Head = slices.DeleteFunc(slices.Clone(l.Head), func(k HeadKey) bool {
		return !slices.ContainsFunc(heavy, func(h heavyKey) bool { return bytes.Equal(h.key, k.Key) })
	})
	if pools, err = d.pools(heavy); err != nil {
		return l, err
	}
	g := grower{division: &d, heavy: heavy, level: newLeveller(capacity, pools), all: o.Scheme == WChoices}
	if err := g.grow(limit); err != nil {
		return l, err
	}
	l.Head = g.head()
	return l, nil
}

// division divides the cost of an interval by a layout.
type division struct {
	Layout
	s            *planner.Statistics
	stop         func() bool
	halted       bool
	keys, merges []int64 // by worker
}

func (d *division) stopped() bool {
	d.halted = d.halted || d.stop != nil && d.stop()
	return d.halted
}

func (d *division) err() error {
	if d.halted {
		return planner.ErrStopped
	}
	return nil
}

func (d *division) total() float64 {
	return exact.SumsBy(1, make([]int32, d.s.Len()), d.s.Cost, nil)[0]
}

// heavyKey is a key above the threshold of the head.
type heavyKey struct {
	row        int
	key        []byte
	candidates []int32 // as many as were asked for
}

// heavy are the keys with more than 1/(5W) of all cost, the costliest first.
func (d *division) heavy(total float64) (out []heavyKey) {
	for row, c := range d.s.Cost {
		if c > total/float64(5*d.Workers) {
			out = append(out, heavyKey{row: row, key: d.s.Keys.At(row)})
		}
	}
	slices.SortFunc(out, func(a, b heavyKey) int {
		return cmp.Or(cmp.Compare(d.s.Cost[b.row], d.s.Cost[a.row]), bytes.Compare(a.key, b.key))
	})
	return out
}

// pools puts keys with the same candidates together, in an order that does not depend on
// that of the rows; each heavy key has one of its own, before them.
func (d *division) pools(heavy []heavyKey) ([]pool, error) {
	apart := make(map[int]int32, len(heavy))
	var out []pool
	for i, h := range heavy {
		apart[h.row] = int32(i)
		out = append(out, pool{cost: d.s.Cost[h.row]})
	}
	d.keys, d.merges = make([]int64, d.Workers), make([]int64, d.Workers)
	c, groups := d.Candidates(), &groups{workers: d.Workers, start: []uint32{0}}
	index, of := newRowIndex(groups), make([]int32, d.s.Len())
	var row []int32
	for k := range d.s.Len() {
		if k%askKeys == 0 && d.stopped() {
			return nil, planner.ErrStopped
		}
		row = c.Append(row[:0], d.s.Keys.At(k))
		for i, w := range row {
			d.keys[w]++
			d.merges[w] += int64(min(i, 1))
		}
		if at, own := apart[k]; own {
			out[at].workers, of[k] = slices.Clone(row), at
			continue
		}
		slices.Sort(row)
		of[k] = int32(len(heavy)) + index.of(row)
	}
	n := len(heavy) + len(groups.weight)
	for i, cost := range exact.SumsBy(n, of, d.s.Cost, nil)[len(heavy):] {
		if cost > 0 {
			out = append(out, pool{workers: slices.Clone(groups.members(i)), cost: cost})
		}
	}
	others := out[len(heavy):]
	slices.SortFunc(others, func(a, b pool) int { return slices.Compare(a.workers, b.workers) })
	// Poured one worker after the other, loads would take hundreds of sweeps to be level.
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return out, nil
}

// grower gives heavy keys, to which the first pools belong, more candidates.
type grower struct {
	*division
	heavy []heavyKey
	level *leveller
	all   bool
}

// grow does so until the greatest rate is within the limit, or no heavy key helps.
func (g *grower) grow(limit float64) error {
	for i := range g.heavy {
		for g.room(i) < g.s.Cost[g.heavy[i].row]/limit && g.more(i) {
		}
	}
	for {
		most, bound, first := g.level.level(limit, g.stopped)
		if most <= limit || g.halted {
			return g.err()
		}
		if bound <= limit { // it may well be as level as that, but is not yet
			first = slices.IndexFunc(g.level.order, func(w int32) bool { return g.level.rate(w) <= limit })
		}
		i := slices.IndexFunc(g.level.pools[:len(g.heavy)], func(p pool) bool {
			return len(p.workers) < g.Workers && g.level.confined(&p, first)
		})
		if i < 0 {
			return nil
		}
		for g.more(i) && g.level.confined(&g.level.pools[i], first) {
		}
	}
}

// room is the capacity of all candidates of a heavy key.
func (g *grower) room(i int) (sum float64) {
	for _, w := range g.level.pools[i].workers {
		sum += g.level.capacity[w]
	}
	return sum
}

// more gives a heavy key one more candidate, or all; false: it has all.
func (g *grower) more(i int) bool {
	p, h := &g.level.pools[i], &g.heavy[i]
	n := len(p.workers) + 1
	if n > g.Workers {
		return false
	}
	if g.all {
		n = g.Workers
	}
	if n > len(h.candidates) {
		h.candidates = newHasher(&Options{Workers: g.Workers, Distinct: true}).append(nil, h.key, min(2*n, g.Workers))
	}
	p.workers = h.candidates[:n:n]
	p.flow = append(p.flow, make([]float64, n-len(p.flow))...)
	return true
}

// head are the heavy keys with more candidates than others.
func (g *grower) head() (out []HeadKey) {
	for i, h := range g.heavy {
		if n := len(g.level.pools[i].workers); n > min(g.Choices, g.Workers) {
			out = append(out, HeadKey{Key: h.key, Choices: n})
		}
	}
	slices.SortFunc(out, func(a, b HeadKey) int { return bytes.Compare(a.Key, b.Key) })
	return out
}
