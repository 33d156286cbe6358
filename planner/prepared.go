package planner

import (
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// prepared is a snapshot under options, and the problem that strategies solve.
type prepared struct {
	s *Snapshot
	o Options
	p *assign.Problem // with keys divided as splits says
	// before is the problem with keys divided as the committed table divides them.
	before *assign.Problem
	splits []Split // rows ascending
	// crowded are rows of keys that would need more parts than they may have.
	crowded []int32
	other   division // another way to divide keys, into no fewer parts

	meter *assign.Meter
	short map[int32]Unfilled // what keeps instances below a_d, if they were to be filled
}

// prepare checks the options and makes a problem of a snapshot.
func prepare(s *Snapshot, o Options) (*prepared, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := validateInstances("Instances", s.Instances); err != nil {
		return nil, err
	}
	x := &prepared{s: s, o: o, splits: s.Splits, meter: &assign.Meter{Budget: o.WorkBudget, Stop: o.Stop}}
	x.p = x.problem(x.splits)
	x.before = x.p
	return x, nil
}

// problem is the snapshot with keys divided: what their parts cost is background.
func (x *prepared) problem(splits []Split) *assign.Problem {
	items, instances := x.whole()
	entries := x.s.RetainedEntries()
	if len(splits) > 0 {
		x.divide(items, splits)
		for _, y := range splits {
			x.addParts(instances, y)
			entries += int64(len(y.Parts))
		}
	}
	x.addRunningOut(instances, splits)
	return assign.NewProblem(items, instances, entries, x.o.goal(), x.meter)
}

// whole are the items and instances with no key divided.
func (x *prepared) whole() (*assign.Items, []assign.Instance) {
	s := x.s
	items := &assign.Items{
		Cost: s.Cost, State: s.State, Units: s.Count, Current: s.Current, Home: s.Hash,
		Hashes: s.Keys.hashes, Compare: s.Keys.Compare,
	}
	instances := make([]assign.Instance, len(s.Instances))
	for d, x := range s.Instances {
		instances[d] = assign.Instance{
			Capacity: x.Capacity, Live: x.Live(), Cost: x.ResidualCost, State: x.ResidualState, Filling: x.Filling,
		}
	}
	for _, x := range s.Shares { // they move whatever the plan, or stay where a part is
		instances[x.Instance].State += x.State
	}
	x.leaveState(items, instances)
	return items, instances
}

// goal is what the options ask for.
func (o Options) goal() assign.Goal {
	g := assign.Goal{
		ThetaMax: o.ThetaMax, ThetaMin: o.ThetaMin, TableLimit: o.TableLimit, KeyOverhead: o.KeyOverhead,
	}
	if g.Imbalance = o.Objective == MinImbalance; g.Imbalance {
		g.Allowance = assign.Allowance{Unit: allowanceUnits[o.MigrationLimit.Unit], Amount: o.MigrationLimit.Amount}
	}
	return g
}

var allowanceUnits = map[MigrationUnit]assign.AllowanceUnit{
	MigrationState: assign.OfState, MigrationFraction: assign.OfFraction, MigrationKeys: assign.OfKeys,
}

// efforts are those that the options name.
var efforts = map[Effort]assign.Effort{
	EffortFast: assign.Fast, "": assign.Normal, EffortNormal: assign.Normal, EffortThorough: assign.Thorough,
}

// unmoved is the plan that moves nothing.
func (x *prepared) unmoved(name string) *Plan { return x.finish(name, x.p.Unmoved(), bound.Evidence{}) }

// run runs an algorithm on p, and meanwhile proves what the certificate rests on, unless
// the algorithm does that itself or takes so little that it can wait. The assignment
// is nil when the meter ran out before the algorithm had a complete one.
func (x *prepared) run(p *assign.Problem, proves bool, a algorithm) (*assign.Assignment, bound.Evidence) {
	if proves || x.o.Certificate == CertificateOff || p.Goal.Imbalance || !p.Concurrent() {
		return a(p, x.o)
	}
	var known bound.Evidence
	wait := p.Fork(func(q *assign.Problem) {
		if len(x.splits) > 0 {
			q = x.undivided(q.Meter)
		}
		known.Proof = bound.Prove(q, x.o.Certificate.level())
	})
	found, _ := a(p, x.o)
	wait()
	return found, known
}
