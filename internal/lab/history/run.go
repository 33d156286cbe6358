package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"
)

// run is one run of it all.
type run struct {
	options options
	log     io.Writer
	cluster cluster
	client  *client
	routing *http.Client // of routers
	begin   time.Time
	report  report
}

// execute starts the service, runs the clients in rounds, and checks each round.
// The error says that the run could not be made, not that a check did not hold.
func execute(ctx context.Context, o options, log io.Writer) (_ *report, err error) {
	var transport http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: o.clients}
	if o.transport != nil {
		transport = o.transport(transport)
	}
	x := &run{options: o, log: log, client: newClient(transport),
		routing: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.clients}},
		begin:   time.Now(), report: newReport(o)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		x.client.http.CloseIdleConnections()
		x.routing.CloseIdleConnections()
		err = errors.Join(err, x.cluster.stop())
	}()
	fmt.Fprintln(log, "starting the service")
	if err := x.cluster.start(ctx, o); err != nil {
		return nil, err
	}
	group, faulty := errgroup.WithContext(ctx)
	firing, cease := context.WithCancel(faulty)
	defer cease()
	group.Go(func() error { return x.cluster.fire(firing, rand.New(rand.NewPCG(o.seed, 3))) })
	group.Go(func() error { return x.cluster.shake(firing, rand.New(rand.NewPCG(o.seed, 4))) })
	group.Go(func() error { return x.cluster.disturb(firing, rand.New(rand.NewPCG(o.seed, 6)), o.swallowTime) })
	group.Go(func() error { return x.cluster.freeze(firing, rand.New(rand.NewPCG(o.seed, 8)), o.swallowTime) })
	group.Go(func() error {
		defer cease()
		return x.rounds(faulty)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	x.report.done = x.cluster.done()
	x.report.took = time.Since(x.begin)
	return &x.report, nil
}

// rounds runs round after round until all operations are made or a check fails.
func (x *run) rounds(ctx context.Context) error {
	left := x.options.operations
	for round := 1; left > 0 && len(x.report.faults) == 0; round++ {
		budget := min(left, x.options.perOperator*x.options.operators)
		left -= budget
		if err := x.round(ctx, round, budget); err != nil {
			return err
		}
		fmt.Fprintf(x.log, "round %d: %d operations, %d plans, %d kills so far\n", round, x.report.operations,
			x.report.plans, x.cluster.done().killed)
	}
	return nil
}

// round lets clients work on new operators and checks their histories.
func (x *run) round(ctx context.Context, number, operations int) error {
	random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(x.options.seed, uint64(number)<<32|uint64(n)+10)) }
	auditor := random(0)
	operators := make([]*operator, x.options.operators)
	following := make([]*routers, len(operators))
	defer func() {
		for _, f := range following {
			f.end()
		}
	}()
	for i := range operators {
		operators[i] = newOperator(fmt.Sprintf("history-%d-%d", number, i))
		if err := x.set(ctx, operators[i], auditor); err != nil {
			return err
		}
		var err error
		if following[i], err = x.follow(ctx, operators[i].name, random(-1-i)); err != nil {
			return err
		}
	}
	var budget atomic.Int64
	budget.Store(int64(operations))
	group, working := errgroup.WithContext(ctx)
	for i := range x.options.clients {
		w := &worker{id: i, run: x, random: random(1 + i), operators: operators, budget: &budget}
		group.Go(func() error { return w.work(working) })
	}
	lossy := x.options.lossy(number)
	if lossy {
		group.Go(func() error { return x.lose(working, number, operations, &budget, following) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, o := range operators {
		faults, err := following[i].settle(ctx, auditor)
		if err != nil {
			return err
		}
		x.report.faults = append(x.report.faults, faults...)
		if err := x.examine(ctx, o, auditor, lossy); err != nil {
			return err
		}
	}
	return nil
}

// examine checks an operator whose clients have stopped. lossy: what was answered may be lost.
func (x *run) examine(ctx context.Context, o *operator, r *rand.Rand, lossy bool) error {
	for _, k := range []kind{readTable, readOperator, listPlans} { // the last words of the history
		err := x.insist(ctx, r, func(string) error {
			a, err := x.perform(ctx, o, x.options.clients, r, request{kind: k})
			if err == nil && a.outcome != answered {
				err = fmt.Errorf("%s of operator %s: %v", k, o.name, a)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	s, err := x.read(ctx, o, r)
	if err != nil {
		return err
	}
	begin := time.Now()
	h := newHistory(o, s.plans)
	var (
		operations []porcupine.Operation
		faults     []string
	)
	if lossy {
		faults = append(failures(o.records), s.fold()...)
	} else {
		operations, faults = h.settle()
		faults = append(faults, audit(o.records, s)...)
	}
	for i := range faults {
		faults[i] = o.name + ": " + faults[i]
	}
	fault, err := h.check(operations, x.options.checkTime, x.options.visualization)
	if fault != "" {
		faults = append(faults, fault)
	}
	x.report.add(h, faults, time.Since(begin))
	return err
}
