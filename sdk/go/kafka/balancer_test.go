package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/kafka"
	"plannerd/sdk/go/wire"
)

// server answers for a routing table, as a test sets it. Without one it is away.
type server struct {
	table atomic.Pointer[wire.RoutingTable]
}

var errAway = errors.New("connection refused")

func (s *server) GetRoutingTable(
	ctx context.Context, _ string, with client.GetRoutingTableOptions, _ ...client.Option,
) (*wire.RoutingTable, error) {
	for range int(with.Wait/time.Millisecond) + 1 {
		if t := s.table.Load(); t == nil {
			return nil, errAway
		} else if with.Since == nil || t.Version != *with.Since || t.Pending != nil {
			time.Sleep(time.Millisecond)
			return t, ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
	return nil, client.ErrNotModified
}

// tableOf has members by name, and entries as key=name.
func tableOf(version int64, names []string, entries ...string) *wire.RoutingTable {
	t := &wire.RoutingTable{Operator: "billing", Version: version, Scheme: wire.SchemeTable, Instances: &[]wire.Instance{},
		Hash: &wire.Hash{Function: new(wire.HashFunctionReported)}}
	for id, name := range names {
		*t.Instances = append(*t.Instances, wire.Instance{Id: int32(id), Name: name})
	}
	t.Entries = entriesOf(names, entries)
	return t
}

func entriesOf(names, entries []string) (list []wire.RoutingTableEntry) {
	for _, e := range entries {
		key, name, _ := strings.Cut(e, "=")
		list = append(list, wire.RoutingTableEntry{Key: key, Instance: int32(slices.Index(names, name))})
	}
	return list
}

// crowd is a group whose members rebalance until nobody has to revoke anything.
type crowd struct {
	*testing.T
	balancer   *kafka.Balancer
	members    map[string][]int32 // what they have, by group.instance.id
	partitions int32
	rounds     int
	most       int // rounds; 0: any
}

func (c *crowd) rebalance() map[string][]int32 {
	c.Helper()
	for again := true; again && (c.most == 0 || c.rounds < c.most); c.rounds++ {
		var joined []kmsg.JoinGroupResponseMember
		for _, name := range slices.Sorted(maps.Keys(c.members)) {
			m := kmsg.JoinGroupResponseMember{MemberID: name + "-id", InstanceID: &name}
			has := map[string][]int32{}
			if c.members[name] != nil {
				has["orders"] = c.members[name]
			}
			m.ProtocolMetadata = kgo.CooperativeStickyBalancer().JoinGroupMetadata([]string{"orders"}, has, 1)
			joined = append(joined, m)
		}
		b, topics, err := c.balancer.MemberBalancer(joined)
		if err != nil || len(topics) != 1 {
			c.Fatal(topics, err)
		}
		plan, err := b.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"orders": c.partitions})
		if err != nil {
			c.Fatal(err)
		}
		again = false
		owner := map[int32]string{}
		for _, a := range plan.IntoSyncAssignment() {
			got, err := c.balancer.ParseSyncAssignment(a.MemberAssignment)
			if err != nil {
				c.Fatal(err)
			}
			name := strings.TrimSuffix(a.MemberID, "-id")
			for _, p := range got["orders"] {
				for other, has := range c.members {
					if other != name && slices.Contains(has, p) {
						c.Errorf("%s gets %d, which %s has", name, p, other)
					}
				}
				if owner[p] != "" {
					c.Errorf("%s and %s get %d", name, owner[p], p)
				}
				owner[p] = name
			}
		}
		for name, has := range c.members {
			var now []int32
			for p := range c.partitions {
				if owner[p] == name {
					now = append(now, p)
				}
			}
			again = again || slices.ContainsFunc(has, func(p int32) bool { return !slices.Contains(now, p) })
			c.members[name] = now
		}
	}
	return c.members
}

// forced counts the rebalances that are asked for.
type forced struct{ atomic.Int32 }

func (f *forced) ForceRebalance() { f.Add(1) }

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 20_000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("never: " + what)
}

func begin(t *testing.T, s *server, members ...string) (*crowd, *forced) {
	t.Helper()
	b, err := kafka.New(kafka.Config{Source: s, Operator: "billing", Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{T: t, balancer: b, members: map[string][]int32{}, partitions: 6}
	for _, name := range members {
		c.members[name] = nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, ended := &forced{}, make(chan error, 1)
	go func() { ended <- b.Run(ctx, asked) }()
	t.Cleanup(func() { cancel(); <-ended })
	return c, asked
}

func (c *crowd) want(has map[string][]int32) {
	c.Helper()
	if got := c.rebalance(); !maps.EqualFunc(got, has, slices.Equal) {
		c.Errorf("%v, not %v", got, has)
	}
}

// TestAway takes plannerd away before the group begins, while a plan is carried out, and after it.
func TestAway(t *testing.T) {
	s, names := &server{}, []string{"a", "b"}
	c, asked := begin(t, s, names...)
	c.want(map[string][]int32{"a": {0, 2, 4}, "b": {1, 3, 5}}) // by number

	first := tableOf(1, names, "orders/0=a", "orders/1=b", "orders/2=b", "orders/3=b", "orders/4=b", "orders/5=b")
	s.table.Store(first)
	eventually(t, "the leader asks for a rebalance", func() bool { return asked.Load() == 1 })
	c.want(map[string][]int32{"a": {0}, "b": {1, 2, 3, 4, 5}})

	started := *first
	started.Pending = &wire.PendingTable{Plan: "p", Version: 2, Batch: 1, Phase: wire.PendingTablePhaseHandingOver,
		Instances: *first.Instances, Hash: first.Hash, Set: new(entriesOf(names, []string{"orders/1=a"}))}
	s.table.Store(&started)
	eventually(t, "a plan is started", func() bool { return asked.Load() == 2 })
	s.table.Store(nil)
	c.want(map[string][]int32{"a": {0, 1}, "b": {2, 3, 4, 5}})
	c.members["c"] = nil // it works before plannerd is back
	c.want(map[string][]int32{"a": {0, 1}, "b": {2, 3}, "c": {4, 5}})
	delete(c.members, "b") // and what it had is not left lying
	if got := c.rebalance(); len(got["a"])+len(got["c"]) != 6 || len(got["a"]) != 3 {
		t.Errorf("%v", got)
	}

	aborted := *first
	aborted.Pending = new(*started.Pending)
	aborted.Pending.Phase = wire.PendingTablePhaseAborting
	s.table.Store(&aborted)
	c.members = map[string][]int32{"a": {0, 1}, "b": {2, 3, 4, 5}}
	eventually(t, "a plan that is given up is taken back", func() bool {
		got := c.rebalance()
		return slices.Equal(got["a"], []int32{0}) && slices.Equal(got["b"], []int32{1, 2, 3, 4, 5})
	})
}

// TestNonsense: no table makes a rebalance fail.
func TestNonsense(t *testing.T) {
	scheme := tableOf(1, []string{"a"})
	scheme.Scheme = wire.SchemePkg
	parts := tableOf(1, []string{"a", "b"}, "orders/0=a")
	parts.Entries[0].Parts = &wire.Parts{{Instance: 0, Weight: 30000}, {Instance: 1, Weight: 35536}}
	for name, table := range map[string]*wire.RoutingTable{
		"another scheme":   scheme,
		"no hash":          {Operator: "billing", Version: 1, Scheme: wire.SchemeTable},
		"other names":      tableOf(1, []string{"x", "y"}, "orders/0=x", "orders/1=x", "orders/2=y"),
		"other topics":     tableOf(1, []string{"a", "b"}, "payments/0=a", "orders=a", "/=b"),
		"split partitions": parts,
		"unknown instance": tableOf(1, []string{"a", "b"}, "orders/0=nobody"),
		"nothing":          tableOf(0, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			s.table.Store(table)
			c, _ := begin(t, s, "a", "b")
			c.want(map[string][]int32{"a": {0, 2, 4}, "b": {1, 3, 5}})
		})
	}
}

// TestSkipped: a broker keeps the assignment of a leader that starts again. It asks for another one, as it
// does not know it.
func TestSkipped(t *testing.T) {
	c, asked := begin(t, &server{}, "a")
	if _, _, err := c.balancer.MemberBalancer(nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the leader asks for a rebalance", func() bool { return asked.Load() > 0 })
}

// TestOwing: a member gives partitions away, and no rebalance comes in which others get them. The leader asks for
// it, and no more once all have theirs.
func TestOwing(t *testing.T) {
	c, asked := begin(t, &server{}, "a", "b")
	c.members["a"], c.most = []int32{0, 1, 2, 3, 4, 5}, 1
	c.want(map[string][]int32{"a": {0, 1, 2}, "b": nil})
	eventually(t, "the leader asks for a rebalance", func() bool { return asked.Load() == 1 })
	c.most = 0
	c.want(map[string][]int32{"a": {0, 1, 2}, "b": {3, 4, 5}})
	time.Sleep(7 * time.Second)
	if asked.Load() != 1 {
		t.Error("it asks again")
	}
}

func TestName(t *testing.T) {
	const uuid = "-12345678-1234-1234-1234-123456789abc"
	members := []string{"kgo" + uuid, "kgo-00000000-0000-0000-0000-000000000000", "own" + uuid, "odd", uuid, "7" + uuid}
	for want, at := range map[string]int{members[0]: 0, "own": 2, "odd": 3, uuid: 4, "#7": 5} {
		if got := kafka.Name(nil, members[at], members); got != want {
			t.Errorf("%s is called %s", members[at], got)
		}
	}
	if got := kafka.Name(new("static"), members[0], members); got != "static" {
		t.Error(fmt.Sprint("with an instance id: ", got))
	}
}
