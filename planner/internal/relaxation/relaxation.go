package relaxation

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// Relaxation is the problem with its coupling constraints, the loads and the
// table limit, priced instead of demanded. What is left is one choice per key:
// stay, go home to the hash instance, or go to the cheapest instance on which
// the key fits. Costs and weights are scaled to at most 1.
type Relaxation struct {
	Problem    *assign.Problem
	UnitCost   float64 // fixed-point cost → scaled
	UnitWeight float64 // weight → scaled, a power of two

	Load        []int64   // by instance, in fixed point, if nothing but hot keys moves
	Excess      []float64 // by instance: load above the limit then; 0 when not live
	Room        []int64   // by instance: the costliest key that fits beside the background
	Least       int64     // the smallest room: what costs no more fits everywhere
	TableExcess float64   // entries above the table limit then
	Limited     bool      // there is a table limit
	Hot         float64   // weight of the hot keys that move
	Everything  float64   // weight of all keys: more than any plan costs

	byRoom []int32 // live instances by descending room
}

// Choice is a key, or the equal units of an item, with its options.
type Choice struct {
	Cost, Weight float64 // of one unit, scaled
	Units        float64 // of its item; more where it stands for others in a sample
	From, Home   int32   // Home is −1 when the key is there, it is not live, or the key does not fit
	Item         int32
	Fitting      int32 // on how many live instances it fits
	class        int32 // of eligibility; 0 without rules
	HasEntry     bool  // it has a table entry if it stays
	MustLeave    bool  // it may not stay
}

// Option is what becomes of a key.
type Option uint8

// The options: where a key goes.
const (
	Stay         Option = iota // where it is
	GoHome                     // to the hash instance
	GoToCheapest               // of the instances on which it fits
)

// New scales a problem.
func New(p *assign.Problem) *Relaxation {
	x := &Relaxation{
		Problem: p, UnitCost: math.Ldexp(1, -62), Limited: p.Goal.TableLimit != nil,
		Excess: make([]float64, len(p.Before)), Room: make([]int64, len(p.Before)),
	}
	x.UnitWeight = p.UnitWeight()
	x.Load = slices.Clone(p.Before)
	background, entries := slices.Clone(p.Residual), p.Entries
	for _, h := range p.Hot {
		cost := p.Cost.Fixed(p.Items.Cost[h.Item]) * h.Count
		from := p.Items.Current[h.Item]
		background[h.To] += cost
		if from == h.To {
			continue
		}
		x.Load[from] -= cost
		x.Load[h.To] += cost
		x.Hot += float64(x.UnitWeight * p.WeightBelow(h.Item) * float64(h.Count))
		if from != p.Items.Home[h.Item] {
			entries -= h.Count
		}
		if h.To != p.Items.Home[h.Item] {
			entries += h.Count
		}
	}
	for _, d := range p.Live {
		x.Excess[d] = x.UnitCost * float64(x.Load[d]-p.Limit[d])
		x.Room[d] = p.Limit[d] - background[d]
	}
	x.byRoom = slices.Clone(p.Live)
	slices.SortFunc(x.byRoom, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.Room[b], x.Room[a]), cmp.Compare(a, b))
	})
	x.Least = x.Room[x.byRoom[len(x.byRoom)-1]]
	if x.Limited {
		x.TableExcess = float64(entries - *p.Goal.TableLimit)
	}
	state := p.TotalState
	for _, d := range p.Instances {
		state -= p.State.Fixed(d.State)
	}
	x.Everything = x.UnitWeight * p.Objective(state, p.Named())
	return x
}

// ChoiceOf describes a key that is not hot.
func (x *Relaxation) ChoiceOf(item int) Choice {
	p := x.Problem
	cost := p.Cost.Fixed(p.Items.Cost[item])
	from, home := p.Items.Current[item], p.Items.Home[item]
	k := Choice{
		Cost: x.UnitCost * float64(cost), Weight: x.UnitWeight * p.WeightBelow(int32(item)),
		Units: float64(p.Items.UnitsOf(item)),
		From:  from, Home: home, Item: int32(item), Fitting: int32(len(x.byRoom)), HasEntry: from != home,
	}
	k.MustLeave = !p.IsLive[from]
	if cost > x.Least {
		k.Fitting = int32(x.fitting(cost))
		k.MustLeave = k.MustLeave || cost > x.Room[from]
	}
	if p.Items.Rules != nil {
		k.class = p.Items.Rules.Class[item]
	}
	if home == from || !p.IsLive[home] || cost > x.Least && cost > x.Room[home] {
		k.Home = -1
	}
	return k
}

// WithRoom is the relaxation in which all keys fit everywhere.
func (x *Relaxation) WithRoom() *Relaxation {
	free := *x
	free.Least = math.MaxInt64
	return &free
}

// Surely is what no plan's objective exceeds.
func (x *Relaxation) Surely() float64 { return float64(x.Everything * (1 + 1e-9)) }

// fitting counts the instances that have room for the cost.
func (x *Relaxation) fitting(cost int64) int {
	n, _ := slices.BinarySearchFunc(x.byRoom, cost, func(d int32, cost int64) int {
		if x.Room[d] >= cost {
			return -1
		}
		return 1
	})
	return n
}

// CheapestReceiver tells which instance takes a key at the least price: for a key of the first
// class that fits on the first n of byRoom it is instance[n-1], at price[n-1] per cost. The
// lists of the other classes follow. A price is +∞ where no instance is open to the class.
type CheapestReceiver struct {
	price    []float64
	instance []int32
	fits     int // the length of the list of a class
}

// of is the cheapest receiver of a key; +∞ if it has none.
func (m *CheapestReceiver) of(k *Choice) (price float64, d int32) {
	if k.Fitting == 0 {
		return math.Inf(1), assign.None
	}
	i := int(k.class)*m.fits + int(k.Fitting) - 1
	return m.price[i], m.instance[i]
}

// CheapestReceivers tells the cheapest receivers under given prices.
func (x *Relaxation) CheapestReceivers(y *Prices) CheapestReceiver {
	m := newCheapestReceiver(x)
	x.setCheapestReceivers(&m, y)
	return m
}

func newCheapestReceiver(x *Relaxation) CheapestReceiver {
	n, classes := len(x.byRoom), 1
	if rules := x.Problem.Items.Rules; rules != nil {
		classes = len(rules.Open)
	}
	return CheapestReceiver{make([]float64, classes*n), make([]int32, classes*n), n}
}

func (x *Relaxation) setCheapestReceivers(m *CheapestReceiver, y *Prices) {
	if rules := x.Problem.Items.Rules; rules != nil {
		for class, open := range rules.Open {
			m.set(class*m.fits, x.byRoom, open, y)
		}
		return
	}
	best := x.byRoom[0]
	for i, d := range x.byRoom {
		if y.Load[d] < y.Load[best] {
			best = d
		}
		m.price[i], m.instance[i] = y.Load[best], best
	}
}

// set sets the receivers of a class, whose list begins at first, of instances by room.
func (m *CheapestReceiver) set(first int, byRoom []int32, open []bool, y *Prices) {
	best, least := assign.None, math.Inf(1)
	for i, d := range byRoom {
		if open[d] && y.Load[d] < least {
			best, least = d, y.Load[d]
		}
		m.price[first+i], m.instance[first+i] = least, best
	}
}

// Costs returns what the options cost beyond what the key pays now: its price
// there and that of its entry. An option that is not open costs +∞. A price of an entry
// that is paid both ways is left out: it may be so high that rounding leaves nothing of
// the rest beside it.
func (k *Choice) Costs(y *Prices, m CheapestReceiver) (stay, home, away float64) {
	here, freed, taken := float64(y.Load[k.From]*k.Cost), 0.0, y.Table
	if k.HasEntry {
		freed, taken = y.Table, 0
	}
	stay, home, away = 0, math.Inf(1), math.Inf(1)
	if k.MustLeave {
		stay = math.Inf(1)
	}
	if k.Home >= 0 {
		home = k.Weight - here - freed + float64(y.Load[k.Home]*k.Cost)
	}
	if price, _ := m.of(k); !math.IsInf(price, 1) {
		away = k.Weight - here + taken + float64(price*k.Cost)
	}
	return stay, home, away
}

// Best is the cheapest option; on a tie the one that moves less and needs no
// entry.
func (k *Choice) Best(y *Prices, m CheapestReceiver) (Option, float64) {
	stays, home, away := k.Costs(y, m)
	switch {
	case stays <= home && stays <= away:
		return Stay, stays
	case home <= away:
		return GoHome, home
	}
	return GoToCheapest, away
}

// Base is the part of the Lagrangian that no choice changes.
func (x *Relaxation) Base(y *Prices) Sum {
	var s Sum
	s.Add(x.Hot, x.Hot)
	for _, d := range x.Problem.Live {
		if u := y.Load[d]; u > 0 {
			v := float64(u * x.Excess[d])
			s.Add(v, math.Abs(v))
		}
	}
	s.Add(float64(y.Table*x.TableExcess), math.Abs(y.Table*x.TableExcess))
	return s
}

// Evaluate is g(u,λ), a lower bound on the scaled objective of every plan that satisfies the constraints;
// +∞ if some key fits nowhere.
func (x *Relaxation) Evaluate(y *Prices) float64 { return x.evaluate(y, nil, nil) }

// evaluate is g(u,λ), a lower bound on the scaled objective of every plan that
// satisfies the constraints. It calls missed for every item that would move and is not
// a member of the core, unless member is nil.
func (x *Relaxation) evaluate(y *Prices, member []bool, missed func(k Choice)) float64 {
	at, m := x.FilterAt(y), x.CheapestReceivers(y)
	parts := make([]leaving, assign.MostParts)
	assign.InParts(x.Problem.Items.Len(), func(part, from, to int) {
		l := &parts[part]
		for i := range at.Candidates(from, to) {
			l.add(x, i, y, m, member)
		}
	})
	if slices.ContainsFunc(parts, func(l leaving) bool { return l.barred }) {
		return math.Inf(1)
	}
	total := x.Base(y)
	for i := range parts {
		total.Merge(&parts[i].sum)
		for _, k := range parts[i].missed {
			missed(k)
		}
	}
	return total.Floor()
}

// leaving is what some of the items add to the Lagrangian.
type leaving struct {
	sum    Sum
	missed []Choice // those that are not members of the core
	barred bool     // some key fits nowhere
}

// nearlyTied is more than what rounding adds to the cost of an option, relative to its terms.
const nearlyTied = 0x1p-48

func (l *leaving) add(x *Relaxation, i int, y *Prices, m CheapestReceiver, member []bool) {
	if x.Problem.IsHot(i) {
		return
	}
	k := x.ChoiceOf(i)
	stays, home, away := k.Costs(y, m)
	v := min(home, away)
	scale := k.Weight + float64(y.Load[k.From]*k.Cost) + y.Table
	switch {
	case k.MustLeave && math.IsInf(v, 1):
		l.barred = true
		return
	case stays <= v:
		if v < float64(nearlyTied*scale) { // rounding may have made it appear no gain
			l.sum.Add(0, k.Units*scale)
		}
		return
	}
	l.sum.Add(k.Units*v, k.Units*(scale+math.Abs(v)))
	if member != nil && !member[i] && v < 0 {
		l.missed = append(l.missed, k)
	}
}
