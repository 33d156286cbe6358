package ring

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plannerd/planner"
)

// The skew that the paper gives each workload on the initial rings, exactly.
func TestPaperWorkloadsStartAsPublished(t *testing.T) {
	exact := map[string][2]float64{ // halving, doubling
		"WL1": {0, 1}, "WL2": {0, 0}, "WL3": {1, 1}, "WL4": {60.0 / 75, 37.0 / 75}, "WL5": {15.0 / 75, 41.0 / 75},
	}
	for _, w := range paperWorkloads() {
		total := int64(0)
		for _, n := range w.Counts {
			total += n
		}
		if total != 100 {
			t.Errorf("%s has %d messages", w.Name, total)
		}
		for m, method := range []Method{Halving, Doubling} {
			x, err := simulate(newStream(w.Letters, w.Counts, 1), simulationOptions{method: method})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := x.Baseline.Skew, exact[w.Name][m]; got != want {
				t.Errorf("%s, %s: S = %v, want %v", w.Name, method, got, want)
			}
		}
	}
}

// Table 1: S without balancing, then its median and range with a round of it, as they come
// out on every machine. Where S of the paper is below the range, the paper's letters or its
// hash were others: WL3 is the paper's own workload, but on the ring of its §4.2 no round
// that letter a brings about ever takes it from its node.
const table1 = `
WL1 halving   0.00 → 0.00 [0.00, 0.32]
WL1 doubling  1.00 → 0.65 [0.31, 0.67]
WL2 halving   0.00 → 0.00 [0.00, 0.00]
WL2 doubling  0.00 → 0.00 [0.00, 0.32]
WL3 halving   1.00 → 0.97 [0.96, 0.99]
WL3 doubling  1.00 → 1.00 [1.00, 1.00]
WL4 halving   0.80 → 0.80 [0.80, 0.80]
WL4 doubling  0.49 → 0.49 [0.48, 0.77]
WL5 halving   0.20 → 0.20 [0.20, 0.44]
WL5 doubling  0.55 → 0.24 [0.17, 0.55]
`

func TestTable1(t *testing.T) {
	rows, err := Paper(PaperOptions{Runs: 101})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %-8s  %.2f → %.2f [%.2f, %.2f]\n",
			r.Workload, r.Method, r.Baseline, r.Median, r.Least, r.Most)
	}
	if b.String() != table1 {
		t.Errorf("Table 1 is now%s", b.String())
	}
}

// Fig. 3: what can be said of more rounds on these rings.
func TestMoreRounds(t *testing.T) {
	rows, err := Paper(PaperOptions{MaxRounds: []int{1, 2, 3}, Runs: 25})
	if err != nil {
		t.Fatal(err)
	}
	s := map[string]PaperRow{}
	for _, r := range rows {
		s[fmt.Sprintf("%s %s %d", r.Workload, r.Method, r.MaxRounds)] = r
		if r.Median < r.Least || r.Most < r.Median {
			t.Errorf("S from %v to %v, median %v", r.Least, r.Most, r.Median)
		}
	}
	// A second round parts the two letters of WL4 that share a node, and finishes what
	// the first began for WL1.
	if s["WL4 halving 1"].Median != 0.8 || s["WL4 halving 2"].Median > 0.5 {
		t.Errorf("WL4, halving: %v, then %v", s["WL4 halving 1"].Median, s["WL4 halving 2"].Median)
	}
	if s["WL1 doubling 2"].Median > 0.1 {
		t.Errorf("WL1, doubling: %v after two rounds", s["WL1 doubling 2"].Median)
	}
	// "Additional rounds never hurt the halving method": nearly so.
	for _, w := range paperWorkloads() {
		one, three := s[w.Name+" halving 1"], s[w.Name+" halving 3"]
		if three.Median > one.Median+0.02 {
			t.Errorf("%s, halving: %v after one round, %v after three", w.Name, one.Median, three.Median)
		}
	}
	// "But can be detrimental to doubling."
	if s["WL4 doubling 3"].Median <= s["WL4 doubling 1"].Median {
		t.Errorf("WL4, doubling: %v, then %v", s["WL4 doubling 1"].Median, s["WL4 doubling 3"].Median)
	}
}

func TestPaperStops(t *testing.T) {
	_, err := Paper(PaperOptions{Runs: 1, Stop: func() bool { return true }})
	if !errors.Is(err, planner.ErrStopped) {
		t.Errorf("error %v", err)
	}
}
