package workload

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestZipfFrequencies(t *testing.T) {
	c := Config{Keys: 10_000, Z: 0.85, Tuples: 1_000_000}
	got, err := expected(c)
	if err != nil {
		t.Fatal(err)
	}
	harmonic := 0.0
	for r := 1; r <= c.Keys; r++ {
		harmonic += math.Pow(float64(r), -c.Z)
	}
	var gotUpTo, wantUpTo float64
	for i, f := range got {
		want := float64(c.Tuples) * math.Pow(float64(i+1), -c.Z) / harmonic
		if math.Abs(float64(f)-want) > 1 {
			t.Errorf("rank %d has %d tuples, want %v", i+1, f, want)
		}
		gotUpTo, wantUpTo = gotUpTo+float64(f), wantUpTo+want
		if math.Abs(gotUpTo-wantUpTo) > 0.5+1e-6 {
			t.Fatalf("ranks up to %d have %v tuples, want %v", i+1, gotUpTo, wantUpTo)
		}
	}
}

// Frequencies below one tuple must neither vanish nor all round up.
func TestRareKeysKeepTheirShare(t *testing.T) {
	got, err := expected(Config{Keys: 1_000_000, Z: 0.85, Tuples: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	lower := 0
	for i, f := range got[500_000:] {
		lower += int(f)
		if f > 1 {
			t.Fatalf("rank %d has %d tuples", 500_001+i, f)
		}
	}
	// The lower half of the ranks has 1 − Σ_{r≤K/2} r^−z / Σ r^−z of the tuples.
	var upper, all float64
	for r := 1; r <= 1_000_000; r++ {
		if all += math.Pow(float64(r), -0.85); r == 500_000 {
			upper = all
		}
	}
	if want := (1 - upper/all) * 1e6; math.Abs(float64(lower)-want) > 1 {
		t.Errorf("the lower half has %d tuples, want %v", lower, want)
	}
}

func TestUniformFrequencies(t *testing.T) {
	got, err := expected(Config{Keys: 7, Tuples: 70})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		if f != 10 {
			t.Fatalf("frequencies %v, want 10 each", got)
		}
	}
}

// The two log-normal workloads of partial-key-grouping, Table 1: the share of
// the most frequent key is the one the paper gives.
func TestLogNormalWorkloadsOfThePaper(t *testing.T) {
	for _, w := range []struct {
		name      string
		mu, sigma float64
		keys      int
		p1        float64
	}{
		{"LN1", 1.789, 2.366, 16_000, 0.1471},
		{"LN2", 2.245, 1.133, 1_100, 0.0701},
	} {
		got, err := expected(Config{Distribution: LogNormal, Mu: w.mu, Sigma: w.sigma, Keys: w.keys, Tuples: 10_000_000})
		if err != nil {
			t.Fatal(err)
		}
		top := 0.0
		for _, f := range got {
			top = max(top, float64(f)/10_000_000)
		}
		if math.Abs(top-w.p1) > 0.00011 {
			t.Errorf("%s: p1 = %.4f, want %.4f", w.name, top, w.p1)
		}
	}
}

// The definition: draws rounded to whole numbers.
func TestLogNormalAgreesWithDraws(t *testing.T) {
	c := Config{Distribution: LogNormal, Mu: 1, Sigma: 0.8, Keys: 500, Tuples: 1_000_000}
	got, err := expected(c)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	drawn := make([]float64, c.Keys)
	for range c.Tuples {
		if m := math.Round(math.Exp(c.Mu + c.Sigma*rng.NormFloat64())); m < float64(c.Keys) {
			drawn[int(m)]++
		}
	}
	for m, f := range got {
		if math.Abs(drawn[m]-float64(f)) > 5*math.Sqrt(float64(f)+1) {
			t.Errorf("key %d: %d tuples, %v were drawn", m, f, drawn[m])
		}
	}
}
