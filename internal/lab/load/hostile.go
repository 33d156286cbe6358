package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// hostile measures what engines see of clients that want all of a server: analyses that
// take minutes or gigabytes, bodies that are begun and left, large bodies that trickle.
type hostile struct {
	budget                     int64
	engines, keys, instances   int
	analyses, silent, trickles int
	duration                   time.Duration
}

func (h *hostile) flags(f *flag.FlagSet) {
	h.budget = 256 << 20
	sizeVar(f, &h.budget, "memory-budget", "of plannerd serve, such as 512MiB (default 256MiB)")
	countVar(f, &h.engines, "engines", 1, 32, "engines, each with an operator of its own")
	countVar(f, &h.keys, "keys", 1, 1000, "keys of each interval")
	countVar(f, &h.instances, "instances", 1, 10, "instances of each operator")
	countVar(f, &h.analyses, "analyses", 0, 8, "clients that ask for one long analysis after the other")
	countVar(f, &h.silent, "silent", 0, 100, "clients that begin a body and fall silent")
	countVar(f, &h.trickles, "trickles", 0, 4, "clients that send large bodies slowly")
	f.DurationVar(&h.duration, "duration", time.Minute, "half of it alone, half beside the others")
}

func (h *hostile) run(ctx context.Context, b *bench) error {
	bodies, err := pool(4, h.keys, h.instances, 1, b.seed, jsonRows, identity)
	if err != nil {
		return err
	}
	arguments := []string{fmt.Sprintf("--memory-budget=%d", h.budget)}
	return b.with(ctx, onSQLite, 0, arguments, func(s *server) error { return h.measure(ctx, b, s, bodies) })
}

func (h *hostile) measure(ctx context.Context, b *bench, s *server, bodies []*body) error {
	engines, err := newEngines(ctx, s.client, 0, h.engines, bodies,
		map[string]any{"instances": h.instances, "approval": map[string]any{"auto": "always"}}, false)
	if err != nil {
		return err
	}
	t := &markdown{head: []string{"store", "phase", "plans/s", "POST p50", "p99", "max", "201", "429", "503", "others"}}
	others := newCrowd(s.client)
	var seen [2]traffic
	for i, phase := range []string{"alone", "beside"} {
		b.progress("%d engines %s for %v", h.engines, phase, h.duration/2)
		crowd, stop := context.WithCancel(ctx)
		if i > 0 {
			others.begin(crowd, h)
		}
		seen[i], err = drive(ctx, engines, h.duration/2)
		stop()
		others.all.Wait()
		if err != nil {
			return err
		}
		posts := seen[i].posts
		t.add(onSQLite, phase, fmt.Sprintf("%.1f", seen[i].perSecond()), ms(posts.median()), ms(posts.quantile(0.99)),
			ms(posts.greatest()), strconv.Itoa(seen[i].posted["201"]), strconv.Itoa(seen[i].posted["429"]),
			strconv.Itoa(seen[i].posted["503"]), strconv.Itoa(seen[i].others()))
		b.sort()
	}
	faults, _, err := auditAll(ctx, engines)
	if err != nil {
		return err
	}
	refusals, err := others.metrics(ctx, "plannerd_memory_rejections_total", "plannerd_slot_rejections_total")
	if err != nil {
		return err
	}
	peak := s.memory().peak
	b.printf("%d engines with operators of %s keys on %d instances, alone and beside %d clients that ask for long "+
		"analyses, %d that begin a body and fall silent, and %d that send large bodies slowly.\n\n%s\n"+
		"p99 beside is %.2f times that alone. The peak of the whole server (VmHWM) is %s, of a budget of %s: %s within "+
		"it; requests reserved %s at most. Refused: %s. The others saw: %s.\n",
		h.engines, short(h.keys), h.instances, h.analyses, h.silent, h.trickles, t,
		ratio(seen[1].posts.quantile(0.99), seen[0].posts.quantile(0.99)), mb(peak), mb(h.budget), yesNo(peak <= h.budget),
		mb(others.reserved), strings.Join(refusals, ", "), others.summary())
	return shown(append(append(seen[0].wrong, seen[1].wrong...), faults...))
}

// crowd are the clients that want everything.
type crowd struct {
	*client
	all sync.WaitGroup

	mu       sync.Mutex
	saw      map[string]int // by what they asked and were answered
	reserved int64          // the most that was seen
}

func newCrowd(c *client) *crowd { return &crowd{client: c, saw: map[string]int{}} }

// begin lets them loose until ctx ends.
func (c *crowd) begin(ctx context.Context, h *hostile) {
	loop := func(n int, pause time.Duration, name string, once func(context.Context, int) (string, error)) {
		for i := range n {
			c.all.Go(func() {
				for ctx.Err() == nil {
					what, err := once(ctx, i)
					if err != nil {
						what = "no answer"
					}
					c.mu.Lock()
					c.saw[name+" "+what]++
					c.mu.Unlock()
					select {
					case <-time.After(pause):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	loop(h.analyses, 100*time.Millisecond, "analyses", c.analyse)
	loop(h.silent, 100*time.Millisecond, "silence", c.fallSilent)
	loop(h.trickles, 100*time.Millisecond, "trickles", c.trickle)
	loop(1, 250*time.Millisecond, "metrics", func(ctx context.Context, _ int) (string, error) {
		_, err := c.metrics(ctx)
		return "read", err
	})
}

// longAnalyses take minutes, or gigabytes.
var longAnalyses = []struct{ name, body string }{
	{"ring", `{"simulate":true,"messages":268435456,"keys":[{"key":"a","cost":1},{"key":"b","cost":2}]}`},
	{"ring", `{"simulate":true,"messages":2000000,"keys":[{"key":"a","cost":1},{"key":"b","cost":2}]}`},
	{"pkg", `{"workers":50,"choices":[2,3,4,5,6,7,8,9],"sources":[1,2,3,4,5,6,7,8],"messages":4000000,` +
		`"order":"independent","schemes":["pkg"],"keys":[{"key":"a","cost":1},{"key":"b","cost":2}]}`},
	{"schemes", `{"instances":2000,"keys":[{"key":"a","cost":1},{"key":"b","cost":2}]}`},
}

func (c *crowd) analyse(ctx context.Context, i int) (string, error) {
	of := longAnalyses[i%len(longAnalyses)]
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/analyses/"+of.name, strings.NewReader(of.body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := c.send(r)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(a.status), nil
}

// fallSilent begins a body and waits for the end of the connection.
func (c *crowd) fallSilent(ctx context.Context, _ int) (string, error) {
	return c.converse(ctx, "Content-Type: application/json\r\nContent-Length: 1000", func(conn net.Conn) error {
		_, err := io.WriteString(conn, "{")
		return err
	})
}

// trickle sends a large body at a rate that is just allowed.
func (c *crowd) trickle(ctx context.Context, _ int) (string, error) {
	return c.converse(ctx, "Content-Type: text/csv\r\nContent-Length: 100000000", func(conn net.Conn) error {
		_, err := io.WriteString(conn, "key,cost\n")
		line := strings.Repeat("\n", 8<<10)
		for err == nil && ctx.Err() == nil {
			_, err = io.WriteString(conn, line)
			select {
			case <-time.After(250 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return err
	})
}

// converse sends the head of a request for a what-if and what say sends, and waits for the
// answer.
func (c *crowd) converse(ctx context.Context, head string, say func(net.Conn) error) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(c.base, "http://"))
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /v1/what-if HTTP/1.1\r\nHost: 127.0.0.1\r\n"+head+"\r\n\r\n"); err != nil {
		return "", err
	}
	if err := say(conn); err != nil {
		return "", err
	}
	status := make([]byte, len("HTTP/1.1 429"))
	if _, err := io.ReadFull(conn, status); err != nil {
		return "", err
	}
	return strings.TrimPrefix(string(status), "HTTP/1.1 "), nil
}

// metrics returns the lines of metrics that are not 0, and notes what is reserved.
func (c *crowd) metrics(ctx context.Context, names ...string) (lines []string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	a, err := c.send(r)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, errors.Join(errors.New("metrics"), a.failure())
	}
	for line := range strings.Lines(string(a.body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "plannerd_memory_reserved_bytes" {
			n, _ := strconv.ParseFloat(value, 64)
			c.mu.Lock()
			c.reserved = max(c.reserved, int64(n))
			c.mu.Unlock()
		}
		for _, wanted := range names {
			if strings.HasPrefix(name, wanted) && value != "0" {
				lines = append(lines, strings.TrimPrefix(name, "plannerd_")+" "+value)
			}
		}
	}
	return lines, nil
}

// summary tells what the crowd was answered.
func (c *crowd) summary() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.saw)) {
		all = append(all, fmt.Sprintf("%s %d", what, c.saw[what]))
	}
	return strings.Join(all, ", ")
}
