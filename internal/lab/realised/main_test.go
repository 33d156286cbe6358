package main

import (
	"bytes"
	"strings"
	"testing"
)

// Noise moves next to nothing, and the same in every run; a policy that is chosen on it is
// not worse than mixed.
func TestGenerated(t *testing.T) {
	args := []string{"-generated", "3", "-match", "^noise, 5000", "-instances", "4", "-theta", "0.2"}
	var first string
	for range 2 {
		var stdout, stderr bytes.Buffer
		if code := exit(args, &stdout, &stderr); code != 0 {
			t.Fatal(stderr.String())
		}
		if first == "" {
			first = stdout.String()
		}
		if first != stdout.String() || !strings.Contains(first, "| noise, 5000 messages | 1 | ") ||
			!strings.Contains(first, "| 100 % | 0 % |") {
			t.Errorf("%s\nand then\n%s", first, stdout.String())
		}
	}
	if code := exit([]string{"-match", "("}, &bytes.Buffer{}, &bytes.Buffer{}); code != 1 {
		t.Error("a bad expression is accepted")
	}
}
