package input

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"plannerd/planner"
)

// randomRing and randomRanges make plans of n rows in each list.
func randomRing(r *rand.Rand, n int) RingPlan {
	var p RingPlan
	for range n {
		p.Tokens = append(p.Tokens, TokenChange{r.Int32(), r.Int32(), r.Int32()})
		p.Arcs = append(p.Arcs, ArcMove{
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
		p.Owners = append(p.Owners, RangeOwner{Range{text(), text()}, r.Int32()})
		p.Moves = append(p.Moves, RangeMove{
			Range: Range{text(), text()}, From: r.Int32(), To: r.Int32(), Keys: r.Int64(), Cost: r.ExpFloat64(),
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
	for _, n := range []int{0, 1, 7, blockRows + 5} {
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
	refused := func(blob []byte) bool {
		p, err := DecodeRingPlan(blob)
		q, other := DecodeRangesPlan(blob)
		return errors.Is(err, ErrCorrupt) && errors.Is(other, ErrCorrupt) && p.Arcs == nil && p.Tokens == nil &&
			q.Owners == nil && q.Moves == nil
	}
	for _, blob := range [][]byte{ring, ranges} {
		for i := range blob {
			for _, bit := range []byte{1, 128} {
				broken := slices.Clone(blob)
				broken[i] ^= bit
				if !refused(broken) {
					t.Fatalf("byte %d of %q", i, broken)
				}
			}
			if !refused(blob[:i]) {
				t.Fatalf("the first %d bytes of %q", i, blob)
			}
		}
	}
}

func FuzzDecodeSchemes(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	f.Add(randomRing(r, 3).Encode()[blobHeader:])
	f.Add(randomRanges(r, 3, anyBytes(r, 4)).Encode()[blobHeader:])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, blob := range sealed(ringMagic, data) {
			p, err := DecodeRingPlan(blob)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if back, again := DecodeRingPlan(p.Encode()); err == nil &&
				(again != nil || !bytes.Equal(back.Encode(), p.Encode())) {
				t.Fatalf("%q: another ring after encoding again", blob)
			}
		}
		for _, blob := range sealed(rangesMagic, data) {
			p, err := DecodeRangesPlan(blob)
			if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if back, again := DecodeRangesPlan(p.Encode()); err == nil &&
				(again != nil || !bytes.Equal(back.Encode(), p.Encode())) {
				t.Fatalf("%q: other ranges after encoding again", blob)
			}
		}
	})
}

// TestSchemesText reads JSON and CSV back with other readers.
func TestSchemesText(t *testing.T) {
	arc := ArcMove{Start: math.MaxUint32, End: 3, From: 1, To: 2, Keys: 4, Cost: 0.5, State: 1e300,
		Reason: planner.ReasonFill}
	if got, want := string(arc.AppendJSON(nil, false)),
		`{"arc":{"start":4294967295,"end":3},"from":1,"to":2,"keys":4,"cost":0.5,"state":1e+300,"reason":"fill"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := arc.csvHeader()+string(arc.AppendCSV(nil, false)),
		"arc_start,arc_end,from,to,keys,cost,state,reason\n4294967295,3,1,2,4,0.5,1e+300,fill\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string((RingTokens{3, 16}).AppendJSON(nil, true))+string((RingTokens{3, 16}).AppendCSV(nil, true)),
		`{"instance":3,"tokens":16}3,16`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	flow := Flow{From: 1, To: 3, Keys: 12, Cost: 40.5, State: 900}
	if got, want := string(flow.AppendJSON(nil, true))+flow.csvHeader()+string(flow.AppendCSV(nil, true)),
		`{"from":1,"to":3,"keys":12,"cost":40.5,"state":900}from,to,keys,cost,state`+"\n1,3,12,40.5,900\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	type ends struct {
		From        string  `json:"from"`
		To          *string `json:"to"`
		KeyEncoding string  `json:"key_encoding"`
	}
	decoded := func(text string, coded bool) string {
		if !coded {
			return text
		}
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, x := range []Range{
		{}, {From: []byte{}, To: []byte(`a"`)}, {From: []byte("a,\n"), To: []byte("é")},
		{From: []byte{0xc3}, To: []byte{0xa9}}, {From: []byte("b"), To: []byte{0xff}}, {From: []byte{0}},
	} {
		valid := slices.Contains([]string{"", "a,\n", "\x00"}, string(x.From))
		owner, move := RangeOwner{x, 7}, RangeMove{Range: x, From: 1, To: 2, Keys: 3, Cost: 1, State: 2,
			Reason: planner.ReasonDrain}
		if listOf(slices.Values([]RangeOwner{owner})).NeedsBase64() == valid || listOf(slices.Values([]RangeMove{move})).
			NeedsBase64() == valid {
			t.Errorf("%q: valid is %t", x, valid)
		}
		for _, coded := range []bool{false, true} {
			var o struct {
				ends
				Instance int32
			}
			var m struct {
				Range ends
				From  int32
			}
			if err := errors.Join(json.Unmarshal(owner.AppendJSON(nil, coded), &o),
				json.Unmarshal(move.AppendJSON(nil, coded), &m)); err != nil {
				t.Fatal(err)
			}
			for _, e := range []ends{o.ends, m.Range} {
				if (e.KeyEncoding != "") != (!coded && !valid) || (e.To == nil) != (len(x.To) == 0) {
					t.Errorf("%q, base64 %t: %+v", x, coded, e)
				}
				in := coded || !valid
				if decoded(e.From, in) != string(x.From) || e.To != nil && decoded(*e.To, in) != string(x.To) {
					t.Errorf("%q, base64 %t: %+v", x, coded, e)
				}
			}
			if o.Instance != 7 || m.From != 1 {
				t.Errorf("%+v %+v", o, m)
			}
			if !coded && !valid {
				continue
			}
			line, err := csv.NewReader(bytes.NewReader(owner.AppendCSV(nil, coded))).Read()
			if err != nil || decoded(line[0], coded) != string(x.From) || decoded(line[1], coded) != string(x.To) ||
				line[2] != strconv.Itoa(7) {
				t.Errorf("%q: %q, %v", x, line, err)
			}
		}
	}
}
