package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
)

const (
	keepInstances = 12
	keepHot       = 3
	keepKeys      = 203
)

// keepSnapshot has hot keys of these costs among others, in an order of rows.
func keepSnapshot(t *testing.T, cost []float64, order []int, table *planner.RoutingTable) *planner.Snapshot {
	t.Helper()
	c := planner.Configuration{}
	for d := range int32(keepInstances) {
		c.Instances = append(c.Instances, planner.Instance{ID: d, Capacity: 1})
	}
	stats := &planner.Statistics{Keys: planner.NewKeys(len(cost))}
	for _, i := range order {
		stats.Keys.Append(fmt.Appendf(nil, "k%03d", i))
		stats.Cost, stats.State = append(stats.Cost, cost[i]), append(stats.State, cost[i])
		stats.HashInstance = append(stats.HashInstance, int32(i%keepInstances))
	}
	stats.Keys.HashAppended()
	s, err := planner.NewSnapshot(stats, c, planner.Base{Configuration: c, Table: table, IgnoreInstances: table != nil})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// driftHot changes the costs, those of hot keys most.
func driftHot(r *rand.Rand, cost []float64) {
	for i := range cost {
		if i < keepHot {
			cost[i] = 40 + 60*r.Float64()
		} else {
			cost[i] = 1 + r.Float64()
		}
	}
}

// TestPartsStay: parts are removed only where merges would be more than one beyond what hot
// keys need; what changes else are weights. The order of rows does not matter.
func TestPartsStay(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 9))
	cost, rows := make([]float64, keepKeys), make([]int, keepKeys)
	for i := range rows {
		rows[i] = i
	}
	o := planner.Options{ThetaMax: 0.1, Splitting: &planner.Splitting{}, Effort: planner.EffortFast}
	var table *planner.RoutingTable
	removed, allowed := 0, 0
	for round := range 30 {
		driftHot(r, cost)
		p := planOf(t, planner.Optimal, keepSnapshot(t, cost, rows, table), o)
		bound, lacking, had := needs(p)
		if p.Theta.Before > o.ThetaMax && p.Merges() > int64(bound) {
			t.Fatalf("round %d: %d merges, %d are enough\n%s", round, p.Merges(), bound, p.Describe())
		}
		removed += removals(p)
		allowed += max(0, had+lacking-bound)
		shuffled := slices.Clone(rows)
		r.Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		other := planOf(t, planner.Optimal, keepSnapshot(t, cost, shuffled, table), o)
		if p.Describe() != other.Describe() {
			t.Fatalf("round %d: another plan for other rows\n%s\n%s", round, p.Describe(), other.Describe())
		}
		var err error
		if table, err = p.Table(); err != nil {
			t.Fatal(err)
		}
	}
	if removed > allowed || allowed == 0 {
		t.Errorf("%d parts were removed; %d had to be", removed, allowed)
	}
}

// needs tells how many merges hot keys need, and one; how many parts they lack of those; and
// how many merges there were.
func needs(p *planner.Plan) (bound, lacking, had int) {
	s, total := p.Snapshot, 0.0
	for _, c := range s.Cost {
		total += c
	}
	most := total / keepInstances * (1 + p.Options.ThetaMax)
	parts := map[int32]int{}
	for _, x := range s.Splits {
		parts[x.Item] = len(x.Parts)
		had += len(x.Parts) - 1
	}
	bound = 1
	for i, c := range s.Cost {
		if n := int(math.Ceil(c / most)); n > 1 {
			bound += n - 1
			lacking += max(0, n-max(1, parts[int32(i)]))
		}
	}
	return bound, lacking, had
}

// removals counts the parts of the table that a plan removes.
func removals(p *planner.Plan) int {
	n := 0
	for _, x := range p.Snapshot.Splits {
		i := slices.IndexFunc(p.Splits, func(y planner.PlannedSplit) bool { return y.Item == x.Item })
		if i < 0 {
			n += len(x.Parts) - 1
			continue
		}
		for _, part := range x.Parts {
			if !slices.ContainsFunc(p.Splits[i].Parts, func(y planner.Part) bool { return y.Instance == part.Instance }) {
				n++
			}
		}
	}
	return n
}
