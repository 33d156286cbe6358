package ranges

import (
	"cmp"
	"math"
	"slices"
)

// findHeavy finds the keys that weigh more than any follower may carry.
func (d *division) findHeavy() {
	most := 0.0
	for i := range d.followers {
		most = math.Max(most, d.limit(i))
	}
	c := d.g.cdf
	if !exceeds(c.heaviest, most) {
		return
	}
	for i := range c.Len() {
		if exceeds(c.Weight(i), most) {
			d.heavy = append(d.heavy, d.g.find(c.Key(i)))
		}
	}
	slices.SortStableFunc(d.heavy, func(a, b int) int { return cmp.Compare(d.g.weight(b, b+1), d.g.weight(a, a+1)) })
}

// placeHeavy says where the heavy keys go: in descending weight, each to the
// follower that carries least for its capacity with it; of several to the one that
// has it, else the first.
func (d *division) placeHeavy() (owner []int, on []int64) {
	on = make([]int64, len(d.followers))
	for _, p := range d.heavy {
		w, best, least := d.g.weight(p, p+1), -1, 0.0
		for i, f := range d.followers {
			if !f.stays() {
				continue
			}
			relative := float64(on[i]+w) / f.capacity()
			if best < 0 || relative < least || relative == least && i == d.ownerOf(p) {
				best, least = i, relative
			}
		}
		owner = append(owner, best)
		on[best] += w
	}
	return owner, on
}

// ownerOf returns who owns point p before.
func (d *division) ownerOf(p int) int { return d.before[segmentAt(d.before, p)].owner }

// segmentAt returns the index of the segment that holds point p.
func segmentAt(segments []segment, p int) int {
	i, found := slices.BinarySearchFunc(segments, p, func(s segment, p int) int { return s.from - p })
	if !found {
		i--
	}
	return i
}

// goals is what a plan that moves as little as possible aims at, by follower and
// in units of weight.
type goals struct {
	bound []float64 // (1+θ_max)·fair, or the heavy keys that are placed there
	aim   []float64 // perfect balance beside the heavy keys; 0 for one that does not stay
	load  []int64   // once the heavy keys are where they go
	goal  []int64   // the load it is to end with
	moved float64   // at the least, heavy keys included, if joined ones get their fair share
	must  float64   // at the least, whatever joined ones get
}

func (d *division) newGoals(load, heavyOn []int64, heavyMoved int64) *goals {
	n := len(d.followers)
	x := &goals{bound: make([]float64, n), load: load, goal: make([]int64, n)}
	x.aim = d.aims(heavyOn)
	drained, over, lacking := 0.0, 0.0, 0.0
	for i, f := range d.followers {
		if !f.stays() {
			drained += float64(load[i])
			continue
		}
		x.bound[i] = math.Max(d.limit(i), float64(heavyOn[i]))
		if exceeds(load[i], x.bound[i]) {
			over += float64(load[i]) - x.bound[i]
		}
		if f.Status == Joined {
			lacking += math.Max(0, x.aim[i]-float64(load[i]))
		}
	}
	x.must = float64(heavyMoved) + drained + over
	x.moved = math.Max(x.must, float64(heavyMoved)+lacking)
	if d.g.cdf.Total() > 0 {
		x.settle(d.followers, drained, over, lacking)
	}
	return x
}

// settle decides how much each gives and takes: at first those give that are above
// their bounds, then, if joined ones lack more, those of the highest relative load;
// joined ones take what they lack, then those of the lowest relative load.
func (x *goals) settle(followers []Follower, drained, over, lacking float64) {
	goal := make([]float64, len(followers))
	var givers, takers []level
	for i, f := range followers {
		load := float64(x.load[i])
		switch {
		case !f.stays():
		case f.Status == Joined && load < x.aim[i]:
			goal[i] = x.aim[i]
			takers = append(takers, level{i, x.aim[i], x.aim[i]})
		default:
			goal[i] = load
			if exceeds(x.load[i], x.bound[i]) {
				goal[i] = x.bound[i]
			}
			givers = append(givers, level{i, load, x.aim[i]})
		}
	}
	if lacking > drained+over {
		top := lower(givers, lacking-drained)
		for _, g := range givers {
			goal[g.follower] = math.Min(goal[g.follower], math.Max(x.aim[g.follower], float64(top*x.aim[g.follower])))
		}
	}
	rest := -lacking + drained
	for _, g := range givers {
		if gives := g.load - goal[g.follower]; gives > 0 {
			rest += gives
		} else {
			takers = append(takers, g)
		}
	}
	bottom := raise(takers, rest)
	for _, t := range takers {
		goal[t.follower] = math.Max(goal[t.follower], float64(bottom*t.aim))
	}
	sum, whole := 0.0, 0.0
	for i := range goal { // rounded so that their sum stays what it is
		sum += goal[i]
		x.goal[i] = int64(math.RoundToEven(sum) - whole)
		whole = math.RoundToEven(sum)
	}
}

// aims divides the weight by capacity, except that followers with more of heavy
// keys than that have just these.
func (d *division) aims(heavyOn []int64) []float64 {
	aim := make([]float64, len(d.followers))
	fixed := make([]bool, len(d.followers))
	rest, capacity := float64(d.g.cdf.Total()), 0.0
	for i, f := range d.followers {
		if fixed[i] = !f.stays(); !fixed[i] {
			capacity += f.capacity()
		}
	}
	for again := true; again; {
		again = false
		for i, f := range d.followers {
			if !fixed[i] && float64(heavyOn[i]) > rest/capacity*f.capacity() {
				fixed[i], again = true, true
				aim[i] = float64(heavyOn[i])
				rest -= aim[i]
				capacity -= f.capacity()
			}
		}
	}
	for i, f := range d.followers {
		if !fixed[i] {
			aim[i] = rest / capacity * f.capacity()
		}
	}
	return aim
}

// level is a follower's load beside what it is to have.
type level struct {
	follower  int
	load, aim float64
}

// lower returns the λ for which Σ max(0, load − λ·aim) is the given weight.
func lower(levels []level, weight float64) float64 {
	sorted := slices.Clone(levels)
	slices.SortStableFunc(sorted, func(a, b level) int { return cmp.Compare(b.load*a.aim, a.load*b.aim) })
	load, aim := 0.0, 0.0
	for i, l := range sorted {
		load, aim = load+l.load, aim+l.aim
		if at := (load - weight) / aim; i+1 == len(sorted) || at*sorted[i+1].aim >= sorted[i+1].load {
			return at
		}
	}
	return math.Inf(1)
}

// raise returns the μ for which Σ max(0, μ·aim − load) is the given weight.
func raise(levels []level, weight float64) float64 {
	sorted := slices.Clone(levels)
	slices.SortStableFunc(sorted, func(a, b level) int { return cmp.Compare(a.load*b.aim, b.load*a.aim) })
	load, aim := 0.0, 0.0
	for i, l := range sorted {
		load, aim = load+l.load, aim+l.aim
		if at := (load + weight) / aim; i+1 == len(sorted) || at*sorted[i+1].aim <= sorted[i+1].load {
			return at
		}
	}
	return 0
}

// reportHeavy names the heavy keys and what they force, and fills in what the
// goals say.
func (d *division) reportHeavy(p *Division) {
	c := d.g.cdf
	placed, on := d.placeHeavy()
	moved := int64(0)
	load := append([]int64(nil), d.loads...)
	for k, at := range d.heavy {
		w := d.g.weight(at, at+1)
		key := d.g.key(at)
		owner, _ := p.After.Find(key)
		h := HeavyKey{Key: key, Follower: owner, Share: c.share(w), ForcedTheta: math.Inf(1)}
		for _, fair := range d.fair {
			if fair > 0 {
				h.ForcedTheta = math.Min(h.ForcedTheta, float64(w)/fair-1)
			}
		}
		p.HeavyKeys = append(p.HeavyKeys, h)
		if from := d.ownerOf(at); from >= 0 && from != placed[k] {
			moved += w
			load[from] -= w
			load[placed[k]] += w
		}
	}
	if d.before[0].owner < 0 {
		return
	}
	x := d.newGoals(load, on, moved)
	got := float64(moved)
	for i, f := range d.followers { // lumps may leave joined ones with less than their fair share
		if f.Status == Joined {
			after := float64(p.Loads[i].After * float64(c.Total()))
			got += math.Max(0, math.Min(x.aim[i], after)-float64(load[i]))
		}
	}
	p.LowerBound = math.Min(x.moved, math.Max(x.must, got)) / math.Max(1, float64(c.Total()))
	for i := range p.Loads {
		if d.followers[i].stays() {
			p.Loads[i].Bound = x.bound[i] / math.Max(1, float64(c.Total()))
		}
	}
}
