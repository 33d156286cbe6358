package plannertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
)

// answer is what a plan of strategy optimal and its certificate come to.
type answer struct {
	objective, bound float64
}

func optimalAnswer(t *testing.T, c *Case) answer {
	t.Helper()
	s, o := c.Snapshot(), c.Options
	o.Certificate = planner.CertificateTight
	p, err := planner.Run(planner.Optimal, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(s, o, p); err != nil {
		t.Fatal(err)
	}
	x := answer{objective: p.Migration.Objective}
	if p.Certificate != nil {
		x.bound = p.Certificate.LowerBound
	}
	return x
}

// tighten makes the table limit somewhat less than what strategy mintable needs.
func tighten(t *testing.T, c *Case) {
	t.Helper()
	o := c.Options
	o.TableLimit, o.Certificate = nil, planner.CertificateOff
	p, err := planner.Run(planner.MinTable, c.Snapshot(), o)
	if err != nil {
		t.Fatal(err)
	}
	c.Options.TableLimit = new(p.TableAfter * 99 / 100)
}

// Keys that cost nothing and are at home change neither the plan nor the proof, also where
// they are so many that a small input becomes a large one.
func TestIdleKeysChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 1))
	for range 4 {
		c := Medium(r, 1500, 8)
		c.Options.Effort = planner.EffortFast
		want := optimalAnswer(t, c)
		d := c.Clone()
		for i := range 25_000 {
			home := int32(i % len(d.Instances))
			if !d.Instances[home].Live() {
				continue // keys there have to leave
			}
			d.Items = append(d.Items, Item{
				Key: fmt.Sprint("idle", i), State: 7, Count: 1, Current: home, Hash: home, Entry: planner.NoInstance,
			})
		}
		if got := optimalAnswer(t, d); got != want {
			t.Errorf("with idle keys it moves %v, proven %v; want %v and %v",
				got.objective, got.bound, want.objective, want.bound)
		}
	}
}

// A tight certificate never proves less than a fast one, and of some plans more.
func TestTightProvesMore(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 2))
	more := 0
	for range 12 {
		c := Medium(r, 200, 6)
		tighten(t, c)
		proven := make(map[planner.CertificateLevel]float64)
		for _, level := range []planner.CertificateLevel{planner.CertificateFast, planner.CertificateTight} {
			o := c.Options
			o.Certificate = level
			p, err := planner.Run(planner.Mixed, c.Snapshot(), o)
			if err != nil {
				t.Fatal(err)
			}
			if p.Certificate == nil || p.Certificate.Infeasible {
				continue
			}
			proven[level] = p.Certificate.LowerBound
		}
		fast, tight := proven[planner.CertificateFast], proven[planner.CertificateTight]
		if _, feasible := proven[planner.CertificateTight]; feasible && tight < fast*(1-1e-9) {
			t.Errorf("tight proves %v, fast %v", tight, fast)
		}
		if tight > fast*1.01 {
			more++
		}
	}
	if more == 0 {
		t.Error("tight proves more in no case")
	}
}
