// Quality measures how good plans are and how long they take, over a grid of
// Zipf workloads and over recorded key streams.
//
//	go run ./internal/quality -quick
//	go run ./internal/quality -csv cases.csv > quality.md
//
// In each interval every strategy plans on the same statistics and the same
// routing table; one strategy's plan is then carried on. Plans are judged by
// their objective relative to the best lower bound that any certificate of the
// case proves. Tables go to standard output as Markdown, progress to standard
// error. Apart from times, the same seed gives the same figures as long as no
// plan is cut short by its time limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends it at once
	c, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "quality:", err)
		return 2
	}
	contradictions, err := measure(ctx, c, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "quality:", err)
		return 1
	}
	if contradictions > 0 {
		return 3 // a proof is wrong: the report says which
	}
	return 0
}
