package job

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
)

// Main is the program of a job on a log: with the flags of its command line.
func Main(t Transport) {
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := Run(ctx, t, os.Stdout, os.Args[1:]...)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}
