package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"
)

// overload measures what a server does with more than its memory admits, and
// whether anything is lost by it.
type overload struct {
	budget                  int64
	fits, times             int
	keys, instances, bodies int
	duration                time.Duration
	stores                  []string
	format                  []string
	eager                   bool
	fluctuation             float64
}

func (o *overload) flags(f *flag.FlagSet) {
	o.budget = 256 << 20
	sizeVar(f, &o.budget, "memory-budget", "of plannerd serve, such as 512MiB (default 256MiB)")
	countVar(f, &o.fits, "fits", 1, 4, "engines that the budget admits at once")
	countVar(f, &o.times, "times", 2, 4, "how many times as many are then let loose")
	countVar(f, &o.keys, "keys", 1, 1e5, "keys of each interval")
	countVar(f, &o.instances, "instances", 1, 40, "instances of each operator")
	countVar(f, &o.bodies, "bodies", 1, 4, "different intervals, posted in turn")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "of each phase")
	choiceVar(f, &o.stores, "stores", "sqlite", stores, "stores")
	choiceVar(f, &o.format, "format", jsonRows, formats, "formats, each a configuration")
	f.BoolVar(&o.eager, "eager", false,
		"send bodies at once, not when the server says (Expect: 100-continue) that it wants them")
	f.Float64Var(&o.fluctuation, "fluctuation", 1,
		"how much the load of some instance changes between intervals, of the mean load")
}

func (o *overload) run(ctx context.Context, b *bench) error {
	t := &markdown{head: []string{"store", "format", "phase", "engines", "plans/s", "accepted p50", "p99", "max",
		"until accepted p50", "p99",
		"201", "429", "503", "others", "attempts per plan", "peak", "verified"}}
	arguments := []string{fmt.Sprintf("--memory-budget=%d", o.budget)}
	var notes string
	for _, format := range o.format {
		bodies, err := pool(o.bodies, o.keys, o.instances, o.fluctuation, b.seed, format, identity)
		if err != nil {
			return err
		}
		for _, store := range o.stores {
			err := b.with(ctx, store, 0, arguments, func(s *server) error {
				note, err := o.measure(ctx, b, s, t, store, bodies)
				notes += note
				return err
			})
			if err != nil {
				return fmt.Errorf("%s, %s: %w", store, format, err)
			}
		}
	}
	b.printf("Engines with operators of %s keys on %d instances, %v each phase: first as many as fit, then %d times as "+
		"many. "+
		"After a refusal an engine waits for Retry-After and up to half as long again, then goes on with its next interval. "+
		"Accepted is the one request; until accepted counts from the first refused attempt before it. Peak is VmHWM of the "+
		"server. "+
		"Verified: every plan answered is there as answered, no refused interval left one, and each table is what the "+
		"committed plans make.\n\n%s%s",
		short(o.keys), o.instances, o.duration, o.times, t, notes)
	return nil
}

func (o *overload) measure(ctx context.Context, b *bench, s *server, t *markdown, store string,
	bodies []*body) (note string, err error) {
	engines, err := newEngines(ctx, s.client, 0, o.fits*o.times, bodies,
		map[string]any{"instances": o.instances}, !o.eager)
	if err != nil {
		return "", err
	}
	var wrong []string
	for _, phase := range []struct {
		name    string
		engines []*engine
	}{{"fits", engines[:o.fits]}, {fmt.Sprintf("%d times", o.times), engines}} {
		b.progress("%s, %s, %s: %d engines for %v", store, bodies[0].format, phase.name, len(phase.engines), o.duration)
		seen, err := drive(ctx, phase.engines, o.duration)
		if err != nil {
			return "", err
		}
		peak := s.memory().peak
		b.sort()
		faults, _, err := auditAll(ctx, phase.engines)
		if err != nil {
			return "", err
		}
		t.add(store, bodies[0].format, phase.name, strconv.Itoa(len(phase.engines)), fmt.Sprintf("%.1f", seen.perSecond()),
			ms(seen.posts.median()), ms(seen.posts.quantile(0.99)), ms(seen.posts.greatest()), ms(seen.cycles.median()),
			ms(seen.cycles.quantile(0.99)),
			strconv.Itoa(seen.posted["201"]), strconv.Itoa(seen.posted["429"]), strconv.Itoa(seen.posted["503"]),
			strconv.Itoa(seen.others()),
			fmt.Sprintf("%.2f", float64(seen.attempts())/float64(max(1, len(seen.posts)))), mb(peak), yesNo(len(faults) == 0))
		wrong = append(wrong, append(seen.wrong, faults...)...)
	}
	if peak := s.memory().peak; peak > 0 {
		note = fmt.Sprintf("\n%s, %s: the peak of the whole server, %s, is within its budget of %s: %s.\n", store,
			bodies[0].format,
			mb(peak), mb(o.budget), yesNo(peak <= o.budget))
	}
	return note, shown(wrong)
}
