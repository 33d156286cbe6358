package compact_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/compact"
	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// onOne is a snapshot of keys on the first of two instances, whose hash instance
// is the second.
func onOne(costs ...float64) *planner.Snapshot {
	s := &planner.Snapshot{Instances: []planner.Instance{{ID: 3, Capacity: 1}, {ID: 8, Capacity: 1}},
		Keys: planner.NewKeys(len(costs))}
	for i, c := range costs {
		s.Keys.Append(fmt.Appendf(nil, "k%d", i))
		s.Cost, s.State = append(s.Cost, c), append(s.State, 1)
		s.Current, s.Hash = append(s.Current, 0), append(s.Hash, 1)
	}
	return s
}

// The worked example as costs of keys. Of the five keys of cost 1 the one that
// comes first in canonical order counts 2; of the two of cost 2 none differs.
func TestCompressWorkedExample(t *testing.T) {
	s := onOne(1, 2, 1, 8, 1, 3, 1, 6, 2, 1)
	c := compress(t, s, 4)
	if c.Scales != (compact.Scales{Cost: 1, State: 1}) {
		t.Errorf("scales %v, want 1", c.Scales)
	}
	var odd int
	for _, i := range keysOn(s, 0, s.Cost) {
		if s.Cost[i] == 1 {
			odd = i
			break
		}
	}
	want := map[float64]float64{8: 8, 6: 4, 3: 4, 2: 2, 1: 1}
	for i, cost := range s.Cost {
		φ := want[cost]
		if i == odd {
			φ = 2
		}
		if got := c.Records[c.ClassOf[i]].Cost; got != φ {
			t.Errorf("%s of cost %v counts %v, want %v", s.Keys.At(i), cost, got, φ)
		}
	}
	if len(c.Records) != 4 {
		t.Errorf("%d records, want 4: %v", len(c.Records), c.Records)
	}
}

// The trap of ⌊max/R⌋, with several instances and given scales.
func TestCompressEqualValues(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	s := onOne(make([]float64, 700)...)
	for i := range s.Cost {
		s.Cost[i], s.State[i], s.Current[i] = 511, 511, int32(r.IntN(2))
	}
	scales := compact.Scales{Cost: 1, State: 1}
	c, err := compact.Compress(s, compact.Options{Degree: 256, Scales: scales})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkCompression(c, 256, scales, true); err != nil {
		t.Error(err)
	}
	c = compress(t, s, 256)
	if len(c.Records) != 2 || c.Records[0].Cost != 1 || c.Records[0].State != 1 || c.Scales.Cost != 511 {
		t.Errorf("of the smallest value: %+v, %v", c.Records, c.Scales)
	}
}

func TestCompressAgainstLiteral(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	for n := range deep.Cases(4000) {
		kase := plannertest.Tiny(r)
		if n%4 == 0 {
			kase = plannertest.Medium(r, 20+r.IntN(150), 1+r.IntN(6))
		}
		kase.Counted = false
		s, degree := kase.Snapshot(), 1<<r.IntN(9)
		var scales compact.Scales
		exact := true
		switch r.IntN(5) {
		case 0:
			scales.Cost = math.Ldexp(1, r.IntN(6)-2)
		case 1:
			scales = compact.Scales{Cost: math.Ldexp(1, r.IntN(9)-2), State: math.Ldexp(1, r.IntN(9)-2)}
		case 2: // fractions
			exact = false
			for i := range s.Cost {
				s.Cost[i] *= 0.01 + r.Float64()
			}
		case 3: // a single huge value
			s.Cost[r.IntN(s.Len())] = float64(20_000 + r.IntN(20_000))
		}
		c, err := compact.Compress(s, compact.Options{Degree: degree, Scales: scales})
		if err != nil {
			t.Fatal(err)
		}
		// Some other unit than a power of two makes quotients inexact.
		exact = exact && isPowerOfTwo(c.Scales.Cost) && isPowerOfTwo(c.Scales.State)
		if err := plannertest.CheckSnapshot(c.Items); err != nil {
			t.Fatalf("%v\n%s", err, kase)
		}
		if err := checkCompression(c, degree, scales, exact); err != nil {
			t.Fatalf("case %d, R = %d, scales %v: %v\n%s", n, degree, scales, err, kase)
		}
	}
}

func isPowerOfTwo(x float64) bool {
	frac, _ := math.Frexp(x)
	return frac == 0.5
}

// The contract of the package's documentation, for any values: sums are off by at
// most R·u/2, values of at least u by a factor of at most two and by less than
// R·u.
func TestErrorBound(t *testing.T) {
	t.Parallel()
	amount := rapid.OneOf(
		rapid.Float64Range(0, 1000), rapid.Float64Range(0, planner.MaxAmount), rapid.Float64Range(0, 1e-280),
		rapid.Just(0.0), rapid.Just(511.0), rapid.Just(5e-324), rapid.Just(float64(planner.MaxAmount)),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 1<<20).Draw(t, "whole")) }),
		rapid.Custom(func(t *rapid.T) float64 { return math.Ldexp(1, rapid.IntRange(-1074, 963).Draw(t, "exponent")) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		costs := rapid.SliceOfN(amount, 1, 80).Draw(t, "costs")
		s := onOne(costs...)
		s.State = rapid.SliceOfN(amount, len(costs), len(costs)).Draw(t, "states")
		for i := range costs {
			s.Current[i] = int32(rapid.IntRange(0, 1).Draw(t, "instance"))
		}
		degree := 1 << rapid.IntRange(0, 30).Draw(t, "r")
		c, err := compact.Compress(s, compact.Options{Degree: degree})
		if err != nil {
			t.Fatal(err)
		}
		if err := plannertest.CheckSnapshot(c.Items); err != nil {
			t.Fatal(err)
		}
		check := func(what string, values []float64, u float64, of func(compact.Record) float64) {
			var off, sum [2]float64
			for i, x := range values {
				φ := of(c.Records[c.ClassOf[i]]) * u
				switch {
				case math.IsInf(φ, 1):
					t.Fatalf("%s %v counts %v", what, x, φ)
				case x == 0 && φ != 0, x >= u && (φ <= x/2*(1-1e-15) || φ > 2*x*(1+1e-15)),
					math.Abs(φ-x) > float64(degree)*u*(1+1e-15)+1e-15*x:
					t.Fatalf("%s %v counts %v, with R = %d and u = %v", what, x, φ, degree, u)
				}
				off[s.Current[i]] += φ/2 - x/2
				sum[s.Current[i]] += x / 2
			}
			for d := range off {
				if math.Abs(off[d]) > float64(degree)/4*u+float64(len(values))*(1e-15*sum[d]+5e-324) {
					t.Fatalf("%s: the sum on instance %d is %v off, with R = %d and u = %v", what, d, 2*off[d], degree, u)
				}
			}
		}
		check("cost", s.Cost, c.Scales.Cost, func(r compact.Record) float64 { return r.Cost })
		check("state", s.State, c.Scales.State, func(r compact.Record) float64 { return r.State })
	})
}

// At R = 1 multiples of the scale stay what they are.
func TestFinestDegree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		costs := make([]float64, 1+r.IntN(100))
		unit := math.Ldexp(1, r.IntN(1000)-500)
		for i := range costs {
			costs[i] = float64(r.IntN(1<<r.IntN(20))) * unit
		}
		s := onOne(costs...)
		c, err := compact.Compress(s, compact.Options{Degree: 1, Scales: compact.Scales{Cost: unit}})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range costs {
			if got := c.Items.Cost[c.ClassOf[i]]; got != x {
				t.Fatalf("cost %v counts %v", x, got)
			}
		}
	}
}

func TestCompressRowOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	for range deep.Cases(600) {
		kase := plannertest.Medium(r, 20+r.IntN(150), 1+r.IntN(6))
		kase.Counted = false
		for i := range kase.Items {
			kase.Items[i].Cost *= 0.1 + r.Float64()*float64(r.IntN(2))
		}
		s, degree := kase.Snapshot(), 1<<r.IntN(9)
		c := compress(t, s, degree)
		order := r.Perm(len(kase.Items))
		other := kase.Clone()
		for i, j := range order {
			other.Items[i] = kase.Items[j]
		}
		d := compress(t, other.Snapshot(), degree)
		for i, j := range order {
			if c.Records[c.ClassOf[j]] != d.Records[d.ClassOf[i]] {
				t.Fatalf("key %q is in %+v or %+v\n%s", kase.Items[j].Key, c.Records[c.ClassOf[j]], d.Records[d.ClassOf[i]], kase)
			}
		}
		if !slices.Equal(c.Items.Cost, d.Items.Cost) || !slices.Equal(c.Items.State, d.Items.State) {
			t.Fatalf("costs %v or %v, states %v or %v\n%s", c.Items.Cost, d.Items.Cost, c.Items.State, d.Items.State, kase)
		}
	}
}

func TestCompressErrors(t *testing.T) {
	s := onOne(1, 2, 3)
	for _, x := range []struct {
		field   string
		options compact.Options
	}{
		{"Degree", compact.Options{}},
		{"Degree", compact.Options{Degree: 6}},
		{"Scales.Cost", compact.Options{Degree: 4, Scales: compact.Scales{Cost: -1}}},
		{"Scales.Cost", compact.Options{Degree: 4, Scales: compact.Scales{Cost: math.NaN()}}},
		{"Scales.State", compact.Options{Degree: 4, Scales: compact.Scales{State: math.Inf(1)}}},
		{"Scales.State", compact.Options{Degree: 4, Scales: compact.Scales{State: 1e291}}},
	} {
		_, err := compact.Compress(s, x.options)
		wantInputError(t, fmt.Sprint(x.options), err, -1, x.field)
		wantInputError(t, fmt.Sprint(x.options), x.options.Validate(), -1, x.field)
	}
	s.Count = []int64{1, 1, 1}
	_, err := compact.Compress(s, compact.Options{Degree: 1})
	wantInputError(t, "counts", err, -1, "Count")
}

// A scale far below the values must not make infinities of them.
func TestCompressWithExtremeScales(t *testing.T) {
	for _, scale := range []float64{5e-324, 1e-300, 1, 1e290} {
		for _, x := range []float64{0, 1e-290, 1, 12345.678, 1e290} {
			s := onOne(x, x, x/2, 0)
			c, err := compact.Compress(s, compact.Options{Degree: 8, Scales: compact.Scales{Cost: scale}})
			if err != nil {
				wantInputError(t, fmt.Sprintf("scale %v of %v", scale, x), err, -1, "Scales.Cost")
				continue
			}
			if err := plannertest.CheckSnapshot(c.Items); err != nil {
				t.Errorf("scale %v of %v: %v", scale, x, err)
			}
			if got, want := loads(c.Items)[0], 2.5*x; !near(got, want, want) {
				t.Errorf("scale %v of %v: load %v, want %v", scale, x, got, want)
			}
		}
	}
}

// Means must not exceed the bound of what they are means of.
func TestCompressLargestAmounts(t *testing.T) {
	for _, n := range []int{1, 3, 700, 5000, 40_000} {
		s := onOne(make([]float64, n)...)
		for i := range s.Cost {
			s.Cost[i], s.State[i] = planner.MaxAmount, planner.MaxAmount
		}
		compress(t, s, 8)
	}
}

// Many small costs next to a great one: their mean is theirs.
func TestCompressSmallAmounts(t *testing.T) {
	s := onOne(make([]float64, 200_000)...)
	for i := range s.Cost {
		s.Cost[i], s.State[i] = 0.1, 0.3
	}
	s.Cost[17], s.State[17] = 1e12, 1e12
	c := compress(t, s, 8)
	if i := c.ClassOf[0]; c.Items.Cost[i] != 0.1 || c.Items.State[i] != 0.3 {
		t.Errorf("cost %v and state %v, want 0.1 and 0.3", c.Items.Cost[i], c.Items.State[i])
	}
}

// No keys at all, and nothing but zeros.
func TestCompressNothing(t *testing.T) {
	c := compress(t, onOne(), 8)
	if len(c.Records) != 0 || c.Items.Len() != 0 || len(c.Items.Instances) != 2 {
		t.Errorf("%+v", c.Records)
	}
	s := onOne(0, 0, 0)
	s.State = nil
	c = compress(t, s, 8)
	if len(c.Records) != 1 || c.Records[0] != (compact.Record{Planned: 3, Current: 3, Hash: 8, State: 1, Count: 3}) {
		t.Errorf("%+v", c.Records)
	}
	if !(c.Scales.Cost > 0) || c.Scales.State != 1 {
		t.Errorf("scales %v", c.Scales)
	}
}
