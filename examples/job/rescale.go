package job

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
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
	batches      int
	fraction     float64 // of all state, that moved
	took, bound  float64 // the plan, and what no order of transfers goes below
	before, p99  float64 // 99 % of all messages took that long at most, before the plan and during it
	pause, worst float64 // 99 % of keys that moved waited that long at most, and all of them
}

// run compares. The two take turns; figures are medians.
func (x *rescaling) run(ctx context.Context, c config, as comparison, out io.Writer) error {
	if c.batchPause == 0 || c.transferRate == 0 || x.removed < 1 || x.removed >= c.instances {
		return fmt.Errorf("-compare-batches needs -batch-pause, -transfer-rate, and fewer -removed than -instances")
	}
	dir, err := os.MkdirTemp("", "job-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if c.program, err = trial.BuildPlannerd(ctx, dir); err != nil {
		return err
	}
	var all [2][]rescaled
	for turn := range as.runs {
		for i, pause := range []time.Duration{0, c.batchPause} {
			one := c
			one.batchPause, one.seed = pause, c.seed+uint64(turn)
			if one.dir = filepath.Join(dir, fmt.Sprint(turn, "-", i)); os.Mkdir(one.dir, 0o700) != nil {
				return fmt.Errorf("making the folder %s", one.dir)
			}
			r, err := x.measure(ctx, one, as.warmup)
			if err != nil {
				return err
			}
			log.Printf("%+v", r)
			all[i] = append(all[i], r)
			if err := os.RemoveAll(one.dir); err != nil {
				return err
			}
		}
	}
	return printRescaled(out, all)
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
		r.before = f.latencies.quantile(0.99)
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
		r.p99, r.pause, r.worst = g.latencies.quantile(0.99), g.pauses.quantile(0.99), g.pauses.quantile(1)
		r.took, r.fraction, r.batches = 1000*took.Seconds(), p.Migration.Fraction, max(1, len(p.Batches))
		for _, d := range p.Instances {
			r.bound = max(r.bound, 1000*d.StateIn/c.transferRate, 1000*d.StateOut/c.transferRate)
		}
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

func printRescaled(out io.Writer, all [2][]rescaled) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "handed over\tbatches\tof all state\ttook s\t÷ bound\tp99 ms before\tp99 ms\tpause p99 ms\t"+
		"longest ms\t")
	for i, list := range all {
		name := []string{"at once", "in batches"}[i]
		of := func(get func(rescaled) float64) float64 {
			var values []float64
			for _, r := range list {
				values = append(values, get(r))
			}
			return middle(values, 0.5)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.1f %%\t%.2f\t%.2f\t%.1f\t%.0f\t%.0f\t%.0f\t\n", name,
			of(func(r rescaled) float64 { return float64(r.batches) }),
			of(func(r rescaled) float64 { return 100 * r.fraction }),
			of(func(r rescaled) float64 { return r.took / 1000 }),
			of(func(r rescaled) float64 { return r.took / r.bound }),
			of(func(r rescaled) float64 { return r.before }), of(func(r rescaled) float64 { return r.p99 }),
			of(func(r rescaled) float64 { return r.pause }), of(func(r rescaled) float64 { return r.worst }))
	}
	return w.Flush()
}
