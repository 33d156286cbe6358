package compact_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/compact"
	"plannerd/internal/lab/deep"
)

// literalWalk is HLHE as mixed-routing §IV-B writes it down: the levels in a
// list, and sums in exact numbers.
type literalWalk struct {
	levels    []float64 // y_m, …, y_1, ascending, and 0 before them
	deviation *big.Rat
}

func newLiteralWalk(degree int, greatest float64) *literalWalk {
	w := &literalWalk{levels: []float64{0}, deviation: new(big.Rat)}
	for y := 1; y < degree; y *= 2 {
		w.levels = append(w.levels, float64(y))
	}
	for y := degree; ; y += degree {
		w.levels = append(w.levels, float64(y))
		if float64(y) >= greatest {
			return w
		}
	}
}

// m is the number of levels.
func (w *literalWalk) m() int { return len(w.levels) - 1 }

// neighbours are the candidates of x.
func (w *literalWalk) neighbours(x float64) (lower, upper float64) {
	j, found := slices.BinarySearch(w.levels, x)
	if found && (j == 0 || j == w.m()) {
		return x, x
	}
	if !found {
		j--
	}
	return w.levels[j], w.levels[j+1]
}

// after is δ once x is represented by y.
func (w *literalWalk) after(x, y float64) *big.Rat {
	d := new(big.Rat).Sub(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
	return d.Add(d, w.deviation)
}

// next is φ(x).
func (w *literalWalk) next(x float64) float64 {
	y := w.choose(x)
	w.deviation = w.after(x, y)
	return y
}

func (w *literalWalk) choose(x float64) float64 {
	lower, upper := w.neighbours(x)
	down, up := w.after(x, lower), w.after(x, upper)
	if up.Abs(up).Cmp(down.Abs(down)) < 0 {
		return upper
	}
	return lower
}

// follow takes y for φ(x), and returns an error unless it is the candidate that
// leaves |δ| least, by no more than slack greater than with the other.
func (w *literalWalk) follow(x, y, slack float64) error {
	lower, upper := w.neighbours(x)
	if y != lower && y != upper {
		return fmt.Errorf("φ(%v) = %v, want %v or %v", x, y, lower, upper)
	}
	best, other := w.choose(x), w.after(x, lower+upper-y)
	w.deviation = w.after(x, y)
	if y == best {
		return nil
	}
	mine, _ := w.deviation.Float64()
	least, _ := other.Float64()
	if math.Abs(mine)-math.Abs(least) > slack || slack == 0 {
		return fmt.Errorf("φ(%v) = %v leaves δ = %v, want %v, which leaves %v", x, y, mine, best, least)
	}
	return nil
}

func TestHLHEWorkedExample(t *testing.T) {
	values := []float64{8, 6, 3, 2, 2, 1, 1, 1, 1, 1}
	want := []float64{8, 4, 4, 2, 2, 2, 1, 1, 1, 1}
	levels := compact.NewLevels(4, 8)
	if levels.Len() != 4 {
		t.Errorf("m = %v, want 4", levels.Len())
	}
	w := compact.Walk{Levels: levels}
	literal := newLiteralWalk(4, 8)
	for i, x := range values {
		if got := w.Next(x); got != want[i] {
			t.Errorf("φ(x_%d) = %v, want %v", i+1, got, want[i])
		}
		if y := literal.next(x); y != want[i] {
			t.Errorf("the oracle's φ(x_%d) = %v, want %v", i+1, y, want[i])
		}
	}
	if w.Deviation != 0 {
		t.Errorf("δ = %v, want 0", w.Deviation)
	}
}

// With ⌊max/R⌋ instead of ⌈max/R⌉ the highest level would be 256, and each of
// these values off by half.
func TestHLHEHighestLevelIsAboveAllValues(t *testing.T) {
	w := compact.Walk{Levels: compact.NewLevels(256, 511)}
	sum := 0.0
	const n = 1000
	for range n {
		sum += w.Next(511)
	}
	if off := math.Abs(sum - 511*n); off > 128 || off != math.Abs(w.Deviation) {
		t.Errorf("Σφ is %v off, δ = %v", off, w.Deviation)
	}
}

// values makes up to 60 values in non-increasing order, and says whether their
// sums are exact in float64.
func values(r *rand.Rand) (xs []float64, exact bool) {
	n, top, exact := 1+r.IntN(60), 1+r.IntN(1<<r.IntN(14)), true
	draw := func() float64 { return float64(1 + r.IntN(top)) }
	switch r.IntN(7) {
	case 0:
		draw = func() float64 { return float64(r.IntN(8*top)) / 8 } // also below 1
	case 1:
		draw, exact = func() float64 { return 1 + float64(top)*r.Float64() }, false
	case 2:
		draw, exact = func() float64 { return 3 * r.ExpFloat64() }, false
	case 3:
		draw = func() float64 { return float64(top) }
	case 4:
		draw = func() float64 { return float64(1 + r.IntN(3)) }
	}
	for range n {
		xs = append(xs, draw())
	}
	switch r.IntN(6) {
	case 0:
		xs[0] = float64(20_000 + r.IntN(20_000))
	case 1:
		for range n / 3 {
			xs[r.IntN(n)] = 0
		}
	}
	slices.SortFunc(xs, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	return xs, exact
}

func TestHLHEAgainstLiteral(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range deep.Cases(6000) {
		xs, exact := values(r)
		degree := 1 << r.IntN(9)
		greatest := max(xs[0], 1)
		if r.IntN(4) == 0 {
			greatest *= 1 + r.Float64() // another instance has the greatest value
		}
		levels := compact.NewLevels(degree, greatest)
		w, literal := compact.Walk{Levels: levels}, newLiteralWalk(degree, greatest)
		if levels.Len() != float64(literal.m()) {
			t.Fatalf("R = %d, up to %v: %v levels, want %d", degree, greatest, levels.Len(), literal.m())
		}
		slack := 0.0
		if !exact {
			slack = 0x1p-50 * float64(degree*len(xs))
		}
		for _, x := range xs {
			lower, upper := levels.Neighbours(x)
			if l, u := literal.neighbours(x); l != lower || u != upper {
				t.Fatalf("R = %d, up to %v: neighbours of %v are %v and %v, want %v and %v", degree, greatest, x,
					lower, upper, l, u)
			}
			if err := literal.follow(x, w.Next(x), slack); err != nil {
				t.Fatalf("R = %d, up to %v, of %v: %v", degree, greatest, xs, err)
			}
			if got, want := w.Deviation, literal.deviation; exact && want.Cmp(new(big.Rat).SetFloat64(got)) != 0 {
				t.Fatalf("R = %d, of %v: δ = %v after %v, want %v", degree, xs, got, x, want)
			}
		}
	}
}

// The levels at, just above and just below each level.
func TestNeighboursOfLevels(t *testing.T) {
	for degree := 1; degree <= 256; degree *= 2 {
		for _, greatest := range []float64{0.5, 1, 2, 255, 256, 256.5, 257, 5000} {
			levels, literal := compact.NewLevels(degree, greatest), newLiteralWalk(degree, greatest)
			for j, y := range literal.levels {
				for _, x := range []float64{y, math.Nextafter(y, 0), math.Nextafter(y, math.Inf(1))} {
					if j == literal.m() && x > y {
						continue
					}
					lower, upper := levels.Neighbours(x)
					if l, u := literal.neighbours(x); l != lower || u != upper {
						t.Errorf("R = %d, up to %v: neighbours of %v are %v and %v, want %v and %v", degree, greatest, x,
							lower, upper, l, u)
					}
				}
			}
		}
	}
}

// The levels of what nobody would list.
func TestNeighboursOfLargeValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.IntRange(0, 30).Draw(t, "r")
		greatest := rapid.Float64Range(1, 1<<53).Draw(t, "greatest")
		x := min(greatest, greatest*rapid.Float64Range(0, 1).Draw(t, "x"))
		degree := math.Ldexp(1, r)
		levels := compact.NewLevels(1<<r, greatest)
		if want := float64(r) + max(1, math.Ceil(greatest/degree)); levels.Len() != want {
			t.Errorf("m = %v, want %v", levels.Len(), want)
		}
		lower, upper := levels.Neighbours(x)
		wantLower, wantUpper := 0.0, 1.0 // of values below 1
		switch {
		case x >= degree:
			wantLower = math.Floor(x/degree) * degree
			if wantUpper = wantLower + degree; wantLower >= greatest {
				wantUpper = wantLower
			}
		case x >= 1:
			_, e := math.Frexp(x)
			wantLower, wantUpper = math.Ldexp(1, e-1), math.Ldexp(1, e)
		case x == 0:
			wantUpper = 0
		}
		if lower != wantLower || upper != wantUpper {
			t.Errorf("R = %v: neighbours of %v are %v and %v, want %v and %v", degree, x, lower, upper, wantLower, wantUpper)
		}
	})
}

func TestValidateDegree(t *testing.T) {
	for r := range 31 {
		if err := compact.ValidateDegree(1 << r); err != nil {
			t.Errorf("2^%d: %v", r, err)
		}
	}
	for _, degree := range []int{-8, -1, 0, 3, 12, 255, compact.MaxDegree + 1, 2 * compact.MaxDegree, math.MinInt} {
		wantInputError(t, fmt.Sprint(degree), compact.ValidateDegree(degree), -1, "Degree")
	}
}
