package e2e

import (
	"os"
	"testing"

	"plannerd/internal/lab/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
