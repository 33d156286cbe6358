package main

import (
	"context"
	"os"
	"testing"
	"time"
)

// TestMain runs the processes that a job starts: they are this program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-role" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRebalanced runs a job whose keys are moved while processes are killed. The job
// itself demands every number of every key, at the place where its route is.
func TestRebalanced(t *testing.T) {
	c := defaults()
	c.dir, c.instances, c.keys, c.zipf, c.rate, c.shift = t.TempDir(), 3, 2000, 1, 2000, 3*time.Second
	c.service, c.stateBytes, c.interval, c.theta, c.batch = 50*time.Microsecond, 200, time.Second, 0.01, 2
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := runJob(ctx, c, 12*time.Second, 8)
	if err != nil {
		t.Fatal(err)
	}
	if done.plans == 0 || done.moved == 0 {
		t.Errorf("%+v: nothing was moved", done)
	}
}

func TestFrames(t *testing.T) {
	f := frame{epoch: 3, marker: 0, floor: 7, events: []event{{key: "a", n: 1, at: -5}, {key: "", n: 1 << 40, at: 9}}}
	got, err := decodeFrame(f.encode())
	if err != nil || got.epoch != f.epoch || got.floor != f.floor || len(got.events) != 2 || got.events[1] != f.events[1] {
		t.Errorf("%+v became %+v, %v", f, got, err)
	}
	for n := range f.encode() {
		if _, err := decodeFrame(f.encode()[:n]); err == nil {
			t.Errorf("the first %d bytes count as a frame", n)
		}
	}
}
