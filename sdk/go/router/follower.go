package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/route"
	"plannerd/sdk/go/wire"
)

// ErrNoTable is returned for lookups before there is a table.
var ErrNoTable = errors.New("router: there is no routing table yet")

// Source answers for routing tables. A [client.Client] does.
type Source interface {
	GetRoutingTable(
		ctx context.Context, operator string, with client.GetRoutingTableOptions, options ...client.Option,
	) (*wire.RoutingTable, error)
}

// Config says what a follower follows.
type Config struct {
	Source   Source
	Operator string
	// Router is the router's name, which decides with which part of a split key it begins.
	Router string
	// File is where the last table is kept; "": nowhere. Each follower has a file of its own.
	File string
	// Wait is how long the server may keep a request before it answers that there is nothing
	// new, at most a minute. Defaults to 30 s.
	Wait time.Duration
	// Base and Cap are bounds of the time that is waited after a failure: at first it is
	// drawn from zero to Base, and the bound doubles until it is Cap. Default to 100 ms and 5 s.
	Base, Cap time.Duration
}

// answerTime is how long the answer to a request may take besides Wait: nobody hears of a
// connection whose other end is gone.
const answerTime = time.Minute

// View is what is known of a table at one time. It does not change.
type View struct {
	// Table is the committed table with what is pending.
	Table *route.Table
	// Origin is what made this version of the table, for statistics; "": a file of an older program
	// does not say.
	Origin wire.TableOrigin
	// ConfigVersion is the version of the configuration that the table pins.
	ConfigVersion int64
	// Pending is the plan that is being carried out, without the lists of its changes, which
	// are in Table; nil: none.
	Pending *wire.PendingTable
	// Kept: it is of the file, and the server has not been heard since. It may be old.
	Kept bool

	names map[int32]string
	ids   map[string]int32
}

// Name is the name of an instance of the table, or of the plan that is being carried out; "": it has
// none.
func (v *View) Name(id int32) string { return v.names[id] }

// ID is the id of the instance of that name, of the table or of the plan that is being carried out.
func (v *View) ID(name string) (id int32, known bool) {
	id, known = v.ids[name]
	return id, known
}

// Status is how following goes.
type Status struct {
	// Confirmed is when the server last said what the table is; zero: never yet.
	Confirmed time.Time
	// Err is why the last request failed; nil: it did not.
	Err error
	// FileErr is why the table could not be read from or written to the file; nil: it could.
	FileErr error
}

// Follower keeps a table current. Its methods may be called at the same time, but for Run,
// which runs once.
type Follower struct {
	config  Config
	current atomic.Pointer[View] // nil: there is none yet

	// Of Run alone.
	state state
	etag  string
	file  file

	mu      sync.Mutex
	changed chan struct{} // closed when there is another view
	status  Status
}

// Open returns a follower that begins with the table in the file, if there is one.
func Open(c Config) (*Follower, error) {
	if c.Source == nil || c.Operator == "" {
		return nil, errors.New("router: a follower needs a Source and an Operator")
	}
	if c.Wait > time.Minute {
		return nil, errors.New("router: Wait must be at most a minute")
	}
	c.Wait = cmp.Or(max(c.Wait, 0), 30*time.Second)
	c.Base = cmp.Or(max(c.Base, 0), 100*time.Millisecond)
	c.Cap = cmp.Or(max(c.Cap, 0), 5*time.Second)
	f := &Follower{config: c, changed: make(chan struct{})}
	if c.File == "" {
		return f, nil
	}
	f.file.path = c.File
	f.status.FileErr = f.recall() // the server has the table, too
	return f, nil
}

// recall reads the table from the file.
func (f *Follower) recall() error {
	lines, err := readFile(f.config.File)
	if err != nil || lines == nil {
		return err
	}
	for _, line := range lines {
		if err := f.take(line.Table); err != nil {
			return err
		}
	}
	f.etag = lines[len(lines)-1].ETag
	f.publish(f.state.view(true))
	return nil
}

// Lookup returns where a key goes now, by the table as it was last heard of.
func (f *Follower) Lookup(key []byte) (route.Destination, error) {
	v := f.current.Load()
	if v == nil {
		return route.Destination{}, ErrNoTable
	}
	return v.Table.Lookup(key)
}

// Name is that of [View.Name], by the table as it was last heard of.
func (f *Follower) Name(id int32) string {
	if v := f.current.Load(); v != nil {
		return v.Name(id)
	}
	return ""
}

// View returns what is known now; nil: nothing.
func (f *Follower) View() *View { return f.current.Load() }

// Status returns how following goes.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Next waits for a view other than the given one, nil included, and returns the newest.
// Views that came in between are passed over.
func (f *Follower) Next(ctx context.Context, after *View) (*View, error) {
	for {
		f.mu.Lock()
		v, changed := f.current.Load(), f.changed
		f.mu.Unlock()
		if v != after {
			return v, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ready waits until there is a table, be it the one of the file.
func (f *Follower) Ready(ctx context.Context) error {
	_, err := f.Next(ctx, nil)
	return err
}

// Run follows the table until the context ends, whose error it returns, or until the
// server says that the operator has no such table and never will: [wire.CodeTableNotHeld],
// or [ErrScheme]. All other failures pass.
func (f *Follower) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, f.file.close()) }()
	failures, wait := 0, time.Duration(0)
	for {
		begin := time.Now()
		news, err := f.ask(ctx, wait)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrScheme), errors.Is(err, wire.CodeTableNotHeld):
			f.note(func(s *Status) { s.Err = err })
			return err
		}
		f.note(func(s *Status) {
			if s.Err = err; err == nil {
				s.Confirmed = time.Now()
			}
		})
		// A server that shuts down answers before the time is up that there is nothing new.
		if err == nil && (news || time.Since(begin) >= wait/2) {
			if news || wait > 0 {
				failures = 0
			}
			wait = f.config.Wait
			continue
		}
		failures++
		wait = 0 // so that it is soon known how things are
		if err := sleep(ctx, f.config.pause(failures, err)); err != nil {
			return err
		}
	}
}

// pause is how long to wait after so many failures.
func (c Config) pause(failures int, err error) time.Duration {
	bound := c.Cap
	if failures < 32 {
		bound = min(bound, c.Base<<(failures-1))
	}
	pause := rand.N(bound + 1)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		pause += min(refused.RetryAfter, time.Minute)
	}
	return pause
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ask asks for what is new, for which the server may wait, and reports whether anything was.
func (f *Follower) ask(ctx context.Context, wait time.Duration) (news bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerTime)
	defer cancel()
	with := client.GetRoutingTableOptions{KeyEncoding: wire.KeyEncodingBase64}
	var got client.Answer
	options := []client.Option{client.ReadAnswer(&got)}
	if f.etag != "" { // the version alone does not tell what was pending
		with.Since, with.Wait = new(f.state.table.Version()), wait
		options = append(options, client.IfNoneMatch(f.etag))
	}
	answer, err := f.config.Source.GetRoutingTable(ctx, f.config.Operator, with, options...)
	if errors.Is(err, client.ErrNotModified) {
		f.confirm()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := f.take(answer); err != nil {
		f.etag = "" // whatever it is, the whole table mends it
		return false, err
	}
	f.etag = got.ETag
	f.keep(answer)
	f.publish(f.state.view(false))
	return true, nil
}

// confirm notes that the table is still right.
func (f *Follower) confirm() {
	if v := f.current.Load(); v != nil && v.Kept {
		f.publish(f.state.view(false))
	}
}

// take applies an answer, or a line of the file.
func (f *Follower) take(answer *wire.RoutingTable) error {
	if answer.Operator != f.config.Operator {
		return fmt.Errorf("router: the table is of operator %q, not of %q", answer.Operator, f.config.Operator)
	}
	next, err := f.state.apply(answer, f.config.Router)
	if err == nil {
		f.state = next
	}
	return err
}

// keep writes what is new to the file before it is gone by: a router that is restarted must
// not go by an older table.
func (f *Follower) keep(answer *wire.RoutingTable) {
	if f.config.File == "" {
		return
	}
	err := f.file.add(kept{Format: format, ETag: f.etag, Table: answer},
		func() *wire.RoutingTable { return f.state.whole(f.config.Operator) })
	f.note(func(s *Status) { s.FileErr = err })
}

func (f *Follower) publish(v *View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current.Store(v)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Follower) note(change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
}
