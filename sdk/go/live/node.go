package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// Config says what a node is.
type Config struct {
	API      *client.Client
	Operator string
	// Instance is the id of the instance, and Router the name of its router. That defaults to
	// "instance-" and the id.
	Instance int32
	Router   string
	Engine   Engine
	// Record is what the engine's Commit had last; nil: the instance is new.
	Record   []byte
	Exchange Exchange
	// Lease is how long the node may be silent before plans go on without its router, which
	// needs [Drive]. Defaults to 10 s.
	Lease time.Duration
}

// Node is an instance of a service with the router in front of it. Its methods may be called
// at the same time.
type Node struct {
	Config
	engine   Engine
	exchange Exchange
	all      sync.WaitGroup

	mu        sync.Mutex      // of the instance
	ctx       context.Context // while it runs
	end       context.CancelFunc
	machine   *handoff.Instance[[]byte]
	record    record
	seen      bool  // it has seen the table since it was opened
	version   int64 // of the table that was seen last
	exporting int64
	said      said
	dirty     bool  // something changed since the last Commit
	broken    error // why the node has stopped

	routing sync.Mutex // of the router
	router  *handoff.Router[*message]
	by      int64 // the version of the table by which messages are sent now
	open    map[int32]*channel
	connect func(to int32) *channel
	ready   chan struct{} // closed once messages can be taken
}

// message is one that waits until its owner has it.
type message struct {
	content []byte
	done    chan struct{}
}

// Open returns a node, which takes part once it is run.
func Open(c Config) (*Node, error) {
	c.Router = cmp.Or(c.Router, fmt.Sprintf("instance-%d", c.Instance))
	c.Lease = cmp.Or(max(c.Lease, 0), 10*time.Second)
	n := &Node{Config: c, engine: c.Engine, exchange: c.Exchange, router: handoff.NewRouter[*message](handoff.Holding),
		ready: make(chan struct{}), record: record{Channels: map[string]position{}}}
	if c.Record != nil {
		if err := json.Unmarshal(c.Record, &n.record); err != nil {
			return nil, fmt.Errorf("live: the record of instance %d: %w", c.Instance, err)
		}
	}
	n.machine = handoff.NewInstance(c.Instance, handoff.Holding, n.record.Machine)
	return n, nil
}

// errFenced ends a session of the router: another has its name, or a driver has taken it for
// lost.
var errFenced = errors.New("live: the router was fenced")

// Run takes part until the context ends, or the engine fails. It runs once.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	n.ctx, n.end = ctx, cancel
	n.mu.Unlock()
	var err error
	for err == nil || errors.Is(err, errFenced) {
		err = n.takePart(ctx)
	}
	n.mu.Lock()
	n.stop(err)
	err = n.broken
	n.mu.Unlock()
	n.all.Wait()
	return err
}

// stop ends the node. It holds the lock.
func (n *Node) stop(why error) {
	if n.broken == nil {
		n.broken = why
		n.end()
	}
}

// spawn runs something beside, until the node ends. The caller holds the lock.
func (n *Node) spawn(do func(ctx context.Context)) {
	if n.broken == nil {
		n.all.Go(func() { do(n.ctx) })
	}
}

// takePart registers the router, and follows the table until the router is fenced.
func (n *Node) takePart(ctx context.Context) error {
	var epoch int64
	if err := persist(ctx, func() bool {
		r, err := n.API.PutRouter(ctx, n.Operator, n.Router, wire.RouterRequest{Lease: n.lease()})
		if err == nil {
			epoch = r.Epoch
		}
		return err == nil
	}); err != nil {
		return err
	}
	// Only a table that is read from now on counts: plans that start later wait for this router.
	follower, err := router.Open(router.Config{Source: n.API, Operator: n.Operator, Router: n.Router})
	if err != nil {
		return err
	}
	session, end := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer func() {
		n.pause()
		end(nil)
		beside.Wait()
		n.takeBack()
	}()
	beside.Go(func() {
		if err := follower.Run(session); session.Err() == nil {
			end(err)
		}
	})
	beside.Go(func() { n.renew(session, end, epoch) })
	n.begin(session, end, epoch, &beside)
	for view := (*router.View)(nil); ; {
		if view, err = follower.Next(session, view); err != nil {
			return context.Cause(session)
		}
		v := view.Handover()
		if err := errors.Join(n.see(v), n.forward(v)); err != nil {
			return err
		}
	}
}

func (n *Node) lease() string { return fmt.Sprintf("%dms", n.Lease.Milliseconds()) }

// renew extends the lease. That the service is away does not matter.
func (n *Node) renew(ctx context.Context, end context.CancelCauseFunc, epoch int64) {
	for sleep(ctx, n.Lease/4) == nil {
		within, cancel := context.WithTimeout(ctx, n.Lease/4)
		_, err := n.API.PutRouter(within, n.Operator, n.Router, wire.RouterRequest{Lease: n.lease(), Epoch: &epoch})
		cancel()
		if errors.Is(err, wire.CodeFenced) {
			end(errFenced)
		}
	}
}
