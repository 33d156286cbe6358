// Package cases draws planning problems of several families, on which plans are tested and
// measured.
package cases

import (
	"fmt"
	"math"
	"math/rand/v2"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// Case is a problem, ready to plan.
type Case struct {
	Family   Family
	Seed     uint64
	Snapshot *planner.Snapshot
	// Options hold θ_max and A_max; all else is left at its default.
	Options planner.Options
}

// Name identifies the case.
func (c *Case) Name() string { return fmt.Sprintf("family=%s/seed=%d", c.Family, c.Seed) }

// Family is a kind of input. From each, any number of different cases can be drawn, so
// that nothing can be fitted to them.
type Family string

// The families.
const (
	Bursty     Family = "bursty"     // some keys cost fifty times as much as before
	Flat       Family = "flat"       // all alike but for a few heavy keys
	Idle       Family = "idle"       // most keys cost nothing, or nearly so
	Equal      Family = "equal"      // all keys cost and weigh the same
	TwoScales  Family = "two_scales" // costs and states of two magnitudes
	Unrelated  Family = "unrelated"  // state has nothing to do with cost
	Inverse    Family = "inverse"    // the less a key costs, the more state it has
	Capacities Family = "capacities" // instances differ by up to sixteen times
	Skewed     Family = "skewed"     // Zipf, the state following the cost of some intervals
	FullTable  Family = "full_table" // like skewed, but earlier intervals have filled the table
)

// Families are all of them.
var Families = []Family{Bursty, Flat, Idle, Equal, TwoScales, Unrelated, Inverse, Capacities, Skewed, FullTable}

// Draw makes the case of a family that a seed stands for. Its keys, from 50 to most,
// were placed by the hash and planned for other costs before, so that there is a table.
// The table limit is at, just above or far above what strategy mintable needs. In family
// FullTable it is just above that of the first interval, and was kept since.
func Draw(family Family, seed uint64, most int) (*Case, error) {
	d := newDrawing(family, seed)
	d.keys = int(50 * math.Pow(float64(most)/50, d.Float64()))
	return d.draw(seed, 5+d.IntN(36))
}

// DrawTiny makes a case like [Draw], of 2 to 7 keys on 2 to 4 instances: few enough to
// try all plans.
func DrawTiny(family Family, seed uint64) (*Case, error) {
	d := newDrawing(family, seed)
	d.keys = 2 + d.IntN(6)
	return d.draw(seed, 2+d.IntN(3))
}

func newDrawing(family Family, seed uint64) drawing {
	return drawing{Rand: rand.New(rand.NewPCG(seed, uint64(len(family))<<8|uint64(family[0]))), family: family}
}

// draw makes the case of as many instances.
func (d *drawing) draw(seed uint64, instances int) (*Case, error) {
	c := &Case{Family: d.family, Seed: seed, Options: planner.Options{ThetaMax: d.theta()}}
	target, err := d.instances(instances)
	if err != nil {
		return nil, err
	}
	stats := d.statistics()
	base := planner.Base{Configuration: target}
	if d.family == FullTable {
		return c, d.fillTable(c, stats, base)
	}
	if d.IntN(5) > 0 { // else it is the first plan
		if base.Table, err = d.plan(stats, target, c.Options.ThetaMax); err != nil {
			return nil, err
		}
		d.change(stats)
	}
	if c.Snapshot, err = planner.NewSnapshot(stats, target, base); err != nil {
		return nil, err
	}
	c.Options.TableLimit, err = d.tableLimit(c)
	return c, err
}

// drawing draws a case.
type drawing struct {
	*rand.Rand
	family Family
	keys   int
}

func (d *drawing) theta() float64 {
	return [...]float64{0.005, 0.02, 0.05, 0.08, 0.2}[d.IntN(5)]
}

func (d *drawing) instances(n int) (planner.Configuration, error) {
	target := planner.Configuration{Instances: make([]planner.Instance, n)}
	nodes := make([]partitioner.Instance, n)
	for i := range nodes {
		nodes[i].ID = int32(i)
		target.Instances[i] = planner.Instance{ID: int32(i), Capacity: 1}
		if d.family == Capacities {
			target.Instances[i].Capacity = math.Exp2(4 * d.Float64())
		}
	}
	var err error
	target.Hash, err = partitioner.New(partitioner.Config{Function: partitioner.Modulo}, nodes)
	return target, err
}

// statistics are the first ones.
func (d *drawing) statistics() *planner.Statistics {
	s := &planner.Statistics{
		Keys: planner.NewKeys(d.keys), Cost: make([]float64, d.keys), State: make([]float64, d.keys),
	}
	z, name := 0.5+0.7*d.Float64(), d.Uint64()
	for i := range d.keys {
		s.Keys.Append(fmt.Appendf(nil, "%x-%d", name, i))
		s.Cost[i] = 1e5 * math.Pow(float64(i+1), -z)
		s.State[i] = s.Cost[i] * (1 + 4*d.Float64())
		d.shape(i, &s.Cost[i], &s.State[i])
		s.Cost[i], s.State[i] = math.Ceil(s.Cost[i]), math.Ceil(s.State[i])
	}
	return s
}

// shape changes what a key of a Zipf distribution costs and holds to what is usual in
// the family.
func (d *drawing) shape(i int, cost, state *float64) {
	switch d.family {
	case Flat:
		*cost, *state = 50+50*d.Float64(), 1000*d.ExpFloat64()
		if i < 2+d.keys/200 {
			*cost *= 20 * float64(d.keys) / 200 * d.Float64()
		}
	case Idle:
		if d.IntN(10) > 0 {
			*cost = float64(d.IntN(2))
		}
	case Equal:
		*cost, *state = 100, 1000
	case TwoScales:
		if d.IntN(20) > 0 {
			*cost, *state = *cost*1e-4, *state*1e-4
		}
	case Unrelated:
		*state = 1000 * math.Exp(2*d.NormFloat64())
	case Inverse:
		*state = 1e7 / *cost
	}
}

// plan is the routing table that a plan for the statistics leaves.
func (d *drawing) plan(s *planner.Statistics, target planner.Configuration, theta float64) (*planner.RoutingTable,
	error) {
	snapshot, err := planner.NewSnapshot(s, target, planner.Base{Configuration: target})
	if err != nil {
		return nil, err
	}
	plan, err := planner.Run(planner.Mixed, snapshot, planner.Options{ThetaMax: theta,
		Certificate: planner.CertificateOff})
	if err != nil {
		return nil, err
	}
	return plan.Table()
}

// change makes other costs of those of the interval before.
func (d *drawing) change(s *planner.Statistics) {
	spread := 0.6 * d.Float64()
	for i := range s.Cost {
		s.Cost[i] = math.Ceil(s.Cost[i] * math.Exp(spread*d.NormFloat64()))
		if d.family == Bursty && d.IntN(50) == 0 {
			s.Cost[i] *= 50
		}
		if d.family == Equal {
			s.Cost[i] = 100
			if d.IntN(8) == 0 {
				s.Cost[i] = 200
			}
		}
	}
}

// tableLimit is about what the least table has, or there is none: nil.
func (d *drawing) tableLimit(c *Case) (*int64, error) {
	factor := [...]float64{1, 1.02, 1.2, 2, -1}[d.IntN(5)]
	if factor < 0 {
		return nil, nil
	}
	return timesLeastTable(c, factor)
}

// timesLeastTable is a factor times what strategy mintable needs.
func timesLeastTable(c *Case, factor float64) (*int64, error) {
	o := c.Options
	o.Certificate = planner.CertificateOff
	least, err := planner.Run(planner.MinTable, c.Snapshot, o)
	if err != nil {
		return nil, err
	}
	return new(int64(math.Ceil(factor * float64(least.TableAfter)))), nil
}

// earlierIntervals are those that fill the table.
const earlierIntervals = 3

// fillTable plans earlier intervals under a table limit that is little above what the first
// one needs. Strategy mixed does, so that the case stays the same when optimal plans otherwise.
func (d *drawing) fillTable(c *Case, s *planner.Statistics, base planner.Base) (err error) {
	for range earlierIntervals {
		if c.Snapshot, err = planner.NewSnapshot(s, base.Configuration, base); err != nil {
			return err
		}
		if c.Options.TableLimit == nil {
			factor := [...]float64{1.03, 1.08, 1.15, 1.3}[d.IntN(4)]
			if c.Options.TableLimit, err = timesLeastTable(c, factor); err != nil {
				return err
			}
		}
		o := c.Options
		o.Certificate = planner.CertificateOff
		plan, err := planner.Run(planner.Mixed, c.Snapshot, o)
		if err != nil {
			return err
		}
		if base.Table, err = plan.Table(); err != nil {
			return err
		}
		d.change(s)
	}
	c.Snapshot, err = planner.NewSnapshot(s, base.Configuration, base)
	return err
}
