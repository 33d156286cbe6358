// Quality measures how good plans are and how long they take, over key streams and over
// families of inputs that are drawn by seed.
//
//	go run ./internal/lab/quality -no-streams -families 1
//	go run ./internal/lab/quality > quality.md
//
// In each interval every strategy plans on the same statistics and the same
// routing table; the plan of strategy optimal is then carried on. Plans are judged by
// their objective relative to the best lower bound that any certificate of the
// case proves. Tables go to standard output as Markdown, progress to standard
// error. Apart from times, the same seed gives the same figures as long as no
// plan is cut short by its time limit.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"

	"plannerd/internal/lab/program"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return program.Run("quality", args, stderr, parseFlags, func(ctx context.Context, c *config) (int, error) {
		context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt) }) // a second interrupt ends it at once
		s, err := assess(ctx, c, stdout, stderr)
		if err == nil && s.contradictions() > 0 {
			return 3, nil // a proof is wrong: the report says which
		}
		return 0, err
	})
}
