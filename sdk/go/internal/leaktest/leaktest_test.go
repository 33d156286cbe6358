package leaktest_test

import (
	"strings"
	"testing"
	"time"

	"plannerd/sdk/go/internal/leaktest"
)

func TestLeft(t *testing.T) {
	before := len(leaktest.Left(0))
	begun, end := make(chan struct{}), make(chan struct{})
	go wait(begun, end)
	<-begun
	left := leaktest.Left(0)
	if len(left) != before+1 || !strings.Contains(strings.Join(left, "\n"), "leaktest_test.wait") {
		t.Errorf("one goroutine is left, found %d after %d:\n%s", len(left), before, strings.Join(left, "\n\n"))
	}
	close(end)
	for len(leaktest.Left(0)) > before {
		time.Sleep(time.Millisecond)
	}
}

func wait(begun, end chan struct{}) {
	close(begun)
	<-end
}
