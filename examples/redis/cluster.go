package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"plannerd/examples/internal/trial"
)

// slots is how many slots a Redis Cluster has.
const slots = 16384

// node is a redis-server that runs.
type node struct {
	*redis.Client
	instance int32  // its number in plannerd
	id       string // its name in the cluster
	address  string
	process  *exec.Cmd
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// cluster is a Redis Cluster on loopback that keeps nothing on disk but its configuration.
type cluster struct {
	nodes []*node
	batch int // keys that one MIGRATE moves
}

// startCluster starts so many masters, each with an equal range of the slots.
func startCluster(ctx context.Context, c config) (*cluster, error) {
	out := &cluster{batch: c.batch}
	for i := range c.nodes {
		n, err := startNode(ctx, filepath.Join(c.dir, "node-"+strconv.Itoa(i)))
		if err != nil {
			out.stop()
			return nil, err
		}
		n.instance = int32(i)
		out.nodes = append(out.nodes, n)
	}
	if err := out.form(ctx); err != nil {
		out.stop()
		return nil, err
	}
	return out, nil
}

// home is the instance that has a slot at first.
func home(slot, nodes int) int32 { return int32(slot * nodes / slots) }

// startNode starts a server on two free ports. Another program may take one of them before
// the server does; then there are others.
func startNode(ctx context.Context, dir string) (n *node, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for range 5 {
		if n, err = tryNode(ctx, dir); err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	return nil, err
}

func tryNode(ctx context.Context, dir string) (*node, error) {
	free, err := trial.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, "redis-server", "--bind", "127.0.0.1", "--port", portOf(free[0]),
		"--cluster-port", portOf(free[1]), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
		"--dir", dir, "--save", "", "--appendonly", "no", "--loglevel", "warning")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("redis-server, of Debian's package of this name: %w", err)
	}
	n := &node{address: free[0], process: cmd, Client: redis.NewClient(options(free[0]))}
	err = trial.Patiently(ctx, 10*time.Second, func() error {
		// What answers may be another program's.
		var pid int
		info, err := n.InfoMap(ctx, "server").Result()
		if err == nil {
			pid, err = strconv.Atoi(info["Server"]["process_id"])
		}
		if err == nil && pid != cmd.Process.Pid {
			err = errors.New("another server has the port")
		}
		return err
	})
	if err == nil {
		n.id, err = n.Do(ctx, "cluster", "myid").Text()
	}
	if err != nil {
		n.stop()
		text, _ := os.ReadFile(said.Name())
		return nil, fmt.Errorf("redis-server: %w\n%s", err, text)
	}
	return n, nil
}

// options are those of a connection to one node. Commands are not given up while a node is
// busy: a write that is sent again could come after a later one.
func options(address string) *redis.Options {
	return &redis.Options{Addr: address, ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxRetries: -1}
}

func (n *node) stop() {
	_ = n.Close()
	_ = n.process.Process.Kill()
	_ = n.process.Wait()
}

func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.stop()
	}
}

// form makes a cluster of the nodes: each gets a range of the slots and an epoch of its own,
// and meets the first.
func (c *cluster) form(ctx context.Context) error {
	first := c.nodes[0]
	for i, n := range c.nodes {
		low := 0
		for home(low, len(c.nodes)) != int32(i) {
			low++
		}
		high := low
		for high+1 < slots && home(high+1, len(c.nodes)) == int32(i) {
			high++
		}
		for _, command := range [][]any{
			{"cluster", "addslotsrange", low, high}, {"cluster", "set-config-epoch", i + 1},
		} {
			if err := n.Do(ctx, command...).Err(); err != nil {
				return err
			}
		}
		bus, err := n.ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			return err
		}
		met := first.Do(ctx, "cluster", "meet", "127.0.0.1", portOf(n.address), bus["cluster-port"])
		if n != first && met.Err() != nil {
			return met.Err()
		}
	}
	return trial.Patiently(ctx, 30*time.Second, func() error { return c.agreed(ctx) })
}

// agreed says whether all nodes know each other and the place of each slot.
func (c *cluster) agreed(ctx context.Context) error {
	for _, n := range c.nodes {
		info, err := n.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		for _, want := range []string{"cluster_state:ok", fmt.Sprintf("cluster_known_nodes:%d", len(c.nodes)),
			fmt.Sprintf("cluster_size:%d", len(c.nodes))} {
			if !strings.Contains(info, want) {
				return fmt.Errorf("node %d has no %s yet", n.instance, want)
			}
		}
	}
	return nil
}

// places are where slots are.
type places struct {
	owner []*node
	// open are the slots whose move is not over, and where they go: at least one node still
	// has a mark of it.
	open map[int]*node
}

// look asks every node which slots it has, and which it is giving or getting. Where two
// claim a slot, the one of the higher epoch has it, as the nodes themselves will agree.
func (c *cluster) look(ctx context.Context) (*places, error) {
	out, epochs := &places{make([]*node, slots), map[int]*node{}}, make([]int, slots)
	byID := map[string]*node{}
	for _, n := range c.nodes {
		byID[n.id] = n
	}
	for _, n := range c.nodes {
		text, err := n.ClusterNodes(ctx).Result()
		if err != nil {
			return nil, err
		}
		own, err := parseMyself(text)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", n.instance, err)
		}
		for _, slot := range own.slots {
			if out.owner[slot] == nil || epochs[slot] < own.epoch {
				out.owner[slot], epochs[slot] = n, own.epoch
			}
		}
		for slot, to := range own.migrating {
			out.open[slot] = byID[to]
		}
		for slot := range own.importing {
			out.open[slot] = n
		}
	}
	if at := slices.Index(out.owner, nil); at >= 0 {
		return nil, fmt.Errorf("nobody has slot %d", at)
	}
	return out, nil
}

// myself is what a node says of itself in CLUSTER NODES.
type myself struct {
	epoch                int
	slots                []int
	migrating, importing map[int]string // the other node of each slot
}

// parseMyself reads the line that a node has of itself: eight fields, then ranges of slots,
// and marks such as [93->-id] and [77-<-id].
func parseMyself(text string) (out myself, err error) {
	out.migrating, out.importing = map[int]string{}, map[int]string{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !slices.Contains(strings.Split(fields[2], ","), "myself") {
			continue
		}
		if out.epoch, err = strconv.Atoi(fields[6]); err != nil {
			return out, err
		}
		for _, f := range fields[8:] {
			if err := out.add(f); err != nil {
				return out, fmt.Errorf("%q: %w", f, err)
			}
		}
		return out, nil
	}
	return out, errors.New("CLUSTER NODES has no line of the node itself")
}

func (m *myself) add(field string) error {
	for sign, marks := range map[string]map[int]string{"->-": m.migrating, "-<-": m.importing} {
		if slot, id, found := strings.Cut(strings.Trim(field, "[]"), sign); found {
			at, err := strconv.Atoi(slot)
			marks[at] = id
			return err
		}
	}
	low, high, isRange := strings.Cut(field, "-")
	from, err := strconv.Atoi(low)
	to := from
	if err == nil && isRange {
		to, err = strconv.Atoi(high)
	}
	for slot := from; err == nil && slot <= to; slot++ {
		m.slots = append(m.slots, slot)
	}
	return err
}

// migrateTimeout is for how long a node waits for another one while it moves keys.
const migrateTimeout = 10 * time.Second

// move moves a slot to a node, while clients use it, and returns how many keys went. Each
// step may be repeated: a move that was broken off anywhere is finished by another. At is
// told of each step before it is made.
func (c *cluster) move(ctx context.Context, slot int, from, to *node, at func(step string) error) (
	keys int, err error,
) {
	if from != to {
		if keys, err = c.empty(ctx, slot, from, to, at); err != nil {
			return keys, fmt.Errorf("slot %d from node %d to %d: %w", slot, from.instance, to.instance, err)
		}
	}
	// The receiver learns first that the slot is its own, and the giver next: else there would
	// be a moment in which each of the two sends clients to the other. From others clients find
	// it by way of the giver until they know.
	others := slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n == to || n == from })
	for _, some := range [][]*node{{to}, {from}, others} {
		if err := at("node"); err != nil {
			return keys, err
		}
		if err := told(ctx, slot, to, some); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// told tells nodes where a slot is, all at the same time.
func told(ctx context.Context, slot int, owner *node, nodes []*node) error {
	var all sync.WaitGroup
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		all.Go(func() {
			if err := n.Do(ctx, "cluster", "setslot", slot, "node", owner.id).Err(); err != nil {
				errs[i] = fmt.Errorf("telling node %d that node %d has slot %d: %w", n.instance, owner.instance, slot, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// empty moves all keys of a slot in batches.
//
// REPLACE is right because a node that gives a slot away answers for the keys that it still
// has: what the other one has of such a key is a copy that a broken MIGRATE left.
func (c *cluster) empty(ctx context.Context, slot int, from, to *node, at func(string) error) (keys int, err error) {
	if err := at("importing"); err != nil {
		return 0, err
	}
	if err := to.Do(ctx, "cluster", "setslot", slot, "importing", from.id).Err(); err != nil {
		return 0, err
	}
	if err := at("migrating"); err != nil {
		return 0, err
	}
	next := []any{"cluster", "setslot", slot, "migrating", to.id}
	for {
		var left *redis.StringSliceCmd
		if _, err := from.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Do(ctx, next...)
			left = p.ClusterGetKeysInSlot(ctx, slot, c.batch)
			return nil
		}); err != nil || len(left.Val()) == 0 {
			return keys, err
		}
		if err := at("migrate"); err != nil {
			return keys, err
		}
		next = []any{"migrate", "127.0.0.1", portOf(to.address), "", 0, migrateTimeout.Milliseconds(), "replace", "keys"}
		for _, key := range left.Val() {
			next = append(next, key)
		}
		keys += len(left.Val())
	}
}

// sampled is how many keys of a slot are asked for their size, and rounds in how many turns
// all slots are asked.
const (
	sampled = 3
	rounds  = 8
)

// content is what slots hold: their keys, and about how many bytes these take.
type content struct {
	keys  [slots]int
	bytes [slots]float64
	round int
}

// measure brings up to date what is known of some slots, of all in the first round: the
// number of keys, and their size by a sample.
func (c *cluster) measure(ctx context.Context, at *places, known *content) error {
	of := map[*node][]int{}
	for slot, n := range at.owner {
		if known.round == 0 || slot%rounds == known.round%rounds {
			of[n] = append(of[n], slot)
		}
	}
	known.round++
	for n, list := range of {
		for some := range slices.Chunk(list, 512) {
			if err := measureSome(ctx, n, some, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureSome(ctx context.Context, n *node, list []int, known *content) error {
	counts, names := map[int]*redis.IntCmd{}, map[int]*redis.StringSliceCmd{}
	if _, err := n.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, slot := range list {
			counts[slot], names[slot] = p.ClusterCountKeysInSlot(ctx, slot), p.ClusterGetKeysInSlot(ctx, slot, sampled)
		}
		return nil
	}); err != nil {
		return err
	}
	sizes := map[int][]*redis.IntCmd{}
	if _, err := n.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, slot := range list {
			for _, key := range names[slot].Val() {
				sizes[slot] = append(sizes[slot], p.MemoryUsage(ctx, key))
			}
		}
		return nil
	}); err != nil && !gone(err) {
		return err
	}
	for _, slot := range list {
		known.keys[slot], known.bytes[slot] = int(counts[slot].Val()), 0
		for _, size := range sizes[slot] {
			known.bytes[slot] += float64(size.Val()) * float64(known.keys[slot]) / float64(len(sizes[slot]))
		}
	}
	return nil
}

// gone says that a key is not at a node, or not any more.
func gone(err error) bool {
	text := err.Error()
	return errors.Is(err, redis.Nil) || strings.HasPrefix(text, "MOVED ") || strings.HasPrefix(text, "ASK ")
}

// works asks all nodes how many commands of clients they have made since they were started.
func (c *cluster) works(ctx context.Context) ([]float64, error) {
	out := make([]float64, len(c.nodes))
	for i, n := range c.nodes {
		text, err := n.Info(ctx, "commandstats").Result()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name == "cmdstat_get" || name == "cmdstat_set" {
				out[i] += calls(value)
			}
		}
	}
	return out, nil
}

// calls reads the number of calls in a line such as "calls=21175,usec=…".
func calls(value string) float64 {
	first, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

// balance is how much more than the mean the busiest node did between two looks: 1 where
// all did as much.
func balance(before, after []float64) float64 {
	most, all := 0.0, sum(before, after)
	for i := range after {
		most = max(most, after[i]-before[i])
	}
	if all == 0 {
		return 1
	}
	return most * float64(len(after)) / all
}

// openSlots are the slots whose move is not over, ascending.
func (p *places) openSlots() []int { return slices.Sorted(maps.Keys(p.open)) }

// sum is how many commands of clients all nodes did between two looks.
func sum(before, after []float64) (n float64) {
	for i := range after {
		n += after[i] - before[i]
	}
	return n
}
