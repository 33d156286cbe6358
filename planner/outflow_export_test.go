package planner

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Outflow is what the search over whole keys says under some prices.
type Outflow struct {
	Bound      float64 // in units of the objective
	Infeasible bool
	Placed     int   // keys that it branched on
	TooRough   bool  // a bound without solving was above some cover
	Plan       *Plan // what the leaf stands for; nil where there is nothing to do
}

// RandomOutflow draws prices around those of the relaxation, some of them 0, and
// searches with them.
func RandomOutflow(r *rand.Rand, s *Snapshot, o Options, work int) (Outflow, error) {
	p, err := newProblem(s, o)
	if err != nil {
		return Outflow{}, err
	}
	if p.settled() {
		return Outflow{}, nil
	}
	p.o.Certificate = CertificateOff
	f := p.newProof(CertificateFast)
	y := prices{load: make([]float64, len(s.Instances))}
	if f.root.y.load != nil {
		y = f.root.y.clone()
	}
	least := f.x.leastPrice()
	for d := range y.load {
		y.load[d] = randomPrice(r, y.load[d], least)
		if s.Instances[d].Drained {
			y.load[d] = 0
		}
	}
	if f.x.limited {
		y.table = randomPrice(r, y.table, least)
	}
	flow := f.x.newOutflow(&y, work)
	if flow == nil {
		return Outflow{Infeasible: true}, nil
	}
	root := flow.root()
	got := Outflow{TooRough: flow.tooRough(root)}
	leaf, bound := flow.search(root)
	got.Placed = leaf.depth
	if got.Infeasible = bound > f.x.surely(); !got.Infeasible {
		got.Bound, got.Plan = bound/f.x.unitWeight, p.finish("outflow", flow.assemble(leaf))
	}
	return got, nil
}

// tooRough places every key everywhere.
func (o *outflow) tooRough(root *outflowNode) bool {
	if o.item != nil {
		return false
	}
	for i := range int32(o.x.p.s.Len()) {
		if o.x.p.isHot(int(i)) || slices.Contains(o.gone, i) {
			continue
		}
		for _, d := range o.x.p.live {
			o.show(root)
			c := o.place(root, i, d)
			if c == nil {
				continue
			}
			o.show(c)
			for _, a := range c.adjusted {
				if a.at == none {
					continue
				}
				o.look(a.at)
				if x := o.covers.cover(o.without(a.at, o.decided(a.at)), a.need); x.feasible && a.bound > x.weight+
					0x1p-48*math.Abs(x.weight) {
					return true
				}
			}
		}
	}
	return false
}

// leastPrice is a price of the order of weights per cost.
func (x *relaxation) leastPrice() float64 {
	return x.everything / (1 + x.unitCost*float64(x.p.total)*float64(x.p.s.Len()))
}

func randomPrice(r *rand.Rand, price, least float64) float64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return price * 2 * r.Float64()
	case 2:
		return least * r.ExpFloat64()
	}
	return price
}
