package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// streamsPolicies are those of -compare with -streams: both assignors that Kafka Streams has, the first of which
// is its default.
var streamsPolicies = []string{"high-availability", "sticky", "plannerd", "ideal"}

// assignors are the classes that assign tasks; without one Kafka Streams chooses.
var assignors = map[string]string{
	"sticky":   "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor",
	"plannerd": "plannerd.kafka.PlannerdTaskAssignor",
}

// long is how long the keys are that stores are filled with, and counted is what one takes of a changelog.
const long, counted = 1000, 1020

// classPath compiles the Java SDK, and returns the class path of what uses it.
func classPath(ctx context.Context, dir string) (string, error) {
	if _, err := exec.LookPath("javac"); err != nil {
		return "", fmt.Errorf("the assignors need a JDK: %w", err)
	}
	list, sdk := filepath.Join(dir, "classes"), filepath.Join("..", "..", "sdk", "java")
	for _, args := range [][]string{{sdk, "install"}, {filepath.Join(sdk, "kafka"), "compile",
		"org.apache.maven.plugins:maven-dependency-plugin:3.11.0:build-classpath", "-Dmdep.outputFile=" + list}} {
		mvn := exec.CommandContext(ctx, "mvn", append([]string{"-B", "-ntp", "-q", "-DskipTests", "-f"}, args...)...)
		if said, err := mvn.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", mvn, err, said)
		}
	}
	others, err := os.ReadFile(list)
	return filepath.Join(sdk, "kafka", "target", "classes") + ":" + strings.TrimSpace(string(others)), err
}

// work starts members on the JVM, which tell what they do. Each message takes them some time.
func (s *service) work(
	ctx context.Context, output *os.File, classes, kind, group string, members int, assignor string, each time.Duration,
) (*exec.Cmd, error) {
	dir, err := os.MkdirTemp(s.dir, "state")
	if err != nil {
		return nil, err
	}
	return s.startTo(ctx, output, "controller.log", "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classes, "Work.java", kind, s.broker.Address,
		"http://"+s.address, group, strconv.Itoa(members), dir, assignor, strconv.FormatInt(each.Nanoseconds(), 10))
}

// streams starts the members as processes of an application that counts keys, and notes what they tell.
func (r *run) streams(ctx context.Context) error {
	tells, output, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd, err := r.work(ctx, output, r.classes, "streams", r.group, len(r.workers), assignors[r.policy], r.config.service)
	if err := output.Close(); err != nil {
		return err
	}
	r.running.Go(func() {
		<-ctx.Done()
		end(cmd, syscall.SIGKILL)
	})
	r.running.Go(func() {
		defer tells.Close()
		for lines := bufio.NewScanner(tells); lines.Scan(); {
			var what string
			var member, partition int
			var offset, sent int64
			if n, _ := fmt.Sscan(lines.Text(), &what, &member, &partition, &offset, &sent); n < 5 {
				continue
			}
			switch what {
			case "done":
				r.note(member, int32(partition), offset, sent)
			case "has", "lost":
				r.own(member, what == "has")(ctx, nil, map[string][]int32{r.group: {int32(partition)}})
			case "rebalanced":
				r.rebalanced.Add(1)
			}
		}
	})
	return err
}

// fill sends so many keys to each partition of a topic.
func (s *service) fill(ctx context.Context, topic string, keys []int) error {
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Address), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer producer.Close()
	for p, n := range keys {
		for key := range n {
			x := &kgo.Record{Partition: int32(p), Key: fmt.Appendf(nil, "%0*d", long, key), Value: []byte{1}}
			producer.Produce(ctx, x, nil)
		}
	}
	return producer.Flush(ctx)
}

// fillStores fills the stores of the tasks, and waits until they are.
func (r *run) fillStores(ctx context.Context) error {
	r.mu.Lock()
	for p, n := range r.stores {
		r.next[p] = int64(n)
	}
	r.mu.Unlock()
	err := r.fill(ctx, r.group, r.stores)
	for err == nil {
		var done int64
		var at kadm.OffsetResponses
		if at, err = r.admin.FetchOffsets(ctx, r.group); err == nil {
			at.Each(func(o kadm.OffsetResponse) { done += o.At })
		}
		if done >= int64(sum(r.stores)) {
			break
		}
		err = pause(ctx, 500*time.Millisecond)
	}
	return err
}

// sizes are how many keys the stores of tasks have: by Zipf's law, in any order.
func (c *config) sizes() []int {
	order := rand.New(rand.NewPCG(c.seed, 2)).Perm(c.partitions)
	sizes := make([]int, c.partitions)
	for i, p := range order {
		sizes[p] = c.stored / (i + 1)
	}
	return sizes
}

// room is how many bytes of stores a process has room for: some times its share.
func room(stores []int, members int, times float64) *float64 {
	return new(times * float64(sum(stores)*counted) / float64(members))
}

func sum(numbers []int) (all int) {
	for _, n := range numbers {
		all += n
	}
	return all
}
