package relaxation

import (
	"cmp"
	"math"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// MaximizeFill starts at prices without lower bounds on loads, and returns a bound with them. With
// v_d ≥ 0 for what instance d lacks of its least load,
//
//	g(u,v,λ) = Σ_k min_d [weight·1(d≠F(k)) + (u_d−v_d)·c(k) + λ·1(d≠h(k))]
//	           − Σ_d u_d·(b_d−background_d) + Σ_d v_d·(a_d−background_d) − λ·(A_max−A_fixed)
//
// is a lower bound on the scaled objective for all prices. As a_d ≤ b_d, one of u_d and v_d is 0, so that
// a price of load below 0 stands for −v_d.
func (x *Relaxation) MaximizeFill(y Prices) float64 {
	d := newFillDual(x, y)
	d.climb()
	return x.evaluateFill(&d.best)
}

// Filled reports whether no instance lacks load if nothing but hot keys moves.
func (x *Relaxation) Filled() bool { return x.Problem.Fill.Reached(x.Load) }

// fillDual raises g over the items that are likely to move, as [dual] does without lower
// bounds. The instances that lack load have one price: mostly their keys could as well be
// those of another of them.
type fillDual struct {
	*dual
	lacking []int32
	lacks   []bool    // by instance
	under   []float64 // by instance: load above the least, scaled, if nothing but hot keys moves
	looks   int       // at choices
}

// newFillDual starts with the prices of a proof, and for what is lacking with the weight per
// cost of the last key that fills it.
func newFillDual(x *Relaxation, y Prices) *fillDual {
	d := &fillDual{lacks: make([]bool, len(x.Load)), under: make([]float64, len(x.Load))}
	start, price := y.Clone(), fillPrice(x)
	wide := y.Times(afar)
	for e, least := range x.Problem.Fill.Least {
		d.under[e] = x.UnitCost * float64(x.Load[e]-least)
		if x.Load[e] < least {
			d.lacking, d.lacks[e] = append(d.lacking, int32(e)), true
			start.Load[e], wide.Load[e] = -price, -afar*price
		}
	}
	m := x.CheapestReceivers(wide)
	core := assign.Collect(x.Problem.Items.Len(), func(from, to int) (core []Choice) {
		for i := from; i < to; i++ {
			if x.Problem.IsHot(i) {
				continue
			}
			k := x.ChoiceOf(i)
			if option, _ := k.Best(wide, m); option != Stay || k.MustLeave {
				core = append(core, k)
			}
		}
		return core
	})
	d.dual = newDual(x, x.InOrder(core))
	d.y = start
	return d
}

// afar is how far prices are expected to stay from where they start.
const afar = 4

// fillPrice is the weight per cost, both scaled, of the last key that it takes to give all
// instances what they lack, if the keys of least weight per cost go there.
func fillPrice(x *Relaxation) float64 {
	p, need := x.Problem, int64(0)
	for d, least := range p.Fill.Least {
		need += max(0, least-x.Load[d])
	}
	type offer struct {
		rate float64
		item int32
	}
	offers := assign.Collect(p.Items.Len(), func(from, to int) (offers []offer) {
		for i := from; i < to; i++ {
			k := x.ChoiceOf(i)
			if k.Cost > 0 && !p.IsHot(i) && x.Load[k.From] >= p.Fill.Least[k.From] {
				offers = append(offers, offer{k.Weight / k.Cost, k.Item})
			}
		}
		return offers
	})
	at, _ := exact.SelectSum(offers, need, func(y offer) int64 {
		return p.Cost.Fixed(p.Items.Cost[y.item]) * p.Items.UnitsOf(int(y.item))
	}, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.rate, b.rate), p.Items.Compare(a.item, b.item))
	})
	switch {
	case len(offers) == 0:
		return 0
	case at == len(offers):
		at--
	}
	return offers[at].rate
}

// fillWork bounds how many choices the ascent looks at, about.
const fillWork = 5_000_000

// climb is the ascent, over narrower and narrower smoothings.
func (d *fillDual) climb() {
	d.best = d.y.Clone()
	sum, n := 0.0, 0.0
	for _, u := range d.y.Load {
		if u != 0 {
			sum, n = sum+math.Abs(u), n+1
		}
	}
	if d.loadUnit = sum / max(n, 1); d.loadUnit == 0 {
		return // keys without weight are enough
	}
	for d.width = widest; d.width > narrowest; d.width *= narrower {
		value := d.smoothed()
		for range newtonSteps {
			next, ok := d.newton(value)
			if !ok || d.looks > fillWork || d.Problem.Stopped() {
				break
			}
			gain := next - value
			value = next
			if gain <= float64(1e-6*math.Abs(value)) {
				break
			}
		}
	}
}

// smoothed returns the smoothed value at y and sets slope and split; it notes the
// unsmoothed one.
func (d *fillDual) smoothed() float64 {
	d.looks += len(d.core)
	d.setCheapestReceivers(&d.receivers, &d.y)
	base := d.baseFill(&d.y)
	value := base.total()
	unsmoothed := value
	clear(d.slope.Load)
	d.slope.Table = d.TableExcess
	d.split = d.split[:0]
	for i := range d.core {
		k := &d.core[i]
		stays, home, away := k.Costs(&d.y, d.receivers)
		least := min(stays, home, away)
		if stays < home && stays < away && min(home, away) >= 2*d.spread(k) || math.IsInf(least, 1) {
			continue
		}
		unsmoothed += float64(k.Units * least)
		value += float64(k.Units * d.divide(k, stays, home, away))
	}
	d.aim()
	d.note(unsmoothed)
	return value
}

// aim makes slopes of what comes to each instance. At a price of 0 either bound may be the
// one that counts, or none. Those that lack load have theirs at the first of them.
func (d *fillDual) aim() {
	first := d.lacking[0]
	together := 0.0
	for _, e := range d.Problem.Live {
		u, comes := d.y.Load[e], d.slope.Load[e]
		over, under := comes+d.Excess[e], comes+d.under[e]
		switch {
		case d.lacks[e]:
			together += under
			d.slope.Load[e] = 0
		case u > 0 || u == 0 && over > 0:
			d.slope.Load[e] = over
		case u < 0 || under < 0:
			d.slope.Load[e] = under
		default:
			d.slope.Load[e] = 0
		}
	}
	d.slope.Load[first] = together
	for i := range d.split {
		for j, e := range d.split[i].at {
			if d.lacks[e] {
				d.split[i].at[j] = first
			}
		}
	}
}

// newton takes one step uphill, from where slope and split stand. It reports false when
// there is none.
func (d *fillDual) newton(value float64) (float64, bool) {
	n := len(d.Excess)
	free := make([]bool, n+1)
	for e, slope := range d.slope.Load {
		free[e] = slope != 0 && (!d.lacks[e] || int32(e) == d.lacking[0])
	}
	free[n] = d.Limited && (d.y.Table > 0 || d.slope.Table > 0)
	d.conjugate(free)
	from, slope := d.y.Clone(), d.slope.Clone()
	for length := 1.0; length > 1e-3; length /= 3 {
		for e, was := range from.Load {
			if d.y.Load[e] = was + float64(length*d.step.Load[e]); was*d.y.Load[e] < 0 {
				d.y.Load[e] = 0 // the other bound has another slope
			}
		}
		for _, e := range d.lacking {
			d.y.Load[e] = min(0, d.y.Load[d.lacking[0]])
		}
		d.y.Table = max(0, from.Table+float64(length*d.step.Table))
		if next := d.smoothed(); next > value {
			return next, true
		}
	}
	d.y, d.slope = from, slope
	d.smoothed()
	return value, false
}

// baseFill is the part of g that no choice changes.
func (x *Relaxation) baseFill(y *Prices) Sum {
	s := x.Base(y)
	for _, e := range x.Problem.Live {
		if u := y.Load[e]; u < 0 {
			v := float64(u * float64(x.UnitCost*float64(x.Load[e]-x.Problem.Fill.Least[e])))
			s.Add(v, math.Abs(v))
		}
	}
	return s
}

// evaluateFill is g, less than which no plan comes to that meets all bounds on loads, both
// ways.
func (x *Relaxation) evaluateFill(y *Prices) float64 {
	p, m := x.Problem, x.CheapestReceivers(y)
	dearest, total := 0.0, x.baseFill(y)
	for _, u := range y.Load {
		dearest = max(dearest, math.Abs(u))
	}
	parts := make([]Sum, assign.MostParts)
	assign.InParts(p.Items.Len(), func(part, from, to int) {
		for i := from; i < to; i++ {
			if p.IsHot(i) {
				continue
			}
			k := x.ChoiceOf(i)
			stays, home, away := k.Costs(y, m)
			v, scale := min(home, away), k.Weight+float64(2*dearest*k.Cost)+y.Table
			switch {
			case stays > v && !math.IsInf(v, 1):
				parts[part].Add(k.Units*v, k.Units*(scale+math.Abs(v)))
			case v < float64(nearlyTied*scale): // rounding may have made it appear no gain
				parts[part].Add(0, k.Units*scale)
			}
		}
	})
	for i := range parts {
		total.Merge(&parts[i])
	}
	return total.Floor()
}
