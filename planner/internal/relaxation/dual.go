package relaxation

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
)

// Prices are the multipliers of the Lagrangian relaxation: what it costs to put
// load on an instance and to hold a table entry. All ≥ 0. They are scaled like
// the relaxation that they belong to.
type Prices struct {
	Load  []float64 // u_d, per unit of scaled cost, parallel to Snapshot.Instances
	Table float64   // λ, per entry; 0 without a table limit
	// ByResource are, of several resources, those of each, by resource and instance, per fixed-point unit.
	ByResource [][]float64
}

// Clone is a copy that can be changed.
func (y *Prices) Clone() Prices {
	z := Prices{Load: slices.Clone(y.Load), Table: y.Table}
	for _, price := range y.ByResource {
		z.ByResource = append(z.ByResource, slices.Clone(price))
	}
	return z
}

// Mean is that of the prices of load that are not 0; else 0.
func (y *Prices) Mean() float64 {
	sum, n := 0.0, 0.0
	for _, u := range y.Load {
		if u > 0 {
			sum, n = sum+u, n+1
		}
	}
	return sum / max(n, 1)
}

// Times is y with load so much dearer.
func (y *Prices) Times(factor float64) *Prices {
	dear := y.Clone()
	for d := range dear.Load {
		dear.Load[d] *= factor
	}
	return &dear
}

// dual maximises g(u,λ) over the choices of a core. First each overloaded
// instance gets its critical ratio, as in a fractional knapsack, and λ grows
// until the table fits; then Newton's method climbs from there. g is concave and
// piecewise linear: it is smoothed, less and less, by letting keys whose options
// cost about the same divide themselves between them.
type dual struct {
	*Relaxation
	core []Choice
	y    Prices
	// best are the best prices so far, by the unsmoothed value over the core.
	best      Prices
	bestValue float64

	receivers CheapestReceiver
	slope     Prices // the gradient, as are steps
	step      Prices
	width     float64 // of the smoothing, relative to prices
	loadUnit  float64 // a typical price of load
	split     []straddling
}

// straddling is a key whose options cost about the same: it curves the smoothed g.
type straddling struct {
	cost, units, inverse float64 // inverse of the smoothing, in units of the objective
	at                   [3]int32
	entry                [3]float64
	n                    int
}

// newDual prepares the ascent over a core.
func newDual(x *Relaxation, core []Choice) *dual {
	n := len(x.Excess)
	return &dual{
		Relaxation: x, core: core,
		y:     Prices{Load: make([]float64, n)},
		slope: Prices{Load: make([]float64, n)}, step: Prices{Load: make([]float64, n)},
		receivers: newCheapestReceiver(x),
		bestValue: math.Inf(-1),
	}
}

const (
	tableRaises = 32 // of λ: more would price a table entry above all there is
	sweeps      = 2  // over the instances, for one λ
)

// start finds prices to begin with.
func (d *dual) start() {
	d.knapsacks()
	if !d.Limited || d.entriesOver() <= 0 {
		return
	}
	lo, hi := 0.0, d.leastWeight()
	for range tableRaises {
		d.y.Table = hi
		d.knapsacks()
		if d.entriesOver() <= 0 || math.IsInf(d.value(), 1) {
			break
		}
		lo, hi = hi, 4*hi
	}
	for range 4 {
		mid := (lo + hi) / 2
		d.y.Table = mid
		d.knapsacks()
		if d.entriesOver() <= 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	d.y.Table = (lo + hi) / 2
	d.knapsacks()
}

// resume begins with given prices instead.
func (d *dual) resume(y *Prices) {
	d.y = y.Clone()
	d.note(d.value())
	d.knapsacks()
	if d.Limited && d.y.Table == 0 && d.entriesOver() > 0 {
		d.start()
	}
}

// leastWeight is a small weight among those of the core, to begin λ with.
func (d *dual) leastWeight() float64 {
	least, sum := math.Inf(1), 0.0
	for i := range d.core {
		if w := d.core[i].Weight; w > 0 {
			least = min(least, w)
		}
		sum += d.core[i].Weight
	}
	if sum == 0 {
		return 1e-6
	}
	return max(least, 1e-4*sum/float64(len(d.core)))
}

// knapsacks prices each instance so that as much leaves it as has to, given what
// the prices of the others bring along.
func (d *dual) knapsacks() {
	groups := make([][]knapsack.Ratioed, len(d.Excess))
	need := make([]float64, len(d.Excess))
	for range sweeps {
		d.setCheapestReceivers(&d.receivers, &d.y)
		copy(need, d.Excess)
		for i := range groups {
			groups[i] = groups[i][:0]
		}
		for i := range d.core {
			k := &d.core[i]
			o, _ := k.Best(&d.y, d.receivers)
			if o == GoHome && (d.Excess[k.Home] > 0 || d.y.Load[k.Home] > 0) {
				need[k.Home] += float64(k.Cost * k.Units)
			}
			switch {
			case !d.Problem.IsLive[k.From]:
			case k.MustLeave:
				need[k.From] -= float64(k.Cost * k.Units)
			case k.Cost > 0:
				_, home, away := k.Costs(&d.y, d.receivers)
				v := max(0, min(home, away)+float64(d.y.Load[k.From]*k.Cost))
				cost := int64(k.Cost * k.Units / d.UnitCost)
				groups[k.From] = append(groups[k.From], knapsack.Ratioed{Ratio: v / k.Cost, Cost: cost})
			}
		}
		for i, g := range groups {
			if need[i] <= 0 {
				d.y.Load[i] = 0
				continue
			}
			d.y.Load[i] = min(knapsack.CriticalRatio(g, int64(math.Ceil(need[i]/d.UnitCost))), 0x1p80)
		}
	}
}

// entriesOver is by how much the table exceeds its limit if each key takes its
// best option.
func (d *dual) entriesOver() float64 {
	d.setCheapestReceivers(&d.receivers, &d.y)
	over := d.TableExcess
	for i := range d.core {
		k := &d.core[i]
		switch o, _ := k.Best(&d.y, d.receivers); {
		case o == GoHome && k.HasEntry:
			over -= k.Units
		case o == GoToCheapest && !k.HasEntry:
			over += k.Units
		}
	}
	return over
}

// value is g over the core, unsmoothed.
func (d *dual) value() float64 {
	d.setCheapestReceivers(&d.receivers, &d.y)
	base := d.Base(&d.y)
	total := base.total()
	for i := range d.core {
		k := &d.core[i]
		if o, v := k.Best(&d.y, d.receivers); o != Stay {
			total += float64(k.Units * v)
		}
	}
	return total
}

// note keeps the prices if they are the best so far.
func (d *dual) note(value float64) {
	if value > d.bestValue {
		d.bestValue = value
		d.best = d.y.Clone()
	}
}

const (
	widest      = 0.1
	narrowest   = 1e-4
	narrower    = 0.25
	newtonSteps = 5 // steps of Newton's method per width
)

// maximize is the ascent.
func (d *dual) maximize() {
	d.note(d.value())
	if d.loadUnit = d.y.Mean(); d.loadUnit == 0 && d.y.Table == 0 {
		return
	}
	if d.y.Table == 0 && !d.barred() {
		return // nothing couples the instances: their knapsacks are the optimum
	}
	for d.width = widest; d.width > narrowest; d.width *= narrower {
		value := d.smoothed()
		for range newtonSteps {
			if d.bestValue > d.Everything {
				return
			}
			next, ok := d.newton(value)
			if !ok {
				break
			}
			gain := next - value
			value = next
			if gain <= float64(1e-6*math.Abs(value))+1e-300 {
				break
			}
		}
	}
}

// barred reports whether some key of the core cannot go everywhere.
func (d *dual) barred() bool {
	if d.Problem.Items.Rules != nil {
		return true
	}
	return slices.ContainsFunc(d.core, func(k Choice) bool { return int(k.Fitting) < len(d.byRoom) })
}

// smoothed returns the smoothed value at y and sets slope and split; it notes
// the unsmoothed one.
func (d *dual) smoothed() float64 {
	d.setCheapestReceivers(&d.receivers, &d.y)
	base := d.Base(&d.y)
	value := base.total()
	unsmoothed := value
	copy(d.slope.Load, d.Excess)
	d.slope.Table = d.TableExcess
	d.split = d.split[:0]
	for i := range d.core {
		k := &d.core[i]
		stays, home, away := k.Costs(&d.y, d.receivers)
		if stays < home && stays < away && min(home, away) >= 2*d.spread(k) {
			continue
		}
		least := min(stays, home, away)
		if math.IsInf(least, 1) {
			continue
		}
		unsmoothed += float64(k.Units * least)
		value += float64(k.Units * d.divide(k, stays, home, away))
	}
	d.pool()
	d.note(unsmoothed)
	return value
}

// spread is the smoothing of a key, in units of the objective.
func (d *dual) spread(k *Choice) float64 {
	return float64(d.width * (float64(k.Cost*d.loadUnit) + d.y.Table))
}

// divide returns the smoothed least cost of a key's options, as a mixture of
// them, min Σ x·r + e/2·(Σ x² − 1), and adds its share to the slope.
func (d *dual) divide(k *Choice, stays, home, away float64) float64 {
	type end struct {
		cost, entry float64
		at          int32
	}
	var ends [3]end
	n := 0
	put := func(e end) {
		i := n
		for ; i > 0 && ends[i-1].cost > e.cost; i-- {
			ends[i] = ends[i-1]
		}
		ends[i] = e
		n++
	}
	if !k.MustLeave {
		put(end{stays, Indicator(k.HasEntry), k.From})
	}
	if k.Home >= 0 {
		put(end{home, 0, k.Home})
	}
	if _, to := d.receivers.of(k); to != assign.None && (k.Home < 0 || home > away) {
		put(end{away, 1, to})
	}
	e := d.spread(k)
	// The first so many share: nu is the price at which their shares sum to 1.
	shares, nu := 1, ends[0].cost+e
	for shares < n && ends[shares].cost < nu {
		shares++
		nu = e
		for _, x := range ends[:shares] {
			nu += x.cost
		}
		nu /= float64(shares)
	}
	now := Indicator(k.HasEntry)
	value, squares := 0.0, 0.0
	if d.Problem.IsLive[k.From] {
		d.slope.Load[k.From] -= float64(k.Cost * k.Units)
	}
	d.slope.Table -= float64(now * k.Units)
	for _, x := range ends[:shares] {
		share := 1.0
		if shares > 1 {
			share = (nu - x.cost) / e
		}
		value += float64(share * x.cost)
		squares += float64(share * share)
		d.slope.Load[x.at] += float64(share * k.Cost * k.Units)
		d.slope.Table += float64(share * x.entry * k.Units)
	}
	if shares > 1 {
		s := straddling{cost: k.Cost, units: k.Units, inverse: 1 / e, n: shares}
		for i, x := range ends[:shares] {
			s.at[i], s.entry[i] = x.at, x.entry
		}
		d.split = append(d.split, s)
	}
	return value + float64(e/2*(squares-1))
}

// Indicator is 1 for true and 0 for false.
func Indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// pool spreads what went to the first of the instances without price
// over all of them: any division among them is a supergradient.
func (d *dual) pool() {
	if d.Problem.Items.Rules == nil {
		d.poolOf(d.receivers.instance[len(d.receivers.instance)-1], nil)
		return
	}
	for class, open := range d.Problem.Items.Rules.Open {
		if first := d.receivers.instance[(class+1)*d.receivers.fits-1]; first != assign.None {
			d.poolOf(first, open)
		}
	}
}

// poolOf is pool of the instances that are open to a class, of which first is the cheapest; nil:
// all are.
func (d *dual) poolOf(first int32, open []bool) {
	surplus, room := 0.0, 0.0
	for _, i := range d.byRoom {
		if d.y.Load[i] > 0 || open != nil && !open[i] {
			continue
		}
		if s := d.slope.Load[i]; s > 0 {
			surplus += s
		} else {
			room -= s
		}
	}
	s := d.slope.Load[first]
	if d.y.Load[first] > 0 || s <= 0 || room == 0 {
		return
	}
	spill := min(s, room)
	d.slope.Load[first] -= spill
	for _, i := range d.byRoom {
		if d.y.Load[i] == 0 && d.slope.Load[i] < 0 && (open == nil || open[i]) {
			d.slope.Load[i] *= 1 - spill/room
		}
	}
}

// newton takes one step uphill, from where slope and split stand. It reports
// false when there is none.
func (d *dual) newton(value float64) (float64, bool) {
	n := len(d.Excess)
	free := make([]bool, n+1)
	for _, i := range d.Problem.Live {
		free[i] = d.y.Load[i] > 0 || d.slope.Load[i] > 0
	}
	free[n] = d.Limited && (d.y.Table > 0 || d.slope.Table > 0)
	if !slices.Contains(free, true) {
		return value, false
	}
	d.conjugate(free)
	from := d.y.Clone()
	slope := d.slope.Clone()
	for length := 1.0; length > 1e-3; length /= 3 {
		least := math.Inf(1)
		for _, i := range d.Problem.Live {
			d.y.Load[i] = max(0, from.Load[i]+float64(length*d.step.Load[i]))
			least = min(least, d.y.Load[i])
		}
		if least > 0 {
			for _, i := range d.Problem.Live {
				d.y.Load[i] -= least
			}
		}
		d.y.Table = max(0, from.Table+float64(length*d.step.Table))
		if next := d.smoothed(); next > value {
			return next, true
		}
	}
	d.y = from
	d.slope = slope
	d.smoothed()
	return value, false
}

// conjugate solves −H·step = slope over the free prices by conjugate gradients,
// H the curvature of the smoothed g. Vectors have a component for each instance,
// and one for the table at the end.
func (d *dual) conjugate(free []bool) {
	n := len(free)
	residual, step := append(slices.Clone(d.slope.Load), d.slope.Table), make([]float64, n)
	direction, product, diagonal := make([]float64, n), make([]float64, n), d.diagonal()
	norm := 0.0
	for i := range residual {
		if !free[i] {
			residual[i] = 0
		}
		direction[i] = residual[i] / diagonal[i]
		norm += float64(residual[i] * direction[i])
	}
	for first, turn := norm, 0; norm > 1e-8*first && turn < 3*n+10; turn++ {
		d.hessianProduct(direction, product, diagonal)
		along := 0.0
		for i := range product {
			if !free[i] {
				product[i] = 0
			}
			along += float64(direction[i] * product[i])
		}
		if along <= 0 {
			break
		}
		next := 0.0
		for i := range product {
			step[i] += float64(norm / along * direction[i])
			residual[i] -= float64(norm / along * product[i])
			next += residual[i] * residual[i] / diagonal[i]
		}
		for i := range direction {
			direction[i] = residual[i]/diagonal[i] + float64(next/norm*direction[i])
		}
		norm = next
	}
	copy(d.step.Load, step)
	d.step.Table = step[n-1]
	d.bounded()
}

const ridge = 1e-6 // curvature added, relative to the diagonal

// diagonal is the diagonal of −H. Where nothing is divided, it lets a step about
// double the price.
func (d *dual) diagonal() []float64 {
	n := len(d.Excess)
	diagonal := make([]float64, n+1)
	for i := range d.split {
		s := &d.split[i]
		h := s.units * s.inverse * (1 - 1/float64(s.n))
		for j := range s.n {
			diagonal[s.at[j]] += float64(h * s.cost * s.cost)
			diagonal[n] += float64(h * s.entry[j] * s.entry[j])
		}
	}
	for i, slope := range d.slope.Load {
		if slope != 0 { // also where no load has a price
			diagonal[i] = max(diagonal[i], math.Abs(slope)/(math.Abs(d.y.Load[i])+d.loadUnit))
		}
		diagonal[i] = float64(diagonal[i]*(1+ridge)) + 1e-300
	}
	table := d.y.Table + float64(1e-3*d.leastTable())
	diagonal[n] = float64(max(diagonal[n], math.Abs(d.slope.Table)/table)*(1+ridge)) + 1e-300
	return diagonal
}

// hessianProduct sets product to −H·direction, with a little more curvature.
func (d *dual) hessianProduct(direction, product, diagonal []float64) {
	table := len(direction) - 1
	for i := range product {
		product[i] = ridge * diagonal[i] * direction[i]
	}
	for i := range d.split {
		s := &d.split[i]
		var z [3]float64
		mean := 0.0
		for j := range s.n {
			z[j] = float64(s.cost*direction[s.at[j]]) + float64(s.entry[j]*direction[table])
			mean += z[j] / float64(s.n)
		}
		for j := range s.n {
			v := s.units * s.inverse * (z[j] - mean)
			product[s.at[j]] += float64(v * s.cost)
			product[table] += float64(v * s.entry[j])
		}
	}
}

// bounded keeps a step from more than doubling, or making up, any price.
func (d *dual) bounded() {
	scale := 1.0
	for i, v := range d.step.Load {
		if reach := math.Abs(d.y.Load[i]) + d.loadUnit; math.Abs(v) > reach {
			scale = min(scale, reach/math.Abs(v))
		}
	}
	if reach := d.y.Table + d.leastTable(); math.Abs(d.step.Table) > reach {
		scale = min(scale, reach/math.Abs(d.step.Table))
	}
	for i := range d.step.Load {
		d.step.Load[i] *= scale
	}
	d.step.Table *= scale
}

func (d *dual) leastTable() float64 {
	if len(d.core) == 0 {
		return 1
	}
	return d.Everything / float64(d.Problem.Items.Len()+1)
}
