package bound

import "math"

// ascent maximises g(v,λ) over a part of the problem. A deflected subgradient method (Held, Wolfe
// and Crowder 1974; Camerini, Fratta and Maffioli 1975) comes near the maximum soon. The volume
// algorithm (Barahona and Anbil 2000) goes on where the former oscillates, as many instances take a
// key at the same price: its directions are means of many subgradients, and its steps all start
// from the best prices. Steps aim at a little more than the best value so far, the less
// the longer that does not rise.
type ascent struct {
	*AssignmentRelaxation
	method
	best      float64          // the greatest value
	at        assignmentPrices // where it is
	direction assignmentPrices
	aim       float64 // how much above the best steps aim
	vain      int     // steps since it rose last
	lowered   int     // how often it aimed lower
	newest    float64 // weight of the last subgradient in the mean
	milestone float64 // the best value when that weight was chosen
	tableStep float64 // of the price of an entry, against the direction
	typical   float64 // a weight
	share     []share // by key
}

// method is how an ascent takes its steps.
type method struct {
	mean     bool    // directions are means of subgradients; else they are deflected ones
	firstAim float64 // of the value at the start
	patience int     // vain steps until it aims lower
	lastAim  float64 // of the best value: it ends there
}

// The methods: to come near the maximum, to go on from there, and for parts of the problem.
var (
	coarse = method{firstAim: 0.3, patience: 12, lastAim: 0.1}
	fine   = method{mean: true, firstAim: 0.1, patience: 10, lastAim: 1e-4}
	brief  = method{firstAim: 0.3, patience: 12, lastAim: 1e-4}
)

// share is in how many of the solutions of late a key stays, and goes home.
type share struct{ stay, home float64 }

const (
	deflection = 0.5 // of the direction before, that is kept
	aimHigher  = 1.2 // after a rise
	aimLower   = 0.6 // after too many vain steps
	clearRise  = 0.1 // of what a step aimed at
	// The weight of the last subgradient in the mean starts at mostNew. Each time that so many
	// steps raise the value by less than slowRise, relative to it, that is halved.
	mostNew, leastNew    = 0.05, 0.005
	milestones, slowRise = 30, 0.01
	// mostOften bounds a key's part in the direction: beyond the price at which one instance
	// with room takes it, all of them do.
	mostOften = 3
	trifle    = 1e-4 // of a typical weight
	memory    = 0.1  // weight of a solution in the shares
)

// tableScales are of steps in an entry's price, against those in keys' prices; each is used until the aim falls.
var tableScales = [...]float64{0.5, 0.1, 0.02}

// newAscent starts at prices.
func (r *AssignmentRelaxation) newAscent(by method, y *assignmentPrices) *ascent {
	n := r.priced
	c := &ascent{
		AssignmentRelaxation: r, method: by, best: math.Inf(-1), share: make([]share, n),
		direction: assignmentPrices{key: make([]float64, n)}, newest: mostNew, milestone: math.Inf(-1),
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
		if math.IsInf(value, 1) {
			c.best = value
			return false
		}
		c.judge(value, step)
		if c.best >= enough || 2*c.work-before > most || !c.x.Problem.Meter.Spend(int64((c.work-before)/WorkPerUnit)+1) {
			return false
		}
		if c.vain >= c.patience {
			c.vain = 0
			c.lowered++
			if c.aim *= aimLower; c.aim <= c.lastAim*math.Abs(c.best) {
				return false
			}
			if !c.mean {
				c.y.set(&c.at)
				clear(c.direction.key)
				c.direction.table = 0
				continue
			}
		}
		norm, met := c.turn(step)
		if met || norm == 0 {
			return met
		}
		if c.mean {
			c.y.set(&c.at)
			value = c.best
		}
		c.move((c.best + c.aim - value) / norm)
	}
	return false
}

// judge compares the value after a step with the best.
func (c *ascent) judge(value float64, step int) {
	if step == 0 {
		c.aim = c.firstAim * max(math.Abs(value), trifle*c.typical)
	}
	if value > c.best {
		if step > 0 && value > c.best+float64(clearRise*c.aim) {
			c.vain = 0
			c.aim *= aimHigher
		}
		c.best = value
		c.at.set(&c.y)
	} else {
		c.vain++
	}
	if step%milestones == milestones-1 {
		if c.best < c.milestone+float64(slowRise*math.Abs(c.milestone)) {
			c.newest = max(c.newest/2, leastNew)
		}
		c.milestone = c.best
	}
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

// turn takes the subgradient into the direction: how many units of each key lack, and how
// many entries are too many. met: none are, so that the solution is an optimal plan.
// The price of a key is meant beyond what it costs to leave, which an entry's price changes.
func (c *ascent) turn(step int) (norm float64, met bool) {
	met = true
	add, keep := 1.0, deflection
	if c.mean && step > 0 {
		add, keep = c.newest, 1-c.newest
	}
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
		v := float64(add*lack) + float64(keep*c.direction.key[i])
		c.direction.key[i] = v
		norm += float64(c.scale(i) * v * v)
	}
	met = met && (!c.x.Limited || over == 0 || over < 0 && c.y.table == 0)
	if over < 0 && c.y.table == 0 || !c.x.Limited {
		over = 0
	}
	c.direction.table = float64(add*over) + float64(keep*c.direction.table)
	if lacking == 0 {
		typical, lacking = c.typical, 1
	}
	c.tableStep = tableScales[c.lowered%len(tableScales)] * typical / lacking / max(10, lacking/4)
	for _, u := range c.units[c.priced:] {
		met = met && u.all > 0
	}
	return norm + float64(c.tableStep*c.direction.table*c.direction.table), met
}

// scale is that of a step in the price of a key.
func (c *ascent) scale(i int32) float64 {
	k := &c.keys[i]
	return (k.weight + c.y.table + float64(trifle*c.typical)) / float64(k.units)
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
