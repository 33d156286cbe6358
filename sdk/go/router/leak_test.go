package router_test

import (
	"testing"

	"plannerd/sdk/go/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
