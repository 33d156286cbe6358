package bound

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/relaxation"
)

// Proof is what the relaxation tells about a problem.
type Proof struct {
	Relaxation *relaxation.Relaxation
	Level      Level
	Divided    bool              // a branch and bound went over it
	prices     *knownPrices      // nil: none did
	Bound      float64           // scaled; a lower bound on the objective of every plan that meets all constraints
	Y          relaxation.Prices // the best known
	root       float64           // scaled; the bound under them
	infeasible bool

	Entries  float64             // no plan has fewer; 0 where that was not looked at
	integral bool                // every objective is a whole number
	Whole    *covering.WholeKeys // of the greatest cost; nil where whole keys were not looked at
	// Starts are worth to be made plans of, the most promising first.
	Starts []*covering.WholeKeys
}

// Level says how much work goes into a proof.
type Level uint8

// The levels: a fast certificate, what plans of effort fast rest on, and a tight certificate.
const (
	Quick Level = iota
	Planned
	Tight
)

// Evidence is what a strategy proved on its way.
type Evidence struct {
	Proof      *Proof         // of the bound on the migration; nil: none was tried
	LeastTheta float64        // no plan within the limits has a smaller θ
	Resources  *ResourceProof // of the bound on the migration, of several resources; nil: none was tried
}

// Infeasible reports whether no plan meets all constraints.
func (f *Proof) Infeasible() bool { return f.infeasible }

// Prove bounds the objective as well as the level allows.
func Prove(p *assign.Problem, level Level) *Proof {
	p, _ = p.Busy()
	f := NewProof(p, level)
	if level > Quick || p.Items.Len() <= quickWhole {
		f.DemandWhole()
	}
	return f
}

// quickWhole is up to how many items a fast certificate of a plan that does not rest on a
// proof looks at whole keys.
const quickWhole = 20_000

// NewProof finds good prices and evaluates them over all items.
func NewProof(p *assign.Problem, level Level) *Proof {
	x := relaxation.New(p)
	f := &Proof{Relaxation: x, Level: level, integral: wholeWeights(p)}
	f.Y, f.root = x.Maximize()
	if f.Bound = f.root; f.root > x.Surely() {
		f.disprove()
	}
	return f
}

// DemandWhole raises the bound by what whole keys cost that leave overloaded
// instances.
func (f *Proof) DemandWhole() {
	x := f.Relaxation
	if f.Whole != nil || f.Infeasible() || x.Problem.Stopped() {
		return
	}
	if x.Limited && f.Y.Table > 0 {
		if f.Entries = leastEntries(x.Problem, f.Level); f.Entries > float64(*x.Problem.Goal.TableLimit) {
			f.disprove()
			return
		}
	}
	o := covering.New(x, &relaxation.Prices{Load: make([]float64, len(x.Excess)), Table: f.Y.Table}, f.workOfPrice())
	if o == nil {
		f.disprove()
		return
	}
	first := o.WholeKeys()
	f.keep(first)
	lean := f.priceEntries()
	f.Starts = []*covering.WholeKeys{f.Whole}
	if lean == nil {
		lean = first
	}
	if lean != f.Whole {
		f.Starts = append(f.Starts, lean)
	}
	if f.Whole.Value > x.Surely() {
		f.disprove()
		return
	}
	f.Bound = max(f.Bound, f.Whole.Value)
}

// disprove notes that no plan meets all constraints.
func (f *Proof) disprove() { f.infeasible, f.Bound = true, 0 }

// wholeWork is how much the search for whole keys may look at; see [covering.Relaxation].
func (f *Proof) wholeWork() int {
	items := f.Relaxation.Problem.Items.Len()
	switch f.Level {
	case Quick:
		return max(items, min(50_000+30*items, plannedWork/(items+1)))
	case Planned:
		return max(items, min(1_000_000+600*items, plannedWork/(items+1)))
	}
	return max(items, min(1_000_000+600*items, 20_000_000, tightWork/(items+1)))
}

// workOfPrice is how much the search may look at under a price of an entry that need not be the best.
func (f *Proof) workOfPrice() int {
	if f.Relaxation.Limited {
		return max(f.Relaxation.Problem.Items.Len(), f.wholeWork()/entryPricePart)
	}
	return f.wholeWork()
}

// They bound the work, times items, at the levels: each search looks at all of them.
const plannedWork, tightWork = 100_000_000_000, 1_000_000_000_000

// Tightened is a proof of the level that is asked for, which rests on one that
// exists, if any does.
func Tightened(p *assign.Problem, f *Proof, level Level) *Proof {
	if f == nil {
		return Prove(p, level)
	}
	if level <= f.Level || f.Infeasible() {
		return f
	}
	return Prove(p, level).Or(f)
}

// Or is the proof with what another one of the same problem shows.
func (f *Proof) Or(g *Proof) *Proof {
	if g.Infeasible() && !f.Infeasible() {
		return g
	}
	if !f.Infeasible() {
		f.Bound = max(f.Bound, g.Bound)
	}
	if f.prices == nil {
		f.prices = g.prices
	}
	return f
}

// Meter makes what is proven from now on count on a meter of its own.
func (f *Proof) Meter(m *assign.Meter) {
	q := *f.Relaxation.Problem
	q.Meter = m
	f.Relaxation.Problem = &q
}

// LowerBound is in units of the objective.
func (f *Proof) LowerBound() float64 {
	b := max(0, f.Bound/f.Relaxation.UnitWeight)
	if b < 1<<53 && f.integral {
		return math.Ceil(b)
	}
	return b
}

// wholeWeights reports whether every objective is a whole number.
func wholeWeights(p *assign.Problem) bool {
	if p.Goal.KeyOverhead != math.Trunc(p.Goal.KeyOverhead) {
		return false
	}
	return !slices.ContainsFunc(p.Items.State, func(v float64) bool { return v != math.Trunc(v) })
}

// closeFill is a gap, relative to the objective, that is not worth an ascent.
const closeFill = 1e-4

// ProveFill is a proof that rests on f, nil if there is nothing to shed, and on lower bounds
// on loads. reached is the objective of a plan that meets all.
func ProveFill(p *assign.Problem, f *Proof, reached float64) *Proof {
	if f == nil {
		f = &Proof{Relaxation: relaxation.New(p), integral: wholeWeights(p)}
		f.Y.Load = make([]float64, len(p.Before))
	}
	if !f.Infeasible() && f.LowerBound() < reached*(1-closeFill) && !f.Relaxation.Filled() {
		f.Bound = max(f.Bound, f.Relaxation.MaximizeFill(f.Y))
	}
	return f
}

// ray scales prices until the weights hardly count beside them.
const ray = 1 << 20

// LeastTable returns, for a problem that is infeasible, a number of entries that no plan
// stays below which keeps to the load limits; +∞ if none keeps to them. Every plan's
// objective, at most that of moving everything, is at least g − λ·(entries above the
// limit).
func (f *Proof) LeastTable() float64 {
	x, p := f.Relaxation, f.Relaxation.Problem
	limit := float64(*p.Goal.TableLimit)
	if f.Entries == 0 {
		f.Entries = leastEntries(p, f.Level)
	}
	least := max(limit+1, f.Entries)
	y := f.dear()
	if over := x.Evaluate(y) - x.Surely(); over > 0 && y.Table > 0 && !math.IsInf(over, 1) {
		least = max(least, math.Ceil(limit+float64(over/y.Table*(1-1e-9))))
	}
	if least > float64(p.Retained+p.Named()) {
		return math.Inf(1)
	}
	return least
}

// LeastTheta returns, for a problem that is infeasible and in which no key is hot, a θ
// that no plan stays below which keeps to the table limit. Every plan's objective is at
// least g − Σ u_d·(load above the limit) where no key is barred.
func (f *Proof) LeastTheta() float64 {
	x, p := f.Relaxation, f.Relaxation.Problem
	y, priced, rounded := f.dear(), 0.0, 0.0
	for d, u := range y.Load {
		priced += float64(u * (x.UnitCost * p.Fair[d]))
		rounded += float64(u * (x.UnitCost * float64(max(0, p.Maximum[d]-p.Limit[d]))))
	}
	over := x.WithRoom().Evaluate(y) - x.Surely() - float64(rounded*(1+1e-9))
	if over > 0 && priced > 0 && !math.IsInf(over, 1) {
		return p.Goal.ThetaMax + float64(over/priced*(1-1e-9))
	}
	return p.Goal.ThetaMax
}

// dear are the best prices, so high that weights hardly count beside them.
func (f *Proof) dear() *relaxation.Prices {
	y := f.Y.Times(ray)
	y.Table *= ray
	return y
}
