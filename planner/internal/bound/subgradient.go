package bound

import "math"

// ascent maximises g(v,λ) over a part of the problem by a subgradient method (Held, Wolfe
// and Crowder 1974) whose directions are deflected by those before (Camerini, Fratta and
// Maffioli 1975). Its steps aim at a little more than the best value so far, the less the
// longer that does not rise.
type ascent struct {
	*AssignmentRelaxation
	best      float64          // the greatest value
	at        assignmentPrices // where it is
	direction assignmentPrices
	aim       float64 // how much above the best steps aim
	vain      int     // steps since it rose last
	tableStep float64 // of the price of an entry, against the direction
	// tableScale is that of a step in the price of an entry, against those in prices of keys.
	tableScale float64
	typical    float64 // a weight
	share      []share // by key
}

// share is in how many of the solutions of late a key stays, and goes home.
type share struct{ stay, home float64 }

const (
	deflection = 0.5  // of the direction before, that is kept
	patience   = 12   // vain steps until it aims lower and starts from the best again
	aimHigher  = 1.2  // after a rise
	aimLower   = 0.6  // after too many vain steps
	firstAim   = 0.3  // of the bound
	lastAim    = 1e-4 // of the bound: it is as good as maximal
	clearRise  = 0.1  // of what a step aimed at
	// mostOften bounds a key's part in the direction: beyond the price at which one instance
	// with room takes it, all of them do.
	mostOften = 3
	// tableScale is the scale of steps in the price of an entry, and coarseTable one that
	// sometimes goes on where these end.
	tableScale, coarseTable = 0.05, 0.25
	memory                  = 0.1 // weight of a solution in the shares
)

// newAscent starts at prices.
func (r *AssignmentRelaxation) newAscent(y *assignmentPrices) *ascent {
	n := r.priced
	c := &ascent{
		AssignmentRelaxation: r, best: math.Inf(-1), share: make([]share, n), tableScale: tableScale,
		direction: assignmentPrices{key: make([]float64, n)},
	}
	for i := range n {
		c.typical += r.keys[i].weight / float64(n)
	}
	r.y.set(y)
	c.at.set(y)
	return c
}

// climb takes so many steps, fewer if the value reaches enough or hardly rises, or once another
// one would take more work than that in all, or planning is to end. It reports whether it ended
// at a plan that meets all constraints and that no other prices improve.
func (c *ascent) climb(steps int, enough float64, most int) (met bool) {
	for step := range steps {
		before := c.work
		value := c.solve()
		c.send()
		c.remember(step)
		switch {
		case math.IsInf(value, 1):
			c.best = value
			return false
		case value > c.best:
			if value > c.best+float64(clearRise*c.aim) {
				c.vain = 0
				c.aim *= aimHigher
			}
			if step == 0 {
				c.aim = firstAim * max(math.Abs(value), lastAim*c.typical)
			}
			c.best = value
			c.at.set(&c.y)
		default:
			c.vain++
		}
		if c.best >= enough || 2*c.work-before > most || !c.x.Problem.Meter.Spend(int64((c.work-before)/WorkPerUnit)+1) {
			return false
		}
		if c.vain >= patience {
			c.vain = 0
			if c.aim *= aimLower; c.aim <= lastAim*math.Abs(c.best) {
				return false
			}
			c.y.set(&c.at)
			clear(c.direction.key)
			c.direction.table = 0
			continue
		}
		norm, met := c.deflect()
		if met || norm == 0 {
			return met
		}
		c.move((c.best + c.aim - value) / norm)
	}
	return false
}

// remember adds the solution to the shares.
func (c *ascent) remember(step int) {
	weight := max(memory, 1/float64(step+1))
	for _, i := range c.open {
		s, u, units := &c.share[i], &c.units[i], float64(c.keys[i].units)
		s.stay += float64(weight * (min(1, float64(u.stay)/units) - s.stay))
		s.home += float64(weight * (min(1, float64(u.home)/units) - s.home))
	}
}

// deflect adds the subgradient to the direction: how many units of each key lack, and how
// many entries are too many. met: none are, so that the solution is an optimal plan.
// The price of a key is meant beyond what it costs to leave, which an entry's price changes.
func (c *ascent) deflect() (norm float64, met bool) {
	met = true
	over, typical, lacking := c.over, 0.0, 0.0
	for _, i := range c.open {
		k := &c.keys[i]
		lack := float64(max(-mostOften*k.units, k.units-c.units[i].all))
		if lack != 0 {
			met = false
			_, perPrice := k.leave(c.y.table)
			over += float64(lack * perPrice)
			typical += c.scale(i)
			lacking++
		}
		v := lack + float64(deflection*c.direction.key[i])
		c.direction.key[i] = v
		norm += float64(c.scale(i) * v * v)
	}
	met = met && (!c.x.Limited || over == 0 || over < 0 && c.y.table == 0)
	if over < 0 && c.y.table == 0 || !c.x.Limited {
		over = 0
	}
	c.direction.table = over + float64(deflection*c.direction.table)
	if lacking == 0 {
		typical, lacking = c.typical, 1
	}
	c.tableStep = c.tableScale * typical / lacking / max(10, lacking/4)
	for _, u := range c.units[c.priced:] {
		met = met && u.all > 0
	}
	return norm + float64(c.tableStep*c.direction.table*c.direction.table), met
}

// scale is that of a step in the price of a key.
func (c *ascent) scale(i int32) float64 {
	k := &c.keys[i]
	return (k.weight + c.y.table + float64(lastAim*c.typical)) / float64(k.units)
}

// move takes a step. Prices stop at the kink from which on all instances with room take a
// key, and go beyond from there.
func (c *ascent) move(length float64) {
	before := c.y.table
	after := max(0, before+float64(length*c.tableStep*c.direction.table))
	for _, i := range c.open {
		k := &c.keys[i]
		old, _ := k.leave(before)
		now, _ := k.leave(after)
		v := c.y.key[i] + float64(length*c.scale(i)*c.direction.key[i]) + now - old
		if c.y.key[i] < k.elsewhere(before)*(1-atKink) {
			v = min(v, k.elsewhere(after))
		}
		c.y.key[i] = v
	}
	c.y.table = after
}
