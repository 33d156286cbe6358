package planner

import "math/rand/v2"

// Outflow is what the search over whole keys says under some prices.
type Outflow struct {
	Bound      float64 // in units of the objective
	Infeasible bool
	Placed     int   // keys that it branched on
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
	leaf, bound := flow.search(flow.root())
	if bound > f.x.surely() {
		return Outflow{Infeasible: true, Placed: leaf.depth}, nil
	}
	return Outflow{
		Bound: bound / f.x.unitWeight, Placed: leaf.depth, Plan: p.finish("outflow", flow.assemble(leaf)),
	}, nil
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
