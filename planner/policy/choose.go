package policy

import "slices"

// DefaultBalanceWorth says that a point of mean excess is worth a quarter of a percent of all state. A plan that
// moves one percent is worth it where it takes four points off for one interval, or one for four.
const DefaultBalanceWorth = 0.0025

// Price is what moving all state costs, in θ: the mean excess over θ_max that an interval would
// rather have. worth is how much moved state, as a part of all, a point (0.01) of mean excess is
// worth in each interval; 0: [DefaultBalanceWorth].
func Price(worth float64) float64 {
	if worth == 0 {
		worth = DefaultBalanceWorth
	}
	return 0.01 / worth
}

const (
	// memory is the weight of an interval beside that of the next one.
	memory = 0.95
	// alike is the part by which costs have to differ for one to be taken for less.
	alike = 0.05
)

// Ledger tells what the policies of a family have cost so far, each run over all intervals as if it
// alone had been in effect: a plan changes no loads, so what any policy would have come to is known.
// Its zero value is empty.
type Ledger struct {
	// Weight is of how many intervals the means are. Older ones count less.
	Weight float64
	// Price is that of moving all state, see [Price].
	Price float64
	// Cost and Moved are the means of an interval by policy: of what it cost, in θ, and of the state
	// that moved, as a part of all.
	Cost, Moved []float64
}

// Clone returns a ledger that is added to by itself.
func (l *Ledger) Clone() Ledger {
	out := *l
	out.Cost, out.Moved = slices.Clone(l.Cost), slices.Clone(l.Moved)
	return out
}

// Add takes in an interval: by policy, the excess of θ over θ_max and the state that moved, as a part of all.
func (l *Ledger) Add(excess, moved []float64) {
	if l.Cost == nil {
		l.Cost, l.Moved = make([]float64, len(excess)), make([]float64, len(excess))
	}
	l.Weight = float64(memory*l.Weight) + 1
	for i := range excess {
		l.Cost[i] += (excess[i] + float64(l.Price*moved[i]) - l.Cost[i]) / l.Weight
		l.Moved[i] += (moved[i] - l.Moved[i]) / l.Weight
	}
}

// Choose returns the policy to plan by. It follows the leader
// (Cesa-Bianchi & Lugosi, Prediction, Learning, and Games, 2006) where that can be told: the policy
// held stays while none costs clearly less, since another one would have to move keys to its own
// places; without one, of those that cost as little as the least, the one that moves the least is
// chosen. held below 0: none is.
func (l *Ledger) Choose(held int) int {
	least := slices.Min(l.Cost)
	most := float64(least * (1 + alike))
	if held >= 0 && l.Cost[held] <= most {
		return held
	}
	chosen := slices.Index(l.Cost, least)
	for i, c := range l.Cost {
		if c <= most && l.Moved[i] < l.Moved[chosen] {
			chosen = i
		}
	}
	return chosen
}
