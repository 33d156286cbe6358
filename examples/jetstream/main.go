package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
)

func main() {
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := Run(ctx, os.Stdout, os.Args[1:]...)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}
