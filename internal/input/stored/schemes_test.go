package stored

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"plannerd/internal/input/internal/blob"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

// randomRing and randomRanges make plans of n rows in each list.
func randomRing(r *rand.Rand, n int) RingPlan {
	var p RingPlan
	for range n {
		p.Tokens = append(p.Tokens, TokenChange{r.Int32(), r.Int32(), r.Int32()})
		p.Arcs = append(p.Arcs, lists.ArcMove{
			Start: r.Uint32(), End: r.Uint32(), From: r.Int32(), To: r.Int32(), Keys: r.Int64(), Cost: r.ExpFloat64() * 1e200,
			State:  r.Float64(),
			Reason: planner.Reason(r.IntN(int(planner.ReasonExchange) + 1)),
		})
	}
	return p
}

func randomRanges(r *rand.Rand, n int, text func() []byte) RangesPlan {
	var p RangesPlan
	for range n {
		p.Owners = append(p.Owners, lists.RangeOwner{Range: lists.Range{From: text(), To: text()}, Instance: r.Int32()})
		p.Moves = append(p.Moves, lists.RangeMove{
			Range: lists.Range{From: text(), To: text()}, From: r.Int32(), To: r.Int32(), Keys: r.Int64(), Cost: r.ExpFloat64(),
			State:  r.Float64(),
			Reason: planner.Reason(r.IntN(int(planner.ReasonExchange) + 1)),
		})
	}
	return p
}

// anyBytes are 0 to most bytes, of which none is valid UTF-8 by design.
func anyBytes(r *rand.Rand, most int) func() []byte {
	return func() []byte {
		out := make([]byte, r.IntN(most+1))
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
}

func TestSchemesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, blob.BlockRows + 5} {
		ring := randomRing(r, n)
		back, err := DecodeRingPlan(ring.Encode())
		if err != nil || !reflect.DeepEqual(back, ring) {
			t.Fatalf("%d rows of a ring: %v", n, err)
		}
		most := 20
		if n == 7 {
			most = planner.MaxKeyBytes
		}
		ranges := randomRanges(r, n, anyBytes(r, most))
		again, err := DecodeRangesPlan(ranges.Encode())
		if err != nil || !reflect.DeepEqual(again, ranges) {
			t.Fatalf("%d rows of ranges: %v", n, err)
		}
	}
	// Many long keys fill blocks by their bytes.
	long := randomRanges(r, 6000, func() []byte { return bytes.Repeat([]byte{byte(r.Uint32())}, planner.MaxKeyBytes) })
	if back, err := DecodeRangesPlan(long.Encode()); err != nil || !reflect.DeepEqual(back, long) {
		t.Fatal(err)
	}
}

// TestSchemesCorrupt: whatever is not as it was written is refused, whole.
func TestSchemesCorrupt(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	ring, ranges := randomRing(r, 5).Encode(), randomRanges(r, 5, anyBytes(r, 9)).Encode()
	refused := func(encoded []byte) bool {
		p, err := DecodeRingPlan(encoded)
		q, other := DecodeRangesPlan(encoded)
		return errors.Is(err, blob.ErrCorrupt) && errors.Is(other, blob.ErrCorrupt) && p.Arcs == nil && p.Tokens == nil &&
			q.Owners == nil && q.Moves == nil
	}
	for _, encoded := range [][]byte{ring, ranges} {
		for i := range encoded {
			for _, bit := range []byte{1, 128} {
				broken := slices.Clone(encoded)
				broken[i] ^= bit
				if !refused(broken) {
					t.Fatalf("byte %d of %q", i, broken)
				}
			}
			if !refused(encoded[:i]) {
				t.Fatalf("the first %d bytes of %q", i, encoded)
			}
		}
	}
}

func FuzzDecodeSchemes(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	f.Add(randomRing(r, 3).Encode()[blob.HeaderBytes:])
	f.Add(randomRanges(r, 3, anyBytes(r, 4)).Encode()[blob.HeaderBytes:])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, encoded := range inputtest.Sealed(ringMagic, data) {
			p, err := DecodeRingPlan(encoded)
			if err != nil && !errors.Is(err, blob.ErrCorrupt) {
				t.Fatal(err)
			}
			if back, again := DecodeRingPlan(p.Encode()); err == nil &&
				(again != nil || !bytes.Equal(back.Encode(), p.Encode())) {
				t.Fatalf("%q: another ring after encoding again", encoded)
			}
		}
		for _, encoded := range inputtest.Sealed(rangesMagic, data) {
			p, err := DecodeRangesPlan(encoded)
			if err != nil && !errors.Is(err, blob.ErrCorrupt) {
				t.Fatal(err)
			}
			if back, again := DecodeRangesPlan(p.Encode()); err == nil &&
				(again != nil || !bytes.Equal(back.Encode(), p.Encode())) {
				t.Fatalf("%q: other ranges after encoding again", encoded)
			}
		}
	})
}
