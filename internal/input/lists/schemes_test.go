package lists

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"plannerd/planner"
)

// TestSchemesText reads JSON and CSV back with other readers.
func TestSchemesText(t *testing.T) {
	arc := ArcMove{Start: math.MaxUint32, End: 3, From: 1, To: 2, Keys: 4, Cost: 0.5, State: 1e300,
		Reason: planner.ReasonFill}
	if got, want := string(AppendJSON(nil, arc, false)),
		`{"arc":{"start":4294967295,"end":3},"from":1,"to":2,"keys":4,"cost":0.5,"state":1e+300,"reason":"fill"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := header(arc)+string(asLine(arc, false)),
		"arc_start,arc_end,from,to,keys,cost,state,reason\n4294967295,3,1,2,4,0.5,1e+300,fill\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(AppendJSON(nil, RingTokens{3, 16}, true))+string(asLine(RingTokens{3, 16}, true)),
		`{"instance":3,"tokens":16}3,16`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	flow := Flow{From: 1, To: 3, Keys: 12, Cost: 40.5, State: 900}
	if got, want := string(AppendJSON(nil, flow, true))+header(flow)+string(asLine(flow, true)),
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
			if err := errors.Join(json.Unmarshal(AppendJSON(nil, owner, coded), &o),
				json.Unmarshal(AppendJSON(nil, move, coded), &m)); err != nil {
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
			line, err := csv.NewReader(bytes.NewReader(asLine(owner, coded))).Read()
			if err != nil || decoded(line[0], coded) != string(x.From) || decoded(line[1], coded) != string(x.To) ||
				line[2] != strconv.Itoa(7) {
				t.Errorf("%q: %q, %v", x, line, err)
			}
		}
	}
}

// asLine is a record in CSV, header what stands above it.
func asLine[R Record](r R, base64 bool) []byte {
	return appendRecord(&cells{form: asCSV, base64: base64, lines: true}, nil, r)
}

func header[R Record](r R) string {
	return string(appendRecord(&cells{form: asHeader, lines: true}, nil, r))
}
