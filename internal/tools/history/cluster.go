package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plannerd/internal/pgserver"
	"plannerd/internal/service"
)

// cluster is the service under fire: its replicas, and their store.
type cluster struct {
	program  string
	database string
	folder   string // for all files
	postgres *pgserver.Server

	replicas []*replica
	kills    trigger
	restarts trigger

	mu        sync.Mutex
	killed    int            // replicas
	restarted map[string]int // restarts of PostgreSQL by mode
}

// replica is a place for a process.
type replica struct {
	mu      sync.Mutex
	process *service.Process // nil: none runs
}

// url is where the replica listens; empty: nowhere.
func (r *replica) url() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return ""
	}
	return r.process.URL
}

func (r *replica) put(p *service.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = p
}

func (r *replica) take() (p *service.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, r.process = r.process, nil
	return p
}

// trigger fires at random, after so many operations in the mean.
type trigger struct {
	mean   int // 0: never
	random *rand.Rand
	fired  chan struct{}

	mu   sync.Mutex
	left int
}

func (t *trigger) prepare(mean int, random *rand.Rand) {
	t.mean, t.random, t.fired, t.left = mean, random, make(chan struct{}, 1), mean
}

// count counts an operation.
func (t *trigger) count() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left--; t.left > 0 || t.mean == 0 {
		return
	}
	t.left = 1 + t.random.IntN(2*t.mean)
	select {
	case t.fired <- struct{}{}:
	default: // the last one is not over yet
	}
}

// start makes the store and starts the replicas. Stop must be called also
// after an error.
func (c *cluster) start(ctx context.Context, o options) (err error) {
	c.restarted = map[string]int{}
	c.kills.prepare(o.killEvery, rand.New(rand.NewPCG(o.seed, 1)))
	if c.folder, err = os.MkdirTemp("", "plannerd-history-"); err != nil {
		return err
	}
	if c.program = o.program; c.program == "" {
		if c.program, err = service.Build(ctx, c.folder); err != nil {
			return err
		}
	}
	c.restarts.prepare(o.restartEvery, rand.New(rand.NewPCG(o.seed, 2)))
	if o.store == onSQLite {
		c.restarts.mean = 0
		c.database = "sqlite:" + filepath.Join(c.folder, "plannerd.db")
	} else {
		if c.postgres, err = pgserver.Start(o.postgresSettings...); err != nil {
			return err
		}
		c.database = c.postgres.URL()
	}
	for range o.replicas {
		r := new(replica)
		if err := c.run(ctx, r); err != nil {
			return err
		}
		c.replicas = append(c.replicas, r)
	}
	return nil
}

// run starts a process in a replica's place. It is stop that ends it, not the
// context.
func (c *cluster) run(ctx context.Context, r *replica) error {
	p, err := service.Start(context.WithoutCancel(ctx),
		service.Config{Program: []string{c.program}, Database: c.database, LogFolder: c.folder})
	if err == nil {
		r.put(p)
	}
	return err
}

// stop ends all that was started and removes all files. Replicas that do not
// end well are an error.
func (c *cluster) stop() error {
	var errs []error
	for _, r := range c.replicas {
		if p := r.take(); p != nil {
			if err := p.Stop(); err != nil {
				errs = append(errs, err, p.Said())
			}
		}
	}
	if c.postgres != nil {
		c.postgres.Stop()
	}
	if c.folder != "" {
		errs = append(errs, os.RemoveAll(c.folder))
	}
	return errors.Join(errs...)
}

// fire kills replicas whenever it is time, and starts them again, until the
// context ends.
func (c *cluster) fire(ctx context.Context, r *rand.Rand) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.kills.fired:
		}
		victims := []*replica{c.replicas[r.IntN(len(c.replicas))]}
		if r.IntN(8) == 0 {
			victims = c.replicas
		}
		pause(ctx, time.Duration(r.IntN(20))*time.Millisecond) // operations end when the trigger is pulled: not only then
		if err := c.kill(ctx, victims, time.Duration(r.IntN(150))*time.Millisecond); err != nil {
			return err
		}
	}
}

// kill kills replicas and starts them again after some time.
func (c *cluster) kill(ctx context.Context, victims []*replica, down time.Duration) error {
	for _, v := range victims {
		p := v.take()
		select {
		case <-ctx.Done():
			v.put(p) // stop ends it
			return nil
		default:
		}
		if err := p.Kill(); err != nil {
			return err
		}
		c.mu.Lock()
		c.killed++
		c.mu.Unlock()
	}
	pause(ctx, down)
	for _, v := range victims {
		if err := c.run(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// shake restarts PostgreSQL whenever it is time, until the context ends.
func (c *cluster) shake(ctx context.Context, r *rand.Rand) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.restarts.fired:
		}
		mode := pgserver.Fast
		if r.IntN(2) == 0 {
			mode = pgserver.Immediate
		}
		if err := c.postgres.Restart(mode); err != nil {
			return fmt.Errorf("restarting PostgreSQL: %w", err)
		}
		c.mu.Lock()
		c.restarted[mode]++
		c.mu.Unlock()
	}
}

// faults are how many replicas were killed, and the restarts of PostgreSQL by
// mode.
func (c *cluster) faults() (killed int, restarts map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed, maps.Clone(c.restarted)
}

// pick returns where a replica listens, whichever it is. It waits until there is
// one.
func (c *cluster) pick(ctx context.Context, r *rand.Rand) (url string, err error) {
	for ctx.Err() == nil {
		first := r.IntN(len(c.replicas))
		for i := range c.replicas {
			if url := c.replicas[(first+i)%len(c.replicas)].url(); url != "" {
				return url, nil
			}
		}
		pause(ctx, 5*time.Millisecond)
	}
	return "", ctx.Err()
}

// pause waits, not longer than the context lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
