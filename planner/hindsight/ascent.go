package hindsight

// ascent raises the bound by a subgradient method whose directions are deflected by those
// before (Camerini, Fratta and Maffioli 1975). Steps aim at a little more than the best
// bound so far, the less the longer that does not rise (Polyak 1969).
type ascent struct {
	*relaxation
	y, best   prices
	direction prices
	bound     float64 // at best; prices of 0 prove 0
	aim       float64 // how much above it steps aim
	vain      int     // steps since it rose
	entry     float64 // of a step in the price of an entry, against that of load
}

const (
	deflection = 0.85 // of the direction before, that is kept
	patience   = 20   // vain steps until it aims lower, and starts from the best again
	firstAim   = 0.25 // of what is between the bound and the known sequence
	aimHigher  = 1.05 // after a rise
	aimLower   = 0.6  // after too many vain steps
	lastAim    = 2e-4 // of the bound: it is as good as maximal
)

func newAscent(p *problem) *ascent {
	cost := 0.0
	for _, c := range p.movable {
		cost += c
	}
	typical := cost / float64(max(1, len(p.steps)))
	return &ascent{
		relaxation: newRelaxation(p), y: newPrices(p), best: newPrices(p), direction: newPrices(p),
		entry: typical * typical,
	}
}

// climb takes at most so many steps. known is what some sequence within the caps moves, or
// an amount of that size: steps aim no higher.
func (a *ascent) climb(steps int, known float64) {
	a.aim = firstAim * known
	for range steps {
		value := a.evaluate(a.y)
		if a.vain++; value > a.bound {
			a.aim *= aimHigher
			a.bound, a.vain = value, 0
			a.best.set(a.y)
		}
		a.aim = min(a.aim, known-a.bound)
		if a.aim <= lastAim*max(a.bound, lastAim) {
			return
		}
		if a.vain >= patience {
			a.vain = 0
			a.aim *= aimLower
			a.y.set(a.best)
			clear(a.direction.load)
			clear(a.direction.table)
			continue
		}
		norm := a.deflect()
		if norm == 0 {
			return
		}
		a.move((a.bound + a.aim - value) / norm)
	}
}

// deflect adds what the paths exceed to the direction. A price that is 0 and would fall
// has no part in it.
func (a *ascent) deflect() (norm float64) {
	add := func(direction, keeps, y []float64, scale float64) {
		for i, over := range keeps {
			v := over + float64(deflection*direction[i])
			if y[i] == 0 && v < 0 {
				v = 0
			}
			direction[i] = v
			norm += float64(scale * v * v)
		}
	}
	add(a.direction.load, a.keeps.load, a.y.load, 1)
	add(a.direction.table, a.keeps.table, a.y.table, a.entry)
	return norm
}

// move takes a step.
func (a *ascent) move(length float64) {
	for i, v := range a.direction.load {
		a.y.load[i] = max(0, a.y.load[i]+float64(length*v))
	}
	for t, v := range a.direction.table {
		a.y.table[t] = max(0, a.y.table[t]+float64(length*a.entry*v))
	}
}
