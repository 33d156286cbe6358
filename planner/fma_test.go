package planner_test

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"testing"
)

var (
	// Lines of an assembly listing: (file:line), then the instruction.
	product = regexp.MustCompile(`\tFMULD\t`)
	fused   = regexp.MustCompile(`\(([^()]+:\d+)\)\t(FN?M(?:ADD|SUB)[SD])\t`)
)

// TestNothingFused: a plan must not depend on the CPU, but where there is an
// instruction for x*y + z the compiler may round once instead of twice. A
// conversion, float64(x*y) + z, forbids that.
func TestNothingFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another CPU")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, "-gcflags=-S",
		".", "./forecast", "./hindsight", "./internal/...", "./partitioner/...", "./policy", "./ring/...",
		"../internal/backtest", "../internal/drive")
	build.Env = append(build.Environ(), "GOARCH=arm64")
	listing, err := build.CombinedOutput() // the listing is on stderr, as errors are
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, listing[:min(len(listing), 4096)])
	}
	if !product.Match(listing) {
		t.Fatal("no products in the assembly listing: has its form changed?")
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(listing) {
		if m := fused.FindSubmatch(line); m != nil && !seen[string(m[1])] {
			seen[string(m[1])] = true
			t.Errorf("%s: product not rounded before it is added (%s)", path.Base(string(m[1])), m[2])
		}
	}
}
