// Package program is the frame of the programs of the lab: their flags, signals and exit codes.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Run reads the arguments and does what they say, until an interrupt ends the
// context. It returns the exit code: 2 when parse fails and 1 when do does, which it
// says on stderr; 0 when help was asked for; else that of do.
func Run[O any](
	name string, args []string, stderr io.Writer,
	parse func(args []string, stderr io.Writer) (O, error), do func(ctx context.Context, o O) (code int, err error),
) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, name+":", err)
		return 2
	}
	code, err := do(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, name+":", err)
		return 1
	}
	return code
}
