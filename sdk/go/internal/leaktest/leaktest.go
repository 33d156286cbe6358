// Package leaktest finds goroutines that tests leave behind.
package leaktest

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Run runs the tests of a package of the SDK, and returns the exit code of the process: that
// of the tests, and 1 where goroutines that the SDK has started do not end within some seconds.
func Run(m *testing.M, out io.Writer) int {
	code := m.Run()
	if left := Left(5 * time.Second); code == 0 && len(left) > 0 {
		fmt.Fprintf(out, "FAIL: %d goroutines are left:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		return 1
	}
	return code
}

// Left returns the stacks of those goroutines, but for its own, that are in the SDK, or were
// started by it, after a time; it returns earlier if there are none.
func Left(within time.Duration) []string {
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		if left := ours(); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func ours() (list []string) {
	text := make([]byte, 1<<16)
	for {
		n := runtime.Stack(text, true)
		if n < len(text) {
			text = text[:n]
			break
		}
		text = make([]byte, 2*len(text))
	}
	for _, stack := range strings.Split(string(text), "\n\n")[1:] { // the first is this one's
		if strings.Contains(stack, "plannerd/sdk/go/") {
			list = append(list, stack)
		}
	}
	return list
}
