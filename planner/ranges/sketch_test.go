package ranges

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"plannerd/planner"
	"plannerd/sdk/go/sketch"
)

// arrival is a key as it comes in.
type arrival struct {
	key    int
	weight int64
}

// A distribution makes arrivals of keys that are numbers.
var distributions = map[string]func(rng *rand.Rand, n int) []arrival{
	"ascending": func(_ *rand.Rand, n int) []arrival {
		return generate(n, func(i int) arrival { return arrival{i, 1} })
	},
	"descending": func(_ *rand.Rand, n int) []arrival {
		return generate(n, func(i int) arrival { return arrival{n - i, 1} })
	},
	"random": func(rng *rand.Rand, n int) []arrival {
		return generate(n, func(int) arrival { return arrival{rng.IntN(1 << 30), 1} })
	},
	"zipf": func(rng *rand.Rand, n int) []arrival {
		z := rand.NewZipf(rng, 1.1, 1, 1<<20)
		return generate(n, func(int) arrival { return arrival{int(z.Uint64() * 2654435761 % (1 << 30)), 1} })
	},
	"weighted": func(rng *rand.Rand, n int) []arrival {
		return generate(n, func(int) arrival { return arrival{rng.IntN(1 << 30), 1 + rng.Int64N(1000)} })
	},
	"lognormal": func(rng *rand.Rand, n int) []arrival { // a few outweigh all others
		return generate(n, func(int) arrival {
			return arrival{rng.IntN(1 << 30), 1 + int64(math.Exp(8+3*rng.NormFloat64()))}
		})
	},
}

func generate(n int, one func(i int) arrival) []arrival {
	a := make([]arrival, n)
	for i := range a {
		a[i] = one(i)
	}
	return a
}

func keyOf(n int) []byte { return strconv.AppendInt([]byte("key:"), int64(n), 10) }

func exact(t testing.TB, arrivals []arrival) *CDF {
	t.Helper()
	s := stream{keys: planner.NewKeys(len(arrivals))}
	for _, a := range arrivals {
		s.keys.Append(keyOf(a.key))
		s.weights = append(s.weights, a.weight)
	}
	return s.cdf(t)
}

func newSketch(t testing.TB, k int, stream uint64) *sketch.Sketch {
	t.Helper()
	s, err := sketch.New(sketch.Options{K: k, Seed: 7, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func addAll(t testing.TB, s *sketch.Sketch, arrivals []arrival) {
	t.Helper()
	for _, a := range arrivals {
		if err := s.Add(keyOf(a.key), a.weight); err != nil {
			t.Fatal(err)
		}
	}
}

func cdfOf(t testing.TB, s *sketch.Sketch) *CDF {
	t.Helper()
	c, err := FromSketch(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// greatestError is the greatest difference of ranks, at and just behind every key,
// as a share.
func greatestError(truth, c *CDF) float64 {
	worst := int64(0)
	for i := range truth.Len() {
		at, behind := truth.below[i], truth.below[i+1]
		j := c.search(truth.Key(i))
		worst = max(worst, c.below[j]-at, at-c.below[j])
		if j < c.Len() && bytes.Equal(c.Key(j), truth.Key(i)) {
			j++
		}
		worst = max(worst, c.below[j]-behind, behind-c.below[j])
	}
	return truth.share(worst)
}

// The coins are those of fixed seeds: none of the bounds, each of which holds with
// 99 %, may fail.
func TestSketchKeepsItsStatedError(t *testing.T) {
	for name, distribution := range distributions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1, 100, 5000, 50_000} {
				for _, k := range []int{8, 64, 512, 4096} {
					arrivals := distribution(rand.New(rand.NewPCG(uint64(n), uint64(k))), n)
					s := newSketch(t, k, 1)
					addAll(t, s, arrivals)
					c, truth := cdfOf(t, s), exact(t, arrivals)
					got := greatestError(truth, c)
					if got > c.Error() || c.Total() != truth.Total() {
						t.Errorf("n=%d k=%d: error %.5f, stated %.5f; total %d, want %d", n, k, got, c.Error(), c.Total(), truth.Total())
					}
					if truth.Len() <= k && (c.Error() != 0 || c.Confidence() != 1) {
						t.Errorf("n=%d k=%d: %d keys are not kept exactly", n, k, truth.Len())
					}
					if s.Len() > 5*k+2*8*62 {
						t.Errorf("n=%d k=%d: holds %d keys", n, k, s.Len())
					}
					t.Logf("n=%d k=%d: error %.5f, stated %.5f, %d keys", n, k, got, c.Error(), s.Len())
				}
			}
		})
	}
}

// What is stated must stay useful too: n equal weights, with the default k.
func TestStatedErrorOfTheDefault(t *testing.T) {
	s := newSketch(t, 0, 1)
	addAll(t, s, distributions["random"](rand.New(rand.NewPCG(3, 4)), 1_000_000))
	if c := cdfOf(t, s); c.Error() > 0.0011 {
		t.Errorf("states %.5f", c.Error())
	} else {
		t.Logf("states %.5f with %d keys", c.Error(), s.Len())
	}
}

// Over many seeds the errors of a rank cancel out, and their mean square is within
// the variance that the sketch knows of.
func TestRanksAreUnbiased(t *testing.T) {
	arrivals := distributions["weighted"](rand.New(rand.NewPCG(1, 1)), 5000)
	truth := exact(t, arrivals)
	const seeds = 200
	at := keyOf(500_000_000)
	sum, squares, variance := 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		s := newSketch(t, 32, seed)
		addAll(t, s, arrivals)
		e := float64(cdfOf(t, s).Rank(at) - truth.Rank(at))
		sum, squares, variance = sum+e, squares+e*e, s.Variance()
	}
	deviation := math.Sqrt(squares / seeds)
	if mean := sum / seeds; math.Abs(mean) > 4*deviation/math.Sqrt(seeds) {
		t.Errorf("mean error %.0f with a deviation of %.0f", mean, deviation)
	}
	if deviation > 1.1*math.Sqrt(variance) || deviation < 0.2*math.Sqrt(variance) {
		t.Errorf("deviation %.0f, known %.0f", deviation, math.Sqrt(variance))
	}
}

// Followers report differences, the leader merges them in whatever order they come,
// and through whatever intermediate steps.
func TestMergedSketches(t *testing.T) {
	for name, distribution := range distributions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrivals := distribution(rand.New(rand.NewPCG(5, 6)), 60_000)
			truth := exact(t, arrivals)
			parts := func() []*sketch.Sketch { // of uneven size, k and coins
				var all []*sketch.Sketch
				for i, from := 0, 0; from < len(arrivals); i++ {
					to := min(len(arrivals), from+1+i*i*20)
					s := newSketch(t, []int{256, 300, 1000}[i%3], uint64(i))
					addAll(t, s, arrivals[from:to])
					all = append(all, s)
					from = to
				}
				return all
			}
			chain := newSketch(t, 256, 1000)
			for _, s := range parts() {
				merge(t, chain, s)
			}
			backward := newSketch(t, 256, 1001)
			all := parts()
			for i := range all {
				merge(t, backward, all[len(all)-1-i])
			}
			for len(all) > 1 { // a tree
				for i := range len(all) / 2 {
					merge(t, all[i], all[len(all)-1-i])
				}
				all = all[:(len(all)+1)/2]
			}
			for how, s := range map[string]*sketch.Sketch{"chain": chain, "backward": backward, "tree": all[0]} {
				c := cdfOf(t, s)
				if got := greatestError(truth, c); got > c.Error() || c.Total() != truth.Total() {
					t.Errorf("%s: error %.5f, stated %.5f; total %d, want %d", how, got, c.Error(), c.Total(), truth.Total())
				} else {
					t.Logf("%s: error %.5f, stated %.5f", how, got, c.Error())
				}
			}
		})
	}
}

func merge(t testing.TB, into, from *sketch.Sketch) {
	t.Helper()
	if err := into.Merge(from); err != nil {
		t.Fatal(err)
	}
}

// As long as few different keys come in, nothing is lost, however often.
func TestSketchOfFewKeysIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	arrivals := generate(10_000, func(int) arrival { return arrival{rng.IntN(64), rng.Int64N(1 << 40)} })
	a, b := newSketch(t, 64, 1), newSketch(t, 64, 2)
	addAll(t, a, arrivals[:7000])
	addAll(t, b, arrivals[7000:])
	merge(t, a, b)
	if c := cdfOf(t, a); c.Error() != 0 || greatestError(exact(t, arrivals), c) != 0 {
		t.Error("not exact")
	}
}

func TestSameCoinsSameSketch(t *testing.T) {
	arrivals := distributions["lognormal"](rand.New(rand.NewPCG(2, 2)), 20_000)
	binary := func(stream uint64) []byte {
		s := newSketch(t, 100, stream)
		addAll(t, s, arrivals)
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if !bytes.Equal(binary(1), binary(1)) {
		t.Error("the same input gave two sketches")
	}
	if bytes.Equal(binary(1), binary(2)) {
		t.Error("the stream makes no difference")
	}
}

// A decoded sketch goes on as the original would have.
func TestSketchGoesOnAfterDecoding(t *testing.T) {
	arrivals := distributions["weighted"](rand.New(rand.NewPCG(8, 2)), 30_000)
	for _, n := range []int{0, 10, 150, 9000, 20_000} {
		s := newSketch(t, 100, 3)
		addAll(t, s, arrivals[:n])
		b, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var d sketch.Sketch
		if err := d.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		addAll(t, s, arrivals[n:])
		addAll(t, &d, arrivals[n:])
		x, _ := s.MarshalBinary()
		y, _ := d.MarshalBinary()
		if !bytes.Equal(x, y) || s.Total() != d.Total() {
			t.Errorf("after %d keys: the decoded sketch went another way", n)
		}
	}
}

// TestCertaintyIsRefused: nothing is certain of a sketch that has forgotten keys, and no
// probability is below 0. What sketches refuse themselves is tested where they are.
func TestCertaintyIsRefused(t *testing.T) {
	s := newSketch(t, 8, 1)
	addAll(t, s, distributions["random"](rand.New(rand.NewPCG(1, 1)), 100))
	for _, confidence := range []float64{1, 1.5, -0.1, math.NaN()} {
		var input *planner.InputError
		if _, err := FromSketch(s, confidence); !errors.As(err, &input) || input.Field != "Confidence" {
			t.Errorf("confidence %v: error %v", confidence, err)
		}
	}
}

// Whatever bytes arrive, the sketch is refused or works, and is not larger than
// what was sent.
func FuzzSketchUnmarshal(f *testing.F) {
	for _, n := range []int{0, 3, 20, 2000} {
		s, err := sketch.New(sketch.Options{K: 8, Seed: 1})
		if err != nil {
			f.Fatal(err)
		}
		for i := range n {
			if err := s.Add(keyOf(i), int64(1+i%5)); err != nil {
				f.Fatal(err)
			}
		}
		b, _ := s.MarshalBinary()
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s sketch.Sketch
		if err := s.UnmarshalBinary(b); err != nil {
			return
		}
		if s.Len() > len(b) {
			t.Fatalf("%d keys from %d bytes", s.Len(), len(b))
		}
		c, err := FromSketch(&s, 0.5)
		if err != nil || c.Total() != s.Total() {
			t.Fatalf("total %d, want %d: %v", c.Total(), s.Total(), err)
		}
		other := newSketch(t, 16, 1)
		addAll(t, other, []arrival{{1, 1}, {2, 1000}})
		if s.Total() <= MaxWeight-other.Total() {
			merge(t, other, &s)
			if total := cdfOf(t, other).Total(); total != s.Total()+1001 {
				t.Fatalf("merged total %d", total)
			}
		}
	})
}
