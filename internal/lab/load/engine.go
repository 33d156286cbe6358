package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// engine posts interval after interval of one operator and commits the plans.
type engine struct {
	client    *client
	operator  string
	bodies    []*body // of the intervals, in turn
	expecting bool    // bodies are sent only when the server wants them
	random    *rand.Rand

	interval int64 // the last one
	ledger   ledger
	traffic  traffic
}

// traffic is what engines saw of a server.
type traffic struct {
	posts   times          // of the statistics that were accepted
	commits times          // of those that were
	cycles  times          // from the first of refused attempts, if any, to the answer that accepted
	posted  map[string]int // attempts to post by status, or "no answer"
	commit  map[string]int // attempts to commit
	wrong   []string       // answers that should not be
	seconds float64
}

func newTraffic() traffic {
	return traffic{posted: map[string]int{}, commit: map[string]int{}}
}

// noAnswer stands for a status where none arrived.
const noAnswer = "no answer"

// add joins what another engine saw at the same time.
func (t *traffic) add(o traffic) {
	t.posts, t.commits, t.cycles = append(t.posts, o.posts...), append(t.commits, o.commits...),
		append(t.cycles, o.cycles...)
	for status, n := range o.posted {
		t.posted[status] += n
	}
	for status, n := range o.commit {
		t.commit[status] += n
	}
	t.wrong = append(t.wrong, o.wrong...)
}

// attempts is the number of posts.
func (t *traffic) attempts() (n int) {
	for _, of := range t.posted {
		n += of
	}
	return n
}

// others is how many requests were neither accepted nor refused for the load.
func (t *traffic) others() (n int) {
	for status, of := range t.posted {
		if status != "201" && status != "429" && status != "503" {
			n += of
		}
	}
	for status, of := range t.commit {
		if status != "200" && status != "429" && status != "503" {
			n += of
		}
	}
	return n
}

// perSecond is the rate of accepted plans.
func (t *traffic) perSecond() float64 { return float64(len(t.posts)) / t.seconds }

// newEngines configures operators, each for an engine of its own.
func newEngines(ctx context.Context, c *client, from, to int, bodies []*body, configuration map[string]any,
	expecting bool) ([]*engine, error) {
	var all []*engine
	for i := from; i < to; i++ {
		e := &engine{
			client: c, operator: fmt.Sprintf("load-%03d", i), bodies: bodies, expecting: expecting,
			random: rand.New(rand.NewPCG(uint64(i), 2)), ledger: newLedger(),
		}
		if err := c.put(ctx, e.operator, configuration); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// drive lets all engines run for some time and waits for what is then on its way.
func drive(ctx context.Context, engines []*engine, duration time.Duration) (traffic, error) {
	begin := time.Now()
	until := begin.Add(duration)
	var all sync.WaitGroup
	for _, e := range engines {
		all.Go(func() { e.run(ctx, until) })
	}
	all.Wait()
	seen := newTraffic()
	for _, e := range engines {
		seen.add(e.traffic)
	}
	seen.seconds = time.Since(begin).Seconds()
	return seen, ctx.Err()
}

// run posts until then. After a refusal it waits as long as it was asked to, and
// goes on with its next interval: the newest statistics are what counts.
func (e *engine) run(ctx context.Context, until time.Time) {
	e.traffic = newTraffic()
	var refused time.Time
	for ctx.Err() == nil && time.Now().Before(until) {
		begin := time.Now()
		e.interval++
		a, err := e.client.post(ctx, e.operator, e.bodies[int(e.interval)%len(e.bodies)], e.interval, nil, e.expecting)
		accepted := e.answered(ctx, a, err)
		switch {
		case accepted && refused.IsZero():
			e.traffic.cycles = append(e.traffic.cycles, a.took)
		case accepted:
			e.traffic.cycles = append(e.traffic.cycles, begin.Sub(refused)+a.took)
			refused = time.Time{}
		default:
			if refused.IsZero() {
				refused = begin
			}
			e.wait(ctx, a, until)
		}
	}
}

// answered notes what came of a post and, of a plan, commits it.
func (e *engine) answered(ctx context.Context, a *answer, err error) (accepted bool) {
	if err != nil {
		if ctx.Err() == nil {
			e.traffic.posted[noAnswer]++
			e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("%s, interval %d: %v", e.operator, e.interval, err))
			e.ledger.unknown[e.interval] = err
		}
		return false
	}
	e.traffic.posted[strconv.Itoa(a.status)]++
	if a.status != http.StatusCreated {
		e.ledger.refused[e.interval] = a.status
		if !overloaded(a) {
			e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("%s, interval %d: %v", e.operator, e.interval, a.failure()))
		}
		return false
	}
	e.traffic.posts = append(e.traffic.posts, a.took)
	p, err := parsePlan(a)
	if err != nil {
		e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("%s, interval %d: %v", e.operator, e.interval, err))
		e.ledger.unknown[e.interval] = err
		return true
	}
	e.ledger.accepted[e.interval] = receipt{
		id: p.Id, digest: p.digest(),
		committed: p.Status == committed || p.Status == approved && e.commit(ctx, p.Id),
	}
	return true
}

// commitAttempts is how often a commit is tried that the server has no room for.
const commitAttempts = 20

// commit commits a plan. An engine that was given a plan does not give up on it
// because its time is over.
func (e *engine) commit(ctx context.Context, id string) bool {
	for range commitAttempts {
		a, err := e.client.commit(ctx, id)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			e.traffic.commit[noAnswer]++
			e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("commit of %s: %v", id, err))
			return false
		}
		e.traffic.commit[strconv.Itoa(a.status)]++
		switch {
		case a.status == http.StatusOK:
			e.traffic.commits = append(e.traffic.commits, a.took)
			return true
		case !overloaded(a):
			e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("commit of %s: %v", id, a.failure()))
			return false
		}
		e.wait(ctx, a, time.Now().Add(time.Minute))
	}
	e.traffic.wrong = append(e.traffic.wrong, fmt.Sprintf("commit of %s: refused %d times", id, commitAttempts))
	return false
}

// overloaded: come again later.
func overloaded(a *answer) bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
}

// wait waits for what Retry-After says, a second without it, and up to half as
// long again, so that those refused together do not come back together.
func (e *engine) wait(ctx context.Context, a *answer, until time.Time) {
	pause := time.Second
	if a != nil {
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && seconds >= 0 {
			pause = time.Duration(seconds) * time.Second
		}
	}
	pause += time.Duration(e.random.Float64() * float64(max(pause, 100*time.Millisecond)) / 2)
	timer := time.NewTimer(min(pause, time.Until(until)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// auditors is how many engines are audited at the same time.
const auditors = 2

// auditAll compares what all engines know with what the service has. It returns
// the contradictions and the number of plans compared.
func auditAll(ctx context.Context, engines []*engine) (faults []string, plans int, err error) {
	var (
		group errgroup.Group
		mu    sync.Mutex
	)
	group.SetLimit(auditors)
	for _, e := range engines {
		group.Go(func() error {
			found, err := e.audit(ctx)
			mu.Lock()
			defer mu.Unlock()
			faults, plans = append(faults, found...), plans+len(e.ledger.accepted)
			return err
		})
	}
	err = group.Wait()
	return faults, plans, err
}

// pool prepares bodies of drifting intervals whose rows do not say where keys
// are: the service knows.
func pool(n, keys, instances int, fluctuation float64, seed uint64, format, encoding string) ([]*body, error) {
	s, err := newStream(keys, instances, fluctuation, seed)
	if err != nil {
		return nil, err
	}
	bodies := make([]*body, n)
	for i := range bodies {
		r, err := s.next(false)
		if err != nil {
			return nil, err
		}
		if bodies[i], err = newBody(r, format, encoding, ""); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// shown are the first of many lines.
func shown(lines []string) error {
	var errs []error
	for _, line := range lines[:min(len(lines), 10)] {
		errs = append(errs, errors.New(line))
	}
	if more := len(lines) - len(errs); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
