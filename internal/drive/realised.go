package drive

import (
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// Effect is what one interval had, and what the plan that was made of it moves.
type Effect struct {
	// Theta is realised: of the loads that came, under the table of the plans before.
	Theta float64
	// Moved is the state that the plan moves, as a part of all state; Returned is what of
	// it goes back to an instance that it left lately.
	Moved, Returned float64
	Table           int64 // entries after that plan
}

// Realised are figures of the loads that came under the tables that were in effect.
type Realised struct {
	Intervals int `json:"intervals"`
	// Above is the part of the intervals in which some instance was above θ_max.
	Above float64 `json:"above"`
	// Median and P95 are of θ, Excess is the mean of what it was above θ_max.
	Median float64 `json:"theta_median"`
	P95    float64 `json:"theta_p95"`
	Excess float64 `json:"excess"`
	// Moved is M: the state that moved before these intervals, each time as a part of all
	// state. Returned is what of it went back to an instance that it had left lately.
	Moved    float64 `json:"moved"`
	Returned float64 `json:"returned"`
	// Plans counts those that moved anything, Table is the greatest size of the table.
	Plans int   `json:"plans"`
	Table int64 `json:"table"`
}

// RealisedOf are the figures of the intervals from one to another, and of what moved to get
// there from the interval before them on.
func RealisedOf(thetaMax float64, effects []Effect, from, to int) Realised {
	f := Realised{Intervals: to - from}
	if f.Intervals <= 0 {
		return Realised{}
	}
	var thetas []float64
	n := float64(f.Intervals)
	for _, e := range effects[from:to] {
		thetas = append(thetas, e.Theta)
		if Above(e.Theta, thetaMax) {
			f.Above += 1 / n
			f.Excess += (e.Theta - thetaMax) / n
		}
	}
	f.Median, f.P95 = SpreadOf(thetas).Median, Quantile(slices.Sorted(slices.Values(thetas)), 0.95)
	for _, e := range effects[max(0, from-1) : to-1] {
		f.Moved += e.Moved
		f.Returned += e.Returned
		f.Table = max(f.Table, e.Table)
		if e.Moved > 0 {
			f.Plans++
		}
	}
	return f
}

// Above reports whether a realised θ broke θ_max by more than rounding does.
func Above(theta, thetaMax float64) bool {
	return theta > thetaMax+float64(exact.Tolerance*(1+thetaMax))
}

// Quantile interpolates between sorted values, of which there is one at least. q is from
// 0 to 1.
func Quantile(sorted []float64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + float64((at-float64(i))*(sorted[next]-sorted[i]))
}

// shareOf is how much of a key's state a move moves: of a key that is split, a part of it.
func shareOf(s *planner.Snapshot, m planner.Move) float64 {
	if m.Reason != planner.ReasonGather {
		return 1
	}
	all := 1.0
	if s.State != nil {
		all = s.State[m.Item]
	}
	if all == 0 {
		return 0
	}
	return min(1, s.StateOf(m)/all)
}

// Departures remember which instances keys moved away from, and when. The zero value is
// empty.
type Departures struct {
	left  map[departure]int // in which interval
	plans int
}

type departure struct {
	key      string
	instance int32
}

// ReturnWindow is within how many intervals a key that returns has moved for nothing.
const ReturnWindow = 5

// Next begins another interval.
func (d *Departures) Next() { d.plans++ }

// Leave notes that a key moves away from an instance.
func (d *Departures) Leave(key []byte, instance int32) {
	if d.left == nil {
		d.left = map[departure]int{}
	}
	d.left[departure{string(key), instance}] = d.plans
}

// Returns reports whether a key left an instance lately.
func (d *Departures) Returns(key []byte, instance int32) bool {
	at, ok := d.left[departure{string(key), instance}]
	return ok && d.plans-at <= ReturnWindow
}

// Add takes in the plan of the next interval, and returns what it moves, and what of that
// goes back to an instance that it left lately, each as a part of all state. State is as
// whole tells it, whose rows are those that were planned on, then those of absent keys. Nil:
// as the plan does, which knows of no absent keys. Classes of keys have no names.
func (d *Departures) Add(step *Step, whole *planner.Statistics) (moved, returned float64) {
	d.Next()
	p := step.Plan
	count := func(key []byte, from, to int32, state float64) {
		moved += state
		if d.Returns(key, to) {
			returned += state
		}
		d.Leave(key, from)
	}
	for _, m := range p.Moves {
		switch {
		case p.Snapshot.Count != nil:
			moved++
		case whole == nil:
			count(p.Snapshot.Keys.At(int(m.Item)), m.From, m.To, p.Snapshot.StateOf(m))
		case int(m.Item) < whole.Len():
			count(p.Snapshot.Keys.At(int(m.Item)), m.From, m.To, float64(whole.State[m.Item]*shareOf(p.Snapshot, m)))
		}
	}
	if whole == nil {
		if moved > 0 {
			returned /= moved
		}
		return p.Migration.Fraction, p.Migration.Fraction * returned
	}
	if len(step.Dropped) > 0 {
		state := map[string]float64{}
		for row := p.Snapshot.Len(); row < whole.Len(); row++ {
			state[string(whole.Keys.At(row))] = whole.State[row]
		}
		for _, x := range step.Dropped {
			count(x.Key, x.From, x.To, state[string(x.Key)])
		}
	}
	if all := StateOf(whole); all > 0 {
		return moved / all, returned / all
	}
	return 0, 0
}
