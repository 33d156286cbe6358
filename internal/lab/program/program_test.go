package program

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"syscall"
	"testing"
)

func parse(args []string, stderr io.Writer) (n int, err error) {
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&n, "n", 0, "a number")
	return n, f.Parse(args)
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		said string // at the end
	}{
		{"", 0, ""},
		{"-n 3", 3, ""},
		{"-n -1", 1, "test: it is negative\n"},
		{"-n x", 2, "flag -n: parse error\n"},
		{"-h", 0, "a number\n"},
	} {
		var stderr strings.Builder
		code := Run("test", strings.Fields(c.args), &stderr, parse, func(_ context.Context, n int) (int, error) {
			if n < 0 {
				return 0, errors.New("it is negative")
			}
			return n, nil
		})
		if said := stderr.String(); code != c.code || !strings.HasSuffix(said, c.said) || c.said == "" && said != "" {
			t.Errorf("%q: exit code %d, %q", c.args, code, said)
		}
	}
}

func TestInterrupt(t *testing.T) {
	code := Run("test", nil, io.Discard, parse, func(ctx context.Context, _ int) (int, error) {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
			return 0, err
		}
		<-ctx.Done()
		return 4, nil
	})
	if code != 4 {
		t.Errorf("exit code %d", code)
	}
}
