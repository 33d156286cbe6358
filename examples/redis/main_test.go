package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plannerd/examples/internal/trial"
)

// needRedis skips a test where there is no redis-server, unless there has to be one.
func needRedis(t *testing.T) {
	t.Helper()
	for _, program := range []string{"redis-server", "redis-cli"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("PLANNERD_REQUIRE_REDIS") != "" {
			t.Fatalf("there is no %s in PATH: install Debian's packages redis-server and redis-tools", program)
		}
		t.Skipf("there is no %s in PATH", program)
	}
}

// programs is the folder of plannerd, which is built once.
var programs string

var program = sync.OnceValues(func() (_ string, err error) {
	if programs, err = os.MkdirTemp("", "redis-"); err != nil {
		return "", err
	}
	return trial.BuildPlannerd(context.Background(), programs)
})

func TestMain(m *testing.M) {
	status := m.Run()
	if programs != "" {
		os.RemoveAll(programs)
	}
	os.Exit(status)
}

// small is a job that takes seconds.
func small(t *testing.T) config {
	t.Helper()
	c := defaults()
	var err error
	if c.program, err = program(); err != nil {
		t.Fatal(err)
	}
	c.dir, c.nodes, c.keys, c.zipf, c.workers, c.rate = t.TempDir(), 4, 4000, 1.2, 16, 2000
	c.interval, c.theta, c.batch = 300*time.Millisecond, 0.02, 2
	return c
}

// TestRebalanced balances a cluster whose hot keys change. One driver after the other is
// broken off, at each step of a move in turn, and the next one goes on. The job itself
// demands the last value of every key, no error at a client, and each slot where its route is.
func TestRebalanced(t *testing.T) {
	t.Parallel()
	needRedis(t)
	c := small(t)
	c.breaks, c.shift = len(steps), 400*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	done, err := runJob(ctx, c, time.Minute, func(h *history) bool {
		return h.broken.Load() == int64(len(steps)) && h.plans.Load() > 2 && h.slots.Load() > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	if done.broken != int64(len(steps)) || done.slots == 0 || done.keys == 0 {
		t.Errorf("%+v: drivers should have been broken off at %d steps, while slots and their keys moved", done, len(steps))
	}
}

// TestChecks breaks what the checks of a job look at.
func TestChecks(t *testing.T) {
	t.Parallel()
	needRedis(t)
	ctx := t.Context()
	err := withJob(ctx, small(t), func(j *job) error {
		if err := j.startPlannerd(ctx); err != nil {
			return err
		}
		check := func(want string) {
			t.Helper()
			err := j.load.verify(ctx, j.cluster.nodes)
			if err == nil {
				err = checkRoutes(ctx, j.config, j.cluster)
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		check("")
		for range 2 { // two writes, of which the second is lost
			if err := j.load.command(j.load.clients[0], 7, true); err != nil {
				return err
			}
		}
		check("")
		j.load.clients[0].Set(ctx, name(7), j.load.value(7, 2), 0)
		check("key:7 has the value of write 2; 3 was acknowledged, 3 sent")
		if err := j.load.command(j.load.clients[0], 7, false); err == nil {
			t.Error("a client may read what was overwritten")
		}
		j.load.clients[0].Set(ctx, name(7), strings.TrimSuffix(j.load.value(7, 3), "."), 0)
		check("nobody wrote")
		j.load.clients[0].Set(ctx, name(7), j.load.value(7, 3), 0)
		check("")
		slot := keySlot(name(7))
		from := j.cluster.nodes[home(slot, j.nodes)]
		to := j.cluster.nodes[(from.instance+1)%int32(j.nodes)]
		if _, err := j.cluster.move(ctx, slot, from, to, func(string) error { return nil }); err != nil {
			return err
		}
		check(fmt.Sprintf("slot %d is at node %d, and its route is %d", slot, to.instance, from.instance))
		err := to.Do(ctx, "cluster", "setslot", slot, "migrating", from.id).Err()
		check(fmt.Sprintf("moves of the slots [%d] are not over", slot))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeySlot has the check value of CRC16/XMODEM, and slots that CLUSTER KEYSLOT answers.
func TestKeySlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"123456789": 0x31c3 % slots, "": 0, "foo": 12182, "{foo}bar": 12182, "a{foo}bar{x}": 12182, "{}foo": 9500,
	} {
		if got := keySlot(key); got != want {
			t.Errorf("%q has slot %d, want %d", key, got, want)
		}
	}
}

func TestParseMyself(t *testing.T) {
	t.Parallel()
	got, err := parseMyself("b 127.0.0.1:2@3 master - 0 1 9 connected 7-9\n" +
		"a 127.0.0.1:1@2 myself,master - 0 0 4 connected 0-2 5 [3-<-b] [5->-b]\n")
	want := myself{4, []int{0, 1, 2, 5}, map[int]string{5: "b"}, map[int]string{3: "b"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"", "b 127.0.0.1:2@3 master - 0 1 9 connected 7-9\n",
		"a 127.0.0.1:1@2 myself,master - 0 0 x connected 1\n", "a 127.0.0.1:1@2 myself,master - 0 0 4 connected 1-x\n"} {
		if got, err := parseMyself(text); err == nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
}

// TestCollect collects from a cluster, all keys and a part of them: plannerd collect redis.
func TestCollect(t *testing.T) {
	t.Parallel()
	needRedis(t)
	c := small(t)
	err := withJob(t.Context(), c, func(j *job) error {
		for _, sample := range []int{c.keys, 700, 300} {
			command := exec.CommandContext(t.Context(), c.program, "collect", "redis", "--addr", j.cluster.nodes[2].address,
				"--sample", strconv.Itoa(sample))
			rows, err := command.Output()
			if err != nil {
				return err
			}
			keys, state, nodes := 0.0, 0.0, map[string]bool{}
			for line := range strings.Lines(string(rows)) {
				cells := strings.Split(strings.TrimSpace(line), ",")
				if slot, err := strconv.Atoi(cells[0]); err == nil {
					cost, _ := strconv.ParseFloat(cells[1], 64)
					bytes, _ := strconv.ParseFloat(cells[2], 64)
					keys, state, nodes[cells[3]] = keys+cost, state+bytes, true
					if at := j.cluster.nodes[home(slot, c.nodes)].address; cells[3] != at {
						t.Errorf("slot %d is at %s, want %s", slot, cells[3], at)
					}
				}
			}
			if math.Abs(keys-float64(c.keys)) > 1e-6*keys || state < float64(c.keys*c.least) || len(nodes) != c.nodes {
				t.Errorf("%v of %d keys, with %v bytes, at %v", keys, c.keys, state, nodes)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
