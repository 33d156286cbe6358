package search

import (
	"slices"

	"plannerd/planner/internal/ablation"
	"plannerd/planner/internal/assign"
)

// candidate is a shift that may follow a chain, and what the chain with it
// gains: less than nothing is better.
type candidate struct {
	gain    float64
	key, to int32
}

const (
	maxBeam  = 4
	maxDepth = 4
)

// beam says how many of the best candidates are followed, by length of the chain
// so far.
var beam = [maxDepth]int{0: 2, 1: 2, 2: 1, 3: 1}

// try looks for a chain of at most depth shifts that begins with key k and gains
// something, and applies it. Long chains may always begin by bringing the key
// back, even if other places look better.
func (s *search) try(k int32, depth int) bool {
	f := follow{search: s, width: maxBeam}
	back := assign.None
	if depth > 2 {
		f.width = beam[0]
		if d := s.from[k]; d != s.at[k] && s.p.IsLive[d] {
			back = d
		}
	}
	for _, d := range s.places(k, assign.None, &f.buffer) {
		if d != back {
			f.consider(k, d)
		}
	}
	if back != assign.None {
		f.evaluations++
		f.best[f.n] = candidate{s.delta(k, back), k, back}
		f.n++
	}
	return s.ejectionChain(&f, depth)
}

// ejectionChain applies the best candidate if it gains something, else looks for shifts
// to follow one of them.
func (s *search) ejectionChain(f *follow, depth int) bool {
	if !s.spend(f.evaluations) || f.n == 0 {
		return false
	}
	if best := f.best[0]; best.gain < -s.epsilon {
		s.shift(best.key, best.to)
		s.commit()
		return true
	}
	if len(s.chain)+1 >= depth || ablation.Off(ablation.Chains) {
		return false
	}
	for _, c := range f.best[:f.n] {
		s.shift(c.key, c.to)
		next := follow{search: s, gain: c.gain, width: beam[len(s.chain)]}
		next.all()
		if s.ejectionChain(&next, depth) {
			return true
		}
		s.unshift()
	}
	return false
}

// follow collects the best shifts to follow a chain: of keys off the instances
// that it overloads, and of keys back to where it made room.
type follow struct {
	*search
	gain        float64
	width       int
	n           int
	best        [maxBeam]candidate
	evaluations int64
	buffer      [maxPlaces]int32
}

func (f *follow) all() {
	for i, x := range f.chain {
		for _, d := range [2]int32{x.to, x.at} {
			if f.seen(d, i, x) {
				continue
			}
			if over := f.load[d] - f.p.Limit[d]; over > 0 {
				f.relieve(d, over)
			} else {
				f.fill(d, -over)
			}
		}
	}
	if f.limited && f.now.Table > f.limit {
		f.sendHome()
	}
}

// seen reports whether instance d was dealt with before it came up as an end of
// step i.
func (f *follow) seen(d int32, i int, x step) bool {
	return d == x.at && !f.p.IsLive[d] ||
		slices.ContainsFunc(f.chain[:i], func(y step) bool { return d == y.at || d == y.to })
}

// relieve looks at keys that could leave an overloaded instance.
func (f *follow) relieve(d int32, over int64) {
	freed := f.freed(len(f.chain) - 1)
	for _, list := range [2][]int32{f.guest[d], f.stay[d]} {
		i := first(list, f.cost, over)
		for _, k := range list[max(0, i-beyond):min(len(list), i+window)] {
			if f.at[k] == d {
				for _, to := range f.places(k, freed, &f.buffer) {
					f.consider(k, to)
				}
			}
		}
	}
}

// freed is where step i of the chain made room.
func (s *search) freed(i int) int32 {
	if d := s.chain[i].at; s.p.IsLive[d] {
		return d
	}
	return assign.None
}

// fill looks at keys that could come back to an instance with room.
func (f *follow) fill(d int32, room int64) {
	list := f.away[d]
	i := first(list, f.cost, room+1)
	for _, k := range list[max(0, i-window):min(len(list), i+beyond)] {
		if f.at[k] != d {
			f.consider(k, d)
		}
	}
}

// sendHome looks at some keys that have an entry.
func (f *follow) sendHome() {
	for range window {
		d := f.p.Live[f.random.IntN(len(f.p.Live))]
		if n := len(f.away[d]); n > 0 {
			if k := f.away[d][f.random.IntN(n)]; f.home[k] == d && f.at[k] != d {
				f.consider(k, d)
			}
		}
	}
}

func (f *follow) consider(k, to int32) {
	f.evaluations++
	gain := f.gain + f.delta(k, to)
	if f.n == f.width && gain >= f.best[f.n-1].gain || f.fixed(k) {
		return
	}
	i := f.n
	if f.n < f.width {
		f.n++
	} else {
		i--
	}
	for ; i > 0 && gain < f.best[i-1].gain; i-- {
		f.best[i] = f.best[i-1]
	}
	f.best[i] = candidate{gain, k, to}
}

func (f *follow) fixed(k int32) bool {
	return k == f.locked || slices.ContainsFunc(f.chain, func(x step) bool { return x.key == k })
}
