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
		"-rate=2000", "-shift=3s", "-service=50us", "-state=200", "-interval=1s", "-theta=0.01", "-batch=2",
		"-duration=12s", "-kills=8")
	if err != nil {
		t.Fatal(err)
	}
	if done.Plans == 0 || done.Moved == 0 {
		t.Errorf("%+v: nothing was moved", done)
	}
}
