package job

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"plannerd/examples/internal/trial"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// rescaling removes instances from a job that runs, so that all their state moves, once at
// once and once in batches.
type rescaling struct{ removed int }

func (x *rescaling) flags(f *flag.FlagSet) {
	f.IntVar(&x.removed, "removed", 2, "with -compare-batches: how many of the instances are removed")
}

// rescaled is what became of a plan. Times are in milliseconds.
type rescaled struct {
	Way          string
	Batches      float64
	Fraction     float64 // of all state, that moved
	Took, Over   float64 // the plan, and that over what no order of transfers goes below
	Before, P99  float64 // 99 % of all messages took that long at most, before the plan and during it
	Pause, Worst float64 // 99 % of keys that moved waited that long at most, and all of them
}

// run compares the two.
func (x *rescaling) run(ctx context.Context, c config, as comparison, out io.Writer) error {
	if c.batchPause == 0 || c.transferRate == 0 || x.removed < 1 || x.removed >= c.instances {
		return fmt.Errorf("-compare-batches needs -batch-pause, -transfer-rate, and fewer -removed than -instances")
	}
	turns := trial.Turns{Times: as.runs, Ways: []string{"at once", "in batches"}}
	results, err := trial.Take(ctx, turns, func(program, dir string, turn, way int) (rescaled, error) {
		one := c
		one.program, one.dir, one.seed = program, dir, c.seed+uint64(turn)
		if way == 0 {
			one.batchPause = 0
		}
		r, err := x.measure(ctx, one, as.warmup)
		r.Way = turns.Ways[way]
		return r, err
	})
	if err != nil {
		return err
	}
	return printRescaled(out, results)
}

// measure lets messages come, removes the instances, and measures until the plan has
// ended and nothing waits any more.
func (x *rescaling) measure(ctx context.Context, c config, warmup time.Duration) (r rescaled, err error) {
	const settling = 2 * time.Second
	err = withJob(ctx, c, func(j *job) error {
		coming, end := context.WithCancel(ctx)
		defer end()
		loaded := make(chan error, 1)
		go func() { loaded <- j.load(coming, load{rate: j.rate / float64(j.routers)}) }()
		if sleep(ctx, warmup); ctx.Err() != nil {
			return ctx.Err()
		}
		j.monitor.reset()
		if sleep(ctx, settling); ctx.Err() != nil {
			return ctx.Err()
		}
		f, _, _ := j.monitor.reset()
		f.latencies.join(f.during)
		r.Before = f.latencies.quantile(0.99)
		if err := j.configure(ctx, j.instances-x.removed); err != nil {
			return err
		}
		p, took, err := j.emptied(ctx)
		if err != nil {
			return err
		}
		if sleep(ctx, settling); ctx.Err() != nil {
			return ctx.Err()
		}
		g, _, _ := j.monitor.reset()
		g.latencies.join(g.during)
		r.P99, r.Pause, r.Worst = g.latencies.quantile(0.99), g.pauses.quantile(0.99), g.pauses.quantile(1)
		r.Took, r.Fraction, r.Batches = 1000*took.Seconds(), p.Migration.Fraction, float64(max(1, len(p.Batches)))
		bound := 0.0
		for _, d := range p.Instances {
			bound = max(bound, 1000*d.StateIn/c.transferRate, 1000*d.StateOut/c.transferRate)
		}
		r.Over = r.Took / bound
		end()
		if err := <-loaded; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		_, err = j.await(ctx)
		return err
	})
	return r, err
}

// emptied waits for the plan that empties instances to be committed, and says how long that
// took from its start.
func (j *job) emptied(ctx context.Context) (p *wire.Plan, took time.Duration, err error) {
	api, err := client.New(j.plannerd, client.Config{})
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if sleep(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		list, err := api.ListPlans(ctx, operator, client.ListPlansOptions{Status: wire.PlanStatusCommitted, PageSize: 1})
		if err != nil {
			return nil, 0, err
		}
		if len(list.Plans) == 0 {
			continue
		}
		p, err := api.GetPlan(ctx, list.Plans[0].Id, client.GetPlanOptions{})
		if err != nil {
			return nil, 0, err
		}
		if !slices.ContainsFunc(p.Instances, func(d wire.Load) bool { return d.Drained != nil }) {
			continue
		}
		steps, err := api.ListTransitions(ctx, p.Id)
		if err != nil {
			return nil, 0, err
		}
		return p, steps.Transitions[len(steps.Transitions)-1].At.Sub(*p.ExecutorSince), nil
	}
}

func printRescaled(out io.Writer, results []rescaled) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "handed over\tbatches\tof all state\ttook s\t÷ bound\tp99 ms before\tp99 ms\tpause p99 ms\t"+
		"longest ms\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.0f\t%.1f %%\t%.2f\t%.2f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", r.Way, r.Batches, 100*r.Fraction,
			r.Took/1000, r.Over, r.Before, r.P99, r.Pause, r.Worst)
	}
	return w.Flush()
}
