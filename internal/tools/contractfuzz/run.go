package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// run is one run of it all.
type run struct {
	options  options
	contract *contract
	memory   *memory
	target   target
	base     string // in front of paths in command lines
	noted    io.Writer

	mu     sync.Mutex
	report report
}

// recent is how many requests are kept for what the log says of them later.
const recent = 4000

func newRun(o options, t target, base string, noted io.Writer) (*run, error) {
	c, err := loadContract()
	if err != nil {
		return nil, err
	}
	return &run{options: o, contract: c, memory: newMemory(), target: t, base: base, noted: noted, report: newReport(c)}, nil
}

// fuzz lets the clients work until the time or the requests are over.
func (x *run) fuzz(ctx context.Context) error {
	begin := time.Now()
	until, cancel := context.WithTimeout(ctx, x.options.duration)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for client := range x.options.clients {
		group.Go(func() error { return x.work(ctx, until, client) })
	}
	err := group.Wait()
	x.report.took = time.Since(begin)
	return err
}

// work is one client.
func (x *run) work(ctx, until context.Context, client int) error {
	m := newMaker(x.contract, x.memory, rand.New(rand.NewPCG(x.options.seed, uint64(client))))
	share := x.options.requests / x.options.clients
	for n := 1; until.Err() == nil && (x.options.requests == 0 || n <= share); n++ {
		r := m.next(fmt.Sprintf("fuzz-%d-%d-%d", x.options.seed, client, n))
		a, f := x.try(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fresh := x.note(r, a, f)
		if f != nil && fresh {
			x.tell(ctx, r, f)
		}
		if a != nil && a.status < 300 {
			x.learn(a)
		}
	}
	return nil
}

// try sends a request and checks its answer.
func (x *run) try(ctx context.Context, r *request) (*answer, *fault) {
	a, err := x.target.send(ctx, r)
	if err != nil {
		return nil, faulty(noAnswer, "%v", err)
	}
	return a, x.contract.check(r, a)
}

func (x *run) learn(a *answer) {
	if tag := a.header.Get("ETag"); tag != "" {
		x.memory.remember("ETag", tag)
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), mediaJSON) {
		x.memory.learn(a.body)
	}
}

// note counts an answer and reports whether its fault is a new one.
func (x *run) note(r *request, a *answer, f *fault) (fresh bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.report.count(r, a)
	x.report.keep(r)
	if n%5000 == 0 {
		fmt.Fprintf(x.noted, "%d requests, %d kinds of faults\n", n, len(x.report.findings))
	}
	return f != nil && x.report.add(finding{operation: r.op.name(), kind: f.kind, detail: f.detail, command: r.command(x.base)})
}

// tell looks for a shorter request with the same fault.
func (x *run) tell(ctx context.Context, r *request, f *fault) {
	shorter := r
	if f.kind != noAnswer { // each look would take as long
		shorter = x.shrink(ctx, r, f)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.report.shorten(r.op.name(), f.kind, shorter.command(x.base))
	fmt.Fprintf(x.noted, "%s: %s: %s\n", r.op.name(), f.kind, f.detail)
}

// noAnswer is the kind of faults of what never came, or not whole.
const noAnswer = "no answer"

// shrinkTries bounds the requests that shrinking costs.
const shrinkTries = 80

// shrink leaves things out of a request for as long as it fails alike. What a
// request did may be why another one no longer does the same: then it stays as it
// is.
func (x *run) shrink(ctx context.Context, r *request, f *fault) *request {
	tries := 0
	alike := func(c *request) bool {
		if tries++; tries > shrinkTries || ctx.Err() != nil {
			return false
		}
		_, g := x.try(ctx, c)
		return g != nil && g.kind == f.kind
	}
	for again := true; again; {
		again = false
		for _, c := range shorter(r) {
			if alike(c) {
				r, again = c, true
				break
			}
		}
	}
	return r
}

// shorter lists requests with one thing less.
func shorter(r *request) (out []*request) {
	but := func(change func(*request)) {
		c := *r
		change(&c)
		out = append(out, &c)
	}
	for i := range r.header {
		but(func(c *request) { c.header = without(c.header, i) })
	}
	if r.tail != "" {
		but(func(c *request) { c.tail = "" })
	}
	for i := range r.query {
		but(func(c *request) { c.query = without(c.query, i) })
	}
	if tree, ok := object(r.body); ok {
		for i := range spots(tree) {
			copied := clone(tree)
			if drop := spots(copied)[i].drop; drop != nil {
				but(func(c *request) { drop(); c.body = marshal(copied) })
			}
		}
	} else if len(r.body) > 0 {
		but(func(c *request) { c.body = c.body[:len(c.body)/2] })
		but(func(c *request) { c.body = c.body[len(c.body)/2:] })
	}
	if r.method != http.MethodGet && len(r.body) > 0 {
		but(func(c *request) { c.body = nil })
	}
	return out
}

func without(list []pair, i int) []pair {
	out := make([]pair, 0, len(list)-1)
	return append(append(out, list[:i]...), list[i+1:]...)
}
