package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"plannerd/sdk/go/wire"
)

// operator is one that clients share, with all that they did and know.
type operator struct {
	name string

	mu              sync.Mutex
	records         []record
	plans           []string                  // ids, as they became known
	latest          map[wire.PlanStatus]*plan // that were seen in a status
	known           map[string]bool
	bodies          []*statistics
	epoch, interval int64 // the newest that was tried
	version         int64 // the newest that was seen
	configurations  int
}

func newOperator(name string) *operator {
	return &operator{name: name, known: map[string]bool{}, latest: map[wire.PlanStatus]*plan{}, interval: 10}
}

// worker is one client of some operators.
type worker struct {
	id        int
	run       *run
	random    *rand.Rand
	operators []*operator
	budget    *atomic.Int64 // of operations that may still begin
}

// attempts is how often a request is sent whose outcome is unknown.
const attempts = 6

// work sends requests until the budget is used.
func (w *worker) work(ctx context.Context) error {
	for w.budget.Add(-1) >= 0 {
		o := w.operators[w.random.IntN(len(w.operators))]
		q, err := w.choose(o)
		if err != nil {
			return err
		}
		if err := w.persist(ctx, o, q); err != nil {
			return err
		}
	}
	return nil
}

// persist sends a request, and what changes something once more as long as its
// outcome is unknown. Each time it waits longer.
func (w *worker) persist(ctx context.Context, o *operator, q request) error {
	for i := range attempts {
		a, err := w.run.perform(ctx, o, w.id, w.random, q)
		if err != nil || a.outcome == answered {
			return err
		}
		pause(ctx, time.Duration(w.random.IntN(20<<i))*time.Millisecond)
		if q.kind.reads() {
			return nil
		}
	}
	return nil
}

// perform sends a request to some replica and records it.
func (x *run) perform(ctx context.Context, o *operator, client int, r *rand.Rand, q request) (*answer, error) {
	base, err := x.cluster.pick(ctx, r)
	if err != nil {
		return nil, err
	}
	call := time.Since(x.begin)
	a, err := x.client.do(ctx, base, o.name, q)
	end := time.Since(x.begin)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	o.learn(record{client, q, a, int64(call), int64(end)})
	if a.outcome == answered {
		x.cluster.kills.count()
		x.cluster.restarts.count()
		x.cluster.swallows.count()
		x.cluster.freezes.count()
	}
	return &a, nil
}

// learn adds an operation to the history, and what it tells to what is known.
func (o *operator) learn(r record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.records = append(o.records, r)
	if a := r.answer; a.outcome == answered {
		if a.plan != nil {
			o.meet(a.plan)
		}
		for i := range a.plans {
			o.meet(&a.plans[len(a.plans)-1-i])
		}
		if a.table != nil {
			o.version = max(o.version, a.table.Version)
		}
	}
}

func (o *operator) meet(p *plan) {
	if was := o.latest[p.Status]; p.Awaits != nil || was == nil || was.Id != p.Id { // lists do not say what is awaited
		o.latest[p.Status] = p
	}
	if !o.known[p.Id] {
		o.known[p.Id] = true
		o.plans = append(o.plans, p.Id)
	}
}

// choices are the kinds of operations by their weight.
var choices = []struct {
	weight int
	choose func(*worker, *operator) (request, error)
}{
	{26, (*worker).newPlan},
	{8, (*worker).repeated},
	{8, onPlan(commitPlan)},
	{8, onPlan(abortPlan)},
	{10, onPlan(approvePlan)},
	{3, onPlan(rejectPlan)},
	{14, onPlan(startPlan)},
	{24, onPlan(ackPlan)},
	{9, onPlan(readPlan)},
	{8, plainly(listPlans)},
	{13, plainly(readTable)},
	{9, plainly(readOperator)},
	{2, (*worker).configuring},
}

// choose draws the next request.
func (w *worker) choose(o *operator) (request, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	x := w.random.IntN(sum)
	for _, c := range choices {
		if x -= c.weight; x < 0 {
			return c.choose(w, o)
		}
	}
	panic("unreachable")
}

func plainly(k kind) func(*worker, *operator) (request, error) {
	return func(*worker, *operator) (request, error) { return request{kind: k}, nil }
}

// onPlan is about a known plan, mostly a new one, or seldom about none that there
// is.
func onPlan(k kind) func(*worker, *operator) (request, error) {
	return func(w *worker, o *operator) (request, error) {
		n := len(o.plans)
		if n == 0 || w.random.IntN(50) == 0 {
			return w.stepOn(k, &plan{Id: uuid.UUID{15: byte(w.random.IntN(256))}.String()}), nil
		}
		if p := o.latest[takes[k][w.random.IntN(len(takes[k]))]]; p != nil && w.random.IntN(4) > 0 {
			return w.stepOn(k, p), nil
		}
		back := w.random.IntN(min(n, 4))
		if w.random.IntN(8) == 0 {
			back = w.random.IntN(n)
		}
		return w.stepOn(k, &plan{Id: o.plans[n-1-back]}), nil
	}
}

// takes are the statuses in which plans mostly are that a request is about.
var takes = map[kind][]wire.PlanStatus{
	readPlan: {noAction, proposed, approved, applying, aborting}, approvePlan: {proposed}, rejectPlan: {proposed},
	startPlan: {approved, approved, applying}, ackPlan: {applying}, commitPlan: {approved, applying},
	abortPlan: {approved, applying, aborting, aborting},
}

// executorEpochs are how many epochs executors have: few, so that they meet.
const executorEpochs = 4

// mostInstances is one above the greatest instance that is ever configured.
const mostInstances = 7

// stepOn is a request about a plan as it was seen, mostly by who carried it out then.
func (w *worker) stepOn(k kind, p *plan) request {
	q := request{kind: k, plan: p.Id, epoch: int64(w.random.IntN(executorEpochs))}
	if p.ExecutorEpoch != nil && w.random.IntN(4) > 0 {
		q.epoch = *p.ExecutorEpoch
	}
	switch k {
	case startPlan:
		q.executor = fmt.Sprint("executor-", w.random.IntN(2))
	case abortPlan:
		q.rolledBack = p.Status == aborting || w.random.IntN(4) == 0
	case ackPlan:
		n := w.random.IntN(len(p.Awaits) + 1)
		for _, i := range w.random.Perm(len(p.Awaits))[:n] {
			q.instances = append(q.instances, p.Awaits[i])
		}
		if n > 0 {
			break
		}
		n = 1 + w.random.IntN(3)
		for _, id := range w.random.Perm(mostInstances)[:n] {
			q.instances = append(q.instances, int32(id))
		}
	}
	return q
}

// newPlan posts new statistics: mostly of the next interval, else of one that
// may have a plan, or of a new epoch.
func (w *worker) newPlan(o *operator) (request, error) {
	epoch, interval := o.epoch, o.interval
	switch x := w.random.IntN(100); {
	case x < 1:
		epoch, interval = epoch+1, 10
	case x < 70:
		interval++
	case x < 85: // the newest once more
	default:
		interval -= int64(w.random.IntN(5))
	}
	if epoch > 0 && w.random.IntN(40) == 0 {
		epoch--
	}
	if epoch > o.epoch || epoch == o.epoch && interval > o.interval {
		o.epoch, o.interval = epoch, interval
	}
	var version *int64
	if w.random.IntN(4) == 0 {
		says := o.version + int64(w.random.IntN(3)) - 1
		if says >= 0 {
			version = &says
		}
	}
	b, err := newStatistics(w.random, epoch, interval, version)
	if err != nil {
		return request{}, err
	}
	o.bodies = append(o.bodies, b)
	return request{kind: createPlan, body: b}, nil
}

// repeated posts statistics that somebody has posted.
func (w *worker) repeated(o *operator) (request, error) {
	n := len(o.bodies)
	if n == 0 {
		return w.newPlan(o)
	}
	back := w.random.IntN(min(n, 6))
	return request{kind: createPlan, body: o.bodies[n-1-back]}, nil
}

func (w *worker) configuring(o *operator) (request, error) {
	o.configurations++
	c := newConfiguration(w.random, o.configurations)
	return request{kind: configure, config: &c}, nil
}

// set makes an operator before its history begins.
func (x *run) set(ctx context.Context, o *operator, r *rand.Rand) error {
	return x.insist(ctx, r, func(base string) error {
		a, err := x.client.do(ctx, base, o.name, request{kind: configure, config: &firstConfiguration})
		if err == nil && a.status != http.StatusOK && a.status != http.StatusCreated {
			err = fmt.Errorf("configuring operator %s: %v", o.name, a)
		}
		return err
	})
}

// patience is how long the service may take to come back.
const patience = time.Minute

// insist calls f with one replica after another until it succeeds.
func (x *run) insist(ctx context.Context, r *rand.Rand, f func(base string) error) error {
	until := time.Now().Add(patience)
	for {
		base, err := x.cluster.pick(ctx, r)
		if err != nil {
			return err
		}
		if err = f(base); err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		pause(ctx, 50*time.Millisecond)
	}
}
