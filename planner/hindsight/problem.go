package hindsight

import (
	"math"
	"slices"
)

// tolerance is by how much a load may exceed its cap: less than anybody measures, more
// than rounding does.
const tolerance = 1e-9

// problem is what can still change once the caps are known: the paths of the keys that
// have cost after they are free to move. All other load is fixed.
type problem struct {
	intervals, instances int
	room                 []float64 // by interval and instance: the cap less the fixed load
	bounded              []bool    // by interval: its loads are
	table                []int64   // by interval; nil: no limit
	movable              []float64 // by interval: the cost that is not fixed

	paths []path
	steps []step
	most  int // steps of a path
}

// path is that of a key: it is at start, and at most one step for each interval follows.
type path struct {
	start, home int32
	from, to    int32   // of steps
	may         *places // nil: it may be everywhere
	leaves      bool    // it may not be at start in all of the steps
}

// enters reports whether a key may come to an instance for a step.
func (x *path) enters(s *step, d int32) bool { return x.may == nil || x.may.enter[d] || s.was == d }

// bars reports whether a key may not be on an instance in a step.
func (x *path) bars(s *step, d int32) bool { return x.may != nil && !x.may.keep[d] && s.was != d }

// step is an interval in which the key has cost. A key changes its instance on the way to
// it, once, where that costs least since the step before.
type step struct {
	interval int32
	was      int32 // where the policy had the key
	cost     float64
	state    float64 // that moves then
}

// problem prepares the stream for caps. was is where a policy had a key in an interval.
func (h *History) problem(caps Caps, was func(t int, key int32) int32) *problem {
	p := &problem{
		intervals: h.Len(), instances: len(h.fair), table: caps.Table,
		bounded: make([]bool, h.Len()), movable: make([]float64, h.Len()),
		room: make([]float64, h.Len()*len(h.fair)),
	}
	background := make([]float64, len(p.room))
	for t, in := range h.intervals {
		p.bounded[t] = t >= caps.Warmup
		copy(background[t*p.instances:], in.residual)
	}
	rows := h.rowsByKey()
	for _, k := range h.canonical() {
		at := func(t int) int32 { return was(t, k) }
		p.add(rows.of(k), path{start: at(caps.First), home: h.home[k], may: h.may[k]}, caps.First, int(h.first[k]), at,
			background)
	}
	for t := range p.intervals {
		if !p.bounded[t] {
			continue
		}
		for d := range p.instances {
			i := t*p.instances + d
			limit := (1 + caps.Theta[t]) * (1 + tolerance) * h.fairIn(caps.Fair, t)[d]
			if limit == 0 {
				limit = 1 + tolerance // of all load
			}
			p.room[i] = max(limit, float64(background[i]*(1+tolerance))) - background[i]
		}
	}
	return p
}

// add takes in a key. Until it is free, its load is part of the background.
func (p *problem) add(rows []stay, x path, begin, first int, was func(t int) int32, background []float64) {
	free := max(first, begin) + 1
	if x.start != x.home {
		free = begin + 1 // its entry may go before its key is named
	}
	for _, r := range rows {
		if int(r.interval) < free && p.bounded[r.interval] {
			background[int(r.interval)*p.instances+int(x.start)] += r.cost
		}
	}
	x.from = int32(len(p.steps))
	if exempt := x.may.exempt(begin, p.intervals, was); p.table == nil && !exempt {
		p.addSteps(rows, free)
	} else if exempt || x.start != x.home || slices.ContainsFunc(rows, func(r stay) bool {
		return int(r.interval) >= free && p.bounded[r.interval] && r.cost > 0
	}) {
		p.addAllSteps(rows, free)
	}
	if x.to = int32(len(p.steps)); x.to == x.from {
		return
	}
	for j := x.from; j < x.to; j++ {
		s := &p.steps[j]
		s.was = was(int(s.interval))
		x.leaves = x.leaves || x.bars(s, x.start)
		p.movable[s.interval] += s.cost
	}
	p.most = max(p.most, int(x.to-x.from))
	p.paths = append(p.paths, x)
}

// addSteps adds those of intervals in which the key has cost that is bounded.
func (p *problem) addSteps(rows []stay, free int) {
	least, known := math.Inf(1), free-1 // of the states since the last step, up to interval known
	for _, r := range rows {
		t := int(r.interval)
		if t < free-1 {
			continue
		}
		if t > known {
			least = 0 // in between it has no state
		}
		if t >= free && p.bounded[t] && r.cost > 0 {
			p.steps = append(p.steps, step{interval: r.interval, cost: r.cost, state: least})
			least = math.Inf(1)
		}
		least, known = min(least, r.state), t+1
	}
}

// addAllSteps adds one of each interval: with a table limit, or where a key may be on an instance
// for an interval alone, it counts where it is when it costs nothing.
func (p *problem) addAllSteps(rows []stay, free int) {
	state := 0.0 // of the interval before
	for t, i := 0, 0; t < p.intervals; t++ {
		cost, before := 0.0, state
		state = 0
		if i < len(rows) && int(rows[i].interval) == t {
			cost, state = rows[i].cost, rows[i].state
			i++
		}
		if !p.bounded[t] {
			cost = 0
		}
		if t >= free {
			p.steps = append(p.steps, step{interval: int32(t), cost: cost, state: before})
		}
	}
}

// canonical are the keys in an order that does not depend on the order of the rows.
func (h *History) canonical() []int32 {
	order := make([]int32, h.keys.Len())
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, h.keys.Compare)
	return order
}

// stay is the row of a key in an interval.
type stay struct {
	interval    int32
	cost, state float64
}

// byKey are all rows in the order of their keys, then intervals.
type byKey struct {
	rows []stay
	ends []int32
}

func (b byKey) of(key int32) []stay {
	from := int32(0)
	if key > 0 {
		from = b.ends[key-1]
	}
	return b.rows[from:b.ends[key]]
}

func (h *History) rowsByKey() byKey {
	b := byKey{ends: make([]int32, h.keys.Len())}
	for _, in := range h.intervals {
		for _, r := range in.rows {
			b.ends[r.key]++
		}
	}
	all := int32(0)
	for k, n := range b.ends { // the end becomes the beginning, and the end again below
		b.ends[k], all = all, all+n
	}
	b.rows = make([]stay, all)
	for t, in := range h.intervals {
		for _, r := range in.rows {
			b.rows[b.ends[r.key]] = stay{int32(t), r.cost, r.state}
			b.ends[r.key]++
		}
	}
	return b
}
