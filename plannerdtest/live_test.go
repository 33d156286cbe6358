package plannerdtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/live"
	"plannerd/sdk/go/wire"
)

// counter is an engine that counts the messages of each key. They have numbers without a gap.
type counter struct {
	counts map[string]int
	disk   *disk
	wrong  func(format string, args ...any)
}

// disk is what is durable of an instance. It is lost by nobody.
type disk struct {
	mu     sync.Mutex
	states map[string]int
	record []byte
	crash  int // before that many commits, from 1 on; after it, if that is negative
}

var errCrash = errors.New("the instance dies")

func (c *counter) Process(key string, message []byte) {
	n, _ := strconv.Atoi(string(message))
	switch last := c.counts[key]; {
	case n == last+1:
		c.counts[key] = n
	case n > last+1:
		c.wrong("key %s: message %d comes after %d", key, n, last)
	}
}

func (c *counter) Keys() iter.Seq[string]            { return maps.Keys(c.counts) }
func (c *counter) Export(key string) ([]byte, error) { return json.Marshal(c.counts[key]) }
func (c *counter) Forget(key string)                 { delete(c.counts, key) }

func (c *counter) Import(key string, state []byte) error {
	if c.counts[key] != 0 {
		c.wrong("key %s is imported where it is already", key)
	}
	n, err := strconv.Atoi(string(state))
	c.counts[key] = n
	return err
}

func (c *counter) Commit(record []byte) error {
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	if c.disk.crash == 1 {
		return errCrash
	}
	c.disk.states, c.disk.record = maps.Clone(c.counts), record
	if c.disk.crash == -1 {
		return errCrash
	}
	switch {
	case c.disk.crash > 0:
		c.disk.crash--
	case c.disk.crash < 0:
		c.disk.crash++
	}
	return nil
}

// service is three nodes that die and come back, and talk over a network that loses and repeats.
type service struct {
	*testing.T
	api   *client.Client
	disks [3]*disk
	nodes [3]atomic.Pointer[live.Node]
	urls  [3]string
	dead  atomic.Int64
	lost  atomic.Int64
}

// RoundTrip loses requests and answers, and sends some twice.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	send := func() (*http.Response, error) {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(again)
	}
	chance := rand.IntN(40)
	if chance == 0 {
		s.lost.Add(1)
		return nil, errors.New("the request is lost")
	}
	a, err := send()
	if err != nil || chance > 2 {
		return a, err
	}
	s.lost.Add(1)
	a.Body.Close()
	if chance == 1 {
		return nil, errors.New("the answer is lost")
	}
	return send()
}

func (s *service) exchange() live.Exchange {
	return live.HTTP{URL: func(i int32) string { return s.urls[i] }, Token: "secret", Client: &http.Client{Transport: s}}
}

// run keeps an instance alive until the context ends.
func (s *service) run(ctx context.Context, i int) {
	for ctx.Err() == nil {
		d := s.disks[i]
		d.mu.Lock()
		d.crash = (1 - 2*rand.IntN(2)) * (1 + rand.IntN(600))
		e := &counter{counts: maps.Clone(d.states), disk: d, wrong: s.Errorf}
		n, err := live.Open(live.Config{API: s.api, Operator: "counts", Instance: int32(i), Engine: e, Record: d.record,
			Exchange: s.exchange(), Lease: 2 * time.Second})
		d.mu.Unlock()
		if err != nil {
			s.Error(err)
			return
		}
		s.nodes[i].Store(n)
		if err := n.Run(ctx); errors.Is(err, errCrash) {
			s.dead.Add(1)
		} else if ctx.Err() == nil {
			s.Errorf("instance %d: %v", i, err)
			return
		}
	}
}

// feed sends the messages of one key, one after the other, each until it is answered.
func (s *service) feed(ctx context.Context, key string, pause time.Duration) (sent int) {
	for n := 1; ctx.Err() == nil; n++ {
		for {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			err := s.nodes[rand.IntN(3)].Load().Send(within, key, []byte(strconv.Itoa(n)))
			cancel()
			if err == nil {
				break
			}
			if s.Failed() {
				return n
			}
		}
		sent = n
		time.Sleep(pause)
	}
	return sent
}

// TestLive moves keys while their messages come, and instances die at any commit, and the
// network loses and repeats: no message is lost or counted twice, and each key ends where its
// route leads.
func TestLive(t *testing.T) {
	server := plannerdtest.NewServer(t)
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{T: t, api: api}
	_, err = api.PutOperator(t.Context(), "counts", wire.OperatorConfiguration{
		Instances: wire.Numbered(3), ThetaMax: new(0.02),
		Approval: &wire.ApprovalOptions{Auto: new(wire.ApprovalAutoAlways)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var nodes, feeds sync.WaitGroup
	for i := range s.disks {
		s.disks[i] = &disk{states: map[string]int{}}
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.nodes[i].Load().Handler("secret").ServeHTTP(w, r)
		}))
		defer h.Close()
		s.urls[i] = h.URL
	}
	for i := range s.disks {
		n, _ := live.Open(live.Config{})
		s.nodes[i].Store(n) // there is one to ask
		nodes.Go(func() { s.run(ctx, i) })
	}
	nodes.Go(func() {
		for ctx.Err() == nil { // one succeeds the other
			within, end := context.WithTimeout(ctx, time.Duration(500+rand.IntN(2000))*time.Millisecond)
			if err := live.Drive(within, api, "counts", s.exchange()); within.Err() == nil {
				t.Errorf("drive: %v", err)
			}
			end()
		}
	})
	feeding, stop := context.WithCancel(ctx)
	sent := make([]int, 30)
	for i := range sent {
		feeds.Go(func() { sent[i] = s.feed(feeding, fmt.Sprint("key-", i), 2*time.Millisecond) })
	}
	committed, aborted := s.plan(ctx, len(sent))
	stop()
	feeds.Wait()
	s.settle(ctx)
	cancel()
	nodes.Wait()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for i, n := range sent {
		key := fmt.Sprint("key-", i)
		at, err := api.Route(t.Context(), "counts", []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		for id, d := range s.disks {
			if got, here := d.states[key], int32(id) == at.Instance; here && got != n || !here && got != 0 {
				t.Errorf("key %s: instance %d has counted %d of %d; it belongs on %d", key, id, got, n, at.Instance)
			}
		}
	}
	t.Logf("%d plans committed, %d aborted; %d deaths, %d requests lost or repeated", committed, aborted, s.dead.Load(),
		s.lost.Load())
	if aborted == 0 || s.dead.Load() < 2 || s.lost.Load() < 50 {
		t.Error("the test has tried too little")
	}
}

// TestLiveInOneProcess: two nodes hand over without a network.
func TestLiveInOneProcess(t *testing.T) {
	api, err := client.New(plannerdtest.NewServer(t).URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.PutOperator(t.Context(), "counts", wire.OperatorConfiguration{
		Instances: wire.Numbered(2), ThetaMax: new(0.02),
		Approval: &wire.ApprovalOptions{Auto: new(wire.ApprovalAutoAlways)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var local live.Local
	var all sync.WaitGroup
	disks := [2]*disk{{states: map[string]int{}}, {states: map[string]int{}}}
	var nodes [2]*live.Node
	for i, d := range disks {
		e := &counter{counts: map[string]int{}, disk: d, wrong: t.Errorf}
		nodes[i], err = live.Open(live.Config{
			API: api, Operator: "counts", Instance: int32(i), Engine: e, Exchange: &local,
		})
		if err != nil {
			t.Fatal(err)
		}
		local.Put(nodes[i])
		all.Go(func() { _ = nodes[i].Run(ctx) })
	}
	all.Go(func() { _ = live.Drive(ctx, api, "counts", &local) })
	s := &service{T: t, api: api, disks: [3]*disk{disks[0], disks[1], disks[0]}}
	for i := range s.nodes {
		s.nodes[i].Store(nodes[i%2])
	}
	sent := 50
	for i := range 10 {
		for n := range sent {
			if err := nodes[n%2].Send(ctx, fmt.Sprint("key-", i), []byte(strconv.Itoa(n+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	committed, _ := s.plan(ctx, 10)
	s.settle(ctx)
	cancel()
	all.Wait()
	for i := range 10 {
		key := fmt.Sprint("key-", i)
		if a, b := disks[0].states[key], disks[1].states[key]; a+b != sent || a*b != 0 {
			t.Errorf("after %d plans %s has counted %d and %d", committed, key, a, b)
		}
	}
}

// plan asks for plans, for changing loads, and aborts some of them.
func (s *service) plan(ctx context.Context, keys int) (committed, aborted int) {
	for interval := int64(1); committed < 10 && !s.Failed(); interval++ {
		var rows []client.Row
		for i := range keys {
			rows = append(rows, client.Row{Key: fmt.Append(nil, "key-", i), Cost: 1 + 20*rand.Float64(), State: 1})
		}
		p, err := s.api.CreatePlanFrom(ctx, "counts", wire.PlanRequest{Interval: interval},
			client.Statistics{Rows: client.Rows(rows)})
		if err != nil {
			s.Error(err)
			return committed, aborted
		}
		for begin := time.Now(); p.Status == wire.PlanStatusApproved || p.Status == wire.PlanStatusApplying ||
			p.Status == wire.PlanStatusAborting; {
			if time.Since(begin) > time.Minute {
				s.Errorf("plan %s is %s for a minute", p.Id, p.Status)
				return committed, aborted
			}
			if interval%4 == 0 && p.Status == wire.PlanStatusApplying {
				_, _ = s.api.AbortPlan(ctx, p.Id, wire.AbortRequest{ExecutorEpoch: p.ExecutorEpoch}) // it may have ended
			}
			time.Sleep(5 * time.Millisecond)
			if p, err = s.api.GetPlan(ctx, p.Id, client.GetPlanOptions{}); err != nil {
				s.Error(err)
				return committed, aborted
			}
		}
		switch p.Status {
		case wire.PlanStatusCommitted:
			committed++
		case wire.PlanStatusAborted:
			aborted++
		}
	}
	return committed, aborted
}

// settle waits until the instances know the end of the last plan.
func (s *service) settle(ctx context.Context) {
	for i := range s.disks {
		for {
			within, cancel := context.WithTimeout(ctx, time.Second)
			text, err := s.nodes[i].Load().Answer(within, []byte(`{"status":true}`))
			cancel()
			d := s.disks[i]
			d.mu.Lock()
			var r struct{ Machine struct{ Doing any } }
			_ = json.Unmarshal(d.record, &r)
			d.mu.Unlock()
			if err == nil && text != nil && r.Machine.Doing == nil || s.Failed() {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// A driver ends where asking again does not help.
func TestDriveRefused(t *testing.T) {
	api, err := client.New(plannerdtest.NewServer(t).URL, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := live.Drive(ctx, api, "nobody", &live.Local{}); !errors.Is(err, wire.CodeOperatorNotFound) {
		t.Errorf("of an operator that is not there: %v", err)
	}
}
