package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plannerd/internal/lab/pgserver"
	"plannerd/internal/lab/process"
	"plannerd/internal/lab/tcpproxy"
)

// cluster is the service under fire: its replicas, and their store.
type cluster struct {
	programs []string   // of the replicas in turn
	folder   string     // for all files
	server   sync.Mutex // of postgres
	postgres *pgserver.Server

	replicas []*replica
	kills    trigger
	restarts trigger
	swallows trigger
	freezes  trigger

	mu sync.Mutex
	faults
}

// faults are what was done to the service, how often.
type faults struct {
	killed    int            // replicas
	frozen    int            // replicas
	swallowed int            // times that a network swallowed
	restarted map[string]int // restarts of PostgreSQL by mode
	losses    map[bool]int   // of the newest commits; true: to a standby that was behind
}

// replica is a place for a process.
type replica struct {
	program, database string
	network           *tcpproxy.Proxy  // to PostgreSQL; nil: there is none
	pooler            *pgserver.Pooler // before the network; nil: there is none

	mu      sync.Mutex
	process *process.Process // nil: none runs
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

// running is the process; nil: none runs.
func (r *replica) running() *process.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

func (r *replica) put(p *process.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = p
}

func (r *replica) take() (p *process.Process) {
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

// each does something whenever the trigger has fired, until the context ends.
func (t *trigger) each(ctx context.Context, do func() error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.fired:
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// start makes the store and starts the replicas. Stop must be called also
// after an error.
func (c *cluster) start(ctx context.Context, o options) (err error) {
	c.restarted, c.losses = map[string]int{}, map[bool]int{}
	c.kills.prepare(o.killEvery, rand.New(rand.NewPCG(o.seed, 1)))
	if c.folder, err = os.MkdirTemp("", "plannerd-history-"); err != nil {
		return err
	}
	if c.programs = o.programs; c.programs == nil {
		if c.programs, err = build(ctx, c.folder, o.replicas); err != nil {
			return err
		}
	}
	c.swallows.prepare(o.swallowEvery, rand.New(rand.NewPCG(o.seed, 5)))
	c.restarts.prepare(o.restartEvery, rand.New(rand.NewPCG(o.seed, 2)))
	c.freezes.prepare(o.freezeEvery, rand.New(rand.NewPCG(o.seed, 7)))
	if o.store == onSQLite {
		c.restarts.mean, c.swallows.mean = 0, 0
	} else if c.postgres, err = pgserver.Start(o.postgresSettings...); err != nil {
		return err
	}
	for i := range o.replicas {
		r := &replica{program: c.programs[i%len(c.programs)], database: "sqlite:" + filepath.Join(c.folder, "plannerd.db")}
		c.replicas = append(c.replicas, r)
		if c.postgres != nil {
			mode := ""
			if o.poolers {
				mode = []string{"", pgserver.Session, pgserver.Transaction}[i%3]
			}
			if err := r.connect(ctx, c.postgres.URL(), mode); err != nil {
				return err
			}
		}
		if err := c.run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// skew is how far the clocks of replicas are apart.
const skew = 10 * time.Minute

// build makes the programs of replicas, whose clocks disagree.
func build(ctx context.Context, folder string, replicas int) (programs []string, err error) {
	for i := range min(replicas, 3) {
		path, err := process.BuildSkewed(ctx, folder, []time.Duration{0, skew, -skew}[i])
		if err != nil {
			return nil, err
		}
		programs = append(programs, path)
	}
	return programs, nil
}

// connect puts a network of its own between the replica and PostgreSQL, and before that, if a mode is
// given, a connection pooler.
func (r *replica) connect(ctx context.Context, database, mode string) error {
	address, err := url.Parse(database)
	if err != nil {
		return err
	}
	if r.network, err = tcpproxy.New(address.Host); err != nil {
		return err
	}
	address.Host = r.network.Addr()
	r.database = address.String()
	if mode == "" {
		return nil
	}
	if r.pooler, err = pgserver.StartPooler(ctx, mode, r.database); err == nil {
		r.database = r.pooler.URL()
	}
	return err
}

// run starts a process in a replica's place. It is stop that ends it, not the
// context.
func (c *cluster) run(ctx context.Context, r *replica) error {
	p, err := process.Start(context.WithoutCancel(ctx),
		process.Config{Program: r.program, Database: r.database, LogFolder: c.folder})
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
		if r.pooler != nil {
			errs = append(errs, r.pooler.Stop())
		}
		if r.network != nil {
			errs = append(errs, r.network.Close())
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
	return c.kills.each(ctx, func() error {
		victims := []*replica{c.replicas[r.IntN(len(c.replicas))]}
		if r.IntN(8) == 0 {
			victims = c.replicas
		}
		pause(ctx, time.Duration(r.IntN(20))*time.Millisecond) // operations end when the trigger is pulled: not only then
		return c.kill(ctx, victims, time.Duration(r.IntN(150))*time.Millisecond)
	})
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
		c.note(func() { c.killed++ })
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
	return c.restarts.each(ctx, func() error {
		mode := pgserver.Fast
		if r.IntN(2) == 0 {
			mode = pgserver.Immediate
		}
		c.server.Lock()
		err := c.postgres.Restart(mode)
		c.server.Unlock()
		if err != nil {
			return fmt.Errorf("restarting PostgreSQL: %w", err)
		}
		c.note(func() { c.restarted[mode]++ })
		return nil
	})
}

// disturb has the network of a replica swallow packets whenever it is time, until the
// context ends. Some of the times it forgets the connections that there are.
func (c *cluster) disturb(ctx context.Context, r *rand.Rand, longest time.Duration) error {
	return c.swallows.each(ctx, func() error {
		network := c.replicas[r.IntN(len(c.replicas))].network
		c.note(func() { c.swallowed++ })
		if r.IntN(3) == 0 {
			network.Forget()
			return nil
		}
		network.Swallow()
		pause(ctx, time.Duration(r.Float64()*r.Float64()*float64(longest)))
		network.Pass()
		return nil
	})
}

// note counts what was done.
func (c *cluster) note(count func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count()
}

// done is what was done to the service so far.
func (c *cluster) done() faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.faults
	f.restarted, f.losses = maps.Clone(f.restarted), maps.Clone(f.losses)
	return f
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
