package main

import (
	"os/exec"
	"testing"

	"plannerd/examples/internal/broker"
	"plannerd/examples/job/jobtest"
)

func TestMain(m *testing.M) { jobtest.Main(m, main) }

// need skips a test where the broker cannot be had.
func need(t *testing.T) {
	t.Helper()
	for _, program := range broker.Programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(broker.ErrMissing)
		}
	}
}

func TestRebalanced(t *testing.T) {
	need(t)
	jobtest.Rebalanced(t, transport{})
}

func TestLog(t *testing.T) {
	need(t)
	jobtest.Log(t, transport{})
}
