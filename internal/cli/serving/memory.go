package serving

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"

	"plannerd/internal/cli"
)

// ParseBytes reads an amount of bytes, written like 2GiB or 500 MB.
func ParseBytes(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("write an amount of bytes, such as 2GiB, instead of %q", text)
	}
	return int64(n), nil
}

// bytesText writes an amount of bytes for people.
func bytesText(n int64) string { return humanize.IBytes(uint64(n)) }

const (
	// budgetShare is the part of the memory that the server takes by default, in
	// percent.
	budgetShare = 60
	// unknownBudget is the budget where nobody can tell how much memory there is.
	unknownBudget int64 = 2 << 30
	// leastBudget is the least that a server is of any use with.
	leastBudget int64 = 192 << 20
	// ownMemory is what the server takes by itself: the program, what it knows of
	// its contract, its connections. outsideHeap of it is none of the Go runtime's
	// business: the program's text, the pages of SQLite.
	ownMemory   int64 = 96 << 20
	outsideHeap int64 = 48 << 20
	// requestShare is the part of the rest that requests may reserve, in percent.
	// Caches take up to 3/8 as much; what remains is for garbage.
	requestShare = 60
)

// memory is how much there is: that of the machine, or of the container if that
// is less. Nothing is 0.
func memory(system, cgroup memlimit.Provider) int64 {
	total := uint64(0)
	for _, limit := range []memlimit.Provider{system, cgroup} {
		if n, err := limit(); err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	return int64(min(total, math.MaxInt64))
}

// budget is the memory that the server is to stay within: what was asked for, else
// a share of what there is.
func (c *Serve) budget() int64 {
	if c.MemoryBudget > 0 {
		return c.MemoryBudget
	}
	total := memory(memlimit.FromSystem, memlimit.FromCgroup)
	if total == 0 {
		return unknownBudget
	}
	return max(leastBudget, total/100*budgetShare)
}

// connectionMemory is what a connection takes at the least, and connectionShare the part
// of a budget that connections may take by default, in percent.
const (
	connectionMemory int64 = 16 << 10
	connectionShare        = 12
	leastConnections       = 256
)

// connections is how many connections may be open under a budget.
func (c *Serve) connections(budget int64) int {
	if c.MaxConnections > 0 {
		return c.MaxConnections
	}
	return max(leastConnections, int((budget-ownMemory)/100*connectionShare/connectionMemory))
}

// forRequests is what all requests together may reserve under a budget.
func forRequests(budget int64) int64 { return (budget - ownMemory) / 100 * requestShare }

// limitHeap tells the Go runtime to collect harder when the heap comes near to what
// the budget leaves for it. A limit that GOMEMLIMIT sets stays. The function it
// returns takes that back.
func limitHeap(env *cli.Environment, budget int64) (undo func()) {
	if env.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(budget - outsideHeap)
	return func() { debug.SetMemoryLimit(before) }
}
