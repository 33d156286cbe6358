package lists

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/compact"
	"plannerd/internal/input/internal/inputtest"
	"plannerd/planner"
)

func TestWriteCompactJSON(t *testing.T) {
	records := []compact.Record{
		{Planned: 1, Current: 0, Hash: 2, Cost: 1.0 / 3, State: 1e300, Count: 1<<53 - 1},
		{Current: math.MaxInt32, Hash: 0, Cost: 0, State: 0.5, Count: 1},
	}
	const list = `"records":[[0,2,0.3333333333333333,1e+300,9007199254740991],[2147483647,0,0,0.5,1]]`
	for _, c := range []struct {
		interval int64
		s        compact.Statistics
		want     string
	}{
		{42, compact.Statistics{Records: records, Degree: 8, Scales: compact.Scales{Cost: 0.25, State: 1 << 20}},
			`{"interval":42,"compact":{"degree":8,"cost_scale":0.25,"state_scale":1048576,` + list + `}}`},
		{-1, compact.Statistics{Records: records, Scales: compact.Scales{Cost: 1, State: 1}},
			`{"compact":{"cost_scale":1,"state_scale":1,` + list + `}}`},
		{0, compact.Statistics{Scales: compact.Scales{Cost: 1e-9, State: 1}},
			`{"interval":0,"compact":{"cost_scale":1e-09,"state_scale":1,"records":[]}}`},
	} {
		var b bytes.Buffer
		if err := WriteCompactJSON(&b, c.interval, &c.s, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWriteCompactCSV(t *testing.T) {
	records := []compact.Record{{Current: 0, Hash: 2, Cost: 1.0 / 3, State: 5, Count: 7}, {Current: 1, Count: 1}}
	var b bytes.Buffer
	if err := WriteCompactCSV(&b, records); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("instance,hash_instance,cost,state,count\n0,2,0.3333333333333333,5,7\n1,0,0,0,1\n",
		b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	all := map[int64][]compact.Record{3: records, 4: {}, 9: records[1:]}
	err := WriteCompactIntervals(&b, func(yield func(int64, []compact.Record) bool) {
		for _, n := range []int64{3, 4, 9} {
			if !yield(n, all[n]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		"interval,instance,hash_instance,cost,state,count\n3,0,2,0.3333333333333333,5,7\n3,1,0,0,0,1\n9,1,0,0,0,1\n",
		b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteCompactErrors(t *testing.T) {
	records := inputtest.Records(10_000)
	for _, room := range []int{0, 100_000} {
		for name, err := range map[string]error{
			"json": WriteCompactJSON(&brokenWriter{room}, 1, &compact.Statistics{Records: records}, false),
			"csv":  WriteCompactCSV(&brokenWriter{room}, records),
			"intervals": WriteCompactIntervals(&brokenWriter{room},
				func(yield func(int64, []compact.Record) bool) { yield(1, records) }),
		} {
			if !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWriteClassMoves(t *testing.T) {
	moves := []compact.Record{
		{Planned: 3, Current: 0, Hash: 2, Cost: 1.5, State: 1 << 40, Count: 5},
		{Planned: planner.NoInstance, Current: 1, Hash: 1, Cost: 1e-7, State: 0, Count: 1},
	}
	for _, base64 := range []bool{false, true} {
		if got := string(ClassMovesOf(moves).
			AppendJSON(nil, base64)); got != `[[3,0,2,1.5,1099511627776,5],[null,1,1,1e-07,0,1]]` {
			t.Error(got)
		}
		var lines, table bytes.Buffer
		if err := ClassMovesOf(moves).WriteNDJSON(&lines, base64); err != nil ||
			lines.String() != "[3,0,2,1.5,1099511627776,5]\n[null,1,1,1e-07,0,1]\n" {
			t.Errorf("%v: %q", err, lines.String())
		}
		if err := ClassMovesOf(moves).WriteCSV(&table, base64, nil); err != nil ||
			table.String() != "planned,instance,hash_instance,cost,state,count\n3,0,2,1.5,1099511627776,5\n,1,1,1e-07,0,1\n" {
			t.Errorf("%v: %q", err, table.String())
		}
	}
	if ClassMovesOf(moves).NeedsBase64() {
		t.Error("moves without keys need base64")
	}
	for range ClassMovesOf(moves) { // may be left early
		break
	}
}
