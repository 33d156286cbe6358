package collecting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/cli"
)

// Redis is the command that collects from the slots of Redis or Valkey.
type Redis struct {
	Addr   []string      `default:"127.0.0.1:6379" sep:"," placeholder:"HOST:PORT,…" help:"Nodes to begin with; one of them names the others (default 127.0.0.1:6379)."`
	For    time.Duration `placeholder:"DURATION" least:"0" help:"How long to collect (default: 1m, or with --every until the command is interrupted)."`
	Sample int           `default:"10000" least:"1" placeholder:"N" help:"Where there is no CLUSTER SLOT-STATS: look at about N keys of each node (default 10000)."`
	TLS    bool          `name:"tls" help:"Connect by TLS." group:"Access to the source"`
	Flags
	Login

	idle
	secure   *tls.Config
	password string
	cost     []string // the statistics of slots that are added up to their cost; nil: not known yet
	state    string
	sampled  bool // there are no statistics of slots
}

// slots is how many slots a cluster has.
const slots = 16384

// Run executes the command.
func (c *Redis) Run(env *cli.Environment) error {
	s, err := c.scheduleOf(c.For, time.Minute)
	if err != nil {
		return err
	}
	if c.password, err = c.Login.password(env); err != nil {
		return err
	}
	if c.secure, err = c.maybeTLS(c.TLS); err != nil {
		return err
	}
	r, err := c.begin(env, "redis", s)
	if err != nil {
		return err
	}
	defer r.out.Close()
	return r.live(env.Ctx, c)
}

func (c *Redis) look(ctx context.Context, _ time.Time) (*look, error) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	l := &look{at: time.Now(), located: true, keys: map[string]sample{}}
	for _, node := range nodes {
		if err := c.connected(ctx, node, func(r *resp) error { return c.ask(r, node, l) }); err != nil {
			return nil, err
		}
	}
	l.instant = !l.counters
	return l, nil
}

// connected does something with a connection to a node, whose address errors name.
func (c *Redis) connected(ctx context.Context, address string, do func(*resp) error) error {
	r, err := dialRESP(ctx, address, c.secure, c.User, c.password)
	if err == nil {
		defer context.AfterFunc(ctx, func() { _ = r.Close() })() // ends what it waits for
		err = errors.Join(do(r), r.Close())
	}
	if denied := respError(""); errors.As(err, &denied) && strings.HasPrefix(string(denied), "NOPERM") {
		return fmt.Errorf("redis at %s: %w: the user needs +cluster|nodes, +cluster|slot-stats, or for a sample "+
			"+scan, +randomkey, +dbsize, +memory|usage, +object|freq, +config|get", address, err)
	}
	if err != nil {
		return fmt.Errorf("redis at %s: %w", address, err)
	}
	return nil
}

// nodes are the addresses of those that have slots; of a server that is no cluster itself.
func (c *Redis) nodes(ctx context.Context) (nodes []string, err error) {
	var tried []error
	for _, address := range c.Addr {
		err := c.connected(ctx, address, func(r *resp) error {
			answer, err := r.one("CLUSTER", "NODES")
			if refused := respError(""); errors.As(err, &refused) &&
				strings.Contains(string(refused), "cluster support disabled") {
				nodes, c.sampled = []string{address}, true
				return nil
			}
			text, _ := answer.(string)
			if nodes = masters(text, address); err == nil && len(nodes) == 0 {
				err = errors.New("no node has slots")
			}
			return err
		})
		if err == nil {
			return nodes, nil
		}
		tried = append(tried, err)
	}
	return nil, errors.Join(tried...)
}

// masters reads an answer to CLUSTER NODES: lines of an id, host:port@…, marks, five more fields, and
// then slots.
func masters(text, asked string) (addresses []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) <= 8 || !slices.Contains(strings.Split(fields[2], ","), "master") {
			continue
		}
		address, _, _ := strings.Cut(fields[1], "@")
		colon := max(0, strings.LastIndex(address, ":"))
		host, port := address[:colon], strings.TrimPrefix(address[colon:], ":")
		if host == "" { // the one that was asked knows no name of its own
			host, _, _ = net.SplitHostPort(asked)
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	slices.Sort(addresses)
	return addresses
}

// ask adds what a node knows of its slots.
func (c *Redis) ask(r *resp, node string, l *look) error {
	if c.sampled {
		return c.takeSample(r, node, l)
	}
	answer, err := r.one("CLUSTER", "SLOT-STATS", "SLOTSRANGE", "0", strconv.Itoa(slots-1))
	if refused := respError(""); errors.As(err, &refused) && c.cost == nil &&
		strings.Contains(strings.ToLower(string(refused)), "unknown subcommand") {
		c.sampled = true
		return c.takeSample(r, node, l)
	}
	if err != nil {
		return err
	}
	rows, _ := answer.([]any)
	for _, row := range rows {
		cells, _ := row.([]any)
		if len(cells) < 2 {
			return errRESP
		}
		slot, _ := cells[0].(int64)
		stats := pairs(cells[1])
		if c.cost == nil {
			c.choose(stats)
		}
		s := sample{state: stats[c.state], instance: node}
		for _, name := range c.cost {
			part, told := stats[name]
			if !told {
				return fmt.Errorf("it does not report %s of its slots, as other nodes do: set cluster-slot-stats-enabled", name)
			}
			s.cost += part
		}
		if s.cost > 0 || s.state > 0 {
			l.keys[strconv.FormatInt(slot, 10)] = s
		}
	}
	if c.cost == nil {
		return errors.New("CLUSTER SLOT-STATS reports nothing")
	}
	l.counters = c.cost[0] != keyCount
	l.assumed = fmt.Sprintf("statistics of all slots by CLUSTER SLOT-STATS: a slot costs its %s, and its state is its %s",
		strings.Join(c.cost, " + "), c.state)
	return nil
}

// Statistics of slots.
const (
	cpuTime  = "cpu-usec"
	keyCount = "key-count"
	memory   = "memory-bytes"
	bytesIn  = "network-bytes-in"
	bytesOut = "network-bytes-out"
)

// choose decides what cost and state of slots are, by what a node tells.
func (c *Redis) choose(stats map[string]float64) {
	has := func(name string) bool { _, told := stats[name]; return told }
	switch {
	case has(cpuTime):
		c.cost = []string{cpuTime}
	case has(bytesIn) && has(bytesOut):
		c.cost = []string{bytesIn, bytesOut}
	default:
		c.cost = []string{keyCount}
	}
	if c.state = keyCount; has(memory) {
		c.state = memory
	}
}
