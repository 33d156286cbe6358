package job

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plannerd/examples/internal/trial"
)

// comparison runs the job under several policies.
type comparison struct {
	runs            int
	warmup, seconds time.Duration
	only, out       string
	figure          string
}

func (x *comparison) flags(f *flag.FlagSet) {
	f.IntVar(&x.runs, "runs", 3, "with -compare or -compare-batches: how often each runs; figures are "+
		"medians")
	f.DurationVar(&x.warmup, "warmup", 15*time.Second, "with -compare or -compare-batches: how long a run is "+
		"not measured at first")
	f.DurationVar(&x.seconds, "seconds", 10*time.Second, "with -compare: how long each measurement takes")
	f.StringVar(&x.only, "policies", "", "with -compare: names of policies, with commas; empty: all")
	f.StringVar(&x.out, "output", "table", "with -compare: table, csv or json")
	f.StringVar(&x.figure, "figure", "", "with -compare: where an SVG goes")
}

// result is what a policy came to. Latencies and pauses are in milliseconds, at 80 % of its
// throughput.
type result struct {
	Policy     string  `json:"policy"`
	Throughput float64 `json:"throughput"` // messages a second, at saturation
	Theta      float64 `json:"theta"`      // meanwhile: 1/(1+θ) is the mean of that of all seconds
	ThetaP95   float64 `json:"theta_p95"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	P999       float64 `json:"p999"`
	Plans      float64 `json:"plans"` // in both measurements, as all that follows
	Moved      float64 `json:"moved"`
	MovedKB    float64 `json:"moved_kb"`
	Merges     float64 `json:"merges"` // partial counts for each message
	PauseP50   float64 `json:"pause_p50"`
	PauseP99   float64 `json:"pause_p99"`
}

// middle is the value that so large a part of the others is below.
func middle(all []float64, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[int(q*float64(len(all)-1)+0.5)]
}

// run compares the policies.
func (x *comparison) run(ctx context.Context, c config, out io.Writer) error {
	turns := trial.Turns{Times: x.runs, Only: x.only}
	for _, p := range policies {
		turns.Ways = append(turns.Ways, p.name)
	}
	results, err := trial.Take(ctx, turns, func(program, dir string, turn, way int) (result, error) {
		one := c
		one.program, one.dir, one.policy, one.seed = program, dir, policies[way], c.seed+uint64(turn)
		return x.measure(ctx, one)
	})
	if err != nil {
		return err
	}
	if x.figure != "" {
		if err := os.WriteFile(x.figure, draw(results), 0o644); err != nil {
			return err
		}
	}
	return x.print(out, results)
}

// measure runs the job under its policy: saturated first, then at 80 % of what it did then.
func (x *comparison) measure(ctx context.Context, c config) (r result, err error) {
	err = withJob(ctx, c, func(j *job) error {
		loads := func(rate float64, during time.Duration) error {
			return j.load(ctx, load{rate: rate / float64(j.routers), during: during})
		}
		if err := loads(0, x.warmup); err != nil {
			return err
		}
		j.monitor.reset()
		if err := loads(0, x.seconds); err != nil {
			return err
		}
		f, sum, seconds := j.monitor.reset()
		r = result{Policy: c.policy.label, Throughput: float64(sum.Processed) / seconds, Theta: f.theta(),
			ThetaP95: middle(f.thetas, 0.95)}
		if err := loads(0.8*r.Throughput, x.seconds/4); err != nil { // the backlog goes
			return err
		}
		before, _, _ := j.monitor.reset()
		if err := loads(0.8*r.Throughput, x.seconds); err != nil {
			return err
		}
		g, more, _ := j.monitor.reset()
		g.latencies.join(g.during)
		r.P50, r.P99, r.P999 = g.latencies.quantile(0.5), g.latencies.quantile(0.99), g.latencies.quantile(0.999)
		r.Plans = float64(before.plans - f.plans + j.history.plans.Load() - g.plans)
		r.Moved, r.MovedKB = float64(sum.Moved+more.Moved), float64(sum.MovedSize+more.MovedSize)/1000
		r.Merges = float64(sum.Merged+more.Merged) / float64(sum.Processed+more.Processed)
		r.PauseP50, r.PauseP99 = g.pauses.quantile(0.5), g.pauses.quantile(0.99)
		_, err := j.await(ctx)
		return err
	})
	return r, err
}

func (x *comparison) print(out io.Writer, results []result) error {
	switch x.out {
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	case "csv":
		return trial.WriteCSV(out, results)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\tmessages/s\tθ\tθ p95\tp50 ms\tp99 ms\tp99.9 ms\tplans\tmoved\tkB\tmerges\tpause p50\tp99\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%.0f\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.1f\t%.3f\t%.1f\t%.1f\t\n", r.Policy,
			r.Throughput, r.Theta, r.ThetaP95, r.P50, r.P99, r.P999, r.Plans, r.Moved, r.MovedKB, r.Merges,
			r.PauseP50, r.PauseP99)
	}
	return w.Flush()
}

// draw draws the throughput, relative to the last policy's, against 1/(1+θ): what the
// busiest instance leaves of it if nothing else does. Marks are named by number.
func draw(results []result) []byte {
	const left, top, side = 60, 30, 400
	var b strings.Builder
	full := results[len(results)-1].Throughput
	low := 1.0
	for _, r := range results {
		low = min(low, r.Throughput/full, 1/(1+r.Theta))
	}
	low = float64(int(low*10)) / 10
	at := func(x, y float64) (float64, float64) {
		return left + side*(x-low)/(1.1-low), top + side - side*(y-low)/(1.1-low)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
`, left+side+230, top+side+50)
	for tick := low; tick < 1.05; tick += 0.1 {
		x, y := at(tick, tick)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d M%.1f %dV%d" stroke="#ddd"/>`, left, y, left+side, x, top, top+side)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%.1f</text>`, left-6, y+4, tick)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.1f</text>`+"\n", x, top+side+16, tick)
	}
	x1, y1 := at(low, low)
	x2, y2 := at(1, 1)
	fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#718096" stroke-dasharray="4"/>`+"\n", x1, y1, x2, y2)
	for i, r := range results {
		x, y := at(1/(1+r.Theta), r.Throughput/full)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#2b6cb0"/>`, x, y)
		if i%2 == 0 { // neighbours have their numbers on different sides
			x, y = x+5, y+12
		} else {
			x, y = x-12, y-5
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="#2b6cb0">%d</text>`, x, y, i+1)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%d  %s</text>`+"\n", left+side+16, top+16+18*i, i+1, r.Policy)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#718096">dashed: as predicted</text>`+"\n", left+side+16, top+28+18*len(results))
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">1 ÷ (1 + θ)</text>`+"\n", left+side/2, top+side+38)
	fmt.Fprintf(&b, `<text x="%d" y="18">throughput ÷ that of %s</text>`+"\n</svg>\n", left, results[len(results)-1].Policy)
	return []byte(b.String())
}
