package forecast

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
	"plannerd/planner/internal/assign"
)

const (
	// MaxPeriod is the longest season, in intervals.
	MaxPeriod = 48
	// remembered is how many innovations are kept: those of two of the longest seasons.
	remembered = 2 * MaxPeriod
	// listed is how many keys of an innovation are kept one by one.
	listed = 512
)

// innovation is by how much the shares of an interval differed from their forecast: of
// the keys with the greatest differences one by one, of all others as a sum of squares.
type innovation struct {
	keys []int32 // ascending; -1 for none
	diff []float32
	rest float64 // Σ diff² of the keys that are not listed
}

// energy is Σ diff² over all keys.
func (v *innovation) energy() float64 {
	var listed sum
	for _, d := range v.diff {
		listed.add(float64(d) * float64(d))
	}
	return v.rest + listed.value()
}

// renumber gives the keys their new numbers; those without one go to the rest.
func (v *innovation) renumber(number []int32) {
	to, gone := 0, sum{}
	for i, id := range v.keys {
		if number[id] < 0 {
			gone.add(float64(v.diff[i]) * float64(v.diff[i]))
			continue
		}
		v.keys[to], v.diff[to] = number[id], v.diff[i]
		to++
	}
	v.keys, v.diff, v.rest = v.keys[:to], v.diff[:to], v.rest+gone.value()
}

// shares are those of an interval.
type shares struct {
	cost  []float64
	total float64
	ids   []int32 // of the rows. Nil: row i is key i
	keys  *planner.Keys
	whole bool // keys without a row have none
}

// byKey returns the share of each key; below 0 where nothing is known of it.
func (x *shares) byKey() []float32 {
	out := make([]float32, x.keys.Len())
	if x.ids == nil {
		assign.InParts(len(out), func(_, from, to int) {
			for i := from; i < to; i++ {
				out[i] = float32(x.cost[i] / x.total)
			}
		})
		return out
	}
	if !x.whole {
		for id := range out {
			out[id] = -1
		}
	}
	assign.InParts(len(x.cost), func(_, from, to int) {
		for i := from; i < to; i++ {
			out[x.ids[i]] = float32(x.cost[i] / x.total)
		}
	})
	return out
}

// update takes in an interval: its innovation, and the levels after it.
func (s *series) update(x shares) {
	share := x.byKey()
	gain := s.gain()
	if s.intervals > 0 {
		v := s.innovation(share, x.keys)
		if s.averages() {
			gain = max(gain, s.surprise(&v))
		}
		if s.config.Method == Combined {
			s.judgeSeason(share, &v)
		}
		s.keep(v)
	}
	if s.config.Method == Combined {
		s.combine(share, gain)
		s.intervals++
		return
	}
	if s.config.Method == Level && s.intervals > 0 {
		s.noise.learn(s.level, share)
	}
	var kalman func(x float64) float64
	if s.config.Method == Level && s.intervals > 0 {
		kalman = s.noise.gains()
	}
	assign.InParts(len(share), func(_, from, to int) {
		for id := from; id < to; id++ {
			if share[id] < 0 {
				continue
			}
			level, g := float64(s.level[id]), gain
			if kalman != nil {
				g = kalman(math.Max(level, float64(share[id])))
			}
			s.level[id] = float32(level + float64(g*(float64(share[id])-level)))
		}
	})
	s.intervals++
}

const (
	// burst is how many keys may change at once without the stream being another one.
	burst = 8
	// ordinary is how many times the usual energy the innovation of other keys may have.
	ordinary = 3
)

// surprise is the part of an innovation that is a change of many keys at once. A moving
// average that followed it as it follows noise would be wrong for long.
func (s *series) surprise(v *innovation) float64 {
	var usual []float64
	for i := max(0, len(s.recent)-resampled); i < len(s.recent); i++ {
		usual = append(usual, s.recent[i].common())
	}
	now := v.common()
	if len(usual) < LeastInnovations || now == 0 {
		return 0
	}
	slices.Sort(usual)
	return 1 - ordinary*usual[len(usual)/2]/now
}

// common is the energy without that of the keys that differ most.
func (v *innovation) common() float64 {
	squares := make([]float64, len(v.diff))
	for i, d := range v.diff {
		squares[i] = float64(d) * float64(d)
	}
	slices.Sort(squares)
	var all sum
	for _, x := range squares[:max(0, len(squares)-burst)] {
		all.add(x)
	}
	return v.rest + all.value()
}

// keep adds the newest innovation.
func (s *series) keep(v innovation) {
	if len(s.recent) == remembered {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, v)
	s.findPeriod()
}

// difference is the innovation of one key.
func (s *series) difference(share []float32, id int) float32 {
	if share[id] < 0 {
		return 0
	}
	return share[id] - s.level[id]
}

// exponents is how many binary exponents of differences are told apart.
const exponents = 256

// exponent is that of a difference, from 0 for 0.
func exponent(d float32) uint32 { return math.Float32bits(d) >> 23 & 0xff }

// innovation compares the shares with the levels.
func (s *series) innovation(share []float32, keys *planner.Keys) innovation {
	counts := s.exponentCounts(share)
	least, many := uint32(exponents), 0
	for least > 1 && many < listed {
		least--
		many += counts[least]
	}
	type entry struct {
		id   int32
		diff float32
	}
	great := assign.Collect(len(share), func(from, to int) (out []entry) {
		for id := from; id < to; id++ {
			if d := s.difference(share, id); d != 0 && exponent(d) >= least {
				out = append(out, entry{int32(id), d})
			}
		}
		return out
	})
	rest := s.squares(share, least)
	if len(great) > listed {
		exact.SelectLeast(great, listed, func(a, b entry) int {
			if c := cmp.Compare(math.Abs(float64(b.diff)), math.Abs(float64(a.diff))); c != 0 {
				return c
			}
			return keys.Compare(a.id, b.id)
		})
		for _, e := range great[listed:] {
			rest.add(float64(e.diff) * float64(e.diff))
		}
		great = great[:listed]
	}
	v := innovation{rest: rest.value()}
	slices.SortFunc(great, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	for _, e := range great {
		v.keys, v.diff = append(v.keys, e.id), append(v.diff, e.diff)
	}
	return v
}

// exponentCounts counts the differences by their magnitude.
func (s *series) exponentCounts(share []float32) (all [exponents]int) {
	var parts [assign.MostParts][exponents]int
	assign.InParts(len(share), func(part, from, to int) {
		counts := &parts[part]
		for id := from; id < to; id++ {
			counts[exponent(s.difference(share, id))]++
		}
	})
	for part := range parts {
		for e, n := range &parts[part] {
			all[e] += n
		}
	}
	return all
}

// squares sums the squares of the differences below an exponent.
func (s *series) squares(share []float32, below uint32) (all sum) {
	var parts [assign.MostParts]sum
	assign.InParts(len(share), func(part, from, to int) {
		squares := sum{}
		for id := from; id < to; id++ {
			if d := s.difference(share, id); exponent(d) < below {
				squares.add(float64(d) * float64(d))
			}
		}
		parts[part] = squares
	})
	return sumOf(parts[:])
}
