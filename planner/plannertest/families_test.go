package plannertest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A case taken apart and varied is a snapshot as it must be, and the one it was of.
func TestFamilyCases(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	counted, drained, added, greatest, least := 0, 0, 0, 0.0, math.Inf(1)
	for range 500 {
		c := Tiny(r)
		if c.NoState { // which counts 1 each
			for i := range c.Items {
				c.Items[i].State = 1
			}
		}
		if d := CaseOf(c.Snapshot(), c.Options); len(d.Absent) == len(c.Absent) {
			if d.Absent = c.Absent; d.String() != c.String() {
				t.Fatalf("%s\nis taken for\n%s", c, d)
			}
		} else {
			t.Fatalf("%s\nhas %d entries of absent keys", c, len(d.Absent))
		}
		if c.Vary(r); r.IntN(2) == 0 {
			c.Mix(r)
		}
		if err := CheckSnapshot(c.Snapshot()); err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		counted += b2i(c.Counted)
		for _, d := range c.Instances {
			drained, added = drained+b2i(d.Drained), added+b2i(d.Added)
		}
		for _, it := range c.Items {
			if greatest = max(greatest, it.Cost); it.Cost > 0 {
				least = min(least, it.Cost)
			}
		}
	}
	if counted < 100 || drained < 50 || added < 50 || greatest < 1e280 || least > 1e-280 {
		t.Errorf("%d counted, %d drained, %d added; costs from %v to %v", counted, drained, added, least, greatest)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
