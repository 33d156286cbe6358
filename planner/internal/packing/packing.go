// Package packing asks whether whole keys fit beside each other at all, wherever they are.
package packing

import (
	"cmp"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// Packing is that of bins of unequal size. It is refuted by functions f on costs that do not
// decrease and are superadditive, f(x)+f(y) ≤ f(x+y): what is on an instance has Σ f(c) ≤
// f(Σ c), so that no packing exists where Σ_k f(c_k) > Σ_d f(room_d). (Dual feasible
// functions: Lueker, "Bin packing with items uniformly distributed over intervals", 1983;
// Fekete and Schepers, "New classes of fast lower bounds for bin packing problems", 2001.)
// Keys that may be divided at will count nothing: their parts can be so small that f of
// each is 0.
type Packing struct {
	costs []counted // descending
	fair  []float64
	fixed []int64 // by live instance: load that stays, whatever moves
	rooms []counted
}

// counted is a cost, or a room, and how often there is one.
type counted struct{ size, times int64 }

// packedItems is how many items a packing looks at, the costliest, and packingWork how many
// values of functions it computes, about. Functions see little of small items.
const packedItems, packingWork = 1024, 1_000_000

// New is that of all keys of a problem, hot ones included.
func New(p *assign.Problem) *Packing {
	x := &Packing{}
	for _, d := range p.Live {
		x.fair, x.fixed = append(x.fair, p.Fair[d]), append(x.fixed, p.Residual[d])
	}
	x.take(p, func(int) bool { return true })
	return x
}

// Overfull reports whether it is proven that the keys that are not hot do not fit within
// the limits of the instances, beside the hot ones where these are placed.
func Overfull(p *assign.Problem) bool {
	x, room := &Packing{}, slices.Clone(p.Limit)
	for d := range room {
		room[d] -= p.Residual[d]
	}
	for _, h := range p.Hot {
		room[h.To] -= p.Cost.Fixed(p.Items.Cost[h.Item]) * h.Count
	}
	for _, d := range p.Live {
		x.rooms = append(x.rooms, counted{max(0, room[d]), 1})
	}
	x.rooms = merged(x.rooms)
	x.take(p, func(i int) bool { return !p.IsHot(i) })
	return slices.ContainsFunc(x.functions(), x.refutes)
}

// take takes over the costliest items of those that functions see.
func (x *Packing) take(p *assign.Problem, takes func(item int) bool) {
	least := int64(1)
	for _, d := range p.Live {
		least = max(least, p.Maximum[d]/coarsest)
	}
	items := assign.Collect(p.Items.Len(), func(from, to int) (items []int32) {
		for i := from; i < to; i++ {
			if p.Cost.Fixed(p.Items.Cost[i]) >= least && takes(i) {
				items = append(items, int32(i))
			}
		}
		return items
	})
	if len(items) > packedItems {
		exact.SelectLeast(items, packedItems, p.Items.HeavierFirst)
		items = items[:packedItems]
	}
	for _, i := range items {
		x.costs = append(x.costs, counted{p.Cost.Fixed(p.Items.Cost[i]), p.Items.UnitsOf(int(i))})
	}
	x.costs = merged(x.costs)
}

// merged are the distinct sizes, descending.
func merged(list []counted) []counted {
	slices.SortFunc(list, func(a, b counted) int { return cmp.Compare(b.size, a.size) })
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].size == c.size {
			out[n-1].times += c.times
		} else {
			out = append(out, c)
		}
	}
	return out
}

// LeastTheta returns a θ, at least low and at most high, that no plan stays below.
func (x *Packing) LeastTheta(low, high float64) float64 {
	x.under(low)
	for _, f := range x.functions() {
		if next := low + float64(packingStep*(1+low)); next < high && x.refutesUnder(next, f) {
			low = x.raise(f, next, high)
		}
	}
	return low
}

// packingStep is how finely θ is looked for, in at most so many steps.
const packingStep, packingSteps = 1e-6, 60

// raise is the greatest θ that a function refutes, found by bisection from one that it does.
func (x *Packing) raise(f superadditive, low, high float64) float64 {
	for range packingSteps {
		if high-low <= packingStep*(1+low)/2 {
			break
		}
		if mid := (low + high) / 2; x.refutesUnder(mid, f) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func (x *Packing) refutesUnder(theta float64, f superadditive) bool {
	x.under(theta)
	return x.refutes(f)
}

// under sets the rooms to those that instances have under a θ.
func (x *Packing) under(theta float64) {
	x.rooms = x.rooms[:0]
	for d, fair := range x.fair {
		most := exact.AtMost(float64((1 + theta) * fair))
		x.rooms = append(x.rooms, counted{max(0, most-x.fixed[d]), 1})
	}
	x.rooms = merged(x.rooms)
}

// superadditive is one of the functions: a shape, and the size that it rounds to.
type superadditive struct {
	shape shape
	unit  int64
}

// shape is a family of superadditive functions on the sizes from 0 to the greatest room.
type shape uint8

const (
	// multiples is ⌊x/t⌋: how many items of size t are in x at the most.
	multiples shape = iota
	// symmetric rounds what is beside a large item down instead of the item itself: with C
	// the greatest room, 2·(⌊C/t⌋ − ⌊(C−x)/t⌋) above C/2, ⌊C/t⌋ at C/2, and 2·⌊x/t⌋ below it
	// (Carlier, Clautiaux and Moukrim, "New reduction procedures and lower bounds for the
	// two-dimensional bin packing problem with fixed orientation", 2007).
	symmetric
	// filling is C above C−t, x from t to C−t, and 0 below t: beside an item that is larger
	// than C−t there is room for none from t on (Martello and Toth, "Lower bounds and
	// reduction procedures for the bin packing problem", 1990).
	filling
	shapes
)

// of is the value of the function at x, from 0 to most.
func (f superadditive) of(x, most int64) int64 {
	switch f.shape {
	case multiples:
		return x / f.unit
	case symmetric:
		switch cmp.Compare(x, most-x) {
		case 1:
			return 2 * (most/f.unit - (most-x)/f.unit)
		case 0:
			return most / f.unit
		}
		return 2 * (x / f.unit)
	}
	switch {
	case x > most-f.unit:
		return most
	case x < f.unit:
		return 0
	}
	return x
}

// functions are those that can refute most: their values change at the sizes of items, and
// of what is left beside them.
func (x *Packing) functions() []superadditive {
	if len(x.costs) == 0 || len(x.rooms) == 0 {
		return nil
	}
	most := x.rooms[0].size
	var units []int64
	for _, c := range x.costs {
		for n := int64(1); n <= 4; n++ {
			units = append(units, c.size/n)
			if c.size < most {
				units = append(units, (most-c.size)/n+1)
			}
		}
	}
	slices.Sort(units)
	units = slices.Compact(units)
	slices.Reverse(units) // large ones come first, as they refute most
	units = slices.DeleteFunc(units, func(t int64) bool { return t < max(1, most/coarsest) })
	if n := packingWork / int(shapes) / (len(x.costs) + len(x.rooms)); len(units) > n {
		units = units[:n]
	}
	functions := make([]superadditive, 0, int(shapes)*len(units))
	for _, t := range units {
		for s := range shapes {
			if s != filling || t <= most/2 {
				functions = append(functions, superadditive{s, t})
			}
		}
	}
	return functions
}

// coarsest is how many of its units a function fits into the greatest room at the most: with
// more it rounds so little that it says what the sum of all costs does.
const coarsest = 64

// refutes reports whether a function shows that the items do not fit into the rooms.
func (x *Packing) refutes(f superadditive) bool {
	most, taken, given := x.rooms[0].size, 0.0, 0.0
	if x.costs[0].size > most {
		return true
	}
	if f.shape == filling && f.unit > most/2 {
		return false
	}
	for _, r := range x.rooms {
		given += float64(float64(f.of(r.size, most)) * float64(r.times))
	}
	for _, c := range x.costs {
		if taken += float64(float64(f.of(c.size, most)) * float64(c.times)); taken > given*(1+exact.Tolerance) {
			return true
		}
	}
	return false
}
