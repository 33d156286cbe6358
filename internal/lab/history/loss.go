package main

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"plannerd/internal/lab/pgserver"
	"plannerd/internal/lab/tcpproxy"
)

// lossy reports whether the database loses its newest commits in a round. The histories of such a
// round are not linearizable. What is looked at is that the service goes on from a sound state, that
// it does not fail, and that all routers end at the newest table.
func (o options) lossy(round int) bool {
	return o.store == onPostgres && o.lossEvery > 0 && round%o.lossEvery == 0
}

// lose replaces the database under running replicas, clients and routers: by a standby that was behind
// when it was promoted, or in every other such round by a copy that was taken earlier, as a backup that
// is restored.
func (x *run) lose(ctx context.Context, round, operations int, left *atomic.Int64, all []*routers) (err error) {
	c := &x.cluster
	c.server.Lock() // no restarts meanwhile
	defer c.server.Unlock()
	someOperations := func() {
		for until := left.Load() - int64(operations/6); ctx.Err() == nil && left.Load() > max(0, until); {
			pause(ctx, 5*time.Millisecond)
		}
	}
	someOperations()
	var (
		next      *pgserver.Server
		isStandby = round/x.options.lossEvery%2 == 1
		settings  = x.options.postgresSettings
	)
	if isStandby {
		between, err := tcpproxy.New(c.postgres.Address())
		if err != nil {
			return err
		}
		defer func() { _ = between.Close() }()
		if next, err = c.postgres.Copy(between.Addr(), settings...); err != nil {
			return err
		}
		someOperations()
		between.Swallow()
	} else if next, err = c.postgres.Copy("", settings...); err != nil {
		return err
	}
	someOperations()
	return x.replace(ctx, next, isStandby, all)
}

// replace ends the database and has the replicas use another one. Routers with a file are stopped
// meanwhile, so that they come back with tables that are lost.
func (x *run) replace(ctx context.Context, next *pgserver.Server, isStandby bool, all []*routers) error {
	c := &x.cluster
	for _, f := range all {
		f.stop(keeping)
	}
	c.postgres.Stop()
	c.postgres = next
	if isStandby {
		if err := next.Promote(ctx); err != nil {
			return err
		}
	}
	for _, r := range c.replicas {
		r.network.Redirect(next.Address())
	}
	c.note(func() { c.losses[isStandby]++ })
	for _, f := range all {
		if err := f.start(ctx, keeping); err != nil {
			return err
		}
	}
	return nil
}

// freeze stops a replica by SIGSTOP for a while whenever it is time, until the context ends.
func (c *cluster) freeze(ctx context.Context, r *rand.Rand, longest time.Duration) error {
	return c.freezes.each(ctx, func() error {
		p := c.replicas[r.IntN(len(c.replicas))].running()
		if p == nil {
			return nil
		}
		p.Pause()
		pause(ctx, time.Duration(r.Float64()*r.Float64()*float64(longest)))
		p.Resume()
		c.note(func() { c.frozen++ })
		return nil
	})
}
