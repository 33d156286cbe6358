package compact_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

func wantInputError(t *testing.T, what string, err error, row int, field string) {
	t.Helper()
	var in *planner.InputError
	if !errors.As(err, &in) || in.Row != row || in.Field != field {
		t.Errorf("%s: error %v, want one of field %q, row %d", what, err, field, row)
	}
}

func compress(t testing.TB, s *planner.Snapshot, degree int) *compact.Compression {
	t.Helper()
	if err := plannertest.CheckSnapshot(s); err != nil {
		t.Fatalf("the keys: %v", err)
	}
	c, err := compact.Compress(s, compact.Options{Degree: degree})
	if err != nil {
		t.Fatal(err)
	}
	if err := plannertest.CheckSnapshot(c.Items); err != nil {
		t.Fatal(err)
	}
	return c
}

func stateOf(s *planner.Snapshot, i int) float64 {
	if s.State == nil {
		return 1
	}
	return s.State[i]
}

// near compares sums that may lack the last bits of numbers of a size.
func near(got, want, size float64) bool { return math.Abs(got-want) <= 1e-12*size }

// checkCompression recounts a compression from its keys. With exact, all values
// over their scales and the sums of them are exact in float64.
func checkCompression(c *compact.Compression, degree int, scales compact.Scales, exact bool) error {
	return errors.Join(
		checkScale("cost", c.Scales.Cost, scales.Cost, c.Keys.Cost),
		checkStateScale(c, scales.State),
		checkRecords(c),
		checkWalks("cost", c, degree, c.Keys.Cost, c.Scales.Cost, func(r compact.Record) float64 { return r.Cost }, exact),
		checkWalks("state", c, degree, statesOf(c.Keys), c.Scales.State,
			func(r compact.Record) float64 { return r.State }, exact),
		checkItems(c),
		checkLoads(c),
	)
}

func statesOf(s *planner.Snapshot) []float64 {
	states := make([]float64, s.Len())
	for i := range states {
		states[i] = stateOf(s, i)
	}
	return states
}

// checkScale compares a scale with the given one or, if that is 0, with what it
// has to be.
func checkScale(what string, got, given float64, values []float64) error {
	want, greatest := given, 0.0
	if given == 0 {
		want = math.Inf(1)
		for _, v := range values {
			greatest = max(greatest, v)
			if v > 0 {
				want = min(want, v)
			}
		}
		want = max(want, greatest*0x1p-53)
	}
	switch {
	case math.IsInf(want, 1) && got > 0: // nothing but zeros
		return nil
	case got != want:
		return fmt.Errorf("scale of %s is %v, want %v", what, got, want)
	}
	return nil
}

// checkStateScale allows for states that are not known: 1 each, whatever scale is
// given.
func checkStateScale(c *compact.Compression, given float64) error {
	if c.Keys.State == nil {
		given = 1
	}
	return checkScale("state", c.Scales.State, given, statesOf(c.Keys))
}

// checkRecords checks that records are the classes that keys say they are in:
// merged, in order, with their counts.
func checkRecords(c *compact.Compression) error {
	counts := make([]int64, len(c.Records))
	id := func(d int32) int32 { return c.Keys.Instances[d].ID }
	for i, n := range c.ClassOf {
		r := c.Records[n]
		counts[n]++
		if r.Current != id(c.Keys.Current[i]) || r.Hash != id(c.Keys.Hash[i]) {
			return fmt.Errorf("key %q is in %+v", c.Keys.Keys.At(i), r)
		}
	}
	for n, r := range c.Records {
		if r.Planned != r.Current || r.Count != counts[n] || r.Count < 1 {
			return fmt.Errorf("%d keys are in %+v", counts[n], r)
		}
		if n > 0 && compareRecords(c.Records[n-1], r) >= 0 {
			return fmt.Errorf("%+v comes after %+v", r, c.Records[n-1])
		}
	}
	return nil
}

func compareRecords(a, b compact.Record) int {
	return cmp.Or(cmp.Compare(a.Current, b.Current), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Cost, b.Cost),
		cmp.Compare(a.State, b.State), cmp.Compare(a.Planned, b.Planned))
}

// checkWalks walks the values of each instance in the order of the paper, equal
// ones in canonical key order, and compares what they became with the literal
// walk; and their sum with the error bound.
func checkWalks(what string, c *compact.Compression, degree int, values []float64, scale float64,
	of func(compact.Record) float64, exact bool) error {
	s, greatest := c.Keys, 0.0
	for _, v := range values {
		greatest = max(greatest, v/scale)
	}
	for d := range s.Instances {
		walk := newLiteralWalk(degree, greatest)
		off, sum := new(big.Rat), 0.0
		keys := keysOn(s, int32(d), values)
		slack := 0.0
		if !exact {
			slack = 0x1p-48 * float64(len(keys)) * max(float64(degree), greatest)
		}
		for _, i := range keys {
			φ := of(c.Records[c.ClassOf[i]])
			if err := walk.follow(values[i]/scale, φ, slack); err != nil {
				return fmt.Errorf("%s of key %q on instance %d: %w", what, s.Keys.At(i), d, err)
			}
			sum += values[i]
			real := new(big.Rat).SetFloat64(values[i])
			estimated := new(big.Rat).Mul(new(big.Rat).SetFloat64(φ), new(big.Rat).SetFloat64(scale))
			off.Add(off, real.Sub(real, estimated))
		}
		δ, _ := off.Abs(off).Float64()
		if bound := float64(degree) * scale / 2; δ > bound+1e-15*sum {
			return fmt.Errorf("%s on instance %d: the sum is %v off, more than %v", what, d, δ, bound)
		}
		if degree == 1 && exact && greatest == math.Trunc(greatest) && allWhole(values, scale) && δ != 0 {
			return fmt.Errorf("%s on instance %d: the sum is %v off at R = 1", what, d, δ)
		}
	}
	return nil
}

func allWhole(values []float64, scale float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v/scale != math.Trunc(v/scale) })
}

// keysOn lists the keys of an instance in the order in which they are walked.
func keysOn(s *planner.Snapshot, d int32, values []float64) []int {
	var keys []int
	for i, at := range s.Current {
		if at == d {
			keys = append(keys, i)
		}
	}
	slices.SortFunc(keys, func(a, b int) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), compareKeys(s.Keys.At(a), s.Keys.At(b)))
	})
	return keys
}

// compareKeys is the canonical order.
func compareKeys(a, b []byte) int {
	return cmp.Or(cmp.Compare(planner.KeyHash(a), planner.KeyHash(b)), bytes.Compare(a, b))
}

// checkItems checks that the snapshot of items says what the records say, and
// that costs and states are the means of those of their keys.
func checkItems(c *compact.Compression) error {
	cost, state := make([]float64, len(c.Records)), make([]float64, len(c.Records))
	for i, n := range c.ClassOf {
		cost[n] += c.Keys.Cost[i] / float64(c.Records[n].Count)
		state[n] += stateOf(c.Keys, i) / float64(c.Records[n].Count)
	}
	return checkItemsOf(&c.Classes, cost, state)
}

// checkItemsOf checks items whose real costs and states are known.
func checkItemsOf(c *compact.Classes, cost, state []float64) error {
	s := c.Items
	if s.Len() != len(c.Records) || s.Keys.Len() != s.Len() || s.State != nil && len(s.State) != s.Len() ||
		len(s.Count) != s.Len() {
		return fmt.Errorf("%d items, %d keys, %d states and %d counts of %d records",
			s.Len(), s.Keys.Len(), len(s.State), len(s.Count), len(c.Records))
	}
	for n, r := range c.Records {
		from, home := s.Instances[s.Current[n]].ID, s.Instances[s.Hash[n]].ID
		if from != r.Current || home != r.Hash || !near(s.Cost[n], cost[n], cost[n]) ||
			!near(stateOf(s, n), state[n], state[n]) || s.Count[n] != r.Count {
			return fmt.Errorf("item %d is of cost %v, state %v, %d keys, on %d, hash %d; want cost %v, state %v as %+v",
				n, s.Cost[n], stateOf(s, n), s.Count[n], from, home, cost[n], state[n], r)
		}
	}
	return nil
}

// checkLoads checks that the items' loads and the size of their table are the
// real ones.
func checkLoads(c *compact.Compression) error {
	real, items := c.Keys, c.Items
	if !reflect.DeepEqual(items.Instances, real.Instances) {
		return fmt.Errorf("instances %+v, want %+v", items.Instances, real.Instances)
	}
	got, want := loads(items), loads(real)
	for d := range want {
		if !near(got[d], want[d], want[d]) {
			return fmt.Errorf("instance %d: load %v, want %v", d, got[d], want[d])
		}
	}
	table := func(s *planner.Snapshot) int64 {
		return plannertest.ScoreOf(s, planner.Options{}, plannertest.CurrentAssignment(s)).Table
	}
	retained := int64(0)
	if items.Table == nil { // then the entries of absent keys are only counted
		retained = items.Retained
	}
	if items.Partial != real.Partial || table(items)+retained != table(real) {
		return fmt.Errorf("a table of %d entries, partial %t; want %d, %t", table(items), items.Partial,
			table(real), real.Partial)
	}
	return nil
}

// loads are the current loads.
func loads(s *planner.Snapshot) []float64 {
	load := make([]float64, len(s.Instances))
	for d, in := range s.Instances {
		load[d] = in.ResidualCost
	}
	for i, d := range s.Current {
		n := 1.0
		if s.Count != nil {
			n = float64(s.Count[i])
		}
		load[d] += s.Cost[i] * n
	}
	return load
}

// checkError recounts the error of the estimated loads, before and after.
func checkError(c *compact.Compression, p *compact.KeyPlan) error {
	s := c.Keys
	if len(p.Error) != len(s.Instances) {
		return fmt.Errorf("%d errors of %d instances", len(p.Error), len(s.Instances))
	}
	before := slices.Clone(s.Current)
	after, all := slices.Clone(s.Current), 0.0
	for _, l := range loads(s) {
		all += l
	}
	for _, m := range p.Moves {
		after[m.Item] = m.To
	}
	for d, in := range s.Instances {
		for _, x := range []struct {
			when string
			got  float64
			at   []int32
		}{{"before", p.Error[d].Before, before}, {"after", p.Error[d].After, after}} {
			actual, estimated := in.ResidualCost, in.ResidualCost
			for i, at := range x.at {
				if int(at) == d {
					actual += s.Cost[i]
					estimated += c.Records[c.ClassOf[i]].Cost * c.Scales.Cost
				}
			}
			want := 0.0
			if actual != estimated {
				want = math.Abs(estimated-actual) / actual
			}
			unseen := 0x1p-56 * all / actual // costs below 2⁻⁶² of all count as nothing
			if !(math.Abs(x.got-want) <= 1e-12*(1+want)+unseen*(1+want)) && x.got != want {
				return fmt.Errorf("error of instance %d %s is %v, want |%v − %v| / %v = %v", d, x.when, x.got, estimated,
					actual, actual, want)
			}
		}
	}
	return nil
}
