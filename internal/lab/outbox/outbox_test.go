// Package outbox_test tries that no webhook is lost, or out of order, whatever is killed.
package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/pgtest"
	"plannerd/internal/lab/process"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// receiver notes which steps of plans of each operator came first, and is down a third of the time.
type receiver struct {
	random *rand.Rand

	mu       sync.Mutex
	down     bool
	wasDown  time.Duration
	attempts int
	seen     map[string]bool
	order    map[string][]string // type and id, by the source
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var e struct{ ID, Type, Source string }
	err := json.NewDecoder(q.Body).Decode(&e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	fate := r.random.IntN(3)
	if err != nil || r.down && fate == 0 {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if r.down && fate == 1 {
		panic(http.ErrAbortHandler)
	}
	if strings.HasPrefix(e.Type, "plannerd.plan.") && !r.seen[e.ID] {
		r.seen[e.ID] = true
		r.order[e.Source] = append(r.order[e.Source], e.Type+" "+e.ID)
	}
	if r.down { // it has it, but nobody learns that
		panic(http.ErrAbortHandler)
	}
}

// shake has the receiver down a third of the time until ctx ends, and up then.
func (r *receiver) shake(ctx context.Context, unit time.Duration) error {
	for down := true; ctx.Err() == nil; down = !down {
		r.mu.Lock()
		r.down = down
		pause := time.Duration(1+r.random.IntN(3)) * unit
		if !down {
			pause *= 2
		} else {
			r.wasDown += pause
		}
		r.mu.Unlock()
		wait(ctx, pause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = false
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// replicas are processes that are killed while they serve.
type replicas struct {
	*testing.T
	config process.Config

	mu  sync.Mutex
	all []*process.Process
}

func (x *replicas) start(i int) {
	p, err := process.Start(context.Background(), x.config)
	if err != nil {
		x.Error(err)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all[i] = p
}

func (x *replicas) url(i int) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all[i%len(x.all)].URL
}

func (x *replicas) kill(i int) {
	x.mu.Lock()
	p := x.all[i]
	x.mu.Unlock()
	if err := p.Kill(); err != nil {
		x.Error(err)
	}
}

// engine has plans of an operator made, superseded and given up until there are enough events, and notes which.
type engine struct {
	replicas *replicas
	name     string
	interval int64
	want     []string
	made     *atomic.Int64
}

// insist calls f with one replica after the other until it succeeds.
func (e *engine) insist(ctx context.Context, f func(*client.Client) error) error {
	until := time.Now().Add(2 * process.Patience)
	for i := 0; ; i++ {
		api, err := client.New(e.replicas.url(i), client.Config{})
		if err == nil {
			err = f(api)
		}
		if err == nil || time.Now().After(until) || ctx.Err() != nil {
			return err
		}
		wait(ctx, 100*time.Millisecond)
	}
}

func (e *engine) note(status wire.PlanStatus, id string, n int) {
	e.want = append(e.want, fmt.Sprintf("plannerd.plan.%s %s-%d", status, id, n))
	e.made.Add(1)
}

func (e *engine) run(ctx context.Context, most int64) error {
	err := e.insist(ctx, func(api *client.Client) error {
		_, err := api.PutOperator(ctx, e.name, wire.OperatorConfiguration{Instances: wire.Numbered(2)})
		return err
	})
	for before := ""; err == nil && e.made.Load() < most; {
		before, err = e.step(ctx, before)
	}
	return err
}

// step has a plan made, which supersedes the one before, and carries some out up to where they are given up.
func (e *engine) step(ctx context.Context, before string) (string, error) {
	e.interval++
	wait(ctx, time.Duration(deep.Count(50, 500))*time.Millisecond) // so that it goes on during all kills
	var rows []client.Row
	for k := range 4 {
		rows = append(rows, client.Row{Key: fmt.Appendf(nil, "key %d", k), Cost: float64(e.interval), State: 1})
	}
	var p *wire.Plan
	err := e.insist(ctx, func(api *client.Client) (err error) {
		p, err = api.CreatePlanFrom(ctx, e.name, wire.PlanRequest{Interval: e.interval},
			client.Statistics{Rows: client.Rows(rows), Located: true})
		return err
	})
	if err != nil {
		return "", err
	}
	e.note(wire.PlanStatusApproved, p.Id, 1)
	if before != "" {
		e.note(wire.PlanStatusSuperseded, before, 2)
	}
	if e.interval%3 != 0 {
		return p.Id, nil
	}
	err = e.insist(ctx, func(api *client.Client) error {
		_, err := api.StartPlan(ctx, p.Id, wire.StartRequest{Executor: "engine"})
		return err
	})
	e.note(wire.PlanStatusApplying, p.Id, 2)
	for n, back := range []bool{false, true} {
		if err != nil {
			return "", err
		}
		err = e.insist(ctx, func(api *client.Client) error {
			_, err := api.AbortPlan(ctx, p.Id, wire.AbortRequest{RolledBack: &back})
			return err
		})
		e.note([]wire.PlanStatus{wire.PlanStatusAborting, wire.PlanStatusAborted}[n], p.Id, 3+n)
	}
	return "", err
}

// TestNoneIsLost: processes that are killed deliver each event at least once to a receiver that is down a
// third of the time, and those of each operator in their order.
func TestNoneIsLost(t *testing.T) {
	folder := t.TempDir()
	program, err := process.Build(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		replicas int
		database func(t *testing.T) string
	}{
		{"Postgres", 2, func(t *testing.T) string { return pgtest.NewDatabase(t) }},
		{"SQLite", 1, func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "plannerd.db") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := &replicas{T: t, all: make([]*process.Process, c.replicas)}
			x.config = process.Config{Program: program, Database: c.database(t), LogFolder: t.TempDir()}
			noneIsLost(t, x, int64(deep.Count(200, 10_000)), deep.Count(2, 20))
		})
	}
}

func noneIsLost(t *testing.T, x *replicas, events int64, kills int) {
	seed := deep.Seed(t, 1)
	r := &receiver{random: rand.New(rand.NewPCG(seed, 1)), seen: map[string]bool{}, order: map[string][]string{}}
	server := httptest.NewServer(r)
	defer server.Close()
	secret := filepath.Join(x.config.LogFolder, "secret")
	if err := os.WriteFile(secret, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.config.Arguments = []string{"--webhook", server.URL, "--webhook-secret-file", secret, "--log-level", "warn"}
	for i := range x.all {
		x.start(i)
	}
	defer func() {
		for i := range x.all {
			x.kill(i)
		}
	}()
	begin := time.Now()
	var made atomic.Int64
	engines := make([]*engine, 8)
	var group errgroup.Group
	shaking, calm := context.WithCancel(t.Context())
	group.Go(func() error { return r.shake(shaking, 500*time.Millisecond) })
	group.Go(func() error {
		defer calm()
		random := rand.New(rand.NewPCG(seed, 2))
		for n := range kills {
			for made.Load() < events*int64(n)/int64(kills) && !t.Failed() {
				wait(t.Context(), 10*time.Millisecond)
			}
			wait(t.Context(), time.Duration(random.IntN(3000))*time.Millisecond)
			i := random.IntN(len(x.all))
			x.kill(i)
			x.start(i)
		}
		return nil
	})
	for i := range engines {
		engines[i] = &engine{replicas: x, name: fmt.Sprint("operator-", i), made: &made}
		group.Go(func() error {
			err := engines[i].run(t.Context(), events)
			if err != nil {
				t.Errorf("%s: %v", engines[i].name, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	driven := time.Since(begin)
	r.settle(t, engines)
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d events of %d operators in %v and %v more until all were delivered; %d kills; the receiver was down %v, "+
		"and asked %d times", made.Load(), len(engines), driven.Round(time.Second),
		(time.Since(begin) - driven).Round(time.Second), kills, r.wasDown, r.attempts)
}

// settle waits until all events were delivered, and checks their order.
func (r *receiver) settle(t *testing.T, engines []*engine) {
	t.Helper()
	until := time.Now().Add(3 * time.Minute)
	for _, e := range engines {
		var got []string
		for {
			r.mu.Lock()
			got = slices.Clone(r.order["/v1/operators/"+e.name])
			r.mu.Unlock()
			if slices.Equal(got, e.want) || time.Now().After(until) {
				break
			}
			wait(t.Context(), 50*time.Millisecond)
		}
		if !slices.Equal(got, e.want) {
			for i := range min(len(got), len(e.want)) {
				if got[i] != e.want[i] {
					t.Errorf("%s: event %d is %s, want %s", e.name, i, got[i], e.want[i])
					break
				}
			}
			t.Errorf("%s: %d events were delivered, want %d", e.name, len(got), len(e.want))
		}
	}
}
