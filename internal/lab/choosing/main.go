// Command choosing measures how good the policies are that backtests recommend, and that are chosen again and
// again under the policy auto: beside the best policy of the same table in hindsight, and beside mixed on the last
// interval. A cell is a stream with a number of instances and a θ_max; all figures are of the second half of its
// intervals.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"

	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/partitioner"
	"plannerd/planner/policy"
)

// nothing is a cost that nobody notices, in θ: a tenth of a point. Ratios are of costs above it.
const nothing = 1e-3

// cell is what a policy came to in one, beside others.
type cell struct {
	regret   float64 // its cost by that of the best policy of the table in hindsight
	moved    float64 // by what mixed moved. NaN: that moved nothing
	theta    float64 // its median by that of mixed
	offFront bool    // another policy has less of one figure, by a tenth, and no more of the other
	worse    bool    // it moved more than mixed at no better θ
}

func main() {
	seed := flag.Uint64("generated", 0, "run over generated streams of this seed in place of recorded ones")
	match := flag.String("match", "", "run over the streams whose name contains this")
	without := flag.String("without", "baby_names,slashdot", "and none of these, with commas between them")
	worth := flag.Float64("worth", policy.DefaultBalanceWorth, "what balance is worth")
	wide := flag.Bool("wide", false, "have forecasts by last, ewma, level and seasonal in the table, too")
	flag.Parse()
	all, err := choose(*seed, *match, strings.Split(*without, ","))
	if err == nil {
		err = measure(all, *worth, *wide)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// choose returns the generated streams of a seed, or where that is 0 the recorded ones, that match.
func choose(seed uint64, match string, without []string) ([]streams.Stream, error) {
	all := generated(seed)
	if seed == 0 {
		folder, err := streams.Beside()
		if err != nil {
			return nil, err
		}
		if all, err = streams.Recorded(folder); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(all, func(s streams.Stream) bool {
		return !strings.Contains(s.Name, match) ||
			slices.ContainsFunc(without, func(name string) bool { return name != "" && strings.Contains(s.Name, name) })
	})
	if len(all) == 0 {
		return nil, errors.New("there is no such stream")
	}
	return all, nil
}

// measure runs all cells of streams and prints what came of them.
func measure(all []streams.Stream, worth float64, wide bool) error {
	var recommended, auto []cell
	for _, s := range all {
		h := backtest.NewHistory(drive.DefaultWindow)
		for in, err := range s.Intervals {
			if err != nil {
				return err
			}
			if err := h.Add(in.Number, in.Statistics); err != nil {
				return err
			}
		}
		for _, instances := range []int{8, 16, 40} {
			for _, thetaMax := range []float64{0.05, 0.08, 0.2} {
				r, err := report(h, instances, thetaMax, worth, wide)
				if err != nil {
					return err
				}
				one := r.Results[*r.Recommended]
				recommended = append(recommended, judge(r, one.Judged, one.Cost))
				auto = append(auto, judge(r, r.Auto.Judged, r.Auto.Cost))
				log.Printf("%s, %d instances, θ_max %g: %+v", s.Name, instances, thetaMax, auto[len(auto)-1])
			}
		}
	}
	show("recommended", recommended)
	show("auto", auto)
	return nil
}

// report is the backtest of a cell.
func report(h *backtest.History, instances int, thetaMax, worth float64, wide bool) (*backtest.Report, error) {
	op := backtest.Operator{EntryGrace: 2, BalanceWorth: worth, Options: planner.Options{ThetaMax: thetaMax}}
	var over []partitioner.Instance
	for d := range int32(instances) {
		op.Target.Instances = append(op.Target.Instances, planner.Instance{ID: d, Capacity: 1})
		over = append(over, partitioner.Instance{ID: d})
	}
	var err error
	if op.Target.Hash, err = partitioner.New(partitioner.Config{Function: partitioner.Modulo}, over); err != nil {
		return nil, err
	}
	grid := policy.DefaultGrid()
	if wide {
		grid.Forecasts = append(grid.Forecasts, forecast.Config{Method: forecast.Last},
			forecast.Config{Method: forecast.Level},
			forecast.Config{Method: forecast.EWMA, Alpha: 0.5}, forecast.Config{Method: forecast.EWMA, Alpha: 0.2},
			forecast.Config{Method: forecast.Seasonal, Alpha: 0.35})
		grid.Targets, grid.Paybacks = []float64{0.6, 0.3, 0.1}, []float64{1, 4, 16}
	}
	return backtest.Search(context.Background(), h, op, backtest.Candidates(grid.Policies(thetaMax, worth)), nil)
}

// judge compares a policy with the others of the table.
func judge(r *backtest.Report, f backtest.Figures, cost float64) cell {
	best, base := math.Inf(1), r.Baseline.Judged
	c := cell{moved: f.Moved / base.Moved, theta: (f.Median + nothing) / (base.Median + nothing),
		worse: f.Moved > base.Moved && f.Median >= base.Median && f.Excess >= base.Excess}
	for _, x := range r.Results {
		best = min(best, x.Cost)
		o := x.Judged
		c.offFront = c.offFront || 1.1*o.Moved < f.Moved && o.Excess <= f.Excess ||
			1.1*o.Excess < f.Excess && o.Moved <= f.Moved
	}
	c.regret = (cost + nothing) / (best + nothing)
	return c
}

// show prints a line about all cells.
func show(name string, cells []cell) {
	var regret, moved, theta []float64
	within, above, off, worse := 0., 0., 0., 0
	n := float64(len(cells))
	for _, c := range cells {
		regret, theta = append(regret, c.regret), append(theta, c.theta)
		if !math.IsNaN(c.moved) && !math.IsInf(c.moved, 0) {
			moved = append(moved, c.moved)
		}
		within += part(c.regret <= 1.1, n)
		above += part(c.regret > 1.5, n)
		off += part(c.offFront, n)
		if c.worse {
			worse++
		}
	}
	for _, x := range [][]float64{regret, moved, theta} {
		slices.Sort(x)
	}
	fmt.Printf("%-12s %d cells; cost / best: median %.3f, p90 %.3f, most %.2f, ≤ 1.1 in %.1f %%, > 1.5 in %.1f %%; "+
		"off the front %.1f %%; moved / mixed: median %.3f; θ / mixed: median %.3f; more moved at no better θ: %d\n", name,
		len(cells), drive.Quantile(regret, 0.5), drive.Quantile(regret, 0.9), regret[len(regret)-1], 100*within, 100*above,
		100*off, drive.Quantile(moved, 0.5), drive.Quantile(theta, 0.5), worse)
}

// part is what one of n counts for, if it does.
func part(counts bool, n float64) float64 {
	if counts {
		return 1 / n
	}
	return 0
}
