// Realised measures what policies come to in the interval after the one that they plan
// on: for each stream, number of instances and θ_max one is chosen by the first half of
// the intervals, and judged on the other half beside mixed on the last interval.
//
//	go run ./internal/tools/realised > realised.md
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/streams"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/policy"
)

func main() {
	os.Exit(exit(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// exit runs the program and returns the exit code.
func exit(args []string, stdout, stderr io.Writer) int {
	if err := run(args, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "realised:", err)
		return 1
	}
	return 0
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("realised", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("streams", streams.BesideProject, "folder of recorded streams, beside the own ones")
	match := flags.String("match", ".", "streams whose name matches this regular expression")
	instances := flags.String("instances", "4,8,16,40", "numbers of instances")
	thetas := flags.String("theta", "0.05,0.08,0.2", "values of theta_max")
	costs := flags.Bool("costs", false, "the state of keys is what they cost in the last intervals, whatever is reported")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	all, err := streams.With(*folder)
	if err != nil {
		return err
	}
	var total summary
	fmt.Fprint(stdout, header)
	for _, s := range all {
		if !wanted.MatchString(s.Name) {
			continue
		}
		one, err := measure(s, *costs, *instances, *thetas)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprint(stdout, one.row(s.Name))
		total.merge(one)
	}
	fmt.Fprint(stdout, total.row("all"), "\n", total.calibration())
	return nil
}

const header = "| stream | cells | moved | median θ | p95 | above θ_max | within tolerance | worse in all " +
	"| moved / bound | mixed |\n" +
	"|---|---|---|---|---|---|---|---|---|---|\n"

// measure goes through the cells of a stream.
func measure(s streams.Stream, costs bool, instances, thetas string) (summary, error) {
	var out summary
	h := backtest.NewHistory(drive.DefaultWindow)
	for in, err := range s.Intervals {
		if err == nil {
			if costs {
				in.State = nil
			}
			err = h.Add(in.Number, in.Statistics)
		}
		if err != nil {
			return out, err
		}
	}
	for n := range strings.SplitSeq(instances, ",") {
		for text := range strings.SplitSeq(thetas, ",") {
			thetaMax, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return out, err
			}
			op, err := operator(n, thetaMax)
			if err != nil {
				return out, err
			}
			candidates := backtest.Candidates(policy.DefaultGrid().Policies(thetaMax))
			tracks, err := backtest.Run(context.Background(), h, op, append([]backtest.Candidate{backtest.Baseline()},
				candidates...), nil)
			if err != nil {
				return out, err
			}
			if err := out.add(h, op, tracks); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// operator has so many instances on a token ring.
func operator(instances string, thetaMax float64) (backtest.Operator, error) {
	n, err := strconv.Atoi(instances)
	if err != nil {
		return backtest.Operator{}, err
	}
	var target planner.Configuration
	var ids []partitioner.Instance
	for d := range int32(n) {
		target.Instances = append(target.Instances, planner.Instance{ID: d, Capacity: 1})
		ids = append(ids, partitioner.Instance{ID: d})
	}
	target.Hash, err = partitioner.New(partitioner.Config{Function: "ring"}, ids)
	return backtest.Operator{Target: target, Options: planner.Options{ThetaMax: thetaMax}, EntryGrace: 2}, err
}

// summary is what cells come to beside the baseline.
type summary struct {
	cells, within, worse      int
	moved, median, p95, above []float64
	events, covered           int
	squares, broken           float64
	bins                      [10]struct{ events, expected, broken float64 }
	// bounds are how many times the hindsight bound the policy moved, and the baseline.
	bounds [2][]float64
}

// add takes in a cell: the baseline, then the candidates.
func (s *summary) add(h *backtest.History, op backtest.Operator, tracks []backtest.Track) error {
	baseline, n := &tracks[0], len(tracks[0].Steps)
	from := min(backtest.Warmup, n)
	chosen := &tracks[1+backtest.Choose(tracks[1:], baseline, from, max(from, n/2))]
	f, base := chosen.Figures(n/2, n), baseline.Figures(n/2, n)
	s.cells++
	if base.Moved > 0 {
		s.moved = append(s.moved, f.Moved/base.Moved)
	}
	median, p95, above := beside(f.Median, base.Median), beside(f.P95, base.P95), f.Above-base.Above
	s.median, s.p95, s.above = append(s.median, median), append(s.p95, p95), append(s.above, above)
	if median <= 1.1 && p95 <= 1.1 && above <= 0.05 {
		s.within++
	}
	if median > 1.1 && p95 > 1.1 && above > 0.05 {
		s.worse++
	}
	for i := from; i+1 < n; i++ {
		s.event(chosen.Steps[i], chosen.Steps[i+1].Theta, chosen.ThetaMax)
	}
	brackets, err := h.Brackets(context.Background(), op, []backtest.Track{*chosen, *baseline}, n/2)
	if err != nil {
		return err
	}
	for i, moved := range []float64{f.Moved, base.Moved} {
		if b := brackets[i]; b.Bound > moved {
			return fmt.Errorf("the bound %v is above %v, which a policy moved", b.Bound, moved)
		} else if b.Ratio != nil {
			s.bounds[i] = append(s.bounds[i], *b.Ratio)
		}
	}
	return nil
}

// beside is a ratio; 1 of nothing beside nothing.
func beside(x, base float64) float64 { return (x + 1e-9) / (base + 1e-9) }

// event holds what a plan expected against what came.
func (s *summary) event(step backtest.Step, theta, thetaMax float64) {
	if step.Expected == nil {
		return
	}
	p, broken := step.Expected.Probability, 0.0
	if theta > thetaMax {
		broken = 1
	}
	s.events++
	if theta <= step.Expected.P95 {
		s.covered++
	}
	s.squares += (p - broken) * (p - broken)
	s.broken += broken
	bin := &s.bins[min(9, int(10*p))]
	bin.events++
	bin.expected += p
	bin.broken += broken
}

func (s *summary) merge(other summary) {
	s.cells, s.within, s.worse = s.cells+other.cells, s.within+other.within, s.worse+other.worse
	s.moved, s.median = append(s.moved, other.moved...), append(s.median, other.median...)
	s.p95, s.above = append(s.p95, other.p95...), append(s.above, other.above...)
	s.events, s.covered = s.events+other.events, s.covered+other.covered
	s.squares, s.broken = s.squares+other.squares, s.broken+other.broken
	for i := range s.bins {
		s.bins[i].events += other.bins[i].events
		s.bins[i].expected += other.bins[i].expected
		s.bins[i].broken += other.bins[i].broken
	}
	for i := range s.bounds {
		s.bounds[i] = append(s.bounds[i], other.bounds[i]...)
	}
}

// row is the line of the summary: medians of ratios, and parts of the cells.
func (s *summary) row(name string) string {
	part := func(n int) float64 { return 100 * float64(n) / float64(max(1, s.cells)) }
	return fmt.Sprintf("| %s | %d | %.2f | %.2f | %.2f | %+.0f points | %.0f %% | %.0f %% | %s | %s |\n", name, s.cells,
		middle(s.moved), middle(s.median), middle(s.p95), 100*middle(s.above), part(s.within), part(s.worse),
		ofBound(s.bounds[0]), ofBound(s.bounds[1]))
}

// ofBound is the median, and of how many cells.
func ofBound(ratios []float64) string {
	if len(ratios) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f of %d", middle(ratios), len(ratios))
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// calibration says how often what was expected came.
func (s *summary) calibration() string {
	n := float64(max(1, s.events))
	climate, gap := s.broken/n, 0.0
	var bins strings.Builder
	for _, b := range s.bins {
		if b.events == 0 {
			continue
		}
		gap += max(b.expected-b.broken, b.broken-b.expected) / n
		fmt.Fprintf(&bins, "| %.0f | %.2f | %.2f |\n", b.events, b.expected/b.events, b.broken/b.events)
	}
	return fmt.Sprintf("%d predictions: θ was within the stated p95 in %.1f %%; mean gap %.3f, Brier score %.3f, "+
		"of climatology %.3f.\n\n| predictions | expected to break θ_max | did |\n|---|---|---|\n%s",
		s.events, 100*float64(s.covered)/n, gap, s.squares/n, climate*(1-climate), bins.String())
}
