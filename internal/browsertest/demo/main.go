// Command demo serves the dashboard with something to show: it runs plannerd on
// a database of its own, fills it with the recorded key streams, prints where
// everything is, and goes on until it is interrupted or nobody reads any more.
//
//	go run ./internal/browsertest/demo --data ../shared/data
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"plannerd/internal/access"
	"plannerd/internal/browsertest/fill"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr) //nolint:forbidigo // this is main
	stop()
	os.Exit(code) //nolint:forbidigo // this is main
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var d demo
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&d.data, "data", "../shared/data", "folder of the recorded key streams")
	flags.BoolVar(&d.secured, "tokens", false, "ask for tokens, and print one of each role")
	flags.BoolVar(&d.empty, "empty", false, "leave the server empty")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := d.serve(ctx, stdout); err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	return 0
}

type demo struct {
	data           string
	secured, empty bool
}

// serve serves until ctx ends.
func (d demo) serve(ctx context.Context, w io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "plannerd-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := fill.Build(ctx, folder)
	if err != nil {
		return err
	}
	s, err := fill.Serve(ctx, fill.Config{Program: program, Folder: folder, Secured: d.secured})
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }() // an interrupt from the terminal has told it already
	fmt.Fprintln(w, s.URL)
	if d.secured {
		for _, role := range fill.Roles {
			fmt.Fprintf(w, "%-10s %s\n", role, s.Tokens[role])
		}
	}
	if !d.empty {
		plans, err := fill.Fill(ctx, s.URL, fill.Options{Data: d.data, Token: s.Tokens[access.Admin]})
		if err != nil {
			return err
		}
		show(w, s.URL, plans)
	}
	<-ctx.Done()
	return nil
}

// show prints a line for each plan.
func show(w io.Writer, url string, plans fill.Filled) {
	v := reflect.ValueOf(plans)
	for i := range v.NumField() {
		fmt.Fprintf(w, "%-10s %s/#/plans/%s\n", v.Type().Field(i).Name, url, v.Field(i))
	}
}
