package planner

// prices are the multipliers of the Lagrangian relaxation: what it costs to put
// load on an instance and to hold a table entry. All ≥ 0, in units of the
// objective.
type prices struct {
	load  []float64 // u_d, per fixed-point unit of cost, parallel to Snapshot.Instances
	table float64   // λ, per entry; 0 without a table limit
}

// weight is what moving one unit of the item adds to the objective: S(k)+o.
func (p *problem) weight(item int32) float64 {
	return p.state.float(p.state.of(p.s.state(int(item)))) + p.o.KeyOverhead
}
