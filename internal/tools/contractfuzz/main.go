// Contractfuzz makes requests of all that the contract describes, and of what it
// does not, and holds every answer against it.
//
//	go run ./internal/tools/contractfuzz              # starts plannerd serve, for a minute
//	go run ./internal/tools/contractfuzz --duration 10m --seed 7
//	go run ./internal/tools/contractfuzz --clients 8  # at the same time, for races
//	go run ./internal/tools/contractfuzz --url http://127.0.0.1:8080
//
// Every operation of openapi.yaml is walked, those too that are added to it one
// day. Bodies and parameters are made from the examples and the schemas; some are
// left as they are, in others values go to their bounds and beyond, take wrong
// types, vanish, double or sink into deep nesting, and bytes are broken. Rows
// travel as JSON, NDJSON, CSV and Arrow, packed well, badly and not at all.
// Headers and methods are odd at times, and over bare TCP lengths are wrong. What
// answers name, such as operators, plans, versions and entity tags, is remembered
// and used in later requests, so that they get far.
//
// An answer must come in time, with a status that the operation documents, a body
// and headers that fit the contract, and problems with a code; what it is
// compressed with must unpack. No status is 500 or above, but for a documented
// 503. The log of a server that is started here must not tell of a panic or of a
// failed request. What is wrong is printed once for each kind, as a command line,
// after a look for a shorter request that does the same; the report ends with the
// statuses that each operation answered with.
//
// One client makes the same requests for the same seed as long as the answers are
// the same. They are not altogether: the service makes ids, and clocks end plans.
//
// A server named by --url should be one to throw away: operators are made,
// changed and deleted. The exit code is 1 when something was found, and 2 when the
// flags are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"plannerd/internal/cli"
)

func main() {
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// options is what the flags say.
type options struct {
	duration time.Duration
	requests int // 0: as many as there is time for
	seed     uint64
	clients  int
	patience time.Duration
	url      string
	program  string
	database string
}

// command is the program; it returns the exit code.
func command(args []string, stdout, stderr io.Writer) int {
	return cli.Run("contractfuzz", args, stderr, parse, func(ctx context.Context, o options) (int, error) {
		r, err := fuzzService(ctx, o, stderr)
		if r == nil {
			return 1, err
		}
		r.write(stdout)
		return min(1, len(r.findings)), err
	})
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("contractfuzz", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&o.duration, "duration", time.Minute, "how long to go on")
	f.IntVar(&o.requests, "requests", 0, "requests after which to end before that; 0: none")
	f.Uint64Var(&o.seed, "seed", 1, "of the requests")
	f.IntVar(&o.clients, "clients", 1, "clients at the same time")
	f.DurationVar(&o.patience, "patience", 30*time.Second, "time that an answer may take")
	f.StringVar(&o.url, "url", "", "server to ask (default: one that is started)")
	f.StringVar(&o.program, "plannerd", "", "program to start (default: go build ./cmd/plannerd)")
	f.StringVar(&o.database, "database-url", "", "store of the server that is started (default: a temporary SQLite file)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.clients < 1, o.requests < 0, o.duration <= 0, o.patience <= 0:
		return o, errors.New("--clients, --duration and --patience are positive, --requests is not negative")
	case o.url != "" && (o.program != "" || o.database != ""):
		return o, errors.New("--plannerd and --database-url are for a server that is started, not for --url")
	}
	return o, nil
}
