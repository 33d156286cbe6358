package client_test

import (
	"os"
	"testing"

	"plannerd/sdk/go/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m, os.Stderr)) }
