package planner

// Proven is the bound of the certificate as the proof has it, which no plan has made less.
func (p *Plan) Proven() float64 { return p.proven }
