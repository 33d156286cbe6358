package search

import (
	"plannerd/planner/internal/assign"
)

// candidate is a shift, and what it gains together with the one before it, if there is one:
// less than nothing is better.
type candidate struct {
	gain    float64
	key, to int32
}

// followed is how many of the best shifts of a key another one is tried after.
const followed = 4

// try looks for a shift of key k that gains something, or, if pairs are wanted, for two that
// do so together, and applies it.
func (s *search) try(k int32, pairs bool) bool {
	f := follow{search: s, width: followed}
	for _, d := range s.places(k, assign.None, &f.buffer) {
		f.consider(k, d)
	}
	if s.apply(&f) {
		return true
	}
	if !pairs {
		return false
	}
	for _, c := range f.best[:f.n] {
		if s.Evaluations <= 0 {
			return false
		}
		s.shift(c.key, c.to)
		next := follow{search: s, gain: c.gain, width: 1}
		next.all()
		if s.apply(&next) {
			return true
		}
		s.unshift()
	}
	return false
}

// apply makes the best candidate last, with what is being tried, if that gains something.
func (s *search) apply(f *follow) bool {
	if !s.spend(f.evaluations) || f.n == 0 || f.best[0].gain >= -s.epsilon {
		return false
	}
	s.shift(f.best[0].key, f.best[0].to)
	s.commit()
	return true
}

// follow collects the best shifts of a key, or those to follow one: of keys off the instance
// that it overloads, and of keys back to where it made room.
type follow struct {
	*search
	gain        float64
	width       int
	n           int
	best        [followed]candidate
	evaluations int64
	buffer      [maxPlaces]int32
}

// all looks at what may follow the shift that is being tried.
func (f *follow) all() {
	first := f.shifts[0]
	for _, d := range [2]int32{first.to, first.at} {
		if !f.p.IsLive[d] {
			continue
		}
		if room := f.roomOn(d); room < 0 {
			f.relieve(d, -room)
		} else {
			f.fill(d, room)
		}
	}
	if f.limited && f.now.Table > f.limit {
		f.sendHome()
	}
}

// relieve looks at keys that could leave an overloaded instance.
func (f *follow) relieve(d int32, over int64) {
	freed := assign.None
	if from := f.shifts[0].at; f.p.IsLive[from] {
		freed = from
	}
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
	return k == f.locked || len(f.shifts) > 0 && f.shifts[0].key == k
}
