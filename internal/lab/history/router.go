package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	sdk "plannerd/sdk/go/client"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// routers follow the table of an operator through whatever happens, each time from another
// replica: one that forgets all when it is restarted, and one that keeps its table in a file.
type routers struct {
	run      *run
	operator string
	configs  []router.Config
	running  []*following // by the configs; nil: it is stopped

	mu     sync.Mutex
	random *rand.Rand
	faults []string
}

// following is a router that runs.
type following struct {
	*router.Follower
	stop func()
}

// The places of the two routers.
const (
	forgetful = iota
	keeping
)

// follow starts the routers of an operator. All must be stopped.
func (x *run) follow(ctx context.Context, operator string, r *rand.Rand) (*routers, error) {
	f := &routers{run: x, operator: operator, random: r}
	for _, file := range []string{"", filepath.Join(x.cluster.folder, operator+".table")} {
		f.configs = append(f.configs, router.Config{
			Source: f, Operator: operator, Router: "router-" + filepath.Base(file), File: file,
			Wait: 2 * time.Second, Base: 20 * time.Millisecond, Cap: time.Second / 2,
		})
	}
	f.running = make([]*following, len(f.configs))
	return f, errors.Join(f.start(ctx, forgetful), f.start(ctx, keeping))
}

// start starts a router that is stopped. It is stop that ends it, not the context.
func (f *routers) start(ctx context.Context, which int) error {
	opened, err := router.Open(f.configs[which])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := opened.Run(ctx); ctx.Err() == nil {
			f.fault("router %d ended: %v", which, err)
		}
	}()
	f.running[which] = &following{opened, func() { cancel(); <-ended }}
	return nil
}

// end stops all routers.
func (f *routers) end() {
	if f != nil { // they were started
		f.stop(forgetful)
		f.stop(keeping)
	}
}

// stop stops a router.
func (f *routers) stop(which int) {
	if r := f.running[which]; r != nil {
		r.stop()
		f.running[which] = nil
	}
}

func (f *routers) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, f.operator+": "+fmt.Sprintf(format, args...))
}

// GetRoutingTable implements [router.Source].
func (f *routers) GetRoutingTable(
	ctx context.Context, operator string, with sdk.GetRoutingTableOptions, options ...sdk.Option,
) (*wire.RoutingTable, error) {
	f.mu.Lock()
	r := rand.New(rand.NewPCG(f.random.Uint64(), 0))
	f.mu.Unlock()
	base, err := f.run.cluster.pick(ctx, r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c, err := sdk.New(base, sdk.Config{HTTP: f.run.routing, Retry: sdk.Retry{Attempts: 1}})
	if err != nil {
		return nil, err
	}
	t, err := c.GetRoutingTable(ctx, operator, with, options...)
	if refused, ok := errors.AsType[*sdk.Error](err); ok && isFailure(int(refused.Status)) {
		f.fault("a router got %v", err)
	}
	return t, err
}

// isFailure reports whether a status says that the service failed and does not know why.
func isFailure(status int) bool {
	return status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable
}

// routerPatience is how long routers may take to hear of the newest table.
const routerPatience = 20 * time.Second

// settle stops the routers once each has the newest table, and tells of those that do not get it.
func (f *routers) settle(ctx context.Context, r *rand.Rand) ([]string, error) {
	defer f.end()
	var newest table
	err := f.run.insist(ctx, r, func(base string) error {
		return f.run.client.fetch(ctx, base+"/v1/operators/"+f.operator+"/routing-table", &newest)
	})
	if err != nil {
		return nil, err
	}
	want, _ := newest.text()
	late := time.Now().Add(routerPatience)
	for which, running := range f.running {
		has, version := tableOf(running.View())
		for ctx.Err() == nil && time.Now().Before(late) && (has != want || version != newest.Version) {
			pause(ctx, 20*time.Millisecond)
			has, version = tableOf(running.View())
		}
		if has != want || version != newest.Version {
			f.fault("router %d ended at version %d, %s; the newest is %d, %s", which, version, has, newest.Version, want)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults, ctx.Err()
}

// tableOf is the table that a router goes by, as a state has it, and its version.
func tableOf(v *router.View) (text string, version int64) {
	if v == nil {
		return "none", -1
	}
	var t table
	for e := range v.Table.Entries() {
		t.Entries = append(t.Entries, wire.RoutingTableEntry{Key: string(e.Key), Instance: e.Instance})
	}
	text, _ = t.text()
	return text, v.Table.Version()
}
