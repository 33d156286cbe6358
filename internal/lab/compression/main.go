// Compression measures what the compact form of statistics saves and costs, as in
// mixed-routing Fig. 11: records, bytes, time and the error of the load estimates
// for whole keys and for degrees of discretisation R, on Zipf workloads and on key
// streams.
//
//	go run ./internal/lab/compression > compression.md
//
// Of Zipf workloads every interval is planned on, after the window of the state
// has filled; mixed's plan on whole keys is carried on. Figures are medians over
// intervals and repetitions, errors the greatest of any instance and interval.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"plannerd/internal/lab/quality/cases"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
)

type config struct {
	keys        []int
	instances   int
	strategy    string
	theta       float64
	table       int64
	intervals   int
	repetitions int
	streams     string
	streamTable int64
}

// degrees are R = 2^r for r = 0…8, as in Table II.
var degrees = []int{1, 2, 4, 8, 16, 32, 64, 128, 256}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	c := config{keys: []int{1e5, 1e6}}
	flags := flag.NewFlagSet("compression", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.instances, "instances", 15, "number of instances")
	flags.StringVar(&c.strategy, "strategy", planner.Mixed, "strategy that plans")
	flags.Float64Var(&c.theta, "theta", 0.08, "theta_max")
	flags.Int64Var(&c.table, "table", 3000, "table limit on Zipf workloads")
	flags.IntVar(&c.intervals, "intervals", 3, "intervals of each Zipf workload")
	flags.IntVar(&c.repetitions, "repetitions", 5, "times that everything timed is done; the median counts")
	flags.StringVar(&c.streams, "streams", streams.BesideProject,
		"folder of recorded streams, beside the own ones; empty: no streams")
	flags.Int64Var(&c.streamTable, "stream-table", 300, "table limit on streams")
	flags.Func("keys", "numbers of keys of the Zipf workloads, comma-separated (default 1e5,1e6)",
		func(text string) error {
			c.keys = nil
			for part := range strings.SplitSeq(text, ",") {
				n, err := strconv.ParseFloat(part, 64)
				if err != nil || !(n >= 1 && n <= 1e8) {
					return fmt.Errorf("%q is not from 1 to 1e8", part)
				}
				c.keys = append(c.keys, int(n))
			}
			return nil
		})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := c.measure(stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "compression:", err)
		return 1
	}
	return 0
}

func (c *config) measure(stdout, stderr io.Writer) error {
	for _, keys := range c.keys {
		fmt.Fprintf(stderr, "%d keys\n", keys)
		if err := c.zipf(stdout, keys); err != nil {
			return err
		}
	}
	if c.streams == "" {
		return nil
	}
	names, err := cases.Streams(c.streams)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n## Streams, %d instances, θ_max %v, A_max %d, %s\n\n", c.instances, c.theta,
		c.streamTable, c.strategy)
	fmt.Fprint(stdout, "| stream | R | records per 1000 keys | error before | error after | state moved, of whole keys' "+
		"| met all limits, of whole keys' |\n|---|---|---|---|---|---|---|\n")
	for _, name := range names {
		fmt.Fprintln(stderr, name)
		if err := c.stream(stdout, name); err != nil {
			return err
		}
	}
	return nil
}
