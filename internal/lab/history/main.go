// History checks that the running service is linearizable while its processes
// are killed: it behaves as if every request happened at one instant between
// its sending and its answer.
//
//	go run ./internal/lab/history  # 3 replicas on PostgreSQL
//	go run ./internal/lab/history --store sqlite --seed 7
//	go run ./internal/lab/history --operations 1000 --kill-every 20 --visualization violation.html
//
// Clients share a few operators. At random they post statistics, repeat those of
// others, approve, reject, start, take over, acknowledge, commit and abort plans,
// configure, and read tables, plans, lists and operators, each time from another
// replica. After an unknown outcome they send the same again. Meanwhile replicas are
// killed by SIGKILL and started again, PostgreSQL is restarted, half of the times as
// after a crash, and the network between a replica and PostgreSQL swallows packets for a
// while, or forgets connections. Replicas are stopped by SIGSTOP for a while. The clocks of the replicas
// are ten minutes apart, and two of three have PgBouncer before PostgreSQL, one in each mode.
//
// In every other round PostgreSQL fails over to a standby that is behind, or a backup is restored. What
// is lost then cannot be linearizable: there it is looked at that what is stored is sound, that nothing
// is answered with a 5xx but 503, and, as in all rounds, that routers which follow the tables through
// all this end at the newest one.
//
// Every operation is recorded with the times of its call and its answer. When
// the clients of a round have stopped, porcupine looks, for each operator, for an
// order of its operations that a sequential model of the contract explains, and
// what is stored is compared with the answers and with itself.
//
// The seed decides what clients ask for and when faults come, not how processes
// interleave. The service is built by go build, unless --plannerd names a
// program. It and PostgreSQL listen on loopback, and everything is removed in the
// end, also after an interrupt. The exit code is 1 when something failed or a
// check did not hold, and 2 when the flags are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"plannerd/internal/lab/program"
)

func main() {
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// The kinds of store.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

// options is what the flags say, and what only tests do.
type options struct {
	store         string
	replicas      int
	clients       int
	operators     int // at the same time
	operations    int // in all
	perOperator   int // in the mean
	killEvery     int
	restartEvery  int
	seed          uint64
	swallowEvery  int
	freezeEvery   int
	lossEvery     int // rounds
	poolers       bool
	swallowTime   time.Duration
	programs      []string // of the replicas in turn; nil: they are built
	visualization string
	checkTime     time.Duration

	postgresSettings []string
	// transport stands between clients and replicas.
	transport func(http.RoundTripper) http.RoundTripper
}

// command is the program; it returns the exit code.
func command(args []string, stdout, stderr io.Writer) int {
	return program.Run("history", args, stderr, parse, func(ctx context.Context, o options) (int, error) {
		r, err := execute(ctx, o, stderr)
		if err != nil {
			return 1, err
		}
		r.write(stdout)
		return min(1, len(r.faults)), nil
	})
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("history", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.store, "store", onPostgres, "postgres, or sqlite with a single replica")
	f.IntVar(&o.replicas, "replicas", 3, "processes of the service on PostgreSQL")
	f.IntVar(&o.clients, "clients", 8, "clients at the same time")
	f.IntVar(&o.operators, "operators", 4, "operators that they share at the same time")
	f.IntVar(&o.operations, "operations", 12000, "operations in all")
	f.IntVar(&o.perOperator, "per-operator", 500,
		"operations until an operator's history is checked and another one takes its place")
	f.IntVar(&o.killEvery, "kill-every", 120, "operations, in the mean, until replicas are killed; 0: never")
	f.IntVar(&o.restartEvery, "restart-every", 1200, "operations, in the mean, until PostgreSQL is restarted; 0: never")
	f.IntVar(&o.swallowEvery, "swallow-every", 300,
		"operations, in the mean, until the network swallows what a replica and PostgreSQL say; 0: never")
	f.DurationVar(&o.swallowTime, "swallow-time", 8*time.Second, "longest time that the network swallows for")
	f.IntVar(&o.freezeEvery, "freeze-every", 400,
		"operations, in the mean, until a replica is stopped by SIGSTOP for as long; 0: never")
	f.IntVar(&o.lossEvery, "loss-every", 2,
		"rounds until PostgreSQL fails over to a standby that is behind, or a backup is restored; 0: never")
	f.BoolVar(&o.poolers, "poolers", true, "put PgBouncer before PostgreSQL for two of three replicas, in either mode")
	f.Uint64Var(&o.seed, "seed", 1, "of what clients ask for and when faults come")
	program := f.String("plannerd", "", "program to check (default: go build ./cmd/plannerd, with clocks that disagree)")
	f.StringVar(&o.visualization, "visualization", "", "file for a page that shows the first violation")
	f.DurationVar(&o.checkTime, "check-time", time.Minute, "time that the check of an operator's history may take")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.store != onPostgres && o.store != onSQLite:
		return o, fmt.Errorf("--store is postgres or sqlite, not %q", o.store)
	case min(o.replicas, o.clients, o.operators, o.operations, o.perOperator) < 1:
		return o, errors.New("--replicas, --clients, --operators, --operations and --per-operator are at least 1")
	case min(o.killEvery, o.restartEvery, o.swallowEvery, o.freezeEvery, o.lossEvery) < 0:
		return o, errors.New("--kill-every, --restart-every, --swallow-every, --freeze-every and --loss-every " +
			"are not negative")
	}
	if *program != "" {
		o.programs = []string{*program}
	}
	if o.store == onSQLite {
		o.replicas = 1
	}
	return o, nil
}
