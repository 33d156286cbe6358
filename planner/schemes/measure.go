package schemes

import (
	"plannerd/internal/exact"
	"plannerd/planner"
)

// Figures are what came of one scheme.
type Figures struct {
	Scheme Scheme
	// Theta is max_d L(d)/L̄_d − 1, ≥ 0, L̄_d being the instance's share of all cost by
	// capacity. Imbalance is (max L − mean L) over all cost, I(m)/m of
	// partial-key-grouping, which knows no capacities.
	Theta, Imbalance float64
	// Balanced: no instance has more than (1+θ_max)·L̄_d.
	Balanced bool
	// WithinLimit: the routing table, if any, keeps to its limit.
	WithinLimit bool
	// Whole: every key is on one instance, so that nothing has to be merged.
	Whole bool

	// What has to be held: Pairs of an instance and a key, entries of a routing table,
	// tokens, and intervals of keys.
	Pairs, TableEntries, Tokens, Intervals int64

	// KeysMoved are the keys that are elsewhere than the plain hash has them, and State
	// is theirs; Fraction is that over all state. Under PKG it is 0: partial states are
	// merged wherever they are, and nothing has to move. To the other plain hash and to
	// ranges nearly everything moves.
	KeysMoved       int64
	State, Fraction float64
	// Aggregation is how many messages the instances send on in a period, in the mean, so
	// that the parts of each key can be merged; 0 where keys are whole.
	Aggregation float64

	// Method is the one of Ring, a ring.Method; Choices is d of PKG.
	Method  string
	Choices int
	// Seeds is what the seeds of PKG came to: the least, median and greatest θ. Theta is
	// the median (of an even number the lower), the other figures are those of its seed.
	Seeds *Spread
}

// Spread is a figure over several seeds.
type Spread struct{ Least, Median, Greatest float64 }

// ledger is what all schemes are measured by.
type ledger struct {
	o           Options
	load        *planner.Statistics
	cost, state exact.Column
	base        []int32 // index of the instance where the plain hash has each key
	fair        []float64
}

func newLedger(load *planner.Statistics, o Options) *ledger {
	l := &ledger{o: o, load: load, cost: exact.NewColumn(load.Cost, load.Len()), fair: make([]float64, len(o.Instances))}
	l.state = exact.NewColumn(load.State, load.Len())
	sum := 0.0
	for _, x := range o.Instances {
		sum += x.Capacity
	}
	for i, x := range o.Instances {
		l.fair[i] = x.Capacity / sum
	}
	return l
}

// leastTheta is the θ that the costliest key forces on every scheme that keeps it
// whole.
func (l *ledger) leastTheta() float64 {
	share, widest := l.p1(), 0.0
	for _, fair := range l.fair {
		widest = max(widest, fair)
	}
	return max(0, share/widest-1)
}

// p1 is the share of the costliest key.
func (l *ledger) p1() float64 {
	greatest := int64(0)
	for _, c := range l.cost.Of {
		greatest = max(greatest, c)
	}
	return ratio(greatest, l.cost.Total)
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// judge fills in θ, the imbalance and the verdict for loads in any unit.
func (l *ledger) judge(f *Figures, loads []int64) {
	total, greatest := int64(0), int64(0)
	for _, x := range loads {
		total += x
		greatest = max(greatest, x)
	}
	f.Theta, f.Balanced = 0, true
	for i, x := range loads {
		share := ratio(x, total)
		f.Theta = max(f.Theta, share/l.fair[i]-1)
		if most := (1 + l.o.ThetaMax) * l.fair[i]; share > most*(1+exact.Tolerance) {
			f.Balanced = false
		}
	}
	f.Imbalance = 0
	if total > 0 {
		f.Imbalance = max(0, ratio(greatest, total)-1/float64(len(loads)))
	}
}

// measure judges a scheme that puts every key on one instance, by index.
func (l *ledger) measure(s Scheme, place []int32) Figures {
	f := Figures{Scheme: s, Whole: true, WithinLimit: true, Pairs: int64(len(place))}
	loads := make([]int64, len(l.o.Instances))
	moved := int64(0)
	for k, at := range place {
		loads[at] += l.cost.Of[k]
		if at != l.base[k] {
			f.KeysMoved++
			moved += l.state.Of[k]
		}
	}
	l.judge(&f, loads)
	f.State, f.Fraction = l.state.Float(moved), ratio(moved, l.state.Total)
	return f
}

// hash returns where a function puts every key.
func (l *ledger) hash(h planner.HashFunction) ([]int32, error) {
	index := make(map[int32]int32, len(l.o.Instances))
	for i, x := range l.o.Instances {
		index[x.ID] = int32(i)
	}
	place := make([]int32, l.load.Keys.Len())
	for k := range place {
		id, err := h.Instance(l.load.Keys.At(k), l.load.Keys.Hash(k))
		if err != nil {
			return nil, err
		}
		place[k] = index[id]
	}
	return place, nil
}
