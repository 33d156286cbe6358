package stored

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/planner"
)

// planOf moves every so-manieth key of s to the next of 40 instances, n in all.
func planOf(s *planner.Statistics, n int) *planner.Plan {
	snapshot := &planner.Snapshot{Keys: s.Keys, Cost: s.Cost, State: s.State}
	for i := range 40 {
		snapshot.Instances = append(snapshot.Instances, planner.Instance{ID: int32(3 * i), Capacity: 1})
	}
	p := &planner.Plan{Snapshot: snapshot}
	for i := range n {
		item := i * (s.Len() / n)
		p.Moves = append(p.Moves, planner.Move{
			Item: int32(item), From: s.Instance[item], To: (s.Instance[item] + 1) % 40, Count: 1,
			Reason: planner.Reason(i % 6),
		})
	}
	return p
}

func encodeInput(s *planner.Statistics) []byte {
	return EncodeInputUntil(s, nil, func() bool { return false })
}

// testRow is a row of statistics.
type testRow struct {
	key         string
	cost, state float64
	instance    int32
}

// zipfRows makes n rows with costs that fall like Zipf's law with exponent 0.85.
func zipfRows(n int) []testRow {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]testRow, n)
	for i := range rows {
		rows[i] = testRow{
			key:  fmt.Sprintf("user:%07d%s", i, "abcd"[:r.IntN(5)]),
			cost: math.Round(100*1e6/math.Pow(float64(i+1), 0.85)) / 100, state: float64(64 + r.IntN(1<<16)),
			instance: int32(r.IntN(40)),
		}
	}
	r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// statisticsOf builds the columns of rows directly.
func statisticsOf(rows []testRow) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(len(rows))}
	for _, r := range rows {
		s.Keys.Append([]byte(r.key))
		s.Cost = append(s.Cost, r.cost)
		s.State = append(s.State, r.state)
		s.Instance = append(s.Instance, r.instance)
	}
	return s
}

func sameStatistics(t *testing.T, name string, got, want *planner.Statistics) {
	t.Helper()
	if got.Keys.Len() != want.Keys.Len() {
		t.Fatalf("%s: %d keys, want %d", name, got.Keys.Len(), want.Keys.Len())
	}
	for i := range want.Keys.Len() {
		if !bytes.Equal(got.Keys.At(i), want.Keys.At(i)) || got.Keys.Hash(i) != want.Keys.Hash(i) {
			t.Fatalf("%s: key %d is %q, want %q", name, i, got.Keys.At(i), want.Keys.At(i))
		}
	}
	bits := func(xs []float64) (out []uint64) {
		for _, x := range xs {
			out = append(out, math.Float64bits(x))
		}
		return out
	}
	for _, same := range []struct {
		column string
		ok     bool
	}{
		{"cost", slices.Equal(bits(got.Cost), bits(want.Cost))},
		{"state", slices.Equal(bits(got.State), bits(want.State)) && (got.State == nil) == (want.State == nil)},
		{"instance", slices.Equal(got.Instance, want.Instance) && (got.Instance == nil) == (want.Instance == nil)},
		{"hash_instance", slices.Equal(got.HashInstance, want.HashInstance) &&
			(got.HashInstance == nil) == (want.HashInstance == nil)},
		{"partial", got.Partial == want.Partial},
		{"partial_on", slices.Equal(got.PartialOn, want.PartialOn)},
		{"shares", slices.Equal(got.Shares, want.Shares)},
		{"frozen", slices.Equal(got.Frozen, want.Frozen)},
	} {
		if !same.ok {
			t.Fatalf("%s: column %s differs", name, same.column)
		}
	}
	residual := func(a, b planner.Residual) bool {
		return a.Instance == b.Instance && a.Keys == b.Keys &&
			math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
	}
	if !slices.EqualFunc(got.Residual, want.Residual, residual) {
		t.Fatalf("%s: residual %v, want %v", name, got.Residual, want.Residual)
	}
}

// recordsOf makes n records as they come of keys on 40 instances: few costs and
// states, of which some are no integers, and counts that fall with the cost. d′
// is d.
func recordsOf(n int) []compact.Record {
	r := rand.New(rand.NewPCG(9, 10))
	records := make([]compact.Record, n)
	for i := range records {
		at := int32(r.IntN(40))
		records[i] = compact.Record{
			Planned: at, Current: at, Hash: int32(r.IntN(40)),
			Cost: float64(r.IntN(1<<12)) / 4, State: float64(r.IntN(1 << 16)), Count: 1 + int64(1e6/(1+r.IntN(1e6))),
		}
	}
	return records
}

func sameRecord(a, b compact.Record) bool {
	return a.Planned == b.Planned && a.Current == b.Current && a.Hash == b.Hash && a.Count == b.Count &&
		math.Float64bits(a.Cost) == math.Float64bits(b.Cost) && math.Float64bits(a.State) == math.Float64bits(b.State)
}
