// Package jobtest tests a job on a log.
package jobtest

import (
	"context"
	"os"
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
		"-rate=2000", "-shift=3s", "-state=200", "-interval=1s", "-theta=0.01", "-batch=2",
		"-duration=12s", "-kills=8")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved == 0 {
		t.Errorf("%+v: nothing was moved", done)
	}
}

// Rescaled runs a job from which an instance is removed while messages come: all its keys move,
// in batches. The job demands the same, and that nothing is left.
func Rescaled(t *testing.T, log job.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done, err := job.Run(ctx, log, t.Output(), "-dir", t.TempDir(), "-instances=3", "-removed=1", "-keys=300", "-zipf=0.5",
		"-rate=1000", "-shift=0", "-state=1000", "-interval=1s", "-batch=40", "-duration=8s")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved < 80 {
		t.Errorf("%+v: about 100 keys should have moved", done)
	}
}
