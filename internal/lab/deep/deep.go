// Package deep says how much a test tries. A usual run guards against mistakes, in minutes. A deep
// run, which .ci/deep makes with the variable PLANNERD_DEEP, tries what proves more, in hours, with
// seeds that are drawn anew.
package deep

import (
	"math/rand/v2"
	"os"
	"testing"
)

// On reports whether this is a deep run.
func On() bool { return os.Getenv("PLANNERD_DEEP") != "" }

// Cases is how many of n cases a test tries: all in a deep run, a sixteenth in a usual one,
// and a thirtieth with -short, as under the race detector, which does not need many.
func Cases(n int) int {
	switch {
	case testing.Short():
		return n / 30
	case On():
		return n
	}
	return n / 16
}

// Count is few, or many in a deep run.
func Count(few, many int) int {
	if On() && !testing.Short() {
		return many
	}
	return few
}

// Rand is a generator of a test's random cases: by the given seed, or in a deep run by one that is
// drawn anew and logged.
func Rand(t testing.TB, given uint64) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t, given), given))
}

// Seed is that of a test's random cases: the one that is given, or in a deep run one that is drawn
// anew and logged.
func Seed(t testing.TB, given uint64) uint64 {
	t.Helper()
	if !On() {
		return given
	}
	seed := rand.Uint64()
	t.Logf("seed %d in place of %d", seed, given)
	return seed
}
