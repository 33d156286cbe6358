package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"text/tabwriter"
	"time"

	"plannerd/examples/internal/trial"
)

// comparison balances clusters in several ways.
type comparison struct {
	runs                     int
	warmup, seconds, balance time.Duration
	only, out                string
	enough                   func(*history) bool // ends what plannerd does before -balance is over
}

func (x *comparison) flags(f *flag.FlagSet) {
	x.enough = never
	f.IntVar(&x.runs, "runs", 3, "with -compare: how often each way is measured; figures are medians")
	f.DurationVar(&x.warmup, "warmup", 3*time.Second, "with -compare: how long a run is not measured at first")
	f.DurationVar(&x.seconds, "seconds", 6*time.Second, "with -compare: how long each measurement takes")
	f.DurationVar(&x.balance, "balance", 12*time.Second, "with -compare: how long plannerd is asked")
	f.StringVar(&x.only, "ways", "", "with -compare: names of ways, with commas; empty: all")
	f.StringVar(&x.out, "output", "table", "with -compare: table or csv")
}

// way is a way to balance a cluster, which is done while clients use it. It returns how long
// slots moved.
type way struct {
	name, label string
	do          func(context.Context, *job, *comparison) (time.Duration, error)
}

var ways = []way{
	{"nothing", "nothing", func(ctx context.Context, j *job, x *comparison) (time.Duration, error) {
		_, err := j.watch(ctx, x.seconds)
		return 0, err
	}},
	{"rebalance", "redis-cli rebalance", func(ctx context.Context, j *job, _ *comparison) (time.Duration, error) {
		return j.cluster.rebalance(ctx, nil)
	}},
	{"weights", "the same, weights once", func(ctx context.Context, j *job, x *comparison) (time.Duration, error) {
		return j.weigh(ctx, x, 1)
	}},
	{"weights3", "the same, weights thrice", func(ctx context.Context, j *job, x *comparison) (time.Duration, error) {
		return j.weigh(ctx, x, 3)
	}},
	{"optimal", "plannerd, optimal", func(ctx context.Context, j *job, x *comparison) (time.Duration, error) {
		j.load.counters.Close() // what the slots cost so far is no interval
		if err := j.balance(ctx, x.balance, x.enough); err != nil {
			return 0, err
		}
		return time.Duration(j.history.took.Load()), checkRoutes(ctx, j.config, j.cluster)
	}},
}

// rebalance has redis-cli rebalance: it moves as many slots as bring each node to its part
// of them, by weights; nil: all parts are equal.
func (c *cluster) rebalance(ctx context.Context, weights []float64) (time.Duration, error) {
	arguments := []string{"--cluster", "rebalance", c.nodes[0].address(), "--cluster-pipeline", strconv.Itoa(c.batch)}
	if weights != nil {
		arguments = append(arguments, "--cluster-weight")
		for i, n := range c.nodes {
			arguments = append(arguments, fmt.Sprintf("%s=%.4f", n.id, weights[i]))
		}
	}
	begin := time.Now()
	said, err := exec.CommandContext(ctx, "redis-cli", arguments...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-cli, of Debian's package redis-tools: %w\n%s", err, said)
	}
	return time.Since(begin), nil
}

// weigh does what a person can do with redis-cli alone: it looks how much each node has to
// do, gives it fewer slots where that is more than the mean, and does so again.
func (j *job) weigh(ctx context.Context, x *comparison, times int) (took time.Duration, err error) {
	for range times {
		before := j.monitor.works
		if _, err := j.watch(ctx, x.seconds); err != nil {
			return took, err
		}
		at, err := j.cluster.look(ctx)
		if err != nil {
			return took, err
		}
		weights := make([]float64, len(j.cluster.nodes))
		for _, n := range at.owner {
			weights[n.instance]++
		}
		mean := sum(before, j.monitor.works) / float64(j.nodes)
		for i, w := range j.monitor.works {
			weights[i] /= max((w.commands-before[i].commands)/mean, 0.1) * slots / float64(j.nodes)
		}
		more, err := j.cluster.rebalance(ctx, weights)
		if took += more; err != nil {
			return took, err
		}
	}
	return took, nil
}

// result is what a way came to. Before and after are at saturation; latencies are at 80 % of
// the throughput before: before, while slots move, and after.
type result struct {
	Way        string
	Commands   float64 `json:"max_mean_before"` // the busiest node, in commands and in CPU time
	After      float64 `json:"max_mean_after"`
	CPU        float64 `json:"cpu_before"`
	CPUAfter   float64 `json:"cpu_after"`
	Throughput float64 `json:"throughput_before"`
	Faster     float64 `json:"throughput_after"`
	P99        float64 `json:"p99_before"`
	P99During  float64 `json:"p99_during"`
	P99After   float64 `json:"p99_after"`
	Slots      float64 `json:"slots"` // that are elsewhere than before, and what they hold
	Keys       float64 `json:"keys"`
	MB         float64 `json:"mb"`
	Seconds    float64 `json:"seconds"` // that moving took
	Errors     float64 `json:"errors"`
}

// run compares. All ways get the same clusters and clients.
func (x *comparison) run(ctx context.Context, c config, out io.Writer) error {
	turns := trial.Turns{Times: x.runs, Only: x.only}
	for _, w := range ways {
		turns.Ways = append(turns.Ways, w.name)
	}
	results, err := trial.Take(ctx, turns, func(program, dir string, turn, way int) (result, error) {
		one := c
		one.program, one.dir, one.seed = program, dir, c.seed+uint64(turn)
		return x.measure(ctx, one, ways[way])
	})
	if err != nil {
		return err
	}
	return x.print(out, results)
}

// measure measures a cluster, balances it under load, and measures it again.
func (x *comparison) measure(ctx context.Context, c config, w way) (r result, err error) {
	r.Way = w.label
	err = withJob(ctx, c, func(j *job) error {
		if err := j.startPlannerd(ctx); err != nil {
			return err
		}
		if err := j.underLoad(ctx, func() error { return x.phases(ctx, j, w, &r) }); err != nil {
			return err
		}
		r.Errors = float64(j.load.errs.Load())
		return j.load.verify(ctx, j.cluster.nodes)
	})
	return r, err
}

// phases measures a cluster that clients use before, while and after it is balanced.
func (x *comparison) phases(ctx context.Context, j *job, w way, r *result) error {
	p := phase{ctx: ctx, job: j}
	p.watch(0, x.warmup)
	p.watch(0, x.seconds)
	r.Commands, r.CPU, r.Throughput = p.even, p.cpu, p.throughput
	rate := int64(0.8 * p.throughput)
	p.watch(rate, x.warmup) // the backlog goes
	p.watch(rate, x.seconds)
	r.P99 = p.p99
	before, known := p.look()
	p.do(func() error {
		took, err := w.do(ctx, j, x)
		r.Seconds = took.Seconds()
		return err
	})
	r.P99During = p.p99
	after, _ := p.look()
	p.watch(rate, x.warmup)
	p.watch(rate, x.seconds)
	r.P99After = p.p99
	p.watch(0, x.seconds)
	r.After, r.CPUAfter, r.Faster = p.even, p.cpu, p.throughput
	if p.err == nil {
		n, keys, bytes := moved(before, after, known)
		r.Slots, r.Keys, r.MB = float64(n), float64(keys), bytes/1e6
	}
	return p.err
}

// phase is a part of a measurement. After an error it does nothing more.
type phase struct {
	ctx                        context.Context
	job                        *job
	even, cpu, throughput, p99 float64
	err                        error
}

func (p *phase) watch(rate int64, during time.Duration) {
	p.do(func() error {
		p.job.load.rate.Store(rate)
		_, err := p.job.watch(p.ctx, during)
		return err
	})
}

// do does something under load, and measures meanwhile.
func (p *phase) do(something func() error) {
	if p.err != nil {
		return
	}
	j, begin := p.job, time.Now()
	before, err := j.cluster.works(p.ctx)
	latencies := j.load.latencies.read()
	if err == nil {
		err = something()
	}
	if err != nil {
		p.err = err
		return
	}
	after, err := j.cluster.works(p.ctx)
	p.throughput = sum(before, after) / time.Since(begin).Seconds()
	p.even, p.cpu = balance(before, after)
	p.p99, p.err = quantile(latencies, j.load.latencies.read(), 0.99), err
}

func (p *phase) look() (*places, *content) {
	known := &content{}
	at, err := p.job.cluster.look(p.ctx)
	if err == nil {
		err = p.job.cluster.measure(p.ctx, at, known)
	}
	if err != nil {
		p.err = errors.Join(p.err, err)
		at = &places{}
	}
	return at, known
}

func (x *comparison) print(out io.Writer, results []result) error {
	if x.out == "csv" {
		return trial.WriteCSV(out, results)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "way\tmax/mean\tafter\tCPU\tafter\tcommands/s\tafter\tp99 ms\tduring\tafter\t"+
		"slots\tkeys\tMB\ts\terrors\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.2f\t%.1f\t%.0f\t\n", r.Way,
			r.Commands, r.After, r.CPU, r.CPUAfter, r.Throughput, r.Faster, r.P99, r.P99During, r.P99After, r.Slots, r.Keys,
			r.MB, r.Seconds, r.Errors)
	}
	return w.Flush()
}
