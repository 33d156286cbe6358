package planner

import (
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/optimal"
	"plannerd/planner/internal/relaxation"
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
	o.Certificate = CertificateOff
	e, err := prepare(s, o)
	if err != nil {
		return Outflow{}, err
	}
	p := e.p
	if p.Settled() {
		return Outflow{}, nil
	}
	f := bound.NewProof(p, bound.Quick)
	y := relaxation.Prices{Load: make([]float64, len(s.Instances))}
	if f.Y.Load != nil {
		y = f.Y.Clone()
	}
	least := leastPrice(f.Relaxation)
	for d := range y.Load {
		y.Load[d] = randomPrice(r, y.Load[d], least)
		if s.Instances[d].Drained {
			y.Load[d] = 0
		}
	}
	if f.Relaxation.Limited {
		y.Table = randomPrice(r, y.Table, least)
	}
	flow := covering.New(f.Relaxation, &y, work)
	if flow == nil {
		return Outflow{Infeasible: true}, nil
	}
	root := flow.Root()
	got := Outflow{TooRough: tooRough(flow, root)}
	leaf, lowest := flow.Search(root)
	got.Placed = leaf.Depth
	if got.Infeasible = lowest > f.Relaxation.Surely(); !got.Infeasible {
		got.Bound = lowest / f.Relaxation.UnitWeight
		got.Plan = e.finish("outflow", optimal.Assemble(p, flow, leaf), bound.Evidence{})
	}
	return got, nil
}

// tooRough places every key everywhere.
func tooRough(o *covering.Relaxation, root *covering.Node) bool {
	if o.Item != nil {
		return false
	}
	for i := range int32(o.X.Problem.Items.Len()) {
		if o.X.Problem.IsHot(int(i)) || slices.Contains(o.Gone, i) && !o.Returns(i) {
			continue
		}
		for _, d := range o.X.Problem.Live {
			o.Show(root)
			c := o.Place(root, i, d)
			if c == nil {
				continue
			}
			o.Show(c)
			for _, a := range c.Adjusted {
				if a.At == assign.None {
					continue
				}
				o.Look(a.At)
				if x := o.Covers.Solve(o.Without(a.At, o.Decided(a.At)), a.Need); x.Feasible && a.Bound > x.Weight+
					0x1p-48*math.Abs(x.Weight) {
					return true
				}
			}
		}
	}
	return false
}

// leastPrice is a price of the order of weights per cost.
func leastPrice(x *relaxation.Relaxation) float64 {
	return x.Everything / (1 + x.UnitCost*float64(x.Problem.Total)*float64(x.Problem.Items.Len()))
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
