package ring

import (
	"slices"

	"plannerd/planner"
)

// paperWorkload is one of the workloads of "DPA Load Balancer" §6.2. The paper tells
// how skewed each is on the initial rings, but not its letters: these are letters
// with exactly that skew on rings of four nodes with 16 tokens (halving) or one
// (doubling). WL3 is the paper's own.
type paperWorkload struct {
	Name    string
	Letters *planner.Keys
	Counts  []int64 // messages by letter, 100 together
}

// paperWorkloads returns WL1 to WL5.
func paperWorkloads() []paperWorkload {
	return []paperWorkload{
		{"WL1", planner.KeysOf("b", "e", "i", "p"), []int64{25, 25, 25, 25}},
		{"WL2", planner.KeysOf("b", "c", "l", "v"), []int64{25, 25, 25, 25}},
		{"WL3", planner.KeysOf("a"), []int64{100}},
		{"WL4", planner.KeysOf("b", "e", "l"), []int64{15, 23, 62}},
		{"WL5", planner.KeysOf("a", "b", "i", "l"), []int64{26, 14, 20, 40}},
	}
}

// PaperOptions are the parameters of [Paper].
type PaperOptions struct {
	// MaxRounds are the greatest numbers of rounds per reducer to try, each ≥ 1. Nil:
	// 1, as in Table 1. Fig. 3 sweeps them.
	MaxRounds []int
	// Runs is how many seeds are tried, 0, 1, …, at least one; each shuffles the letters anew.
	Runs int
	// Report is how many ticks lie between two reports of a reducer; a message takes 100. 0: 100.
	// The paper does not say it.
	Report int64
	// State is the scheme for the state of keys that move. Empty: FinalMerge.
	State StateScheme
	// Each is told every simulation. Nil: nobody.
	Each func(workload string, method Method, x *Simulation)
	// Stop is asked now and then; true ends with planner.ErrStopped. Nil: never.
	Stop func() bool
}

// PaperRow is one cell of the paper's experiments, simulated.
type PaperRow struct {
	Workload  string
	Method    Method
	MaxRounds int
	// Baseline is S without balancing, the same for every seed.
	Baseline float64
	// Median, Least and Most are S with balancing over all seeds. Of an even number
	// of seeds the median is the lower one.
	Median, Least, Most float64
}

// Paper repeats the experiments of "DPA Load Balancer" §6: four mappers, four
// reducers, τ = 0.2, both methods on five workloads, for several seeds, since the
// result depends on when the balancer looks. The rows are in the order of
// MaxRounds, then of Table 1. The error is planner.ErrStopped.
func Paper(o PaperOptions) ([]PaperRow, error) {
	if o.MaxRounds == nil {
		o.MaxRounds = []int{DefaultMaxRounds}
	}
	var rows []PaperRow
	for _, rounds := range o.MaxRounds {
		for _, workload := range paperWorkloads() {
			for _, method := range []Method{Halving, Doubling} {
				row := PaperRow{Workload: workload.Name, Method: method, MaxRounds: rounds}
				if err := row.simulate(workload, o); err != nil {
					return nil, err
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// paperTokens bounds the ring of doubling, of four nodes and at most four keys. Up
// to four rounds of each reducer stay below, five seldom do not.
const paperTokens = 1 << 16

// simulate fills in the figures of a row.
func (row *PaperRow) simulate(w paperWorkload, o PaperOptions) error {
	options := simulationOptions{method: row.Method, maxRounds: row.MaxRounds, timing: timing{report: o.Report},
		state: o.State, tokenLimit: paperTokens, stop: o.Stop}
	var skews []float64
	for seed := range uint64(o.Runs) {
		options.seed = seed
		x, err := simulate(newStream(w.Letters, w.Counts, seed), options)
		if err != nil {
			return err
		}
		if o.Each != nil {
			o.Each(row.Workload, row.Method, x)
		}
		row.Baseline = x.Baseline.Skew
		skews = append(skews, x.Balanced.Skew)
	}
	slices.Sort(skews)
	row.Least, row.Median, row.Most = skews[0], skews[(len(skews)-1)/2], skews[len(skews)-1]
	return nil
}
