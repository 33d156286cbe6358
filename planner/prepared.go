package planner

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/division"
)

// prepared is a snapshot under options, and the problem that strategies solve.
type prepared struct {
	s     *Snapshot
	o     Options
	space *division.Space
	at    *division.Division // how keys are divided
	p     *assign.Problem    // of the keys that are whole then
	// before is the problem with keys divided as the committed table divides them.
	before *assign.Problem
	real   []int32 // by instance of the problem: that of the snapshot

	meter *assign.Meter
	short map[int32]Unfilled // what keeps instances below a_d, if they were to be filled
}

// prepare checks the options and makes a problem of a snapshot.
func prepare(s *Snapshot, o Options) (*prepared, error) { return prepareWith(s, o, 0) }

// prepareWith is prepare for a strategy that may do so much work.
func prepareWith(s *Snapshot, o Options, effort assign.Effort) (*prepared, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := validateInstances("Instances", s.Instances); err != nil {
		return nil, err
	}
	x := &prepared{s: s, o: o, meter: &assign.Meter{Budget: o.WorkBudget, Stop: o.Stop}}
	in := division.Input{
		Items: &assign.Items{
			Cost: s.Cost, State: s.State, Units: s.Count, Current: s.Current, Home: s.Hash,
			Hashes: s.Keys.hashes, Compare: s.Keys.Compare,
		},
		Instances: make([]assign.Instance, len(s.Instances)), Frozen: make([]bool, len(s.Instances)),
		FirstKey: s.firstKey(), Entries: s.RetainedEntries(), Shares: s.Shares, Splits: s.Splits,
		Goal: o.goal(), Splitting: o.Splitting, Meter: x.meter,
	}
	in.Goal.Effort = effort
	for d, y := range s.Instances {
		in.Instances[d] = assign.Instance{
			Capacity: y.Capacity, Live: y.Live(), Cost: y.ResidualCost, State: y.ResidualState, Filling: y.Filling,
		}
		in.Frozen[d] = y.Frozen
		in.Instances[d].Resources = stocks(s.Resources, y)
	}
	if err := s.addResources(in.Items); err != nil {
		return nil, err
	}
	if len(s.Resources) > 0 && s.Count != nil {
		return nil, Invalid("Count", "must be missing where there are several resources")
	}
	if x := o.Splitting; x != nil && x.Expire && slices.ContainsFunc(s.Resources, Resource.entire) {
		return nil, Invalid("Splitting.Expire", "is not known beside resources from state or count")
	}
	if s.Eligibility != nil && (s.Count != nil || len(s.Splits) > 0 || o.Splitting != nil) {
		return nil, Invalid("Splitting", "is not known where rules or cordons decide where keys may be")
	}
	y := s.separate(in.Items, in.Instances)
	in.Instances, x.real = y.instances, y.real
	in.Frozen = append(in.Frozen, make([]bool, len(y.instances)-len(in.Frozen))...)
	x.space = division.NewSpace(in)
	x.divide(x.space.Committed)
	x.before = x.p
	return x, nil
}

// divide has keys be divided so.
func (x *prepared) divide(at *division.Division) { x.at, x.p = at, at.Problem }

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

// strategy is one as what divides keys needs it.
func (x *prepared) strategy(info Info) division.Strategy {
	return division.Strategy{
		Run: func(p *assign.Problem, at *division.Division) (*assign.Assignment, bound.Evidence) {
			return x.run(p, at, info.proves, info.algorithm)
		},
		Place: func(p *assign.Problem) *assign.Assignment {
			a, _ := info.algorithm(p, x.o)
			return a
		},
		Proves: info.proves,
	}
}

// run runs an algorithm on p, and meanwhile proves what the certificate rests on, unless
// the algorithm does that itself or takes so little that it can wait. The assignment
// is nil when the meter ran out before the algorithm had a complete one.
func (x *prepared) run(
	p *assign.Problem, at *division.Division, proves bool, a algorithm,
) (*assign.Assignment, bound.Evidence) {
	if proves || x.o.Certificate == CertificateOff || p.Goal.Imbalance || !p.Concurrent() {
		return a(p, x.o)
	}
	var known bound.Evidence
	wait := p.Fork(func(q *assign.Problem) {
		if len(at.Splits) > 0 {
			q = at.Undivided(q.Meter)
		}
		if q.ByResource != nil {
			known.Resources = bound.ProveResources(q, math.Inf(1), x.o.Certificate.level())
			return
		}
		known.Proof = bound.Prove(q, x.o.Certificate.level())
	})
	found, _ := a(p, x.o)
	wait()
	return found, known
}
