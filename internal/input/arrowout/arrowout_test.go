package arrowout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"plannerd/internal/input"
	"plannerd/internal/input/lists"
	"plannerd/planner"
)

func TestArrowWriter(t *testing.T) {
	want := rows(batchRows + 10)
	want.Instance[7] = planner.NoInstance
	for _, state := range [][]float64{want.State, nil} {
		s := *want
		s.State = state
		var b bytes.Buffer
		w := NewWriter(&b)
		if err := errors.Join(w.Write(-1, &s), w.Close()); err != nil {
			t.Fatal(err)
		}
		d, err := input.Decode(iotest.HalfReader(&b), input.Arrow, input.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Stats.Fingerprint() != s.Fingerprint() || !slices.Equal(d.Stats.Instance, s.Instance) {
			t.Errorf("state %t: other rows", state != nil)
		}
	}
	if err := NewWriter(io.Discard).
		Write(0, &planner.Statistics{Keys: planner.KeysOf("\xff"), Cost: []float64{1}}); !errors.Is(err, lists.ErrKeyText) {
		t.Error(err)
	}
}

// rows are n rows of keys.
func rows(n int) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.NewKeys(n)}
	for i := range n {
		s.Keys.Append(fmt.Appendf(nil, "user:%d", i))
		s.Cost, s.State = append(s.Cost, float64(i)/4), append(s.State, float64(i%1000))
		s.Instance = append(s.Instance, int32(i%40))
	}
	s.Costs = []planner.Amounts{{Name: "cpu", Rows: s.State}, {Name: "network", Rows: s.Cost}}
	return s
}
