package main

import (
	"os/exec"
	"testing"

	"plannerd/examples/job/jobtest"
)

func TestMain(m *testing.M) { jobtest.Main(m, main) }

// need skips a test where the broker cannot be had.
func need(t *testing.T) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(errMissing)
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
