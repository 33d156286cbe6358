package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"plannerd/examples/internal/broker"
	"plannerd/examples/internal/trial"
)

// guarded are properties of a broker that lets users in by passwords, who may do nothing at first;
// those without a name may do everything.
const guarded = `listeners=PLAINTEXT://{{.Broker}},CONTROLLER://{{.Controller}},SASL_PLAINTEXT://{{.Secured}}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
  org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="s3cret";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
group.initial.rebalance.delay.ms=0
`

// cluster is a broker, and the program that collects from it.
type cluster struct {
	*broker.Broker
	*kgo.Client
	admin   *kadm.Client
	program string
}

// TestCollect collects from a broker what plannerd collect kafka can.
func TestCollect(t *testing.T) {
	need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	program, err := trial.BuildPlannerd(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(ctx, t.TempDir(), guarded)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address), kgo.TransactionalID("t"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := &cluster{b, client, kadm.NewClient(client), program}
	for _, topic := range []string{"past", "live", "work", "workworker-3"} {
		if _, err := c.admin.CreateTopic(ctx, 2, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("past", func(t *testing.T) { c.past(ctx, t) })
	t.Run("live", func(t *testing.T) { c.live(ctx, t) })
	t.Run("group", func(t *testing.T) { c.group(ctx, t) })
	t.Run("refusals", func(t *testing.T) { c.refusals(ctx, t) })
}

// record is one of a key that was sent so long ago.
func record(topic, key string, partition int32, ago time.Duration) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte("12345"), Partition: partition,
		Timestamp: time.Now().Add(-ago)}
}

// send sends records in a transaction.
func (c *cluster) send(ctx context.Context, t *testing.T, commit kgo.TransactionEndTry, records ...*kgo.Record) {
	t.Helper()
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.EndTransaction(ctx, commit); err != nil {
		t.Fatal(err)
	}
}

// collect runs the program to its end.
func (c *cluster) collect(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, said bytes.Buffer
	command := exec.CommandContext(ctx, c.program, append([]string{"collect", "kafka"}, args...)...)
	command.Stdout, command.Stderr = &out, &said
	command.Env = append(os.Environ(), "PLANNERD_COLLECT_PASSWORD=s3cret")
	err = command.Run()
	return out.String(), said.String(), err
}

// past counts records that are there, by their own times, without those of transactions that were
// given up.
func (c *cluster) past(ctx context.Context, t *testing.T) {
	c.send(ctx, t, kgo.TryCommit, record("past", "a", 0, 25*time.Minute), record("past", "a", 1, 15*time.Minute),
		record("past", "b", 1, 25*time.Minute), record("past", "a", 0, 15*time.Minute), record("past", "", 0, time.Minute),
		record("past", "old", 0, 2*time.Hour))
	c.send(ctx, t, kgo.TryAbort, record("past", "a", 0, time.Minute))
	stdout, stderr, err := c.collect(ctx, "--brokers", c.Address, "--topic", "past", "--from", "-30m", "--every", "10m")
	first, _, _ := strings.Cut(strings.TrimPrefix(stdout, "interval,key,cost,state\n"), ",")
	n, _ := strconv.Atoi(first)
	want := fmt.Sprintf("interval,key,cost,state\n%d,a,1,6\n%d,b,1,6\n%d,a,2,12\n", n, n, n+1)
	if err != nil || stdout != want || !strings.Contains(stderr, "1 record left out: they have no key") {
		t.Errorf("%v, %q, want %q; %s", err, stdout, want, stderr)
	}
	stdout, stderr, err = c.collect(ctx, "--brokers", c.Address, "--topic", "past", "--from", "-3h", "--cost", "bytes")
	if want := "key,cost,state\na,18,18\nb,6,6\nold,8,8\n"; err != nil || stdout != want {
		t.Errorf("%v, %q, want %q; %s", err, stdout, want, stderr)
	}
}

// running is the program while it collects interval by interval.
type running struct {
	*exec.Cmd
	rows, said *bufio.Scanner
}

// start runs the program until it has begun to collect.
func (c *cluster) start(ctx context.Context, t *testing.T, begun string, args ...string) *running {
	t.Helper()
	r := &running{Cmd: exec.CommandContext(ctx, c.program, append([]string{"collect", "kafka"}, args...)...)}
	pipe := func(of func() (io.ReadCloser, error)) *bufio.Scanner {
		from, err := of()
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewScanner(from)
	}
	r.rows, r.said = pipe(r.StdoutPipe), pipe(r.StderrPipe)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.says(t, begun)
	return r
}

// says waits for a line.
func (r *running) says(t *testing.T, want string) {
	t.Helper()
	for r.said.Scan() {
		t.Log(r.said.Text())
		if strings.Contains(r.said.Text(), want) {
			return
		}
	}
	t.Fatalf("it does not say %q", want)
}

// sum reads rows until what its keys cost adds up to a sum, ends the program, and returns the
// costs and the last rows.
func (r *running) sum(t *testing.T, most float64) (costs map[string]float64, last map[string]string) {
	t.Helper()
	costs, last = map[string]float64{}, map[string]string{}
	for total := 0.0; total < most && r.rows.Scan(); {
		cells := strings.Split(r.rows.Text(), ",")
		cost, _ := strconv.ParseFloat(cells[2], 64) // the header has none
		costs[cells[1]] += cost
		last[cells[1]] = strings.Join(cells[3:], ",")
		total += cost
	}
	if err := r.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for r.rows.Scan() {
	}
	for r.said.Scan() {
	}
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
	return costs, last
}

// live counts records while they come. Of those that come while the broker does not answer none is
// lost.
func (c *cluster) live(ctx context.Context, t *testing.T) {
	r := c.start(ctx, t, "are counted", "--brokers", c.Address, "--topic", "live", "--every", "1s")
	c.send(ctx, t, kgo.TryCommit, record("live", "a", 0, 0), record("live", "b", 1, 0))
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.says(t, "trying again in")
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.send(ctx, t, kgo.TryCommit, record("live", "a", 1, 0))
	if costs, _ := r.sum(t, 3); costs["a"] != 2 || costs["b"] != 1 {
		t.Errorf("%v", costs)
	}
}

// group collects what the member of a group consumes, who is called by the client id or by a name of
// its own.
func (c *cluster) group(ctx context.Context, t *testing.T) {
	for _, instance := range []string{"", "worker-3"} {
		name, topic := cmp.Or(instance, "reader"), "work"+instance
		options := []kgo.Opt{kgo.SeedBrokers(c.Address), kgo.ConsumerGroup("group" + instance), kgo.ClientID("reader"),
			kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.RecordPartitioner(kgo.ManualPartitioner())}
		if instance != "" {
			options = append(options, kgo.InstanceID(instance))
		}
		client, err := kgo.NewClient(options...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		send := func(partitions ...int32) {
			t.Helper()
			for _, p := range partitions {
				if err := client.ProduceSync(ctx, record(topic, "k", p, 0)).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		consume := func(n int) {
			t.Helper()
			for n > 0 {
				fetches := client.PollRecords(ctx, n)
				if err := fetches.Err(); err != nil {
					t.Fatal(err)
				}
				n -= fetches.NumRecords()
				if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
					t.Fatal(err)
				}
			}
		}
		send(0, 1)
		consume(2)
		r := c.start(ctx, t, "are the keys", "--brokers", c.Address, "--group", "group"+instance, "--every", "1s")
		send(0, 0, 1)
		consume(3)
		costs, last := r.sum(t, 3)
		if costs[topic+"/0"] != 2 || costs[topic+"/1"] != 1 || last[topic+"/0"] != "0,"+name ||
			last[topic+"/1"] != "0,"+name {
			t.Errorf("%v, %v, want the instance %s", costs, last, name)
		}
		send(1)
		stdout, stderr, err := c.collect(ctx, "--brokers", c.Address, "--group", "group"+instance, "--topic", topic, "--for",
			"1s")
		want := strings.NewReplacer("TOPIC", topic, "NAME", name).Replace(
			"key,cost,state,instance\nTOPIC/0,0,0,NAME\nTOPIC/1,0,1,NAME\n")
		if err != nil || stdout != want {
			t.Errorf("%v, %q, want %q; %s", err, stdout, want, stderr)
		}
	}
}

// refusals are told with what is missing, and without the password.
func (c *cluster) refusals(ctx context.Context, t *testing.T) {
	as := func(args ...string) []string {
		return append([]string{"--brokers", c.Secured, "--sasl", "plain", "--user", "reader"}, args...)
	}
	for _, one := range []struct {
		args []string
		want string
	}{
		{as("--topic", "past", "--from", "-1h"), `topic past: the user "reader" needs the operations Describe and Read`},
		{as("--group", "group"), `group group: the user "reader" needs the operation Describe on the group`},
		{[]string{"--brokers", c.Secured, "--sasl", "plain", "--user", "nobody", "--topic", "past"},
			`the broker refuses to log the user "nobody" in by plain`},
		{[]string{"--brokers", c.Address, "--topic", "none"}, "there is no topic none"},
		{[]string{"--brokers", c.Address, "--group", "none"}, "group none: there is no such group"},
		{[]string{"--brokers", "127.0.0.1:1", "--topic", "past"}, "kafka at 127.0.0.1:1"},
	} {
		stdout, stderr, err := c.collect(ctx, one.args...)
		if err == nil || stdout != "" || !strings.Contains(stderr, one.want) || strings.Contains(stderr, "s3cret") {
			t.Errorf("%q: %v, %q, %s; want %q", one.args, err, stdout, stderr, one.want)
		}
	}
	_, err := c.admin.CreateACLs(ctx, kadm.NewACLs().Allow("User:reader").AllowHosts("*").Topics("past").
		Operations(kadm.OpRead, kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral))
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := c.collect(ctx, as("--topic", "past", "--from", "-3h")...)
	if err != nil || !strings.HasPrefix(stdout, "key,cost,state\n") {
		t.Errorf("with the right to read: %v, %q, %s", err, stdout, stderr)
	}
}
