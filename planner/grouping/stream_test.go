package grouping

import (
	"errors"
	"math"
	"slices"
	"testing"

	"plannerd/planner"
)

// zipfWeights are in proportion to r^−z for rank r = 1…n, scaled to 2⁴⁰ in all.
func zipfWeights(n int, z float64) []int64 {
	sum := 0.0
	for r := 1; r <= n; r++ {
		sum += math.Pow(float64(r), -z)
	}
	weights := make([]int64, n)
	for r := range weights {
		weights[r] = int64(math.Pow(float64(r+1), -z) / sum * (1 << 40))
	}
	return weights
}

// zipf is a stream of m independent messages of n keys.
func zipf(t testing.TB, n int, z float64, m int64, seed uint64) *Stream {
	t.Helper()
	s, err := Generate(Frequencies{
		Keys: numbered(n), Count: zipfWeights(n, z), Order: Independent, Messages: m, Seed: seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShuffledHasTheFrequencies(t *testing.T) {
	counts := []int64{1, 0, 40_000, 3, 7000, 0, 250, 9999, 1, 1}
	s, err := Generate(Frequencies{Keys: numbered(len(counts)), Count: counts, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	read := func(s *Stream) (all []int32) {
		for c := s.read(1); ; {
			keys, _ := c.next()
			if len(keys) == 0 {
				return all
			}
			all = append(all, keys...)
		}
	}
	all := read(s)
	got := make([]int64, len(counts))
	for _, k := range all {
		got[k]++
	}
	if !slices.Equal(got, counts) || s.Len() != 57_255 || s.Distinct() != 8 || s.Top() != 2 || s.Count(6) != 250 {
		t.Errorf("%v, want %v: %+v", got, counts, s)
	}
	if !slices.Equal(read(s), all) {
		t.Error("another order the second time")
	}
	other, err := s.Reseeded(6)
	if err != nil || slices.Equal(read(other), all) {
		t.Error("the same order with another seed", err)
	}
}

// Every order of two a, two b and a c is equally likely, and so is every
// sequence of independent draws what its probability says.
func TestEveryOrderIsAsLikelyAsItShouldBe(t *testing.T) {
	const trials = 30_000
	counts := []int64{2, 2, 1}
	for order, expect := range map[Order]func(word string) float64{
		Shuffled: func(string) float64 { return 1. / 30 },
		Independent: func(word string) float64 {
			p := 1.
			for _, k := range word {
				p *= float64(counts[k-'a']) / 5
			}
			return p
		},
	} {
		seen := map[string]int{}
		for seed := range uint64(trials) {
			u := newUrn(counts, seed, order == Shuffled)
			keys := make([]int32, 5)
			u.draw(keys)
			word := ""
			for _, k := range keys {
				word += string('a' + k)
			}
			seen[word]++
		}
		chi, total := 0., 0.
		for word, n := range seen {
			e := trials * expect(word)
			chi += (float64(n) - e) * (float64(n) - e) / e
			total += expect(word)
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: %d words with a probability of %v in all", order, len(seen), total)
		}
		// The statistic has a mean of n and a deviation of √(2n), n = words − 1.
		n := float64(len(seen) - 1)
		if math.Abs(chi-n) > 5*math.Sqrt(2*n) {
			t.Errorf("%s: χ² = %.1f with %v degrees of freedom", order, chi, n)
		}
	}
}

func TestAliasTablesAreExact(t *testing.T) {
	weights := []int64{5, 0, 1, 1 << 40, 77, 77, 12345, 2}
	u := newUrn(weights, 1, false)
	got := make([]uint64, len(weights))
	for _, s := range u.slots {
		got[s.key] += s.cut
		if s.cut < u.total {
			got[s.other] += u.total - s.cut
		}
	}
	for k, w := range weights {
		if got[k] != uint64(w)*uint64(len(u.slots)) {
			t.Errorf("key %d has %d, want %d·%d", k, got[k], w, len(u.slots))
		}
	}
}

func TestSourceKeys(t *testing.T) {
	s, err := NewStream(planner.KeysOf("x", "y"), []int32{0, 1, 1, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	vertices := planner.KeysOf("v1", "v2", "v3")
	with, err := s.WithSourceKeys(vertices, []int32{0, 1, 2, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	_, from := messagesOf(with, 4)
	for i, v := range []int{0, 1, 2, 1, 0} {
		if want := int(vertices.Hash(v) % 4); from[i] != want {
			t.Errorf("message %d from source %d, want %d", i, from[i], want)
		}
	}
	if _, from := messagesOf(s, 4); !slices.Equal(from, []int{0, 1, 2, 3, 0}) {
		t.Errorf("sources %v without source keys", from)
	}
}

func TestStreamErrors(t *testing.T) {
	keys := numbered(2)
	sample, _ := NewStream(keys, []int32{0, 1})
	generated, _ := Generate(Frequencies{Keys: keys, Count: []int64{1, 2}})
	for field, call := range map[string]func() error{
		"Sample":       func() error { _, err := NewStream(keys, []int32{0, 2}); return err },
		"Sample/empty": func() error { _, err := NewStream(keys, nil); return err },
		"SourceKeys":   func() error { _, err := sample.WithSourceKeys(keys, []int32{0, -1}); return err },
		"SourceKeys/n": func() error { _, err := sample.WithSourceKeys(keys, []int32{0}); return err },
		"SourceKeys/g": func() error { _, err := generated.WithSourceKeys(keys, []int32{0, 0, 0}); return err },
		"Count":        func() error { _, err := Generate(Frequencies{Keys: keys, Count: []int64{1, -1}}); return err },
		"Count/n":      func() error { _, err := Generate(Frequencies{Keys: keys, Count: []int64{1}}); return err },
		"Count/0":      func() error { _, err := Generate(Frequencies{Keys: keys, Count: []int64{0, 0}}); return err },
		"Count/sum": func() error {
			_, err := Generate(Frequencies{Keys: keys, Count: []int64{1 << 62, 1 << 62}})
			return err
		},
		"Count/urn": func() error {
			_, err := Generate(Frequencies{Keys: keys, Count: []int64{1 << 61, 1}, Order: Independent, Messages: 5})
			return err
		},
		"Count/messages": func() error {
			_,
				err := Generate(Frequencies{Keys: keys, Count: []int64{1 << 32, 0}})
			return err
		},
		"Order": func() error {
			_, err := Generate(Frequencies{Keys: keys, Count: []int64{1, 1}, Order: "rising"})
			return err
		},
		"Messages": func() error {
			_, err := Generate(Frequencies{Keys: keys, Count: []int64{1, 1}, Messages: 2})
			return err
		},
		"Messages/-": func() error {
			_, err := Generate(Frequencies{Keys: keys, Count: []int64{1, 1}, Order: Independent, Messages: -1})
			return err
		},
	} {
		var input *planner.InputError
		if err := call(); !errors.As(err, &input) || input.Field != field &&
			input.Field != field[:max(0, slices.Index([]byte(field), '/'))] {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestSkewedSources(t *testing.T) {
	const messages = 200_000
	s, err := NewStream(planner.KeysOf("a"), make([]int32, messages))
	if err != nil {
		t.Fatal(err)
	}
	harmonic := 0.0
	for r := range sourceKeys {
		harmonic += 1 / float64(r+1)
	}
	skewed := func(z float64, seed uint64) *Stream {
		with, err := s.WithSkewedSources(z, seed)
		if err != nil {
			t.Fatal(err)
		}
		return with
	}
	for z, expected := range map[float64]float64{0: 1.0 / sourceKeys, 1: 1 / harmonic, MaxSourceSkew: 1} {
		first := 0.0
		for _, k := range skewed(z, 1).sourceKey {
			if k == 0 {
				first++
			}
		}
		if sigma := math.Sqrt(messages * expected * (1 - expected)); math.Abs(first-messages*expected) > 4*sigma {
			t.Errorf("z %v: %v messages have the first source key, not %v", z, first, messages*expected)
		}
	}
	if !slices.Equal(skewed(1, 1).sourceKey, skewed(1, 1).sourceKey) ||
		slices.Equal(skewed(1, 1).sourceKey, skewed(1, 2).sourceKey) || s.sourceKey != nil {
		t.Error("the draws depend on the seed alone, and the stream is left as it is")
	}
	generated, err := Generate(Frequencies{Keys: planner.KeysOf("a"), Count: []int64{5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []func() (*Stream, error){
		func() (*Stream, error) { return s.WithSkewedSources(-1, 0) },
		func() (*Stream, error) { return s.WithSkewedSources(MaxSourceSkew+1, 0) },
		func() (*Stream, error) { return s.WithSkewedSources(math.NaN(), 0) },
		func() (*Stream, error) { return generated.WithSkewedSources(1, 0) },
	} {
		if _, err := refused(); err == nil {
			t.Error("not refused")
		}
	}
}
