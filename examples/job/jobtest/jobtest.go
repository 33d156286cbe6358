// Package jobtest tests a job on a log.
package jobtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plannerd/examples/job"
)

// Main runs the tests of a program, or the program: the processes that a job starts are this
// one.
func Main(m *testing.M, program func()) {
	if len(os.Args) > 1 && os.Args[1] == "-role" {
		program()
		return
	}
	m.Run()
}

// Rebalanced runs a job whose keys are moved while processes are killed. The job itself
// demands every number of every key, at the place where its route is.
func Rebalanced(t *testing.T, log job.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := job.Run(ctx, log, t.Output(), "-dir", t.TempDir(), "-instances=3", "-keys=2000", "-zipf=1",
		"-rate=2000", "-shift=3s", "-service=50us", "-state=200", "-interval=1s", "-theta=0.01", "-batch=2",
		"-duration=12s", "-kills=8")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved == 0 {
		t.Errorf("%+v: nothing was moved", done)
	}
}

// Rescaled runs a job from which instances are removed while messages come, at once and in
// batches. The job demands the same.
func Rescaled(t *testing.T, log job.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out strings.Builder
	_, err := job.Run(ctx, log, &out, "-compare-batches", "-runs=1", "-warmup=4s", "-instances=3", "-removed=1",
		"-keys=300", "-zipf=0.5", "-rate=1000", "-shift=0", "-service=50us", "-state=1000", "-interval=1s",
		"-transfer-rate=100000", "-batch-pause=200ms")
	if err != nil {
		t.Fatal(err)
	}
	var batches [2]int
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		if _, err := fmt.Sscanf(strings.Fields(line)[2], "%d", &batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	if batches[0] != 1 || batches[1] < 2 {
		t.Errorf("%d and %d batches:\n%s", batches[0], batches[1], &out)
	}
}
