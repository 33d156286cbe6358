package main

import (
	"testing"

	"plannerd/examples/job/jobtest"
)

func TestMain(m *testing.M) { jobtest.Main(m, main) }

func TestRebalanced(t *testing.T) { jobtest.Rebalanced(t, transport{}) }

func TestRescaled(t *testing.T) { jobtest.Rescaled(t, transport{}) }

func TestLog(t *testing.T) { jobtest.Log(t, transport{}) }
