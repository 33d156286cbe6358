package input

import (
	"bytes"
	"io"
	"iter"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/planner"
)

// compressed returns text in a content encoding.
func compressed(tb testing.TB, encoding string, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			tb.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
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

func listOf[R Record](s iter.Seq[R]) Records[R] { return Records[R](s) }
