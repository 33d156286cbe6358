// Package cases makes the planning problems on which plans are measured: Zipf
// workloads over a grid of parameters, and recorded key streams. Whoever plans
// them says which plan is carried on to the next interval, so that several
// strategies can answer the same question.
//
// A case has a name that says what it is:
//
//	zipf/keys=5000/instances=15/theta=0.08/table=3000/window=5/fluctuation=1/seed=1#7
//	stream=git_history/intervals_lines/instances=15/theta=0.08/table=300#12
//
// It holds for one strategy whose plans are carried on, and for one
// [planner.Revision]: the routing table is part of the case.
package cases

import (
	"fmt"
	"strconv"

	"plannerd/planner"
)

// Setting is a row of cases: the intervals of one workload or stream, planned
// under the same parameters.
type Setting struct {
	// Stream is the name of a recorded stream, as [Streams] lists it. Family is that of
	// a case that was drawn. Both empty: a Zipf workload.
	Stream string
	Family Family
	// Keys is K, Window w in intervals, Fluctuation f and Seed that of the Zipf
	// workload; 0 with a stream.
	Keys, Window int
	Fluctuation  float64
	Seed         uint64
	Instances    int     // N_D, all of capacity 1
	ThetaMax     float64 // θ_max
	TableLimit   int64   // A_max
}

// Case is one interval of a setting, ready to plan.
type Case struct {
	Setting
	// Interval is the number in the stream, or in the workload, whose first
	// interval, warm-up included, is 0.
	Interval int64
	Snapshot *planner.Snapshot
	// Options hold θ_max and A_max; all else is left at its default.
	Options planner.Options
}

// Grid spans Zipf workloads: a setting for each combination.
type Grid struct {
	Keys, Instances []int
	Thetas          []float64
	Tables          []int64
	Windows         []int
	Fluctuations    []float64
	Seed            uint64
}

// DefaultGrid is the whole grid.
func DefaultGrid() Grid {
	return Grid{
		Keys:         []int{5e3, 1e4, 1e5, 1e6},
		Instances:    []int{5, 15, 40},
		Thetas:       []float64{0.02, 0.08, 0.2},
		Tables:       []int64{300, 3000},
		Windows:      []int{1, 5},
		Fluctuations: []float64{0.3, 1},
		Seed:         1,
	}
}

// QuickGrid is a small part of it, for development.
func QuickGrid() Grid {
	return Grid{
		Keys:         []int{5e3, 1e4},
		Instances:    []int{5, 15},
		Thetas:       []float64{0.02, 0.08},
		Tables:       []int64{300, 3000},
		Windows:      []int{5},
		Fluctuations: []float64{0.3, 1},
		Seed:         1,
	}
}

// Settings lists the combinations, the smallest workloads first.
func (g Grid) Settings() []Setting {
	var out []Setting
	for _, keys := range g.Keys {
		for _, instances := range g.Instances {
			for _, window := range g.Windows {
				for _, fluctuation := range g.Fluctuations {
					for _, theta := range g.Thetas {
						for _, table := range g.Tables {
							out = append(out, Setting{
								Keys: keys, Instances: instances, Window: window, Fluctuation: fluctuation,
								ThetaMax: theta, TableLimit: table, Seed: g.Seed,
							})
						}
					}
				}
			}
		}
	}
	return out
}

// StreamSettings lists the combinations of recorded streams and parameters.
func StreamSettings(streams []string, instances []int, thetas []float64, tables []int64) []Setting {
	var out []Setting
	for _, stream := range streams {
		for _, n := range instances {
			for _, theta := range thetas {
				for _, table := range tables {
					out = append(out, Setting{Stream: stream, Instances: n, ThetaMax: theta, TableLimit: table})
				}
			}
		}
	}
	return out
}

// Name identifies the setting.
func (s Setting) Name() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	operator := fmt.Sprintf("instances=%d/theta=%s/table=%d", s.Instances, number(s.ThetaMax), s.TableLimit)
	if s.Family != "" {
		return fmt.Sprintf("family=%s/seed=%d", s.Family, s.Seed)
	}
	if s.Stream != "" {
		return "stream=" + s.Stream + "/" + operator
	}
	return fmt.Sprintf("zipf/keys=%d/%s/window=%d/fluctuation=%s/seed=%d",
		s.Keys, operator, s.Window, number(s.Fluctuation), s.Seed)
}

// Name identifies the case.
func (c *Case) Name() string { return c.Setting.Name() + "#" + strconv.FormatInt(c.Interval, 10) }
