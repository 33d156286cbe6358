package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// routers measures one commit that many routers wait for, each on a connection of its own.
type routers struct {
	routers, keys, instances int
	stores                   []string
	memory                   string
}

func (r *routers) flags(f *flag.FlagSet) {
	countVar(f, &r.routers, "routers", 1, 5000, "routers that wait for the table of one operator")
	countVar(f, &r.keys, "keys", 1, 1e4, "keys of the interval")
	countVar(f, &r.instances, "instances", 2, 40, "instances of the operator")
	choiceVar(f, &r.stores, "stores", "sqlite", stores, "stores")
	f.StringVar(&r.memory, "memory-budget", "", "that of the server; its default otherwise")
}

func (r *routers) run(ctx context.Context, b *bench) error {
	t := &markdown{head: []string{"store", "routers", "answers by status", "entries set", "commit", "first", "median",
		"last"}}
	bodies, err := pool(1, r.keys, r.instances, 1, b.seed, jsonRows, identity)
	if err != nil {
		return err
	}
	arguments := []string{"--max-connections", strconv.Itoa(r.routers + 100), "--max-waiting", strconv.Itoa(r.routers)}
	if r.memory != "" {
		arguments = append(arguments, "--memory-budget", r.memory)
	}
	for _, store := range r.stores {
		err := b.with(ctx, store, 0, arguments, func(s *server) error { return r.measure(ctx, b, s, store, bodies[0], t) })
		if err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
	}
	b.printf("%d routers wait for the table of one operator, each on a connection of its own, and one plan of %s keys on "+
		"%d instances is committed. Milliseconds; those of routers are from the answer to the commit on.\n\n%s",
		r.routers, short(r.keys), r.instances, t)
	return nil
}

// heard is what became of the wait of one router.
type heard struct {
	*answer
	err error
	at  time.Time
}

func (r *routers) measure(ctx context.Context, b *bench, s *server, store string, content *body, t *markdown) error {
	if err := s.put(ctx, trialOperator, map[string]any{"instances": r.instances}); err != nil {
		return err
	}
	posted, err := s.post(ctx, trialOperator, content, 1, nil, false)
	if err != nil {
		return err
	}
	made, err := parsePlan(posted)
	if err != nil {
		return err
	}
	all := make([]heard, r.routers)
	var waiting sync.WaitGroup
	for i := range all {
		waiting.Go(func() { all[i] = r.wait(ctx, newClient(s.base)) })
	}
	b.progress("%d routers begin to wait", r.routers)
	if err := r.allWait(ctx, s.client); err != nil {
		return err
	}
	commit, err := s.commit(ctx, made.Id)
	if err != nil {
		return err
	}
	end := time.Now()
	waiting.Wait()
	return r.report(b, t, store, len(made.RoutingTable.Set), commit, end, all)
}

// wait waits for the first version of the table.
func (r *routers) wait(ctx context.Context, c *client) heard {
	defer c.http.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		c.base+"/v1/operators/"+trialOperator+"/routing-table?since=0&wait=60s", nil)
	if err != nil {
		return heard{err: err}
	}
	a, err := c.send(request)
	return heard{a, err, time.Now()}
}

// allWait returns once the server says that all routers wait.
func (r *routers) allWait(ctx context.Context, c *client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/metrics", nil)
	if err != nil {
		return err
	}
	for {
		a, err := c.send(request)
		if err != nil {
			return err
		}
		if strings.Contains(string(a.body), fmt.Sprintf("\nplannerd_table_waiters %d\n", r.routers)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *routers) report(
	b *bench, t *markdown, store string, set int, commit *answer, committed time.Time, all []heard,
) error {
	count, after := map[int]int{}, times{}
	var wrong []string
	for _, h := range all {
		if h.err != nil {
			wrong = append(wrong, h.err.Error())
			continue
		}
		count[h.status]++
		after = append(after, max(0, h.at.Sub(committed)))
		if h.status != http.StatusOK {
			wrong = append(wrong, h.failure().Error())
		}
	}
	b.sort()
	var by []string
	for _, status := range slices.Sorted(maps.Keys(count)) {
		by = append(by, fmt.Sprintf("%d of %d", count[status], status))
	}
	if len(after) > 0 {
		t.add(store, strconv.Itoa(r.routers), strings.Join(by, ", "), strconv.Itoa(set), ms(commit.took), ms(after.least()),
			ms(after.median()), ms(after.greatest()))
	}
	return shown(wrong)
}
