package sketch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newSketch(t *testing.T, k int, stream uint64) *Sketch {
	t.Helper()
	s, err := New(Options{K: k, Seed: 7, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Sketch, key string, weight int64) {
	t.Helper()
	if err := s.Add([]byte(key), weight); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, s *Sketch) []byte {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// weights are the keys that a sketch holds, with what they stand for.
func weights(s *Sketch) map[string]int64 {
	out := map[string]int64{}
	for key, weight := range s.All() {
		out[string(key)] += weight
	}
	return out
}

// TestRefusals: what is wrong is refused for that reason, and leaves the sketch as it was.
func TestRefusals(t *testing.T) {
	s, other := newSketch(t, 8, 1), newSketch(t, 8, 2)
	add(t, s, "a", MaxWeight-5)
	add(t, other, "b", 6)
	made := func(k int) error { _, err := New(Options{K: k}); return err }
	for name, c := range map[string]struct{ got, want error }{
		"k too small": {made(MinK - 1), errK},
		"k too large": {made(MaxK + 1), errK},
		"k negative":  {made(-1), errK},
		"negative":    {s.Add([]byte("a"), -1), errWeight},
		"overflow":    {s.Add([]byte("a"), 6), errWeight},
		"long key":    {s.Add(make([]byte, MaxKeyBytes+1), 1), errKey},
		"itself":      {s.Merge(s), errItself},
		"too heavy":   {s.Merge(other), errWeight},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.got, c.want)
		}
	}
	if got := weights(s); s.Total() != MaxWeight-5 || len(got) != 1 || got["a"] != MaxWeight-5 {
		t.Errorf("what was refused was counted: %v", got)
	}
	// At the limits themselves nothing is refused.
	for _, k := range []int{MinK, MaxK} {
		if err := made(k); err != nil {
			t.Errorf("k %d: %v", k, err)
		}
	}
	if err := errors.Join(s.Add(make([]byte, MaxKeyBytes), 4), s.Add(nil, 1), s.Add([]byte("a"), 0)); err != nil {
		t.Error(err)
	}
	if s.Total() != MaxWeight {
		t.Errorf("total %d", s.Total())
	}
}

// TestBinaryRefusals: each way in which bytes are no sketch is found, and leaves the sketch
// as it was.
func TestBinaryRefusals(t *testing.T) {
	whole := newSketch(t, 8, 1)
	for i := range 200 {
		add(t, whole, fmt.Sprintf("key %d", i), 1)
	}
	good := encoded(t, whole)
	changed := func(at int, to byte) []byte {
		b := slices.Clone(good)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":         {nil, errVersion},
		"another version": {changed(0, sketchVersion+1), errVersion},
		"a small k":       {changed(1, MinK-1), errForm},
		"no coins":        {changed(2, 0), errForm},
		"more behind it":  {append(slices.Clone(good), 0), errForm},
	} {
		s := newSketch(t, 16, 1)
		add(t, s, "kept", 3)
		if err := s.UnmarshalBinary(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if s.Total() != 3 || weights(s)["kept"] != 3 {
			t.Errorf("%s: the sketch has changed", name)
		}
	}
	for n := 1; n < len(good); n++ { // wherever it is cut
		if err := new(Sketch).UnmarshalBinary(good[:n]); !errors.Is(err, errForm) {
			t.Fatalf("cut after %d bytes: error %v", n, err)
		}
	}
	if err := new(Sketch).UnmarshalBinary(good); err != nil {
		t.Error(err)
	}
}

// TestFewKeysAreExact: up to k different keys a sketch holds each with all its weight.
func TestFewKeysAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s, want := newSketch(t, 32, 1), map[string]int64{}
	for range 5000 {
		key, weight := fmt.Sprint(rng.IntN(32)), rng.Int64N(1000)
		add(t, s, key, weight)
		if want[key] += weight; want[key] == 0 {
			delete(want, key)
		}
	}
	got := weights(s)
	if len(got) != len(want) || s.Variance() != 0 {
		t.Errorf("%d keys, want %d; variance %v", len(got), len(want), s.Variance())
	}
	for key, weight := range want {
		if got[key] != weight {
			t.Errorf("%s: %d, want %d", key, got[key], weight)
		}
	}
}

// TestMergeKeepsTheWeight: merged in any order the weights add up, and the error that is
// known is that of all parts.
func TestMergeKeepsTheWeight(t *testing.T) {
	into, total, variance := newSketch(t, 16, 0), int64(0), 0.0
	for i := range 5 {
		part := newSketch(t, 16, uint64(i+1))
		for j := range 500 {
			add(t, part, fmt.Sprintf("%d-%d", i, j), int64(1+j%3))
		}
		before := encoded(t, part)
		if err := into.Merge(part); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, encoded(t, part)) {
			t.Error("what is merged has changed")
		}
		total, variance = total+part.Total(), variance+part.Variance()
	}
	sum := int64(0)
	for _, weight := range weights(into) {
		sum += weight
	}
	if into.Total() != total || sum != total || into.Variance() < variance || math.IsInf(into.Variance(), 0) {
		t.Errorf("total %d, the keys weigh %d, want %d; variance %v of at least %v", into.Total(), sum, total,
			into.Variance(), variance)
	}
}

// TestBinary: a sketch that was read goes on as the one that was written.
func TestBinary(t *testing.T) {
	for _, n := range []int{0, 5, 30, 1000} {
		s, read := newSketch(t, 16, 3), new(Sketch)
		for i := range n {
			add(t, s, fmt.Sprint(i*i%977), int64(1+i%7))
		}
		if err := read.UnmarshalBinary(encoded(t, s)); err != nil {
			t.Fatal(err)
		}
		for i := range 700 {
			add(t, s, fmt.Sprint("more", i), 2)
			add(t, read, fmt.Sprint("more", i), 2)
		}
		if !bytes.Equal(encoded(t, s), encoded(t, read)) {
			t.Errorf("after %d keys the two go different ways", n)
		}
	}
}
