package relaxation

// corePasses bounds the rounds in which the core takes in what it missed.
const corePasses = 4

// Maximize finds good prices, and the bound under them. It starts with a core of the items that are
// likely to move. It adds to the core those that turn out to, and tries again, as often as it may and as
// it is worth while.
func (x *Relaxation) Maximize() (y Prices, bound float64) {
	c := newCore(x)
	var start *Prices
	for pass := range corePasses {
		if pass > 0 && x.Problem.Stopped() {
			break
		}
		at, value, added, reached := c.ascend(start)
		if y.Load == nil || value > bound {
			bound, y = value, at
		}
		if added == 0 || bound >= reached*(1-1e-4) || bound > x.Surely() {
			break
		}
		if start = &y; bound < reached/2 {
			start = nil // they rest on what the core lacked
		}
	}
	return y, bound
}

// ascend is one pass. It returns prices, the bound under them, how many items it added to the core,
// and the value over the core alone.
func (c *core) ascend(start *Prices) (y Prices, value float64, added int, reached float64) {
	d := newDual(c.Relaxation, c.choices)
	if start == nil {
		d.start()
	} else {
		d.resume(start)
	}
	d.maximize()
	var missed []Choice
	value = c.evaluate(&d.best, c.member, func(k Choice) { missed = append(missed, k) })
	c.extend(missed)
	return d.best, value, len(missed), d.bestValue
}
