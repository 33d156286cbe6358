// Command redis runs a Redis Cluster on loopback whose slots plannerd moves between nodes
// while clients use them. See README.md.
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
	"path/filepath"
	"syscall"
	"time"

	"plannerd/examples/internal/trial"
	"plannerd/sdk/go/client"
)

// config is what the job is told.
type config struct {
	plannerd, program, dir string
	nodes, keys            int
	zipf                   float64
	least, most            int // bytes of a value
	clients, workers       int
	writes                 float64 // the part of commands that write
	rate                   int64   // commands a second; 0: as many as the workers can
	shift                  time.Duration
	swaps                  int // of hot keys, in a shift
	interval               time.Duration
	theta                  float64
	batch                  int
	breaks                 int // drivers that are broken off
	seed                   uint64
}

// defaults are the flags' defaults.
func defaults() config {
	return config{nodes: 5, keys: 100_000, zipf: 1, least: 100, most: 4000, clients: 4, workers: 64, writes: 0.2,
		rate: 5000, swaps: 100, interval: 2 * time.Second, theta: 0.05, batch: 16, seed: 1}
}

func (c *config) flags(f *flag.FlagSet) {
	f.StringVar(&c.plannerd, "plannerd", c.plannerd, "the address of plannerd; empty: one is built and started")
	f.StringVar(&c.dir, "dir", c.dir, "the folder for data; empty: a temporary one")
	f.IntVar(&c.nodes, "nodes", c.nodes, "how many masters")
	f.IntVar(&c.keys, "keys", c.keys, "how many keys")
	f.Float64Var(&c.zipf, "zipf", c.zipf, "the exponent of Zipf's law")
	f.IntVar(&c.least, "least", c.least, "bytes of the smallest values")
	f.IntVar(&c.most, "most", c.most, "bytes of the largest values")
	f.IntVar(&c.clients, "clients", c.clients, "how many clients")
	f.IntVar(&c.workers, "workers", c.workers, "how many commands may be under way, of all clients")
	f.Float64Var(&c.writes, "writes", c.writes, "the part of commands that are SET; all others are GET")
	f.Int64Var(&c.rate, "rate", c.rate, "commands a second; 0: as many as -workers allows")
	f.DurationVar(&c.shift, "shift", c.shift, "how often the hot keys change; 0: never")
	f.IntVar(&c.swaps, "swaps", c.swaps, "how many hot keys change places with any others when they change")
	f.DurationVar(&c.interval, "interval", c.interval, "how often plannerd is asked")
	f.Float64Var(&c.theta, "theta", c.theta, "the imbalance that is allowed")
	f.IntVar(&c.batch, "batch", c.batch, "how many keys one MIGRATE moves")
	f.IntVar(&c.breaks, "breaks", c.breaks, "how many drivers are broken off, each at another step of a move")
	f.Uint64Var(&c.seed, "seed", c.seed, "of all that is random")
}

func main() {
	log.SetFlags(log.Ltime)
	c := defaults()
	c.flags(flag.CommandLine)
	duration := flag.Duration("duration", 40*time.Second, "for how long clients use the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runAndTell(ctx, c, *duration)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func runAndTell(ctx context.Context, c config, duration time.Duration) error {
	done, err := runJob(ctx, c, duration, never)
	if err != nil {
		return err
	}
	fmt.Printf("%.0f commands, %d plans, %d slots with %d keys moved: no error at a client, no write lost, each slot "+
		"where its route is\n", done.commands, done.plans, done.slots, done.keys)
	if c.breaks > 0 {
		fmt.Printf("%d drivers were broken off\n", done.broken)
	}
	fmt.Printf("the busiest node did %.2f times the mean in the first %v, %.2f times in the last\n", done.before,
		c.interval, done.after)
	return nil
}

// outcome is what a job did. Before and after are how much more than the mean the busiest
// node did in the first and in the last of the lines.
type outcome struct {
	commands                   float64
	plans, slots, keys, broken int64
	before, after              float64
}

// runJob has clients use the cluster while a driver balances it, for a time or until that is
// enough, and checks in the end that nothing was lost.
func runJob(ctx context.Context, c config, duration time.Duration, enough func(*history) bool) (
	out outcome, err error,
) {
	err = withJob(ctx, c, func(j *job) error {
		if err := j.startPlannerd(ctx); err != nil {
			return err
		}
		log.Printf("dashboard: %s", j.plannerd)
		filled := j.monitor.works
		j.load.rate.Store(j.rate)
		if err := j.underLoad(ctx, func() (err error) {
			if out.before, err = j.watch(ctx, j.interval); err != nil {
				return err
			}
			if err := j.balance(ctx, duration-2*j.interval, enough); err != nil {
				return err
			}
			out.after, err = j.watch(ctx, j.interval)
			return err
		}); err != nil {
			return err
		}
		h := &j.history
		out.plans, out.slots, out.keys, out.broken = h.plans.Load(), h.slots.Load(), h.keys.Load(), h.broken.Load()
		out.commands = sum(filled, j.monitor.works)
		return errors.Join(j.load.complaint(), j.load.verify(ctx, j.cluster.nodes), checkRoutes(ctx, j.config, j.cluster))
	})
	return out, err
}

// job is everything that runs.
type job struct {
	config
	cluster *cluster
	load    *load
	monitor *monitor
	history history
	server  *exec.Cmd
}

// withJob starts the cluster and fills it, does something with it, and stops it.
func withJob(ctx context.Context, c config, do func(*job) error) (err error) {
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "redis-"); err != nil {
			return err
		}
		defer os.RemoveAll(c.dir)
	}
	j := &job{config: c}
	if j.cluster, err = startCluster(ctx, c); err != nil {
		return err
	}
	defer j.cluster.stop()
	j.load = newLoad(c, j.cluster.nodes)
	defer func() { err = errors.Join(err, j.load.stop()) }()
	if err := j.load.fill(ctx); err != nil {
		return err
	}
	if j.monitor, err = newMonitor(ctx, j); err != nil {
		return err
	}
	defer j.stopPlannerd()
	return do(j)
}

// underLoad does something while clients use the cluster. They have ended when it returns.
func (j *job) underLoad(ctx context.Context, do func() error) error {
	loaded, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { j.load.run(loaded); close(ended) }()
	err := do()
	end()
	<-ended
	return err
}

// never says that a job goes on until its time is over.
func never(*history) bool { return false }

// balance runs drivers for a time, or until that is enough, shows how it goes, and finishes
// what the last one has left.
func (j *job) balance(ctx context.Context, during time.Duration, enough func(*history) bool) error {
	driving, end := context.WithTimeout(ctx, during)
	defer end()
	failed := make(chan error, 1)
	go func() {
		err := drive(driving, j.config, j.cluster, j.load, &j.history)
		end() // there is nothing more to watch
		failed <- err
	}()
	var err error
	for err == nil && driving.Err() == nil && !enough(&j.history) {
		_, err = j.watch(driving, time.Second)
	}
	if driving.Err() != nil {
		err = ctx.Err()
	}
	end()
	if err := errors.Join(<-failed, err); err != nil {
		return err
	}
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return err
	}
	last := &driver{config: j.config, cluster: j.cluster, load: j.load, api: api, epoch: time.Now().UnixMilli(),
		history: &j.history}
	return last.takeOver(ctx)
}

// startPlannerd starts plannerd on a free port of loopback, unless there is one, and makes
// the operator.
func (j *job) startPlannerd(ctx context.Context) (err error) {
	if j.plannerd == "" {
		if j.program == "" {
			if j.program, err = trial.BuildPlannerd(ctx, j.dir); err != nil {
				return err
			}
		}
		free, err := trial.FreeAddresses(ctx, 1)
		if err != nil {
			return err
		}
		j.plannerd = "http://" + free[0]
		j.server = exec.CommandContext(ctx, j.program, "serve", "--listen="+free[0],
			"--database-url=sqlite:"+filepath.Join(j.dir, "plannerd.db"))
		if err := j.server.Start(); err != nil {
			return err
		}
	}
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return err
	}
	return trial.Patiently(ctx, 30*time.Second, func() error {
		_, err := api.PutOperator(ctx, operator, j.operator())
		return err
	})
}

func (j *job) stopPlannerd() {
	if j.server != nil {
		_ = j.server.Process.Kill()
		_ = j.server.Wait()
	}
}
