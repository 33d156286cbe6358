package hindsight

import "math"

// walk finds cheapest paths by dynamic programming (Bellman 1957): at each step a key
// stays where it is, or comes from wherever it is cheapest to have been.
type walk struct {
	instances int
	cost      []float64 // by step and instance: of being there after the cheapest way there
	cheapest  []int32   // by step: the instance of the least cost
	here      []float64 // by instance: of one step
}

func newWalk(p *problem) *walk {
	return &walk{
		instances: p.instances, cost: make([]float64, (p.most+1)*p.instances), cheapest: make([]int32, p.most+1),
		here: make([]float64, p.instances),
	}
}

// run returns the cost of the cheapest path; at says into what each step costs on each
// instance goes. +∞: none is open.
func (w *walk) run(key *path, steps []step, at func(step int, cost []float64)) float64 {
	n, free := w.instances, key.may == nil
	for d := range n {
		w.cost[d] = math.Inf(1)
	}
	w.cost[key.start], w.cheapest[0] = 0, key.start
	least := 0.0
	for j, s := range steps {
		at(j, w.here)
		before, now := w.cost[j*n:(j+1)*n], w.cost[(j+1)*n:(j+2)*n]
		moved, next, best := least+s.state, math.Inf(1), int32(0)
		for d, x := range before {
			if free || key.enters(&steps[j], int32(d)) {
				x = min(x, moved)
			} else if key.bars(&steps[j], int32(d)) {
				x = math.Inf(1)
			}
			x += w.here[d]
			now[d] = x
			if x < next {
				next, best = x, int32(d)
			}
		}
		least, w.cheapest[j+1] = next, best
	}
	return least
}

// trace writes the instances of the path that run found; of equal ones it takes that which
// moves later.
func (w *walk) trace(key *path, steps []step, instance []int32) {
	d := w.cheapest[len(steps)]
	for j := len(steps) - 1; j >= 0; j-- {
		instance[j] = d
		before := w.cost[j*w.instances : (j+1)*w.instances]
		if from := w.cheapest[j]; key.enters(&steps[j], d) && before[d] > before[from]+steps[j].state {
			d = from
		}
	}
}
