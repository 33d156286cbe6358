// Splits measures what splitting hot keys comes to over time: each plan is made on the table
// that the one before has left.
//
//	go run ./internal/lab/splits > splits.md
//	go run ./internal/lab/splits -least 10s -match azure -instances 16
//	go run ./internal/lab/splits -schemes -costs -match nasa
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/drive"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

func main() {
	os.Exit(exit(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// exit runs the program and returns the exit code.
func exit(args []string, stdout, stderr io.Writer) int {
	err := run(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "splits:", err)
		return 1
	}
	return 0
}

// question is what is measured.
type question struct {
	instances []int
	intervals int
	costs     bool          // the state of keys is what they cost in the last intervals, whatever is reported
	price     float64       // of a part, in units of state; below 0: none
	least     time.Duration // that a solver may take for each plan; 0: none is asked
	options   planner.Options
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("splits", flag.ContinueOnError)
	flags.SetOutput(stderr)
	folder := flags.String("streams", streams.BesideProject, "folder of recorded streams, beside the own ones")
	match := flags.String("match", ".", "streams whose name matches this regular expression")
	instances := flags.String("instances", "16,40,128", "numbers of instances")
	var q question
	flags.IntVar(&q.intervals, "intervals", 60, "how many intervals of each stream, at most")
	flags.Float64Var(&q.options.ThetaMax, "theta", 0.05, "theta_max")
	flags.BoolVar(&q.costs, "costs", false, "the state of keys is what they cost in the last five intervals")
	flags.DurationVar(&q.least, "least", 0, "how long a solver may take to prove what any plan has to move in a step")
	flags.Float64Var(&q.price, "price", -1, "price of a part, in units of state; below 0: none")
	schemes := flags.Bool("schemes", false, "beside mixed and partial key grouping, instead of over time alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(*instances, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		q.instances = append(q.instances, n)
	}
	q.options.Effort, q.options.Certificate = planner.EffortFast, planner.CertificateOff
	all, err := streams.With(*folder)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s streams.Stream) bool { return !wanted.MatchString(s.Name) })
	if *schemes {
		return q.compareSchemes(stdout, all)
	}
	return q.overTime(stdout, all)
}

// read is the beginning of a stream.
func (q question) read(s streams.Stream) ([]streams.Interval, error) {
	list, err := s.First(q.intervals)
	if err != nil || !q.costs {
		return list, err
	}
	w := drive.NewWindow(drive.DefaultWindow)
	for i := range list {
		list[i].State = nil
		stats, err := w.Add(list[i].Statistics)
		if err != nil {
			return nil, err
		}
		list[i].Statistics = stats
	}
	return list, nil
}

// overTime prints a row for each stream and number of instances with hot keys, and the median
// of what splitting moves over what whole keys move.
func (q question) overTime(w io.Writer, all []streams.Stream) error {
	fmt.Fprint(w, "| stream | instances | with hot keys | θ whole | realised | θ split | realised | above θ_max | "+
		"merges | too many | moved whole | split | of it parts | split / whole | more a plan | least |\n"+
		"|---|"+strings.Repeat("--:|", 15)+"\n")
	ratios := map[int][]float64{}
	for _, s := range all {
		list, err := q.read(s)
		if err != nil {
			return err
		}
		for _, n := range q.instances {
			whole, split, err := q.both(list, n)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			if split.hot == 0 {
				continue
			}
			ratio := split.moved / whole.moved
			ratios[n] = append(ratios[n], ratio)
			ratios[0] = append(ratios[0], ratio)
			fmt.Fprintf(w, "| %s | %d | %d of %d | %.2g | %.2g | %.2g | %.2g | %d | %g | %d | %.1f %% | %.1f %% | %.1f %% | "+
				"%.2f | %.2f %% | %s |\n", s.Name, n, split.hot, len(list), median(whole.planned), median(whole.realised),
				median(split.planned), median(split.realised), split.missed, median(split.merges), split.tooMany,
				whole.moved, split.moved, split.parts, ratio, (split.moved-whole.moved)/float64(len(list)), split.leastText())
		}
	}
	for _, n := range append([]int{0}, q.instances...) {
		fmt.Fprintf(w, "\n%d cells, %d instances (0: all): median of split / whole %.2f",
			len(ratios[n]), n, median(ratios[n]))
	}
	fmt.Fprintln(w)
	return nil
}

// both runs strategy optimal on whole keys, and on split ones.
func (q question) both(list []streams.Interval, instances int) (whole, split track, err error) {
	r := runner{list: list, instances: instances, strategy: planner.Optimal, options: q.options}
	if whole, err = r.run(); err != nil {
		return whole, split, err
	}
	r.options.Splitting, r.least = &planner.Splitting{}, q.least
	if q.price >= 0 {
		r.options.Splitting.Price = &q.price
	}
	split, err = r.run()
	return whole, split, err
}

// median is that of a list; 0 of none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return drive.Quantile(slices.Sorted(slices.Values(list)), 0.5)
}
