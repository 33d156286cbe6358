package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"

	"plannerd/internal/cli"
	"plannerd/internal/cli/serving"
	"plannerd/internal/demo"
)

type demoCmd struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address on loopback to listen on; port 0 takes a free one (default 127.0.0.1:8080)."`
}

// Run serves the demonstration until the context ends.
func (c *demoCmd) Run(env *cli.Environment) error {
	if beyond, err := serving.BeyondLoopback(env.Ctx, c.Listen); err != nil {
		return err
	} else if beyond {
		return cli.Usagef("--listen %s: the demonstration is for this machine alone; listen on 127.0.0.1", c.Listen)
	}
	ctx, cancel := context.WithCancelCause(env.Ctx)
	defer cancel(nil)
	var filling sync.WaitGroup
	err := serveEmpty(ctx, env, c.Listen, func(url string) {
		filling.Go(func() {
			fmt.Fprintf(env.Stdout, "Filling the demonstration at %s ...\n", url)
			plans, err := demo.Fill(ctx, url, "")
			if err == nil {
				err = describe(env.Stdout, url, plans)
			}
			if err != nil {
				cancel(fmt.Errorf("filling the demonstration: %w", err))
			}
		})
	})
	filling.Wait()
	if cause := context.Cause(ctx); env.Ctx.Err() == nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err
}

// serveEmpty serves with an empty store, of which nothing is kept, until the context ends.
// ready is told the server's URL.
func serveEmpty(ctx context.Context, env *cli.Environment, listen string, ready func(url string)) (err error) {
	folder, err := os.MkdirTemp("", "plannerd-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	server := &cli.Environment{Ctx: ctx, Now: env.Now, Stdin: env.Stdin, Stdout: io.Discard, Stderr: env.Stderr,
		Ready: ready}
	return parseAndRun(server, []string{
		"serve", "--listen=" + listen, "--log-level=warn",
		"--database-url=sqlite:" + filepath.Join(folder, "plannerd.db"),
	})
}

// describe says what there is to see.
func describe(w io.Writer, url string, plans demo.Filled) error {
	fmt.Fprintf(w, "\nThe dashboard is at %s. What to look at:\n\n", url)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, sight := range plans.Sights() {
		fmt.Fprintf(table, "%s\t%s\t%s/#%s\n", sight.Operator, sight.Shows, url, sight.Path)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, `
What would other strategies and limits do about the plan that waits?

  curl -sS -X POST '%[1]s/v1/plans/%[2]s/replay' -H 'Content-Type: application/json' \
       -d '{"strategies": ["mixed", "optimal", "readj"], "parameters": {"theta_max": [0.02, 0.05]}}'

Where does one path of this repository's history go, and why?

  curl -sS '%[1]s/v1/operators/files/route?key=planner/optimal.go'

End it with Ctrl-C: nothing is kept.
`, url, plans.Proposed)
	return err
}
