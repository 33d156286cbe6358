// Load measures the whole service from outside: it starts plannerd serve as a
// process of its own on a free loopback port and an empty store, posts real
// statistics, and commits the plans.
//
//	go run ./internal/lab/load million                          # a million keys by format, encoding and store
//	go run ./internal/lab/load million --keys 1e5 --runs 3 --formats json_rows,csv --encodings identity --stores sqlite
//	go run ./internal/lab/load million --keys 1e6,1e7 --limit 8GiB  # ten million keys against one
//	go run ./internal/lab/load clients --duration 60s           # 32 engines at the same time
//	go run ./internal/lab/load overload --memory-budget 256MiB  # four times what the budget admits
//	go run ./internal/lab/load persist                          # a plan of 100 000 table changes
//	go run ./internal/lab/load routers                          # 5 000 routers that wait for one table
//
// Each experiment has its own flags: go run ./internal/lab/load million -h. Results
// go to standard output as Markdown, progress to standard error. The exit code
// is 1 when something failed, an answer was wrong or a check did not hold, and 2
// when the flags are wrong. A missed target of time or memory is reported, no
// failure.
//
// The statistics are those of plannerd generate: Zipf 0.85, which drifts from
// interval to interval, here under keys of 12 to 16 bytes. Every time stands
// beside that of sorting a million float64, the yardstick, measured in the same
// run.
//
// The service is built by go build, unless --plannerd names a program, and keeps
// its data in a SQLite file in a temporary folder or on a PostgreSQL server that
// is started for the run (--database-url names another, on which databases may
// be created). Everything ends by itself, and an interrupt cleans up as well.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"plannerd/internal/cli"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// An experiment is what the first argument names.
type experiment interface {
	// flags declares its flags, with their defaults.
	flags(*flag.FlagSet)
	// run measures and writes the report to b.out.
	run(ctx context.Context, b *bench) error
}

var experiments = map[string]func() experiment{
	"million":  func() experiment { return &million{} },
	"clients":  func() experiment { return &clients{} },
	"overload": func() experiment { return &overload{} },
	"persist":  func() experiment { return &persist{} },
	"routers":  func() experiment { return &routers{} },
}

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	b := &bench{out: stdout, log: stderr}
	return cli.Run("load", args, stderr, b.parse, func(ctx context.Context, e experiment) (int, error) {
		return 0, b.measure(ctx, e)
	})
}

// parse finds the experiment and reads its flags.
func (b *bench) parse(args []string, stderr io.Writer) (experiment, error) {
	if len(args) == 0 || experiments[args[0]] == nil {
		return nil, fmt.Errorf("name an experiment: %s", strings.Join(slices.Sorted(maps.Keys(experiments)), ", "))
	}
	e := experiments[args[0]]()
	flags := flag.NewFlagSet("load "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	b.flags(flags)
	e.flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return e, nil
}
