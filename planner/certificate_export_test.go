package planner

// Proven is the bound as the proof has it, which no plan has made less.
func (c *Certificate) Proven() float64 { return c.proven }
