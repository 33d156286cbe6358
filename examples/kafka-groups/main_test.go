package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/examples/internal/broker"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/kafka"
	"plannerd/sdk/go/wire"
)

// How much TestKills does: the whole is go test -run Kills -messages 1000000 -kills 20 -timeout 60m.
var (
	messages = flag.Int("messages", 20_000, "how many messages are copied while processes are killed")
	kills    = flag.Int("kills", 5, "how many processes are killed")
	away     = flag.Duration("away", 3*time.Second, "for how long plannerd is away, when it is killed")
	seed     = flag.Uint64("seed", 1, "of the pauses before a process is killed")
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == memberCommand {
		if err := runMember(context.Background(), os.Args[2], os.Args[3], os.Args[4]); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// served starts a broker, with more properties and classes, and plannerd.
func served(t *testing.T, properties string, classes ...string) *service {
	t.Helper()
	need(t)
	s, err := serve(t.Context(), t.TempDir(), properties, classes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// need skips a test where the broker cannot be had.
func need(t *testing.T) {
	t.Helper()
	for _, program := range broker.Programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(broker.ErrMissing)
		}
	}
}

// eventually waits until something holds.
func (s *service) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for begin := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			groups, _ := s.admin.DescribeGroups(t.Context())
			t.Fatalf("never: %s\n%s\n%+v", what, s.said(), groups)
		}
	}
}

// said is what controllers have said.
func (s *service) said() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "controller.log"))
	return string(text)
}

func small() config {
	c := defaults()
	c.partitions, c.members, c.keys, c.load, c.drift, c.every = 16, 3, 1000, 0.3, 0, time.Second
	return c
}

// asTable tells whether the members have what the routing table says, of all partitions.
func (s *service) asTable(ctx context.Context, group string, partitions int) bool {
	table, err := s.api.GetRoutingTable(ctx, group, client.GetRoutingTableOptions{})
	if err != nil || len(table.Entries) != partitions || table.Pending != nil {
		return false
	}
	names, owners := map[int32]string{}, s.owners(ctx, group)
	for _, x := range *table.Instances {
		names[x.Id] = x.Name
	}
	return !slices.ContainsFunc(table.Entries, func(e wire.RoutingTableEntry) bool {
		return owners[strings.Replace(e.Key, "0_", group+"/", 1)] != names[e.Instance] // or tasks of Kafka Streams
	})
}

// owners are the members that have partitions, as the broker tells.
func (s *service) owners(ctx context.Context, group string) map[string]string {
	owners := map[string]string{}
	note := func(instance *string, client string, has kadm.TopicsSet) {
		name, _, _ := strings.Cut(client, "-StreamThread-")
		if instance != nil {
			name = *instance
		}
		for _, topic := range has.Sorted() {
			for _, p := range topic.Partitions {
				owners[fmt.Sprint(topic.Topic, "/", p)] = name
			}
		}
	}
	newer, _ := s.admin.DescribeConsumerGroups(ctx, group)
	for _, m := range newer[group].Members {
		note(m.InstanceID, m.ClientID, m.Assignment)
	}
	older, _ := s.admin.DescribeGroups(ctx, group)
	for _, m := range older[group].Members {
		if of, is := m.Assigned.AsConsumer(); is {
			has := kadm.TopicsSet{}
			for _, t := range of.Topics {
				has.Add(t.Topic, t.Partitions...)
			}
			note(m.InstanceID, m.ClientID, has)
		}
	}
	return owners
}

// TestGroup follows a group through its life.
func TestGroup(t *testing.T) {
	s, ctx := served(t, ""), t.Context()
	r, err := begin(ctx, s, small(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer r.end()
	first, err := s.control(ctx, "orders", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(first, syscall.SIGTERM) }()
	instances := func() (names []string) {
		if o, err := s.api.GetOperator(ctx, "orders", client.GetOperatorOptions{}); err == nil {
			for _, x := range o.Instances {
				names = append(names, x.Name)
			}
		}
		return names
	}
	s.eventually(t, "the members have what the table says", func() bool { return s.asTable(ctx, "orders", 16) })
	if got := instances(); !slices.Equal(got, []string{"member-0", "member-1", "member-2"}) {
		t.Errorf("instances %v", got)
	}

	// A controller that begins later leads, and the one before takes over when it is gone.
	second, err := s.control(ctx, "orders", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "one controller stands by", func() bool { return strings.Contains(s.said(), "this one stands by") })
	end(second, syscall.SIGKILL)
	s.eventually(t, "it takes over", func() bool { return strings.Contains(s.said(), "this one leads") })

	// The topic gets more partitions.
	if _, err := s.admin.UpdatePartitions(ctx, 20, "orders"); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "they have what it says of the new ones too", func() bool { return s.asTable(ctx, "orders", 20) })

	// A member leaves for good, and what it had goes to others, first by Kafka, then by a plan.
	if _, err := s.admin.LeaveGroup(ctx, kadm.LeaveGroup("orders").InstanceIDs("member-2")); err != nil {
		t.Fatal(err)
	}
	r.clients[2].Close()
	s.eventually(t, "the instances are those that are there", func() bool {
		return slices.Equal(instances(), []string{"member-0", "member-1"})
	})
	s.eventually(t, "the members have what the table says", func() bool { return s.asTable(ctx, "orders", 20) })

	// The group goes on while plannerd is away, and the controller once it is back.
	end(s.plannerd, syscall.SIGKILL)
	before := r.done()
	s.eventually(t, "the group goes on", func() bool { return r.done() > before+200 })
	if err := s.servePlannerd(ctx); err != nil {
		t.Fatal(err)
	}
	o, err := s.api.GetOperator(ctx, "orders", client.GetOperatorOptions{})
	if err != nil || o.LastInterval == nil {
		t.Fatal(err)
	}
	s.eventually(t, "intervals go on", func() bool {
		now, err := s.api.GetOperator(ctx, "orders", client.GetOperatorOptions{})
		return err == nil && *now.LastInterval > *o.LastInterval
	})
}

// tables answers for a routing table of two members, as a test sets it: the first has the partitions below it.
type tables struct{ first atomic.Int64 }

func (t *tables) GetRoutingTable(
	ctx context.Context, topic string, with client.GetRoutingTableOptions, _ ...client.Option,
) (*wire.RoutingTable, error) {
	first := t.first.Load()
	if with.Since != nil && first == *with.Since {
		return nil, cmp.Or(pause(ctx, 100*time.Millisecond), client.ErrNotModified)
	}
	table := &wire.RoutingTable{Operator: topic, Version: first, Scheme: wire.SchemeTable,
		Hash:      &wire.Hash{Function: new(wire.HashFunctionReported)},
		Instances: &[]wire.Instance{{Name: "first"}, {Id: 1, Name: "second"}}}
	for p := range int64(4) {
		entry := wire.RoutingTableEntry{Key: fmt.Sprint(topic, "/", p)}
		if p >= first {
			entry.Instance = 1
		}
		table.Entries = append(table.Entries, entry)
	}
	return table, nil
}

// TestDeathBetweenRounds: a member ends after the rebalance in which it gives a partition away, and before the one
// in which another gets that. The broker lets its next process in without a rebalance.
func TestDeathBetweenRounds(t *testing.T) {
	s, ctx := served(t, ""), t.Context()
	const topic = "rounds"
	if _, err := s.admin.CreateTopic(ctx, 4, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	table := &tables{}
	table.first.Store(2)
	join := func(name string, revoked func(context.Context, *kgo.Client, map[string][]int32)) {
		b, err := kafka.New(kafka.Config{Source: table, Operator: topic})
		if err != nil {
			t.Fatal(err)
		}
		member, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic),
			kgo.InstanceID(name), kgo.Balancers(b), kgo.HeartbeatInterval(500*time.Millisecond), kgo.DisableAutoCommit(),
			kgo.OnPartitionsRevoked(revoked))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(member.Close)
		go func() { _ = b.Run(ctx, member) }()
	}
	count := func(first, second int) func() bool {
		return func() bool {
			has := map[string]int{}
			for _, name := range s.owners(ctx, topic) {
				has[name]++
			}
			return has["first"] == first && has["second"] == second
		}
	}
	join("first", nil)
	s.eventually(t, "the leader is there", count(4, 0))
	var gives atomic.Bool
	ends := make(chan struct{})
	defer close(ends)
	join("second", func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
		if len(lost) > 0 {
			gives.Store(true)
			<-ends // as one that is killed, it does not join again
		}
	})
	s.eventually(t, "both have what the table says", count(2, 2))
	table.first.Store(3)
	s.eventually(t, "the second gives one away", gives.Load)
	join("second", nil)
	s.eventually(t, "both have what the new table says", count(3, 1))
}

// TestDryRun: a group without an assignor of plannerd is only told what would be done, or acted on in
// vain.
func TestDryRun(t *testing.T) {
	s, ctx := served(t, ""), t.Context()
	c := small()
	c.policy = "range"
	r, err := begin(ctx, s, c, "payments")
	if err != nil {
		t.Fatal(err)
	}
	defer r.end()
	controller, err := s.control(ctx, "payments", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(controller, syscall.SIGTERM) }()
	for _, want := range []string{"3 members with 16 partitions by the assignor range", "nothing is done",
		"The busiest of 3 members, member-", "plannerd would move", "payments/"} {
		s.eventually(t, want, func() bool { return strings.Contains(s.said(), want) })
	}
	if _, err := s.api.GetOperator(ctx, "payments", client.GetOperatorOptions{}); !errors.Is(err,
		wire.CodeOperatorNotFound) {
		t.Errorf("an operator was made: %v", err)
	}
	act, err := s.control(ctx, "payments", time.Second, "--act", "--give-up", "4s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(act, syscall.SIGTERM) }()
	s.eventually(t, "a plan is given up that the group does not put into effect", func() bool {
		return strings.Contains(s.said(), "the group is not as planned after 4s")
	})
}

// TestKills: while processes are killed, no message is lost or doubled.
func TestKills(t *testing.T) {
	s := served(t, "")
	begin := time.Now()
	of := faults{service: s, messages: *messages, kills: *kills, partitions: 16, members: 4, away: *away,
		seed: *seed}
	err := of.run(t.Context())
	t.Logf("%d messages, %d kills, %v", *messages, *kills, time.Since(begin).Round(time.Second))
	if err != nil {
		t.Errorf("%v\n%s", err, s.said())
	}
	if said := s.said(); !strings.Contains(said, "is started") {
		t.Errorf("no plan was carried out:\n%s", said)
	}
}
