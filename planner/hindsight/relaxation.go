package hindsight

import "slices"

// prices are those of load, by interval and instance, and of table entries, by interval.
// They are not negative. Those of what has no limit are 0.
type prices struct{ load, table []float64 }

func newPrices(p *problem) prices {
	y := prices{load: make([]float64, len(p.room))}
	if p.table != nil {
		y.table = make([]float64, p.intervals)
	}
	return y
}

func (y prices) set(other prices) {
	copy(y.load, other.load)
	copy(y.table, other.table)
}

// relaxation evaluates prices: the bound that they prove, and what is above its limit on
// the keys' cheapest paths.
type relaxation struct {
	*problem
	walk    *walk
	stays   []float64 // by interval and instance: the load if all keys stay at their start
	entries []float64 // by interval: the entries then
	keeps   prices    // what the keys' paths need, less the limits: the supergradient
	saving  []float64 // by interval and start: how much less a cost pays where it is cheapest
	at      []int32   // scratch
}

func newRelaxation(p *problem) *relaxation {
	r := &relaxation{
		problem: p, walk: newWalk(p), stays: make([]float64, len(p.room)), entries: make([]float64, p.intervals),
		keeps: newPrices(p), saving: make([]float64, len(p.room)), at: make([]int32, p.most),
	}
	for _, x := range p.paths {
		for _, s := range p.steps[x.from:x.to] {
			r.stays[int(s.interval)*p.instances+int(x.start)] += s.cost
			if x.start != x.home {
				r.entries[s.interval]++
			}
		}
	}
	return r
}

// evaluate returns a bound that no sequence within the caps is below, and sets keeps.
//
// Rounding: each path costs a sum of non-negative products, so that it is known up to a
// few units in the last place for each step; the sums over keys and rows have an error of
// at most one unit for each term, of the sum of the terms' magnitudes.
func (r *relaxation) evaluate(y prices) float64 {
	r.compare(y)
	value, magnitude := r.resting(y)
	for i := range r.paths {
		x := &r.paths[i]
		if !x.leaves && r.remains(x, y) {
			continue
		}
		steps := r.steps[x.from:x.to]
		cheapest := r.walk.run(x, steps, func(j int, cost []float64) { r.price(x, &steps[j], y, cost) })
		staying := r.staying(x, steps, y)
		if cheapest >= staying && !x.leaves {
			continue
		}
		value += cheapest - staying
		magnitude += cheapest + staying
		r.walk.trace(x, steps, r.at)
		r.follow(x, steps)
	}
	terms := float64(len(r.paths) + len(r.room) + 8*r.most + 64)
	return value - float64(terms*0x1p-51*magnitude)
}

// compare sets saving.
func (r *relaxation) compare(y prices) {
	for t := range r.intervals {
		row := y.load[t*r.instances : (t+1)*r.instances]
		least := slices.Min(row)
		for d, u := range row {
			r.saving[t*r.instances+d] = u - least
		}
	}
}

// resting sets keeps to what all keys need at their starts, and returns what that costs.
func (r *relaxation) resting(y prices) (value, magnitude float64) {
	for i, u := range y.load {
		r.keeps.load[i] = 0
		if t := i / r.instances; r.bounded[t] {
			r.keeps.load[i] = r.stays[i] - r.room[i]
			value += float64(u * r.keeps.load[i])
			magnitude += float64(u * (r.stays[i] + r.room[i]))
		}
	}
	for t, price := range y.table {
		r.keeps.table[t] = 0
		if r.bounded[t] {
			limit := float64(r.table[t])
			r.keeps.table[t] = r.entries[t] - limit
			value += float64(price * r.keeps.table[t])
			magnitude += float64(price * (r.entries[t] + limit))
		}
	}
	return value, magnitude
}

// remains tells of most keys that stay that they do: once away from its start a key saves
// at most so much. It takes a step of this where a path takes one for each instance.
func (r *relaxation) remains(x *path, y prices) bool {
	away := x.start != x.home
	gain, least := 0.0, 0.0 // of having left, at best so far
	for j := x.from; j < x.to; j++ {
		s := &r.steps[j]
		saving := float64(s.cost * r.saving[int(s.interval)*r.instances+int(x.start)])
		if y.table != nil {
			entry := y.table[s.interval]
			if away {
				saving += entry
			} else {
				saving = max(0, saving-entry)
			}
		}
		if leaving := s.state; j == x.from {
			gain = leaving - saving
		} else {
			gain = min(gain, leaving) - saving
		}
		least = min(least, gain)
	}
	return least >= 0
}

// price is what a step costs a key on each instance.
func (r *relaxation) price(x *path, s *step, y prices, cost []float64) {
	row := y.load[int(s.interval)*r.instances:][:r.instances]
	for d, u := range row {
		cost[d] = u * s.cost
	}
	if y.table == nil {
		return
	}
	entry := y.table[s.interval]
	for d := range cost {
		if int32(d) != x.home {
			cost[d] += entry
		}
	}
}

// staying is what the path costs that never moves.
func (r *relaxation) staying(x *path, steps []step, y prices) float64 {
	sum := 0.0
	for i := range steps {
		s := &steps[i]
		sum += float64(s.cost * y.load[int(s.interval)*r.instances+int(x.start)])
		if y.table != nil && x.start != x.home {
			sum += y.table[s.interval]
		}
	}
	return sum
}

// follow takes the load of a key along its path.
func (r *relaxation) follow(x *path, steps []step) {
	for j := range steps {
		s, d := &steps[j], r.at[j]
		if d == x.start {
			continue
		}
		row := r.keeps.load[int(s.interval)*r.instances:][:r.instances]
		row[x.start] -= s.cost
		row[d] += s.cost
		if r.keeps.table != nil && r.bounded[s.interval] {
			switch x.home {
			case d:
				r.keeps.table[s.interval]--
			case x.start:
				r.keeps.table[s.interval]++
			}
		}
	}
}
