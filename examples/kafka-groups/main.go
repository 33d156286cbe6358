// Command kafka-groups runs a consumer group on a broker of its own, whose partitions plannerd balances by
// what arrives in them. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// config is what the example is told.
type config struct {
	partitions, members, keys int
	zipf, load                float64
	window                    int           // messages that are on their way at saturation
	replay                    string        // a recorded stream
	streams                   bool          // members are processes of Kafka Streams
	stored                    int           // keys in the largest of their stores
	room                      float64       // for stores, as times the share of a process
	theta                     float64       // θ_max of -compare
	service                   time.Duration // of a message
	drift                     time.Duration
	swaps                     int // of hot keys, in a drift
	every                     time.Duration
	warm, duration, flood     time.Duration
	runs                      int
	seed                      uint64
	policy                    string
}

// defaults are the flags' defaults.
func defaults() config {
	return config{partitions: 64, members: 8, keys: 10_000, zipf: 1, theta: 0.03, load: 0.8, window: 2000, swaps: 20,
		service: 2 * time.Millisecond, drift: 20 * time.Second, every: 2 * time.Second, warm: 20 * time.Second,
		duration: 40 * time.Second, flood: 20 * time.Second, runs: 3, seed: 1, policy: "plannerd",
		stored: 20_000, room: 1.25}
}

func (c *config) flags(f *flag.FlagSet) {
	f.IntVar(&c.partitions, "partitions", c.partitions, "how many partitions")
	f.IntVar(&c.members, "members", c.members, "how many consumers")
	f.IntVar(&c.keys, "keys", c.keys, "how many keys")
	f.Float64Var(&c.zipf, "zipf", c.zipf, "the exponent of Zipf's law, by which keys are used")
	f.Float64Var(&c.load, "load", c.load, "the part of what all consumers can process that arrives")
	f.IntVar(&c.window, "window", c.window, "how many messages are on their way where -compare measures throughput")
	f.DurationVar(&c.service, "service", c.service, "how long a message takes")
	f.StringVar(&c.replay, "replay", c.replay,
		"a recorded stream in place of Zipf's law: gzip of CSV with interval, key and cost; an interval lasts for -drift")
	f.DurationVar(&c.drift, "drift", c.drift, "how often the hot keys change; 0: never")
	f.IntVar(&c.swaps, "swaps", c.swaps, "how many hot keys change places with any others then")
	f.Float64Var(&c.theta, "theta", c.theta, "with -compare, the imbalance that plannerd allows")
	f.DurationVar(&c.every, "every", c.every, "how often plannerd is asked")
	f.DurationVar(&c.warm, "warm", c.warm, "for how long consumers run before -compare measures")
	f.DurationVar(&c.duration, "duration", c.duration, "for how long they run; with -compare, at -load")
	f.DurationVar(&c.flood, "flood", c.flood, "with -compare, for how long they run saturated")
	f.BoolVar(&c.streams, "streams", c.streams, "with -compare, members are processes of Kafka Streams that count keys")
	f.IntVar(&c.stored, "stored", c.stored, "with -streams, how many keys the largest store has; others by Zipf's law")
	f.Float64Var(&c.room, "room", c.room, "with -streams, the room for stores, as times the share of a process")
	f.IntVar(&c.runs, "runs", c.runs, "with -compare, how many runs of each policy")
	f.Uint64Var(&c.seed, "seed", c.seed, "of all that is random, in the first run")
}

func main() {
	log.SetFlags(log.Ltime)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// command does what the command line says.
func command(ctx context.Context) error {
	c := defaults()
	c.flags(flag.CommandLine)
	compare := flag.Bool("compare", false, "measure policies beside each other")
	policy := flag.String("policy", "", "with -compare, these policies alone, with commas between")
	flag.Parse()
	dir, err := os.MkdirTemp("", "kafka-groups")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := serve(ctx, dir, "")
	if err != nil {
		return err
	}
	defer s.stop()
	if c.streams {
		if s.classes, err = classPath(ctx, dir); err != nil {
			return err
		}
	}
	if *compare {
		return comparePolicies(ctx, s, c, *policy)
	}
	return show(ctx, s, c)
}

// show runs a group that is balanced by number, then by plannerd, and prints what its members do.
func show(ctx context.Context, s *service, c config) error {
	const group = "orders"
	fmt.Printf("The broker is %s. The dashboard is http://%s/#/operators/%s\n\n", s.broker.Address, s.address, group)
	r, err := begin(ctx, s, c, group)
	if err != nil {
		return err
	}
	defer r.end()
	var controller *exec.Cmd
	defer func() { end(controller, syscall.SIGTERM) }()
	for i := range 4 {
		if i == 1 {
			fmt.Print("plannerd kafka-group begins.\n\n")
			if controller, err = s.control(ctx, group, c.every); err != nil {
				return err
			}
		}
		r.reset()
		if err := pause(ctx, c.duration/4); err != nil {
			return err
		}
		r.print(c.duration / 4)
	}
	return nil
}

// print writes what members did in a time.
func (r *run) print(in time.Duration) {
	fmt.Println("member      partitions  messages/s   busy  p99 of lag")
	has := r.counts()
	for m := range r.workers {
		w := &r.workers[m]
		rate := float64(w.done.Load()) / in.Seconds()
		fmt.Printf("%-10s  %10d  %10.0f  %3.0f %%  %10v\n", "member-"+strconv.Itoa(m), has[m], rate,
			100*rate*r.config.service.Seconds(), w.late.quantile(0.99).Round(time.Millisecond))
	}
	fmt.Printf("all: %.0f messages/s, p99 of lag %v, %d partitions moved, %d rebalances\n\n",
		float64(r.done())/in.Seconds(), r.late().quantile(0.99).Round(time.Millisecond), r.moved.Load(), r.rebalances())
}
