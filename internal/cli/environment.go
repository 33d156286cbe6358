package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Environment is what a command may touch of the world.
type Environment struct {
	Ctx            context.Context
	Environ        []string // NAME=value
	Unknown        []string // warnings about variables that nothing reads
	Command        string   // that is executed, such as analyze ring
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Now            func() time.Time
	// ready is told the URL of a server that serves. Nil: standard output is told.
	Ready func(url string)
}

// UsageError is an error of the command line; its exit code is exitUsage.
type UsageError struct{ error }

// Usagef makes an error of the command line.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// ErrMissed ends plan --check: everything worked, but a goal was missed.
var ErrMissed = errors.New("a plan misses a goal")

// Getenv returns the value of an environment variable, "" of one that is not set.
func (env *Environment) Getenv(name string) string {
	for _, variable := range slices.Backward(env.Environ) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

// OneLine joins the lines of a message.
func OneLine(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasSuffix(b.String(), ":"):
			b.WriteString(" ")
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}
