package serving

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"plannerd/internal/cli"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"2GiB": 2 << 30, "2 GiB": 2 << 30, "500MB": 500e6, "64mib": 64 << 20, "1048576": 1 << 20, "1.5KiB": 1536,
	} {
		if s, err := ParseBytes(text); err != nil || s != want {
			t.Errorf("%s is %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "much", "-1GiB", "2GiBs", "16EiB"} {
		if s, err := ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, s)
		}
	}
}

func TestMemory(t *testing.T) {
	none := func() (uint64, error) { return 0, errors.New("none") }
	for _, c := range []struct {
		system, cgroup memlimit.Provider
		want           int64
	}{
		{memlimit.Limit(8 << 30), none, 8 << 30},
		{memlimit.Limit(8 << 30), memlimit.Limit(2 << 30), 2 << 30},
		{memlimit.Limit(8 << 30), memlimit.Limit(math.MaxUint64), 8 << 30},
		{none, memlimit.Limit(2 << 30), 2 << 30},
		{none, none, 0},
	} {
		if got := memory(c.system, c.cgroup); got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// TestLimitHeap: the limit of the heap goes by the budget, unless it is set.
func TestLimitHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	for _, c := range []struct {
		set    string
		budget int64
		want   int64
	}{{"", 2 << 30, 2000 << 20}, {"", leastBudget, 144 << 20}, {"1GiB", 2 << 30, before}} {
		undo := limitHeap(&cli.Environment{Environ: []string{"GOMEMLIMIT=" + c.set}}, c.budget)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("budget %v: %d, want %d", c.budget, got, c.want)
		}
		undo()
	}
	if after := debug.SetMemoryLimit(-1); after != before {
		t.Errorf("%d afterwards, %d before", after, before)
	}
}
