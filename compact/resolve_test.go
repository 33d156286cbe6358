package compact_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// checkResolved checks that moves of keys carry out moves of classes: as many keys
// of each class to each instance, and each key once.
func checkResolved(c *compact.Compression, classes []compact.Record, moves []planner.Move) error {
	left, seen := map[compact.Record]int64{}, map[int32]bool{}
	for _, m := range classes {
		n := m.Count
		m.Count = 0
		left[m] += n
	}
	for _, m := range moves {
		switch {
		case seen[m.Item]:
			return fmt.Errorf("key %q moves twice", c.Keys.Keys.At(int(m.Item)))
		case m.Count != 1 || m.From != c.Keys.Current[m.Item] || m.From == m.To:
			return fmt.Errorf("move %+v of a key on %d", m, c.Keys.Current[m.Item])
		}
		seen[m.Item] = true
		r := c.Records[c.ClassOf[m.Item]]
		r.Planned, r.Count = c.Keys.Instances[m.To].ID, 0
		if left[r]--; left[r] == 0 {
			delete(left, r)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("keys that still have to move, and that need not (−): %v", left)
	}
	return nil
}

// An engine posts records, and brings the class moves that it gets back to keys.
func TestResolve(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(30, 30))
	balanced, resolved := 0, 0
	for n := range deep.Cases(800) {
		kase, strategy := keyCase(r)
		if kase.Options.Objective == planner.MinImbalance {
			continue
		}
		kase.Options.Certificate = planner.CertificateOff
		s := kase.Snapshot()
		c := compress(t, s, 1<<r.IntN(9))
		p, err := planner.Run(strategy, c.Items, kase.Options)
		if err != nil {
			t.Fatal(err)
		}
		classes := c.Moves(p)
		moves, err := c.Resolve(classes)
		if err != nil {
			t.Fatalf("case %d: %v\n%s", n, err, kase)
		}
		if err := checkResolved(c, classes, moves); err != nil {
			t.Fatalf("case %d, %s: %v\n%s", n, strategy, err, kase)
		}
		again, err := c.Resolve(split(r, classes))
		if err != nil || !slices.Equal(again, moves) {
			t.Fatalf("case %d, in another order and in parts: %v, %v; want %v\n%s", n, again, err, moves, kase)
		}
		if p.Balanced && len(p.HotKeys) == 0 {
			balanced++
			a := plannertest.CurrentAssignment(s)
			for _, m := range moves {
				a[m.Item][m.From], a[m.Item][m.To] = 0, 1
			}
			if plannertest.ScoreOf(s, kase.Options, a).Excess == 0 {
				resolved++
			}
		}
	}
	t.Logf("%d of %d plans that balance classes balance their keys", resolved, balanced)
}

// Five of twenty keys of a class leave, of whose costs and states only the means
// are planned with: those of least state, if they cost at least what the plan
// reckons with.
func TestResolveChoosesKeys(t *testing.T) {
	for name, cost := range map[string]func(n int) float64{
		"equal costs":              func(int) float64 { return 1000 },
		"costly keys' state least": func(n int) float64 { return float64(1000 + n) },
		"cheap keys' state least":  func(n int) float64 { return float64(1000 - n) },
	} {
		s := onOne(make([]float64, 20)...)
		for i := range s.Cost {
			s.Cost[i], s.State[i] = cost(i), float64(1020-i)
		}
		c, err := compact.Compress(s, compact.Options{Degree: 1, Scales: compact.Scales{Cost: 1000, State: 1000}})
		if err != nil || len(c.Records) != 1 {
			t.Fatalf("%s: %v, %+v", name, err, c)
		}
		move := c.Records[0]
		move.Planned, move.Count = 8, 5
		moves, err := c.Resolve([]compact.Record{move})
		if err != nil {
			t.Fatal(err)
		}
		real, state := 0.0, 0.0
		for _, m := range moves {
			real, state = real+s.Cost[m.Item], state+s.State[m.Item]
		}
		if planned := 5 * c.Items.Cost[0]; real < planned {
			t.Errorf("%s: the keys cost %v in all, planned with %v", name, real, planned)
		}
		if least := 1001.0 + 1002 + 1003 + 1004 + 1005; state != least && name != "cheap keys' state least" {
			t.Errorf("%s: keys of a state of %v, the least is %v", name, state, least)
		}
	}
}

// split shuffles moves and cuts some in two.
func split(r *rand.Rand, moves []compact.Record) []compact.Record {
	var parts []compact.Record
	for _, m := range moves {
		if m.Count > 1 {
			part := m
			part.Count = 1 + r.Int64N(m.Count-1)
			m.Count -= part.Count
			parts = append(parts, part)
		}
		parts = append(parts, m)
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return parts
}

func TestResolveErrors(t *testing.T) {
	s := onOne(4, 4, 4, 1)
	s.Instances = append(s.Instances, planner.Instance{ID: 9, Capacity: 1, Drained: true},
		planner.Instance{ID: 10, Capacity: 1, Partial: true, Frozen: true})
	c := compress(t, s, 8)
	good := compact.Record{Planned: 8, Current: 3, Hash: 8, Cost: 4, State: 1, Count: 2}
	if moves, err := c.Resolve([]compact.Record{good}); err != nil || len(moves) != 2 {
		t.Fatalf("%v, %v", moves, err)
	}
	if moves, err := c.Resolve(nil); err != nil || len(moves) != 0 {
		t.Errorf("of nothing: %v, %v", moves, err)
	}
	stay := good
	stay.Planned, stay.Count = 3, 3
	if moves, err := c.Resolve([]compact.Record{stay}); err != nil || len(moves) != 0 {
		t.Errorf("of what stays: %v, %v", moves, err)
	}
	for name, change := range map[string]func(*compact.Record){
		"no such cost":          func(r *compact.Record) { r.Cost = 2 },
		"no such state":         func(r *compact.Record) { r.State = 2 },
		"no such instance":      func(r *compact.Record) { r.Current = 5 },
		"another hash instance": func(r *compact.Record) { r.Hash = 3 },
		"to no instance":        func(r *compact.Record) { r.Planned = planner.NoInstance },
		"to an unknown one":     func(r *compact.Record) { r.Planned = 4 },
		"to a drained one":      func(r *compact.Record) { r.Planned = 9 },
		"to a frozen one":       func(r *compact.Record) { r.Planned = 10 },
		"no keys":               func(r *compact.Record) { r.Count = 0 },
		"fewer than none":       func(r *compact.Record) { r.Count = -1 },
		"too many":              func(r *compact.Record) { r.Count = 4 },
		"too many together":     func(r *compact.Record) { r.Count = 2 },
	} {
		bad := good
		change(&bad)
		first := good
		first.Count = 1 + int64(len(name)%2)
		if name == "too many together" {
			first.Count = 2
		}
		_, err := c.Resolve([]compact.Record{first, bad})
		field := map[bool]string{true: "Count", false: ""}[bad.Count != good.Count || name == "too many together"]
		if bad.Planned != good.Planned {
			field = "Planned"
		}
		wantInputError(t, name, err, 1, field)
	}
}
