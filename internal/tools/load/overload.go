package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"

	"plannerd/internal/service"
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
	countVar(f, &o.fits, "fits", 0, 0, "engines that the budget admits at once; 0: measured, by the memory that one request reserves")
	countVar(f, &o.times, "times", 2, 4, "how many times as many are then let loose")
	countVar(f, &o.keys, "keys", 1, 1e5, "keys of each interval")
	countVar(f, &o.instances, "instances", 1, 40, "instances of each operator")
	countVar(f, &o.bodies, "bodies", 1, 4, "different intervals, posted in turn")
	f.DurationVar(&o.duration, "duration", 30*time.Second, "of each phase")
	choiceVar(f, &o.stores, "stores", "sqlite", stores, "stores")
	choiceVar(f, &o.format, "format", jsonRows, formats, "formats, each a configuration")
	f.BoolVar(&o.eager, "eager", false, "send bodies at once, not when the server says (Expect: 100-continue) that it wants them")
	f.Float64Var(&o.fluctuation, "fluctuation", 1, "how much the load of some instance changes between intervals, of the mean load")
}

func (o *overload) run(ctx context.Context, b *bench) error {
	t := &markdown{head: []string{"store", "format", "phase", "engines", "plans/s", "accepted p50", "p99", "max", "until accepted p50", "p99",
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
	b.printf("Engines with operators of %s keys on %d instances, %v each phase: first as many as the memory budget admits, then %d times as many. "+
		"After a refusal an engine waits for Retry-After and up to half as long again, then goes on with its next interval. "+
		"Accepted is the one request; until accepted counts from the first refused attempt before it. Peak is VmHWM of the server. "+
		"Verified: every plan answered is there as answered, no refused interval left one, and each table is what the committed plans make.\n\n%s%s",
		short(o.keys), o.instances, o.duration, o.times, t, notes)
	return nil
}

func (o *overload) measure(ctx context.Context, b *bench, s *server, t *markdown, store string, bodies []*body) (note string, err error) {
	fits, configuration := o.fits, map[string]any{"instances": o.instances}
	told, _, err := s.metric(ctx, budgetMetric)
	if err != nil {
		return "", err
	}
	budget := int64(told)
	if fits == 0 {
		if fits, err = o.admitted(ctx, b, s, configuration, bodies[0], budget); err != nil {
			return "", err
		}
	}
	engines, err := newEngines(ctx, s.client, 0, fits*o.times, bodies, configuration, !o.eager)
	if err != nil {
		return "", err
	}
	var wrong []string
	for _, phase := range []struct {
		name    string
		engines []*engine
	}{{"fits", engines[:fits]}, {fmt.Sprintf("%d times", o.times), engines}} {
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
			ms(seen.posts.median()), ms(seen.posts.quantile(0.99)), ms(seen.posts.greatest()), ms(seen.cycles.median()), ms(seen.cycles.quantile(0.99)),
			strconv.Itoa(seen.posted["201"]), strconv.Itoa(seen.posted["429"]), strconv.Itoa(seen.posted["503"]), strconv.Itoa(seen.others()),
			fmt.Sprintf("%.2f", float64(seen.attempts())/float64(max(1, len(seen.posts)))), mb(peak), yesNo(len(faults) == 0))
		wrong = append(wrong, append(seen.wrong, faults...)...)
	}
	if peak := s.memory().peak; budget > 0 && peak > 0 {
		note = fmt.Sprintf("\n%s, %s: the peak of the whole server, %s, is within its budget of %s: %s. Requests may reserve %s of it.\n", store, bodies[0].format,
			mb(peak), mb(o.budget), yesNo(peak <= o.budget), mb(budget))
	}
	return note, shown(wrong)
}

// What the server tells of its memory budget, and of what requests reserve of it.
const (
	budgetMetric   = "plannerd_memory_budget_bytes"
	reservedMetric = "plannerd_memory_reserved_bytes"
)

// admitted is how many requests with such a body the budget has room for: by the
// most that one request is seen to reserve. It is sent but for its last byte at
// first, for long enough to be looked at.
func (o *overload) admitted(ctx context.Context, b *bench, s *server, configuration map[string]any, like *body, budget int64) (int, error) {
	if _, ok, err := s.metric(ctx, reservedMetric); !ok || budget == 0 {
		return 0, errors.Join(err, errors.New("the server does not tell its budget and what is reserved of it: give --fits"))
	}
	const operator = "load-probe"
	if err := s.put(ctx, operator, configuration); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, service.Patience)
	defer cancel()
	content, length, _, err := like.open(0, nil)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	reader, writer := io.Pipe()
	slow := *like
	slow.source = func() (io.ReadCloser, int64) { return reader, length }
	finished := make(chan error, 1)
	go func() {
		a, err := s.post(ctx, operator, &slow, 0, nil, !o.eager)
		if err == nil {
			_, err = parsePlan(a)
		}
		_ = reader.Close() // nobody reads any more
		finished <- err
	}()
	_, copied := io.CopyN(writer, content, length-1)
	reading, err := s.settled(ctx, reservedMetric)
	_, last := io.Copy(writer, content)
	planning, ended := s.most(ctx, reservedMetric, finished)
	if err := errors.Join(copied, err, last, writer.Close(), ended); err != nil {
		return 0, fmt.Errorf("measuring what a request reserves: %w", err)
	}
	most := max(reading, planning)
	b.progress("a request reserves %s of %s", mb(int64(most)), mb(budget))
	return max(1, int(float64(budget)/most)), nil
}

// most returns the greatest value seen of a metric until something is finished,
// and with what error that did.
func (c *client) most(ctx context.Context, name string, finished <-chan error) (greatest float64, err error) {
	for {
		select {
		case err := <-finished:
			return greatest, err
		default:
		}
		value, _, err := c.metric(ctx, name)
		if err != nil {
			return 0, errors.Join(err, <-finished)
		}
		greatest = max(greatest, value)
	}
}

// settled returns a metric as soon as it is above zero and stays as it is.
func (c *client) settled(ctx context.Context, name string) (float64, error) {
	const samples, pause = 5, 50 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	last, same := 0.0, 0
	for {
		value, _, err := c.metric(ctx, name)
		if err != nil {
			return 0, err
		}
		if value == last && value > 0 {
			same++
		} else {
			last, same = value, 1
		}
		if same == samples {
			return value, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%s does not settle: %w", name, ctx.Err())
		case <-ticker.C:
		}
	}
}
