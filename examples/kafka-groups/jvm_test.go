package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// assignorOfBroker has a broker use the one of the Java SDK.
const assignorOfBroker = `group.consumer.assignors=uniform,plannerd.kafka.PlannerdGroupAssignor
plannerd.url=PLANNERD
plannerd.operators=newer
group.consumer.heartbeat.interval.ms=1000
group.consumer.min.heartbeat.interval.ms=1000
`

// javaSDK compiles the assignors, and returns the class path of what uses them.
func javaSDK(t *testing.T) string {
	t.Helper()
	need(t)
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("the assignors need a JDK: the program javac must be in PATH")
	}
	classes, err := classPath(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return classes
}

// working starts members on the JVM, sends so many keys to each partition, then messages by weights, and waits
// until all members have something.
func (s *service) working(t *testing.T, classes, kind string, members int, weights []float64, keys []int) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.admin.CreateTopic(ctx, int32(len(weights)), 1, nil, kind); err != nil {
		t.Fatal(err)
	}
	cmd, err := s.work(ctx, nil, classes, kind, kind, members, assignors["plannerd"], 0)
	t.Cleanup(func() { end(cmd, syscall.SIGKILL) })
	if err != nil {
		t.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.DefaultProduceTopic(kind),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	load := source{Rand: rand.New(rand.NewPCG(1, 1))}
	for p, weight := range weights {
		load.add(strconv.Itoa(p), weight)
	}
	if err := s.fill(ctx, kind, keys); err != nil {
		t.Fatal(err)
	}
	go func() {
		for pause(ctx, 10*time.Millisecond) == nil {
			for range 20 {
				p, _ := strconv.Atoi(load.draw())
				producer.Produce(ctx, &kgo.Record{Partition: int32(p), Key: []byte{0}, Value: []byte{1}}, nil)
			}
		}
	}()
	s.eventually(t, "all partitions have members, and all members partitions", func() bool {
		names := map[string]bool{}
		for _, name := range s.owners(ctx, kind) {
			names[name] = true
		}
		return len(s.owners(ctx, kind)) == len(weights) && len(names) == members
	})
}

// skewed are weights by Zipf's law with exponent 1, in some order.
func skewed(n, order int) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1 / float64(1+i*order%n)
	}
	return weights
}

// level is how much more of the weights of partitions the busiest member has than its share.
func (s *service) level(t *testing.T, group string, members int, weights []float64) float64 {
	has, all, most := map[string]float64{}, 0.0, 0.0
	owners := s.owners(t.Context(), group)
	for p, weight := range weights {
		name := owners[fmt.Sprint(group, "/", p)]
		has[name] += weight
		all, most = all+weight, max(most, has[name])
	}
	return most / all * float64(members)
}

// TestStreams: 48 tasks that differ in load and in the size of their stores, each in another way, get to
// processes so that load is even, and no process has more stores than it has room for.
func TestStreams(t *testing.T) {
	classes := javaSDK(t)
	s, ctx := served(t, ""), t.Context()
	const group, tasks, processes = "streams", 48, 4
	loads, stores, keys := skewed(tasks, 1), skewed(tasks, 29), make([]int, tasks)
	for p := range keys {
		keys[p] = int(5300 * stores[p])
	}
	s.working(t, classes, group, processes, loads, keys)
	t.Logf("by number: load %.2f, stores %.2f of the share", s.level(t, group, processes, loads),
		s.level(t, group, processes, stores))
	if err := s.configure(ctx, group, processes, 0.1, room(keys, processes, 1.15)); err != nil {
		t.Fatal(err)
	}
	controller, err := s.control(ctx, group, 2*time.Second, "--act", "--state", "stores")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(controller, syscall.SIGTERM) }()
	s.eventually(t, "load is even and stores have room", func() bool {
		return s.asTable(ctx, group, tasks) && s.level(t, group, processes, loads) < 1.15 &&
			s.level(t, group, processes, stores) < 1.2
	})
	table, err := s.api.GetRoutingTable(ctx, group, client.GetRoutingTableOptions{})
	if err != nil || !slices.ContainsFunc(table.Entries, func(e wire.RoutingTableEntry) bool { return e.Key == "0_47" }) {
		t.Errorf("the keys are no tasks: %v, %v", table, err)
	}
	t.Logf("by plannerd: load %.2f, stores %.2f", s.level(t, group, processes, loads),
		s.level(t, group, processes, stores))
}

// TestStreamsMeasured: what -compare measures of Kafka Streams is told by its processes.
func TestStreamsMeasured(t *testing.T) {
	classes := javaSDK(t)
	s, c := served(t, ""), small()
	s.classes, c.streams, c.policy, c.stored = classes, true, "sticky", 100
	c.warm, c.duration, c.flood = time.Second, 3*time.Second, 3*time.Second
	f, err := measure(t.Context(), s, c, "measured")
	if err != nil || f.throughput == 0 || f.lag < c.service || f.moved != 0 || f.state != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestAssignorOfBroker: a group of the newer protocol becomes as the controller's plans say.
func TestAssignorOfBroker(t *testing.T) {
	classes := javaSDK(t)
	s, ctx := served(t, assignorOfBroker, classes), t.Context()
	weights := skewed(16, 1)
	s.working(t, classes, "newer", 3, weights, nil)
	t.Logf("by number: %.2f", s.level(t, "newer", 3, weights))
	controller, err := s.control(ctx, "newer", 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(controller, syscall.SIGTERM) }()
	s.eventually(t, "load is even, and a plan has ended", func() bool {
		return strings.Contains(s.said(), "has ended") && s.asTable(ctx, "newer", 16) &&
			s.level(t, "newer", 3, weights) < 1.15
	})
	t.Logf("by plannerd: %.2f", s.level(t, "newer", 3, weights))
}
